r"""Maximum likelihood of times whose survival is a known function of :math:`x'\beta + s(\log t)`: (PH5) and (PH6).

Splines and shapes of Weibull hazards are concave problems where there is no late entry, and so is Gompertz's: log
hazards and minus cumulative hazards are concave in all parameters. Newton's method starts from a constant hazard,
whose s rises everywhere, and steps back where s would fall at an event.

References
----------
Royston and Parmar (2002), *Statistics in Medicine* 21, 2175-2197. Burridge (1981), *JRSS B* 43, 41-45, of intervals.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from tobitgp.data.outcome import Outcome
from tobitgp.distributions.base import Distribution
from tobitgp.distributions.baselines import Baseline, Bent, GompertzBaseline, SplineBaseline
from tobitgp.distributions.intervals import log_mass
from tobitgp.engines import single_blas_thread
from tobitgp.errors import SpecError
from tobitgp.regression.fit import maximise
from tobitgp.regression.frailty import GroupTerms, frailty_posterior, group_terms
from tobitgp.regression.maximum import Maximum
from tobitgp.regression.newton import Climb, State, climb, guarded_step
from tobitgp.regression.predictors import FLAT, Local, Predictors, orthonormal
from tobitgp.typing import Array, BoolArray, IntArray

_FAR, _LARGE = 18.0, 4.0  # of the logarithm of a shape
_NARROW = 1e-5  # intervals of log time no wider are a density times their width, whose error is that squared
_FIRST_TAU, _LEAST_TAU, _NO_FRAILTY = -1.0, -7.0, -9.0  # logarithms of the variance of frailties


@dataclass(frozen=True, slots=True)
class HazardProblem(Predictors):
    """Rows, and designs of their linear predictor and of each parameter of the baseline."""

    noise: Distribution  # of the transformed times
    baseline: Baseline
    group: IntArray | None = None  # (n,), rows that share a frailty, the logarithm of whose variance stands last

    def of_baseline(self, x: Array) -> list[Array]:
        """The linear predictor and the parameters of the baseline of rows, (n,) each."""
        return self.predictors(x)[: self.baseline.size + 1]


def hazard_problem(
    seen: Outcome,
    H: Array,
    offset: Array,
    levels: Array,
    noise: Distribution,
    baseline: Baseline,
    known: Array,
    group: IntArray | None = None,
) -> HazardProblem:
    """A problem with the columns ``levels`` (n, L) for each parameter of the baseline.

    ``known`` (p + m L,) are coefficients, then parameters of the baseline, and with groups (n,) the logarithm of the
    variance of their frailties, NaN where they are estimated.
    """
    p, L, m, none = H.shape[1], levels.shape[1], baseline.size, np.zeros(len(H))
    designs, offsets, ends = [H, *[levels] * m], [offset, *[none] * m], list(p + L * np.arange(m))
    if group is not None:
        designs, offsets, ends = [*designs, np.ones((len(H), 1))], [*offsets, none], [*ends, p + L * m]
    unit = 1.0 / _last_time(seen) if isinstance(baseline, GompertzBaseline) else 1.0
    units = [1.0, *[unit] * m, *[1.0] * (group is not None)]
    parts = orthonormal(seen, designs, offsets, np.split(known, ends), units)
    return HazardProblem(**parts, noise=noise, baseline=baseline, group=group)


def _last_time(seen: Outcome) -> float:
    ends = np.concatenate([seen.lower, seen.upper])
    return float(np.exp(ends[np.isfinite(ends)].max()))


# -- rows -------------------------------------------------------------------------------------------------------------


class _End(NamedTuple):
    """Transformed times (n,), with gradients (n, r) and Hessians (n, r, r) in the parameters of rows."""

    z: Array
    slope: Array
    bend: Array


def _end(eta: Array, bent: Bent) -> _End:
    n, m = len(eta), len(bent.s_c)
    slope, bend = np.ones((n, m + 1)), np.zeros((n, m + 1, m + 1))
    slope[:, 1:], bend[:, 1:, 1:] = bent.s_c.T, np.moveaxis(bent.s_cc, 2, 0)
    return _End(eta + bent.s, slope, bend)


def _of_end(end: _End, value: Array, d1: Array, d2: Array) -> Local:
    """A function of the transformed time, with its derivatives in it."""
    outer = end.slope[:, :, None] * end.slope[:, None, :]
    return Local(value, d1[:, None] * end.slope, d2[:, None, None] * outer + d1[:, None, None] * end.bend)


def _exact(problem: HazardProblem, v: Array, at: Sequence[Array]) -> Local:
    """Log densities of log times."""
    bent = problem.baseline.bent(v, at[1:])
    found = _of_end(_end(at[0], bent), *problem.noise.log_density(at[0] + bent.s, 2))
    found.slope[:, 1:] += bent.log_slope_c.T
    found.bend[:, 1:, 1:] += np.moveaxis(bent.log_slope_cc, 2, 0)
    return found._replace(value=found.value + bent.log_slope)


def _mass(problem: HazardProblem, lower: Array, upper: Array, at: Sequence[Array]) -> Local:
    """Log probabilities of log times between two ends."""
    n, r = len(lower), len(at)
    out = Local(np.zeros(n), np.zeros((n, r)), np.zeros((n, r, r)))
    below, above = np.isfinite(lower), np.isfinite(upper)

    def end(v: Array, rows: IntArray) -> _End:
        return _end(at[0][rows], problem.baseline.bent(v[rows], [each[rows] for each in at[1:]]))

    for kind in (below & ~above, above & ~below, below & above):
        rows = np.flatnonzero(kind)
        if not len(rows):
            continue
        if not above[rows[0]]:
            a = end(lower, rows)
            part = _of_end(a, *problem.noise.upper_tail(a.z))
        elif not below[rows[0]]:
            b = end(upper, rows)
            part = _of_end(b, *problem.noise.lower_tail(b.z))
        else:
            part = _between(problem.noise, end(lower, rows), end(upper, rows))
        for total, more in zip(out, part, strict=True):
            total[rows] = more
    return out


def _between(noise: Distribution, a: _End, b: _End) -> Local:
    """The same of two finite ends."""
    log_p = log_mass(noise, a.z, b.z)
    (f_a, g_a), (f_b, g_b) = (noise.log_density(each.z, 1) for each in (a, b))
    d_a, d_b = -np.exp(f_a - log_p), np.exp(f_b - log_p)
    one, two = _of_end(a, log_p, d_a, d_a * (g_a - d_a)), _of_end(b, log_p, d_b, d_b * (g_b - d_b))
    cross = (-d_a * d_b)[:, None, None] * a.slope[:, :, None] * b.slope[:, None, :]
    return Local(log_p, one.slope + two.slope, one.bend + two.bend + cross + np.swapaxes(cross, 1, 2))


def row_terms(problem: HazardProblem, x: Array) -> Local:
    """Of all rows, given that they lie within their windows."""
    seen, at = problem.seen, problem.of_baseline(x)
    n, r = len(seen), len(at)
    out = Local(np.zeros(n), np.zeros((n, r)), np.zeros((n, r, r)))

    def add(rows: BoolArray, part: Local, sign: float = 1.0) -> None:
        for total, more in zip(out, part, strict=True):
            total[rows] += sign * more

    exact, window = seen.exact | (seen.width < _NARROW), np.isfinite(seen.entry) | np.isfinite(seen.exit)
    add(exact, _exact(problem, 0.5 * (seen.lower + seen.upper)[exact], [each[exact] for each in at]))
    narrow, rest = exact & ~seen.exact, ~exact
    out.value[narrow] += np.log(seen.width[narrow])
    add(rest, _mass(problem, seen.lower[rest], seen.upper[rest], [each[rest] for each in at]))
    if window.any():
        ends = seen.entry[window], seen.exit[window]
        add(window, _mass(problem, *ends, [each[window] for each in at]), -1.0)
    return out


def evaluate(problem: HazardProblem, x: Array) -> State:
    """Log likelihood, gradient and Hessian at x."""
    if problem.group is None:
        return problem.join(x, row_terms(problem, x))
    rows, survival, groups = _shared(problem, x)
    state, w = problem.join(x, rows), problem.seen.weight
    sums = [_sums(problem, -w * survival.slope[:, j], design) for j, design in enumerate(problem.designs)]
    slope = np.hstack(sums)  # (G, m), of the cumulative hazards of groups
    of_tau = np.zeros(len(x))
    of_tau[len(x) - problem.designs[-1].shape[1] :] = problem.designs[-1][0]
    both = np.outer(slope.T @ groups.hazard_tau, of_tau)
    more = (slope.T * groups.hazard_hazard) @ slope + both + both.T + groups.tau_tau.sum() * np.outer(of_tau, of_tau)
    gradient = state.gradient + groups.tau.sum() * of_tau
    hessian = replace(state.hessian, corner=state.hessian.corner + more)
    return State(x, float(w @ rows.value + groups.value.sum()), gradient, hessian)


def _shared(problem: HazardProblem, x: Array) -> tuple[Local, Local, GroupTerms]:
    """Log hazards of events less hazards times the frailty expected of the group, log survival, and terms of groups."""
    seen, at = problem.seen, problem.of_baseline(x)
    n, r, exact = len(seen), len(at) + 1, seen.exact
    rows, survival = (Local(np.zeros(n), np.zeros((n, r)), np.zeros((n, r, r))) for _ in range(2))

    def add(to: Local, at_rows: BoolArray, part: Local, sign: float = 1.0) -> None:
        to.value[at_rows] += sign * part.value
        to.slope[at_rows, :-1] += sign * part.slope
        to.bend[at_rows, :-1, :-1] += sign * part.bend

    never = np.full(n, np.inf)
    ends = _mass(problem, seen.lower, never, at)
    add(survival, np.ones(n, dtype=np.bool_), ends)
    late = np.isfinite(seen.entry)
    add(survival, late, _mass(problem, seen.entry[late], never[late], [each[late] for each in at]), -1.0)
    add(rows, exact, _exact(problem, seen.lower[exact], [each[exact] for each in at]))
    add(rows, exact, Local(*(part[exact] for part in ends)), -1.0)
    assert problem.group is not None
    tau = float(problem.predictors(x)[-1][0])
    groups = group_terms(*group_sums(problem, survival.value), tau)
    mean = -groups.hazard[problem.group]
    slope, bend = mean[:, None] * survival.slope, mean[:, None, None] * survival.bend
    return rows._replace(slope=rows.slope + slope, bend=rows.bend + bend), survival, groups


def group_sums(problem: HazardProblem, log_survival: Array) -> tuple[Array, Array]:
    """Events and cumulative hazards (G,) of groups, of log survival (n,) from the entry of each row on."""
    assert problem.group is not None
    seen = problem.seen
    events, hazard = (np.bincount(problem.group, seen.weight * each) for each in (seen.exact, -log_survival))
    return np.asarray(events, dtype=np.float64), np.asarray(hazard, dtype=np.float64)


def _sums(problem: HazardProblem, weight: Array, design: Array) -> Array:
    """Weighted sums (G, m) of columns over the rows of groups."""
    assert problem.group is not None
    columns = [np.bincount(problem.group, weight * column) for column in design.T]
    return np.column_stack([np.zeros((int(problem.group.max()) + 1, 0)), *columns])


def shared_scores(problem: HazardProblem, x: Array) -> Array:
    """Derivatives (n, k) that sum up to those of the groups; that in log theta stands at the first row of each."""
    rows, _, groups = _shared(problem, x)
    assert problem.group is not None
    first = np.unique(problem.group, return_index=True)[1]
    rows.slope[first, -1] = groups.tau / problem.seen.weight[first]
    return problem.scores(rows)


def frailties_at(problem: HazardProblem, parameters: Array) -> Array:
    """Shape and rate (G, 2) of the frailties of groups given what was seen, at parameters (k,)."""
    x = problem.nearest(parameters)
    _, survival, _ = _shared(problem, x)
    return frailty_posterior(*group_sums(problem, survival.value), float(problem.predictors(x)[-1][0]))


# -- the maximum ------------------------------------------------------------------------------------------------------


def maximise_hazards(
    problem: HazardProblem, *, scores: bool, max_iter: int, start: Mapping[int, float] | None = None
) -> Maximum:
    """The maximum; ``start`` has values of some parameters by their place."""
    with single_blas_thread(), np.errstate(all="ignore"):
        x = problem.nearest(_start(problem, start or {}))
        first = evaluate(problem, x)
        if not first.finite or (start and _shape_runs_off(problem, x)):
            raise SpecError(
                "The likelihood is as good as 0 at these values of start= or fixed=: the baseline has to rise at all "
                "events, and not in a leap."
            )
        end = climb(
            lambda at: evaluate(problem, at),
            lambda state: guarded_step(state, lambda move: _reach(problem, move)),
            first,
            max_iter=max_iter,
            stop=lambda at: _runs_off(problem, at),
        )
        unit = _unit(problem, end.state.x)
        reason = _judge(problem, end, unit)
        told = None
        if scores:
            x = end.state.x
            told = problem.scores(row_terms(problem, x)) if problem.group is None else shared_scores(problem, x)
        return problem.in_users_units(end, unit, problem.written[0].shape[1], reason, _WORDS[reason], told)


def _start(problem: HazardProblem, given: Mapping[int, float]) -> Array:
    """A constant hazard, or odds and probits that rise as fast, with the columns that such a fit gives them."""
    H, p, L = problem.written[0], problem.written[0].shape[1], problem.written[1].shape[1]
    free, fixed = problem.free, problem.given
    found = maximise(
        problem.seen,
        -H,
        distribution=problem.noise,
        offset=-problem.offsets[0],
        fixed_coefficients=np.where(free[:p], np.nan, fixed[:p]),
        fixed_gamma=np.zeros(1),
    )
    beta = found.coefficients
    if not found.converged:
        log_times = problem.seen.lower[problem.seen.exact]
        level = -float(np.median(log_times)) if len(log_times) else 0.0
        goal = np.full(len(H), level) - problem.offsets[0]
        beta = np.asarray(np.linalg.lstsq(H, goal, rcond=None)[0], dtype=np.float64)
    parameters = np.concatenate([beta, np.repeat(problem.baseline.start, L)])
    if problem.group is not None:
        parameters = np.append(parameters, _FIRST_TAU)
    for place, value in given.items():
        parameters[place] = value
    if problem.group is not None:
        parameters[-1] = max(parameters[-1], _LEAST_TAU)
    return np.where(free, parameters, fixed)


def _reach(problem: HazardProblem, move: Array) -> float:
    """Largest change of the logarithm of a shape or of the variance of frailties."""
    places = [1] * problem.baseline.positive + [-1] * (problem.group is not None)
    after, before = (problem.predictors(at) for at in (move, 0.0 * move))
    return max([0.0, *(float(np.abs(after[i] - before[i]).max()) for i in places)])


def _runs_off(problem: HazardProblem, x: Array, far: float = _FAR) -> bool:
    """Whether the search goes to a shape that is as good as infinite, or to no frailty."""
    return _without_frailty(problem, x) or _shape_runs_off(problem, x, far)


def _shape_runs_off(problem: HazardProblem, x: Array, far: float = _FAR) -> bool:
    """Whether the logarithm of a shape, or Gompertz's shape in units of the last time, is as good as infinite.

    That of a spline is its least slope at an event.
    """
    at, exact = problem.of_baseline(x), problem.seen.exact
    if isinstance(problem.baseline, SplineBaseline):
        slope = problem.baseline.at(problem.seen.lower[exact], [each[exact] for each in at[1:]])[1]
        return bool(exact.any()) and float(slope.min()) > far
    unit = 1.0 if problem.baseline.positive else 0.1 * _last_time(problem.seen)
    return unit * float(np.abs(at[1]).max()) > far


def _without_frailty(problem: HazardProblem, x: Array) -> bool:
    """Whether the variance of frailties that is looked for is as good as 0."""
    sought = problem.group is not None and bool(problem.free[-1])
    return sought and float(problem.predictors(x)[-1][0]) < _NO_FRAILTY


def _unit(problem: HazardProblem, x: Array) -> Array:
    """Coordinates in which the transformed times of the rows, at an end that is known, are orthonormal."""
    seen, at = problem.seen, problem.of_baseline(x)
    bent = problem.baseline.bent(np.where(np.isfinite(seen.lower), seen.lower, seen.upper), at[1:])
    slopes = [np.ones((1, len(seen))), *bent.s_c[:, None]]
    D = np.hstack([slope.T * design for slope, design in zip(slopes, problem.designs, strict=False)])
    share = seen.weight / seen.weight.sum()
    known = np.isfinite(D).all(axis=1)
    R = np.linalg.qr(np.sqrt(share[known])[:, None] * D[known], mode="r")
    size = np.abs(np.diag(R))
    if len(R) < D.shape[1] or size.min(initial=1.0) <= 1e-12 * size.max(initial=0.0):
        return np.eye(len(x))
    unit = np.eye(len(x))
    unit[: len(R), : len(R)] = np.linalg.inv(R)
    return unit


def _judge(problem: HazardProblem, end: Climb, unit: Array) -> str:
    """Whether an end is a maximum, or why not."""
    if _without_frailty(problem, end.state.x):
        return "frailty"
    if end.reason in ("stalled", "limit"):
        return "shape" if _runs_off(problem, end.state.x, _LARGE) else end.reason
    least = np.linalg.eigvalsh(problem.information(end.state, unit)).min(initial=1.0)
    return "shape" if end.reason == "stopped" else "flat" if least < FLAT else "converged"


_WORDS = {
    "converged": "converged",
    "flat": "The likelihood has no maximum: some columns, or parts of the baseline, tell rows with an event from all "
    "others, and their coefficients go to infinity. Leave them out, merge levels, or use fewer knots.",
    "shape": "The likelihood has no maximum: the shape of the baseline runs off. Are all events at one time?",
    "frailty": "The likelihood is highest without frailties: the variance of those of these groups goes to 0. Leave "
    "the term out.",
    "stalled": "No step improves the likelihood any more though its slope is not 0; rescale or simplify the model.",
    "limit": "Not converged when the limit of iterations was reached; raise max_iter.",
}


def falling_times(baseline: Baseline, levels: Array, last: tuple[float, float]) -> Array:
    """Log times of a grid between two at which s falls, by its parameters (m, L) in each stratum."""
    grid = np.linspace(*last, 400)
    found = []
    for c in levels.T:
        with np.errstate(all="ignore"):
            log_slope = baseline.at(grid, list(c))[1]
        found.append(grid[~np.isfinite(log_slope)])
    return np.unique(np.concatenate(found))
