"""Averages over rows of draws of f in all of them together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Protocol

import numpy as np

from tobitgp.distributions.location_scale import LocationScale
from tobitgp.distributions.response import RowDistributions
from tobitgp.engines import single_blas_thread
from tobitgp.results.averages import DrawnAverages, Population, Sought, averaged_median, averaged_remaining_median
from tobitgp.results.rows import Asked
from tobitgp.typing import Array

_CELLS = 1_000_000  # rows times draws that are held at once

Respond = Callable[[LocationScale], RowDistributions]  # what the response is, of draws of f and noise


class SharedDraws(Protocol):
    """Draws of rows, of which copies have in common what is not of their columns."""

    def distributions(
        self,
        asked: Asked,
        draws: int,
        cells: int,
        rng: np.random.Generator,
        random: Sequence[str] = (),
        copies: int = 1,
    ) -> Iterator[LocationScale]:
        """See `JointPosterior`."""


def averages_of_draws(joint: SharedDraws, population: Population, sought: Sought) -> DrawnAverages:
    """Averages over rows of draws of them together, of a response that is f and noise."""
    with single_blas_thread(), np.errstate(all="ignore"):
        rows = joint.distributions(
            population.asked, population.draws, _CELLS, population.rng, copies=population.settings
        )
        made = [averaged(each, population, sought, lambda y: y) for each in rows]
    return DrawnAverages(np.concatenate(made, axis=2))


def averaged(rows: LocationScale, population: Population, sought: Sought, response: Respond) -> Array:
    """Averages (A, m, s) of draws of rows under all settings."""
    share = population.weight[:, None]
    if population.resampled:
        share = population.rng.standard_gamma(np.repeat(share, rows.location.shape[1], axis=1))
    share = share / share.sum(axis=0)
    of = [_part(rows, population.rows(setting)) for setting in range(population.settings)]
    return np.stack([_under(response, part, share, sought) for part in of])


def _part(rows: LocationScale, at: slice) -> LocationScale:
    """Some of the rows of draws."""
    scale = rows.scale if len(rows.scale) == 1 else rows.scale[at]
    return LocationScale(rows.noise, rows.location[at], scale, rows.log)


def _under(response: Respond, rows: LocationScale, share: Array, sought: Sought) -> Array:
    """Averages (m, s) of draws of n rows."""
    y = response(rows)
    if sought.what == "median" and sought.after is not None:
        return averaged_remaining_median(y, share, sought.after)[0][None]
    if sought.what == "median":
        middle = averaged_median(rows.noise, rows.location, rows.scale, share)[0]
        return response(replace(rows, location=middle[None], scale=np.zeros((1, 1)))).ppf(0.5)
    each = (sought.question(np.array([time])).fast_number(y) for time in sought.times.tolist())
    return sought.within(np.stack([(share * values).sum(axis=0) for values in each]))
