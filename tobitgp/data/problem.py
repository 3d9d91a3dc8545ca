"""Standardised arrays: the last shape before inference, free of pandas."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np

from tobitgp.data.outcome import Outcome
from tobitgp.data.shapes import Design
from tobitgp.errors import DataError
from tobitgp.typing import Array, IntArray

RowKind = Literal["exact", "one-sided", "interval"]
_KINDS: tuple[RowKind, ...] = ("exact", "one-sided", "interval")


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
    """Rows of one kind, on the standardised scale with the offset taken away.

    Attributes
    ----------
    kind : {"exact", "one-sided", "interval"}
    lower, upper : (n,) array
        y lies in [lower, upper].
    limit : (n,) array
        The finite end: the value itself on exact rows, the limit on one-sided ones, ``lower`` on interval rows.
    sign : (n,) array
        -1 on left-censored rows, +1 on right-censored ones, 0 elsewhere.
    weight : (n,) array
    width : (n,) array
        ``upper - lower``, taken before anything was rounded away: intervals may be narrow.
    window : Window or None
        Of truncated rows.
    instrument : Instrument or None
        Limits, on exact rows too, where they were asked for.
    side : (n,) integer array or None
        Which side noise a row has, where each one-sided row has its own.
    """

    kind: RowKind
    lower: Array
    upper: Array
    limit: Array
    sign: Array
    weight: Array
    width: Array
    window: Window | None = None
    instrument: Instrument | None = None
    side: IntArray | None = None

    def __getitem__(self, rows: slice | IntArray) -> Rows:
        """Some of the rows."""
        return Rows(
            self.kind,
            self.lower[rows],
            self.upper[rows],
            self.limit[rows],
            self.sign[rows],
            self.weight[rows],
            self.width[rows],
            None if self.window is None else Window(*(end[rows] for end in self.window)),
            None if self.instrument is None else Instrument(*(end[rows] for end in self.instrument)),
            None if self.side is None else self.side[rows],
        )

    def __len__(self) -> int:
        return len(self.limit)


@dataclass(frozen=True, slots=True)
class Units:
    """What turns standardised numbers back into the user's.

    Attributes
    ----------
    centre, scale : float
        Standardised y = (y - centre) / scale.
    log_time : bool
        y stands for log time.
    x_centre, x_scale : tuple of (d_t,) arrays
        Of each process's inputs.
    log_jacobian : float
        What the log evidence of the standardised exact rows needs to be that of the response as written.
    """

    centre: float
    scale: float
    log_time: bool
    x_centre: tuple[Array, ...]
    x_scale: tuple[Array, ...]
    log_jacobian: float


@dataclass(frozen=True, slots=True)
class Problem:
    """Everything inference may see.

    Attributes
    ----------
    rows : tuple of Rows
        Exact, one-sided and interval rows, in this order, and then those of them that are truncated; empty kinds are
        left out.
    order : (n,) integer array
        ``order[i]`` is the position in the training data of the problem's row i.
    H : (n, p) array
        Linear columns in the problem's order, in the user's units.
    X : tuple of (n, d_t) arrays
        Standardised inputs of each process in the problem's order.
    code : tuple of (n,) integer arrays or None
        Group of each row for each process that has groups.
    units : Units
    """

    rows: tuple[Rows, ...]
    order: IntArray
    H: Array
    X: tuple[Array, ...]
    code: tuple[IntArray | None, ...]
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
        """The problem with a side noise for each one-sided row that is not truncated, numbered in their order."""
        rows = tuple(
            replace(r, side=np.arange(len(r))) if r.kind == "one-sided" and r.window is None else r for r in self.rows
        )
        return replace(self, rows=rows)

    def without_windows(self) -> Problem:
        """The same rows as if nothing had been truncated."""
        return replace(self, rows=tuple(replace(rows, window=None) for rows in self.rows))

    def subset(self, size: int, rng: int | np.random.Generator | None = None) -> tuple[Problem, IntArray]:
        """About ``size`` rows, every kind in proportion, and their positions in this problem."""
        rng = np.random.default_rng(0 if rng is None else rng)
        parts, positions, start = [], [], 0
        for rows in self.rows:
            keep = max(1, round(size * len(rows) / self.n))
            take = np.sort(rng.choice(len(rows), min(keep, len(rows)), replace=False))
            parts.append(rows[take])
            positions.append(start + take)
            start += len(rows)
        at = np.concatenate(positions)
        X, code = tuple(X[at] for X in self.X), tuple(None if c is None else c[at] for c in self.code)
        return Problem(tuple(parts), self.order[at], self.H[at], X, code, self.units), at


class Scaling(NamedTuple):
    """How some inputs of a process are standardised.

    Attributes
    ----------
    columns : slice
        Of the process's inputs.
    centred : bool
        Take their means away; not where zero has a meaning.
    own : bool
        Scale every input on its own, or all by one factor, which keeps distances as they are up to that factor.
    """

    columns: slice
    centred: bool = True
    own: bool = True


def standardise(
    known: Outcome,
    design: Design,
    *,
    log_time: bool,
    centre: bool,
    scaling: Sequence[Sequence[Scaling]] | None = None,
) -> Problem:
    """Scale response and inputs, and sort the rows by what is known of them.

    Parameters
    ----------
    known : Outcome
        On log time already where the model is.
    design : Design
    log_time : bool
        To be told with the units.
    centre : bool
        Take the mean away; only right where the model has a free intercept.
    scaling : sequence of sequences of Scaling, optional
        Of each process's inputs; centred and on their own by default.

    Returns
    -------
    Problem

    Raises
    ------
    DataError
        If the spread of the response or of an input cannot be computed with.
    """
    exact, weight = known.exact, known.weight
    lower, upper = known.lower - design.offset, known.upper - design.offset
    shift, scale = _location_scale(lower, upper, weight, centre)
    log_jacobian = known.log_jacobian - float(weight[exact].sum()) * float(np.log(scale))

    interval = np.isfinite(lower) & np.isfinite(upper) & ~exact
    truncated = np.isfinite(known.entry) | np.isfinite(known.exit)
    kind = np.where(exact, 0, np.where(interval, 2, 1)) + len(_KINDS) * truncated
    order = np.argsort(kind, kind="stable")
    entry, exit = known.entry - design.offset, known.exit - design.offset
    ends = [(end - shift) / scale for end in (lower, upper, entry, exit)]
    widths = [known.width / scale, known.span / scale]
    rules = scaling or [[Scaling(slice(None))]] * len(design.X)
    units_of_x = [_input_units(X, weight, rule) for X, rule in zip(design.X, rules, strict=True)]
    x_centre, x_scale = tuple(c for c, _ in units_of_x), tuple(s for _, s in units_of_x)
    X = tuple((X - c)[order] / s for X, c, s in zip(design.X, x_centre, x_scale, strict=True))
    rows = _split(kind[order], *(values[order] for values in (*ends, *widths, weight)))
    units = Units(shift, scale, log_time, x_centre, x_scale, log_jacobian)
    code = tuple(None if g is None else g.code[order] for g in design.groups)
    return Problem(rows, order, design.H[order], X, code, units)


def _location_scale(lower: Array, upper: Array, weight: Array, centre: bool) -> tuple[float, float]:
    """Weighted mean and sd of the finite representatives: values, limits, interval mid-points."""
    y = np.where(np.isinf(lower), upper, np.where(np.isinf(upper), lower, 0.5 * lower + 0.5 * upper))
    known = np.isfinite(y)
    if not known.any():
        return 0.0, 1.0
    mean = float(np.average(y[known], weights=weight[known]))
    spread = float(_root_mean_square((y[known] - mean)[:, None], weight[known])[0])
    _check_size("the response", np.array([spread]))
    if spread <= 8.0 * np.finfo(float).eps * abs(mean):
        spread = abs(mean) if mean else 1.0
    return (mean if centre else 0.0), spread


def _input_units(X: Array, weight: Array, rules: Sequence[Scaling]) -> tuple[Array, Array]:
    """Centres and scales (d,) of a process's inputs."""
    centre, scale = np.zeros(X.shape[1]), np.ones(X.shape[1])
    for rule in rules:
        at = rule.columns
        if rule.centred and X.shape[1]:
            centre[at] = np.average(X[:, at], axis=0, weights=weight)
        if X.shape[1]:
            scale[at] = _column_scale(X[:, at] - centre[at], weight, rule.own)
    return centre, scale


