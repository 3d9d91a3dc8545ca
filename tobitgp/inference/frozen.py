"""Evaluations with features that stay while parameters move, (FEA11) to (FEA14) of the theory pages.

A block has features ``A = K_NM L0^-T`` at ``theta0``. At other parameters, with ``K_MM = L L'``, the weights of these
have the covariance ``R R'`` with ``R = L0^-1 L``, but for what inducing inputs leave. So rows are met once: those
whose sites are known as one Gram matrix, and a gradient visits none.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, NamedTuple

import numpy as np
import scipy.linalg

from tobitgp.data.arrays import KindRows
from tobitgp.engines import Partitions, add_up
from tobitgp.inference import site_updates
from tobitgp.inference.evidence import implicit_sums
from tobitgp.inference.feature_layout import Layout, join_features, lay_out
from tobitgp.inference.feature_posterior import FeatureWeights, Settled
from tobitgp.inference.fixed_point import SOUGHT_BYTES, iterate
from tobitgp.inference.method import Method
from tobitgp.inference.partitioned import PartitionedRows, RowPartition, Sites, spans
from tobitgp.inference.site_updates import CHUNK_ROWS, Setting, SiteChunk, SitesState
from tobitgp.likelihoods.censoring_noise import Spread
from tobitgp.likelihoods.row_terms import Likelihood
from tobitgp.numerics.arrow import (
    Arrow,
    Factor,
    Loadings,
    Slope,
    factorise,
    identity,
    inverse_arrow,
    multiply,
    squared_lengths,
)
from tobitgp.numerics.linear_algebra import cholesky, solve_lower, solve_upper, triangular_product
from tobitgp.priors.group_effects import EffectsAt
from tobitgp.priors.kernel_block import RELATIVE_RESIDUAL, KernelFeatures
from tobitgp.priors.structure import Block, BlockAt, split_theta
from tobitgp.typing import Array


class KeptRows(NamedTuple):
    """What stays of a part's rows."""

    known: tuple[SiteChunk, ...]  # whose sites are known
    sought: tuple[SiteChunk, ...]
    sums: tuple[Any, ...]  # over those that are known, where there are any, as in `KnownMoments`


class KnownMoments(NamedTuple):
    """What the rows whose sites are known say of the weights, if sigma were 1."""

    G: Arrow  # A' diag(precision) A
    r: Array  # A' diag(precision) y
    yy: float  # y' diag(precision) y
    D: float  # if the mean met every value
    weight: float  # frequency weights

    def misfit(self, c: Array) -> float:
        """Sum of precision times ``(y - A c)^2``."""
        return self.yy - 2.0 * float(self.r @ c) + float(c @ multiply(self.G, c))


@dataclass(frozen=True, slots=True)
class Frozen:
    """Blocks at ``theta0``, and what of the rows stays with them."""

    blocks: Sequence[Block]
    at: tuple[BlockAt, ...]
    layout: Layout
    known: KnownMoments
    from_flat: ClassVar[bool] = False

    @classmethod
    def of(
        cls, data: PartitionedRows, blocks: Sequence[Block], theta: Array, method: Method, likelihood: Likelihood
    ) -> tuple[Frozen, PartitionedRows]:
        """Features at parameters hardly smoother than any needed later, and the rows with what is kept of them."""
        empty = cls.without_rows(blocks, theta)
        view = Spread(method.view(likelihood.over(data.kinds).at(theta)))
        setting = Setting(empty.at, empty.layout, method, view, 1.0)
        kept = data.partitions.map(keep, setting, data.partitions.space(SOUGHT_BYTES) / data.n)
        known = KnownMoments(*add_up([empty.known, *filter(None, kept.collect(known_sums))]))
        return replace(empty, known=known), replace(data, partitions=kept)

    @classmethod
    def without_rows(cls, blocks: Sequence[Block], theta: Array) -> Frozen:
        """At parameters, before any rows are met."""
        at = tuple(b.at(t) for b, t in zip(blocks, split_theta(blocks, theta), strict=True))
        layout = lay_out(at)
        G = tuple(0.0 * part for part in identity(layout.p, layout.m, layout.size))
        return cls(blocks, at, layout, KnownMoments(G, np.zeros(layout.p + layout.m * layout.size), 0.0, 0.0, 0.0))

    def settle(
        self, data: PartitionedRows, theta: Array, method: Method, likelihood: Likelihood, slopes: bool, windows: bool
    ) -> Settled:
        """The method's fixed point at given parameters."""
        there = FrozenAt.of(self, theta)
        setting = Setting(self.at, self.layout, method, Spread(method.view(likelihood.at(theta))), there.sigma)
        end = iterate(data.partitions.map(begin, setting, windows), there, method, setting.likelihood)
        q = end.q
        evidence = end.D + there.evidence(end.states, q) - 0.5 * q.quadratic - 0.5 * q.log_det
        gradient = None
        if slopes:
            u = there.implicit(end.states, q) if method.traits.ascends == "joint" else None
            moved = None if u is None else there.root.times(u)
            gradient = there.gradient(theta, q, u, add_up(end.states.collect(noise_slopes, q, moved)))
        ended = evidence, end.iterations, end.residual, end.converged, self.layout.row_features
        return Settled(theta, *ended, gradient, data.starting(end.states.map(site_updates.ended)), _no_posterior)

    def site_sums(self, data: PartitionedRows, theta: Array, method: Method, likelihood: Likelihood) -> list[Any]:
        """G and r over the rows whose sites are sought, at those that they have."""
        view = Spread(method.view(likelihood.at(theta)))
        setting = Setting(self.at, self.layout, method, view, float(np.exp(theta[-1])))
        return add_up(data.partitions.map(begin, setting, True).collect(site_updates.site_sums))

    @property
    def n_of_blocks(self) -> int:
        """Parameters of the blocks; those of the noise follow."""
        return sum(block.n_parameters for block in self.blocks)


