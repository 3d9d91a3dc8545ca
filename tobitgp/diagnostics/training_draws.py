"""Draws from a posterior, with log likelihoods and new responses of the training rows, also as arviz takes them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.data.arrays import CensoredResponse
from tobitgp.data.prepare import TrainingData
from tobitgp.data.training_summary import NO_ROWS
from tobitgp.engines import row_chunks
from tobitgp.errors import SpecError
from tobitgp.inference.given_parameters import check_unambiguous
from tobitgp.numerics.sampling import generator
from tobitgp.results.views import Source
from tobitgp.typing import Array, IntArray

CHUNK = 512
_DIGITS = 50
_MOST = 2**31  # numbers in a table
NO_ARVIZ = "to_arviz() needs the package arviz; install it by: pip install 'tobitgp[arviz]'"
_MOST_LIKELIHOODS = 2 * 10**8


class Draws:
    """S draws from a posterior, and the n training rows that are used, in the order of the data."""

    __slots__ = ()

    parts: Any

    @property
    def observed(self) -> IntArray | None:
        """Position of a row for each of the m independent observations; None where the rows are these."""
        return None

    @property
    def size(self) -> int:
        """S."""
        raise NotImplementedError

    @property
    def names(self) -> list[str]:
        """Number of the parameters, k."""
        return list(self.parts.names)

    def parameters(self) -> Array:
        """Parameters as users read them, (S, k)."""
        raise NotImplementedError

    def log_likelihoods(self) -> Iterator[tuple[slice, Array]]:
        """Chunks of observations, and the log likelihood of one copy of each, (m, S), of the response as written."""
        raise NotImplementedError

    def responses(self) -> Iterator[tuple[slice, Array]]:
        """Chunks of rows, and a new response for each draw, (rows, S), not clipped."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class SubjectDraws(Draws):
    """Draws with the likelihoods of subjects, whose rows are parts of one time: sums over these."""

    parts: Any
    of_rows: Draws
    subject: IntArray  # (n,)

    @property
    def observed(self) -> IntArray:
        """The last row of each subject."""
        return np.unique(self._last)

    @property
    def _last(self) -> IntArray:
        """Position of the last row of the subject of each row, (n,)."""
        last = np.zeros(self.subject.max() + 1, dtype=np.intp)
        last[self.subject] = np.arange(len(self.subject))
        return last[self.subject]

    @property
    def size(self) -> int:
        return self.of_rows.size

    def parameters(self) -> Array:
        return self.of_rows.parameters()

    def log_likelihoods(self) -> Iterator[tuple[slice, Array]]:
        code = np.searchsorted(self.observed, self._last)
        total = np.zeros((len(self.observed), self.size))
        for rows, value in self.of_rows.log_likelihoods():
            np.add.at(total, code[rows], value)
        yield from ((rows, total[rows]) for rows in chunks(len(total)))

    def responses(self) -> Iterator[tuple[slice, Array]]:
        return self.of_rows.responses()


def of_subjects(results: Any, draws: Draws, question: str) -> Draws:
    """Draws with the likelihoods of independent observations: of subjects where rows are parts of their time."""
    if not results._of_subjects:
        return draws
    subject, weight = results.parts.subject, results.parts.rows.response.weight
    if subject is None:
        raise SpecError(f"{question} leaves out subjects, whose rows this file does not name. Fit the model again.")
    made = SubjectDraws(results.parts, draws, subject)
    if (weight != weight[made._last]).any():
        raise SpecError(
            f"{question} leaves out a copy of a subject, and weights= differs between rows of a subject. Give all rows "
            "of a subject one weight."
        )
    return made


def training_rows(parts: Source, question: str) -> TrainingData:
    """The training rows."""
    if parts.training is None:
        raise SpecError(f"{NO_ROWS}, and {question} requires them. Refit with a DataFrame in memory.")
    return parts.training


def read_draws(draws: Any, least: int = 1, *, rows: int = 1) -> int:
    """A number of draws."""
    if isinstance(draws, bool) or not isinstance(draws, (int, np.integer)) or draws < least:
        raise SpecError(f"draws={draws!r}: must be a whole number of at least {least}.")
    if int(draws) * max(rows, 1) > _MOST:
        held = f"at most {_MOST // max(rows, 1)} of {rows} rows can be held"
        raise SpecError(f"draws={draws}: {held}. Use fewer draws, or fewer rows at a time.")
    return int(draws)


def chunks(n: int) -> list[slice]:
    """Rows done together."""
    return row_chunks(0, n, CHUNK)


def streams(n: int, rng: int | np.random.Generator | None) -> tuple[np.random.Generator, tuple[int, ...]]:
    """A generator for what all rows share, and a seed for each chunk of n rows."""
    stream = generator(rng)
    return stream, tuple(stream.integers(2**63, size=len(chunks(n))).tolist())


