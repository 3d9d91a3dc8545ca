r"""Newton's method for the working problem, in Olsen's coordinates where they may be used.

Rows bring (REG2) to (REG5) of the theory pages.

With one free sigma, no truncation and a log-concave distribution the log likelihood is concave in
:math:`(\delta, h) = (b / \sigma, 1 / \sigma)`: z = h y - Q delta is linear in them, log masses of intervals are
concave in their ends, and exact rows add log h. The passes over rows always give derivatives in (b, log sigma);
a few lines turn them into those in (delta, h): (REG6) and (REG7) of the theory pages.

References
----------
Olsen (1978), Note on the uniqueness of the maximum likelihood estimator for the Tobit model, *Econometrica* 46,
1211-1215. Burridge (1981), A note on maximum likelihood estimation for regression models using grouped data,
*JRSS B* 43, 41-45, for log-concave distributions and interval rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import lapack

from tobitgp.data.absorbed import Absorbed
from tobitgp.distributions.standard_noise import SHAPE_STEP, Distribution
from tobitgp.engines import add_up
from tobitgp.likelihoods.row_terms import SeenKind, Terms, row_terms, subtract
from tobitgp.numerics.bordered import Bordered
from tobitgp.numerics.roots import five_differences
from tobitgp.regression.working import Chunk, Working
from tobitgp.typing import Array


@dataclass(frozen=True, slots=True)
class State:
    """The working log likelihood at one point."""

    x: Array  # (k,)
    value: float
    gradient: Array  # (k,)
    hessian: Bordered  # (k, k)

    @property
    def finite(self) -> bool:
        """Whether value and derivatives are."""
        return bool(np.isfinite(self.value) and np.isfinite(self.gradient).all()) and self.hessian.finite


def evaluate(working: Working, distribution: Distribution, x: Array) -> State:
    """Log likelihood, gradient and Hessian at x = (b, g[, shape])."""
    sums = add_up(_sums(chunk, working, distribution, x) for chunk in working.chunks)
    value, gradient, corner, of_factor, border, block = sums
    p = working.p - len(block)
    corner[p:, :p] = corner[:p, p:].T
    hessian = Bordered(0.5 * (corner + corner.T), border.T, block, working.inverse_R.start)
    return State(x, float(value), hessian.join(gradient, of_factor), hessian)


def distribution_at(distribution: Distribution, working: Working, x: Array) -> Distribution:
    """The distribution at the shape of x."""
    return distribution.at_coordinate(float(x[-1])) if working.free_shape else distribution


def chunk_terms(chunk: Chunk, working: Working, distribution: Distribution, x: Array, copies: int = 1) -> Terms:
    """Terms of a chunk's rows of unit weight, window taken off, in working units; of copies one after the other."""
    p, q = working.p, working.q
    eta = chunk.Q @ x[:p]
    at = x[p : p + q]
    tau = np.asarray(chunk.tau0[0] + at.sum() if working.constant else chunk.tau0 + chunk.V @ at)
    seen = chunk.seen

    def of(kind: SeenKind, *ends: Array) -> Terms:
        at = (*ends, eta, np.broadcast_to(tau, eta.shape)) if copies > 1 else (*ends, eta, tau)
        return row_terms(distribution, kind, *(np.tile(each, copies) if copies > 1 else each for each in at))

    terms = of(chunk.kind, seen.lower, seen.upper, seen.width)
    return terms if chunk.window == "open" else subtract(terms, of(chunk.window, seen.entry, seen.exit, seen.span))


_TOGETHER = 400  # rows up to which several shapes at once are faster than one after the other


def shape_terms(
    chunk: Chunk, working: Working, distribution: Distribution, x: Array, here: Terms
) -> tuple[Array, Array, Array, Array]:
    """Derivatives of the rows' log likelihood in the shape, once, twice, with eta and with tau, of fourth order."""
    moved = x[-1] + SHAPE_STEP * np.array([-2.0, -1.0, 1.0, 2.0])
    n = len(here.value)
    if distribution.shape_by_row and n <= _TOGETHER:
        found = chunk_terms(chunk, working, distribution.at_coordinate(np.repeat(moved, n)), x, len(moved))
        at = [Terms(*(each[i * n : (i + 1) * n] for each in found)) for i in range(len(moved))]
    else:
        at = [chunk_terms(chunk, working, distribution.at_coordinate(float(place)), x) for place in moved]
    at.insert(2, here)
    value, eta, tau = (
        five_differences([getattr(terms, name) for terms in at], SHAPE_STEP) for name in ("value", "eta", "tau")
    )
    return *value, eta[0], tau[0]


