"""Draws of the parameters of a mixture of vectors, and what they say of the values of the rows: (MOV9)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
from scipy.special import logsumexp

from tobitgp.diagnostics.training_draws import Draws, on_grid, training_rows
from tobitgp.engines import row_chunks
from tobitgp.errors import SpecError
from tobitgp.mixture.vector_ascent import VectorState
from tobitgp.mixture.vector_information import below_diagonal, bounded, parameter_values, unbounded
from tobitgp.mixture.vector_rows import VectorRows, expected
from tobitgp.numerics.roots import slope
from tobitgp.numerics.sampling import Rng, generator
from tobitgp.results.vectors.vector_parts import VectorParts
from tobitgp.typing import Array

_STEP = 1e-3
_AT_ONCE = 2**20  # entries of covariances that are evaluated together


def draw_states(parts: VectorParts, draws: int, rng: np.random.Generator) -> list[VectorState]:
    """Draws from the normal distribution of log weights, means, and roots of covariances with log diagonals."""
    fit, V, names = parts.fit, parts.covariance, parts.names
    assert V is not None
    at, moved = unbounded(fit.state), np.isnan(np.diag(V))
    held = np.array([any(name.endswith(f"[{c + 1}]") for c in np.flatnonzero(fit.held)) for name in names])
    unknown = [name for name, lost in zip(names, moved & ~held, strict=True) if lost]
    if unknown:
        raise SpecError(
            f"The rows do not determine {', '.join(unknown)}, so that they cannot be drawn. Fit fewer components."
        )
    values, vectors = np.linalg.eigh(np.where(moved | moved[:, None], 0.0, V))
    x = parameter_values(fit.state)
    ways = vectors * np.sqrt(np.maximum(values, 0.0))

    def along(s: float, way: Array) -> Array:
        return unbounded(_from_parameters(x + s * way, fit.state))

    J = np.column_stack([slope(partial(along, way=way), _STEP) for way in ways.T])
    drawn = at + rng.standard_normal((draws, len(x))) @ J.T
    return [bounded(one, fit.state) for one in drawn]


def _from_parameters(x: Array, like: VectorState) -> VectorState:
    """The state with these weights, means, standard deviations and correlations."""
    k, D = like.means.shape
    w, means, sds, cors = np.split(x, [k, k + k * D, k + 2 * k * D])
    R, sd = np.tile(np.eye(D), (k, 1, 1)), sds.reshape(D, k).T
    for t, (i, j) in enumerate(below_diagonal(D)):
        R[:, i, j] = R[:, j, i] = cors[t * k : (t + 1) * k]
    return VectorState(w, means.reshape(D, k).T, R * sd[:, :, None] * sd[:, None, :])


def log_likelihoods(rows: VectorRows, states: Sequence[VectorState]) -> Array:
    """Log likelihood of each row at each of several states, (n, S)."""
    (n, D), (k, out) = rows.lower.shape, (len(states[0].weights), [])
    for some in row_chunks(0, len(states), max(_AT_ONCE // (k * n * D * D), 1)):
        weights, means, covariances = (np.stack(each) for each in zip(*states[some], strict=True))
        log_p = expected(rows, means.reshape(-1, D), covariances.reshape(-1, D, D)).log_p
        with np.errstate(divide="ignore"):
            out.append(logsumexp(log_p.reshape(-1, k, n) + np.log(weights)[:, :, None], axis=1))
    return np.concatenate(out).T


@dataclass(frozen=True, slots=True)
class VectorDraws(Draws):
    """Draws of the parameters, and of the values of the rows of the fit, each given the others of its row."""

    parts: VectorParts
    states: list[VectorState]  # (S,)
    rng: np.random.Generator

    @classmethod
    def of(cls, parts: VectorParts, draws: int, rng: Rng, question: str) -> VectorDraws:
        """Draws from the normal distribution of the estimates."""
        training_rows(parts, question)
        stream, parts = generator(rng), parts.with_covariance()
        return cls(parts, draw_states(parts, draws, stream), stream)

    @property
    def size(self) -> int:
        """S."""
        return len(self.states)

    def parameters(self) -> Array:
        """See `Draws`."""
        return np.array([parameter_values(state) for state in self.states])

    def log_likelihoods(self) -> Iterator[tuple[slice, Array]]:
        """Log likelihoods of values given the rest of their row: that of the row less that of the row without it."""
        rows, kept = self.parts.vectors
        whole = log_likelihoods(rows, self.states)
        start = 0
        for j, one in enumerate(self.parts.responses):
            at = one.rows.kept[kept]
            lower, upper = rows.lower[at].copy(), rows.upper[at].copy()
            lower[:, j], upper[:, j] = -np.inf, np.inf
            rest = replace(rows, lower=lower, upper=upper, weight=rows.weight[at])
            others = log_likelihoods(rest, self.states)
            yield slice(start, start + len(others)), on_grid(whole[at] - others)
            start += len(others)

    def responses(self) -> Iterator[tuple[slice, Array]]:
        """New values, whatever the others of the row."""
        start = 0
        for j, one in enumerate(self.parts.responses):
            n, draws = int(one.rows.kept.sum()), []
            for state in self.states:
                k = self.rng.choice(len(state.weights), n, p=state.weights)
                sd = np.sqrt(state.covariances[k, j, j])
                draws.append(state.means[k, j] + sd * self.rng.standard_normal(n))
            yield slice(start, start + n), np.column_stack(draws)
            start += n
