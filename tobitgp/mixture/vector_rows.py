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
from scipy.linalg import solve_triangular

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


class Expected(NamedTuple):
    """What a normal distribution expects of rows."""

    log_p: Array  # (n,), log density of exact coordinates and log probability of the box of censored ones
    mean: Array  # (n, D), of the vector given what is known of it
    cov: Array  # (n, D, D)


class _Given(NamedTuple):
    """Hidden coordinates of the rows of a pattern given the exact ones."""

    log_density: Array  # (m,), of the exact ones
    mean: Array  # (m, h)
    cov: Array  # (h, h), the same for all
    slope: Array  # (h - c, c), of missing coordinates in the censored ones
    rest: Array  # (h, h), covariance that is left given the censored ones


def expected(rows: VectorRows, mean: Array, cov: Array) -> Expected:
    """Moments given what is known of each row, of a component with mean (D,) and covariance (D, D)."""
    n, D = rows.lower.shape
    out = Expected(np.empty(n), rows.lower.copy(), np.zeros((n, D, D)))
    for pattern, given in _each(rows, mean, cov):
        at, h, c = pattern.rows, pattern.hidden, len(pattern.censored)
        out.log_p[at], centre = given.log_density, given.mean
        V = np.broadcast_to(given.cov, (len(at), *given.cov.shape))
        if c:
            ends = (end[np.ix_(at, pattern.censored)] for end in (rows.lower, rows.upper))
            box = vectors_in_boxes(centre[:, :c], given.cov[:c, :c], *ends)
            out.log_p[at] += box.log_mass
            spread = np.vstack([np.eye(c), given.slope])
            centre = np.hstack([box.mean, centre[:, c:] + (box.mean - centre[:, :c]) @ given.slope.T])
            V = given.rest + spread @ box.cov @ spread.T
        out.mean[np.ix_(at, h)] = centre
        out.cov[np.ix_(at, h, h)] = V
    return out


def draw(rows: VectorRows, mean: Array, cov: Array, draws: int, rng: np.random.Generator) -> Array:
    """Draws (n, draws, D) of the vectors given what is known of them."""
    out = np.repeat(rows.lower[:, None], draws, axis=1)
    for pattern, given in _each(rows, mean, cov):
        at, h, c = pattern.rows, pattern.hidden, len(pattern.censored)
        centre = np.repeat(given.mean[:, None], draws, axis=1)
        if c:
            ends = (end[np.ix_(at, pattern.censored)] for end in (rows.lower, rows.upper))
            inside = draw_in_boxes(given.mean[:, :c], given.cov[:c, :c], *ends, draws=draws, rng=rng)
            centre[:, :, c:] += (inside - centre[:, :, :c]) @ given.slope.T
            centre[:, :, :c] = inside
        if len(h) > c:
            root = np.linalg.cholesky(given.rest[c:, c:])
            centre[:, :, c:] += rng.standard_normal((*centre.shape[:2], len(h) - c)) @ root.T
        out[at[:, None], :, h] = centre.transpose(0, 2, 1)
    return out


def _each(rows: VectorRows, mean: Array, cov: Array) -> Iterator[tuple[Pattern, _Given]]:
    """Hidden coordinates given the exact ones, pattern by pattern."""
    for pattern in rows.patterns:
        o, h, c = pattern.exact, pattern.hidden, len(pattern.censored)
        L = np.asarray(np.linalg.cholesky(cov[np.ix_(o, o)]), dtype=np.float64)
        away = rows.lower[np.ix_(pattern.rows, o)] - mean[o]
        z = solve_triangular(L, away.T, lower=True) if len(o) else np.zeros((0, len(away)))
        half = solve_triangular(L, cov[np.ix_(o, h)], lower=True) if len(o) else np.zeros((0, len(h)))
        log_density = -0.5 * (np.square(z).sum(axis=0) + len(o) * _LOG_2PI) - np.log(np.diag(L)).sum()
        V = cov[np.ix_(h, h)] - half.T @ half
        slope = np.asarray(np.linalg.solve(V[:c, :c], V[:c, c:]).T, dtype=np.float64)
        rest = np.zeros_like(V)
        rest[c:, c:] = V[c:, c:] - slope @ V[:c, c:]
        yield pattern, _Given(log_density, mean[h] + z.T @ half, V, slope, rest)
