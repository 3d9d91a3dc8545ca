"""Averages over rows of a process, from draws of all rows together: (STD4) of the theory pages."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tobitgp.distributions.location_scale import LocationScale
from tobitgp.engines import single_blas_thread
from tobitgp.kinds.process import Process, ScaledFit
from tobitgp.results.averages import Drawn, Population, Sought, averaged_median, averaged_remaining_median
from tobitgp.results.process.process_draws import JointProcess
from tobitgp.typing import Array

_CELLS, _FEWER = 1_000_000, 10_000  # rows times draws that are held at once; of those whose means are quadratures


def process_averages(parts: Process, population: Population, sought: Sought) -> Drawn:
    """Draws of averages, of which each has one f in all rows, one noise and, of a sample, one set of weights."""
    made = []
    for scaled, size in _allotted(parts, population):
        joint, cells = JointProcess(scaled.fit), _CELLS if scaled.power is None else _FEWER
        with single_blas_thread(), np.errstate(all="ignore"):
            for rows in joint.distributions(population.asked, size, cells, population.rng):
                share = population.weight[:, None]
                if population.resampled:
                    share = population.rng.standard_gamma(np.repeat(share, rows.location.shape[1], axis=1))
                share = share / share.sum(axis=0)
                of = [_part(rows, population.rows(setting)) for setting in range(population.settings)]
                made.append(np.stack([_under(scaled, part, share, sought) for part in of]))
    return Drawn(np.concatenate(made, axis=2))


def _allotted(parts: Process, population: Population) -> list[tuple[ScaledFit, int]]:
    """The fits and how many of the draws are of each, by its weight."""
    if len(parts.scaled) == 1:
        return [(parts.scaled[0], population.draws)]
    shares = np.append(0.0, np.cumsum([scaled.weight for scaled in parts.scaled]))
    ends = np.floor(population.draws * shares / shares[-1] + population.rng.uniform()).astype(int)
    return [(scaled, size) for scaled, size in zip(parts.scaled, np.diff(ends).tolist(), strict=True) if size]


def _part(rows: LocationScale, at: slice) -> LocationScale:
    """Some of the rows of draws."""
    scale = rows.scale if len(rows.scale) == 1 else rows.scale[at]
    return LocationScale(rows.noise, rows.location[at], scale, rows.log)


def _under(scaled: ScaledFit, rows: LocationScale, share: Array, sought: Sought) -> Array:
    """Averages (m, s) of draws of n rows."""
    y = scaled.response(rows)
    if sought.what == "median" and sought.after is not None:
        return averaged_remaining_median(y, share, sought.after)[0][None]
    if sought.what == "median":
        middle = averaged_median(rows.noise, rows.location, rows.scale, share)[0]
        return scaled.response(replace(rows, location=middle[None], scale=np.zeros((1, 1)))).ppf(0.5)
    each = (sought.question(np.array([time])).fast_number(y) for time in sought.times.tolist())
    return sought.within(np.stack([(share * values).sum(axis=0) for values in each]))
