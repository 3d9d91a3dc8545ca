"""Slow, independent answers: correlation functions, exact regression, exact evidence of censored rows."""

import numpy as np
from scipy.special import log_ndtr, ndtr, ndtri, ndtri_exp
from scipy.stats import qmc

_PROFILES = {
    "rbf": lambda r: np.exp(-0.5 * r * r),
    "matern12": lambda r: np.exp(-r),
    "matern32": lambda r: (1.0 + np.sqrt(3.0) * r) * np.exp(-np.sqrt(3.0) * r),
    "matern52": lambda r: (1.0 + np.sqrt(5.0) * r + 5.0 * r * r / 3.0) * np.exp(-np.sqrt(5.0) * r),
}


def correlation(kernel, X, Z, parameters):
    """Correlations (n, M) of one kernel at natural parameters: length-scales, then its shape."""
    if kernel == "linear":
        return np.array([[sum(x * z) for z in Z] for x in X])
    if kernel == "periodic":
        lengthscale, period = parameters
        return np.exp(-2.0 * (np.sin(np.pi * (X - Z.T) / period) / lengthscale) ** 2)
    d = X.shape[1]
    r = np.sqrt((((X[:, None, :] - Z[None, :, :]) / parameters[:d]) ** 2).sum(axis=-1))
    if kernel == "rq":
        return (1.0 + r * r / (2.0 * parameters[d])) ** -parameters[d]
    return _PROFILES[kernel](r)


def covariance(kernel, X, Z, theta):
    """``sd^2 k(|x - z| / lengthscale)``, (n, M), with theta = (log sd, log length-scales)."""
    steps = (X[:, None, :] - Z[None, :, :]) / np.exp(theta[1:])
    return np.exp(2.0 * theta[0]) * _PROFILES[kernel](np.sqrt((steps**2).sum(axis=-1)))


def gp_regression(K, y, variance, K_new, k_new):
    """Log evidence, and mean and sd of f at new points, of uncensored rows with the given noise variances."""
    S = K + np.diag(np.broadcast_to(variance, len(y)))
    solved = np.linalg.solve(S, np.column_stack([y, K_new.T]))
    evidence = -0.5 * (y @ solved[:, 0] + np.linalg.slogdet(S)[1] + len(y) * np.log(2.0 * np.pi))
    variance_new = k_new - np.einsum("ij,ji->i", K_new, solved[:, 1:])
    return evidence, K_new @ solved[:, 0], np.sqrt(variance_new)


def exact_evidence(K, sigma, lower, upper, log2n=12, scrambles=4):
    """Log evidence of ``y = f + sigma eps`` in the rows' intervals, with its standard error, and mean and sd of f.

    The density of the exact rows times the probability that the others fall in their box given them (Genz's
    separation of variables on scrambled Sobol points).
    """
    S = K + sigma**2 * np.eye(len(K))
    seen = lower == upper
    y, density = lower[seen], 0.0
    G = np.linalg.solve(S[np.ix_(seen, seen)], S[np.ix_(seen, ~seen)]).T
    mean, cov = G @ y, S[np.ix_(~seen, ~seen)] - G @ S[np.ix_(seen, ~seen)]
    if seen.any():
        density = gp_regression(K[np.ix_(seen, seen)], y, sigma**2, np.zeros((1, seen.sum())), np.ones(1))[0]
    if seen.all():
        e_y, c_y, log_mass, error = y, np.zeros_like(S), 0.0, 0.0
    else:
        log_mass, error, box_mean, box_cov = box(mean, cov, lower[~seen], upper[~seen], log2n, scrambles)
        e_y, c_y = np.where(seen, lower, 0.0), np.zeros_like(S)
        e_y[~seen], c_y[np.ix_(~seen, ~seen)] = box_mean, box_cov
    W = np.linalg.solve(S, K).T
    f_var = np.diag(K - W @ K) + np.einsum("ij,jk,ik->i", W, c_y, W)
    return density + log_mass, error, W @ e_y, np.sqrt(f_var)


def box(mean, cov, lower, upper, log2n, scrambles):
    """Log probability of a box, its standard error, and mean and covariance of the normal truncated to it."""
    k = len(mean)
    order, L = _order(cov, lower - mean, upper - mean)
    lo, up = (lower - mean)[order], (upper - mean)[order]
    logs, means, seconds = [], [], []
    for seed in range(scrambles):
        u = qmc.Sobol(k, scramble=True, rng=np.random.default_rng(seed)).random(2**log2n)
        u = np.clip(1.0 - np.abs(2.0 * u - 1.0), 1e-15, 1.0 - 1e-15)
        e, log_w = np.zeros_like(u), np.zeros(len(u))
        for i in range(k):
            shift = e[:, :i] @ L[i, :i]
            e[:, i], mass = _truncated((lo[i] - shift) / L[i, i], (up[i] - shift) / L[i, i], u[:, i])
            log_w += mass
        top = log_w.max()
        w = np.exp(log_w - top)
        Y = np.empty_like(e)
        Y[:, order] = e @ L.T
        logs.append(top + np.log(w.mean()))
        means.append(w @ Y / w.sum())
        seconds.append((Y * w[:, None]).T @ Y / w.sum())
    centre = np.mean(means, axis=0)
    error = np.std(logs, ddof=1) / np.sqrt(scrambles)
    return np.mean(logs), error, mean + centre, np.mean(seconds, axis=0) - np.outer(centre, centre)


def _truncated(a, b, u):
    """Standard normal draws in (a, b) from uniform ones, and the log mass of (a, b)."""
    if np.isneginf(a).all():
        log_mass = log_ndtr(b)
        return ndtri_exp(np.log(u) + log_mass), log_mass
    if np.isposinf(b).all():
        log_mass = log_ndtr(-a)
        return -ndtri_exp(np.log(u) + log_mass), log_mass
    sign = np.where(a + b > 0.0, -1.0, 1.0)
    low, high = ndtr(np.minimum(sign * a, sign * b)), ndtr(np.maximum(sign * a, sign * b))
    return sign * ndtri(low + u * (high - low)), np.log(high - low)


def _order(cov, lo, up):
    """Least likely side first: the order, and the Cholesky factor of the covariance in that order."""
    k = len(cov)
    order, rest, L, y = [], list(range(k)), np.zeros((k, k)), np.zeros(k)
    middle = np.array([0.5])
    for i in range(k):
        sds = {j: np.sqrt(cov[j, j] - L[j, :i] @ L[j, :i]) for j in rest}
        ends = {j: ((lo[j] - L[j, :i] @ y[:i]) / s, (up[j] - L[j, :i] @ y[:i]) / s) for j, s in sds.items()}
        draws = {j: _truncated(np.array([a]), np.array([b]), middle) for j, (a, b) in ends.items()}
        best = min(rest, key=lambda j: draws[j][1][0])
        y[i], L[best, i] = draws[best][0][0], sds[best]
        order.append(best)
        rest.remove(best)
        for j in rest:
            L[j, i] = (cov[j, best] - L[j, :i] @ L[best, :i]) / L[best, i]
    return np.array(order), L[order]
