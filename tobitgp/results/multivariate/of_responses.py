"""Methods of one response applied to several responses: each in turn, or all of their values together.

Tables of every response have its name as the first level of their columns.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.data.frames import answers_in_kind, read_weights, reads_frames
from tobitgp.errors import SpecError
from tobitgp.formula.functions import nearest
from tobitgp.results.conformal import ConformalIntervals
from tobitgp.results.fit import Fit
from tobitgp.results.prediction import PredictionResults
from tobitgp.results.rows import read_scored
from tobitgp.typing import Array, Frame

AskOne = Callable[..., Any]
_RESPONSE = inspect.Parameter("response", inspect.Parameter.KEYWORD_ONLY, default=None, annotation="str | None")


def of_each(question: AskOne, rows: str = "", grid: Callable[[Any, Any], Array] | None = None) -> AskOne:
    """A method of one response, applied to all, or to the one that ``response=`` names.

    The argument ``rows``, the first, is a table of the rows requested, by default those of the fit. If ``grid`` gives
    the default of ``times``, the second, a table has the times of all responses.
    """

    def ask(results: Any, *args: Any, response: str | None = None, **options: Any) -> Any:
        read = results.parts.read
        if rows and read is not None:
            if args and args[0] is None:
                args = (read.data, *args[1:])
            elif not args and options.get(rows) is None:
                options[rows] = read.data
        if response is not None:
            return question(results[response], *args, **options)
        if grid is not None and (args[1] if len(args) > 1 else options.get("times")) is None:
            every = np.unique(np.concatenate([grid(results[name], None) for name in results.responses]))
            args, options = args[:1], options | {"times": every}
        return beside({name: question(results[name], *args, **options) for name in results.responses})

    asked = _described(question, ask, "for every response")
    return answers_in_kind(asked) if rows else asked


def of_all(question: AskOne) -> AskOne:
    """A method about values, applied to those of all responses, or of those of one."""

    def ask(results: Any, *args: Any, response: str | None = None, **options: Any) -> Any:
        return question(results if response is None else results[response], *args, **options)

    return _described(question, ask, "for the values of all responses")


def drawn_for_each(question: AskOne) -> AskOne:
    """A figure on separate axes, of which every response has a panel."""
    signature = inspect.signature(question)

    def ask(results: Any, *args: Any, response: str | None = None, **options: Any) -> Any:
        if response is not None:
            return question(results[response], *args, **options)
        given = signature.bind(results, *args, **options)
        panels = results._panels(given.arguments.get("ax"))
        for panel, name in zip(panels, results.responses, strict=True):
            given.arguments |= {"results": results[name], "ax": panel}
            question(*given.args, **given.kwargs)
        return panels

    return _described(question, ask, "a panel for every response")


def drawn_apart(question: AskOne) -> AskOne:
    """A figure of several panels, of which every response has one."""

    def ask(results: Any, *args: Any, response: str | None = None, **options: Any) -> Any:
        names = results.responses if response is None else (response,)
        found = [question(results[name], *args, **options) for name in names]
        return found[0] if response is not None else [ax for axes in found for ax in np.ravel(axes)]

    return _described(question, ask, "a figure for every response, with their axes in one array")


def of_one(question: AskOne) -> AskOne:
    """A question of one response, which ``response=`` has to name."""

    def ask(results: Any, *args: Any, response: str | None = None, **options: Any) -> Any:
        if response is None:
            listed = ", ".join(map(repr, results.responses))
            raise SpecError(f"{question.__name__}() requires one response. Give response=, one of {listed}.")
        return question(results[response], *args, **options)

    return _described(question, ask, "of one response")


@dataclass(frozen=True, slots=True)
class ResponsePredictions:
    """Means of every response in rows, as :class:`PredictionResults` of each."""

    of: Mapping[str, PredictionResults]

    @property
    def predicted_mean(self) -> pd.DataFrame:
        """Means, a column for each response."""
        return pd.DataFrame({name: one.predicted_mean for name, one in self.of.items()})

    @property
    def se_mean(self) -> pd.DataFrame:
        """Their standard deviations, a column for each response."""
        return pd.DataFrame({name: one.se_mean for name, one in self.of.items()})

    def conf_int(self, obs: bool = False, alpha: float = 0.05) -> pd.DataFrame:
        """Intervals for the means, or for new values, columns ``(y1, 0)`` and ``(y1, 1)``."""
        return pd.concat({name: one.conf_int(obs, alpha) for name, one in self.of.items()}, axis=1)

    def summary_frame(self, alpha: float = 0.05) -> pd.DataFrame:
        """Columns of :class:`PredictionResults` below the name of each response."""
        return pd.concat({name: one.summary_frame(alpha) for name, one in self.of.items()}, axis=1)


@dataclass(frozen=True, slots=True)
class ResponseIntervals:
    """Conformal intervals of every response; each covers alone, not all of a row at once."""

    of: Mapping[str, ConformalIntervals]

    def levels(self, interval: float = 0.95, side: str = "both") -> pd.DataFrame:
        """Orders of the quantiles at which intervals end, rows ``lower`` and ``upper``, a column for each response."""
        return pd.DataFrame({name: one.levels(interval, side) for name, one in self.of.items()}, ["lower", "upper"])

    def predict(self, new: Frame, interval: float = 0.95, side: str = "both") -> pd.DataFrame:
        """Intervals in new rows, columns ``(y1, "lower")`` and ``(y1, "upper")``."""
        return pd.concat({name: one.predict(new, interval, side) for name, one in self.of.items()}, axis=1)

    def __str__(self) -> str:
        return "\n".join(f"{name}: {one}" for name, one in self.of.items())


_TOGETHER: dict[type, Callable[[Any], Any]] = {
    ConformalIntervals: ResponseIntervals,
    PredictionResults: ResponsePredictions,
}


def beside(found: Mapping[str, Any]) -> Any:
    """Answers of several responses as one, their names first among the columns; all else in a dict."""
    first = next(iter(found.values()))
    if isinstance(first, pd.DataFrame):
        return pd.concat(found, axis=1)
    if isinstance(first, pd.Series):
        return pd.DataFrame({name: values for name, values in found.items()})
    return _TOGETHER.get(type(first), dict)(found)


def find_response(name: object, responses: tuple[str, ...]) -> int:
    """Place of a response."""
    if name not in responses:
        listed = ", ".join(map(repr, responses))
        raise SpecError(f"response={name!r}{nearest(str(name), list(responses))}: choose one of {listed}.")
    return responses.index(str(name))


def _described(question: AskOne, ask: AskOne, whose: str) -> AskOne:
    """With the name and the arguments of the question, and where it is described."""
    signature = inspect.signature(question)
    parameters = [*(each for each in signature.parameters.values() if each.name != "response"), _RESPONSE]
    wraps(question)(ask)
    ask.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    ask.__doc__ = (
        f"See :meth:`tobitgp.GPResults.{question.__name__}`: {whose}.\n\n"
        "``response=`` names a single one. Tables of several have their names as the first level of the columns."
    )
    return ask


def concordance_index(results: Fit) -> Any:
    """Concordance index of each response in the rows of the fit, between 0 and 1: a Series.

    It is (MET2) of the theory pages, as for :attr:`GPResults.concordance_index_`.
    """
    return pd.Series({name: results[name].concordance_index_ for name in results.parts.labels})


@reads_frames
def score(
    results: Fit,
    df: Frame,
    scoring_method: str = "log_likelihood",
    *,
    weights: Any = None,
    response: str | None = None,
) -> float:
    """Mean log predictive density of the single values in new rows, or concordance of predicted medians.

    Parameters
    ----------
    df : DataFrame or dict of columns
        With all columns of the formula.
    scoring_method : {"log_likelihood", "concordance_index"}
        As for :meth:`GPResults.score`.
    weights : str or (n,) array, optional
        Frequency weights of the rows.
    response : str, optional
        The values of this response alone.

    Returns
    -------
    float
        The mean in nats over all values that are not missing, or the mean concordance of the responses, between 0 and
        1.

    Raises
    ------
    SpecError, DataError
        As for :meth:`GPResults.score`.

    References
    ----------
    (SIT6) and (MUL1) of the theory pages.

    Examples
    --------
    >>> import tobitgp as tg
    >>> tobin = tg.datasets.load("tobin")
    >>> res = tg.fit("mvbind(durable, quant) ~ age | censor(0, None)", tobin[::2], rescor=True)
    >>> both = res.score(tobin[1::2])
    >>> each = [res.score(tobin[1::2], response=name) for name in res.responses]
    >>> bool(abs(both - sum(each) / 2) < 1e-12)
    True
    """
    if response is not None:
        return results[response].score(df, scoring_method, weights=weights)
    found = [results[name].score(df, scoring_method, weights=weights) for name in results.parts.labels]
    if scoring_method == "concordance_index":
        return float(np.mean(found))
    known = [read_scored(one, df).asked.usable for one in results.parts.responses]
    share = read_weights(weights, df, len(known[0]))
    return float(np.average(found, weights=[share[at].sum() for at in known]))
