"""The arrays that leave the data room, in the user's units and standardised; no pandas from here on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np

from tobitgp.errors import SpecError
from tobitgp.numerics.sampling import generator
from tobitgp.typing import Array, BoolArray, IntArray

Item = TypeVar("Item")


def take(value: Item, at: slice | BoolArray | IntArray) -> Item:
    """Some rows of a value: its arrays are indexed, those of dataclasses and tuples in it too; all else stays."""
    taken: Item = _take(value, at)
    return taken


def _take(value: Any, at: Any) -> Any:
    if isinstance(value, np.ndarray):
        return value[at]
    if hasattr(value, "__dataclass_fields__"):
        return type(value)(*(_take(getattr(value, name), at) for name in value.__dataclass_fields__))
    if isinstance(value, tuple):
        items = [_take(item, at) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else tuple(items)
    return value


@dataclass(frozen=True, slots=True)
class CensoredResponse:
    """What is known of each row's y, in the user's units."""

    lower: Array  # (n,), y lies in (lower, upper]
    upper: Array  # (n,), y lies in (lower, upper]
    limit_lower: Array  # (n,), limits of the instrument, ``-inf`` and ``inf`` where there are none
    limit_upper: Array  # (n,), limits of the instrument, ``-inf`` and ``inf`` where there are none
    entry: Array  # (n,), window outside which the row could not have been seen; ``-inf`` and ``inf`` without truncation
    exit: Array  # (n,), window outside which the row could not have been seen; ``-inf`` and ``inf`` without truncation
    weight: Array  # (n,), frequency weights, > 0

    def rows(self, at: BoolArray | IntArray) -> CensoredResponse:
        """Some of the rows."""
        return take(self, at)


class Groups(NamedTuple):
    """Group of each row."""

    code: IntArray  # (n,), position among the levels of the training data
    size: int  # number of levels in the training data


@dataclass(frozen=True, slots=True)
class ScaleDesign:
    """Covariates of log sigma in n rows, ``log(sigma) = W gamma + offset``."""

    W: Array  # (n, q)
    columns: tuple[str, ...]  # names of the parameters, ``log(sigma)[z]``
    offset: Array  # (n,)

    def rows(self, at: slice | BoolArray | IntArray) -> ScaleDesign:
        """Some of the rows."""
        return take(self, at)


@dataclass(frozen=True, slots=True)
class Design:
    """Covariates of n rows, in the user's units."""

    H: Array  # (n, p), linear design, the intercept among its columns where there is one
    columns: tuple[str, ...]  # formulaic's column names
    X: tuple[Array, ...]  # (n, d_t), inputs of each process; no columns for ``re()``
    offset: Array  # (n,)
    groups: tuple[Groups | None, ...]  # of each process that has ``by=`` or is ``re()``
    scale: ScaleDesign | None = None  # of the noise scale, where it has a formula
    spread: Array | None = None  # (n,), standard deviation of the noise in units of that scale

    def noise(self, sigma: float) -> float | Array:
        """Standard deviation of the noise of every row, or of all."""
        return sigma if self.spread is None else sigma * self.spread

    @property
    def log_noise(self) -> Array:
        """Known part (n,) of log sigma."""
        known = np.zeros(len(self.H)) if self.scale is None else self.scale.offset
        return known if self.spread is None else known + np.log(self.spread)

    def rows(self, at: slice | BoolArray | IntArray) -> Design:
        """Some of the rows."""
        return take(self, at)


RowKind = Literal["exact", "one-sided", "interval"]
KINDS: tuple[RowKind, ...] = ("exact", "one-sided", "interval")


class Window(NamedTuple):
    """Where a row's y had to lie for the row to be seen, (n,) each; infinite ends where it is open."""

    entry: Array
    exit: Array
    span: Array


