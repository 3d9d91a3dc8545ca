"""From rows in the user's units to standardised ones: measured where they are, scaled by what all of them tell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from tobitgp.data.absorbed import centred_sum
from tobitgp.data.arrays import KINDS, CensoredResponse, Design, HasRows, KindRows, Problem, Units, Window, merge, take
from tobitgp.data.moments import Joint, Moments, ResponseMoments, column_moments
from tobitgp.data.outcome import Outcome
from tobitgp.errors import DataError
from tobitgp.numerics.normal_functions import known_range
from tobitgp.typing import Array, IntArray


class Scaling(NamedTuple):
    """How some inputs of a process are standardised."""

    columns: slice  # of the process's inputs
    centred: bool = True  # take their means away; not where zero has a meaning
    own: bool = True  # scale every input on its own
    by_spread: bool = False  # scale by standard deviations whether centred or not, which a constant has not


@dataclass(frozen=True, slots=True)
class KnownRows(HasRows):
    """Some of the rows, in the order of the data."""

    response: CensoredResponse
    known: Outcome  # the same on the scale that is modelled
    design: Design
    number: int = 0  # of the partition that they are


@dataclass(frozen=True, slots=True)
class Measured:
    """Contribution of some of the rows to the moments of all."""

    counts: IntArray  # (6,), rows of each kind of `row_kinds`
    weight: float  # sum of the weights
    log_jacobian: float  # as in `Outcome`
    sides: tuple[bool, bool]  # whether rows without a window are left-, and right-censored
    between: bool  # whether a value was seen between two ends
    exact: Moments  # (1,), of the exact values
    H: Moments
    X: tuple[Moments, ...]  # of each process's inputs
    W: Moments | None  # of the columns of log sigma beside its intercept
    joint: Joint | None = None  # of the linear columns, where their prior asks for it
    joint_W: Joint | None = None  # of the columns of log sigma

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.counts.sum())

    @property
    def n_exact(self) -> int:
        """Number of exact rows."""
        return int(self.counts[:2].sum())


@dataclass(frozen=True, slots=True)
class Standard:
    """How rows are standardised."""

    units: Units
    centre: Array  # (p,), of the linear columns
    mean: Array  # (p,), ``(H - centre) @ mean`` is known of the response beside its offset
    kinds: tuple[int, ...]  # kinds that occur, as :func:`row_kinds` numbers them

    def known_mean(self, design: Design) -> Array:
        """What is added to f once back in the user's units, (n,)."""
        return _offset(design, self.centre, self.mean) + self.units.centre


def measure_rows(partition: KnownRows, *, joint: bool = False, joint_W: bool = False) -> Measured:
    """Contribution of some rows to the moments of response and covariates; joint ones of columns on request."""
    known, response, weight = partition.known, partition.response, partition.known.weight
    exact, open_window = known.exact, np.isinf(known.entry) & np.isinf(known.exit)
    below, above = np.isneginf(known.lower), np.isposinf(known.upper)
    scale = partition.design.scale
    W = None if scale is None else scale.W[:, 1:]
    between = np.isfinite(response.lower) & np.isfinite(response.upper) & (response.lower < response.upper)
    return Measured(
        np.bincount(row_kinds(known), minlength=2 * len(KINDS)).astype(np.intp),
        float(weight.sum()),
        known.log_jacobian,
        (bool((below & open_window).any()), bool((above & ~below & open_window).any())),
        bool(between.any()),
        Moments.of(response.lower[exact, None], weight[exact]),
        column_moments(partition.design.H, weight),
        tuple(Moments.of(X, weight) for X in partition.design.X),
        None if W is None else Moments.of(W, weight),
        Joint.of(partition.design.H, weight) if joint else None,
        None if scale is None or not joint_W else Joint.of(scale.W, weight),
    )


def measure_range(partition: KnownRows, centre: Array, mean: Array) -> tuple[float, float]:
    """`known_range` of the responses less their known part; centre and mean are (p,)."""
    lower, upper, _ = _shifted(partition, centre, mean)
    return known_range(lower, upper)


def measure_response(partition: KnownRows, centre: Array, mean: Array, known: tuple[float, float]) -> ResponseMoments:
    """Moments of values and limits after subtracting their known part; centre, mean (p,)."""
    lower, upper, _ = _shifted(partition, centre, mean)
    return ResponseMoments.of(lower, upper, partition.known.weight, known)


def merge_measured(parts: Sequence[Measured]) -> Measured:
    """What all rows tell, from at least one part of them; moments are rounded."""
    found = merge(parts)
    W = None if found.W is None else found.W.rounded()
    return replace(found, H=found.H.rounded(), X=tuple(moments.rounded() for moments in found.X), W=W)


