"""Parameters of a mixture of normal vectors as users read them, and their covariance by the observed information.

The gradient of the log likelihood follows from the sums of a pass, (VEC7) of the theory pages, by Fisher's identity;
its derivative is taken by differences.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import ndtri

from tobitgp.mixture.vector_ascent import VectorState, sum_rows
from tobitgp.mixture.vector_fit import VectorFit
from tobitgp.mixture.vector_rows import VectorRows
from tobitgp.numerics.roots import slope
from tobitgp.typing import Array

_STEP = 0.02  # of a standard error, if all coordinates were exact
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
    rows, at, unit = rows.merged(), _coordinates(fit.state), _units(fit)
    free = np.append(np.ones(fit.k - 1 + fit.means.size, dtype=np.bool_), np.repeat(~fit.held, _pairs(fit.state)))

    def gradient(x: Array) -> Array:
        return _gradient(_state_at(x, fit.state), rows)

    ways = np.diag(unit)[free]
    curvature = np.array([-slope(lambda s, way=way: gradient(at + s * way), _STEP)[free] for way in ways])  # type: ignore[misc]
    curvature *= unit[free]
    values, vectors = np.linalg.eigh(0.5 * (curvature + curvature.T))
    slopes, good = _slopes(fit.state), values > _LEAST
    along = (slopes * unit)[:, free] @ vectors
    V = (along[:, good] / values[good]) @ along[:, good].T
    unknown = np.square(along[:, ~good]).sum(axis=1) > 1e-6 * np.square(along).sum(axis=1)
    unknown |= (slopes[:, ~free] != 0.0).any(axis=1)
    V[unknown] = V[:, unknown] = np.nan
    return np.asarray(V)


def _pairs(state: VectorState) -> int:
    D = state.means.shape[1]
    return D * (D + 1) // 2


def _coordinates(state: VectorState) -> Array:
    """Weights but the last, means, and lower triangles of covariances."""
    lower = np.tril_indices(state.means.shape[1])
    return np.concatenate([state.weights[:-1], state.means.ravel(), state.covariances[:, lower[0], lower[1]].ravel()])


def _state_at(x: Array, like: VectorState) -> VectorState:
    """The state at coordinates."""
    (k, D), lower = like.means.shape, np.tril_indices(like.means.shape[1])
    w, means, entries = np.split(x, [k - 1, k - 1 + k * D])
    S = np.empty((k, D, D))
    S[:, lower[0], lower[1]] = S[:, lower[1], lower[0]] = entries.reshape(k, -1)
    return VectorState(np.append(w, 1.0 - w.sum()), means.reshape(k, D), S)


def _units(fit: VectorFit) -> Array:
    """Standard errors of the coordinates, if components and values were seen."""
    lower, n = np.tril_indices(fit.means.shape[1]), np.maximum(fit.counts, 1.0)[:, None]
    V = np.diagonal(fit.covariances, axis1=1, axis2=2)
    entries = V[:, lower[0]] * V[:, lower[1]] + fit.covariances[:, lower[0], lower[1]] ** 2
    w = np.maximum(fit.weights[:-1] * (1.0 - fit.weights[:-1]), 1e-12) / fit.counts.sum()
    return np.sqrt(np.concatenate([w, (V / n).ravel(), (entries / n).ravel()]))


def _gradient(state: VectorState, rows: VectorRows) -> Array:
    """Derivative of the log likelihood in the coordinates: (VEC7)."""
    sums, lower = sum_rows(rows, state), np.tril_indices(state.means.shape[1])
    P = np.linalg.inv(state.covariances)
    of_means = np.einsum("kij,kj->ki", P, sums.first)
    of_covariances = 0.5 * (P @ sums.second @ P - sums.counts[:, None, None] * P)
    entries = of_covariances[:, lower[0], lower[1]] * np.where(lower[0] == lower[1], 1.0, 2.0)
    ratio = sums.counts / state.weights
    return np.concatenate([ratio[:-1] - ratio[-1], of_means.ravel(), entries.ravel()])


def _slopes(state: VectorState) -> Array:
    """Derivatives of the parameters in the coordinates, (p, coordinates)."""
    (k, D), m, lower = state.means.shape, _pairs(state), np.tril_indices(state.means.shape[1])
    V, first = np.diagonal(state.covariances, axis1=1, axis2=2), k - 1 + k * D
    place = {pair: t for t, pair in enumerate(zip(*map(np.ndarray.tolist, lower), strict=True))}
    out = np.zeros((k + k * D + k * m, first + k * m))
    out[:k, : k - 1] = np.eye(k)[:, : k - 1]
    out[k - 1, : k - 1] = -1.0
    for c in range(k):
        of, sd = first + c * m, np.sqrt(V[c])
        for i in range(D):
            out[k + i * k + c, k - 1 + c * D + i] = 1.0
            out[k + (D + i) * k + c, of + place[i, i]] = 0.5 / sd[i]
        for t, (i, j) in enumerate(below_diagonal(D)):
            row, scale = k + (2 * D + t) * k + c, sd[i] * sd[j]
            out[row, of + place[i, j]] = 1.0 / scale
            for d in (i, j):
                out[row, of + place[d, d]] = -0.5 * state.covariances[c, i, j] / scale / V[c, d]
    return out
