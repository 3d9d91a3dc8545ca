"""Questions about all responses of rows together: predictions, imputed values, draws, the joint posterior."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Protocol

import numpy as np
import pandas as pd

from tobitgp.data.frames import answers_in_kind, reads_frames
from tobitgp.data.sources import is_dask
from tobitgp.diagnostics.training_draws import read_draws
from tobitgp.errors import SpecError
from tobitgp.numerics.sampling import generator
from tobitgp.results.fit import Fit
from tobitgp.results.joint import Posterior
from tobitgp.results.multivariate.of_responses import beside
from tobitgp.results.predict import check_flag, check_level, new_rows, predict_lazily
from tobitgp.results.rows import Asked
from tobitgp.typing import Array, Frame


class FitTogether(Fit, Protocol):
    """What these questions need of results of several responses."""

    _of_rows: ClassVar[Mapping[str, Any]]

    def _impute(self, new: Frame | None, level: float | None) -> pd.DataFrame: ...
    def _draw_together(
        self, new: Frame | None, draws: int, exclude: Any, rng: np.random.Generator, what: str
    ) -> tuple[list[Asked], Array]: ...
    def _draw_conditional(self, new: Frame | None, draws: int, exclude: Any, rng: np.random.Generator) -> Array: ...
    def _moments_together(self, new: Frame | None, exclude: Any) -> tuple[Asked, Array, Array]: ...


def default_rows(results: Fit, new: Frame | None) -> Frame | None:
    """New rows, or those of the fit, of which some may lack some responses."""
    return new if new is not None or results.parts.read is None else results.parts.read.data


@answers_in_kind
def predict(
    results: FitTogether,
    new: Frame | None = None,
    what: str | None = None,
    *,
    interval: float | None = None,
    se: bool = False,
    q: float | Sequence[float] | None = None,
    below: float | Sequence[float] | None = None,
    above: float | Sequence[float] | None = None,
    exclude: str | Sequence[str] = (),
    response: str | None = None,
    exog: Frame | None = None,
) -> pd.Series[float] | pd.DataFrame:
    """Predict every response in new rows, or in those of the fit; see :meth:`tobitgp.GPResults.predict`.

    Predictions of a response ignore the other responses of a row, except with latent coordinates, and for
    ``"conditional"`` in the rows of the fit with ``rescor=True``. :meth:`impute` also uses them in new rows. With
    correlated residuals the noise includes the shared part of the residuals.

    Parameters
    ----------
    new : DataFrame or dict of columns, optional
        With the columns on the right-hand side of the formula, and columns of the response that the quantity requires;
        by default the rows of the fit.
    what : str, optional
        ``"median"`` by default, ``"latent"``, ``"uncensored"``, ``"observed"``, ``"conditional"``, ``"quantile"``,
        ``"prob"``, ``"sigma"`` or ``"terms"``, as for :meth:`GPResults.predict`. A mixture of vectors has those of
        :meth:`MixtureResults.predict`, ``"uncensored"`` by default, and ``"component"``: probabilities of the
        components given the observed values and limits of all responses of a row.
    interval : float, optional
        Probability of equal-tailed intervals.
    se : bool
        Give standard errors.
    q : float or list of float, optional
        Orders of quantiles, probabilities.
    below, above : float or list of float, optional
        Limits of ``"prob"``, on the scale of the responses.
    exclude : str or list of str
        Terms to set to zero, e.g. ``"gp(x)"``, ``"re(g)"`` or ``"z"``.
    response : str, optional
        Predict this response alone, with the table of :meth:`GPResults.predict`.
    exog : DataFrame or dict of columns, optional
        Name of ``new`` in statsmodels.

    Returns
    -------
    DataFrame
        A row for each row of the data, a column for each response; with ``se`` or ``interval`` columns ``(y1,
        "estimate")``, and ``se``, ``lower`` and ``upper``; more levels for lists and for ``"terms"``. On the scale of
        the responses; ``"latent"``, ``"sigma"`` and ``"terms"`` for log-time families on the log scale.
        ``"conditional"`` is NaN for missing values. ``"component"`` has a column for each component, NaN in rows about
        which nothing is known.

    Raises
    ------
    SpecError
        As for :meth:`GPResults.predict`.
    DataError, UnseenLevelError
        If new data lack a column, or a level was not in the fit.

    References
    ----------
    (MUL1), (LAT8) and (MOV2) of the theory pages.

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("mvbind(durable, quant) ~ age | censor(0, None)", tg.datasets.load("tobin"), rescor=True)
    >>> res.predict({"age": [50.0]}).round(0).to_dict("list")
    {'durable': [-3.0], 'quant': [243.0]}
    >>> res.predict({"age": [50.0]}, "prob", above=0.0, response="durable").round(2).to_list()
    [0.32]
    """
    options: dict[str, Any] = {"interval": interval, "se": se, "q": q, "below": below, "above": above}
    options["exclude"] = exclude
    new = new_rows(new, exog)
    if is_dask(new):
        return predict_lazily(results._without_rows, new, {"what": what, "response": response, **options})
    of_rows = results._of_rows.get(what or "")
    if of_rows is not None and response is None:
        if interval is not None or check_flag("se", se):
            raise SpecError(f"what={what!r} has no se= and no interval=. Leave them out.")
        found: pd.DataFrame = of_rows(results, new)
        return found
    rows = new if what == "conditional" else default_rows(results, new)
    if response is not None:
        return results[response].predict(rows, what, **options)
    return beside({name: results[name].predict(rows, what, **options) for name in results.parts.labels})


@answers_in_kind
def impute(results: FitTogether, new: Frame | None = None, *, interval: float | None = None) -> pd.DataFrame:
    """Responses with censored and missing values replaced by their means given all data.

    The means are conditional on the limits of the value. They are also conditional on the other responses of the row,
    in regressions only if ``rescor=True``. In regressions they are conditional on all other rows.

    Parameters
    ----------
    new : DataFrame or dict of columns, optional
        With some of the responses, the columns of their limits, and those on the right-hand side of the formula; by
        default the rows of the fit. Hyper-parameters stay those of the fit.
    interval : float, optional
        Probability of equal-tailed intervals of the values. In regressions and mixtures they are from 1,000 draws.

    Returns
    -------
    DataFrame
        A row for each row of the data, a column for each response; with ``interval`` columns ``(y1, "estimate")``,
        and ``se``, the standard deviation of the value, ``lower`` and ``upper``. On the scale of the responses. NaN in
        rows about which nothing is known.

    Raises
    ------
    SpecError
        If an interval is outside (0, 1), or the fit was loaded from a file and the rows of the fit are required.
    DataError
        If new data lack a column, or have none of the responses.

    References
    ----------
    (MUL5), (LAT12) and (MOV8) of the theory pages.

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("mvbind(durable, quant) ~ age | censor(0, None)", tg.datasets.load("tobin"), rescor=True)
    >>> data, filled = tg.datasets.load("tobin"), res.impute()["durable"]
    >>> bool((filled[data["durable"] == 0] < 0).all()), float(filled[1])
    (True, 0.7)
    """
    return results._impute(new, check_level(interval))


@answers_in_kind
def sample(
    results: FitTogether,
    new: Frame | None = None,
    draws: int = 100,
    *,
    what: str = "uncensored",
    exclude: Any = (),
    response: str | None = None,
    rng: int | np.random.Generator | None = None,
) -> Any:
    """Draw all responses of all rows jointly.

    Parameters
    ----------
    new : DataFrame or dict of columns, optional
        As for :meth:`predict`.
    draws : int
        Number of draws.
    what : {"uncensored", "latent", "observed", "conditional"}
        Responses, with correlated residuals if ``rescor=True``; f without residuals, which mixtures do not have;
        responses clipped at their limits; or uncensored values of the rows given all data. In regressions
        ``"conditional"`` is for the rows of the fit, and missing values are not drawn given others.
    exclude : str or list of str
        Terms to set to zero, e.g. ``"gp(x)"`` or ``"z"``; none with ``"conditional"``. Mixtures have no terms.
    response : str, optional
        Draw this response alone.
    rng : int or numpy Generator, optional
        None gives the same result every time.

    Returns
    -------
    (draws, n, J) array
        On the scale of the responses; ``"latent"`` for log-time families on the log scale. NaN where a row cannot be
        drawn, or has no value to be conditional on. For one ``response``, a DataFrame with a row for each row of the
        data and a column for each draw.

    Raises
    ------
    SpecError
        For an unknown ``what``, more draws than can be held, parameters of a mixture that the rows do not determine, or
        ``"conditional"`` of new rows in a regression.
    DataError, UnseenLevelError
        As for :meth:`predict`.

    References
    ----------
    (MUL1), (LAT14), (MOV8) and (MOV9) of the theory pages.

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("mvbind(durable, quant) ~ age | censor(0, None)", tg.datasets.load("tobin"), rescor=True)
    >>> res.sample({"age": [30.0, 50.0]}, 10).shape
    (10, 2, 2)
    """
    if response is not None:
        rows = new if what == "conditional" else default_rows(results, new)
        return results[response].sample(rows, draws, what=what, exclude=exclude, rng=rng)
    offered = results._drawn
    if not isinstance(what, str) or what not in offered:
        raise SpecError(f"what={what!r} is not supported by sample(); choose one of {', '.join(map(repr, offered))}.")
    size = read_draws(draws, rows=len(results.parts.labels))
    if what == "conditional":
        return results._draw_conditional(new, size, exclude, generator(rng))
    asked, y = results._draw_together(new, size, exclude, generator(rng), what)
    for j, one in enumerate(asked if what == "observed" else ()):
        shown = one.limits()
        y[:, one.usable, j] = np.clip(y[:, one.usable, j], shown.lower, shown.upper)
    return y


@reads_frames
def posterior(
    results: FitTogether,
    new: Frame | None = None,
    *,
    exclude: str | Sequence[str] = (),
    response: str | None = None,
) -> Posterior:
    """Joint mean and covariance of f of all responses in all rows.

    Parameters
    ----------
    new, exclude
        As for :meth:`predict`.
    response : str, optional
        Of this response only.

    Returns
    -------
    mean : Series, (J n,)
        ``predict(what="latent")``, by response and row: on the scale of the response, of its logarithm for log-time
        families.
    covariance : DataFrame, (J n, J n)
        In units of the two responses; NaN in rows that cannot be predicted.

    Raises
    ------
    SpecError
        If the fit holds no training rows and ``new`` is not given.
    DataError, UnseenLevelError
        As for :meth:`predict`.

    References
    ----------
    (PRE1), (PRE2), (MUL1), (LAT8) and (LAT14) of the theory pages.

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("mvbind(durable, quant) ~ age | censor(0, None)", tg.datasets.load("tobin"), rescor=True)
    >>> res.posterior({"age": [30.0, 50.0]}).mean.index.to_list()
    [('durable', 0), ('durable', 1), ('quant', 0), ('quant', 1)]
    """
    if response is not None:
        found: Posterior = results[response].posterior(default_rows(results, new), exclude=exclude)
        return found
    asked, mean, V = results._moments_together(new, exclude)
    index = pd.MultiIndex.from_product([results.parts.labels, asked.index], names=["response", asked.index.name])
    every = np.flatnonzero(np.tile(asked.usable, len(results.parts.labels)))
    value, covariance = np.full(len(index), np.nan), np.full((len(index),) * 2, np.nan)
    value[every] = mean
    covariance[np.ix_(every, every)] = V
    return Posterior(pd.Series(value, index, name="latent"), pd.DataFrame(covariance, index, index))
