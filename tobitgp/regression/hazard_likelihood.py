r"""The likelihood of times whose survival is a known function of :math:`x'\beta + s(\log t)`: (PH5), (PH6) and (PH8).

Gamma frailties, which the rows of a group share, multiply their hazards: (PH8).

References
----------
Royston and Parmar (2002), *Statistics in Medicine* 21, 2175-2197. Klein (1992), Semiparametric estimation of random
effects using the Cox model based on the EM algorithm, *Biometrics* 48, 795-806.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tobitgp.data.outcome import Outcome
from tobitgp.distributions.baselines import Baseline, GompertzBaseline
from tobitgp.distributions.formulas import StandardisedTimes, transformed_times
from tobitgp.distributions.standard_noise import Distribution
from tobitgp.engines import pick_columns
from tobitgp.numerics.jets import Jet, gammaln, scatter, variables
from tobitgp.regression.newton import State
from tobitgp.regression.predictors import (
    Predictors,
    as_good_as_exact,
    log_likelihoods,
    log_masses,
    orthonormal,
    symmetric,
)
from tobitgp.typing import Array, IntArray


def group_likelihoods(events: Array, hazard: Jet, tau: Jet) -> Jet:
    """What G groups add to the log likelihood by their sums of events and hazards; frailties have variance exp(tau)."""
    phi: Any = np.exp(-tau)
    shared: Jet = gammaln(events + phi) - gammaln(phi) - phi * np.log1p(hazard * np.exp(tau))
    return shared - events * np.log(hazard + phi)


def frailty_posterior(events: Array, hazard: Array, tau: float) -> Array:
    """Shape and rate (G, 2) of the gamma distributions of the frailties given what was seen."""
    phi = np.exp(-tau)
    return np.column_stack([events + phi, hazard + phi])


@dataclass(frozen=True, slots=True)
class HazardModel:
    """Rows, columns and a baseline, and what is known about the k parameters.

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
    judged: Outcome  # the rows as they are judged, given their entry where hazards add up

    def of_baseline(self, x: Array) -> list[Array]:
        """The linear predictor and the parameters of the baseline of rows, (n,) each."""
        return self.predictors(x)[: self.model.baseline.size + 1]

    def times(self, rows: IntArray, at: Sequence[Jet]) -> StandardisedTimes:
        """Times of the linear predictor and the baseline; given their entry where hazards add up."""
        model, c = self.model, at[1 : self.model.baseline.size + 1]
        since = self.seen.entry[rows] if model.given_entry else np.full(1, -np.inf)
        eta: Jet = at[0] - model.baseline.level(self.origin, c)
        return transformed_times(model.noise, model.baseline, eta, c, since if np.isfinite(since).any() else None)

    def block(self, at: slice) -> HazardProblem:
        return replace(Predictors.block(self, at), judged=self.judged.rows(at))

    def log_likelihoods(self, x: Array) -> Jet:
        return log_likelihoods(self.rows_at(x), self.judged)

    def evaluate(self, x: Array) -> State:
        return Predictors.evaluate(self, x) if self.model.group is None else _of_groups(self, x)

    def row_scores(self, x: Array) -> Array:
        return Predictors.row_scores(self, x) if self.model.group is None else _scores_of_groups(self, x)

    def here(self, parameters: Array, sign: float = 1.0) -> Array:
        """Parameters (k,) of this origin from those of the users', and back with sign -1."""
        out = parameters.copy()
        out[self.model.levels] += sign * self.model.baseline.level(self.origin, list(self.model.split(out)[1]))
        return out

    def turn(self, parameters: Array) -> Array:
        """Derivatives (k, k) of the users' parameters in those of this origin."""
        (p, m, L), out = self.model.sizes, np.eye(len(parameters))
        level = self.model.baseline.level(self.origin, variables(list(self.model.split(parameters)[1])))
        for i, place in enumerate(self.model.levels):
            own = 0 if self.model.alike else i
            for j in range(m):
                out[place, p + own + L * j] = -np.broadcast_to(level.slope.get(j, 0.0), L)[own]
        return out


def hazard_problem(model: HazardModel) -> HazardProblem:
    """Columns made orthonormal, and an origin near the times that were seen where no level is known."""
    seen, m, none = model.seen, model.baseline.size, np.zeros(len(model.H))
    levels = np.ones((len(none), 1)) if model.alike else pick_columns(model.H, model.levels)
    beta, c, tau = model.split(model.known)
    designs, offsets, known = [model.H, *[levels] * m], [model.offset, *[none] * m], [beta, *c]
    if model.group is not None:
        designs, offsets, known = [*designs, np.ones((len(none), 1))], [*offsets, none], [*known, tau]
    unit = 1.0 / follow_up(seen) if isinstance(model.baseline, GompertzBaseline) else 1.0
    units = [1.0, *[unit] * m, *[1.0] * (model.group is not None)]
    free = bool(np.isnan(beta[model.levels]).all())
    origin = float(known_times(seen).mean()) if free else model.baseline.start_of_time
    columns = orthonormal(seen, designs, offsets, known, units)
    return HazardProblem(**columns, model=model, origin=origin, judged=since_entry(seen) if model.given_entry else seen)


