"""Averages over rows under proportional hazards, of draws that have the same parameters in all of them: (STD4)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tobitgp.engines import row_chunks, single_blas_thread
from tobitgp.errors import SpecError
from tobitgp.numerics.roots import where_it_ends
from tobitgp.results.averages import Averages, Drawn, Estimated, Population, Sought
from tobitgp.results.hazards.bands import Hazards
from tobitgp.results.hazards.hazard_parts import HazardParts, log_hazards
from tobitgp.typing import Array

_CELLS = 4_000_000  # numbers that are held at once


def hazard_averages(parts: HazardParts, population: Population, sought: Sought, cuts: Array) -> Averages:
    """Averages; ``cuts`` reach to the last time that is asked about.

    By maximum likelihood they are those at the estimates, with the covariance of draws.
    """
    if sought.what == "mean":
        raise SpecError("The mean time rests on the hazard beyond the last one seen; what='rmst' does not.")
    seed, n = int(population.rng.integers(2**32)), len(population.weight)
    made = []
    with single_blas_thread():
        for part in row_chunks(0, population.draws, max(_CELLS // n, 1)):
            share = np.repeat(population.weight[:, None], part.stop - part.start, axis=1)
            if population.resampled:
                share = population.rng.standard_gamma(share)
            share = share / share.sum(axis=0)
            found = []
            for setting in range(population.settings):
                frame = population.frame.iloc[population.rows(setting)]
                log = log_hazards(parts, frame, cuts, draws=share.shape[1], seed=seed + part.start)
                found.append(_average(Hazards.of(cuts, log), share, sought))
            made.append(np.stack(found))
    drawn = np.concatenate(made, axis=2)
    if not parts.estimated:
        return Drawn(drawn)
    share = (population.weight / population.weight.sum())[:, None]
    frames = [population.frame.iloc[population.rows(setting)] for setting in range(population.settings)]
    logs = [log_hazards(parts, frame, cuts, draws=0) for frame in frames]
    estimate = np.stack([_average(Hazards.of(cuts, log), share, sought)[:, 0] for log in logs])
    away = drawn - drawn.mean(axis=2, keepdims=True)
    return Estimated(sought, estimate, np.einsum("ams,bms->mab", away, away) / drawn.shape[2])


def _average(hazards: Hazards, share: Array, sought: Sought) -> Array:
    """Averages (m, S) of rows with shares (n, S), each given survival of ``after``."""
    after = 0.0 if sought.after is None else sought.after
    if sought.what == "rmst":
        return np.stack([(share * hazards.restricted_mean(t, after)).sum(axis=0) for t in sought.times.tolist()])
    start = np.full(share.shape[1], after)
    past = hazards.at(start)

    def survival(times: Array) -> Array:
        return np.asarray((share * np.exp(past - hazards.at(start + times))).sum(axis=0))

    if sought.what == "median":
        return _median(survival, np.full(share.shape[1], hazards.cuts[-1] - after))[None]
    found = np.stack([survival(np.full(share.shape[1], t)) for t in sought.times.tolist()])
    return 1.0 - found if sought.what == "risk" else found


def _median(survival: Callable[[Array], Array], high: Array) -> Array:
    """Times (S,) at which averaged survival is one half, infinite where it does not fall so far."""
    found = where_it_ends(lambda times: survival(times) > 0.5, np.zeros_like(high), high)
    return np.where(survival(high) > 0.5, np.inf, found)
