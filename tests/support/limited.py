"""Random pairs of normal distributions with limits, and what integration says of them."""

import numpy as np
from scipy.special import log_ndtr

_X, _W = np.polynomial.legendre.leggauss(40)
_PANELS = np.linspace(0.0, 1.0, 81)


def random_cases(n, seed):
    """(n,) parameters of two normals, and limits that both share; a third are open below, a third above."""
    rng = np.random.default_rng(seed)
    m, mu = rng.normal(0, 1.5, (2, n))
    s, sigma = np.exp(rng.uniform(-1.2, 1.2, (2, n)))
    lower = m - s * rng.uniform(-1.5, 3.0, n)
    upper = lower + s * rng.uniform(0.3, 5.0, n)
    kind = rng.integers(3, size=n)
    return m, s, mu, sigma, np.where(kind == 1, -np.inf, lower), np.where(kind == 2, np.inf, upper)


def integrate(f, mean, sd, lower, upper):
    """Integral of f(x), which a normal density of that mean and sd damps, over one window."""
    low, high = max(lower, min(mean - 14 * sd, upper - 14 * sd)), min(upper, max(mean + 14 * sd, lower + 14 * sd))
    ends = low + (high - low) * _PANELS
    half = 0.5 * np.diff(ends)
    x = 0.5 * (ends[1:] + ends[:-1]) + half * _X[:, None]
    return float(np.sum(half * _W[:, None] * f(x)))


def log_normal_density(x, mean, sd):
    return -0.5 * ((x - mean) / sd) ** 2 - np.log(sd) - 0.5 * np.log(2 * np.pi)


def log_atoms(mean, sd, lower, upper):
    """Log probabilities of the limits, -inf where there is none."""
    return log_ndtr((lower - mean) / sd), log_ndtr((mean - upper) / sd)
