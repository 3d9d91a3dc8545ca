"""Expected log-likelihoods by fixed draws: the Monte Carlo estimate that closed forms and quadrature replace."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tobitgp.data.problem import Rows
from tobitgp.likelihoods.base import Expected, Likelihood, Point, Tilted
from tobitgp.typing import Array

_LEAST = 1e-300


@dataclass(frozen=True, slots=True)
class Drawn:
    r"""A likelihood whose expectations are averages over draws that never change.

    With :math:`f_k = m + s x_k` the estimate is :math:`\hat E = \frac1K \sum_k \log p(y | f_k)`, and its derivatives in
    m and :math:`s^2`, not estimates of others, are what sites are made of, (KB5) and (KB6) of the theory pages: one and
    the same function of the draws is maximised from beginning to end. The draws come in pairs :math:`\pm x`, scaled to
    unit variance, so that a log-likelihood that is quadratic in f is averaged without error.
    """

    likelihood: Likelihood
    draws: int  # K, of each row; all rows have the same

    @property
    def log_concave(self) -> bool:
        """Whether the likelihood is: the average of the draws then has sites of positive precision."""
        return self.likelihood.log_concave

    @property
    def steep(self) -> bool:
        """Whether a tail of the noise is."""
        return self.likelihood.steep

    def over(self, rows: Sequence[Rows]) -> Drawn:
        """As its noise is on these rows."""
        return replace(self, likelihood=self.likelihood.over(rows))

    def at(self, theta: Array) -> Drawn:
        """With the noise of ``theta``."""
        return replace(self, likelihood=self.likelihood.at(theta))

    def is_conjugate(self, rows: Rows) -> bool:
        """As without draws, which make no difference to such rows."""
        return self.likelihood.is_conjugate(rows)

    def tilted(self, rows: Rows, mean: Array, var: Array, sigma: float) -> Tilted:
        """As without draws."""
        return self.likelihood.tilted(rows, mean, var, sigma)

    def tilted_slope(self, rows: Rows, mean: Array, var: Array, sigma: float, d1: Array, d2: Array) -> Array:
        """As without draws."""
        return self.likelihood.tilted_slope(rows, mean, var, sigma, d1, d2)

    def newton(self, rows: Rows, f: Array, sigma: float) -> Tilted:
        """As without draws."""
        return self.likelihood.newton(rows, f, sigma)

    def point(self, rows: Rows, f: Array, sigma: float) -> Point:
        """As without draws."""
        return self.likelihood.point(rows, f, sigma)

    def expected(self, rows: Rows, mean: Array, var: Array, sigma: float, *, slopes: bool = True) -> Expected:
        """For variational inference: ``d2`` is twice the derivative in the variance, ``mean(l' x) / s``."""
        x = fixed_draws(self.draws)
        sd = np.sqrt(np.maximum(var, _LEAST))
        f = (mean[:, None] + sd[:, None] * x).ravel()
        each = rows[np.repeat(np.arange(len(rows)), len(x))]
        shape = (len(rows), len(x))
        at = self.likelihood.newton(each, f, sigma)
        slope = at.d1.reshape(shape)
        s0 = np.empty((0, len(rows)))
        if slopes:
            s0 = self.likelihood.point(each, f, sigma).s0.reshape(-1, *shape).mean(axis=2)
        return Expected(at.log_Z.reshape(shape).mean(axis=1), slope.mean(axis=1), slope @ x / (len(x) * sd), s0)


def fixed_draws(draws: int) -> Array:
    """Standard normal draws (draws,) in pairs of both signs, of mean 0 and variance 1; always the same."""
    half = np.abs(np.random.default_rng(0).standard_normal(draws // 2))
    x = np.concatenate([half, -half, np.zeros(draws % 2)])
    return x / np.sqrt(np.mean(x * x))
