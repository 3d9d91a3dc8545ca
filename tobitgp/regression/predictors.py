"""Likelihoods whose rows have several parameters, each linear in its own coefficients.

Coordinates x are those in which the columns of each parameter are orthonormal and known coefficients are left out.
Log likelihoods of rows of every kind, given their windows, are those of a formula of their log times.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise
from typing import Any, Self

import numpy as np

from tobitgp.data.outcome import Outcome
from tobitgp.distributions.formulas import RowTimes
from tobitgp.distributions.standard_noise import Distribution
from tobitgp.engines import add_up, blocks, map_independent, product, triangle_of
from tobitgp.numerics.bordered import Bordered
from tobitgp.numerics.jets import Jet, scatter, variables
from tobitgp.regression.maximum import Maximum
from tobitgp.regression.newton import Climb, State
from tobitgp.typing import Array, BoolArray, IntArray

_NARROW = 1e-5  # intervals of log time no wider are a density times their width, whose error is that squared

TimesOf = Callable[[IntArray], RowTimes]  # gives those of some rows


def as_good_as_exact(seen: Outcome) -> BoolArray:
    """Rows whose log time is known, or nearly so, (n,)."""
    return seen.exact | (seen.width < _NARROW)


def log_likelihoods(times: TimesOf, seen: Outcome) -> Jet:
    """Log-likelihoods of all rows, with derivatives in their parameters."""
    exact = as_good_as_exact(seen)
    parts = [*_densities(times, seen, np.flatnonzero(exact)), *_masses(times, seen.lower, seen.upper, ~exact)]
    return scatter(len(seen), parts, minus=_masses(times, seen.entry, seen.exit))


def log_masses(times: TimesOf, lower: Array, upper: Array) -> Jet:
    """Log probabilities of lying between two ends, of all rows."""
    return scatter(len(lower), _masses(times, lower, upper))


def _densities(times: TimesOf, seen: Outcome, rows: IntArray) -> Iterator[tuple[IntArray, Jet]]:
    if len(rows):
        found = times(rows).log_density(0.5 * (seen.lower + seen.upper)[rows])
        width = np.where(seen.exact[rows], 1.0, seen.width[rows])
        yield rows, replace(found, value=found.value + np.log(width))


def _masses(
    times: TimesOf, lower: Array, upper: Array, some: BoolArray | bool = True
) -> Iterator[tuple[IntArray, Jet]]:
    """The same of some of the rows, by the ends that they have."""
    below, above = np.isfinite(lower) & some, np.isfinite(upper) & some
    if len(rows := np.flatnonzero(below & ~above)):
        yield rows, times(rows).log_sf(lower[rows])
    if len(rows := np.flatnonzero(above & ~below)):
        yield rows, times(rows).log_cdf(upper[rows])
    if len(rows := np.flatnonzero(below & above)):
        yield rows, times(rows).log_between(lower[rows], upper[rows])


FLAT = 1e-8  # information a row of a direction, where an exact row has about 1


@dataclass(frozen=True, slots=True)
class Coordinates:
    """Log times, and coordinates x of the k parameters of their likelihood: coefficients first, a shape last."""

    seen: Outcome
    to_users: Array  # (k, m), parameters are ``given + to_users @ x``
    given: Array  # (k,), known parameters, 0 elsewhere

    @property
    def free(self) -> BoolArray:
        """Which of the k parameters are estimated."""
        return np.asarray(np.abs(self.to_users).max(axis=1, initial=0.0) > 0.0)

    def nearest(self, parameters: Array) -> Array:
        """The point x nearest to parameters (k,)."""
        size = np.abs(self.to_users).max(axis=1, initial=0.0)
        row = 1.0 / np.where(size > 0.0, size, 1.0)  # a solution is exact where there are columns
        return np.asarray(
            np.linalg.lstsq(row[:, None] * self.to_users, row * (parameters - self.given), rcond=None)[0],
            dtype=np.float64,
        )

    def information(self, state: State, unit: Array) -> Array:
        """Minus the Hessian for each row, in units (m, m) in which exact rows bring about 1."""
        return np.asarray(-unit.T @ state.hessian.corner @ unit / self.seen.weight.sum())

    def in_users_units(
        self,
        end: Climb,
        unit: Array,
        p: int,
        reason: str,
        message: str,
        scores: Array | None,
        noise: Distribution | None = None,
        *,
        free_shape: bool = False,
    ) -> Maximum:
        """An end as p coefficients, other parameters, the shape of noise that has one, and their covariance.

        ``reason`` is "converged", "flat" or another, and ``message`` has its words.
        """
        theta = self.given + self.to_users @ end.state.x
        values, vectors = np.linalg.eigh(self.information(end.state, unit))
        directions = self.to_users @ unit @ vectors
        flat = values < (max(FLAT, 2.0 * float(values.min(initial=1.0))) if reason == "flat" else -np.inf)
        with np.errstate(invalid="ignore"):
            told = directions[:, ~flat] / np.sqrt(values[~flat] * self.seen.weight.sum())
        shape = None if noise is None or noise.shape_name is None else noise.coordinate
        return Maximum(
            theta[:p],
            theta[p : len(theta) - free_shape],
            float(theta[-1]) if free_shape else shape,
            end.state.value,
            float(np.abs(end.state.gradient).max(initial=0.0)),
            told @ told.T,
            directions[:, flat] @ directions[:, flat].T,
            self.free,
            scores,
            end.iterations,
            reason == "converged",
            message,
        )


@dataclass(frozen=True, slots=True)
class Predictors(Coordinates):
    """Rows and designs of r parameters of each row."""

    written: tuple[Array, ...]  # (n, k_j) of each parameter, as users have them
    offsets: tuple[Array, ...]  # (n,) of each
    designs: tuple[Array, ...]  # (n, m_j) of each, in coordinates x
    known: tuple[Array, ...]  # (n,), the rest of each

    def predictors(self, x: Array) -> list[Array]:
        """The parameters of the rows, (n,) each."""
        return [known + of_x for known, of_x in zip(self.known, self.moves(x), strict=True)]

    def moves(self, x: Array) -> list[Array]:
        """What changes of x change the parameters of the rows by, (n,) each."""
        return [design @ x[own] for design, own in zip(self.designs, places(self.designs), strict=True)]

    def times(self, rows: IntArray, at: Sequence[Jet]) -> RowTimes:
        """The distribution of the log times of some rows, of their parameters: the formula of the likelihood."""
        raise NotImplementedError

    def log_likelihoods(self, x: Array) -> Jet:
        """Log likelihoods of all rows, with derivatives in their parameters."""
        return log_likelihoods(self.rows_at(x), self.seen)

    def rows_at(self, x: Array) -> TimesOf:
        """What gives the distributions of some rows at x."""
        at = self.predictors(x)
        return lambda rows: self.times(rows, variables([each[rows] for each in at]))

    def evaluate(self, x: Array) -> State:
        """Log likelihood, gradient and Hessian at x: sums over blocks of rows."""
        some, n = blocks(len(self.seen)), len(self.seen)

        def sums(at: slice) -> tuple[float, Array, Array]:
            block = self.block(at) if len(some) > 1 else self
            return block.sums(block.log_likelihoods(x))

        value, gradient, hessian = add_up(map_independent(sums, some, heavy=n > 0))
        return State(x, value, gradient, symmetric(hessian))

    def block(self, at: slice) -> Self:
        """The problem of some of the rows, in the same coordinates."""
        names = ("written", "offsets", "designs", "known")
        some: dict[str, Any] = {name: tuple(each[at] for each in getattr(self, name)) for name in names}
        return replace(self, seen=self.seen.rows(at), **some)

    def row_scores(self, x: Array) -> Array:
        """Derivatives (n, k) of the log likelihood of each row in the parameters."""
        return self.scores(self.log_likelihoods(x))

    def sums(self, rows: Jet) -> tuple[float, Array, Array]:
        """Log likelihood, gradient and Hessian in x from those of the rows."""
        return float(self.seen.weight @ rows.value), *weighted_sums(rows, self.seen.weight, self.designs)

    def scores(self, rows: Jet) -> Array:
        """Derivatives (n, k) of the log likelihood of each row in the parameters."""
        slopes = (np.broadcast_to(rows.slope.get(j, 0.0), len(self.seen)) for j in range(len(self.written)))
        return np.hstack([of[:, None] * each for of, each in zip(slopes, self.written, strict=True)]) * self.free


def places(designs: Sequence[Array]) -> list[slice]:
    """Where the coefficients of each design stand."""
    return [slice(*ends) for ends in pairwise(accumulate((each.shape[1] for each in designs), initial=0))]


def weighted_sums(rows: Jet, weight: Array, designs: Sequence[Array]) -> tuple[Array, Array]:
    """Gradient and Hessian of the sum over rows in the coefficients of designs, of which their parameters are sums."""
    own = places(designs)
    gradient, hessian = np.zeros(own[-1].stop), np.zeros((own[-1].stop, own[-1].stop))
    for at in blocks(len(weight)):
        part, w, X = rows.take(at), weight[at], [each[at] for each in designs]
        for i, slope in part.slope.items():
            gradient[own[i]] += (w * slope) @ X[i]
        for (i, j), bend in part.bend.items():
            hessian[own[i], own[j]] += (X[i].T * (w * bend)) @ X[j]
    for i, j in rows.bend:
        hessian[own[j], own[i]] = hessian[own[i], own[j]].T
    return gradient, hessian


def symmetric(hessian: Array) -> Bordered:
    """The same without what rounding leaves of differences across the diagonal."""
    m = len(hessian)
    return Bordered(0.5 * (hessian + hessian.T), np.zeros((m, 0)), np.zeros(0), m)


def coordinates(
    designs: Sequence[Array], known: Sequence[Array], n: int, units: Sequence[float] | None = None
) -> tuple[list[Array], Array, Array]:
    """Blocks of each design, all of them as one matrix (k, m), and the k known parameters, NaN where estimated."""
    blocks = []
    for design, values, unit in zip(designs, known, units or [1.0] * len(designs), strict=True):
        free = np.isnan(values)
        block = np.zeros((len(values), int(free.sum())))
        block[free] = unit * np.sqrt(n) * np.linalg.inv(triangle_of(design, free))
        blocks.append(block)
    to_users = np.zeros((sum(map(len, blocks)), sum(block.shape[1] for block in blocks)))
    row = column = 0
    for block in blocks:
        to_users[row : row + len(block), column : column + block.shape[1]] = block
        row, column = row + len(block), column + block.shape[1]
    return blocks, to_users, np.nan_to_num(np.concatenate(known))


def orthonormal(
    seen: Outcome,
    designs: Sequence[Array],
    offsets: Sequence[Array],
    known: Sequence[Array],
    units: Sequence[float] | None = None,
) -> dict[str, Any]:
    """Fields of `Predictors`: columns made orthonormal, and offsets of ``known`` parameters, NaN where estimated.

    ``units`` are those of each parameter, 1 without.
    """
    blocks, to_users, given = coordinates(designs, known, len(seen), units)
    rest = [offset + of @ np.nan_to_num(value) for of, offset, value in zip(designs, offsets, known, strict=True)]
    return {
        "seen": seen,
        "to_users": to_users,
        "given": given,
        "written": tuple(designs),
        "offsets": tuple(offsets),
        "designs": tuple(product(of, block) for of, block in zip(designs, blocks, strict=True)),
        "known": tuple(rest),
    }
