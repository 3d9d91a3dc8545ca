"""The arrays that leave the subpackage ``data``, in the user's units and standardised; no pandas from here on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial, reduce
from itertools import pairwise
from typing import Any, Literal, NamedTuple, Self, TypeVar

import numpy as np

from tobitgp.data.absorbed import Columns
from tobitgp.errors import SpecError
from tobitgp.numerics.sampling import generator
from tobitgp.typing import Array, BoolArray, IntArray

Element = TypeVar("Element")


def take(value: Element, at: slice | BoolArray | IntArray) -> Element:
    """Some rows of a value: its arrays are indexed, those of dataclasses and tuples in it too; all else stays."""
    return _combine([value], lambda arrays: arrays[0][at])


def join(values: Sequence[Element], how: Callable[[Sequence[Any]], Any] = np.concatenate) -> Element:
    """Concatenate the arrays of equal dataclasses or tuples; other fields are those of the first."""
    return values[0] if len(values) == 1 else _combine(values, how)


def _combine(values: Sequence[Any], arrays: Any) -> Any:
    first = values[0]
    if isinstance(first, np.ndarray):
        return arrays(values)
    if hasattr(first, "__dataclass_fields__"):
        parts = ([getattr(value, name) for value in values] for name in first.__dataclass_fields__)
        return type(first)(*(_combine(part, arrays) for part in parts))
    if isinstance(first, tuple):
        return _tuple(first, [_combine(part, arrays) for part in zip(*values, strict=True)])
    return first


def _tuple(like: Any, items: Sequence[Any]) -> Any:
    return type(like)(*items) if hasattr(like, "_fields") else tuple(items)


def merge(values: Sequence[Element]) -> Element:
    """What several sets of rows tell together: numbers add up, truth values by ``or``, others by ``merge``."""
    return reduce(_merge, values)


def _merge(a: Any, b: Any) -> Any:
    if hasattr(a, "merge"):
        return a.merge(b)
    if hasattr(a, "__dataclass_fields__"):
        return type(a)(*(_merge(getattr(a, name), getattr(b, name)) for name in a.__dataclass_fields__))
    if isinstance(a, tuple):
        return _tuple(a, [_merge(*pair) for pair in zip(a, b, strict=True)])
    if isinstance(a, dict):
        return {key: _merge(a[key], b[key]) if key in a and key in b else (a | b)[key] for key in a | b}
    if a is None or isinstance(a, bool):
        return a or b
    return a + b


class HasRows:
    """What holds an entry for each of some rows."""

    __slots__ = ()

    def rows(self, at: slice | BoolArray | IntArray) -> Self:
        """Some of the rows."""
        return take(self, at)


@dataclass(frozen=True, slots=True)
class CensoredResponse(HasRows):
    """What is known about each row's y, in the user's units."""

    lower: Array  # (n,), y lies in (lower, upper]
    upper: Array  # (n,), y lies in (lower, upper]
    limit_lower: Array  # (n,), limits of the instrument, ``-inf`` and ``inf`` where there are none
    limit_upper: Array  # (n,), limits of the instrument, ``-inf`` and ``inf`` where there are none
    entry: Array  # (n,), window outside which the row could not have been seen; ``-inf`` and ``inf`` without truncation
    exit: Array  # (n,), window outside which the row could not have been seen; ``-inf`` and ``inf`` without truncation
    weight: Array  # (n,), frequency weights, > 0
    closed: BoolArray | None = None  # (n,), rows of text that say ``<=2`` or ``>=5``, not ``<2`` or ``>5``

    @property
    def window(self) -> tuple[Array, Array] | None:
        """Ends of the windows, where some row has one."""
        there = np.isfinite(self.entry) | np.isfinite(self.exit)
        return (self.entry, self.exit) if there.any() else None

    @property
    def within_window(self) -> tuple[Array, Array]:
        """Ends (n,) between which y lies, of rows with a window inside that."""
        exact = self.lower == self.upper
        return (
            np.where(exact, self.lower, np.maximum(self.lower, self.entry)),
            np.where(exact, self.upper, np.minimum(self.upper, self.exit)),
        )


class Groups(NamedTuple):
    """Group of each row."""

    code: IntArray  # (n,), position among the levels of the training data
    size: int  # number of levels in the training data


@dataclass(frozen=True, slots=True)
class ScaleDesign(HasRows):
    """Covariates of log sigma in n rows, ``log(sigma) = W gamma + offset``."""

    W: Array  # (n, q)
    columns: tuple[str, ...]  # names of the parameters, ``log(sigma)[z]``
    offset: Array  # (n,)


@dataclass(frozen=True, slots=True)
class Design(HasRows):
    """Covariates of n rows, in the user's units."""

    H: Columns  # (n, p), linear design, the intercept among its columns where there is one
    columns: tuple[str, ...]  # formulaic's column names
    X: tuple[Array, ...]  # (n, d_t), inputs of each process and their standard errors, columns of a random effect
    offset: Array  # (n,)
    groups: tuple[Groups | None, ...]  # of each process that has ``by=`` or is ``re()``
    scale: ScaleDesign | None = None  # of the noise scale, where it has a formula
    spread: Array | None = None  # (n,), standard deviation of the noise in units of that scale
    formulas: tuple[ScaleDesign, ...] = ()  # of other parameters of the rows, in the order of the specification

    @property
    def log_noise(self) -> Array:
        """Known part (n,) of log sigma."""
        known = np.zeros(len(self.H)) if self.scale is None else self.scale.offset
        return known if self.spread is None else known + np.log(self.spread)

    @property
    def known_spread(self) -> Array | None:
        """Known part (n,) of sigma, None where there is none."""
        return self.spread if self.scale is None or not self.scale.offset.any() else np.exp(self.log_noise)


