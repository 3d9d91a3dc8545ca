"""Linear mixed models by restricted maximum likelihood, by a dense covariance and a general optimiser."""

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize


class Reml(NamedTuple):
    """Fixed effects and their standard errors, (p,) each."""

    beta: np.ndarray
    se: np.ndarray


def reml(y, X, effects):
    """The highest of three searches; effects are pairs of columns (n, q) and a group of each row."""
    codes = [np.unique(group, return_inverse=True)[1] for _, group in effects]
    sizes = [Z.shape[1] for Z, _ in effects]
    places = [np.tril_indices(q) for q in sizes]

    def covariance(theta):
        V = np.eye(len(y))
        for part, (Z, _), code, q, at in zip(split(theta), effects, codes, sizes, places, strict=True):
            L = np.zeros((q, q))
            L[at] = part
            V += (Z @ L @ L.T @ Z.T) * (code[:, None] == code)
        return V

    def split(theta):
        return np.split(theta, np.cumsum([len(at[0]) for at in places])[:-1])

    def solved(theta):
        C = np.linalg.cholesky(covariance(theta))
        Q, R = np.linalg.qr(np.linalg.solve(C, X))
        v = np.linalg.solve(C, y)
        beta = np.linalg.solve(R, Q.T @ v)
        variance = np.sum((v - Q @ (Q.T @ v)) ** 2) / (len(y) - X.shape[1])
        return C, R, beta, variance

    def minus_log(theta):
        C, R, _, variance = solved(theta)
        logs = [np.log(np.diag(C)).sum(), np.log(np.abs(np.diag(R))).sum()]
        return 0.5 * (len(y) - X.shape[1]) * np.log(variance) + sum(logs)

    starts = [np.concatenate([s * np.eye(q)[at] for q, at in zip(sizes, places, strict=True)]) for s in (0.3, 1.0, 3.0)]
    best = min((minimize(minus_log, start, method="BFGS") for start in starts), key=lambda found: found.fun)
    _, R, beta, variance = solved(best.x)
    return Reml(beta, np.sqrt(variance * np.square(np.linalg.inv(R)).sum(axis=1)))
