"""Rows of several responses, stacked: one row for each value, every response in units of its standard deviation."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd

from tobitgp.data.absorbed import as_dense
from tobitgp.data.arrays import CensoredResponse, Design
from tobitgp.data.design import DesignState, input_names, learn_design
from tobitgp.data.linear_columns import Independence, check_independence
from tobitgp.data.margins import linear_blocks
from tobitgp.data.moments import Joint
from tobitgp.data.outcome import outcome
from tobitgp.data.partition import naming
from tobitgp.data.prepare import prepare
from tobitgp.data.table import column_names, read_table
from tobitgp.errors import DataError, SpecError, user_level
from tobitgp.formula import parse_formula, parse_scale_formula
from tobitgp.formula.functions import NamedFunctions
from tobitgp.formula.mvbind import COLUMN, EACH, LOWER, RESPONSE, SCALE_COLUMN, STACKED, TAKEN, UNIT, UPPER, Wide
from tobitgp.formula.spec import ResponseKind
from tobitgp.priors.coefficients import WEAK, find_layers, prior_root
from tobitgp.typing import Array, BoolArray, Frame, IntArray

WideEnds = tuple[Array, Array]  # limits of every response, (n, J) each, NaN for missing values
RESIDUAL = f"re(0 + {EACH} | {UNIT})"


@dataclass(frozen=True, slots=True)
class Stack:
    """How rows of several responses are stacked; of a log-time family values are only divided."""

    wide: Wide
    functions: NamedFunctions
    log_time: bool
    state: DesignState  # of the linear terms, and of those of log sigma
    inputs: tuple[str, ...]  # columns of processes and groups
    centre: Array  # (J,), of values, or of their logarithms
    scale: Array  # (J,)
    means: Array  # (p,), of the linear columns; zeros without an intercept
    basis: Array  # (p, p), what columns less their means are multiplied by
    constant: Array  # (p,), sum of columns that is 1 in every row, without an intercept; else zeros
    scale_means: Array  # (q,), of the columns of log sigma
    weights: str | None  # column of the frequency weights
    var_weights: str | None

    shapes: ClassVar = {
        "levels": "centre! scale!",
        "columns": "means! constant!",
        "columns columns": "basis!",
        "scale_columns": "scale_means!",
    }

    def inconsistencies(self) -> Iterator[str]:
        """Inconsistent parts of a stack that was read from a file."""
        if self.state.scale is None or not (self.scale > 0.0).all():
            yield "the scales of its stack make no sense"

    @property
    def levels(self) -> list[str]:
        """Levels of the responses in the stack, (J,)."""
        return [f"y{j}" for j in range(len(self.wide.labels))]

    @property
    def columns(self) -> tuple[str, ...]:
        """Linear columns other than the intercept, (p,)."""
        return self.state.linear.columns[int(self.wide.terms.intercept) :]

    @property
    def scale_columns(self) -> tuple[str, ...]:
        """Columns of log sigma other than its intercept, (q,)."""
        assert self.state.scale is not None
        return self.state.scale.linear.columns[1:]

    @property
    def formula(self) -> str:
        """The formula of the stack."""
        return self.wide.stacked(len(self.columns))

    @property
    def scale_formula(self) -> str:
        """That of its log sigma."""
        return self.wide.stacked_scale(len(self.scale_columns))

    def design(self, data: Frame) -> tuple[Design, BoolArray]:
        """Linear columns of rows in the user's units, and usable (n,)."""
        lacking = [name for name in self.inputs if name not in column_names(data)]
        if lacking:
            raise DataError(f"The data have no column {lacking[0]!r}.")
        return self.state.replay(data)

    def rows(self, data: Frame, units: Any) -> pd.DataFrame:
        """All J n rows, those of one response together, without their values; units (n,)."""
        made = self.design(data)
        each = [self.of_response(j, data, *made, units) for j in range(len(self.levels))]
        return pd.concat(each, ignore_index=True)

    def of_response(self, j: int, data: Frame, design: Design, usable: BoolArray, units: Any) -> pd.DataFrame:
        """The n rows of one response, without its values."""
        assert design.scale is not None
        H = np.full((len(usable), len(self.columns)), np.nan)
        H[usable] = (as_dense(design.H)[:, int(self.wide.terms.intercept) :] - self.means) @ self.basis
        W = np.full((len(usable), len(self.scale_columns)), np.nan)
        W[usable] = design.scale.W[:, 1:] - self.scale_means
        there = column_names(data)
        beside = [name for name in (self.weights, self.var_weights) if name is not None and name in there]
        own = {name: np.asarray(data[name]) for name in (*self.inputs, *beside)}
        own |= {COLUMN.format(i): column for i, column in enumerate(H.T)}
        own |= {SCALE_COLUMN.format(i): column for i, column in enumerate(W.T)} | {UNIT: units}
        level = pd.Categorical([self.levels[j]] * len(usable), categories=self.levels)
        return pd.DataFrame({**own, RESPONSE: level})

    def columns_of_stack(self, j: int, names: Sequence[str]) -> Array:
        """Factors of the user's linear columns that give those of the stack, (p, P)."""
        first, level, names = int(self.wide.terms.intercept), f"{EACH}[{self.levels[j]}]", list(names)
        at = [names.index(f"{level}:{COLUMN.format(k)}") for k in range(len(self.columns))]
        T = np.zeros((first + len(at), len(names)))
        T[first:, at] = self.basis
        if first:
            T[0, names.index(level)] = 1.0
            T[0, at] = -self.means @ self.basis
        return T

    def null(self, j: int) -> Array:
        """Correction of the coefficients of a response for its centre, (p,)."""
        if self.wide.terms.intercept:
            return np.concatenate([[-self.centre[j]], np.zeros(len(self.columns))])
        return np.asarray(-self.centre[j] * self.constant)

    def known(self, data: pd.DataFrame, units: Any, ends: WideEnds) -> pd.DataFrame:
        """The rows of which something is known, with their ends, and no covariate is missing; by response and unit."""
        lower, upper = (self.standardised(end).T.ravel() for end in ends)
        rows = self.rows(data, units).assign(**{LOWER: lower, UPPER: upper})
        ones = {w: 1.0 for w in (self.weights, self.var_weights) if w is not None and w not in rows.columns}
        return rows.assign(**ones)[rows.notna().all(axis=1)].sort_values([RESPONSE, UNIT], kind="stable")

    def units(self, data: pd.DataFrame, ends: WideEnds) -> IntArray:
        """Number of each row of a fit, (n,), by what it holds: the order of rows does not show."""
        weights = [name for name in (self.weights, self.var_weights) if name is not None]
        names = dict.fromkeys((*self.state.input_names, *self.inputs, *weights))
        held = [pd.util.hash_array(data[name].to_numpy()) for name in names]
        return np.argsort(np.lexsort([*held, *ends[1].T, *ends[0].T]))

    def warn_missing(self, data: pd.DataFrame) -> None:
        """Warn of rows that are dropped since a covariate is missing."""
        missing = data[[*dict.fromkeys((*self.state.input_names, *self.inputs))]].isna()
        dropped, columns = int(missing.any(axis=1).sum()), missing.sum()
        if dropped:
            where = ", ".join(f"{name!r} ({count})" for name, count in columns[columns > 0].items())
            verb = "are" if dropped > 1 else "is"
            message = f"{dropped} of {len(data)} rows {verb} dropped: missing values in {where}"
            warnings.warn(message, UserWarning, stacklevel=user_level())

    def standardised(self, y: Array) -> Array:
        """Values (..., J) in units of their response."""
        return np.asarray(y / np.exp(self.centre) if self.log_time else (y - self.centre) / self.scale)

    def values(self, y: Array) -> Array:
        """Standardised values (..., J) as they were."""
        return np.asarray(y * np.exp(self.centre) if self.log_time else self.centre + self.scale * y)


