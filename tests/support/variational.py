"""Full-covariance variational inference by L-BFGS: the slow way to the optimum that site updates reach."""

import numpy as np
from scipy.optimize import minimize
from scipy.special import log_ndtr

NODES, WEIGHTS = np.polynomial.legendre.leggauss(16)
_HALF_LOG_2PI = 0.5 * np.log(2.0 * np.pi)


def log_mass(f, lower, upper, sigma):
    """Log probability that ``f + sigma eps`` lies in [lower, upper], by differences of normal tails."""
    a, b = (lower - f) / sigma, (upper - f) / sigma
    near, far = np.where(a + b > 0, -a, b), np.where(a + b > 0, -b, a)
    one_sided = np.isneginf(far)
    step = log_ndtr(np.where(one_sided, 0.0, far)) - log_ndtr(near)
    return log_ndtr(near) + np.where(one_sided, 0.0, np.log1p(-np.exp(np.where(one_sided, -1.0, step))))


def expectations(m, v, lower, upper, sigma):
    """E log p and its derivatives in m and v, (n,) each, by quadrature on panels graded towards the ends."""
    s = np.sqrt(v)
    grid = m[:, None] + s[:, None] * np.linspace(-9.5, 9.5, 25)
    ladder = sigma * np.concatenate([-np.geomspace(2e4, 0.5, 17), [0.0], np.geomspace(0.5, 2e4, 17)])
    ends = [np.where(np.isfinite(e), e, m)[:, None] + ladder for e in (lower, upper)]
    edges = np.sort(np.clip(np.concatenate([grid, *ends], axis=1), grid[:, :1], grid[:, -1:]), axis=1)
    half = 0.5 * np.diff(edges)[:, :, None]
    f = (0.5 * (edges[:, 1:] + edges[:, :-1]))[:, :, None] + half * NODES
    x = (f - m[:, None, None]) / s[:, None, None]
    mass = half * WEIGHTS * np.exp(-0.5 * x * x - _HALF_LOG_2PI) / s[:, None, None]
    value = mass * log_mass(f, lower[:, None, None], upper[:, None, None], sigma)
    total = [np.sum(value * p, axis=(1, 2)) for p in (1.0, x, x * x - 1.0)]
    return total[0], total[1] / s, total[2] / (2.0 * v)


class FullCovariance:
    """Evidence lower bound as a function of the mean and Cholesky factor of q(w), ``f = A w + e``, e ~ N(0, d).

    It is jointly concave in both for log-concave likelihoods, so a vanishing gradient marks the global maximum.
    """

    def __init__(self, A, d, sigma, lower, upper, weight=None):
        self.A, self.d, self.sigma, self.lower, self.upper = A, d, sigma, lower, upper
        self.weight = np.ones(len(A)) if weight is None else weight
        self.seen = lower == upper
        self.lower_triangle = np.tril_indices(A.shape[1])

    def split(self, p):
        M = self.A.shape[1]
        C = np.zeros((M, M))
        C[self.lower_triangle] = p[M:]
        return p[:M], C

    def join(self, mu, C):
        return np.concatenate([mu, C[self.lower_triangle]])

    def value_and_gradient(self, p):
        mu, C = self.split(p)
        AC = self.A @ C
        m, v = self.A @ mu, (AC**2).sum(axis=1) + self.d
        E, E_m, E_v = self._rows(m, v)
        diagonal = np.diag(C)
        kl = 0.5 * ((C**2).sum() + mu @ mu - len(mu)) - np.log(np.abs(diagonal)).sum()
        G_C = 2.0 * self.A.T @ ((self.weight * E_v)[:, None] * AC) - C + np.diag(1.0 / diagonal)
        return self.weight @ E - kl, self.join(self.A.T @ (self.weight * E_m) - mu, G_C)

    def _rows(self, m, v):
        s2, seen = self.sigma**2, self.seen
        gap = np.where(seen, self.lower - m, 0.0)
        E = -_HALF_LOG_2PI - np.log(self.sigma) - 0.5 * (gap**2 + v) / s2
        E_m, E_v = gap / s2, np.full_like(m, -0.5 / s2)
        if not seen.all():
            c = ~seen
            E[c], E_m[c], E_v[c] = expectations(m[c], v[c], self.lower[c], self.upper[c], self.sigma)
        return E, E_m, E_v

    def maximise(self, start=None, max_iter=20_000):
        """Highest bound, and the parameters there."""
        M = self.A.shape[1]
        start = self.join(np.zeros(M), 0.5 * np.eye(M)) if start is None else start
        options = {"maxiter": max_iter, "maxfun": 2 * max_iter, "ftol": 1e-15, "gtol": 1e-7, "maxcor": 50}
        best = minimize(
            lambda p: tuple(-g for g in self.value_and_gradient(p)), start, jac=True, method="L-BFGS-B", options=options
        )
        return -best.fun, best.x


def whitened(K):
    """Features (n, r) with ``A A' = K``, without jitter."""
    values, vectors = np.linalg.eigh(K)
    kept = values > 1e-14 * values.max()
    return vectors[:, kept] * np.sqrt(values[kept])
