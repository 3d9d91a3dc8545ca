"""How columns change in marginal effects: at which rows, from what to what."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from tobitgp.data.arrays import Design
from tobitgp.data.table import in_days
from tobitgp.data.training_summary import NO_ROWS, coded_values, constant_column
from tobitgp.errors import SpecError, user_level
from tobitgp.results.rows import Limits, ask, mean_limits, no_limits
from tobitgp.results.terms import curve_levels, keep_intercepts
from tobitgp.results.views import Source
from tobitgp.typing import Array, Frame

if TYPE_CHECKING:
    pass

STEP = 1e-4
SLOPE = "dy/dx"


@dataclass(frozen=True, slots=True)
class Change:
    """Two values of a column in n rows."""

    variable: str
    contrast: str
    high: Design
    low: Design
    width: Array  # (n,), what the difference is divided by


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows at which effects are formed: covariates, weights that add up to one, limits and windows."""

    frame: pd.DataFrame
    weight: Array
    limits: Limits


def rows_at(parts: Source, at: Any, *, need_limits: bool) -> Rows:
    """Rows that ``at`` names."""
    names = list(parts.facts.columns)
    if not names and parts.state.input_names:
        raise SpecError("This fit holds no training rows, from which the columns and their steps are taken.")
    if isinstance(at, str) and at == "overall":
        if parts.covariates is None:
            raise SpecError(f"{NO_ROWS}: give at='mean', or at= a DataFrame of rows.")
        n, weight = parts.facts.n, parts.rows.response.weight
        limits = ask(parts).limits() if need_limits else no_limits(n)
        return Rows(parts.covariates, weight / weight.sum(), limits)
    if isinstance(at, str) and at == "mean":
        columns = parts.facts.columns.items()
        frame = pd.DataFrame(
            {
                name: constant_column(parts.state, x, name, x.example if x.typical is None else x.typical, 1)
                for name, x in columns
            }
        )
        return Rows(frame, np.ones(1), mean_limits(parts) if need_limits else no_limits(1))
    if isinstance(at, (pd.DataFrame, dict)):
        asked = ask(parts, at)
        frame = at if isinstance(at, pd.DataFrame) else pd.DataFrame(at)
        frame = in_days(frame.loc[asked.usable, names])
        if not len(frame):
            raise SpecError("at= has no row without missing values.")
        n = len(frame)
        return Rows(frame, np.full(n, 1.0 / n), asked.limits() if need_limits else no_limits(n))
    raise SpecError(f"at={at!r}: 'overall', 'mean', of a regression 'design', or a DataFrame of rows is needed.")


def _levels(parts: Source, name: str) -> list[Any] | None:
    """Levels of a column that is used as a factor, has a curve for each, or holds truth values."""
    known = parts.state.levels.get(name)
    if known is not None:
        return list(known)
    curves = curve_levels(parts, name)
    if curves is not None:
        return curves
    coded = coded_values(parts.state, name)
    if coded is not None:
        return coded.tolist()
    return [False, True] if parts.facts.columns[name].kind == "boolean" else None


def changes(parts: Source, frame: pd.DataFrame) -> Iterator[Change]:
    """Every contrast of every column of linear and process terms, and of the noise scale; dates are left out."""
    scale = () if parts.state.scale is None else parts.state.scale.spec.names("linear")
    names = dict.fromkeys((*parts.spec.names("linear", "gp", "by"), *scale))
    dates = [name for name in names if parts.facts.columns[name].kind == "date"]
    if dates:
        listed = f"{', '.join(map(repr, dates))} hold{'s' * (len(dates) == 1)} dates"
        message = (
            f"{listed}, along which no effect is formed; make years of {'it' if len(dates) == 1 else 'them'} first"
        )
        if len(dates) == len(names):
            raise SpecError(f"Column{'s' * (len(dates) > 1)} {message}.")
        warnings.warn(f"Left out: {message}", UserWarning, stacklevel=user_level())
    for name in names:
        if name in dates:
            continue
        levels = _levels(parts, name)
        if levels is None:
            yield _slope(parts, frame, name)
            continue
        base = _replay(parts, frame, name, _constant(parts, name, levels, 0, len(frame)))
        for k, level in enumerate(levels[1:], start=1):
            other = _replay(parts, frame, name, _constant(parts, name, levels, k, len(frame)))
            shown = [f"{v:g}" if isinstance(v, float) else str(v) for v in (level, levels[0])]
            yield Change(name, " - ".join(shown), other, base, np.ones(len(frame)))


def _slope(parts: Source, frame: pd.DataFrame, name: str) -> Change:
    seen = parts.facts.columns[name]
    x = frame[name].to_numpy(dtype=np.float64)
    step = STEP * (seen.sd or max(abs(seen.minimum), 1.0))
    room = step if seen.minimum == seen.maximum else 0.0
    high = np.minimum(x + step, np.maximum(seen.maximum + room, x))
    low = np.maximum(x - step, np.minimum(seen.minimum - room, x))
    return Change(name, SLOPE, _replay(parts, frame, name, high), _replay(parts, frame, name, low), high - low)


def _constant(parts: Source, name: str, levels: list[Any], k: int, n: int) -> Any:
    """Column that holds one level."""
    return constant_column(parts.state, parts.facts.columns[name], name, levels[k], n)


def _replay(parts: Source, frame: Frame, name: str, values: Any) -> Design:
    assert isinstance(frame, pd.DataFrame)
    design = parts.state.replay(frame.assign(**{name: values}))[0]
    if name not in parts.spec.names("re"):
        return design
    return keep_intercepts(parts, design, parts.state.replay(frame)[0])
