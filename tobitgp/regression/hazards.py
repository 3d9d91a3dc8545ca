r"""The likelihood of times whose survival is a known function of :math:`x'\beta + s(\log t)`: (PH5), (PH6) and (PH8).

References
----------
Royston and Parmar (2002), *Statistics in Medicine* 21, 2175-2197.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from tobitgp.data.outcome import Outcome
from tobitgp.distributions.base import Distribution
from tobitgp.distributions.baselines import Baseline, Bent, GompertzBaseline
from tobitgp.distributions.intervals import log_mass
from tobitgp.regression.frailty import GroupTerms, frailty_posterior, group_terms
from tobitgp.regression.newton import State
from tobitgp.regression.predictors import Local, Predictors, orthonormal
from tobitgp.typing import Array, BoolArray, IntArray

_NARROW = 1e-5  # intervals of log time no wider are a density times their width, whose error is that squared


@dataclass(frozen=True, slots=True)
class HazardModel:
    """Rows, columns and a baseline, and what is known of the k parameters.

    These are p coefficients, then m parameters of the baseline, each of all L strata, and with groups the logarithm of
    the variance of their frailties.
    """

    seen: Outcome
    H: Array  # (n, p)
    offset: Array  # (n,)
    levels: IntArray  # places of the columns of the intercept or, of strata, of each
    noise: Distribution  # of the transformed times
    baseline: Baseline
    known: Array  # (k,), NaN where they are estimated
    group: IntArray | None = None  # (n,), rows that share a frailty
    alike: bool = False  # whether baselines of strata differ in their level alone

    @property
    def sizes(self) -> tuple[int, int, int]:
        """p, m and L."""
        return self.H.shape[1], self.baseline.size, 1 if self.alike else len(self.levels)

    @property
    def given_entry(self) -> bool:
        """Whether rows are seen as from their entry on, since their hazards add up."""
        return self.noise.exponential_hazard

    def split(self, parameters: Array) -> tuple[Array, Array, Array]:
        """Coefficients (p,), parameters of the baseline (m, L), and the rest."""
        p, m, L = self.sizes
        return parameters[:p], parameters[p : p + m * L].reshape(m, L), parameters[p + m * L :]


@dataclass(frozen=True, slots=True)
class HazardProblem(Predictors):
    """A model in coordinates in which the level of the baseline is that at a time among those that were seen."""

    model: HazardModel
    origin: float  # logarithm of that time

    def of_baseline(self, x: Array) -> list[Array]:
        """The linear predictor and the parameters of the baseline of rows, (n,) each."""
        return self.predictors(x)[: self.model.baseline.size + 1]

    def here(self, parameters: Array, sign: float = 1.0) -> Array:
        """Parameters (k,) of this origin from those of the users', and back with sign -1."""
        out = parameters.copy()
        out[self.model.levels] += sign * self.model.baseline.level(self.origin, list(self.model.split(out)[1]))[0]
        return out

    def turn(self, parameters: Array) -> Array:
        """Derivatives (k, k) of the users' parameters in those of this origin."""
        p, m, L = self.model.sizes
        slope, out = (
            self.model.baseline.level(self.origin, list(self.model.split(parameters)[1]))[1],
            np.eye(len(parameters)),
        )
        for i, place in enumerate(self.model.levels):
            own = 0 if self.model.alike else i
            out[place, p + own + L * np.arange(m)] = -slope[:, own]
        return out


def hazard_problem(model: HazardModel) -> HazardProblem:
    """Columns made orthonormal, and an origin near the times that were seen where no level is known."""
    seen, m, none = model.seen, model.baseline.size, np.zeros(len(model.H))
    levels = np.ones((len(none), 1)) if model.alike else model.H[:, model.levels]
    beta, c, tau = model.split(model.known)
    designs, offsets, known = [model.H, *[levels] * m], [model.offset, *[none] * m], [beta, *c]
    if model.group is not None:
        designs, offsets, known = [*designs, np.ones((len(none), 1))], [*offsets, none], [*known, tau]
    unit = 1.0 / follow_up(seen) if isinstance(model.baseline, GompertzBaseline) else 1.0
    units = [1.0, *[unit] * m, *[1.0] * (model.group is not None)]
    free = bool(np.isnan(beta[model.levels]).all())
    origin = float(known_times(seen).mean()) if free else model.baseline.start_of_time
    return HazardProblem(**orthonormal(seen, designs, offsets, known, units), model=model, origin=origin)


def known_times(seen: Outcome) -> Array:
    """Log times up to which rows were followed, or before which they ended."""
    ends = np.where(np.isfinite(seen.lower), seen.lower, seen.upper)
    return ends[np.isfinite(ends)]


def spread(seen: Outcome) -> float:
    """Of these, 1 where they are equal."""
    return float(np.ptp(known_times(seen))) or 1.0


def follow_up(seen: Outcome) -> float:
    """Time from the first entry to the last of these."""
    last = float(known_times(seen).max())
    return float(np.exp(last) * -np.expm1(min(float(seen.entry.min()) - last, -1e-12)))


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


def bent_here(problem: HazardProblem, v: Array, since: Array, c: Sequence[Array]) -> Bent:
    """The s of this origin at log times, from others on where these are finite."""
    baseline = problem.model.baseline
    found = baseline.bent_since(v, since, c) if np.isfinite(since).any() else baseline.bent(v, c)
    s, s_c, s_cc = baseline.level(problem.origin, c)
    return found._replace(s=found.s - s, s_c=found.s_c - s_c, s_cc=found.s_cc - s_cc)


