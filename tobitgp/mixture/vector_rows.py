"""Rows of vectors whose coordinates are exact, censored or missing, and what a normal component expects of them.

References
----------
Lee and Scott (2012), EM algorithms for multivariate Gaussian mixture models with truncated and censored data,
*Computational Statistics & Data Analysis* 56, 2816-2829, section 4.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from tobitgp.numerics.normal_boxes import draw_in_boxes, vectors_in_boxes
from tobitgp.typing import Array, BoolArray, IntArray

_LOG_2PI = float(np.log(2.0 * np.pi))


class Pattern(NamedTuple):
    """Rows of which the same coordinates are exact, censored and missing."""

    rows: IntArray
    exact: IntArray
    censored: IntArray
    missing: IntArray

    @property
    def hidden(self) -> IntArray:
        """Censored coordinates, then missing ones."""
        return np.concatenate([self.censored, self.missing])


@dataclass(frozen=True)
class VectorRows:
    """Vectors that lie in (lower, upper], (n, D) each, equal where exact, both infinite where missing."""

    lower: Array
    upper: Array
    weight: Array  # (n,), frequency weights, > 0

    def __len__(self) -> int:
        return len(self.weight)

    @property
    def exact(self) -> BoolArray:
        """Which coordinates are exact, (n, D)."""
        return np.asarray(self.lower == self.upper)

    @cached_property
    def patterns(self) -> tuple[Pattern, ...]:
        """Rows by their pattern."""
        missing = np.isneginf(self.lower) & np.isposinf(self.upper)
        kind = np.where(self.exact, 0, np.where(missing, 2, 1))
        found, code = np.unique(kind, axis=0, return_inverse=True)
        each = ((np.flatnonzero(code.ravel() == i), kinds) for i, kinds in enumerate(found))
        return tuple(Pattern(rows, *(np.flatnonzero(kinds == j) for j in range(3))) for rows, kinds in each)

    @property
    def approximate(self) -> float:
        """Weight of the rows whose probabilities are those of lattice points: more than two coordinates censored."""
        return float(sum(self.weight[each.rows].sum() for each in self.patterns if len(each.censored) > 2))

    def standardised(self, centre: Array, scale: Array) -> VectorRows:
        """The same in other units."""
        return replace(self, lower=(self.lower - centre) / scale, upper=(self.upper - centre) / scale)

    def merged(self) -> VectorRows:
        """Rows in an order that depends on no order or sign of theirs or of their coordinates, equal ones as one."""
        both, weight = np.column_stack([self.lower, self.upper]), self.weight
        both, code = np.unique(both, axis=0, return_inverse=True)
        lower, upper = np.split(both, 2, axis=1)
        size = np.sort(np.abs(np.hstack([np.where(np.isfinite(each), each, 0.0) for each in (lower, upper)])), axis=1)
        order = np.lexsort(size.round(9).T)
        return VectorRows(lower[order], upper[order], np.bincount(code.ravel(), weight).astype(np.float64)[order])


class ExpectedVectors(NamedTuple):
    """What K normal distributions expect of rows."""

    log_p: Array  # (K, n), log density of exact coordinates and log probability of the box of censored ones
    mean: Array  # (K, n, D), of the vector given what is known about it
    cov: Array  # (K, n, D, D)


class _Given(NamedTuple):
    """Hidden coordinates of the m rows of a pattern given the exact ones, h of which c are censored."""

    log_density: Array  # (K, m), of the exact ones
    mean: Array  # (K, m, h)
    cov: Array  # (K, h, h)
    slope: Array  # (K, h - c, c), of missing coordinates in the censored ones
    rest: Array  # (K, h, h), covariance that is left given the censored ones


def expected(rows: VectorRows, means: Array, covariances: Array) -> ExpectedVectors:
    """Moments given what is known about each row, of components with means (K, D) and covariances (K, D, D)."""
    (n, D), k = rows.lower.shape, len(means)
    out = ExpectedVectors(np.empty((k, n)), np.tile(rows.lower, (k, 1, 1)), np.zeros((k, n, D, D)))
    for pattern, given in _each(rows, means, covariances):
        at, h, c = pattern.rows, pattern.hidden, len(pattern.censored)
        centre, V = given.mean, np.broadcast_to(given.cov[:, None], (k, len(at), *given.cov.shape[1:]))
        out.log_p[:, at] = given.log_density
        if c:
            box = vectors_in_boxes(*_boxes(rows, pattern, given))
            out.log_p[:, at] += box.log_mass.reshape(k, -1)
            inside, inner = box.mean.reshape(k, -1, c), box.cov.reshape(k, -1, c, c)
            beside = (inside - centre[:, :, :c]) @ given.slope.transpose(0, 2, 1)
            spread = np.concatenate([np.tile(np.eye(c), (k, 1, 1)), given.slope], axis=1)[:, None]
            V = given.rest[:, None] + spread @ inner @ spread.transpose(0, 1, 3, 2)
            centre = np.concatenate([inside, centre[:, :, c:] + beside], axis=2)
        out.mean[:, at[:, None], h] = centre
        out.cov[:, at[:, None, None], h[:, None], h] = V
    return out


def _boxes(rows: VectorRows, pattern: Pattern, given: _Given) -> tuple[Array, Array, Array, Array]:
    """Means, covariances and ends of the censored coordinates, of each component and row."""
    c, (k, m, _) = len(pattern.censored), given.mean.shape
    ends = (np.tile(end[np.ix_(pattern.rows, pattern.censored)], (k, 1)) for end in (rows.lower, rows.upper))
    lower, upper = ends
    return given.mean[:, :, :c].reshape(-1, c), np.repeat(given.cov[:, :c, :c], m, axis=0), lower, upper


def draw(rows: VectorRows, mean: Array, cov: Array, draws: int, rng: np.random.Generator) -> Array:
    """Draws (n, draws, D) of the vectors given their observations, under mean (D,) and covariance (D, D)."""
    out = np.repeat(rows.lower[:, None], draws, axis=1)
    for pattern, given in _each(rows, mean[None], cov[None]):
        at, h, c = pattern.rows, pattern.hidden, len(pattern.censored)
        centre = np.repeat(given.mean[0][:, None], draws, axis=1)
        if c:
            first, _, lower, upper = _boxes(rows, pattern, given)
            inside = draw_in_boxes(first, given.cov[0, :c, :c], lower, upper, draws=draws, rng=rng)
            centre[:, :, c:] += (inside - centre[:, :, :c]) @ given.slope[0].T
            centre[:, :, :c] = inside
        if len(h) > c:
            root = np.linalg.cholesky(given.rest[0, c:, c:])
            centre[:, :, c:] += rng.standard_normal((*centre.shape[:2], len(h) - c)) @ root.T
        out[at[:, None], :, h] = centre.transpose(0, 2, 1)
    return out


def _each(rows: VectorRows, means: Array, covariances: Array) -> Iterator[tuple[Pattern, _Given]]:
    """Hidden coordinates given the exact ones, pattern by pattern."""
    for pattern in rows.patterns:
        o, h, c = pattern.exact, pattern.hidden, len(pattern.censored)
        L = np.linalg.cholesky(covariances[:, o[:, None], o])
        away = rows.lower[np.ix_(pattern.rows, o)] - means[:, None, o]
        z, half = np.linalg.solve(L, away.transpose(0, 2, 1)), np.linalg.solve(L, covariances[:, o[:, None], h])
        log_root = np.log(np.diagonal(L, axis1=1, axis2=2)).sum(axis=1)
        log_density = -0.5 * (np.square(z).sum(axis=1) + len(o) * _LOG_2PI) - log_root[:, None]
        V = covariances[:, h[:, None], h] - half.transpose(0, 2, 1) @ half
        slope = np.linalg.solve(V[:, :c, :c], V[:, :c, c:]).transpose(0, 2, 1)
        rest = np.zeros_like(V)
        rest[:, c:, c:] = V[:, c:, c:] - slope @ V[:, :c, c:]
        yield pattern, _Given(log_density, means[:, None, h] + z.transpose(0, 2, 1) @ half, V, slope, rest)
