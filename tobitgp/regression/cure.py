r"""Maximum likelihood of mixture cure models, on arrays.

A share :math:`\pi = \operatorname{expit}(z'\gamma)` never has the event; the log times of the others have location
:math:`x'\beta` and scale sigma: (CUR1) and (CUR2) of the theory pages. Newton's method with analytic derivatives, from
three starts: the likelihood may have several maxima.

References
----------
Farewell (1982), The use of mixture models for the analysis of survival data with long-term survivors, *Biometrics* 38,
1041-1046. Maller and Zhou (1996), *Survival Analysis with Long-Term Survivors*, Wiley.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit, log_expit, logit

from tobitgp.data.outcome import Outcome
from tobitgp.distributions.base import Distribution
from tobitgp.engines import single_blas_thread
from tobitgp.likelihoods.base import Kind, row_terms
from tobitgp.numerics.bordered import Bordered
from tobitgp.numerics.nonparametric import kaplan_meier
from tobitgp.regression.fit import maximise
from tobitgp.regression.maximum import Maximum
from tobitgp.regression.newton import SHAPE_STEP, Climb, State, climb, guarded_step, shape_differences
from tobitgp.typing import Array, BoolArray, IntArray

_FAR, _LONGEST_LOGIT = 30.0, 3.0  # of a logit, and of one step of it
_FLAT = 1e-8  # information a row of a direction, where an exact row has about 1
_SHARE = 1e-6  # cured on average, below which there are none
_APART = 1e-3  # nats between maxima that are not the same
_PROFILE_STEPS = 50
NEAR = 2.0  # nats by which another maximum lies within an interval of 95%


class CureEnd(NamedTuple):
    """Where the ascent from a start ended."""

    iterations: int
    log_likelihood: float
    cured: float  # mean over the rows
    converged: bool


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
        law = noise.at_coordinate(float(shape[0][0]) + step * SHAPE_STEP) if shape else noise
        return row_terms(law, kind, log_time, log_time, width, eta, tau)

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


# -- the search -------------------------------------------------------------------------------------------------------


def km_tail(seen: Outcome) -> float:
    """Kaplan and Meier's survival after the last time, between 0.02 and 0.98."""
    entry = np.where(np.isfinite(seen.entry), seen.entry, -np.inf)
    _, survival = kaplan_meier(seen.lower, seen.exact, seen.weight, entry)
    return float(np.clip(survival[-1], 0.02, 0.98))


def _starts(problem: CureProblem) -> list[Array]:
    """Points x: latency of the events alone, or of all rows, with larger and smaller shares of cured rows."""
    seen, noise, H, offset = problem.seen, problem.distribution, problem.written[0], problem.offsets[0]
    exact, tail, at_tau = seen.exact, km_tail(seen), sum(problem.sizes)
    y, root = (seen.lower - offset)[exact], np.sqrt(seen.weight[exact])
    sigma, share = 1.0, float(seen.weight[~exact].sum() / seen.weight.sum())
    for _ in range(2):
        target = y - sigma * noise.mean
        beta = np.linalg.lstsq(root[:, None] * H[exact], root * target, rcond=None)[0]
        spread = np.average(np.square(target - H[exact] @ beta), weights=root**2)
        sigma = float(np.clip(np.sqrt(spread / noise.variance), 1e-3, 1e3))
    known = None if problem.free[at_tau] else problem.given[[at_tau]]
    every = maximise(seen, H, distribution=noise, offset=offset, fixed_gamma=known)
    all_rows = (every.coefficients, float(every.gamma[0])) if every.converged else (beta, np.log(sigma))
    tried = (
        (tail, beta, np.log(sigma), None),
        (0.25 * tail, *all_rows, 0),
        (0.5 * (tail + share), beta, np.log(sigma) - 0.5, 1),
    )
    return [_point(problem, *each) for each in tried]


def _point(problem: CureProblem, pi: float, beta: Array, tau: float, other: int | None) -> Array:
    """The point x nearest to some parameters; ``other`` is the place of another shape to start from."""
    Z, noise = problem.written[1], problem.distribution
    gamma = np.linalg.lstsq(Z, logit(np.clip(pi, 1e-3, 0.999)) - problem.offsets[1], rcond=None)[0]
    parameters = [*beta, *gamma, tau]
    if problem.free_shape:
        moved = noise if other is None else noise.with_shape(noise.shape_starts[other])
        parameters.append(moved.coordinate)
    return problem.nearest(np.array(parameters))


def _stops(problem: CureProblem, x: Array) -> bool:
    """Whether a logit, log sigma or the shape is as good as infinite."""
    _, v, tau, *shape = problem.predictors(x)
    low, high = problem.distribution.coordinate_range() if shape else (-np.inf, np.inf)
    gone = bool(shape) and not low < shape[0][0] < high
    return gone or float(np.abs(v).max()) > _FAR or abs(float(tau[0])) > 18.0


def _reach(problem: CureProblem, move: Array) -> float:
    """Largest change of log sigma, the shape or, in its units, a logit."""
    _, v, *rest = (after - before for after, before in zip(*map(problem.predictors, (move, 0.0 * move)), strict=True))
    return max(1.5 / _LONGEST_LOGIT * float(np.abs(v).max()), *(abs(float(each[0])) for each in rest))


def maximise_cure(problem: CureProblem, *, scores: bool, max_iter: int) -> tuple[Maximum, list[CureEnd]]:
    """The highest maximum from three starts, and where each of them led."""
    with single_blas_thread(), np.errstate(all="ignore"):
        climbs = [_ascend(problem, x, max_iter) for x in _starts(problem)]
        found = [(end, _judge(problem, end)) for end in climbs]
        usable = [pair for pair in found if pair[1] in ("converged", "flat")] or found
        end, reason = max(usable, key=lambda pair: pair[0].state.value + _APART * (pair[1] == "converged"))
        ends = [
            CureEnd(each.iterations, each.state.value, _mean_cured(problem, each.state.x), why == "converged")
            for each, why in found
        ]
        return _in_users_units(problem, end, reason, scores=scores), ends


