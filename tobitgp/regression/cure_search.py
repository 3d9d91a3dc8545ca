r"""Mixture cure models: their likelihood, and its maxima, which may be several, by Newton's method from three starts.

A share :math:`\pi = \operatorname{expit}(z'\gamma)` never has the event; the log times of the others have location
:math:`x'\beta` and scale sigma: (CUR1) and (CUR2) of the theory pages.

References
----------
Farewell (1982), The use of mixture models for the analysis of survival data with long-term survivors, *Biometrics* 38,
1041-1046. Maller and Zhou (1996), *Survival Analysis with Long-Term Survivors*, Wiley.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logit

from tobitgp.data.outcome import Outcome
from tobitgp.distributions.formulas import CuredTimes, location_scale_times
from tobitgp.distributions.standard_noise import Distribution
from tobitgp.engines import least_squares, single_blas_thread
from tobitgp.numerics.jets import Jet
from tobitgp.numerics.roots import profile_end
from tobitgp.regression.convergence import LIMIT, words_for_end
from tobitgp.regression.location_scale_fit import maximise
from tobitgp.regression.maximum import Maximum, with_given_shape
from tobitgp.regression.newton import Climb, climb, guarded_step
from tobitgp.regression.predictors import FLAT, Predictors, orthonormal
from tobitgp.regression.row_search import cured_shares
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

    def times(self, rows: IntArray, at: Sequence[Jet]) -> CuredTimes:
        """Times of a location, the logit, a log scale and, where it is estimated, a shape."""
        eta, logit, *rest = at
        return CuredTimes(location_scale_times(self.distribution, eta, *rest), logit)


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


_FAR, _LONGEST_LOGIT = 30.0, 3.0  # of a logit, and of one step of it
_SHARE = 1e-6  # cured on average, below which there are none
_APART = 1e-3  # nats between maxima that are not the same
_PROFILE_STEPS = 50
_PROFILE_FROM = 8.0  # size of the logit from which on the end of an interval is sought
NEAR = 2.0  # nats by which another maximum lies within an interval of 95%


class CureEnd(NamedTuple):
    """Where the ascent from a start ended."""

    iterations: int
    log_likelihood: float
    cured: float  # mean over the rows
    converged: bool


def _starts(problem: CureProblem) -> list[Array]:
    """Points x: latency of the events alone, or of all rows, with larger and smaller shares of cured rows."""
    seen, noise, H, offset = problem.seen, problem.distribution, problem.written[0], problem.offsets[0]
    exact, (tail, less, more), at_tau = seen.exact, cured_shares(seen), sum(problem.sizes)
    y, root = seen.lower - offset, np.sqrt(seen.weight)
    sigma = 1.0
    for _ in range(2):
        target = y - sigma * noise.mean
        beta = least_squares(H, target, root, exact)
        spread = np.average(np.square((target - H @ beta)[exact]), weights=root[exact] ** 2)
        sigma = float(np.clip(np.sqrt(spread / noise.variance), 1e-3, 1e3))
    known = None if problem.free[at_tau] else problem.given[[at_tau]]
    every = maximise(seen, H, distribution=noise, offset=offset, fixed_gamma=known)
    all_rows = (every.coefficients, float(every.gamma[0])) if every.converged else (beta, np.log(sigma))
    tried = (
        (tail, beta, np.log(sigma), None),
        (less, *all_rows, 0),
        (more, beta, np.log(sigma) - 0.5, 1),
    )
    return [_point(problem, *each) for each in tried]


def _point(problem: CureProblem, pi: float, beta: Array, tau: float, other: int | None) -> Array:
    """The point x nearest to some parameters; ``other`` is the place of another shape to start from."""
    Z, noise = problem.written[1], problem.distribution
    gamma = least_squares(Z, logit(np.clip(pi, 1e-3, 0.999)) - problem.offsets[1])
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
    _, v, *rest = problem.moves(move)
    return max(1.5 / _LONGEST_LOGIT * float(np.abs(v).max()), *(abs(float(each[0])) for each in rest))


def maximise_cure(problem: CureProblem, *, scores: bool, max_iter: int) -> tuple[Maximum, list[CureEnd]]:
    """The highest maximum from three starts, and where each of them led.

    A shape that ran to an end of its range is held there.
    """
    with single_blas_thread(), np.errstate(all="ignore"):
        climbs = [_ascend(problem, x, max_iter) for x in _starts(problem)]
        found = [(end, _judge(problem, end)) for end in climbs]
        usable = [pair for pair in found if pair[1] in ("converged", "flat")] or found
        end, reason = max(usable, key=lambda pair: pair[0].state.value + _APART * (pair[1] == "converged"))
        ends = [
            CureEnd(each.iterations, each.state.value, _mean_cured(problem, each.state.x), why == "converged")
            for each, why in found
        ]
        told, words = problem.row_scores(end.state.x) if scores else None, _words(problem, end, reason)
        parts = end, _unit(problem, end.state.x), problem.sizes[0], reason, words, told, problem.distribution
        fit = problem.in_users_units(*parts, free_shape=problem.free_shape)
        past = [float(problem.predictors(each.state.x)[-1][0]) for each, why in found if why == "shape"]
        sides = {int(shape >= problem.distribution.coordinate_range()[1]) for shape in past}
        for held in (_held(problem, side, scores=scores, max_iter=max_iter) for side in sorted(sides)):
            if (held.converged, held.log_likelihood) > (fit.converged, fit.log_likelihood):
                fit = held
        return fit, ends


def _held(problem: CureProblem, side: int, *, scores: bool, max_iter: int) -> Maximum:
    """The maximum with the shape at an end of its range."""
    noise = problem.distribution.with_shape(problem.distribution.shape_range[side])
    p, q = problem.sizes
    known = np.split(np.where(problem.free, np.nan, problem.given)[:-1], [p, p + q])
    fit, _ = maximise_cure(
        cure_problem(problem.seen, problem.written[:3], problem.offsets[:3], noise, known, free_shape=False),
        scores=scores,
        max_iter=max_iter,
    )
    return with_given_shape(fit, words_for_end(noise, side) if fit.converged else fit.message)


def _ascend(problem: CureProblem, x: Array, max_iter: int) -> Climb:
    """Newton's method from x."""
    return climb(
        problem.evaluate,
        lambda state: guarded_step(state, lambda move: _reach(problem, move)),
        problem.evaluate(x),
        max_iter=max_iter,
        stop=lambda at: _stops(problem, at),
    )