def find_units(
    measured: Measured,
    response: ResponseMoments,
    *,
    log_time: bool,
    centre: bool,
    scaling: Sequence[Sequence[Scaling]] | None = None,
) -> Units:
    """Units from the moments of all rows."""
    shift, scale = _location_scale(response, centre)
    rules = scaling or [[Scaling(slice(None))]] * len(measured.X)
    of_x = [_input_units(moments, rule) for moments, rule in zip(measured.X, rules, strict=True)]
    log_jacobian = measured.log_jacobian - measured.exact.weight * float(np.log(scale))
    of_w = () if measured.W is None else _input_units(measured.W, [Scaling(slice(None))])
    return Units(shift, scale, log_time, tuple(c for c, _ in of_x), tuple(s for _, s in of_x), log_jacobian, *of_w)


def scale_rows(partition: KnownRows, standard: Standard) -> Problem:
    """Scale response and inputs, and sort the rows by what is known about them."""
    known, design, units = partition.known, partition.design, standard.units
    lower, upper, offset = _shifted(partition, standard.centre, standard.mean)
    kind = row_kinds(known)
    order = np.argsort(kind, kind="stable")
    ends = (lower, upper, known.entry - offset, known.exit - offset)
    low, high, entry, exit = ((end - units.centre) / units.scale for end in ends)
    is_open = np.isinf(low)
    sign, limit = np.where(is_open, -1.0, 1.0), np.where(is_open, high, low)
    window, width = Window(entry, exit, known.span / units.scale), known.width / units.scale
    spread, scales = design.known_spread, units.scales(design)
    every = KindRows("one-sided", low, high, limit, sign, known.weight, width, window, spread=spread, scales=scales)
    rows = []
    for code in standard.kinds:
        some, name = take(every, np.flatnonzero(kind == code)), KINDS[code // 2]
        sign = some.sign if name == "one-sided" else np.zeros(len(some))
        rows.append(replace(some, kind=name, sign=sign, window=some.window if code % 2 else None))
    X = tuple((X - c)[order] / s for X, c, s in zip(design.X, units.x_centre, units.x_scale, strict=True))
    codes = tuple(None if g is None else g.code[order] for g in design.groups)
    return Problem(tuple(rows), order, design.H[order], X, codes, units)


def standardise(
    response: CensoredResponse,
    known: Outcome,
    design: Design,
    *,
    log_time: bool,
    centre: bool,
    scaling: Sequence[Sequence[Scaling]] | None = None,
) -> Problem:
    """Measure and scale rows that are all there are, with no coefficient known."""
    partition, none = KnownRows(response, known, design), np.zeros(design.H.shape[1])
    y = measure_response(partition, none, none, measure_range(partition, none, none)).rounded()
    measured = merge_measured([measure_rows(partition)])
    units = find_units(measured, y, log_time=log_time, centre=centre, scaling=scaling)
    return scale_rows(partition, Standard(units, none, none, tuple(np.flatnonzero(measured.counts).tolist())))


def row_kinds(known: Outcome) -> IntArray:
    """Kind of each row, (n,): twice its place in ``KINDS``, and one more if it is truncated."""
    interval = np.isfinite(known.lower) & np.isfinite(known.upper) & ~known.exact
    truncated = np.isfinite(known.entry) | np.isfinite(known.exit)
    return 2 * np.where(known.exact, 0, np.where(interval, 2, 1)) + truncated


def _shifted(partition: KnownRows, centre: Array, mean: Array) -> tuple[Array, Array, Array]:
    """Ends without their known part, and that part."""
    offset = _offset(partition.design, centre, mean)
    return partition.known.lower - offset, partition.known.upper - offset, offset


def _offset(design: Design, centre: Array, mean: Array) -> Array:
    return design.offset + centred_sum(design.H, centre, mean) if mean.any() else design.offset


def _location_scale(response: ResponseMoments, centre: bool) -> tuple[float, float]:
    """Mean and sd of the response, were it seen in full."""
    if response.all.weight <= 0.0:
        return 0.0, 1.0
    _check_size("the response", response.all.spread)
    mean, spread = response.mean_and_sd()
    if spread <= 8.0 * np.finfo(float).eps * abs(mean):
        spread = abs(mean) if mean else 1.0
    return (mean if centre else 0.0), spread


def _input_units(X: Moments, rules: Sequence[Scaling]) -> tuple[Array, Array]:
    """Centres and scales (d,) of a process's inputs."""
    centre, scale = np.zeros(len(X.mean)), np.ones(len(X.mean))
    for rule in rules:
        at = rule.columns
        sd = (X.spread if rule.centred or rule.by_spread else X.size)[at]
        _check_size("an input of a process", sd)
        if rule.centred:
            centre[at] = X.mean[at]
        if not rule.own and len(sd):
            sd = np.sqrt(np.mean(sd * sd))
        scale[at] = np.where(sd > 0, sd, 1.0)
    return centre, scale


def _check_size(what: str, sd: Array) -> None:
    """Raise an error for scales whose squares leave the range of floating-point numbers."""
    if ((sd > 1e140) | ((sd < 1e-140) & (sd > 0.0))).any():
        remedy = "Express it in units in which it is nearer to 1."
        raise DataError(f"The standard deviation of {what} is {sd.max():.3g}. {remedy}")
