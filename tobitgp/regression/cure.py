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
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, log_expit

from tobitgp.data.outcome import Outcome
from tobitgp.distributions.base import Distribution
from tobitgp.likelihoods.base import Kind, row_terms
from tobitgp.numerics.bordered import Bordered
from tobitgp.regression.newton import SHAPE_STEP, State, shape_differences
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
    shape = [(np.ones((len(seen), 1)), np.zeros(len(seen)), np.full(1, np.nan))] if free_shape else []
    columns, rest, blocks, given = [], [], [], []
    for design, offset, values in (*zip(designs, offsets, known, strict=True), *shape):
        free, value = np.isnan(values), np.nan_to_num(values)
        R = np.linalg.qr(design[:, free], mode="r")
        block = np.zeros((len(values), int(free.sum())))
        block[free] = np.sqrt(len(seen)) * np.linalg.inv(R)
        columns.append(design @ block)
        rest.append(offset + design @ value)
        blocks.append(block)
        given.append(value)
    to_users = np.zeros((sum(map(len, blocks)), sum(block.shape[1] for block in blocks)))
    row = column = 0
    for block in blocks:
        to_users[row : row + len(block), column : column + block.shape[1]] = block
        row, column = row + len(block), column + block.shape[1]
    own = (tuple(designs), tuple(offsets), tuple(columns), tuple(rest), to_users, np.concatenate(given))
    return CureProblem(seen, distribution, free_shape, *own)


# -- rows -------------------------------------------------------------------------------------------------------------


class _Local(NamedTuple):
    """Log likelihoods (m,) of rows with gradients (m, r) and Hessians (m, r, r) in what is linear in parameters."""

    value: Array
    slope: Array
    bend: Array


def _uncured(problem: CureProblem, kind: Kind, log_time: Array, at: Sequence[Array]) -> _Local:
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
    return _Local(here.value, slope, bend + np.swapaxes(upper, 1, 2))


def _surviving(problem: CureProblem, log_time: Array, at: Sequence[Array]) -> _Local:
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
    return _Local(value, slope, bend)


def _row_terms(problem: CureProblem, x: Array) -> _Local:
    """Of all rows."""
    seen, at = problem.seen, problem.predictors(x)
    n, r = len(seen), len(at)
    out = _Local(np.zeros(n), np.zeros((n, r)), np.zeros((n, r, r)))

    def add(rows: IntArray, part: _Local, sign: float = 1.0) -> None:
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
