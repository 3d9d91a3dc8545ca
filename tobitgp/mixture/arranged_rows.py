"""Read rows of a response, and arrange them for a family of components: by kind, equal ones together."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from tobitgp.data.outcome import refuse_rows
from tobitgp.errors import DataError, SpecError
from tobitgp.mixture.family import MixtureFamily
from tobitgp.mixture.mixture_rows import KINDS, MixtureRows, MixtureUnits, Raw, WorkingRows
from tobitgp.typing import Array

_SAMPLE = 4096
_MOSTLY_DISTINCT = 0.8
_SAME = 1e-9  # of the range, within which values are one
_WIDEST = 5.0  # rounding, in typical distances between values


def read_rows(
    family: MixtureFamily,
    lower: Array,
    upper: Array,
    weight: Array | None = None,
    labels: Array | None = None,
    window: tuple[Array, Array] | None = None,
) -> Raw:
    """Check rows (n,) and bring them to a common form; those that exclude nothing contribute 0 and are left out.

    Rows with a window (entry, exit] lie inside it.
    """
    lower, upper = np.array(lower, dtype=np.float64), np.array(upper, dtype=np.float64)
    weight = np.ones(len(lower)) if weight is None else np.asarray(weight, dtype=np.float64)
    _refuse_impossible(family, lower, upper, weight, labels)
    if family.support != "real":
        lower[(lower < 0.0) if family.support == "counts" else (lower <= 0.0) & (lower != upper)] = -np.inf
    if family.support == "counts":
        lower, upper = np.floor(lower), np.floor(upper)
        with np.errstate(invalid="ignore"):
            single = upper - np.maximum(lower, -1.0) == 1.0
        lower[single] = upper[single]
    open_rows = lower != upper
    lower[open_rows & (lower < family.ends[0])] = -np.inf
    upper[open_rows & (upper >= family.ends[1])] = np.inf
    says = ~(np.isneginf(lower) & np.isposinf(upper)) & (weight > 0.0)
    entry, exit = _read_windows(family, len(lower), window)
    return Raw(lower[says], upper[says], weight[says], np.flatnonzero(says), entry[says], exit[says])


def _read_windows(family: MixtureFamily, n: int, window: tuple[Array, Array] | None) -> tuple[Array, Array]:
    """Ends (n,) of windows, infinite where nothing of the support lies beyond them."""
    if window is None:
        return np.full(n, -np.inf), np.full(n, np.inf)
    entry, exit = (np.array(end, dtype=np.float64) for end in window)
    if family.support == "counts":
        entry, exit = np.floor(entry), np.floor(exit)
    bottom = max(family.ends[0], -np.inf if family.support == "real" else 0.0)
    entry[(entry < bottom) | ((entry == bottom) & (family.support == "positive"))] = -np.inf
    exit[exit >= family.ends[1]] = np.inf
    return entry, exit


def arrange(
    family: MixtureFamily,
    raw: Raw,
    units: MixtureUnits,
    *,
    collapse: bool = True,
    ties: bool = False,
    rounding: float | None = None,
) -> WorkingRows:
    """Sort rows by kind on the scale that is modelled, and put equal ones together where there are many.

    With ``ties``, exact rows that share a value are taken for rounded, or all of them to a known width ``rounding``, as
    are times of 0 in exponential components.
    """
    lower, upper, width = to_working(family, raw, units)
    exact, parts = raw.lower == raw.upper, []
    if ties and exact.any():
        width[exact] = rounding_of_ties(lower[exact], raw.weight[exact]) if rounding is None else rounding
        if family.free_of == "scale" and not family.logarithm:  # at 0 such a density has no bound
            ends = np.concatenate([lower, upper])
            at_zero = exact & (lower == 0.0)
            lower[at_zero] = upper[at_zero] = 0.25 * ends[(ends > 0.0) & np.isfinite(ends)].min(initial=1.0)
    for kind, at in zip(KINDS, raw.of_kinds(), strict=True):
        if len(at):
            part = MixtureRows(kind, lower[at], upper[at], width[at], raw.weight[at])
            parts.append(_collapse(part) if collapse else part)
    constant = float(raw.weight[exact] @ log_factors(family, raw.lower[exact], units))
    total, of_exact = float(raw.weight.sum()), float(raw.weight[exact].sum())
    return WorkingRows(
        tuple(parts), units, constant, total, of_exact, windows_of(family, raw, units, collapse=collapse)
    )


def windows_of(family: MixtureFamily, raw: Raw, units: MixtureUnits, *, collapse: bool = True) -> MixtureRows | None:
    """Windows on the scale that is modelled, equal ones together, where there are any."""
    at = np.flatnonzero(np.isfinite(raw.entry) | np.isfinite(raw.exit))
    if not len(at):
        return None
    lower, upper, width = to_working(family, raw._replace(lower=raw.entry[at], upper=raw.exit[at]), units)
    windows = MixtureRows("outside", lower, upper, width, raw.weight[at])
    if not collapse:
        return windows
    _, first, inverse = np.unique(np.stack([lower, upper]), axis=1, return_index=True, return_inverse=True)
    return replace(windows[first], weight=np.bincount(inverse.ravel(), weights=windows.weight).astype(np.float64))


def log_factors(family: MixtureFamily, y: Array, units: MixtureUnits) -> Array:
    """What log densities of exact rows (n,) need to be those of the response as written, (MIX15)."""
    return family.lost(y if family.logarithm else (y - units.shift) / units.scale) - float(np.log(units.scale))


def rounding_of_ties(y: Array, weight: Array) -> Array:
    """Widths (n,) within which values (n,) that several rows share were rounded, (MIX22); 0 for those of one row.

    The distance to the nearest other value, where it is no more than five typical ones; 1 where there is one value.
    """
    order = np.argsort(y)
    new = np.diff(y[order]) > _SAME * np.ptp(y)
    group = np.concatenate([[0], np.cumsum(new)])
    total = np.bincount(group, weights=weight[order])
    gaps = np.diff(y[order][np.concatenate([[True], new])])
    if not len(gaps):
        return np.ones(len(y))
    nearest = np.minimum(np.append(gaps, np.inf), np.insert(gaps, 0, np.inf))
    by_size = np.argsort(nearest)
    middle = np.searchsorted(np.cumsum(total[by_size]), 0.5 * total.sum())
    width = np.minimum(nearest, _WIDEST * nearest[by_size][middle])
    out = np.empty(len(y))
    out[order] = np.where(total > 1.0, width, 0.0)[group]
    return out


def subset(working: WorkingRows, size: int) -> WorkingRows:
    """About ``size`` rows with the weight of all, every kind in proportion and evenly over its values; and windows."""
    rows = sum(len(part) for part in working.parts)

    def some_of(part: MixtureRows) -> MixtureRows:
        keep = min(len(part), max(2, round(size * len(part) / rows)))
        order = np.lexsort((part.upper, part.lower))
        edges = np.linspace(0.0, len(part), keep + 1)
        some = part[order[(0.5 * (edges[1:] + edges[:-1])).astype(np.intp)]]
        return replace(some, weight=some.weight * (part.weight.sum() / some.weight.sum()))

    windows = None if working.windows is None else some_of(working.windows)
    return replace(working, parts=tuple(map(some_of, working.parts)), windows=windows)


def to_working(family: MixtureFamily, raw: Raw, units: MixtureUnits) -> tuple[Array, Array, Array]:
    """Ends and width on the scale that is modelled, (n,) each."""
    lower, upper = raw.lower, raw.upper
    shift, scale = units
    with np.errstate(divide="ignore", invalid="ignore"):
        if family.logarithm:
            width = np.where(lower > 0.0, np.log1p((upper - lower) / np.maximum(lower, 1e-300)), np.inf) / scale
            lower, upper = np.log(np.maximum(lower, 0.0)), np.log(upper)
        else:
            width = (upper - lower) / scale
    return (lower - shift) / scale, (upper - shift) / scale, width


def _collapse(part: MixtureRows) -> MixtureRows:
    """Give equal rows one place with the sum of their weights, where a sample shows that many are equal."""
    ends = part.lower if part.kind == "right" else part.upper
    if part.kind == "interval":
        ends = part.lower + 1j * part.upper
    sample = ends[:: max(1, len(part) // _SAMPLE)]
    if len(np.unique(sample)) > _MOSTLY_DISTINCT * len(sample):
        return part
    _, first, inverse = np.unique(ends, return_index=True, return_inverse=True)
    weight = np.bincount(inverse.ravel(), weights=part.weight).astype(np.float64)
    return replace(part[first], weight=weight)


def _refuse_impossible(family: MixtureFamily, lower: Array, upper: Array, weight: Array, labels: Array | None) -> None:
    """Raise an error for rows of probability 0 and for no rows at all; lower, upper, weight, labels (n,)."""
    if not len(lower) == len(upper) == len(weight) or lower.ndim != 1:
        raise DataError(f"lower=, upper=, weight= must have one length, not {len(lower)}, {len(upper)}, {len(weight)}.")
    exact = lower == upper
    refuse_rows(np.isnan(lower) | np.isnan(upper) | (exact & np.isinf(lower)), "Ends are missing", lower, labels)
    refuse_rows(lower > upper, "A lower end lies above its upper end", lower, labels)
    refuse_rows(np.isposinf(lower) | np.isneginf(upper), "The interval is empty", lower, labels)
    refuse_rows(~((weight >= 0.0) & np.isfinite(weight)), "Weights must be finite and not negative", weight, labels)
    if family.support == "counts":
        whole = (lower == np.floor(lower)) & (lower >= 0.0)
        refuse_rows(exact & ~whole, "Counts are whole numbers of at least 0", lower, labels)
        refuse_rows(~exact & (upper < 0.0), "A count cannot lie below 0", upper, labels)
        with np.errstate(invalid="ignore"):
            empty = np.floor(upper) == np.floor(lower)
        refuse_rows(~exact & empty, "The interval holds no whole number, from", lower, labels)
    if family.support == "positive":
        bad, least = (lower <= 0.0, "positive") if family.logarithm else (lower < 0.0, "at least 0")
        refuse_rows(exact & bad, f"Times must be {least}", lower, labels)
        refuse_rows(~exact & (upper <= 0.0), "A time cannot be left-censored at or below 0", upper, labels)
    low, high = family.ends
    if np.isfinite(low) or np.isfinite(high):
        words = f"family={family.name!r} has values from {low:g} to {high:g} only"
        refuse_rows(exact & ((lower < low) | (lower > high)), words, lower, labels)
        refuse_rows(~exact & ((upper < low) | (lower >= high)), f"{words}, and an interval lies beyond", lower, labels)
    refuse_rows(exact & ~family.takes(lower), f"family={family.name!r} has no density at a value", lower, labels)


def check_number(k: Any, rows: int | None = None) -> int:
    """The number of components."""
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
        raise SpecError(f"mixture({k!r}): the number of components must be a whole number of at least 1.")
    if rows is not None and k > rows:
        raise SpecError(f"mixture({k}): more components than informative rows ({rows}). Use fewer components.")
    return int(k)