def profile_interval(
    given: Callable[[Array], CureProblem], maximum: Maximum, place: int, error: float, drop: float
) -> tuple[float, float]:
    """Probabilities of being cured, one for all rows, whose profile log likelihood is ``drop`` below the maximum.

    ``given`` makes the problem in which the logit, parameter ``place`` of standard error ``error``, is known.
    """
    best = float(maximum.parameters[place])

    def fall(v: float) -> float:
        problem = given(np.array([v]))
        x = problem.nearest(maximum.parameters[: len(problem.given)])
        with single_blas_thread(), np.errstate(all="ignore"):
            return maximum.log_likelihood - _ascend(problem, x, _PROFILE_STEPS).state.value

    ends, step = [], error if np.isfinite(error) else 1.0
    for side, furthest in ((-1.0, 0.0), (1.0, 1.0)):
        begin = side * max(side * best, -_PROFILE_FROM)  # the maximum itself may lie at an infinite logit
        end = profile_end(fall, drop, best, side, step, begin=begin, far=_FAR, close=1e-4)
        ends.append(furthest if end is None else float(expit(end)))
    return ends[0], ends[1]


def _mean_cured(problem: CureProblem, x: Array) -> float:
    return float(np.average(expit(problem.predictors(x)[1]), weights=problem.seen.weight))


def _unit(problem: CureProblem, x: Array) -> Array:
    """Units in which exact rows bring about 1 of information."""
    unit = np.ones(len(x))
    unit[: problem.designs[0].shape[1]] = np.exp(problem.predictors(x)[2][0])
    return np.diag(unit)


def _judge(problem: CureProblem, end: Climb) -> str:
    """Whether an end is a maximum, or why not."""
    if end.reason in ("stalled", "limit"):
        return end.reason
    information = problem.information(end.state, _unit(problem, end.state.x))
    least = np.linalg.eigvalsh(information).min(initial=1.0)
    _, v, tau, *shape = problem.predictors(end.state.x)
    if end.reason == "stopped" and float(np.abs(v).max()) <= _FAR:
        return "sigma" if abs(float(tau[0])) > 18.0 or not shape else "shape"
    return "flat" if least < FLAT or end.reason == "stopped" else "converged"


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
    return LIMIT
