r"""The likelihood of mixture cure models, on arrays.

A share :math:`\pi = \operatorname{expit}(z'\gamma)` never has the event; the log times of the others have location
:math:`x'\beta` and scale sigma: (CUR1) and (CUR2) of the theory pages.

References
----------
Farewell (1982), The use of mixture models for the analysis of survival data with long-term survivors, *Biometrics* 38,
1041-1046. Maller and Zhou (1996), *Survival Analysis with Long-Term Survivors*, Wiley.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, log_expit

from tobitgp.data.outcome import Outcome
from tobitgp.distributions.base import Distribution
from tobitgp.likelihoods.base import Kind, row_terms
from tobitgp.regression.newton import SHAPE_STEP, State, shape_differences
from tobitgp.regression.predictors import Local, Predictors, orthonormal
from tobitgp.typing import Array, IntArray


@dataclass(frozen=True, slots=True)
class CureProblem(Predictors):
    """Rows, exact or right-censored, and designs of location, logit of the cured fraction, log sigma and the shape."""

    distribution: Distribution
    free_shape: bool

    @property
    def sizes(self) -> tuple[int, int]:
        """Number of coefficients of the location and of the logit."""
        return self.written[0].shape[1], self.written[1].shape[1]


def cure_problem(
    seen: Outcome,
    designs: Sequence[Array],
    offsets: Sequence[Array],
    distribution: Distribution,
    known: Sequence[Array],
    *,
    free_shape: bool,
) -> CureProblem:
    """Make columns orthonormal, and offsets of known parameters: NaN where they are estimated.

    Designs, offsets and ``known`` parameters are those of location, logit and log sigma.
    """
    shape = [(np.ones((len(seen), 1)), np.zeros(len(seen)), np.full(1, np.nan))] if free_shape else []
    parts = zip(*(*zip(designs, offsets, known, strict=True), *shape), strict=True)
    return CureProblem(**orthonormal(seen, *parts), distribution=distribution, free_shape=free_shape)


# -- rows -------------------------------------------------------------------------------------------------------------


def _uncured(problem: CureProblem, kind: Kind, log_time: Array, at: Sequence[Array]) -> Local:
    """Log density or survival of those not cured, whose derivatives in the logit are 0."""
    eta, _, tau, *shape = at
    width, noise = np.zeros_like(log_time), problem.distribution

    def terms(step: float) -> Any:
        moved = noise.at_coordinate(float(shape[0][0]) + step * SHAPE_STEP) if shape else noise
        return row_terms(moved, kind, log_time, log_time, width, eta, tau)

    here, r = terms(0.0), len(at)
    slope, bend = np.zeros((len(log_time), r)), np.zeros((len(log_time), r, r))
    slope[:, 0], slope[:, 2] = here.eta, here.tau
    bend[:, 0, 0], bend[:, 0, 2], bend[:, 2, 2] = here.eta_eta, here.eta_tau, here.tau_tau
    if shape:
        found = shape_differences([terms(-2.0), terms(-1.0), here, terms(1.0), terms(2.0)])
        slope[:, 3], bend[:, 3, 3], bend[:, 0, 3], bend[:, 2, 3] = found
    upper = np.triu(bend, 1)
    return Local(here.value, slope, bend + np.swapaxes(upper, 1, 2))


def _surviving(problem: CureProblem, log_time: Array, at: Sequence[Array]) -> Local:
    """Log probability of surviving, cured or not: (CUR2)."""
    part, v = _uncured(problem, "right", log_time, at), at[1]
    pi, cured = expit(v), expit(v - part.value)
    value = np.logaddexp(log_expit(v), log_expit(-v) + part.value)
    left, both = 1.0 - cured, cured * (1.0 - cured)
    slope = left[:, None] * part.slope
    outer = part.slope[:, :, None] * part.slope[:, None, :]
    bend = left[:, None, None] * part.bend + both[:, None, None] * outer
    bend[:, 1, :] -= both[:, None] * part.slope
    bend[:, :, 1] -= both[:, None] * part.slope
    slope[:, 1], bend[:, 1, 1] = cured - pi, both - pi * (1.0 - pi)
    return Local(value, slope, bend)


def _row_terms(problem: CureProblem, x: Array) -> Local:
    """Of all rows."""
    seen, at = problem.seen, problem.predictors(x)
    n, r = len(seen), len(at)
    out = Local(np.zeros(n), np.zeros((n, r)), np.zeros((n, r, r)))

    def add(rows: IntArray, part: Local, sign: float = 1.0) -> None:
        for total, more in zip(out, part, strict=True):
            total[rows] += sign * more

    exact, late = np.flatnonzero(seen.exact), np.flatnonzero(np.isfinite(seen.entry))
    censored = np.flatnonzero(~seen.exact)
    some = [each[exact] for each in at]
    events, v = _uncured(problem, "exact", seen.lower[exact], some), some[1]
    events.slope[:, 1], events.bend[:, 1, 1] = -expit(v), -expit(v) * expit(-v)
    add(exact, events._replace(value=events.value + log_expit(-v)))
    add(censored, _surviving(problem, seen.lower[censored], [each[censored] for each in at]))
    if len(late):
        add(late, _surviving(problem, seen.entry[late], [each[late] for each in at]), -1.0)
    return out


def evaluate(problem: CureProblem, x: Array) -> State:
    """Log likelihood, gradient and Hessian at x."""
    return problem.join(x, _row_terms(problem, x))


def row_scores(problem: CureProblem, x: Array) -> Array:
    """Derivatives (n, k) of the log likelihood of each row in the parameters."""
    return problem.scores(_row_terms(problem, x))
