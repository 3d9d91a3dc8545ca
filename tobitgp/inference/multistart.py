"""Where a search for hyper-parameters starts, and the end of each start.

Precisions of noise grow in proportion to the rows; those of a smooth curve soon hardly grow, and those of groups not at
all once there are several rows in each, which a small sample cannot predict.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from tobitgp.data.arrays import Problem, Rows
from tobitgp.errors import NumericalError
from tobitgp.inference.ascent import Objective, climb
from tobitgp.inference.parameters import Parameters
from tobitgp.inference.partitioned import PartitionedRows
from tobitgp.likelihoods.censoring_noise import SIDES
from tobitgp.priors.kernel_block import GPPrior
from tobitgp.priors.prior import Prior
from tobitgp.typing import Array, BoolArray


def starts(
    parameters: Parameters,
    n_starts: int,
    value: Callable[[Array], float],
    *,
    short: bool = False,
    periods: Mapping[int, Array] | None = None,
) -> list[Array]:
    """Free parts of theta to start from, best first.

    A coarse grid over a common length-scale and the noise level is screened with the objective; what the user gave
    stays. A weak signal is one start more where it is ahead of all of them: on the grid curves are strong, and where
    there is mostly noise those alone lead to no signal at all.
    """
    reach, first = _reach(parameters.roles), {i: tried[0] for i, tried in (periods or {}).items()}
    grid = [_start(parameters, level, reach, first) for level in _levels(short)]
    for tried in _combinations(periods or {}):
        grid += [_start(parameters, {**_REST, "lengthscale": s, "sigma": 0.3}, 0.0, tried) for s in (0.5, 1.5)]
    grid = _different(grid)
    if len(grid) == 1:
        return grid
    values = [value(start) for start in grid]
    best = sorted(range(len(grid)), key=values.__getitem__, reverse=True)[: max(n_starts, 1)]
    kept, weak = [grid[i] for i in best], _start(parameters, {**_REST, **_WEAK}, reach, first)
    return [weak, *kept] if n_starts > 1 and value(weak) > values[best[0]] else kept


_FEW = 4
_REST = {
    "sd": 1.0,
    "group": 0.5,
    "arc": 2.0,
    "alpha": 1.0,
    "period": 1.0,
    "df": 4.0,
    "sigma_lower": 0.5,
    "sigma_upper": 0.5,
}
_WEAK = {"sd": 0.5, "lengthscale": 2.5, "sigma": 0.9}  # little signal: survival times are mostly noise
_HOPS = ((0.6, 0.5), (2.5, 1.0))


def _levels(short: bool) -> Iterator[dict[str, float]]:
    """Values of every role to screen, standardised."""
    scales = [*itertools.product((0.15, 0.5, 1.5), (0.1, 0.4)), *(((0.015, 0.2), (0.05, 0.2)) if short else ())]
    for lengthscale, sigma in scales:
        yield {**_REST, "lengthscale": lengthscale, "sigma": sigma}


def _reach(roles: Sequence[str]) -> Array:
    """What to add to logarithms of length-scales: rows lie further apart in many inputs than in a few.

    At length-scales that would do for one input all rows of many are uncorrelated, and the evidence is flat.
    """
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
    parameters: Parameters, level: Mapping[str, float], reach: Array | float, log_periods: Mapping[int, float]
) -> Array:
    """Free part of theta at such values of the roles."""
    theta = np.log([level[role] for role in parameters.roles]) + reach
    theta[list(log_periods)] = list(log_periods.values())
    return parameters.clip(np.where(np.isnan(parameters.start), theta, parameters.start)[parameters.free])


def _different(starts: Sequence[Array]) -> list[Array]:
    """Each once: values that were given make some of them equal."""
    return list({start.tobytes(): start for start in starts}.values())


def neighbours(parameters: Parameters, free: Array) -> list[Array]:
    """Free parts of theta from which a maximum beside the one at ``free`` is reached, if there is one.

    What a longer length-scale takes for noise a shorter one may take for signal, and the other way round: somewhat
    shorter curves with half the noise, and longer ones.
    """
    roles = np.array(parameters.roles)[parameters.free]
    scales, noise = roles == "lengthscale", roles == "sigma"
    hops = _HOPS if scales.any() else ()
    return [parameters.clip(free + np.log(longer) * scales + np.log(noisier) * noise) for longer, noisier in hops]


def other_octaves(parameters: Parameters, theta: Array, periods: Iterable[int]) -> Iterator[Array]:
    """Free parts of theta at simple multiples of the periods found, the curves over a short distance kept.

    A multiple of the period explains a signal too, and a part of it some of one.
    """
    for i in periods:
        for factor in (1.0 / 3.0, 0.5, 2.0, 3.0):
            other = theta.copy()
            other[i] += np.log(factor)
            # A period follows its kernel's length-scale, which is in radii of the circle.
            if parameters.free[i - 1]:
                other[i - 1] -= np.log(factor)
            yield parameters.clip(other[parameters.free])


PEAKS, TREND_DEGREE = 8, 3
MAX_CYCLES = 100_000
MULTIPLES = (2.0, 3.0)


def unknown_periods(problem: Problem, gps: Sequence[GPPrior], parameters: Parameters) -> dict[int, Array]:
    """Logarithms of candidates for every period that is neither known nor started, by position in theta."""
    found, first = {}, 0
    for gp in gps:
        at = first + 1
        for factor in gp.covariance.factors:
            place = at + factor.n_scales
            for i, role in enumerate(factor.kernel.shape, start=place):
                if role == "period" and np.isnan(parameters.start[i]):
                    y = np.concatenate([_middle(rows) for rows in problem.rows])
                    found[i] = np.log(candidate_periods(gp.inputs.X[:, factor.columns.start], y, problem.weight))
            at += factor.n_parameters
        first += gp.n_parameters
    return found


def _middle(rows: Rows) -> Array:
    return 0.5 * (rows.lower + rows.upper) if rows.kind == "interval" else rows.limit


def candidate_periods(x: Array, y: Array, weight: Array, peaks: int = PEAKS) -> Array:
    """Periods worth a try, the strongest first.

    A cubic trend is taken away, and the rows are put into the cells of a fine grid, so that one fast Fourier transform
    gives the periodogram at a quarter of its resolution, up to half a cycle for each distinct input. The evidence, as a
    function of the period, has its peaks where the periodogram has. A sharp signal has more power in a harmonic than at
    its own frequency, so multiples of the strongest periods are tried too.

    Shapes: x, y, weight (n,); gives (k,).
    """
    spread = float(np.ptp(x))
    distinct = len(np.unique(x))
    if spread == 0.0 or distinct < 4:
        return np.array([max(spread, 1.0)])
    cycles = min(max(distinct // 2, 2), MAX_CYCLES)
    position = (x - x.min()) / spread
    residual = _detrend(2.0 * position - 1.0, y, weight)
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
    periods = spread / frequency[top]
    longer = np.outer(MULTIPLES, periods[:2]).ravel()
    return np.concatenate([periods, longer[longer <= 2.0 * spread]])


def _detrend(u: Array, y: Array, weight: Array) -> Array:
    """Residuals of a weighted cubic in ``u`` in [-1, 1]."""
    basis = np.polynomial.legendre.legvander(u, TREND_DEGREE)
    root = np.sqrt(weight)[:, None]
    coefficients = np.linalg.lstsq(basis * root, y * root[:, 0], rcond=None)[0]
    return np.asarray(y - basis @ coefficients)


@dataclass(frozen=True, slots=True)
class Growth:
    """How precisions of parameters grow with the rows: as the number of rows to the power of a rate."""

    rates: Array  # (k_free,)
    grouped: BoolArray  # (k_free,), parameters of terms with groups

    @classmethod
    def usual(cls, prior: Prior, parameters: Parameters) -> Growth:
        """Before there are samples to learn from."""
        roles = np.array(parameters.roles)
        of_terms = np.repeat([gp.grouping is not None for gp in prior.gps], [gp.n_parameters for gp in prior.gps])
        grouped = np.append(of_terms, np.zeros(len(roles) - len(of_terms))).astype(bool)
        rates = np.isin(roles, ("sigma", "df", *SIDES)).astype(np.float64)
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


class End(NamedTuple):
    """Where a start leads."""

    value: float
    free: Array  # (k_free,), free parameters
    objective: Objective  # which has that value there

    @property
    def theta(self) -> Array:
        """All parameters (k,)."""
        return self.objective.theta(self.free)


def value_of(found: End) -> float:
    """What ends are ordered by."""
    return found.value


def reached(end: Callable[[Array], End], candidates: Sequence[Array]) -> list[End]:
    """Ends of the starts from which something can be computed."""
    ends, failure = [], None
    for start in candidates:
        try:
            ends.append(end(start))
        except NumericalError as error:
            failure = error
    if failure is not None and not ends:
        raise failure
    return ends


def other_maxima(found: End, ends: Sequence[End]) -> list[tuple[float, Array]]:
    """Ends with a valley between them and the best one: by how much they are lower, and theta there (k,)."""
    objective = found.objective
    others: list[tuple[float, Array]] = []
    for end in sorted(ends, key=value_of, reverse=True):
        seen = [found.free, *(theta[objective.parameters.free] for _, theta in others)]
        if all(np.abs(end.free - place).max(initial=0.0) > APART for place in seen) and (
            objective.value(0.5 * (found.free + end.free)) < end.value - VALLEY
        ):
            others.append((found.value - end.value, objective.theta(end.free)))
    return others


ROUGH, LOOSE = 1e-2, 1e-5
CLIMBED, NEAR = 0.1, 0.1  # nats; nats a row


@dataclass(frozen=True, slots=True)
class Tries:
    """Starts that are valued, or followed to where they lead."""

    objective: Callable[[PartitionedRows, Array, Array, int, float], Objective]  # of the rows
    problem: Problem
    data: PartitionedRows  # its rows
    parameters: Parameters
    theta: Array  # (k,), holds the parameters that are not free
    caps: tuple[int, int]  # most inducing inputs on the way
    max_iter: int  # of each L-BFGS run
    made: list[Objective] = field(default_factory=list)  # all that were tried

    @property
    def work(self) -> tuple[int, int]:
        """Evaluations and passes over the data of all starts."""
        return sum(o.evaluations for o in self.made), sum(o.sweeps for o in self.made)

    def rough_value(self, start: Array) -> float:
        """Value at a start, for a first choice among many."""
        return self._at(start, tol=ROUGH).value(start)

    def end(self, start: Array) -> End:
        """Where a start leads."""
        objective = self._at(start)
        free = climb(objective, start, tol=CLIMBED, max_iter=self.max_iter)
        again = self._at(free, objective)
        return End(again.value(free), free, again)

    def beside(self, found: End) -> list[End]:
        """End of the better neighbour of the best end, if it is another one; looked for where little is lost there."""
        with contextlib.suppress(NumericalError):
            near = [(self.rough_value(start), start) for start in neighbours(self.parameters, found.free)]
            value, start = max(near, key=lambda pair: pair[0], default=(-np.inf, found.free))
            if value > found.value - NEAR * self.problem.weight.sum():
                end = self.end(start)
                return [end] if abs(end.value - found.value) > CLIMBED else []
        return []

    def _at(self, start: Array, last: Objective | None = None, tol: float = LOOSE) -> Objective:
        """Objective with inducing inputs fit for ``start``: short length-scales need more of them."""
        here = self.theta.copy()
        here[self.parameters.free] = start
        if last is None:
            objective = self.objective(self.data, here, likely_precisions(self.problem, here), self.caps[0], tol)
        else:
            objective = self.objective(last.data, here, last.precisions, self.caps[1], tol)
        self.made.append(objective)
        return objective


def likely_precisions(problem: Problem, theta: Array) -> Array:
    """Site precisions (n,) before there are sites: those of exact rows, with room for a smaller noise."""
    return 2.0 * problem.weight * np.exp(-2.0 * theta[-1])