def on_grid(log_likelihood: Array) -> Array:
    """Log likelihoods rounded to about 1e-15, so that importance weights that differ do so in floating-point numbers.

    Fits of the weights' tail divide by such differences, arviz's too.
    """
    return np.ldexp(np.round(np.ldexp(log_likelihood, _DIGITS)), -_DIGITS)


def inference_data(draws: Draws, parts: Any, response: str) -> Any:
    """An ``InferenceData`` of arviz before 1.0, an ``xarray.DataTree`` from 1.0 on; see the method ``to_arviz``."""
    arviz = _arviz()
    import xarray

    check_unambiguous("to_arviz()", draws.names, draws.names)
    training = parts.rows
    copies, name = _copies(training.response.weight, draws.size), _apart(response)
    sample = {"chain": [0], "draw": np.arange(draws.size)}
    rows = {"row": _labels(training.labels[copies])}

    def of_rows(of: Any, copies: IntArray = copies, coords: dict[str, Any] = rows) -> Any:
        values = np.empty((1, draws.size, len(copies)))
        for span, found in of:
            at = np.flatnonzero((copies >= span.start) & (copies < span.stop))
            values[0, :, at] = found[copies[at] - span.start]
        return xarray.Dataset({name: (("chain", "draw", *coords), values)}, coords={**sample, **coords})

    def likelihoods() -> Any:
        if draws.observed is None:
            return of_rows(draws.log_likelihoods())
        units = _copies(training.response.weight[draws.observed], draws.size)
        subjects = {"subject": _labels(training.labels[draws.observed][units])}
        return of_rows(draws.log_likelihoods(), units, subjects)

    posterior = {
        _apart(name): (("chain", "draw"), column[None])
        for name, column in zip(draws.names, draws.parameters().T, strict=True)
    }
    observed = {key: ("row", values[copies]) for key, values in seen(training.response, name).items()}
    groups = {
        "posterior": xarray.Dataset(posterior, coords=sample),
        "log_likelihood": likelihoods(),
        "posterior_predictive": of_rows(_clipped(draws, parts)),
        "observed_data": xarray.Dataset(observed, coords=rows),
    }
    for group in groups.values():
        group.attrs |= {"inference_library": "tobitgp", "formula": parts.spec.formula.strip()}
    # From 1.0 on the name InferenceData is still there, but stands for another class.
    before = int(str(arviz.__version__).split(".")[0]) < 1
    return arviz.InferenceData(**groups) if before else xarray.DataTree.from_dict(groups)


def seen(response: CensoredResponse, name: str) -> dict[str, Array | IntArray]:
    """Observed data of each row: value or limit (the middle of an interval), both ends, brms' censoring code."""
    lower, upper = response.lower, response.upper
    below, above, exact = np.isneginf(lower), np.isposinf(upper), lower == upper
    with np.errstate(invalid="ignore"):
        middle = 0.5 * lower + 0.5 * upper
    value = np.select([exact, below & above, below, above], [lower, np.nan, upper, lower], default=middle)
    code = np.select([exact, below, above], [0, -1, 1], default=2)
    beside = {"lower": lower, "upper": upper, "censoring": code}
    return {name: value, **{key + "_" * (key == name): values for key, values in beside.items()}}


def _apart(name: str) -> str:
    """A name that is not that of a dimension."""
    return f"{name}_" if name in ("chain", "draw", "row") else name


def _clipped(draws: Draws, parts: Source) -> Any:
    """New responses, as the instrument shows them where its limits are known."""
    response = parts.rows.response
    for rows, y in draws.responses():
        if parts.facts.limits_known:
            y = np.clip(y, response.limit_lower[rows][:, None], response.limit_upper[rows][:, None])
        yield rows, y


def _copies(weight: Array, draws: int) -> IntArray:
    """Positions of the rows, each as often as its frequency weight says."""
    if (weight != weight.round()).any():
        raise SpecError(
            "to_arviz() counts every row once, and these frequency weights are not whole numbers by which rows could "
            "be repeated. Use loo() and waic() of the fit, which include the weights."
        )
    if weight.sum() * draws > _MOST_LIKELIHOODS:
        raise SpecError(f"draws={draws} of {weight.sum():g} rows are too many to hold. Use fewer draws.")
    return np.repeat(np.arange(len(weight)), weight.astype(np.intp))


def _labels(labels: Any) -> Any:
    """Labels of rows that xarray can hold."""
    values = pd.Index(labels)
    return values.to_numpy() if values.dtype != object else values.map(str).to_numpy()


def _arviz() -> Any:
    """The package arviz, without its FutureWarnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return import_module("arviz")
        except ImportError:
            raise SpecError(NO_ARVIZ) from None
