"""How columns change in marginal effects: at which rows, from what to what."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.data.arrays import CensoredResponse, Design
from tobitgp.data.columns import known_inputs
from tobitgp.data.table import in_days
from tobitgp.data.training_summary import NO_ROWS, coded_values, constant_column
from tobitgp.errors import SpecError, user_level
from tobitgp.formula.functions import nearest
from tobitgp.results.rows import Limits, ask, mean_limits, no_limits, response_of_rows
from tobitgp.results.terms import curve_levels, keep_intercepts
from tobitgp.results.views import Source
from tobitgp.typing import Array

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
    frames: tuple[pd.DataFrame, pd.DataFrame]  # covariates at both values
    value: Array | None = None  # (n,), of a column of numbers

    def multiplier(self, *, by_share: bool) -> Array:
        """Factor of the change of each row, (n,): the value of a column with proportional changes."""
        return self.value if by_share and self.value is not None else np.ones_like(self.width)


@dataclass(frozen=True, slots=True)
class ChangedRows:
    """Rows at which effects are formed: covariates, weights that add up to one, limits and windows."""

    frame: pd.DataFrame
    weight: Array
    limits: Limits
    response: CensoredResponse | None = None  # where it is needed


def rows_at(parts: Source, at: Any, *, need_limits: bool, need_response: bool = False) -> ChangedRows:
    """Rows that ``at`` names."""
    names = list(parts.facts.columns)
    if not names and parts.state.input_names:
        raise SpecError(
            "This fit holds no training rows, which marginal effects require. Fit again and do not remove them."
        )
    response = None
    if isinstance(at, str) and at == "overall":
        if parts.covariates is None:
            raise SpecError(f"{NO_ROWS}: give at='mean', or at= a DataFrame of rows.")
        response = parts.rows.response
        frame, weight, limits = parts.covariates, response.weight, ask(parts).limits
    elif isinstance(at, str) and at == "mean":
        typical = {name: x.example if x.typical is None else x.typical for name, x in parts.facts.columns.items()}
        frame = pd.DataFrame({name: _constant(parts, name, value, 1) for name, value in typical.items()})
        weight, limits = np.ones(1), partial(mean_limits, parts)
    elif isinstance(at, (pd.DataFrame, dict)):
        asked = ask(parts, at)
        if need_response:
            asked, response = response_of_rows(parts, at, asked)
        frame = pd.DataFrame(known_inputs(parts.spec, at))
        frame = in_days(frame.loc[asked.usable, names])
        if not len(frame):
            raise SpecError("at= has no row without missing values.")
        weight, limits = np.ones(len(frame)), asked.limits
    else:
        raise SpecError(f"at={at!r}: at must be 'overall', 'mean', 'design' (regressions only) or a DataFrame of rows.")
    if need_response and response is None:
        raise SpecError(
            f"what='conditional' requires observed rows, and at={at!r} does not select any. Use at='overall'."
        )
    return ChangedRows(frame, weight / weight.sum(), limits() if need_limits else no_limits(len(frame)), response)


def column_levels(parts: Source, name: str) -> list[Any] | None:
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


def changing(parts: Source, variables: Any = None) -> list[str]:
    """Columns of linear and process terms, and of the noise scale, all or those requested; no dates."""
    scale = () if parts.state.scale is None else parts.state.scale.spec.names("linear")
    names = list(dict.fromkeys((*parts.spec.names("linear", "gp", "by"), *scale)))
    if variables is not None:
        chosen = [variables] if isinstance(variables, str) else list(variables)
        wrong = [name for name in chosen if name not in names]
        if wrong or not chosen:
            close = nearest(str(wrong[0]), names) if wrong else ""
            raise SpecError(
                f"variables={variables!r}{close}: variables must be columns among {', '.join(map(repr, names))}."
            )
        names = [name for name in names if name in chosen]
    dates = [name for name in names if parts.facts.columns[name].kind == "date"]
    if dates:
        years = f"(df[{dates[0]!r}] - df[{dates[0]!r}].min()).dt.days / 365.25"
        message = (
            f"Marginal effects of dates are not available ({', '.join(map(repr, dates))}). Use a column of numbers in "
            f"the formula, e.g. {years}."
        )
        if len(dates) == len(names):
            raise SpecError(message)
        warnings.warn(message, UserWarning, stacklevel=user_level())
    return [name for name in names if name not in dates]


def changes(parts: Source, frame: pd.DataFrame, names: Iterable[str]) -> Iterator[Change]:
    """Every contrast of every column of some names."""
    for name in names:
        levels = column_levels(parts, name)
        if levels is None:
            yield _slope(parts, frame, name)
            continue
        first, *others = (frame.assign(**{name: _constant(parts, name, level, len(frame))}) for level in levels)
        base = _replay(parts, frame, name, first)
        for level, moved in zip(levels[1:], others, strict=True):
            other = _replay(parts, frame, name, moved)
            shown = [f"{v:g}" if isinstance(v, float) else str(v) for v in (level, levels[0])]
            yield Change(name, " - ".join(shown), other, base, np.ones(len(frame)), (moved, first))


def _slope(parts: Source, frame: pd.DataFrame, name: str) -> Change:
    seen = parts.facts.columns[name]
    x = frame[name].to_numpy(dtype=np.float64)
    least = 8.0 * np.spacing(max(abs(seen.minimum), abs(seen.maximum)))  # what a column that hardly varies can show
    step = max(STEP * (seen.sd or max(abs(seen.minimum), 1.0)), least)
    room = step if seen.minimum == seen.maximum else 0.0
    high = np.minimum(x + step, np.maximum(seen.maximum + room, x))
    low = np.maximum(x - step, np.minimum(seen.minimum - room, x))
    frames = frame.assign(**{name: high}), frame.assign(**{name: low})
    up, down = (_replay(parts, frame, name, moved) for moved in frames)
    return Change(name, SLOPE, up, down, high - low, frames, x)


def _constant(parts: Source, name: str, value: Any, n: int) -> Any:
    """Column that holds one value."""
    return constant_column(parts.state, parts.facts.columns[name], name, value, n)


def _replay(parts: Source, frame: pd.DataFrame, name: str, moved: pd.DataFrame) -> Design:
    """Design of rows with other values in one column; each keeps its random intercepts."""
    design = parts.state.replay(moved)[0]
    if name not in parts.spec.names("re"):
        return design
    return keep_intercepts(parts, design, parts.state.replay(frame)[0])
