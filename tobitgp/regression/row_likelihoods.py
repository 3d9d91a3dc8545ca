"""Log likelihoods of rows of every kind from a formula of their log times, given that they lie within windows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from tobitgp.data.outcome import Outcome
from tobitgp.distributions.formulas import RowTimes
from tobitgp.numerics.jets import Jet, scatter
from tobitgp.typing import Array, BoolArray, IntArray

_NARROW = 1e-5  # intervals of log time no wider are a density times their width, whose error is that squared

TimesOf = Callable[[IntArray], RowTimes]  # gives those of some rows


def as_good_as_exact(seen: Outcome) -> BoolArray:
    """Rows whose log time is known, or nearly so, (n,)."""
    return seen.exact | (seen.width < _NARROW)


def log_likelihoods(times: TimesOf, seen: Outcome) -> Jet:
    """Of all rows, with derivatives in their parameters."""
    exact = as_good_as_exact(seen)
    parts = [*_densities(times, seen, np.flatnonzero(exact)), *_masses(times, seen.lower, seen.upper, ~exact)]
    return scatter(len(seen), parts, minus=_masses(times, seen.entry, seen.exit))


def log_masses(times: TimesOf, lower: Array, upper: Array) -> Jet:
    """Log probabilities of lying between two ends, of all rows."""
    return scatter(len(lower), _masses(times, lower, upper))


def _densities(times: TimesOf, seen: Outcome, rows: IntArray) -> Iterator[tuple[IntArray, Jet]]:
    if len(rows):
        found = times(rows).log_density(0.5 * (seen.lower + seen.upper)[rows])
        width = np.where(seen.exact[rows], 1.0, seen.width[rows])
        yield rows, replace(found, value=found.value + np.log(width))


def _masses(
    times: TimesOf, lower: Array, upper: Array, some: BoolArray | bool = True
) -> Iterator[tuple[IntArray, Jet]]:
    """The same of some of the rows, by the ends that they have."""
    below, above = np.isfinite(lower) & some, np.isfinite(upper) & some
    if len(rows := np.flatnonzero(below & ~above)):
        yield rows, times(rows).log_sf(lower[rows])
    if len(rows := np.flatnonzero(above & ~below)):
        yield rows, times(rows).log_cdf(upper[rows])
    if len(rows := np.flatnonzero(below & above)):
        yield rows, times(rows).log_between(lower[rows], upper[rows])