class Instrument(NamedTuple):
    """Limits beyond which a row's y would have been censored, (n,) each; infinite where there is none."""

    lower: Array
    upper: Array


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows of one kind, on the standardised scale with the offset taken away."""

    kind: RowKind
    lower: Array  # (n,), y lies in [lower, upper]
    upper: Array  # (n,), y lies in [lower, upper]
    limit: Array  # (n,), the finite end: the value itself on exact rows
    sign: Array  # (n,), -1 on left-censored rows, +1 on right-censored ones, 0 elsewhere
    weight: Array  # (n,)
    width: Array  # (n,), ``upper - lower``, taken before anything was rounded away: intervals may be narrow
    window: Window | None = None  # of truncated rows
    instrument: Instrument | None = None  # limits, on exact rows too, where they were asked for
    side: IntArray | None = None  # (n,), which censoring noise a row has, where each one-sided row has its own
    spread: Array | None = None  # (n,), standard deviation of the noise in units of sigma, where rows differ

    def __getitem__(self, rows: slice | IntArray) -> Rows:
        """Some of the rows."""
        return take(self, rows)

    def noise(self, sigma: float | Array) -> float | Array:
        """Standard deviation of the noise of every row."""
        return sigma if self.spread is None else sigma * self.spread

    def __len__(self) -> int:
        return len(self.limit)


@dataclass(frozen=True, slots=True)
class Units:
    """What turns standardised numbers back into the user's."""

    centre: float  # standardised y = (y - centre) / scale
    scale: float  # standardised y = (y - centre) / scale
    log_time: bool  # y stands for log time
    x_centre: tuple[Array, ...]  # (d_t,), of each process's inputs
    x_scale: tuple[Array, ...]  # (d_t,), of each process's inputs
    log_jacobian: float


@dataclass(frozen=True, slots=True)
class Problem:
    """Everything inference may see."""

    rows: tuple[Rows, ...]  # exact
    order: IntArray  # (n,), ``order[i]`` is the position in the training data of the problem's row i
    H: Array  # (n, p), linear columns in the problem's order, in the user's units
    X: tuple[Array, ...]  # (n, d_t), standardised inputs of each process in the problem's order
    code: tuple[IntArray | None, ...]  # (n,), group of each row for each process that has groups
    units: Units

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.order)

    @property
    def weight(self) -> Array:
        """Frequency weights (n,) in the problem's order."""
        return np.concatenate([r.weight for r in self.rows])

    def number_sides(self) -> Problem:
        """The problem with a censoring noise for each one-sided row that is not truncated, numbered in their order."""
        rows = tuple(
            replace(r, side=np.arange(len(r))) if r.kind == "one-sided" and r.window is None else r for r in self.rows
        )
        return replace(self, rows=rows)

    def subset(self, size: int, rng: int | np.random.Generator | None = None) -> tuple[Problem, IntArray]:
        """About ``size`` rows, every kind in proportion, and their positions in this problem."""
        parts, positions, start = [], [], 0
        for rows, take in zip(self.rows, draw_rows([len(rows) for rows in self.rows], size, rng), strict=True):
            parts.append(rows[take])
            positions.append(start + take)
            start += len(rows)
        at = np.concatenate(positions)
        X, code = tuple(X[at] for X in self.X), tuple(None if c is None else c[at] for c in self.code)
        return Problem(tuple(parts), self.order[at], self.H[at], X, code, self.units), at


def draw_rows(counts: Sequence[int], size: int, rng: int | np.random.Generator | None = None) -> list[IntArray]:
    """Positions of about ``size`` rows among those of each kind, every kind in proportion; gives (k,)."""
    rng = generator(rng)
    keep = [min(max(1, round(size * count / sum(counts))), count) for count in counts]
    return [np.sort(rng.choice(count, k, replace=False)) for count, k in zip(counts, keep, strict=True)]


def with_limits(problem: Problem, response: CensoredResponse, known_mean: Array) -> Problem:
    """The problem with the limits of every row, standardised as its ends are; known_mean (n,)."""
    if any(rows.window is not None or rows.kind == "interval" for rows in problem.rows):
        raise SpecError(f"{_NEED}; it has no formula for rows that are truncated or known to an interval.")
    if np.isnan(response.limit_lower).any() or np.isnan(response.limit_upper).any():
        raise SpecError(f"{_NEED}, and here they are unknown; write them as censor(lower, upper).")
    ends = []
    for limit in (response.limit_lower, response.limit_upper):
        with np.errstate(divide="ignore"):
            end = np.log(np.maximum(limit, 0.0)) if problem.units.log_time else limit
        ends.append(((end - known_mean) / problem.units.scale)[problem.order])
    out, start = [], 0
    for rows in problem.rows:
        span = slice(start, start + len(rows))
        out.append(replace(rows, instrument=Instrument(ends[0][span], ends[1][span])))
        start += len(rows)
    return replace(problem, rows=tuple(out))


_NEED = "bound='karlova' takes the limits of the instrument in every row"
