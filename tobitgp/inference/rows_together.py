"""The posterior of several rows together: the covariance, the variance of a sum, and draws.

With a structured part, draws are those of (STR8): a draw of the prior is conditioned on the rows' sites in the same way
as the mean, so that no factor of the covariance is needed. Rows without knots get knots without sites.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
from scipy.linalg import lapack

from tobitgp.data.arrays import join
from tobitgp.errors import SpecError
from tobitgp.inference.feature_posterior import FeaturePosterior
from tobitgp.inference.structured import Field
from tobitgp.numerics.arrow import Loadings
from tobitgp.priors.kernel_block import KernelFeatures
from tobitgp.priors.kernels import KERNELS
from tobitgp.priors.level_curves import LevelCurvesAt
from tobitgp.priors.prior import DenseFeatures
from tobitgp.priors.structure import Inputs, Knots, StructuredTermAt
from tobitgp.typing import Array, BoolArray, IntArray


def covariance(posterior: FeaturePosterior, inputs: Sequence[Inputs], skip: frozenset[int] = frozenset()) -> Array:
    """Covariance (n, n) of f in any rows, but for its residual there."""
    A, _ = posterior.features(inputs, skip)
    field = posterior.field
    if field is None:
        return posterior.factor.covariance(A)
    field, u = _indicators(field, inputs, skip)
    V0 = field.at.condition(field.lambda2).solve(u)
    half = posterior.factor.whiten((A.common - V0.T @ field.U[:, 1:]).T)
    return u.T @ V0 + half.T @ half


class Summed(NamedTuple):
    """Some rows of a sum."""

    inputs: Sequence[Inputs]
    c: Array  # (n,), of f
    of_noise: Array  # (n,), of log sigma, where it has a process


def variance_of_sum(posterior: FeaturePosterior, parts: Iterable[Summed]) -> float:
    """Variance of ``sum c_n f_n`` and log sigmas over rows given in parts, but for their residuals."""
    parts = list(parts)
    g = np.sum([posterior.features(inputs)[0].adjoint(c) for inputs, c, _ in parts], axis=0)
    if posterior.noise:
        g += np.sum([posterior.noise_features(inputs)[0].adjoint(c) for inputs, _, c in parts], axis=0)
    if posterior.field is None:
        return float(np.sum(np.square(posterior.factor.whiten(g))))
    block = posterior.field.block
    field, knot = posterior.field.extended(join([inputs[block] for inputs, _, _ in parts]))
    u = Knots(field.structure, knot).sums(np.concatenate([c for _, c, _ in parts]))[:, None]
    V0 = field.at.condition(field.lambda2).solve(u)
    half = posterior.factor.whiten(g - field.U[:, 1:].T @ V0[:, 0])
    return float((u.T @ V0).item() + half @ half)


def shared_residuals(
    posterior: FeaturePosterior, inputs: Sequence[Inputs], skip: frozenset[int] = frozenset()
) -> Iterator[Array]:
    """Factors E (n, k) of what the residuals of f in these rows, of variances d, have in common, (PRE10).

    Weights that the rows of a group not seen in training have in common; and what features leave of a process, which
    is as smooth as the process itself.
    """
    for t, (block, at) in enumerate(zip(posterior.blocks, inputs, strict=True)):
        if t in skip or t in posterior.noise or isinstance(block, StructuredTermAt):
            continue
        seen = np.ones(len(at.X), dtype=bool) if at.code is None else at.code >= 0
        if at.code is not None and not seen.all():
            new, position = np.unique(at.code, return_inverse=True)
            A = block.features(at.X).A
            for column in A.T:
                yield np.where(np.equal.outer(position, np.flatnonzero(new < 0)), column[:, None], 0.0)
        if isinstance(block, KernelFeatures | LevelCurvesAt):
            yield _residual_factor(block, at, seen)


LEFT = 1e-6  # of a process's variance
FEW_ROWS, MOST_SHARED = 3000, 300  # up to which all is formed; columns where rows are more


def _residual_factor(block: KernelFeatures | LevelCurvesAt, at: Inputs, seen: BoolArray) -> Array:
    """Pivoted Cholesky factor (n, k) of what features leave of the covariance of a process between rows."""
    code = np.where(seen, 0 if at.code is None else at.code, -1)
    _, first, place = np.unique(np.column_stack([at.X, code]), axis=0, return_index=True, return_inverse=True)
    E = _factor_of_distinct(block, at.X[first], code[first])
    if isinstance(block, KernelFeatures) and E.size:
        E *= _signs(block, at.X[first])[np.abs(E).argmax(axis=0)]
    return E[place.ravel()]


def _signs(block: KernelFeatures, X: Array) -> Array:
    """Signs (n,) of rows in which a process that is a product with a single column is minus that of its opposite.

    With these signs, draws do not depend on which rows are drawn together.
    """
    signs = np.ones(len(X))
    for factor in block.covariance.factors:
        if factor.kernel is KERNELS["linear"] and factor.columns.stop - factor.columns.start == 1:
            signs = np.where(X[:, factor.columns.start] < 0.0, -signs, signs)
    return signs


def _factor_of_distinct(block: KernelFeatures | LevelCurvesAt, X: Array, code: IntArray) -> Array:
    """The same of distinct inputs of groups (n,), below 0 where these are new."""
    part, n, seen = block.features(X), len(X), code >= 0
    A = part.cache.A if isinstance(block, LevelCurvesAt) else part.A
    d = np.where(seen, part.d, 0.0)
    least = LEFT * float((part.d + np.einsum("nm,nm->n", part.A, part.A)).max(initial=0.0))
    if n <= FEW_ROWS and d.max(initial=0.0) > least:
        same = (code[:, None] == code) & seen
        L, pivots, rank, _ = lapack.dpstrf(np.where(same, block.residuals(X, A, slice(None)), 0.0), lower=1, tol=least)
        out = np.empty((n, rank))
        out[pivots - 1] = np.tril(L)[:, :rank]
        return out
    columns = np.empty((0, n))
    while len(columns) < MOST_SHARED and d.max(initial=0.0) > least:
        i = int(np.argmax(d))
        column = block.residuals(X, A, slice(i, i + 1))[:, 0] - columns.T @ columns[:, i]
        column = np.where(code == code[i], column, 0.0) / np.sqrt(d[i])
        columns = np.concatenate([columns, column[None]])
        d = np.maximum(d - column * column, 0.0)
    return columns.T


class DrawnWeights(NamedTuple):
    """Draws of a posterior."""

    w: Array  # (M, S)
    e: Array | None = None  # (N, S), the structured part at its knots
    knot: IntArray | None = None  # (n,), those of the rows asked for

    def at(self, posterior: FeaturePosterior, inputs: Sequence[Inputs], skip: frozenset[int] = frozenset()) -> Array:
        """F in rows whose knots are known, (n, S), but for its residual."""
        return self.of(posterior.features(inputs, skip)[0], posterior, inputs, skip)

    def of(self, A: Loadings, posterior: FeaturePosterior, inputs: Sequence[Inputs], skip: frozenset[int]) -> Array:
        """The same where the features of the rows are known."""
        f = A.times(self.w)
        if self.e is None or posterior.field is None or self.knot is None:
            return f
        check_shown(posterior.field, skip)
        block = posterior.field.block
        return f + (posterior.field.level_of(self.e, inputs[block]) if block in skip else self.e[self.knot])

    def log_noise(self, posterior: FeaturePosterior, inputs: Sequence[Inputs]) -> tuple[Array, Array]:
        """Log sigma in rows, but for its known part, (n, S), and its residual variance (n,)."""
        A, d = posterior.noise_features(inputs)
        return A.times(self.w), d

    def rows(self, at: slice) -> DrawnWeights:
        """For some of the rows."""
        return self if self.knot is None else self._replace(knot=self.knot[at])


def draw(posterior: FeaturePosterior, inputs: Sequence[Inputs], draws: int, rng: np.random.Generator) -> DrawnWeights:
    """Draw weights, and the structured part where the rows are."""
    z = rng.standard_normal((len(posterior.w), draws))
    if posterior.field is None:
        return DrawnWeights(posterior.w[:, None] + posterior.factor.colour(_turned(posterior, z)))
    field, knot = posterior.field.extended(inputs[posterior.field.block])
    e, size, A = field.at.draw(draws, rng), np.maximum(field.lambda2, 0.0), field.U[:, 1:]
    seen = size > 0.0
    # What the rows of a knot add up to, and what the features then still vary by.
    noise = np.sqrt(size)[:, None] * rng.standard_normal(e.shape)
    share = np.divide(A, size[:, None], out=np.zeros_like(A), where=seen[:, None])
    values, vectors = np.linalg.eigh(field.gram - A.T @ share)
    rest = vectors @ (np.sqrt(np.maximum(values, 0.0))[:, None] * rng.standard_normal(z.shape))
    t = field.U[:, :1] + noise - A @ z - field.lambda2[:, None] * e
    t_A = field.r[:, None] + share.T @ noise + rest - field.gram @ z - A.T @ e
    V0 = field.at.condition(field.lambda2).solve(np.concatenate([t, A], axis=1))
    w = posterior.factor.colour(posterior.factor.whiten(t_A - A.T @ V0[:, :draws]))
    return DrawnWeights(z + w, e + V0[:, :draws] - V0[:, draws:] @ w, knot)


def _turned(posterior: FeaturePosterior, z: Array) -> Array:
    """Standard normal numbers (M, S), turned so that draws do not depend on how linear columns are coded.

    Given the other weights, those of linear columns are drawn along the axes of their covariance, each in the direction
    in which the posterior mean lies: other codings of the columns turn these axes as they turn the features.
    """
    if not posterior.blocks or not isinstance(posterior.blocks[0], DenseFeatures):
        return z
    kind, c = posterior.layout.places[0]
    if kind != "common" or c.start > 0:
        return z
    root = posterior.factor.inverse[c, c].T
    U, size, V = np.linalg.svd(root)
    sign = np.where((U * size).T @ posterior.w[c] < 0.0, -1.0, 1.0)
    z[c] = V.T @ (sign[:, None] * z[c])
    return z


def _indicators(field: Field, inputs: Sequence[Inputs], skip: frozenset[int]) -> tuple[Field, Array]:
    """The field with knots where the rows are, and what of the knots (N, n) each row shows: its own, or a level."""
    check_shown(field, skip)
    block = field.block
    if block in skip:
        return field, field.level_weights(inputs[block])
    field, knot = field.extended(inputs[block])
    u = np.zeros((len(field.lambda2), len(knot)))
    u[knot, np.arange(len(knot))] = 1.0
    return field, u


def check_shown(field: Field, skip: frozenset[int]) -> None:
    """Raise an error if only some of the terms in one structure are shown, since it is drawn as their sum."""
    if 0 < len(skip.intersection(field.blocks.tolist())) < len(field.blocks):
        raise SpecError(
            "exclude=: Markov terms of the same input are drawn as one sum; exclude all of them or none. predict() "
            "takes them apart."
        )