def keep(part: RowPartition, setting: Setting, space: float) -> RowPartition:
    """The part with what stays of its rows: the sums over known ones, features of the others if there is space.

    The space is in bytes for each row of the part, whatever is known of it.
    """
    known: list[SiteChunk] = []
    sought: list[SiteChunk] = []
    for rows, span in spans(part.rows, CHUNK_ROWS):
        chunk = SiteChunk(rows, span, tuple(at.rows(span) for at in part.inputs), setting.likelihood.is_conjugate(rows))
        (known if chunk.conjugate else sought).append(chunk)

    def with_features(chunk: SiteChunk) -> SiteChunk:
        _, A, d = join_features(setting.layout, setting.blocks, chunk.inputs)
        return replace(chunk, inputs=(), kept=(((), A, d),))

    def sums(chunk: SiteChunk) -> KnownMoments:
        A, rows = join_features(setting.layout, setting.blocks, chunk.inputs)[1], chunk.rows
        precision, D = _precision(rows), setting.method.exact_part(rows, rows.limit, np.zeros(len(rows)), 1.0)
        y = precision * rows.limit
        return KnownMoments(
            A.gram(precision), A.adjoint(y), float(y @ rows.limit), float(D.sum()), float(rows.weight.sum())
        )

    of_known = tuple(add_up(map(sums, known)))
    features = 8 * setting.layout.row_features * sum(len(chunk.rows) for chunk in sought)
    kept = map(with_features, sought) if features <= space * len(part) else sought
    return replace(part, kept=KeptRows(tuple(replace(c, inputs=()) for c in known), tuple(kept), of_known))


def known_sums(part: RowPartition) -> tuple[Any, ...]:
    """As in `KnownMoments`."""
    assert part.kept is not None
    return part.kept.sums


def _precision(rows: KindRows) -> Array:
    """Site precisions of rows whose sites are known, if sigma were 1."""
    return rows.weight / np.square(rows.noise(1.0))


def begin(part: RowPartition, setting: Setting, windows: bool) -> SitesState:
    """Sites that are known, the others where they start or flat."""
    assert part.kept is not None
    sites = Sites(*np.zeros((2, len(part)))) if part.sites is None else part.sites.copy()
    for chunk in part.kept.known:
        sites.lambda2[chunk.span] = _precision(chunk.rows) / setting.sigma**2
        sites.lambda1[chunk.span] = sites.lambda2[chunk.span] * chunk.rows.limit
    chunks = part.kept.sought
    if not windows:
        chunks = tuple(replace(chunk, rows=replace(chunk.rows, window=None)) for chunk in chunks)
    return SitesState(part, setting, chunks, sites)


def noise_slopes(state: SitesState, q: FeatureWeights, implicit: Array | None) -> list[Any]:
    """Derivatives in the noise parameters over the rows whose sites are sought; the mode moves by ``A implicit``."""

    def visit(chunk: SiteChunk) -> list[Array]:
        A, marginals = state.marginals(chunk, q)
        s = site_updates.slopes_of(state.setting, chunk.rows, marginals)
        moved = 0.0 if implicit is None or s.implicit is None else s.implicit[1] @ A.times(implicit)
        scales, noise = chunk.rows.scales, s.e.sum(axis=1) + moved
        return [noise if scales is None else np.concatenate([s.e[-1] @ scales[:, 1:], noise])]

    return add_up(map(visit, state.chunks))


def _no_posterior() -> Any:
    raise AssertionError("Features that stay are of training rows only.")