def _sums(chunk: Chunk, working: Working, distribution: Distribution, x: Array) -> tuple[Any, ...]:
    """One chunk's part of value, gradient and corner of the Hessian; of an absorbed factor gradient, border, block."""
    here = chunk_terms(chunk, working, distribution_at(distribution, working, x), x)
    q, w, absorbed = working.q, chunk.seen.weight, chunk.Q if isinstance(chunk.Q, Absorbed) else None
    Q: Any = chunk.Q if absorbed is None else absorbed.common
    terms = Terms(*(w * t for t in here))
    p, r = Q.shape[1], len(x) - (0 if absorbed is None else absorbed.size)
    gradient, hessian = np.zeros(r), np.zeros((r, r))
    gradient[:p] = terms.eta @ Q
    hessian[:p, :p] = _weighted_gram(Q, terms.eta_eta)
    at = slice(p, p + q)
    if working.constant and q:
        gradient[p], hessian[:p, p], hessian[p, p] = terms.tau.sum(), terms.eta_tau @ Q, terms.tau_tau.sum()
    elif q:
        gradient[at] = terms.tau @ chunk.V
        hessian[:p, at] = (Q.T * terms.eta_tau) @ chunk.V
        hessian[at, at] = _weighted_gram(chunk.V, terms.tau_tau)
    by_shape = np.zeros((len(w), 0))
    if working.free_shape:
        slope, second, eta, tau = (w * t for t in shape_terms(chunk, working, distribution, x, here))
        gradient[-1], hessian[-1, -1] = slope.sum(), second.sum()
        hessian[:p, -1] = eta @ Q
        hessian[at, -1] = hessian[-1, at] = tau @ chunk.V
        by_shape = eta[:, None]
    value = float(terms.value.sum())
    if absorbed is None:
        return value, gradient, hessian, np.zeros(0), np.zeros((0, r)), np.zeros(0)
    by_eta = np.hstack([terms.eta_eta[:, None] * Q, terms.eta_tau[:, None] * chunk.V, by_shape])
    block = absorbed.sums(absorbed.value * terms.eta_eta)
    return value, gradient, hessian, absorbed.sums(terms.eta), absorbed.sums(by_eta), block


def _weighted_gram(A: Array, d: Array) -> Array:
    """``A' diag(d) A``, by one rank update where d has one sign."""
    if len(d) and d.max() <= 0.0:
        B = A * np.sqrt(-d)[:, None]
        return np.asarray(-(B.T @ B))
    return np.asarray((A.T * d) @ A)


Evaluate = Callable[[Array], State]

SETTLED = 1e-14  # Newton decrement: twice the log likelihood still to be gained
_ARMIJO = 1e-4
_HALVINGS, _FEW_HALVINGS = 30, 2
_LITTLE = 1e-6  # decrement on a ridge that leads to infinity
_THERE = 1e-22  # decrement of a maximum to eleven digits of a standard error
_ROUNDING = 1e-10  # decrement, of one and the log likelihood, below which rounding hides what a step gains
_LONGEST = 1.5  # of one step in a log scale or the shape, outside Olsen's coordinates
_FLOOR, _CONCAVE_FLOOR = 1e-8, 1e-14


class NewtonStep(NamedTuple):
    """A direction of search: x at length t, the decrement of the full step, the slope at t = 0 of the one allowed."""

    at: Callable[[float], Array]
    decrement: float
    slope: float


@dataclass(frozen=True, slots=True)
class Climb:
    """Where an iteration ended."""

    state: State
    iterations: int
    reason: str  # "settled", "stopped", "stalled" or "limit"; once judged "converged", or why not

    @property
    def converged(self) -> bool:
        """Whether it was found to be a maximum."""
        return self.reason == "converged"


def climb(
    evaluate: Evaluate,
    step: Callable[[State], NewtonStep],
    state: State,
    *,
    max_iter: int,
    stop: Callable[[Array], bool],
    flat: Callable[[State], bool] | None = None,
) -> Climb:
    """Newton steps with backtracking until the decrement is below ``SETTLED``, and one more full step.

    Where steps promise little, ``flat`` says whether the way leads along a ridge on which nothing is left to gain.
    """
    for iteration in range(max_iter):
        move = step(state)
        if move.decrement <= SETTLED:
            return Climb(_last(evaluate, move, state), iteration, "settled")
        if stop(state.x):
            return Climb(state, iteration, "stopped")
        if flat is not None and move.decrement <= _LITTLE and flat(state):
            return Climb(state, iteration, "settled")
        better = _search(evaluate, move, state)
        if better is None:
            return Climb(state, iteration, "settled" if _near(move, state) else "stalled")
        state = better
    return Climb(state, max_iter, "settled" if step(state).decrement <= SETTLED else "limit")