def _exact(problem: HazardProblem, v: Array, since: Array, at: Sequence[Array]) -> Local:
    """Log densities of log times."""
    bent = bent_here(problem, v, since, at[1:])
    found = _of_end(_end(at[0], bent), *problem.model.noise.log_density(at[0] + bent.s, 2))
    found.slope[:, 1:] += bent.log_slope_c.T
    found.bend[:, 1:, 1:] += np.moveaxis(bent.log_slope_cc, 2, 0)
    return found._replace(value=found.value + bent.log_slope)


def _mass(problem: HazardProblem, lower: Array, upper: Array, since: Array, at: Sequence[Array]) -> Local:
    """Log probabilities of log times between two ends."""
    n, r, noise = len(lower), len(at), problem.model.noise
    out = Local(np.zeros(n), np.zeros((n, r)), np.zeros((n, r, r)))
    below, above = np.isfinite(lower) & (lower > since), np.isfinite(upper)

    def end(v: Array, rows: IntArray) -> _End:
        return _end(at[0][rows], bent_here(problem, v[rows], since[rows], [each[rows] for each in at[1:]]))

    for kind in (below & ~above, above & ~below, below & above):
        rows = np.flatnonzero(kind)
        if not len(rows):
            continue
        if not above[rows[0]]:
            a = end(lower, rows)
            part = _of_end(a, *noise.upper_tail(a.z))
        elif not below[rows[0]]:
            b = end(upper, rows)
            part = _of_end(b, *noise.lower_tail(b.z))
        else:
            part = _between(noise, end(lower, rows), end(upper, rows))
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
    n, r, never = len(seen), len(at), np.full(len(seen), -np.inf)
    since, entry = (seen.entry, never) if problem.model.given_entry else (never, seen.entry)
    out = Local(np.zeros(n), np.zeros((n, r)), np.zeros((n, r, r)))

    def add(rows: BoolArray, part: Local, sign: float = 1.0) -> None:
        for total, more in zip(out, part, strict=True):
            total[rows] += sign * more

    exact, window = seen.exact | (seen.width < _NARROW), np.isfinite(entry) | np.isfinite(seen.exit)
    add(exact, _exact(problem, 0.5 * (seen.lower + seen.upper)[exact], since[exact], [each[exact] for each in at]))
    narrow, rest = exact & ~seen.exact, ~exact
    out.value[narrow] += np.log(seen.width[narrow])
    for rows, low, high, sign in ((rest, seen.lower, seen.upper, 1.0), (window, entry, seen.exit, -1.0)):
        if rows.any():
            add(rows, _mass(problem, low[rows], high[rows], since[rows], [each[rows] for each in at]), sign)
    return out


def evaluate(problem: HazardProblem, x: Array) -> State:
    """Log likelihood, gradient and Hessian at x."""
    if problem.model.group is None:
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

    ends = _mass(problem, seen.lower, np.full(n, np.inf), seen.entry, at)
    add(survival, np.ones(n, dtype=np.bool_), ends)
    add(rows, exact, _exact(problem, seen.lower[exact], seen.entry[exact], [each[exact] for each in at]))
    add(rows, exact, Local(*(part[exact] for part in ends)), -1.0)
    assert problem.model.group is not None
    tau = float(problem.predictors(x)[-1][0])
    groups = group_terms(*group_sums(problem, survival.value), tau)
    mean = -groups.hazard[problem.model.group]
    slope, bend = mean[:, None] * survival.slope, mean[:, None, None] * survival.bend
    return rows._replace(slope=rows.slope + slope, bend=rows.bend + bend), survival, groups


def group_sums(problem: HazardProblem, log_survival: Array) -> tuple[Array, Array]:
    """Events and cumulative hazards (G,) of groups, of log survival (n,) from the entry of each row on."""
    assert problem.model.group is not None
    seen = problem.seen
    events, hazard = (np.bincount(problem.model.group, seen.weight * each) for each in (seen.exact, -log_survival))
    return np.asarray(events, dtype=np.float64), np.asarray(hazard, dtype=np.float64)


def _sums(problem: HazardProblem, weight: Array, design: Array) -> Array:
    """Weighted sums (G, m) of columns over the rows of groups."""
    assert problem.model.group is not None
    columns = [np.bincount(problem.model.group, weight * column) for column in design.T]
    return np.column_stack([np.zeros((int(problem.model.group.max()) + 1, 0)), *columns])


def shared_scores(problem: HazardProblem, x: Array) -> Array:
    """Derivatives (n, k) that sum up to those of the groups; that in log theta stands at one row of each."""
    rows, _, groups = _shared(problem, x)
    assert problem.model.group is not None
    heaviest = np.argsort(-problem.seen.weight, kind="stable")
    one = heaviest[np.unique(problem.model.group[heaviest], return_index=True)[1]]
    rows.slope[one, -1] = groups.tau / np.where(problem.seen.weight[one] > 0.0, problem.seen.weight[one], 1.0)
    return problem.scores(rows)


def frailties_at(problem: HazardProblem, parameters: Array) -> Array:
    """Shape and rate (G, 2) of the frailties of groups given what was seen, at parameters (k,)."""
    x = problem.nearest(problem.here(parameters))
    _, survival, _ = _shared(problem, x)
    return frailty_posterior(*group_sums(problem, survival.value), float(problem.predictors(x)[-1][0]))
