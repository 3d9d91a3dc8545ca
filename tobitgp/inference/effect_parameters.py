"""Parameters of random effects as users know them: standard deviations and correlations of the coefficients.

Inside, columns are centred where an intercept beside them takes up their means, so that coefficients b_g = T b_c,g.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import betaln

from tobitgp.priors.group_effects import correlation_root, correlation_slopes
from tobitgp.typing import Array

ETA = 2.0  # of the default prior of correlations
_MOST = 1.0 - 1e-15


class EffectParameters(NamedTuple):
    """Where those of one term are in theta, and what they are of."""

    first: int
    q: int  # coefficients of a group
    correlated: bool
    T: Array  # (q, q), from the coefficients of standardised columns to those of the columns as they are, but for units
    eta: float = ETA  # of the LKJ prior of the correlations; NaN where they have none

    @property
    def sds(self) -> slice:
        """Places of log sds."""
        return slice(self.first, self.first + self.q)

    @property
    def cors(self) -> slice:
        """Places of psi."""
        pairs = self.q * (self.q - 1) // 2 if self.correlated else 0
        return slice(self.first + self.q, self.first + self.q + pairs)

    def report(self, theta: Array) -> tuple[Array, Array]:
        """Log sds and Fisher's z of the correlations of ``b_g``, (k,), and their derivatives in theta's, (k, k)."""
        sd, psi = np.exp(theta[self.sds]), theta[self.cors]
        C = correlation_root(psi, self.q) if self.correlated else np.eye(self.q)
        M = self.T @ (sd[:, None] * C)
        slopes = [self.T[:, [i]] * (sd[i] * C[i]) for i in range(self.q)]
        slopes += [self.T @ (sd[:, None] * slope) for slope in correlation_slopes(psi, C)] if self.correlated else []
        rows, columns = np.tril_indices(self.q, -1)
        if not self.correlated:
            rows = columns = rows[:0]
        V = M @ M.T
        size = np.sqrt(V.diagonal())
        # Of columns far from 0 beside their spread a correlation is 1 to rounding.
        R = np.clip((V / size / size[:, None])[rows, columns], -_MOST, _MOST)
        J = []
        for slope in slopes:
            dV = slope @ M.T + M @ slope.T
            by_size = 0.5 * dV.diagonal() / V.diagonal()
            of_R = (dV / size / size[:, None])[rows, columns] - R * (by_size[rows] + by_size[columns])
            J.append(np.concatenate([by_size, of_R / (1.0 - R * R)]))
        return np.concatenate([np.log(size), np.arctanh(R)]), np.array(J).T

    def of_intercept(self, names: Sequence[str]) -> Iterator[tuple[int, str]]:
        """Places and names of the parameters that centring changes: all but the sds of slopes."""
        kept = [i for i in range(self.q) if np.count_nonzero(self.T[i]) == 1]
        return ((self.first + i, name) for i, name in enumerate(names) if i not in kept)

    @property
    def centred(self) -> bool:
        """Whether columns are centred inside."""
        return bool((np.eye(self.q) != self.T).any())

    def centre(self, theta: Array) -> Array:
        """Log sds and psi (k,) of the coefficients of centred columns from those of the columns as they are."""
        M = np.linalg.solve(self.T, np.exp(theta[: self.q, None]) * correlation_root(theta[self.q :], self.q))
        V = M @ M.T
        size = np.sqrt(V.diagonal())
        return np.concatenate([np.log(size), psi_of(V / size / size[:, None])])

    def log_prior(self, theta: Array) -> tuple[float, Array]:
        """LKJ density of the correlations in psi, and its gradient, (RAN4)."""
        psi = theta[self.cors]
        column = np.concatenate([np.arange(1.0, i + 1.0) for i in range(self.q)])
        if not len(psi) or np.isnan(self.eta):
            return 0.0, np.zeros_like(psi)
        b = self.eta + 0.5 * (self.q - 1.0 - column)
        log_cosh = np.abs(psi) + np.log1p(np.exp(-2.0 * np.abs(psi))) - np.log(2.0)
        return float(np.sum(-2.0 * b * log_cosh - betaln(0.5, b))), -2.0 * b * np.tanh(psi)


def psi_of(R: Array) -> Array:
    """Psi (q (q - 1) / 2,) of correlations R (q, q), positive definite."""
    C, psi = np.linalg.cholesky(R), []
    for i in range(len(C)):
        left = 1.0
        for j in range(i):
            psi.append(np.arctanh(C[i, j] / left))
            left *= np.sqrt(1.0 - np.tanh(psi[-1]) ** 2)
    return np.array(psi)
