"""Predictions of several responses together: draws, imputed values, the joint posterior, scores."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.data.arrays import join
from tobitgp.data.frames import answers_in_kind, reads_frames
from tobitgp.data.sources import is_dask
from tobitgp.data.training_summary import NO_ROWS
from tobitgp.diagnostics.training_draws import read_draws, training_rows
from tobitgp.errors import SpecError
from tobitgp.numerics.sampling import generator
from tobitgp.results.fit import Fit
from tobitgp.results.joint import DRAWN, Posterior
from tobitgp.results.joint_draws import sample as sample_rows
from tobitgp.results.multivariate.of_responses import beside
from tobitgp.results.multivariate.response_view import ResponseModel, residual_place
from tobitgp.results.multivariate.stacked_rows import ends_of, read_responses
from tobitgp.results.predict import check_level, new_rows, predict_lazily
from tobitgp.results.prediction import predict as predict_rows
from tobitgp.results.process.process_draws import JointProcess
from tobitgp.results.process.process_results import GPResults
from tobitgp.results.rows import Asked, ask, no_limits
from tobitgp.typing import Array, Frame

_TABLE = ["estimate", "se", "lower", "upper"]
_DRAWS = 1000  # for intervals of what may have been


@answers_in_kind
def predict(
    results: Fit,
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

    Predictions ignore the other responses of a row, except for ``"conditional"`` in the rows of the fit with
    ``rescor=True``. :meth:`impute` also uses them in new rows. With correlated residuals the noise includes the shared
    part of the residuals.

    Parameters
    ----------
    new : DataFrame or dict of columns, optional
        With the columns on the right-hand side of the formula, and columns of the response that the quantity requires;
        by default the rows of the fit.
    what : str, optional
        ``"median"`` by default, ``"latent"``, ``"uncensored"``, ``"observed"``, ``"conditional"``, ``"quantile"``,
        ``"prob"``, ``"sigma"`` or ``"terms"``, as for :meth:`GPResults.predict`.
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
        ``"conditional"`` is NaN for missing values.

    Raises
    ------
    SpecError
        As for :meth:`GPResults.predict`.
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
    >>> res.predict({"age": [50.0]}, "prob", above=0.0, response="durable").round(2).to_list()
    [0.32]
    """
    options: dict[str, Any] = {"interval": interval, "se": se, "q": q, "below": below, "above": above}
    options["exclude"] = exclude
    new = new_rows(new, exog)
    if is_dask(new):
        return predict_lazily(results._without_rows, new, {"what": what, "response": response, **options})
    rows = new if what == "conditional" else default_rows(results, new)
    if response is not None:
        return results[response].predict(rows, what, **options)
    return beside({name: results[name].predict(rows, what, **options) for name in results.parts.labels})