def noise_spread(scales: Array, gamma: Array) -> Array:
    """Standard deviation of the noise in units of sigma, (n,), from its columns (n, 1 + q) and coefficients (q,)."""
    return np.asarray(np.exp(scales[:, 0] + scales[:, 1:] @ gamma), dtype=np.float64)


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
    scale: float  # the unit of y, in that of the response


@dataclass(frozen=True, slots=True)
class KindRows:
    """Rows of one kind, on the standardised scale with the offset taken away."""

    kind: RowKind
    lower: Array  # (n,), y lies in [lower, upper]
    upper: Array  # (n,), y lies in [lower, upper]
    limit: Array  # (n,), the finite end: the value itself on exact rows
    sign: Array  # (n,), -1 on left-censored rows, +1 on right-censored ones, 0 elsewhere
    weight: Array  # (n,)
    width: Array  # (n,), ``upper - lower``, taken before anything was rounded away: intervals may be narrow
    window: Window | None = None  # of truncated rows
    instrument: Instrument | None = None  # limits, also of exact rows, on request
    side: IntArray | None = None  # (n,), which censoring noise a row has, where each one-sided row has its own
    spread: Array | None = None  # (n,), standard deviation of the noise in units of sigma, where rows differ
    scales: Array | None = None  # (n, 1 + q), its logarithm's known part and standardised columns, where it has some

    def __getitem__(self, rows: slice | IntArray) -> KindRows:
        """Some of the rows."""
        return take(self, rows)

    def noise(self, sigma: float | Array) -> float | Array:
        """Standard deviation of the noise of every row."""
        return sigma if self.spread is None else sigma * self.spread

    def at_scale(self, gamma: Array) -> KindRows:
        """The rows with the noise that coefficients (q,) of the columns of log sigma give them."""
        return self if self.scales is None else replace(self, spread=noise_spread(self.scales, gamma))

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
    w_centre: Array = field(default_factory=partial(np.zeros, 0))  # (q,), of the columns of log sigma but its intercept
    w_scale: Array = field(default_factory=partial(np.zeros, 0))  # (q,), of the columns of log sigma but its intercept
    w_root: Array | None = None  # (q, q), what these are multiplied by where their coefficients' prior has margins

    def scales(self, design: Design) -> Array | None:
        """Known part of log sigma and standardised columns, (n, 1 + q); None where the noise has no columns."""
        if design.scale is None or not len(self.w_centre):
            return None
        W = design.scale.W[:, 1:] - self.w_centre
        return np.column_stack([design.log_noise, W / self.w_scale if self.w_root is None else W @ self.w_root])


@dataclass(frozen=True, slots=True)
class Problem:
    """Everything inference may see."""

    rows: tuple[KindRows, ...]  # exact
    order: IntArray  # (n,), ``order[i]`` is the position in the training data of the problem's row i
    H: Columns  # (n, p), linear columns in the problem's order, in the user's units
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
        counts = [len(rows) for rows in self.rows]
        drawn = draw_rows(counts, size, rng)
        at = np.concatenate([start + at for start, at in zip(np.cumsum([0, *counts]), drawn, strict=False)])
        return self.take(at), at

    def take(self, at: IntArray) -> Problem:
        """Rows at these positions, ascending."""
        ends = np.cumsum([0, *map(len, self.rows)])
        cuts = np.searchsorted(at, ends)
        rows = [rows[at[i:j] - first] for rows, (i, j), first in zip(self.rows, pairwise(cuts), ends, strict=False)]
        return Problem(tuple(rows), *take((self.order, self.H, self.X, self.code), at), self.units)


def draw_rows(counts: Sequence[int], size: int, rng: int | np.random.Generator | None = None) -> list[IntArray]:
    """Positions of about ``size`` rows among those of each kind, every kind in proportion; gives (k,)."""
    rng = generator(rng)
    keep = [min(max(1, round(size * count / sum(counts))), count) for count in counts]
    return [np.sort(rng.choice(count, k, replace=False)) for count, k in zip(counts, keep, strict=True)]


_NEED = "bound='karlova' requires the censoring limits of every row"


def with_limits(problem: Problem, response: CensoredResponse, known_mean: Array) -> Problem:
    """The problem with the limits of every row, standardised as its ends are; known_mean (n,)."""
    limits = np.stack([response.limit_lower, response.limit_upper])
    if any(rows.window is not None or rows.kind == "interval" for rows in problem.rows):
        raise SpecError(f"{_NEED}, and does not support truncated or interval-censored rows.")
    if np.isnan(limits).any():
        raise SpecError(f"{_NEED}, which are unknown here. Write them as censor(lower, upper).")
    if problem.units.log_time:
        with np.errstate(divide="ignore"):
            limits = np.log(np.maximum(limits, 0.0))
    ends = ((limits - known_mean) / problem.units.scale)[:, problem.order]
    places = np.cumsum([len(rows) for rows in problem.rows])[:-1]
    pieces = np.split(ends, places, axis=1)
    rows = (
        replace(rows, instrument=Instrument(part[0], part[1], problem.units.scale))
        for rows, part in zip(problem.rows, pieces, strict=True)
    )
    return replace(problem, rows=tuple(rows))
