"""Length-scales of each process that a screening tries, and how finely its inputs have to be told apart for them."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tobitgp.priors.kernels import Covariance, KernelFactor
from tobitgp.priors.prior import Prior
from tobitgp.typing import Array, BoolArray, IntArray

CELLS_PER_LENGTH = 4
LONGEST, LEAST_SHORTEST, SHORTEST_ALONE, ROWS_PER_LENGTH = 2.0, 0.004, 0.03, 6.0
FEW_DISTINCT = 4


@dataclass(frozen=True, slots=True)
class Term:
    """A process to screen."""

    index: int  # among the processes
    block: int  # among all blocks
    covariance: Covariance
    places: slice  # in theta
    theta: Array  # (k_t,), log sd, then the logarithms of the covariance's parameters
    scales: IntArray  # (any,), positions in ``theta`` of the free length-scales
    extent: Array  # (d,), how far inputs reach
    shortest: float  # length-scale below which nothing is looked for

    def candidates(self) -> list[Array]:
        """Parameters (k_t,) to try: one length-scale for all inputs, and one input after the other alone."""
        n = len(self.scales)
        every = [self._with(range(n), value) for value in halved(self.shortest ** (1.0 / n) / (1 if n == 1 else 2))]
        if n == 1:
            return every
        alone = (self._with([i], value) for i, value in itertools.product(range(n), halved(SHORTEST_ALONE)))
        return every + list(alone)

    def _with(self, scales: Sequence[int] | range, value: float) -> Array:
        theta = self.theta.copy()
        theta[self.scales[list(scales)]] = np.log(value)
        return theta

    def widths(self, theta: Array) -> Array:
        """Sizes (d,) of cells in which neither these parameters nor those of the fit let the process vary much."""
        return np.minimum(self._varies_over(theta), self._varies_over(self.theta)) / CELLS_PER_LENGTH

    def _varies_over(self, theta: Array) -> Array:
        """How far along each input, (d,), the process stays nearly the same."""
        out, at = self.extent.copy(), 1
        for factor in self.covariance.factors:
            if factor.n_scales:
                out[factor.columns] = np.exp(theta[at : at + factor.n_scales])
            elif is_periodic(factor):
                arc, period = np.exp(theta[at : at + 2])
                out[factor.columns] = min(arc, 1.0) * period / (2.0 * np.pi)
            at += factor.n_parameters
        return out

    def correlations(self, x: Array, theta: Array) -> Array:
        """Correlations (c, c) between cells."""
        return self.covariance.value(x, x, np.exp(theta[1:]))


def halved(shortest: float) -> list[float]:
    """Length-scales from the longest down to the shortest, each half the one before."""
    steps = max(int(np.floor(np.log2(LONGEST / shortest) + 1e-9)), 0)
    return [LONGEST / 2.0**i for i in range(steps + 1)]


def is_periodic(factor: KernelFactor) -> bool:
    """Whether it is one of phases, whose length-scale is in radii of the circle."""
    return "period" in factor.kernel.shape


def fold(covariance: Covariance, X: Array, theta: Array) -> Array:
    """Inputs (n, d) with those of periodic kernels brought into one period, as the covariance does not tell."""
    X, at = X.copy(), 1
    for factor in covariance.factors:
        if is_periodic(factor):
            X[:, factor.columns] %= np.exp(theta[at + 1])
        at += factor.n_parameters
    return X


def terms_of(prior: Prior, theta: Array, free: BoolArray) -> list[Term]:
    """The processes with a length-scale to vary, of inputs with enough distinct values."""
    first, block, found = 0, 0 if prior.linear is None else 1, []
    for t, gp in enumerate(prior.gps):
        places = slice(first, first + gp.n_parameters)
        first += gp.n_parameters
        X, scales, at = fold(gp.covariance, gp.inputs.X, theta[places]), [], 1
        divided_by = np.zeros(X.shape[1], dtype=bool)
        distinct, extent = np.array([len(np.unique(x)) for x in X.T.round(9)]), np.ptp(X, axis=0)
        reach = extent.copy()
        for factor in gp.covariance.factors:
            own = np.arange(factor.columns.start, factor.columns.stop)
            if is_periodic(factor):
                reach[own] = 2.0 * np.pi
            one = factor.n_scales == 1 or is_periodic(factor)
            shared = [own] if one else [own[j : j + 1] for j in range(factor.n_scales)]
            for j, divided in enumerate(shared):
                if free[places.start + at + j] and distinct[divided].max() >= FEW_DISTINCT:
                    scales.append(at + j)
                    divided_by[divided] = True
            at += factor.n_parameters
        if scales:
            shortest = max(ROWS_PER_LENGTH * float((reach / distinct)[divided_by].max()), LEAST_SHORTEST)
            found.append(
                Term(
                    t,
                    block + t,
                    gp.covariance,
                    places,
                    theta[places],
                    np.array(scales),
                    np.where(extent > 0.0, extent, 1.0),
                    min(shortest, LONGEST),
                )
            )
    return found
