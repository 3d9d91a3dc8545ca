"""Parameters of a mixture of normal vectors as users read them, and their covariance by the observed information.

The gradient of the log likelihood follows from the sums of a pass, (MOV7) of the theory pages, by Fisher's identity;
its derivative is taken by differences.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import ndtri, softmax

from tobitgp.mixture.vector_ascent import VectorState, sum_rows
from tobitgp.mixture.vector_fit import VectorFit
from tobitgp.mixture.vector_rows import VectorRows
from tobitgp.numerics.roots import slope
from tobitgp.typing import Array

_STEP = 0.02  # of a standard error, if all coordinates were exact
_NO_WEIGHT = 1e-300
_LEAST = 1e-6  # smallest ratio of curvature to information that is taken for one


def below_diagonal(D: int) -> list[tuple[int, int]]:
    """Pairs (i, j) of coordinates, i > j, in the order of the correlations."""
    return [(i, j) for i in range(D) for j in range(i)]


def parameter_names(labels: Sequence[str], k: int) -> list[str]:
    """Weights, means, standard deviations and correlations, by component last."""
    pairs = [f"cor[{labels[j]}, {labels[i]}]" for i, j in below_diagonal(len(labels))]
    kinds = ["weight", *(f"{of}[{y}]" for of in ("mean", "sd") for y in labels), *pairs]
    return [f"{kind}[{c}]" for kind in kinds for c in range(1, k + 1)]


def parameter_values(state: VectorState) -> Array:
    """Their values, (p,)."""
    sd = np.sqrt(np.diagonal(state.covariances, axis1=1, axis2=2))
    pairs = [state.covariances[:, i, j] / (sd[:, i] * sd[:, j]) for i, j in below_diagonal(sd.shape[1])]
    return np.concatenate([state.weights, state.means.T.ravel(), sd.T.ravel(), *pairs])


def parameter_intervals(values: Array, errors: Array, k: int, D: int, level: float) -> Array:
    """Central intervals (p, 2): of weights normal on the logit scale, of means, of log sd and of atanh correlations."""
    z, one = float(ndtri(0.5 + 0.5 * level)), slice(0, k)
    means, sds, cors = slice(k, k + k * D), slice(k + k * D, k + 2 * k * D), slice(k + 2 * k * D, None)
    low, high = values.copy(), values.copy()
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        w = values[one]
        away = np.where((w > 0.0) & (w < 1.0), np.exp(z * errors[one] / (w * (1.0 - w))), 1.0)
        low[one], high[one] = w / (w + (1.0 - w) * away), w / (w + (1.0 - w) / away)
        low[means], high[means] = values[means] - z * errors[means], values[means] + z * errors[means]
        away = np.exp(z * errors[sds] / values[sds])
        low[sds], high[sds] = values[sds] / away, values[sds] * away
        t, away = np.arctanh(values[cors]), z * errors[cors] / (1.0 - values[cors] ** 2)
        low[cors], high[cors] = np.tanh(t - away), np.tanh(t + away)
    return np.column_stack([low, high])


def parameter_covariance(fit: VectorFit, rows: VectorRows) -> Array:
    """Covariance (p, p) of the parameters; NaN where the rows do not determine one, or a covariance is at its floor."""
    rows, state = rows.merged(), fit.state
    at, unit, entries = unbounded(state), _units(fit), len(np.tril_indices(state.means.shape[1])[0])
    free = np.append(np.ones(fit.k - 1 + fit.means.size, dtype=np.bool_), np.repeat(~fit.held, entries))

    def moved(s: float, way: Array) -> VectorState:
        return bounded(at + s * way, state)

    ways = np.diag(unit)
    curvature = [slope(lambda s, way=way: -_gradient(moved(s, way), rows), _STEP)[free] for way in ways[free]]  # type: ignore[misc]
    curvature = np.array(curvature) * unit[free]
    slopes = np.stack([slope(lambda s, way=way: parameter_values(moved(s, way)), _STEP) for way in ways], axis=1)  # type: ignore[misc]
    values, vectors = np.linalg.eigh(0.5 * (curvature + curvature.T))
    good, along = values > _LEAST, slopes[:, free] @ vectors
    V = (along[:, good] / values[good]) @ along[:, good].T
    unknown = np.square(along[:, ~good]).sum(axis=1) > 1e-6 * np.square(along).sum(axis=1)
    unknown |= (np.abs(slopes[:, ~free]) > 1e-9 * np.abs(slopes).max(axis=1, keepdims=True)).any(axis=1)
    V[unknown] = V[:, unknown] = np.nan
    return np.asarray(V)


def unbounded(state: VectorState) -> Array:
    """Coordinates: log odds of the weights, means, and roots of the covariances, the logarithms of their diagonals."""
    D = state.means.shape[1]
    lower, L = np.tril_indices(D), np.linalg.cholesky(state.covariances)
    L[:, range(D), range(D)] = np.log(L[:, range(D), range(D)])
    log_w = np.log(np.maximum(state.weights, _NO_WEIGHT))
    return np.concatenate([log_w[:-1] - log_w[-1], state.means.ravel(), L[:, lower[0], lower[1]].ravel()])


def bounded(x: Array, like: VectorState) -> VectorState:
    """The state at coordinates."""
    (k, D), lower = like.means.shape, np.tril_indices(like.means.shape[1])
    odds, means, entries = np.split(x, [k - 1, k - 1 + k * D])
    L = np.zeros((k, D, D))
    L[:, lower[0], lower[1]] = entries.reshape(k, -1)
    L[:, range(D), range(D)] = np.exp(L[:, range(D), range(D)])
    return VectorState(softmax(np.append(odds, 0.0)), means.reshape(k, D), L @ L.transpose(0, 2, 1))


def _units(fit: VectorFit) -> Array:
    """About the standard errors of the coordinates, if components and values were seen."""
    D = fit.means.shape[1]
    lower, n, w = np.tril_indices(D), np.maximum(fit.counts, 1.0)[:, None], np.maximum(fit.weights, 1e-6)
    L = np.linalg.cholesky(fit.covariances)
    diagonal, entry = L[:, lower[0], lower[0]], L[:, lower[0], lower[1]]
    of_roots = np.where(lower[0] == lower[1], 0.5, diagonal**2 + entry**2) / n
    of_means = np.diagonal(fit.covariances, axis1=1, axis2=2) / n
    odds = (1.0 / w[:-1] + 1.0 / w[-1]) / fit.counts.sum()
    return np.sqrt(np.concatenate([odds, of_means.ravel(), of_roots.ravel()]))


def _gradient(state: VectorState, rows: VectorRows) -> Array:
    """Derivative of the log likelihood in the coordinates: (MOV7)."""
    sums, D = sum_rows(rows, state), state.means.shape[1]
    P, L, lower = np.linalg.inv(state.covariances), np.linalg.cholesky(state.covariances), np.tril_indices(D)
    of_means = np.einsum("kij,kj->ki", P, sums.first)
    of_roots = (P @ sums.second @ P - sums.counts[:, None, None] * P) @ L
    of_roots[:, range(D), range(D)] *= L[:, range(D), range(D)]
    odds = sums.counts - state.weights * sums.counts.sum()
    return np.concatenate([odds[:-1], of_means.ravel(), of_roots[:, lower[0], lower[1]].ravel()])
