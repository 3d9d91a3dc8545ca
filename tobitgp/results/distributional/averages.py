"""Averages over rows, with the delta method in all of their parameters: (STD2) of the theory pages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tobitgp.posterior.estimates import Estimates
from tobitgp.results.averages import Estimated, Population, Sought
from tobitgp.results.distributional.parts import DistributionalParts, estimates_of_rows
from tobitgp.results.regression.averages import delta_averages, delta_mean
from tobitgp.typing import Array

_FURTHEST = 1e6  # times the longest follow-up, beyond which no median is sought


def distributional_averages(parts: DistributionalParts, population: Population, sought: Sought) -> Estimated:
    """Averages with their covariance."""
    return delta_averages(lambda setting: _under(parts, population, setting, sought), parts, population, sought)


def _under(
    parts: DistributionalParts, population: Population, setting: int, sought: Sought
) -> tuple[Array, Array, Array]:
    """Averages (m,), their derivatives (m, k) in all parameters and (n, m) by how much each row moves them."""
    design, share = population.asked.design.rows(population.rows(setting)), population.weight / population.weight.sum()

    def of_rows(rows: slice) -> tuple[Estimates, Sequence[Any]]:
        part = design.rows(rows)
        return estimates_of_rows(parts, part, bands=False).spread_over(), parts.designs(part)

    if sought.what != "median":
        return delta_mean(of_rows, share, sought.question(sought.times))
    y = estimates_of_rows(parts, design, bands=False).new
    after = 0.0 if sought.after is None else sought.after
    with np.errstate(divide="ignore"):
        alive = y.logsf(np.array(after))
    at = np.array([_median(parts.last, lambda time: float(share @ np.exp(y.logsf(np.array(after + time)) - alive)))])
    if np.isposinf(at[0]):  # most never have the event
        return at, np.full((1, len(parts.maximum.free)), np.nan), np.full((len(share), 1), np.nan)
    _, gradient, each = delta_mean(of_rows, share, replace(sought, what="survival").question(at))
    density = float(share @ np.exp(y.logpdf(after + at) - alive))
    return at, gradient / density, each / density


def _median(last: float, survival: Callable[[float], float]) -> float:
    """Time at which averaged survival is one half, infinite where it does not fall so far."""
    from scipy.optimize import brentq

    def above(log_time: float) -> float:
        return survival(float(np.exp(log_time))) - 0.5

    end = np.log(last) + np.log(_FURTHEST)
    return np.inf if above(end) > 0.0 else float(np.exp(brentq(above, end - 2.0 * np.log(_FURTHEST), end, xtol=1e-12)))