def _moved(at: BlockAt, theta: Array) -> BlockAt:
    """A block at other parameters, with the same inducing inputs."""
    if isinstance(at, EffectsAt):
        return EffectsAt.of(theta, at.size, at.grouping)
    if not isinstance(at, KernelFeatures):
        return at
    variance, parameters = float(np.exp(2.0 * theta[0])), np.exp(theta[1:])
    K = variance * at.covariance.value(at.Z, at.Z, parameters)
    K[np.diag_indices_from(K)] += RELATIVE_RESIDUAL * variance
    return KernelFeatures(at.covariance, variance, parameters, at.Z, cholesky(np.asfortranarray(K)), at.grouping)


def _root(at: BlockAt, now: BlockAt) -> Array:
    """``R`` of a block, (M_t, M_t), lower triangular."""
    if isinstance(at, KernelFeatures | EffectsAt) and isinstance(now, KernelFeatures | EffectsAt):
        return solve_lower(at.L, np.asfortranarray(now.L))
    return np.eye(at.size)


def _block_diagonal(blocks: Sequence[Array]) -> Array:
    return np.asarray(scipy.linalg.block_diag(*blocks), dtype=np.float64)


def _of_groups(w: Array, layout: Layout) -> Array:
    """Weights (G, m) of the groups."""
    return w[layout.p :].reshape(layout.size, layout.m)


class Root(NamedTuple):
    """The root R of the weights' covariance: of common ones, and of those of each group."""

    common: Array  # (p, p)
    own: Array  # (m, m)

    def around(self, G: Arrow) -> Arrow:
        """``R' G R``, its corner in full."""
        m, corner = len(self.own), self.common.T @ (np.tril(G[0]) + np.tril(G[0], -1).T) @ self.common
        if len(G) == 1:
            return (corner,)
        left = self.own.T @ G[1]
        return corner, np.concatenate([left[:, :, :m] @ self.own, left[:, :, m:] @ self.common], axis=2)

    def times(self, w: Array) -> Array:
        """``R w``, (M,)."""
        return self._by_part(w, self.common, self.own)

    def adjoint(self, r: Array) -> Array:
        """``R' r``, (M,)."""
        return self._by_part(r, self.common.T, self.own.T)

    def _by_part(self, w: Array, common: Array, own: Array) -> Array:
        p, m = len(common), len(own)
        return np.concatenate([common @ w[:p], (w[p:].reshape(-1, m) @ own.T).ravel()]) if m else common @ w


@dataclass(frozen=True, slots=True)
class MovedFactor(Factor):
    """The factor of B of whitened weights w, for rows whose features have the weights ``R w``."""

    R: Root = field(kw_only=True)
    w: Array = field(kw_only=True)
    W: Array = field(init=False)  # (p, p), lower triangular: ``L^-1 R'`` but for a rotation
    both: Array | None = field(
        init=False, default=None
    )  # (G, m, m + p), what a group's features become: its own, and less in the corner

    def __post_init__(self) -> None:
        Factor.__post_init__(self)
        Q, W = scipy.linalg.qr((self.inverse @ self.R.common.T)[:, ::-1])
        object.__setattr__(self, "W", np.asfortranarray(W[::-1, ::-1]))
        if self.T is not None and self.U is not None:
            T = self.R.own @ self.T.transpose(0, 2, 1)
            both = np.concatenate([T, T @ self.U @ self.inverse.T @ Q[:, ::-1]], axis=2)
            object.__setattr__(self, "both", both)

    @property
    def root(self) -> Array:
        """By which rows of common columns are whitened, (p, p), lower triangular."""
        return self.W

    def quadratic(self, w: Array) -> float:
        """Sum of squares of the whitened weights, whatever w is."""
        return float(self.w @ self.w)

    def begin(self, A: Loadings) -> tuple[Array, Slope]:
        """As that of a factor."""
        whitened = self.whiten_rows(A)
        return squared_lengths(whitened), whitened

    def whiten_rows(self, A: Loadings) -> Slope:
        """``A R L^-T``, the corner rotated."""
        corner = triangular_product(A.common.copy(), self.W, transposed=True)
        if A.own is None or self.both is None:
            return Slope(corner)
        G, m, width = self.both.shape
        rows = A.own.expanded() @ self.both.reshape(G * m, width)
        return Slope(corner - rows[:, m:], rows[:, :m])