def since_entry(seen: Outcome) -> Outcome:
    """Rows without windows that begin, and without a lower end where that is their entry."""
    free = np.full(len(seen), -np.inf)
    lower = np.where((seen.lower > seen.entry) | as_good_as_exact(seen), seen.lower, free)
    return replace(seen, lower=lower, entry=free)


def known_times(seen: Outcome) -> Array:
    """Log times up to which rows were followed, or before which they ended."""
    ends = np.where(np.isfinite(seen.lower), seen.lower, seen.upper)
    return ends[np.isfinite(ends)]


def spread(seen: Outcome) -> float:
    """Ratio of these, 1 where they are equal."""
    return float(np.ptp(known_times(seen))) or 1.0


def follow_up(seen: Outcome) -> float:
    """Time from the first entry to the last of these."""
    last = float(known_times(seen).max())
    return float(np.exp(last) * -np.expm1(min(float(seen.entry.min()) - last, -1e-12)))


# -- rows that share frailties ----------------------------------------------------------------------------------------


def _of_groups(problem: HazardProblem, x: Array) -> State:
    """Log likelihood, gradient and Hessian at x; frailties tie the rows of a group through the sum of their hazards."""
    rows, survival, groups = _shared(problem, x)
    w = problem.seen.weight
    _, gradient, hessian = problem.sums(rows)
    sums = [_sums(problem, -w * survival.slope.get(j, 0.0), design) for j, design in enumerate(problem.designs)]
    slope = np.hstack(sums)  # (G, m), of the cumulative hazards of groups
    of_tau = np.zeros(len(x))
    of_tau[len(x) - problem.designs[-1].shape[1] :] = problem.designs[-1][0]
    both = np.outer(slope.T @ groups.bend[0, 1], of_tau)
    more = (slope.T * groups.bend[0, 0]) @ slope + both + both.T
    more = more + np.sum(groups.bend[1, 1]) * np.outer(of_tau, of_tau)
    of_rows = symmetric(hessian)
    whole = replace(of_rows, corner=of_rows.corner + more)
    value = float(w @ rows.value + groups.value.sum())
    return State(x, value, gradient + np.sum(groups.slope[1]) * of_tau, whole)


def _shared(problem: HazardProblem, x: Array) -> tuple[Jet, Jet, Jet]:
    """Log hazards of events less hazards times the frailty expected of the group, log survival, and terms of groups.

    Those have derivatives in the cumulative hazard of the group and in the logarithm of the variance.
    """
    seen, times, exact = problem.judged, problem.rows_at(x), np.flatnonzero(problem.seen.exact)
    survival = log_masses(times, seen.lower, np.full(len(seen), np.inf))
    rows = scatter(len(seen), [(exact, times(exact).log_density(seen.lower[exact]) - survival.take(exact))])
    assert problem.model.group is not None
    events, hazard = group_sums(problem, survival.value)
    tau = problem.predictors(x)[-1][:1]
    groups = group_likelihoods(events, *variables([hazard, tau]))
    mean = -np.asarray(groups.slope[0])[problem.model.group]
    return replace(rows + mean * survival, value=rows.value), survival, groups


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


def _scores_of_groups(problem: HazardProblem, x: Array) -> Array:
    """Derivatives (n, k) that sum up to those of the groups; that in log theta is at one row of each."""
    rows, _, groups = _shared(problem, x)
    assert problem.model.group is not None
    heaviest, w = np.argsort(-problem.seen.weight, kind="stable"), problem.seen.weight
    one = heaviest[np.unique(problem.model.group[heaviest], return_index=True)[1]]
    of_tau = np.zeros(len(w))
    of_tau[one] = groups.slope[1] / np.where(w[one] > 0.0, w[one], 1.0)
    return problem.scores(replace(rows, slope={**rows.slope, len(problem.designs) - 1: of_tau}))


def frailties_at(problem: HazardProblem, parameters: Array) -> Array:
    """Shape and rate (G, 2) of the frailties of groups given what was seen, at parameters (k,)."""
    x = problem.nearest(problem.here(parameters))
    _, survival, _ = _shared(problem, x)
    return frailty_posterior(*group_sums(problem, survival.value), float(problem.predictors(x)[-1][0]))