@answers_in_kind
def impute(results: Fit, new: Frame | None = None, *, interval: float | None = None) -> pd.DataFrame:
    """Responses with censored and missing values replaced by their means given all data.

    The means are conditional on the limits of the value, the other responses of the row if ``rescor=True``, and all
    other rows.

    Parameters
    ----------
    new : DataFrame or dict of columns, optional
        With the columns on both sides of the formula; responses may be missing; the rows of the fit without.
        Hyper-parameters stay those of the fit.
    interval : float, optional
        Probability of equal-tailed intervals of the values, from 1,000 draws of them.

    Returns
    -------
    DataFrame
        A row for each row of the data, a column for each response; with ``interval`` columns ``(y1, "estimate")``,
        and ``se``, ``lower`` and ``upper``. On the scale of the responses.

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
    rows, stack = results.parts.read, results.parts.stack
    if rows is None:
        raise SpecError(f"{NO_ROWS}, and impute() requires them. Use predict(), which does not.")
    level, n, J = check_level(interval), len(rows.data), len(results.parts.labels)
    if new is None:
        data, ends = rows.data, rows.ends
        fit = _stacked(results)
        units = stack.units(data, ends)
        known = stack.known(data, units, ends)
        own = known.index
    else:
        data = pd.DataFrame(new)
        units = n + np.arange(len(data))
        seen = read_responses(stack.wide, data, stack.functions, log_time=stack.log_time, new=True)
        ends = ends_of(seen, len(data))
        known = stack.known(data, units, ends)
        own = known.index + J * n
        old = stack.known(rows.data, stack.units(rows.data, rows.ends), rows.ends)
        fit = rows.refit(pd.concat([old, known.set_axis(own)])) if len(known) else _stacked(results)
    if not len(data):
        return pd.DataFrame(predict(results, data, interval=interval))
    rest = stack.rows(data, units).drop(known.index)
    parts = [_imputed(fit, None, "conditional", level).loc[own].set_axis(known.index)] if len(known) else []
    parts += [_imputed(fit, rest, "uncensored", level)] if len(rest) else []
    table = _wide(results, pd.concat(parts).sort_index(), data.index)
    lower, upper = ends
    for j, label in enumerate(results.parts.labels):
        exact = lower[:, j] == upper[:, j]
        if interval is None:
            table.loc[exact, label] = lower[exact, j]
        else:
            table.loc[exact, label] = np.column_stack([lower[exact, j], np.zeros(exact.sum()), *[lower[exact, j]] * 2])
    return table


def _stacked(results: Fit) -> Fit:
    """The fit of the stacked rows."""
    return GPResults.from_parts(results.parts.stacked)


def _imputed(fit: Fit, rows: pd.DataFrame | None, what: str, interval: float | None) -> pd.DataFrame:
    """Means of what stacked rows are or may have been, and quantiles of draws of it."""
    table = pd.Series(predict_rows(fit, rows, what)).to_frame("estimate")
    if interval is None:
        return table
    draws = sample_rows(fit, rows, _DRAWS, what=what)
    tail = 0.5 - 0.5 * interval
    low, high = (draws.quantile(q, axis=1) for q in (tail, 1.0 - tail))
    return table.assign(se=draws.std(axis=1), lower=low, upper=high)


def _wide(results: Fit, table: pd.DataFrame, index: pd.Index) -> pd.DataFrame:
    """From a table of the stacked rows to one of the data, in the units of the responses."""
    stack, J, columns = results.parts.stack, len(results.parts.labels), {}
    for name in table.columns:
        y = table[name].to_numpy().reshape(J, len(index)).T
        unit = np.exp(stack.centre) if stack.log_time else stack.scale
        columns[name] = y * unit if name == "se" else stack.values(y)
    if len(columns) == 1:
        return pd.DataFrame(columns["estimate"], index=index, columns=list(results.parts.labels))
    labels = enumerate(results.parts.labels)
    return pd.concat({y: pd.DataFrame({k: columns[k][:, j] for k in _TABLE}, index) for j, y in labels}, axis=1)


@answers_in_kind
def sample(
    results: Fit,
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
        Responses, with correlated residuals if ``rescor=True``; f without residuals; responses clipped at their limits;
        or uncensored values of the rows of the fit given all data. Missing values are not drawn given others.
    exclude : str or list of str
        Terms to set to zero, e.g. ``"gp(x)"`` or ``"z"``; none with ``"conditional"``.
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
        For an unknown ``what``, more draws than can be held, or ``"conditional"`` of new rows.
    DataError, UnseenLevelError
        As for :meth:`predict`.

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
    if response is not None:
        return results[response].sample(new, draws, what=what, exclude=exclude, rng=rng)
    if what not in DRAWN:
        raise SpecError(f"what={what!r} is not supported by sample(); choose one of {', '.join(map(repr, DRAWN))}.")
    stack, parts, size = results.parts.stack, results.parts, read_draws(draws, rows=len(results.parts.labels))
    if what == "conditional":
        return _sample_seen(results, new, size, exclude, rng)
    own, asked = asked_together(results, new, exclude, latent=what == "latent")
    y = JointProcess(parts.stacked).draw(asked, size, noise=what != "latent", rng=generator(rng))
    out = np.full((size, len(own[0].usable), len(own)), np.nan)
    out[:, own[0].usable] = y.T.reshape(size, len(own), -1).transpose(0, 2, 1)
    out = out + stack.centre if what == "latent" and stack.log_time else stack.values(out)
    for j, one in enumerate(own if what == "observed" else ()):
        shown = one.limits()
        out[:, one.usable, j] = np.clip(out[:, one.usable, j], shown.lower, shown.upper)
    return np.asarray(out)


def _sample_seen(results: Fit, new: Any, draws: int, exclude: Any, rng: Any) -> Array:
    """Draws of the uncensored values of the rows of the fit."""
    training_rows(results.parts, "sample(what='conditional')")
    y = sample_rows(_stacked(results), new, draws, what="conditional", exclude=exclude, rng=rng)
    read, J = results.parts.read, len(results.parts.labels)
    assert read is not None
    n = len(read.data)
    found = y.reindex(range(J * n)).to_numpy().T.reshape(draws, J, n)
    return results.parts.stack.values(found.transpose(0, 2, 1))


def asked_together(results: Fit, new: Frame | None, exclude: Any, *, latent: bool) -> tuple[list[Asked], Asked]:
    """Rows of each response, and all of them as rows of the stack, with the effects of rows unless ``latent``."""
    new = default_rows(results, new)
    own = [ask(one, new, exclude) for one in results.parts.responses]
    designs = []
    for one, asked in zip(results.parts.responses, own, strict=True):
        assert isinstance(one.gp, ResponseModel)
        designs.append(one.gp.stacked_design(asked.design))
    design, skip, gp = join(designs), own[0].skip, results.parts.stacked.gp
    place = residual_place(results.parts.stacked.spec)
    if latent and place is not None:
        skip |= {place + (gp.linear is not None)}
    n = len(design.offset)
    return own, Asked(pd.RangeIndex(n), np.ones(n, dtype=bool), design, partial(no_limits, n), skip, own[0].covariates)


def default_rows(results: Fit, new: Frame | None) -> Frame | None:
    """New rows, or those of the fit, of which some may lack some responses."""
    return new if new is not None or results.parts.read is None else results.parts.read.data


@reads_frames
def posterior(
    results: Fit,
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
    (PRE1), (PRE2) and (MUL1) of the theory pages.

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("mvbind(durable, quant) ~ age | censor(0, None)", tg.datasets.load("tobin"), rescor=True)
    >>> res.posterior({"age": [30.0, 50.0]}).mean.index.to_list()
    [('durable', 0), ('durable', 1), ('quant', 0), ('quant', 1)]
    """
    if response is not None:
        found: Posterior = results[response].posterior(new, exclude=exclude)
        return found
    own, asked = asked_together(results, new, exclude, latent=True)
    mean, V = JointProcess(results.parts.stacked).moments(asked)
    stack, usable = results.parts.stack, own[0].usable
    unit = np.repeat(np.ones(len(own)) if stack.log_time else stack.scale, usable.sum())
    index = pd.MultiIndex.from_product([results.parts.labels, own[0].index], names=["response", own[0].index.name])
    every = np.flatnonzero(np.tile(usable, len(own)))
    value, covariance = np.full(len(index), np.nan), np.full((len(index),) * 2, np.nan)
    value[every] = np.repeat(stack.centre, usable.sum()) + unit * mean
    covariance[np.ix_(every, every)] = np.outer(unit, unit) * V
    return Posterior(pd.Series(value, index, name="latent"), pd.DataFrame(covariance, index, index))
