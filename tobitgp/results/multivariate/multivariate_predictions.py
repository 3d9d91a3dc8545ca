"""Imputed values, draws and joint moments of several responses that were fitted as stacked rows."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.data.arrays import join
from tobitgp.data.training_summary import NO_ROWS
from tobitgp.diagnostics.training_draws import training_rows
from tobitgp.errors import SpecError
from tobitgp.results.fit import Fit
from tobitgp.results.joint_draws import sample as sample_rows
from tobitgp.results.multivariate.response_view import ResponseModel, residual_place
from tobitgp.results.multivariate.stacked_rows import ends_of, read_responses
from tobitgp.results.multivariate.together_questions import FitTogether, default_rows, predict
from tobitgp.results.prediction import predict as predict_rows
from tobitgp.results.process.process_draws import JointProcess
from tobitgp.results.process.process_results import GPResults
from tobitgp.results.rows import Asked, ask, no_limits
from tobitgp.typing import Array, Frame

_TABLE = ["estimate", "se", "lower", "upper"]
_DRAWS = 1000  # for intervals of what may have been


def impute(results: FitTogether, new: Frame | None, level: float | None) -> pd.DataFrame:
    """Means of values given all data, and quantiles of draws of them: (MUL5)."""
    rows, stack = results.parts.read, results.parts.stack
    if rows is None:
        raise SpecError(f"{NO_ROWS}, and impute() requires them. Use predict(), which does not.")
    n, J = len(rows.data), len(results.parts.labels)
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
        return pd.DataFrame(predict(results, data, interval=level))
    rest = stack.rows(data, units).drop(known.index)
    parts = [_imputed(fit, None, "conditional", level).loc[own].set_axis(known.index)] if len(known) else []
    parts += [_imputed(fit, rest, "uncensored", level)] if len(rest) else []
    table = _wide(results, pd.concat(parts).sort_index(), data.index)
    lower, upper = ends
    for j, label in enumerate(results.parts.labels):
        exact = lower[:, j] == upper[:, j]
        if level is None:
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


def draw(
    results: Fit, new: Frame | None, draws: int, exclude: Any, rng: np.random.Generator, what: str
) -> tuple[list[Asked], Array]:
    """Rows of each response, and draws (draws, n, J) of f or of uncensored values."""
    stack, latent = results.parts.stack, what == "latent"
    own, asked = asked_together(results, new, exclude, latent=latent)
    y = JointProcess(results.parts.stacked).draw(asked, draws, noise=not latent, rng=rng)
    out = np.full((draws, len(own[0].usable), len(own)), np.nan)
    out[:, own[0].usable] = y.T.reshape(draws, len(own), -1).transpose(0, 2, 1)
    return own, np.asarray(out + stack.centre if latent and stack.log_time else stack.values(out))


def draw_seen(results: Fit, new: Any, draws: int, exclude: Any, rng: Any) -> Array:
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


def moments(results: Fit, new: Frame | None, exclude: Any) -> tuple[Asked, Array, Array]:
    """Rows, and the mean (J n,) and covariance of f of all responses in those that can be predicted."""
    own, asked = asked_together(results, new, exclude, latent=True)
    mean, V = JointProcess(results.parts.stacked).moments(asked)
    stack, n = results.parts.stack, own[0].usable.sum()
    unit = np.repeat(np.ones(len(own)) if stack.log_time else stack.scale, n)
    return own[0], np.repeat(stack.centre, n) + unit * mean, np.outer(unit, unit) * V
