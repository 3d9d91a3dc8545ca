"""Averages over rows of a process after a power transformation: draws at every power, by their weights."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np

from tobitgp.distributions.location_scale import LocationScale
from tobitgp.distributions.power_normal import PowerNormal
from tobitgp.results.averages import Drawn, Population, Sought
from tobitgp.results.boxcox.power_parts import BoxCoxGPParts
from tobitgp.results.process.process_averages import process_averages
from tobitgp.results.process.process_draws import JointProcess

_CELLS = 10_000  # rows times draws at once, whose means are quadratures


def power_averages(parts: BoxCoxGPParts, population: Population, sought: Sought) -> Drawn:
    """Draws of averages over rows."""
    shares = np.append(0.0, np.cumsum(parts.weights)) / parts.weights.sum()
    ends = np.floor(population.draws * shares + population.rng.uniform()).astype(int)
    made = []
    for fit, power, size in zip(parts.fits, parts.powers.tolist(), np.diff(ends).tolist(), strict=True):
        if size:
            some = replace(population, draws=size)
            made.append(process_averages(JointProcess(fit), some, sought, partial(_powered, power), _CELLS))
    return Drawn(np.concatenate([each.values for each in made], axis=2))


def _powered(power: float, rows: LocationScale) -> PowerNormal:
    """Distributions of the response of rows whose transformed response is normal."""
    return PowerNormal(rows.location, rows.scale, power)
