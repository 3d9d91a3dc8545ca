"""Where a search for hyper-parameters starts, and the end of each start.

Precisions of noise grow in proportion to the rows; those of a smooth curve soon hardly grow, and those of groups not at
all once there are several rows in each, which a small sample cannot predict.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from operator import attrgetter

import numpy as np

from tobitgp.data.arrays import KindRows, Problem
from tobitgp.engines import map_independent
from tobitgp.errors import NumericalError
from tobitgp.inference.evidence_ascent import ClimbEnd, Objective, climb, is_heavy
from tobitgp.inference.hyperparameters import SHAPES, Parameters
from tobitgp.likelihoods.censoring_noise import SIDES
from tobitgp.numerics.normal_functions import mills
from tobitgp.priors.kernel_block import GPPrior
from tobitgp.priors.prior import Prior
from tobitgp.typing import Array, BoolArray

value_of = attrgetter("value")


def starts(
    parameters: Parameters,
    n_starts: int,
    value: Callable[[Array], float],
    *,
    short: bool = False,
    periods: Mapping[int, Array] | None = None,
    spaced: Sequence[Array] = (),
) -> list[Array]:
    """Free parts of theta to start from, best first: of a coarse grid, on which what the user gave stays.

    ``spaced`` (k,) has logarithms of length-scales that the distances of neighbours propose, NaN elsewhere.
    """
    periods = periods or {}
    reach, first = _reach(parameters.roles), {i: tried[0] for i, tried in periods.items()}
    scales = [*itertools.product((0.15, 0.5, 1.5), (0.1, 0.4)), *(((0.015, 0.2), (0.05, 0.2)) if short else ())]
    grid = [_start(parameters, lengthscale, sigma, reach, first) for lengthscale, sigma in scales]
    for own, others, sigma in itertools.product(spaced, (0.5, 2.0), (0.1, 0.4)):
        at = dict(enumerate(own.tolist()))
        grid.append(_start(parameters, others, sigma, reach, first | {i: v for i, v in at.items() if not np.isnan(v)}))
    for tried in _combinations(periods):
        grid += [_start(parameters, lengthscale, 0.3, 0.0, tried) for lengthscale in (0.5, 1.5)]
    grid = list({start.tobytes(): start for start in grid}.values())  # values that were given make some equal
    if len(grid) == 1:
        return grid
    values = [value(start) for start in grid]
    best = sorted(range(len(grid)), key=values.__getitem__, reverse=True)[: max(n_starts, 1)]
    # On the grid curves are strong; where there is mostly noise those alone lead to no signal at all.
    kept, weak = [grid[i] for i in best], _start(parameters, 2.5, 0.9, reach, first, sd=0.5)
    return [weak, *kept] if n_starts > 1 and value(weak) > values[best[0]] else kept


_FEW = 4
_REST = {
    "sd": 1.0,
    "group": 0.5,
    "arc": 2.0,
    "alpha": 1.0,
    "cor": 1.0,
    "scale": 1.0,
    "period": 1.0,
    "df": 4.0,
    "Q": float(np.exp(0.5)),
    "sigma_lower": 0.5,
    "sigma_upper": 0.5,
}


def _reach(roles: Sequence[str]) -> Array:
    """What to add to logarithms of length-scales: rows of many inputs lie far apart, and the evidence is flat there."""
    role = np.array(roles)
    term = np.cumsum(np.isin(role, ("sd", "group")))
    shares = (role == "lengthscale") & (term == term[:, None])
    return np.where(role == "lengthscale", 0.5 * np.log(np.maximum(shares.sum(axis=1) / _FEW, 1.0)), 0.0)


def _combinations(periods: Mapping[int, Array]) -> Iterator[dict[int, float]]:
    """A value for each unknown period: all of one, the strongest of several together."""
    few = {i: tried if len(periods) == 1 else tried[:4] for i, tried in periods.items()}
    for values in itertools.product(*few.values()) if few else ():
        yield dict(zip(few, values, strict=True))


def _start(
    parameters: Parameters,
    lengthscale: float,
    sigma: float,
    reach: Array | float,
    known: Mapping[int, float],
    **other: float,
) -> Array:
    """Free part of theta at such values, standardised."""
    level = {**_REST, "lengthscale": lengthscale, "sigma": sigma, **other}
    theta = np.log([level[role] for role in parameters.roles]) + reach
    theta[list(known)] = list(known.values())
    return parameters.clip(np.where(np.isnan(parameters.start), theta, parameters.start)[parameters.free])


def neighbours(parameters: Parameters, free: Array) -> list[Array]:
    """Nearby free parts of theta: a shorter length-scale may treat as signal what a longer one treats as noise."""
    roles = np.array(parameters.roles)[parameters.free]
    scales, noise = roles == "lengthscale", roles == "sigma"
    hops = ((0.6, 0.5), (2.5, 1.0)) if scales.any() else ()
    return [parameters.clip(free + np.log(longer) * scales + np.log(noisier) * noise) for longer, noisier in hops]


def other_octaves(parameters: Parameters, theta: Array, periods: Mapping[int, Array]) -> Iterator[Array]:
    """Free parts of theta at simple multiples of the periods found, which explain a signal too, or some of it."""
    for i, factor in itertools.product(periods, (1.0 / 3.0, 0.5, 2.0, 3.0)):
        other = theta.copy()
        other[i] += np.log(factor)
        # A period follows its kernel's length-scale, which is in radii of the circle: short distances stay as they are.
        if parameters.free[i - 1]:
            other[i - 1] -= np.log(factor)
        yield parameters.clip(other[parameters.free])


MAX_CYCLES = 100_000
MULTIPLES, MULTIPLIED = (1.0 / 2.0, 2.0, 1.0 / 3.0), 3  # of the frequency of so many peaks
APART_BY = 0.25  # cycles over the range, of frequencies that are not one


def unknown_periods(problem: Problem, gps: Sequence[GPPrior], parameters: Parameters) -> dict[int, Array]:
    """Logarithms of candidates for every period that is neither known nor started, by position in theta."""
    found, first = {}, 0
    for gp in gps:
        for factor, at in gp.covariance.places:
            for i, role in enumerate(factor.kernel.shape, start=first + 1 + at.start + factor.n_scales):
                if role == "period" and np.isnan(parameters.start[i]):
                    y = np.concatenate([expected(rows) for rows in problem.rows])
                    found[i] = np.log(candidate_periods(gp.inputs.X[:, factor.columns.start], y, problem.weight))
        first += gp.n_parameters
    return found


def expected(rows: KindRows) -> Array:
    """Expected responses (n,), of one-sided rows under the standard normal distribution of all."""
    if rows.kind == "interval":
        return 0.5 * (rows.lower + rows.upper)
    return rows.limit if rows.kind == "exact" else rows.sign * mills(-rows.sign * rows.limit)[0]


def candidate_periods(x: Array, y: Array, weight: Array, peaks: int = 8) -> Array:
    """Periods (k,) worth a try, the strongest first: the evidence has its peaks where the periodogram has."""
    spread = float(np.ptp(x))
    distinct = len(np.unique(x))
    if spread == 0.0 or distinct < 4:
        return np.array([max(spread, 1.0)])
    cycles = min(max(distinct // 2, 2), MAX_CYCLES)
    position = (x - x.min()) / spread
    u, legendre = 2.0 * position - 1.0, np.polynomial.legendre
    residual = y - legendre.legval(u, legendre.legfit(u, y, 3, w=np.sqrt(weight), full=True)[0])
    # In the cells of a fine grid one fast Fourier transform gives the periodogram at a quarter of its resolution.
    cells = 1 << int(np.ceil(np.log2(16 * cycles)))
    padded = 4 * cells
    line = np.bincount(np.round(position * (cells - 1)).astype(np.intp), weights=residual * weight, minlength=padded)
    power = np.abs(np.fft.rfft(line)) ** 2
    # Frequency j is j (cells - 1) / padded cycles over the range of x.
    frequency = np.arange(len(power)) * (cells - 1) / padded
    inner = power[1:-1]
    top = np.flatnonzero((inner >= power[:-2]) & (inner > power[2:]) & (frequency[1:-1] >= 0.5)) + 1
    top = top[frequency[top] <= cycles]
    if not len(top):
        return np.array([spread])
    top = top[np.argsort(-power[top], kind="stable")][:peaks]
    # A sharp signal has more power in a harmonic than at its own frequency.
    others = np.outer(MULTIPLES, frequency[top[:MULTIPLIED]]).ravel()
    others = others[(others >= 0.5) & (others <= cycles)]
    apart = np.abs(np.subtract.outer(others, frequency[top])).min(axis=1) > APART_BY
    return spread / np.concatenate([frequency[top], others[apart]])


@dataclass(frozen=True, slots=True)
class Growth:
    """How precisions of parameters grow with the rows: as the number of rows to the power of a rate."""

    rates: Array  # (k_free,)
    grouped: BoolArray  # (k_free,), parameters of terms with groups

    @classmethod
    def usual(cls, prior: Prior, parameters: Parameters) -> Growth:
        """Before there are samples to learn from."""
        roles = np.array(parameters.roles)
        grouped = np.zeros(len(roles), dtype=bool)
        of_terms = np.repeat([gp.grouping is not None for gp in prior.gps], [gp.n_parameters for gp in prior.gps])
        grouped[: len(of_terms)] = of_terms
        rates = np.isin(roles, ("sigma", "scale", *SHAPES, *SIDES)).astype(np.float64)
        return cls(rates[parameters.free], grouped[parameters.free])

    def learned(self, before: Array, now: Array, ratio: float) -> Growth:
        """From roots of the inverse curvature, (k_free, any), on some rows and on ``ratio`` times as many."""
        wide, narrow = (np.square(root).sum(axis=1) for root in (before, now))
        grown = np.divide(wide, narrow, out=np.ones_like(narrow), where=(wide > 0.0) & (narrow > 0.0))
        rates = np.clip(np.log(grown) / np.log(ratio), 0.0, 1.0)
        return replace(self, rates=np.where(self.grouped, 0.0, rates))

    def factor(self, ratio: float) -> Array:
        """By how much so many times fewer rows widen the standard deviations, (k_free,)."""
        return ratio ** (0.5 * self.rates)


APART, VALLEY = 0.3, 0.1
ROUGH, LOOSE = 1e-2, 1e-5  # how far sites converge
CLIMBED, NEAR = 0.1, 0.1  # nats; nats a row


@dataclass(frozen=True, slots=True)
class Tries:
    """Starts that are valued, or followed to where they lead."""

    objective: Callable[[Array, Objective | None, float], Objective]  # of a start, after another, how loose
    parameters: Parameters
    weight: float  # of all rows
    max_iter: int  # of each L-BFGS run
    made: list[Objective] = field(default_factory=list)  # all that were tried

    def rough_value(self, start: Array) -> float:
        """Value at a start, for a first choice among many."""
        return self._at(start, None, ROUGH).value(start)

    def end(self, start: Array) -> ClimbEnd:
        """Where a start leads."""
        objective = self._at(start, None, LOOSE)
        free = climb(objective, start, tol=CLIMBED, max_iter=self.max_iter)
        again = self._at(free, objective, LOOSE)
        return ClimbEnd(again, free, again.value(free))

    def ends(self, candidates: Sequence[Array]) -> list[ClimbEnd]:
        """Ends of the starts from which something can be computed."""

        def end(start: Array) -> ClimbEnd | NumericalError:
            try:
                return self.end(start)
            except NumericalError as error:
                return error

        sizes = [(o.data.n, o.last.row_features) for o in self.made if o.last is not None]
        found = map_independent(end, candidates, heavy=any(is_heavy(*size) for size in sizes))
        ends = [one for one in found if isinstance(one, ClimbEnd)]
        if not ends:
            raise next(one for one in found if isinstance(one, NumericalError))
        return ends

    def beside(self, found: ClimbEnd) -> list[ClimbEnd]:
        """End of the better neighbour of the best end, if it is another one; looked for where little is lost there."""
        with contextlib.suppress(NumericalError):
            near = [(self.rough_value(start), start) for start in neighbours(self.parameters, found.free)]
            value, start = max(near, key=lambda pair: pair[0], default=(-np.inf, found.free))
            if value > found.value - NEAR * self.weight:
                end = self.end(start)
                return [end] if abs(end.value - found.value) > CLIMBED else []
        return []

    def _at(self, start: Array, last: Objective | None, tol: float) -> Objective:
        self.made.append(self.objective(start, last, tol))
        return self.made[-1]


def other_maxima(found: ClimbEnd, ends: Sequence[ClimbEnd]) -> list[tuple[float, Array]]:
    """Ends with a valley between them and the best one: by how much they are lower, and theta there (k,)."""
    others: list[ClimbEnd] = []
    for end in sorted(ends, key=value_of, reverse=True):
        if all(np.abs(end.free - seen.free).max(initial=0.0) > APART for seen in (found, *others)) and (
            found.objective.value(0.5 * (found.free + end.free)) < end.value - VALLEY
        ):
            others.append(end)
    return [(found.value - end.value, found.objective.theta(end.free)) for end in others]


def likely_precisions(problem: Problem, theta: Array) -> Array:
    """Site precisions (n,) before there are sites: those of exact rows, doubled to allow for a smaller noise."""
    return 2.0 * problem.weight * np.exp(-2.0 * theta[-1])
