"""The published bounds written out as they are printed, corrected where the printed form is wrong."""

import numpy as np
from scipy.special import log_ndtr


def tangent(zeta, limit, variance, sign):
    """``b`` and ``c`` of Basson et al., Eqs. 27, 28 and 30, for rows censored below (-1) or above (+1) ``limit``."""
    s = np.sqrt(variance)
    log_p = log_ndtr(sign * (zeta - limit) / s)
    density = np.exp(-0.5 * (zeta - limit) ** 2 / variance - 0.5 * np.log(2.0 * np.pi * variance) - log_p)
    b = zeta + sign * variance * density
    return b, 0.5 * zeta**2 - b * (zeta - limit) + variance * log_p


def eq46(K_NM, K_MM, k_nn, y, sign, variance, zeta):
    """F* of Basson et al., Eq. 46, with noise ``variance`` (n,) and the points of tangency ``zeta`` (n,)."""
    censored = sign != 0
    b, c = tangent(zeta[censored], y[censored], variance[censored], sign[censored])
    y_l, s_c = y.copy(), variance[censored]
    y_l[censored] = b
    Q = K_MM + (K_NM.T / variance) @ K_NM
    A = np.diag(1.0 / variance) - (K_NM / variance[:, None]) @ np.linalg.solve(Q, K_NM.T / variance)
    exponent = -0.5 * y_l @ A @ y_l + 0.5 * np.sum(b * b / s_c) + np.sum(c / s_c) - np.sum(b * y[censored] / s_c)
    trace = np.sum((k_nn - np.einsum("nm,mn->n", K_NM, np.linalg.solve(K_MM, K_NM.T))) / variance)
    log_dets = np.linalg.slogdet(K_MM)[1] - np.linalg.slogdet(Q)[1]
    constants = np.sum(np.log(2.0 * np.pi * variance[~censored]))
    return 0.5 * (log_dets - constants - trace) + exponent


def direct_integral(K_NM, K_MM, k_nn, y, sign, variance, zeta, points=241, reach=9.0):
    """Eq. 43 itself: the log of the integral of p(u) exp Psi(u) over two inducing values, on a grid."""
    L = np.linalg.cholesky(K_MM)
    grid = np.linspace(-reach, reach, points)
    w = np.stack(np.meshgrid(grid, grid), axis=-1).reshape(-1, 2)
    A = np.linalg.solve(L, K_NM.T).T
    m, d = w @ A.T, k_nn - np.sum(A * A, axis=1)
    b, c = tangent(zeta, y, variance, sign)
    parabola = (-0.5 * (m * m + d) + b * (m - y) + c) / variance
    normal = -0.5 * ((y - m) ** 2 + d) / variance - 0.5 * np.log(2.0 * np.pi * variance)
    log_p = np.where(sign != 0, parabola, normal).sum(axis=1) - 0.5 * np.sum(w * w, axis=1) - np.log(2.0 * np.pi)
    top = log_p.max()
    return top + np.log(np.exp(log_p - top).sum() * (grid[1] - grid[0]) ** 2)
