"""Averages over rows of a process, from draws of all rows together: (STD4) of the theory pages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from tobitgp.distributions.location_scale import LocationScale
from tobitgp.distributions.response import RowDistributions
from tobitgp.engines import single_blas_thread
from tobitgp.results.averages import Drawn, Population, Sought, averaged_median, averaged_remaining_median
from tobitgp.results.process.process_draws import JointProcess
from tobitgp.typing import Array

_CELLS = 1_000_000  # rows times draws that are held at once


Respond = Callable[[LocationScale], RowDistributions]


def process_averages(
    joint: JointProcess,
    population: Population,
    sought: Sought,
    respond: Respond = lambda rows: rows,
    cells: int = _CELLS,
) -> Drawn:
    """Draws of averages, of which each has one f in all rows, one noise and, of a sample, one set of weights.

    ``respond`` gives the distribution of the response from that of f and noise.
    """
    made = []
    with single_blas_thread(), np.errstate(all="ignore"):
        for rows in joint.distributions(population.asked, population.draws, cells, population.rng):
            share = population.weight[:, None]
            if population.resampled:
                share = population.rng.standard_gamma(np.repeat(share, rows.location.shape[1], axis=1))
            share = share / share.sum(axis=0)
            of = [_part(rows, population.rows(setting)) for setting in range(population.settings)]
            made.append(np.stack([_under(part, share, sought, respond) for part in of]))
    return Drawn(np.concatenate(made, axis=2))


def _part(rows: LocationScale, at: slice) -> LocationScale:
    """Some of the rows of draws."""
    scale = rows.scale if len(rows.scale) == 1 else rows.scale[at]
    return LocationScale(rows.noise, rows.location[at], scale, rows.log)


def _under(rows: LocationScale, share: Array, sought: Sought, respond: Respond) -> Array:
    """Averages (m, s) of draws of n rows."""
    if sought.what == "median" and sought.after is not None:
        return averaged_remaining_median(rows, share, sought.after)[0][None]
    if sought.what == "median":
        middle = averaged_median(rows.noise, rows.location, rows.scale, share)[0]
        certain = replace(rows, location=middle[None], scale=np.zeros((1, 1)))
        return respond(certain).ppf(0.5)
    y = respond(rows)
    each = (sought.question(np.array([time])).fast_number(y) for time in sought.times.tolist())
    return sought.within(np.stack([(share * values).sum(axis=0) for values in each]))