@dataclass(frozen=True, slots=True)
class FrozenAt:
    """Frozen blocks at given parameters."""

    known: KnownMoments
    layout: Layout
    blocks: Sequence[BlockAt]
    root: Root
    sigma: float

    @classmethod
    def of(cls, frozen: Frozen, theta: Array) -> FrozenAt:
        """From the features that stay."""
        roots: dict[str, list[Array]] = {"common": [np.zeros((0, 0))], "own": [np.zeros((0, 0))]}
        blocks = [_moved(at, own) for at, own in zip(frozen.at, split_theta(frozen.blocks, theta), strict=True)]
        for place, at, now in zip(frozen.layout.places, frozen.at, blocks, strict=True):
            root = _root(at, now)
            if place.kind == "spread":
                root = _block_diagonal([root] * ((place.columns.stop - place.columns.start) // at.size))
            roots["own" if place.kind == "own" else "common"].append(root)
        root_of_all = Root(*map(_block_diagonal, roots.values()))
        return cls(frozen.known, frozen.layout, blocks, root_of_all, float(np.exp(theta[-1])))

    def evidence(self, states: Partitions, q: FeatureWeights) -> float:
        """D of the rows whose sites are known."""
        return self.known_evidence(q)

    def known_evidence(self, q: FeatureWeights) -> float:
        """The same, which needs no visit."""
        known = self.known
        return known.D - known.weight * np.log(self.sigma) - 0.5 * known.misfit(q.w) / self.sigma**2

    def posterior(self, states: Partitions) -> FeatureWeights:
        """Of the weights ``R w``, with the sums over the rows whose sites are sought, (FEA12)."""
        return self.given(*add_up(states.collect(site_updates.site_sums)))

    def given(self, *sought: Any) -> FeatureWeights:
        """The same from the sums G and r over the rows whose sites are sought; none without any."""
        root, layout, precision = self.root, self.layout, self.sigma**-2
        known = tuple(precision * part for part in self.known.G), precision * self.known.r
        G, r = add_up([known, sought])
        unit = identity(layout.p, layout.m, layout.size)
        factor = factorise(tuple(eye + part for eye, part in zip(unit, root.around(G), strict=True)))
        w = factor.solve(root.adjoint(r))
        return FeatureWeights(root.times(w), MovedFactor(factor.L, factor.T, factor.U, R=root, w=w))

    def expected(self, known: KnownMoments, q: FeatureWeights) -> float:
        """Expected log likelihood of some rows whose sites are known."""
        there = replace(self, known=known)
        misfit = known.misfit(q.w) + there._spread(inverse_arrow(q.factor))
        return known.D - known.weight * float(np.log(self.sigma)) - 0.5 * misfit / self.sigma**2

    def implicit(self, states: Partitions, q: FeatureWeights) -> Array:
        """How the whitened weights of the mode move, (LA5)."""
        sums = add_up(states.collect(implicit_sums, q))
        return q.factor.solve(self.root.adjoint(sums[0])) if sums else np.zeros_like(q.w)

    def gradient(self, theta: Array, q: FeatureWeights, u: Array | None, by_noise: Sequence[Array]) -> Array:
        """Of the evidence, (FEA13) and (FEA14); ``by_noise`` is of the rows whose sites are sought."""
        factor, layout = q.factor, self.layout
        assert isinstance(factor, MovedFactor)
        S, w = inverse_arrow(factor), factor.w
        pairs = [(w, w)]
        if u is not None:
            pairs += [(w, u), (u, w)]
        E = {"common": S[0] - np.eye(layout.p) + sum(np.multiply.outer(a[: layout.p], b[: layout.p]) for a, b in pairs)}
        E["spread"] = E["common"]
        if layout.m:
            E["own"] = S[1][:, :, : layout.m].sum(axis=0) - layout.size * np.eye(layout.m)
            E["own"] += sum(_of_groups(a, layout).T @ _of_groups(b, layout) for a, b in pairs)
        found = []
        for place, block in zip(self.layout.places, self.blocks, strict=True):
            if not isinstance(block, KernelFeatures | EffectsAt):
                continue
            size = block.size
            here = E[place.kind][place.columns, place.columns]
            groups = len(here) // size
            summed = np.einsum("gigj->ij", here.reshape(groups, size, groups, size))
            if isinstance(block, EffectsAt):
                found.append(block.finish((solve_upper(block.L, np.asfortranarray(summed)),)))
            else:
                found.append(block.finish((np.zeros(()), np.zeros(len(block.parameters)), -summed, np.zeros(()))))
        noise = np.zeros(len(theta) - sum(map(len, found)))
        noise += by_noise[0] if by_noise else 0.0
        noise[-1] += (self.known.misfit(q.w) + self._spread(S)) / self.sigma**2 - self.known.weight
        if u is not None:
            residual = self.known.r - multiply(self.known.G, q.w)
            noise[-1] -= 2.0 * float(residual @ self.root.times(u)) / self.sigma**2
        return np.concatenate([*found, noise])

    def _spread(self, S: Arrow) -> float:
        """``tr(G R S R')`` of the known rows."""
        (corner, *own), m = self.root.around(self.known.G), self.layout.m
        found = float(np.sum(corner * S[0]))
        for groups in own:
            found += float(np.sum(groups[:, :, :m] * S[1][:, :, :m]) + 2.0 * np.sum(groups[:, :, m:] * S[1][:, :, m:]))
        return found