def _column_scale(X: Array, weight: Array, own: bool) -> Array:
    """Weighted sds (d,) of centred columns, or one for all."""
    sd = _root_mean_square(X, weight)
    _check_size("an input of gp()", sd)
    if not own:
        sd = np.full_like(sd, np.sqrt(np.mean(sd * sd)))
    return np.where(sd > 0, sd, 1.0)


def _root_mean_square(X: Array, weight: Array) -> Array:
    """Weighted root mean square of columns, (d,); squares neither overflow nor underflow."""
    largest = np.abs(X).max(axis=0)
    unit = np.where(largest > 0, largest, 1.0)
    return unit * np.sqrt(np.average((X / unit) ** 2, axis=0, weights=weight))


def _check_size(what: str, sd: Array) -> None:
    """Refuse scales whose squares leave the range of floating-point numbers."""
    if ((sd > 1e140) | ((sd < 1e-140) & (sd > 0.0))).any():
        raise DataError(f"The spread of {what} is {sd.max():.3g}; express it in units in which it is nearer to 1.")


def _split(
    kind: IntArray, lower: Array, upper: Array, entry: Array, exit: Array, width: Array, span: Array, weight: Array
) -> tuple[Rows, ...]:
    """Rows of one kind each; the kinds of truncated rows count on from those of the others."""
    out = []
    for code in np.unique(kind):
        at = kind == code
        name = _KINDS[code % len(_KINDS)]
        lo, up = lower[at], upper[at]
        sign = np.where(np.isinf(lo), -1.0, 1.0) if name == "one-sided" else np.zeros(len(lo))
        window = Window(entry[at], exit[at], span[at]) if code >= len(_KINDS) else None
        out.append(Rows(name, lo, up, np.where(np.isinf(lo), up, lo), sign, weight[at], width[at], window))
    return tuple(out)
