"""Predictions of several responses: in new rows, of what is missing or censored, and draws."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.special import ndtri

from tobitgp.data.frames import answers_in_kind
from tobitgp.data.training_summary import NO_ROWS, held_rows
from tobitgp.errors import SpecError
from tobitgp.results.multivariate.response_estimates import RESIDUAL
from tobitgp.results.multivariate.stacked_rows import read_ends
from tobitgp.results.predict import check_level
from tobitgp.results.process.process_results import GPResults
from tobitgp.typing import Array, Frame

if TYPE_CHECKING:
    from tobitgp.results.multivariate.multivariate_results import MultivariateResults

_WHATS = ("median", "latent", "uncensored", "quantile", "sigma")
_TABLE = ["estimate", "se", "lower", "upper"]
_DRAWS = 1000  # for intervals of what may have been


@answers_in_kind
def predict(
    results: MultivariateResults,
    new: Frame | None = None,
    what: str = "median",
    *,
    interval: float | None = None,
    q: float | None = None,
    exclude: str | Sequence[str] = (),
) -> pd.DataFrame:
    """Predict every response in new rows, or in rows with the covariates of the fit.

    What is known of other responses in a row does not enter; :meth:`impute` uses it.

    Parameters
    ----------
    new : DataFrame or dict of columns, optional
        With the columns right of ``~``.
    what : {"median", "latent", "uncensored", "quantile", "sigma"}
        As of :meth:`tobitgp.GPResults.predict`.
    interval : float, optional
        Probability of equal-tailed intervals.
    q : float, optional
        Order of a quantile, a probability.
    exclude : str or list of str
        Terms to set to zero, as ``"gp(x)"``, ``"re(g)"``.

    Returns
    -------
    DataFrame
        A row for each row of the data, a column for each response; with ``interval`` columns ``(y1, "estimate")``,
        and ``se``, ``lower`` and ``upper``. On the scale of the responses; ``"latent"`` of log-time families on
        the log scale.

    Raises
    ------
    SpecError
        For another ``what``, and for means of log-normal responses with ``rescor=True``.
    DataError, UnseenLevelError
        If new data lack a column, or a level was not in the fit.

    References
    ----------
    (MUL1) of the theory pages.

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("mvbind(durable, quant) ~ age | censor(0, None)", tg.datasets.load("tobin"), rescor=True)
    >>> res.predict({"age": [50.0]}).round(0).to_dict("list")
    {'durable': [-3.0], 'quant': [243.0]}
    """
    if what not in _WHATS:
        raise SpecError(f"what={what!r} is not supported; of several responses {', '.join(map(repr, _WHATS))} are.")
    if what == "quantile" and not isinstance(q, float | int):
        raise SpecError("what='quantile' takes one q between 0 and 1, as q=0.9.")
    rows, index = _rows(results, new)
    terms = {name: term for name, term in results._of_responses.terms.items() if term != RESIDUAL}
    excluded = [exclude] if isinstance(exclude, str) else list(exclude)
    for name in excluded:
        if name not in terms:
            listed = ", ".join(map(repr, terms)) or "none"
            raise SpecError(f"exclude= names {name!r}, which is no term that can be left out; this model has {listed}.")
    without = [terms[name] for name in excluded]
    if results._of_responses.correlated:
        if what == "uncensored" and results._stack.log_time:
            raise SpecError("Means of correlated log-normal responses are those of sample(); take what='median'.")
        if what == "sigma" or (what == "quantile" and interval is not None):
            table = _with_effects(results, rows, what, q, check_level(interval), without)
            return _wide(results, table, index, latent=False, interval=interval, sigma=what == "sigma")
        if what != "quantile":
            without.append(RESIDUAL)
    found = results.stacked.predict(rows, what, interval=interval, se=interval is not None, q=q, exclude=without)
    latent, sigma = what == "latent", what == "sigma"
    return _wide(results, pd.DataFrame(found), index, latent=latent, interval=interval, sigma=sigma)


def _with_effects(
    results: MultivariateResults, rows: pd.DataFrame, what: str, q: Any, interval: float | None, exclude: Sequence[str]
) -> pd.DataFrame:
    """Scales of residuals, and quantiles, of which the effect of a row is noise and not an error."""
    noise = pd.DataFrame(results.stacked.predict(rows, "sigma", se=True))
    of_processes = (noise["se"] / noise["estimate"]).to_numpy() * bool(results._stack.wide.scale.others)
    sigma, error = results._of_responses.in_rows(rows, noise["estimate"].to_numpy(), of_processes)
    logs = results._stack.log_time or what == "sigma"
    if what == "sigma":
        y, se = np.log(sigma), error
    else:
        value = pd.Series(results.stacked.predict(rows, "quantile", q=q, exclude=exclude)).to_numpy()
        f = pd.DataFrame(results.stacked.predict(rows, "latent", se=True, exclude=[*exclude, RESIDUAL]))["se"]
        y, se = np.log(value) if logs else value, np.sqrt(f.to_numpy() ** 2 + (ndtri(q) * sigma * error) ** 2)
    reach = 0.0 if interval is None else float(ndtri(0.5 + 0.5 * interval)) * se
    table = pd.DataFrame({"estimate": y, "lower": y - reach, "upper": y + reach})
    table = table.apply(np.exp) if logs else table
    return table.assign(se=table["estimate"] * se if logs else se)


@answers_in_kind
def impute(results: MultivariateResults, new: Frame | None = None, *, interval: float | None = None) -> pd.DataFrame:
    """What responses are or may have been: of censored and missing ones the means given all that is known.

    That is the row's own limits, its other responses if ``rescor=True``, and all other rows.

    Parameters
    ----------
    new : DataFrame or dict of columns, optional
        With the columns of the formula on both sides, of which responses may be missing; the rows of the fit
        without. Hyper-parameters stay those of the fit.
    interval : float, optional
        Probability of equal-tailed intervals of the values, from 1,000 draws of them.

    Returns
    -------
    DataFrame
        As of :meth:`predict`, on the scale of the responses.

    Raises
    ------
    SpecError
        If the fit was loaded from a file.
    DataError
        If new data lack a column, or a response has no value in them.

    References
    ----------
    (MUL5) of the theory pages.

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("mvbind(durable, quant) ~ age | censor(0, None)", tg.datasets.load("tobin"), rescor=True)
    >>> data, filled = tg.datasets.load("tobin"), res.impute()["durable"]
    >>> bool((filled[data["durable"] == 0] < 0).all()), float(filled[1])
    (True, 0.7)
    """
    if results._rows is None:
        raise SpecError(f"{NO_ROWS}, and impute() fits with them; predict() needs none.")
    level, rows = check_level(interval), results._rows
    n, J = len(rows.data), len(results.responses)
    if new is None:
        data, ends, fit = rows.data, rows.ends, results.stacked
        units = results._stack.units(data, ends)
        known = results._stack.known(data, units, ends)
        own = known.index
    else:
        data, units = pd.DataFrame(new), n + np.arange(len(new[next(iter(new))]))
        ends = read_ends(
            results._stack.wide, data, results._stack.functions, log_time=results._stack.log_time, new=True
        )
        known = results._stack.known(data, units, ends)
        own = known.index + J * n
        old = results._stack.known(rows.data, results._stack.units(rows.data, rows.ends), rows.ends)
        fit = rows.refit(pd.concat([old, known.set_axis(own)])) if len(known) else results.stacked
    if not len(data):
        return results.predict(data, interval=interval)
    rest = results._stack.rows(data, units).drop(known.index)
    parts = [_imputed(fit, None, "conditional", level).loc[own].set_axis(known.index)] if len(known) else []
    parts += [_imputed(fit, rest, "uncensored", level)] if len(rest) else []
    table = _wide(results, pd.concat(parts).sort_index(), data.index, latent=False, interval=interval)
    lower, upper = ends
    for j, label in enumerate(results.responses):
        seen = lower[:, j] == upper[:, j]
        if interval is None:
            table.loc[seen, label] = lower[seen, j]
        else:
            table.loc[seen, label] = np.column_stack([lower[seen, j], np.zeros(seen.sum()), *[lower[seen, j]] * 2])
    return table


@answers_in_kind
def sample(
    results: MultivariateResults,
    new: Frame | None = None,
    draws: int = 100,
    *,
    what: str = "uncensored",
    rng: int | np.random.Generator | None = None,
) -> Array:
    """Draw responses of new rows, all rows and responses of a draw together.

    Parameters
    ----------
    new : DataFrame or dict of columns, optional
        As of :meth:`predict`.
    draws : int
        How many.
    what : {"uncensored", "latent"}
        Responses, with residuals that are correlated if ``rescor=True``, or their curves without.
    rng : int or numpy Generator, optional
        None is deterministic.

    Returns
    -------
    (draws, n, J) array
        On the scale of the responses; ``"latent"`` of log-time families on the log scale.

    Raises
    ------
    SpecError
        For another ``what``, or more draws than can be held.
    DataError, UnseenLevelError
        As of :meth:`predict`.

    References
    ----------
    (MUL1) of the theory pages.

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("mvbind(durable, quant) ~ age | censor(0, None)", tg.datasets.load("tobin"), rescor=True)
    >>> res.sample({"age": [30.0, 50.0]}, 10).shape
    (10, 2, 2)
    """
    if what not in ("uncensored", "latent"):
        raise SpecError(f"what={what!r} is neither 'uncensored' nor 'latent'.")
    rows, index = _rows(results, new)
    exclude = [RESIDUAL] if what == "latent" and results._of_responses.correlated else []
    found = results.stacked.sample(rows, draws, what=what, exclude=exclude, rng=rng).to_numpy()
    stacked = found.T.reshape(draws, len(results.responses), len(index))
    return _values(results, stacked.transpose(0, 2, 1), what == "latent")


def _rows(results: MultivariateResults, new: Frame | None) -> tuple[pd.DataFrame, pd.Index]:
    """Stacked rows, of units unseen, and the labels of the data."""
    data = held_rows(results._rows).data if new is None else pd.DataFrame(new)
    return results._stack.rows(data, -1 - np.arange(len(data))), data.index


def _values(results: MultivariateResults, y: Array, latent: bool, sigma: bool = False) -> Array:
    if sigma:
        return np.asarray(y if results._stack.log_time else y * results._stack.scale)
    if latent and results._stack.log_time:
        return np.asarray(y + results._stack.centre)
    return results._stack.values(y)


def _unit(results: MultivariateResults, *, latent: bool) -> Array | float:
    """What standard errors are multiplied by."""
    if results._stack.log_time:
        return 1.0 if latent else np.exp(results._stack.centre)
    return results._stack.scale


def _wide(
    results: MultivariateResults,
    table: pd.DataFrame,
    index: pd.Index,
    *,
    latent: bool,
    interval: float | None,
    sigma: bool = False,
) -> pd.DataFrame:
    """From a table of the stacked rows to one of the data, in the units of the responses."""
    J, columns = len(results.responses), {}
    for name in table.columns[:1] if interval is None else _TABLE:
        y = table[name].to_numpy().reshape(J, len(index)).T
        if name == "se":
            columns[name] = y * _unit(results, latent=latent or sigma)
        else:
            columns[name] = _values(results, y, latent, sigma)
    if interval is None:
        return pd.DataFrame(next(iter(columns.values())), index=index, columns=list(results.responses))
    labels = enumerate(results.responses)
    return pd.concat({y: pd.DataFrame({k: v[:, j] for k, v in columns.items()}, index) for j, y in labels}, axis=1)


def _imputed(fit: GPResults, rows: pd.DataFrame | None, what: str, interval: float | None) -> pd.DataFrame:
    """Means of what stacked rows are or may have been, and quantiles of draws of it."""
    table = pd.Series(fit.predict(rows, what)).to_frame("estimate")
    if interval is None:
        return table
    draws = fit.sample(rows, _DRAWS, what=what)
    tail = 0.5 - 0.5 * interval
    low, high = (draws.quantile(q, axis=1) for q in (tail, 1.0 - tail))
    return table.assign(se=draws.std(axis=1), lower=low, upper=high)
