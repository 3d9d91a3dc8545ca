"""Where a search for hyper-parameters starts: levels of every role, neighbours, and periods seen in the data."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import numpy as np

from tobitgp.data.problem import Problem, Rows
from tobitgp.inference.parameters import Parameters
from tobitgp.priors.kernel_block import GPPrior
from tobitgp.typing import Array


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

    At length-scales that would do for one input all rows of many are strangers, and every start is on the same plain.
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
    # Frequency j stands for j (cells - 1) / padded cycles over the range of x.
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