def _last(evaluate: Evaluate, move: NewtonStep, state: State) -> State:
    """The maximum to rounding, so that it does not depend on the way there; the state itself where the step loses."""
    if move.decrement <= _THERE:
        return state
    trial = evaluate(move.at(1.0))
    return trial if trial.finite and trial.value >= state.value - _slack(state) else state


def _slack(state: State) -> float:
    """Rounding of the log likelihood."""
    return 1e-14 * (1.0 + abs(state.value))


def _search(evaluate: Evaluate, move: NewtonStep, state: State) -> State | None:
    """First of the halved steps that gains what its slope promises, to rounding."""
    t, slack = 1.0, _slack(state)
    for _ in range(_FEW_HALVINGS if _near(move, state) else _HALVINGS):
        trial = evaluate(move.at(t))
        if trial.finite:
            gain = trial.value - state.value
            if gain >= _ARMIJO * t * move.slope or (move.decrement < 1e-8 and gain >= -slack):
                return trial
        t *= 0.5
    return None


def _near(move: NewtonStep, state: State) -> bool:
    return move.decrement <= _ROUNDING * (1.0 + abs(state.value))


def olsen_derivatives(state: State, sigma: float) -> tuple[Array, Bordered]:
    """Gradient and Hessian in ``(delta, h / h_now)``, dimensionless."""
    b, g, H = state.x[:-1], state.gradient, state.hessian
    (rest, own), r = H.places, len(H.corner)
    J = sigma * np.eye(r)
    J[:-1, -1], J[-1, -1] = -b[rest[:-1]], -1.0
    corner, border, of_own = J.T @ H.corner @ J, sigma * (J.T @ H.border), -b[own]
    corner[-1] += border @ of_own / sigma
    corner[:, -1] += border @ of_own / sigma
    corner[-1, -1] += H.block @ of_own**2
    border[-1] += sigma * (H.block * of_own - g[own])
    corner[:-1, -1] -= sigma * g[rest[:-1]]
    corner[-1, :-1] -= sigma * g[rest[:-1]]
    corner[-1, -1] += 2.0 * b @ g[:-1] + g[-1]
    gradient = H.join(J.T @ g[rest], sigma * g[own])
    gradient[-1] += of_own @ g[own]
    return gradient, Bordered(corner, border, sigma**2 * H.block, H.start)


def olsen_step(state: State, tau0: float) -> NewtonStep:
    """Newton's step in (b / sigma, 1 / sigma), 1 / sigma kept above a tenth of itself."""
    sigma = float(np.exp(tau0 + state.x[-1]))
    gradient, hessian = olsen_derivatives(state, sigma)
    move = _solve(hessian.each(np.negative), gradient)
    decrement = float(gradient @ move)
    part = -0.9 / min(move[-1], -0.9)
    move *= part
    b, g = state.x[:-1], state.x[-1]

    def at(t: float) -> Array:
        shrink = 1.0 / (1.0 + t * move[-1])
        return np.append((b + t * sigma * move[:-1]) * shrink, g + np.log(shrink))

    return NewtonStep(at, decrement, part * decrement)


def guarded_step(state: State, reach: Callable[[Array], float]) -> NewtonStep:
    """Newton's step in x with eigenvalues of the curvature made positive, no log scale moved further than 1.5."""
    move = _solve(state.hessian.each(np.negative), state.gradient, nonconcave=True)
    decrement = float(state.gradient @ move)
    part = _LONGEST / max(reach(move), _LONGEST)
    return NewtonStep(lambda t: state.x + t * part * move, decrement, part * decrement)


def _solve(curvature: Bordered, gradient: Array, nonconcave: bool = False) -> Array:
    """Newton direction; the curvature is scaled to unit diagonal and its eigenvalues floored where it must be."""
    if not len(gradient):
        return gradient
    size = np.abs(curvature.diagonal)
    diagonal = np.sqrt(np.maximum(size, max(1e-30 * float(size.max()), 1e-200)))
    C, g = curvature.scaled(diagonal, np.divide).reduced(), gradient / diagonal
    factor, info = lapack.dpotrf(C.S, lower=1)
    if info == 0 and np.diag(factor).min() > 1e-6:
        out, _ = lapack.dpotrs(factor, C.contract(g), lower=1)
        return np.asarray((C.expand(out) + C.rest(g)) / diagonal)
    values, vectors = np.linalg.eigh(C.S)
    floor = (_FLOOR if nonconcave else _CONCAVE_FLOOR) * max(float(np.abs(values).max()), 1e-300)
    values = np.maximum(np.abs(values) if nonconcave else values, floor)
    return np.asarray((C.expand(vectors @ ((vectors.T @ C.contract(g)) / values)) + C.rest(g)) / diagonal)