def learn_stack(
    wide: Wide,
    data: pd.DataFrame,
    ends: WideEnds,
    *,
    functions: NamedFunctions = None,
    log_time: bool = False,
    weights: str | None = None,
    var_weights: str | None = None,
) -> Stack:
    """Learn how rows are stacked from ends (n, J) of the responses; weights are columns."""
    for name in (weights, var_weights):
        if name is not None and TAKEN.fullmatch(name):
            raise DataError(f"Several responses are stacked under names such as {name!r}; rename the column.")
    columns = list(data.columns)
    spec = parse_formula(wide.linear, columns, functions)
    scale = parse_scale_formula(wide.scale_linear, columns, functions)
    spec = replace(spec, scale=scale)
    every = [*columns, *STACKED]
    of_mean = parse_formula(" + ".join([f"{LOWER} ~ 1", *wide.terms.others]), every, functions)
    of_scale = parse_scale_formula(" + ".join(["~ 1", *wide.scale.others]), every, functions)
    inputs = [v.name for v in (*of_mean.variables, *of_scale.variables) if v.name not in STACKED]
    names = input_names(spec, scale)
    _check_names(wide, columns, functions, {*inputs, *names})
    there = data[[*dict.fromkeys((*names, *inputs))]].notna().all(axis=1).to_numpy()
    weight = np.ones(len(data)) if weights is None else np.asarray(data[weights], dtype=np.float64)
    there &= weight > 0.0
    complete, ends, weight = data[there], (ends[0][there], ends[1][there]), weight[there]
    state = learn_design(spec, scale, read_table(complete, names))
    design, _ = state.replay(complete)
    assert design.scale is not None
    first = int(wide.terms.intercept)
    H = as_dense(design.H)
    check_independence(Independence.of(H), state.linear.columns)
    check_independence(Independence.of(design.scale.W), state.scale_columns)
    p = H.shape[1]
    layers = find_layers(linear_blocks(state.linear, spec), p, np.zeros(p, dtype=np.bool_))
    root = prior_root(layers, Joint.of(H, weight).factor, np.full(p, np.nan), 1.0, WEAK) if p > first else np.eye(p)
    centred = layers.constant is not None
    centre, unit = _units(wide, ends, weight, log_time=log_time, centred=centred)
    constant = np.zeros(p) if layers.constant is None or first else layers.constant
    return Stack(
        wide,
        functions,
        log_time,
        state,
        tuple(dict.fromkeys(inputs)),
        centre,
        unit,
        np.average(H[:, first:], axis=0, weights=weight) * first,
        root[first:, first:],
        constant[first:],
        np.average(design.scale.W[:, 1:], axis=0, weights=weight),
        weights,
        var_weights,
    )


