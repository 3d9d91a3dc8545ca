r"""Accelerated failure times of subjects whose covariates change, by maximum likelihood, on arrays.

Where a subject of location 0 has lived :math:`\psi_i`, the log time :math:`\log t_i` has location
:math:`\mu_i = \log t_i - \log \psi_i`: (AFT1) to (AFT3) of the theory pages. What is linear in parameters elsewhere is
not here, and its derivatives are averages of columns over :math:`\psi`, and their covariance.

Histories of subjects are rows (start, stop]. With :math:`\eta` the location of each row,
:math:`\psi(t) = \int_0^t e^{-\eta(u)}\,du` is the time that a subject of location 0 would have lived; all is formed on
the log scale.

References
----------
Cox and Oakes (1984), *Analysis of Survival Data*, section 5.2. Robins and Tsiatis (1992), Semiparametric estimation of
an accelerated failure time model with time-dependent covariates, *Biometrika* 79, 311-319.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tobitgp.data.outcome import Outcome
from tobitgp.distributions.formulas import RowTimes, location_scale_times
from tobitgp.distributions.standard_noise import Distribution
from tobitgp.engines import single_blas_thread
from tobitgp.numerics.jets import Jet, variables
from tobitgp.regression.convergence import LIMIT, words_for_end
from tobitgp.regression.location_scale_fit import maximise
from tobitgp.regression.maximum import Maximum, with_given_shape
from tobitgp.regression.newton import Climb, State, climb, guarded_step
from tobitgp.regression.predictors import FLAT, Coordinates, coordinates, log_likelihoods, symmetric, weighted_sums
from tobitgp.typing import Array, BoolArray, IntArray


@dataclass(frozen=True, slots=True)
class Histories:
    """n rows of m subjects, in any order, of which those of a subject follow each other from time 0 on."""

    code: IntArray  # (n,), subject of each row
    start: Array  # (n,)
    stop: Array  # (n,)
    steps: tuple[tuple[IntArray, IntArray], ...]  # k-th rows of those that have some, and the rows before them
    first: IntArray  # (m,), the first row of each subject
    last: IntArray  # (m,), the last one

    @classmethod
    def of(cls, code: IntArray, start: Array, stop: Array) -> Histories:
        """Put rows in order."""
        order = np.lexsort((start, code))
        first = np.flatnonzero(np.diff(code[order], prepend=-1))
        ends = np.append(first, len(code))[1:] - 1
        place = np.arange(len(code)) - np.repeat(first, ends - first + 1)
        steps = tuple(
            (order[at], order[at - 1])
            for at in (np.flatnonzero(place == k) for k in range(1, place.max(initial=0) + 1))
        )
        return cls(code, start, stop, steps, order[first], order[ends])

    def log_psi(self, eta: Array) -> tuple[Array, Array]:
        """Logarithms of the accelerated time at start and stop of each row, (n, ...), of locations (n, ...)."""
        length = np.log(self.stop - self.start).reshape(-1, *[1] * (eta.ndim - 1))
        begin, end = np.full(eta.shape, -np.inf), length - eta
        for rows, before in self.steps:
            begin[rows] = end[before]
            end[rows] = np.logaddexp(end[before], end[rows])
        return begin, end

    def averages(self, H: Array, end: Array) -> Array:
        """Averages (n, p) of columns up to the stop of each row, by the accelerated time: minus d log psi / d beta."""
        out = H.copy()
        for rows, before in self.steps:
            share = np.exp(end[before] - end[rows])[:, None]
            out[rows] = share * out[before] + (1.0 - share) * H[rows]
        return out

    def here(self, times: Array) -> BoolArray:
        """Whether a subject is in each row at times (T,) or (n, T); at its first start in the first row."""
        first = np.zeros(len(self.code), dtype=bool)
        first[self.first] = True
        start = self.start[:, None]
        return ((start < times) & (times <= self.stop[:, None])) | (first[:, None] & (times == start))

    def within(self, rows: IntArray, times: Array, eta: Array, begin: Array) -> Array:
        """Log accelerated time at ``times`` (q,) in some rows (q,) of locations and beginnings (n,)."""
        with np.errstate(divide="ignore"):
            passed = np.log(np.maximum(times - self.start[rows], 0.0))
        return np.logaddexp(begin[rows], passed - eta[rows])

    def subjects(self, some: IntArray) -> tuple[Histories, IntArray]:
        """Those of some subjects, in their order, and which rows these have."""
        rows = np.flatnonzero(np.isin(self.code, some))
        return Histories.of(np.searchsorted(some, self.code[rows]), self.start[rows], self.stop[rows]), rows


_FAR, _FAR_SCALE = 500.0, 18.0  # of a location in coordinates, and of log sigma
_START_STEPS = 50


@dataclass(frozen=True, slots=True)
class StartStopProblem(Coordinates):
    """The m subjects, exact or right-censored, and their rows."""

    histories: Histories
    distribution: Distribution
    free_shape: bool
    H: Array  # (n, p), columns of the rows
    offset: Array  # (n,)
    known: tuple[Array, Array]  # coefficients (p,) and log sigma (1,), NaN where they are estimated

    @classmethod
    def of(
        cls,
        seen: Outcome,
        histories: Histories,
        H: Array,
        offset: Array,
        distribution: Distribution,
        known: tuple[Array, Array],
        *,
        free_shape: bool,
    ) -> StartStopProblem:
        """Make columns orthonormal."""
        one = np.ones((len(seen), 1))
        shape = [(one, np.full(1, np.nan))] if free_shape else []
        designs, values = zip((H, known[0]), (one, known[1]), *shape, strict=True)
        _, to_users, given = coordinates(designs, values, len(seen))
        return cls(seen, to_users, given, histories, distribution, free_shape, H, offset, known)

    def location(self, x: Array) -> tuple[Array, Array]:
        """Locations (n,) of rows, and log sigma with, where it is estimated, the shape."""
        theta, p = self.given + self.to_users @ x, self.H.shape[1]
        return self.H @ theta[:p] + self.offset, theta[p:]


def _of_subjects(problem: StartStopProblem, x: Array) -> tuple[Jet, Array, Array, Array]:
    """Terms of subjects, derivatives (m, p) of their locations, those of mu - eta of events, and locations of rows."""
    seen, past = problem.seen, problem.histories
    eta, rest = problem.location(x)
    _, end = past.log_psi(eta)
    average = past.averages(problem.H, end)[past.last]
    mu = seen.lower - end[past.last]
    exact, at = seen.exact, [mu, *(np.full_like(mu, value) for value in rest)]

    def times(rows: IntArray) -> RowTimes:
        return location_scale_times(problem.distribution, *variables([each[rows] for each in at]))

    found = log_likelihoods(times, seen)
    found = replace(found, value=found.value + np.where(exact, mu - eta[past.last], 0.0))
    ahead = np.where(exact[:, None], average - problem.H[past.last], 0.0)
    return found, average, ahead, np.exp(np.log(past.stop - past.start) - eta - end[past.last][past.code])


def evaluate(problem: StartStopProblem, x: Array) -> State:
    """Log likelihood, gradient and Hessian at x: (AFT3)."""
    part, average, ahead, share = _of_subjects(problem, x)
    w, exact, T, code = problem.seen.weight, problem.seen.exact, problem.to_users, problem.histories.code
    one = np.ones((len(w), 1))
    gradient, hessian = weighted_sums(part, w, (average, *[one] * (len(T) - average.shape[1])))
    p, pull = problem.H.shape[1], w * (part.slope[0] + exact)
    gradient[:p] += w @ ahead
    spread = (problem.H.T * (pull[code] * share)) @ problem.H - (average.T * pull) @ average
    hessian[:p, :p] -= spread
    return State(x, float(w @ part.value), T.T @ gradient, symmetric(T.T @ hessian @ T))


def subject_scores(problem: StartStopProblem, x: Array) -> Array:
    """Derivatives (m, k) of the log likelihood of each subject in the parameters."""
    part, average, ahead, _ = _of_subjects(problem, x)
    location, *rest = (part.slope[j] for j in range(len(part.slope)))
    return np.column_stack([np.asarray(location)[:, None] * average + ahead, *rest]) * problem.free


# -- the search -------------------------------------------------------------------------------------------------------


def _starts(problem: StartStopProblem, max_iter: int) -> Iterator[Array]:
    """Points x: the fit to averages of columns over time, which is that of subjects of one row, and no effects."""
    past, seen, free = problem.histories, problem.seen, np.isnan(problem.known[0])
    columns = np.column_stack([problem.H, problem.offset])
    average = past.averages(columns, past.log_psi(np.zeros(len(columns)))[1])[past.last]
    H, offset, points = average[:, :-1], average[:, -1], list[Array]()
    how: dict[str, Any] = {"distribution": problem.distribution, "estimate_shape": problem.free_shape}
    how |= {"fixed_gamma": problem.known[1], "max_iter": max_iter}
    if not free.any() or np.linalg.matrix_rank(H[:, free]) == free.sum():
        points.append(maximise(seen, H, offset=offset, fixed_coefficients=problem.known[0], **how).parameters)
    b = np.nan_to_num(problem.known[0])
    level = maximise(seen, np.ones((len(seen), 1)), offset=offset + H @ b, **how)
    b[free] = np.linalg.lstsq(problem.H[:, free], np.full(len(columns), level.coefficients[0]), rcond=None)[0]
    points.append(np.concatenate([b, level.parameters[1:]]))
    yield from (problem.nearest(point) for point in points if np.isfinite(point).all())


def _stops(problem: StartStopProblem, x: Array) -> bool:
    """Whether a location, log sigma or the shape is as good as infinite."""
    tau, *shape = problem.location(x)[1]
    low, high = problem.distribution.coordinate_range() if shape else (-np.inf, np.inf)
    gone = bool(shape) and not low < shape[0] < high
    return gone or float(np.abs(x).max(initial=0.0)) > _FAR or abs(float(tau)) > _FAR_SCALE


def _reach(problem: StartStopProblem, move: Array) -> float:
    """Largest change of log sigma or the shape."""
    p = problem.H.shape[1]
    return float(np.abs(problem.to_users[p:] @ move).max(initial=0.0))


def _unit(problem: StartStopProblem, x: Array) -> Array:
    """Units in which exact subjects bring about 1 of information."""
    of_location = np.abs(problem.to_users[: problem.H.shape[1]]).max(axis=0, initial=0.0) > 0.0
    return np.diag(np.where(of_location, np.exp(problem.location(x)[1][0]), 1.0))


def _judge(problem: StartStopProblem, end: Climb) -> str:
    """Whether an end is a maximum, or why not."""
    if end.reason in ("stalled", "limit"):
        return end.reason
    tau, *shape = problem.location(end.state.x)[1]
    if end.reason == "stopped" and float(np.abs(end.state.x).max(initial=0.0)) <= _FAR:
        return "sigma" if abs(float(tau)) > _FAR_SCALE or not shape else "shape"
    information = problem.information(end.state, _unit(problem, end.state.x))
    least = np.linalg.eigvalsh(information).min(initial=1.0)
    return "flat" if least < FLAT or end.reason == "stopped" else "converged"


_WORDS = {
    "converged": "converged",
    "flat": "The likelihood has no maximum: some columns separate subjects without an event from the others, and their "
    "coefficients go to infinity. Leave them out, merge levels, or fix a coefficient.",
    "sigma": "The likelihood has no maximum: sigma runs off. Use fewer columns, another family, or fix it.",
    "shape": "The likelihood has no maximum: the shape runs off. Use fewer columns, another family, or fix it.",
    "stalled": "No step improves the likelihood any more though its slope is not 0; rescale or simplify the model.",
    "limit": LIMIT,
}


def maximise_start_stop(
    problem: StartStopProblem, *, scores: bool, max_iter: int, start: Array | None = None
) -> Maximum:
    """The highest maximum from two starts, or from one; a shape that ran to an end of its range is held there."""
    with single_blas_thread(), np.errstate(all="ignore"):
        found = []
        starts = _starts(problem, min(max_iter, _START_STEPS)) if start is None else [problem.nearest(start)]
        for x in starts:
            end = climb(
                lambda at: evaluate(problem, at),
                lambda state: guarded_step(state, lambda move: _reach(problem, move)),
                evaluate(problem, x),
                max_iter=max_iter,
                stop=lambda at: _stops(problem, at),
            )
            found.append((end, _judge(problem, end)))
        usable = [pair for pair in found if pair[1] in ("converged", "flat")] or found
        end, reason = max(usable, key=lambda pair: pair[0].state.value)
        x, p, noise = end.state.x, problem.H.shape[1], problem.distribution
        scored = subject_scores(problem, x) if scores else None
        at_end = end, _unit(problem, x), p, reason, _WORDS[reason], scored, noise
        fit = problem.in_users_units(*at_end, free_shape=problem.free_shape)
        past = [float(problem.location(each.state.x)[1][1]) for each, why in found if why == "shape"]
        for side in sorted({int(shape >= problem.distribution.coordinate_range()[1]) for shape in past}):
            held = _held(problem, side, scores=scores, max_iter=max_iter)
            if (held.converged, held.log_likelihood) > (fit.converged, fit.log_likelihood):
                fit = held
        return fit


def _held(problem: StartStopProblem, side: int, *, scores: bool, max_iter: int) -> Maximum:
    """The maximum with the shape at an end of its range."""
    noise = problem.distribution.with_shape(problem.distribution.shape_range[side])
    rows = problem.seen, problem.histories, problem.H, problem.offset
    held = StartStopProblem.of(*rows, noise, problem.known, free_shape=False)
    fit = maximise_start_stop(held, scores=scores, max_iter=max_iter)
    return with_given_shape(fit, words_for_end(noise, side) if fit.converged else fit.message)
