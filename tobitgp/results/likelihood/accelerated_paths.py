"""Times of subjects whose covariates change, by the accelerated time along their rows: (AFT4) of the theory pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tobitgp.data.absorbed import as_dense, centred
from tobitgp.errors import SpecError
from tobitgp.kinds.likelihood import SHAPE_STEP, LikelihoodParts
from tobitgp.numerics.bordered import dense
from tobitgp.posterior.estimates import Estimates
from tobitgp.posterior.questions import CURVES
from tobitgp.results.paths import Paths
from tobitgp.results.survival import STATISTICS
from tobitgp.typing import Array


@dataclass(frozen=True, slots=True)
class Accelerated:
    """Distributions of times along a path, whose hazard passes at another rate than that of a constant location."""

    times: Any  # with the location at which so much time would have passed
    log_rate: Array

    def log_odds(self, y: Array) -> Array:
        """Log of the probability of more than y over that of at most y."""
        return np.asarray(self.times.log_odds(y))

    def logsf(self, y: Array) -> Array:
        """Log probability of more than y."""
        return np.asarray(self.times.logsf(y))

    def log_hazard(self, y: Array) -> Array:
        """Log hazard."""
        return np.asarray(self.times.log_hazard(y) + self.log_rate)

    @property
    def discrete(self) -> bool:
        return False


def along_regression(parts: LikelihoodParts, of: str, paths: Paths, level: float | None) -> dict[str, Array]:
    """One of ``CURVES`` of each subject, (m, T)."""
    if not parts.family.log_time or parts.state.scale is not None or paths.asked.design.spread is not None:
        raise SpecError("id= requires a family of positive times and one sigma. Other models have no accelerated time.")
    past, design = paths.histories, paths.asked.design
    H, eta = as_dense(centred(design.H, parts.centre)), parts.predictors(design)[0]
    begin, end = past.log_psi(eta)
    row, column = np.nonzero(past.here(paths.times))
    times = paths.times[column]
    lived = past.within(row, times, eta, begin)
    share, before = np.exp(begin[row] - lived)[:, None], np.zeros_like(H)
    at_end = past.averages(H, end)
    for rows, earlier in past.steps:
        before[rows] = at_end[earlier]
    started = times > 0.0
    mean = np.where(started[:, None], share * before[row] + (1.0 - share) * H[row], H[row])
    location = np.where(started, np.log(times) - lived, eta[row])
    posterior = _estimates(parts, location, location - eta[row], (mean, mean - H[row]), bands=level is not None)
    question = CURVES[of](True, times)
    found = posterior.statistics(question, level, se=False)
    names = {"mean": "estimate", "median": "estimate", "lower": "lower", "upper": "upper"}
    out = {}
    for name in STATISTICS if level is not None else ("mean",):
        out[name] = np.full((len(past.last), len(paths.times)), np.nan)
        out[name][past.code[row], column] = found[names[name]]
    return out


def _estimates(
    parts: LikelihoodParts, location: Array, log_rate: Array, columns: tuple[Array, Array], *, bands: bool
) -> Estimates:
    """Locations and log rates (q,), of columns (q, p), next to sigma and, where it is estimated, the shape."""
    p, one, tau = len(parts.columns), np.ones((len(location), 1)), float(parts.maximum.gamma[0])
    x = [location, np.full_like(location, tau)]
    unit = [np.full_like(location, np.exp(tau)), np.ones_like(location)]
    sides = [(columns[0], slice(0, p)), (one, slice(p, p + 1))]
    if parts.family.estimate_shape:
        x.append(np.full_like(location, parts.noise.coordinate))
        unit.append(np.full_like(location, SHAPE_STEP))
        sides.append((one, slice(p + 1, p + 2)))
    x, unit = [*x, log_rate], [*unit, unit[0]]
    sides.append((columns[1], slice(0, p)))
    V = N = np.empty((len(location), 0, 0))
    if bands:
        V, N = (_covariance(sides, dense(each)) for each in (parts.covariance, parts.unidentified))

    def at(x: tuple[Array, ...]) -> Accelerated:
        return Accelerated(parts.at(x[:-1]), x[-1])

    return Estimates(at, tuple(x), tuple(unit), V, N)


def _covariance(sides: Sequence[tuple[Array, slice]], V: Array) -> Array:
    """Covariance (q, r, r) of numbers that are linear in some of the parameters."""
    out = np.empty((len(sides[0][0]), len(sides), len(sides)))
    for a, (left, of_left) in enumerate(sides):
        for b, (right, of_right) in enumerate(sides):
            out[:, a, b] = np.einsum("ij,ij->i", left @ V[of_left, of_right], right)
    return out