def _ascend(problem: CureProblem, x: Array, max_iter: int) -> Climb:
    """Newton's method from x."""
    return climb(
        lambda at: evaluate(problem, at),
        lambda state: guarded_step(state, lambda move: _reach(problem, move)),
        evaluate(problem, x),
        max_iter=max_iter,
        stop=lambda at: _stops(problem, at),
    )


def profile_interval(
    given: Callable[[Array], CureProblem], maximum: Maximum, place: int, error: float, drop: float
) -> tuple[float, float]:
    """Probabilities of being cured, one for all rows, whose profile log likelihood is ``drop`` below the maximum.

    ``given`` makes the problem in which the logit, parameter ``place`` of standard error ``error``, is known.
    """
    from scipy.optimize import brentq

    best = float(maximum.parameters[place])

    def below(v: float) -> float:
        problem = given(np.array([v]))
        x = problem.nearest(maximum.parameters)
        with single_blas_thread(), np.errstate(all="ignore"):
            return maximum.log_likelihood - _ascend(problem, x, _PROFILE_STEPS).state.value - drop

    ends = []
    for side, furthest in ((-1.0, 0.0), (1.0, 1.0)):
        step = error if np.isfinite(error) else 1.0
        while below(best + side * step) < 0.0 and step < _FAR:
            step *= 2.0
        ends.append(furthest if step >= _FAR else float(expit(brentq(below, best, best + side * step, xtol=1e-6))))
    return ends[0], ends[1]


def _mean_cured(problem: CureProblem, x: Array) -> float:
    return float(np.average(expit(problem.predictors(x)[1]), weights=problem.seen.weight))


def _information(problem: CureProblem, state: State) -> Array:
    """Minus the Hessian for each row, in units in which exact rows bring about 1."""
    unit = np.ones(len(state.x))
    unit[: problem.designs[0].shape[1]] = np.exp(problem.predictors(state.x)[2][0])
    return np.asarray(-state.hessian.corner * np.outer(unit, unit) / problem.seen.weight.sum())


def _judge(problem: CureProblem, end: Climb) -> str:
    """Whether an end is a maximum, or why not."""
    if end.reason in ("stalled", "limit"):
        return end.reason
    least = np.linalg.eigvalsh(_information(problem, end.state)).min(initial=1.0)
    _, v, tau, *shape = problem.predictors(end.state.x)
    if end.reason == "stopped" and float(np.abs(v).max()) <= _FAR:
        return "sigma" if abs(float(tau[0])) > 18.0 or not shape else "shape"
    return "flat" if least < _FLAT or end.reason == "stopped" else "converged"


def _words(problem: CureProblem, end: Climb, reason: str) -> str:
    """Why there is no maximum, with a remedy."""
    if reason == "converged":
        return reason
    if reason == "flat":
        cured = _mean_cured(problem, end.state.x)
        if cured < _SHARE:
            return "The likelihood is highest without a cured fraction: these rows show none. Fit without cure=."
        if cured > 1.0 - _SHARE:
            return "The cured fraction goes to 1: these rows have too few events. Fit without cure=."
        return (
            "The likelihood has no maximum: some columns separate rows that have the event from the others, and their "
            "coefficients of cured[...] go to infinity. Leave them out of cure=, merge levels, or fix a coefficient."
        )
    if reason in ("sigma", "shape"):
        return f"The likelihood has no maximum: {reason} runs off. Use fewer columns, another family, or fix it."
    if reason == "stalled":
        return "No step improves the likelihood any more though its slope is not 0; rescale or simplify the model."
    return "Not converged when the limit of iterations was reached; raise max_iter."


def _in_users_units(problem: CureProblem, end: Climb, reason: str, *, scores: bool) -> Maximum:
    """An end as parameters and their covariance."""
    T, x = problem.to_users, end.state.x
    theta = problem.given + T @ x
    p, q = problem.sizes
    unit = np.ones(len(x))
    unit[: problem.designs[0].shape[1]] = np.exp(problem.predictors(x)[2][0])
    values, vectors = np.linalg.eigh(_information(problem, end.state))
    directions = T @ (unit[:, None] * vectors)
    flat = values < (max(_FLAT, 2.0 * float(values.min(initial=1.0))) if reason == "flat" else -np.inf)
    with np.errstate(invalid="ignore"):
        told = directions[:, ~flat] / np.sqrt(values[~flat] * problem.seen.weight.sum())
    noise = problem.distribution
    shape = theta[-1] if problem.free_shape else None if noise.shape_name is None else noise.coordinate
    return Maximum(
        theta[:p],
        theta[p : p + q + 1],
        None if shape is None else float(shape),
        end.state.value,
        float(np.abs(end.state.gradient).max(initial=0.0)),
        told @ told.T,
        directions[:, flat] @ directions[:, flat].T,
        problem.free,
        _scores(problem, x) if scores else None,
        end.iterations,
        reason == "converged",
        _words(problem, end, reason),
    )


def _scores(problem: CureProblem, x: Array) -> Array:
    """Derivatives (n, k) of the log likelihood of each row in the parameters."""
    slope, one = _row_terms(problem, x).slope, np.ones((len(problem.seen), 1))
    parts = [slope[:, [j]] * each for j, each in enumerate((*problem.written, one)[: slope.shape[1]])]
    return np.hstack(parts) * problem.free
