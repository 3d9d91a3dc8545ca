"""Where to look for an unknown period: the peaks of a periodogram."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tobitgp.data.problem import Problem, Rows
from tobitgp.inference.parameters import Parameters
from tobitgp.prior.kernel import GPPrior
from tobitgp.typing import Array

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