def _check_names(wide: Wide, columns: Sequence[str], functions: NamedFunctions, used: set[str]) -> None:
    """Raise an error for responses among the terms."""
    for label, formula in zip(wide.labels, wide.formulas, strict=True):
        responses = {v.name for v in parse_formula(formula, columns, functions).variables if v.role == "response"}
        for name in sorted(used & responses):
            raise SpecError(f"The response {label} is also a term, {name!r}. Leave it out of one side.")


def _units(wide: Wide, ends: WideEnds, weight: Array, *, log_time: bool, centred: bool) -> tuple[Array, Array]:
    """Centres and scales (J,): where no coefficients take up a level nothing is taken away; weight (n,)."""
    centre, unit = np.zeros(len(wide.labels)), np.ones(len(wide.labels))
    for j, (low, high) in enumerate(zip(ends[0].T, ends[1].T, strict=True)):
        if not (np.isfinite(low) & np.isfinite(high)).any():
            raise DataError(f"The response {wide.labels[j]} has no uncensored value. Leave it out.")
        end = np.where(np.isfinite(high), high, low)
        known = np.isfinite(end) & ((end > 0.0) if log_time else True)
        end, w = np.log(end[known]) if log_time else end[known], weight[known]
        centre[j] = np.average(end, weights=w) if centred else 0.0
        if not log_time:
            unit[j] = np.sqrt(np.average(np.square(end - centre[j]), weights=w)) or 1.0
    return centre, unit


class SeenResponse(NamedTuple):
    """Values and limits of one response."""

    rows: IntArray  # (m,), positions of the rows that have it
    response: CensoredResponse  # of these
    learned: tuple[ResponseKind, str] = (
        "value",
        "",
    )  # its kind, and a column of durations in it


def read_responses(
    wide: Wide, data: pd.DataFrame, functions: NamedFunctions = None, *, log_time: bool = False, new: bool = False
) -> list[SeenResponse]:
    """Values and limits of every response, (J,); in new rows a response may be missing completely."""
    return [_read_response(wide, j, data, functions, log_time=log_time, new=new) for j in range(len(wide.labels))]


def _read_response(
    wide: Wide, j: int, data: pd.DataFrame, functions: NamedFunctions, *, log_time: bool, new: bool
) -> SeenResponse:
    variables = parse_formula(wide.formulas[j], None, functions).variables
    own = [v.name for v in variables if v.role in ("response", "bound", "event")]
    if new and not set(own) <= set(data.columns):
        return _NOTHING
    spec = parse_formula(wide.formulas[j], list(data.columns), functions)
    there = np.flatnonzero(data[own].notna().any(axis=1))
    if not len(there):
        if not new:
            raise DataError(f"The response {wide.labels[j]} has no value in these rows.")
        return _NOTHING
    read = prepare(spec, data.iloc[there], log_time=log_time)
    with naming(wide.labels[j]):
        outcome(read.response, log_time=log_time, labels=read.labels)
    read_as = read.state.spec.response
    return SeenResponse(there[read.kept], read.response, (read_as.kind, read_as.duration))


_NOTHING = SeenResponse(np.zeros(0, dtype=np.intp), CensoredResponse(*np.zeros((7, 0))))


def ends_of(seen: Sequence[SeenResponse], n: int) -> WideEnds:
    """Ends (n, J) of what is known about every response."""
    ends = np.full((2, n, len(seen)), np.nan)
    for j, one in enumerate(seen):
        ends[:, one.rows, j] = one.response.lower, one.response.upper
    return ends[0], ends[1]
