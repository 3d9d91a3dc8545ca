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

import numpy as np
from scipy.special import expit, log_expit

from tobitgp.data.outcome import Outcome
from tobitgp.distributions.base import Distribution
from tobitgp.likelihoods.base import Kind
from tobitgp.numerics.bordered import Bordered
from tobitgp.regression.log_times import Local, coordinates, local_terms
from tobitgp.regression.newton import State
from tobitgp.typing import Array, BoolArray, IntArray


@dataclass(frozen=True, slots=True)
class CureProblem:
    """Rows and designs in coordinates x, in which columns are orthonormal and known parameters left out."""

    seen: Outcome  # log times, exact or right-censored; those who entered late have a window
    distribution: Distribution
    free_shape: bool
    written: tuple[Array, ...]  # (n, k_j) of location, logit of the cured fraction and log sigma, as users have them
    offsets: tuple[Array, ...]  # (n,) of each
    designs: tuple[Array, ...]  # (n, m_j) of the same and of the shape, in coordinates x
    known: tuple[Array, ...]  # (n,), the rest of each
    to_users: Array  # (k, m), parameters are ``given + to_users @ x``
    given: Array  # (k,), known parameters, 0 elsewhere

    @property
    def free(self) -> BoolArray:
        """Which of the k parameters are estimated."""
        return np.asarray(np.abs(self.to_users).max(axis=1, initial=0.0) > 0.0)

    @property
    def sizes(self) -> tuple[int, int]:
        """Number of coefficients of the location and of the logit."""
        return self.written[0].shape[1], self.written[1].shape[1]

    def nearest(self, parameters: Array) -> Array:
        """The point x nearest to parameters (k,)."""
        return np.asarray(np.linalg.lstsq(self.to_users, parameters - self.given, rcond=None)[0], dtype=np.float64)

    def predictors(self, x: Array) -> list[Array]:
        """Location, logit, log sigma and shape, (n,) each."""
        ends = np.cumsum([design.shape[1] for design in self.designs])[:-1]
        parts = zip(self.designs, self.known, np.split(x, ends), strict=True)
        return [known + design @ part for design, known, part in parts]


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
    own = (tuple(designs), tuple(offsets))
    if free_shape:
        designs, offsets = (*designs, np.ones((len(seen), 1))), (*offsets, np.zeros(len(seen)))
        known = (*known, np.full(1, np.nan))
    blocks, to_users, given = coordinates(designs, known, len(seen))
    rest = [offset + of @ np.nan_to_num(value) for of, offset, value in zip(designs, offsets, known, strict=True)]
    columns = tuple(of @ block for of, block in zip(designs, blocks, strict=True))
    return CureProblem(seen, distribution, free_shape, *own, columns, tuple(rest), to_users, given)


# -- rows -------------------------------------------------------------------------------------------------------------


def _uncured(problem: CureProblem, kind: Kind, log_time: Array, at: Sequence[Array]) -> Local:
    """Log density or survival of those not cured, whose derivatives in the logit are 0."""
    eta, _, *rest = at
    part, r = local_terms(problem.distribution, kind, log_time, (eta, *rest)), len(at)
    own = np.array([0, *range(2, r)])
    slope, bend = np.zeros((len(log_time), r)), np.zeros((len(log_time), r, r))
    slope[:, own], bend[:, own[:, None], own] = part.slope, part.bend
    return Local(part.value, slope, bend)


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
    w, part = problem.seen.weight, _row_terms(problem, x)
    D = problem.designs
    gradient = np.concatenate([(w * part.slope[:, j]) @ each for j, each in enumerate(D)])
    hessian = np.block([[(a.T * (w * part.bend[:, i, j])) @ b for j, b in enumerate(D)] for i, a in enumerate(D)])
    m = len(gradient)
    curvature = Bordered(0.5 * (hessian + hessian.T), np.zeros((m, 0)), np.zeros(0), m)
    return State(x, float(w @ part.value), gradient, curvature)


def row_scores(problem: CureProblem, x: Array) -> Array:
    """Derivatives (n, k) of the log likelihood of each row in the parameters."""
    slope, one = _row_terms(problem, x).slope, np.ones((len(problem.seen), 1))
    parts = [slope[:, [j]] * each for j, each in enumerate((*problem.written, one)[: slope.shape[1]])]
    return np.hstack(parts) * problem.free
