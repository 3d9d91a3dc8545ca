"""Log likelihoods of rows of every kind from a formula of their log times, given that they lie within windows."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from tobitgp.data.outcome import Outcome
from tobitgp.distributions.formulas import RowTimes
from tobitgp.numerics.jets import Jet, scatter
from tobitgp.typing import Array, BoolArray, IntArray

NARROW = 1e-5  # intervals of log time no wider are a density times their width, whose error is that squared

TimesOf = Callable[[IntArray], RowTimes]  # gives those of some rows


def log_likelihoods(times: TimesOf, seen: Outcome) -> Jet:
    """Of all rows, with derivatives in their parameters."""
    exact = np.flatnonzero(as_good_as_exact(seen))
    parts = []
    if len(exact):
        width = np.where(seen.exact[exact], 1.0, seen.width[exact])
        density = times(exact).log_density(0.5 * (seen.lower + seen.upper)[exact])
        parts.append((exact, density + np.log(width)))
    parts.extend(_masses(times, seen.lower, seen.upper, ~as_good_as_exact(seen)))
    parts.extend((rows, -part) for rows, part in _masses(times, seen.entry, seen.exit, None))
    return scatter(len(seen), parts)


def as_good_as_exact(seen: Outcome) -> BoolArray:
    """Rows whose log time is known, or nearly so, (n,)."""
    return seen.exact | (seen.width < NARROW)


def log_masses(times: TimesOf, lower: Array, upper: Array) -> Jet:
    """Log probabilities of lying between two ends, of all rows."""
    return scatter(len(lower), _masses(times, lower, upper, None))


def _masses(times: TimesOf, lower: Array, upper: Array, some: BoolArray | None) -> Iterator[tuple[IntArray, Jet]]:
    """The same of some of the rows, by which ends they have."""
    below, above = np.isfinite(lower), np.isfinite(upper)
    for kind in (below & ~above, above & ~below, below & above):
        rows = np.flatnonzero(kind if some is None else kind & some)
        if not len(rows):
            continue
        of = times(rows)
        if not above[rows[0]]:
            yield rows, of.log_sf(lower[rows])
        elif not below[rows[0]]:
            yield rows, of.log_cdf(upper[rows])
        else:
            yield rows, of.log_between(lower[rows], upper[rows])
