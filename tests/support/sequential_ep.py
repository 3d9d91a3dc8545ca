"""Expectation propagation one row after the other, as a reader of the papers would write it."""

from dataclasses import dataclass

import numpy as np
from scipy.stats import norm


@dataclass(frozen=True)
class SequentialEP:
    """The fixed point: posterior moments of f, cavities and sites of the rows, (n,) each, and the log evidence."""

    mean: np.ndarray
    var: np.ndarray
    cavity_mean: np.ndarray
    cavity_var: np.ndarray
    site_mean: np.ndarray
    site_var: np.ndarray
    log_z: np.ndarray
    evidence: float


def sequential_ep(K, y, sign, sigma, sweeps=200):
    """Groot and Lucas (2012), sections 3 and 4: sign 0 of values y, 1 of rows above y, -1 of rows below.

    Rasmussen and Williams (2006), algorithm 3.5, with ``y = 0`` and ``sigma = 1`` for binary outcomes.
    """
    seen = sign == 0
    tau, nu = np.where(seen, 1.0 / sigma**2, 1e-8), np.where(seen, y / sigma**2, 0.0)
    S, m = _posterior(K, tau, nu)
    for _ in range(sweeps):
        before = tau.copy()
        for i in np.flatnonzero(~seen):
            var = 1.0 / (1.0 / S[i, i] - tau[i])
            mean = var * (m[i] / S[i, i] - nu[i])
            s = np.sqrt(sigma**2 + var)
            z = sign[i] * (mean - y[i]) / s
            ratio = np.exp(norm.logpdf(z) - norm.logcdf(z))
            new_mean = mean + sign[i] * var * ratio / s
            new_var = var - var**2 * ratio * (z + ratio) / s**2
            tau[i], nu[i] = 1.0 / new_var - 1.0 / var, new_mean / new_var - mean / var
            S, m = _posterior(K, tau, nu)
        if np.abs(tau - before).max() < 1e-14:
            break
    var = 1.0 / (1.0 / np.diag(S) - tau)
    mean = var * (m / np.diag(S) - nu)
    s = np.sqrt(sigma**2 + var)
    log_tilted = np.where(seen, norm.logpdf(y, mean, s), norm.logcdf(sign * (mean - y) / s))
    centre, width = nu / tau, 1.0 / tau
    log_z = log_tilted - norm.logpdf(mean, centre, np.sqrt(var + width))
    evidence = log_z.sum() + log_density_of_means(K, centre, width)
    return SequentialEP(m, np.diag(S), mean, var, centre, width, log_z, evidence)


def log_density_of_means(K, centre, width):
    """Log density of N(0, K + diag(width)) at centres of sites: what sites of mass one integrate to."""
    A = K + np.diag(width)
    return -0.5 * (centre @ np.linalg.solve(A, centre) + np.linalg.slogdet(A)[1] + len(centre) * np.log(2.0 * np.pi))


def _posterior(K, tau, nu):
    root = np.sqrt(tau)
    B = np.eye(len(tau)) + root[:, None] * K * root
    S = K - (K * root) @ np.linalg.solve(B, root[:, None] * K)
    return S, S @ nu
