"""Levels of processes, one in each group where there are groups, and how linear columns hold them, (FEA10)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import diags
from scipy.sparse.linalg import splu

from tobitgp.engines import add_up
from tobitgp.inference.evidence import sites_of
from tobitgp.inference.feature_layout import linear_places
from tobitgp.inference.feature_posterior import NO_LEVEL, FeaturePosterior
from tobitgp.inference.site_updates import SiteChunk, SitesState, all_weights
from tobitgp.inference.structured import Field
from tobitgp.numerics.arrow import by_group
from tobitgp.priors.prior import Prior
from tobitgp.typing import Array, BoolArray, IntArray

_SPANNED = 1e-9  # of the squared length of an indicator


class HeldLevels(NamedTuple):
    """A block whose levels linear columns hold, or some of them; the same whatever the parameters."""

    weight: Array  # (L,), of the rows of each level
    share: Array  # (L, p), weights in which the columns add up to its indicator; zero where they do not

    @property
    def levels(self) -> BoolArray:
        """Which levels these are, (L,)."""
        return np.asarray(self.share.any(axis=1))


def held_levels(posterior: FeaturePosterior, prior: Prior) -> dict[int, HeldLevels]:
    """The blocks whose levels are held, while the rows are at hand."""
    field, held = posterior.field, {}
    several = [] if field is None or len(field.blocks) == 1 else field.blocks.tolist()  # held as their sum
    blocks = sorted(prior.with_levels.difference(several))
    if prior.n_linear and blocks:
        columns = None if prior.factor is None else prior.factor.columns
        at = linear_places(posterior.layout, prior.n_linear, columns)
        gram, *sums = add_up(posterior.rows.collect(linear_sums, blocks, at))
        for block, total in zip(blocks, sums, strict=True):
            found = _held(gram, total[:, :-1], total[:, -1])
            if found.share.any():
                held[block] = found
    return held


def _held(gram: Any, linear: Array, weight: Array) -> HeldLevels:
    """From the Gram matrix of the columns, and sums (L, p) of these and (L,) of weights over the rows of each level."""
    diagonal = gram.diagonal()
    size, absent = np.sqrt(np.where(diagonal > 0.0, diagonal, 1.0)), np.where(diagonal > 0.0, 0.0, 1.0)
    if isinstance(gram, np.ndarray):
        scaled = gram / size / size[:, None] + np.diag(absent)  # 0: a fixed coefficient
        share = np.linalg.solve(scaled, (linear / size).T).T / size
    else:
        scaled = diags(1.0 / size) @ gram @ diags(1.0 / size) + diags(absent)
        share = splu(scaled.tocsc()).solve((linear / size).T).T
        share = np.where(np.abs(share) > _SPANNED * np.abs(share).max(), share, 0.0) / size
    held = weight - np.einsum("lp,lp->l", share, linear) <= _SPANNED * weight
    # A level that no linear columns hold is the process's own.
    return HeldLevels(weight, np.where(held[:, None], share, 0.0))


def without_rows(posterior: FeaturePosterior, held: Mapping[int, HeldLevels]) -> FeaturePosterior:
    """The posterior with its sites, and the mean features of the rows of each level that is held, in their place."""
    levels = [NO_LEVEL] * len(posterior.blocks)
    if held:
        sums = add_up(posterior.rows.collect(feature_sums, list(held)))
        for (block, own), total in zip(held.items(), sums, strict=True):
            mean = total / np.where(own.weight > 0.0, own.weight, 1.0)[:, None]
            levels[block] = np.where(own.levels[:, None], mean, 0.0), own.share
    field, sites = _with_level(posterior, held), sites_of(posterior)
    return replace(posterior, levels=tuple(levels), field=field, sites=sites, structured=None, states=None, pairs=None)


def _with_level(posterior: FeaturePosterior, held: Mapping[int, HeldLevels]) -> Field | None:
    """The structured part with the weights of its level, where linear columns hold that of its only term."""
    field, structured = posterior.field, posterior.structured
    if field is None or structured is None or len(field.blocks) > 1 or field.block not in held:
        return field
    weight = structured.knots.sums(np.concatenate(posterior.rows.collect(all_weights)))
    code = structured.knots.structure.inputs.code
    group = np.zeros(len(weight), dtype=np.intp) if code is None else code
    total = np.bincount(group, weights=weight)
    return replace(field, level=np.where(held[field.block].levels[group], weight / total[group], 0.0))


def linear_sums(state: SitesState, blocks: Sequence[int], at: IntArray) -> list[Any]:
    """Gram matrix (p, p) of linear features with weights ``at`` (p,); sums (L, p + 1) of these and of 1 by level."""

    def sums(chunk: SiteChunk) -> Iterator[Any]:
        linear, c = state.features(chunk)[1].columns(at), chunk.rows.weight[:, None]
        yield linear.T @ (c * linear if isinstance(linear, np.ndarray) else linear.multiply(c).tocsr())
        for t in blocks:
            own = _by_level(state, chunk, t, linear), _by_level(state, chunk, t, np.ones_like(c))
            yield np.concatenate([x if isinstance(x, np.ndarray) else x.toarray() for x in own], axis=1)

    return add_up(list(sums(chunk)) for chunk in state.chunks)


def feature_sums(state: SitesState, blocks: Sequence[int]) -> list[Any]:
    """For each block sums (L, m) of its features by level."""
    return add_up([_by_level(state, chunk, t, state.features(chunk)[0][t].A) for t in blocks] for chunk in state.chunks)


def _by_level(state: SitesState, chunk: SiteChunk, block: int, values: Any) -> Any:
    """Weighted sums (L, k) of values (n, k), an array or a sparse matrix."""
    weight, code, grouping = chunk.rows.weight, chunk.inputs[block].code, state.setting.blocks[block].grouping
    if code is None or grouping is None:
        return (weight @ values)[None]
    return by_group(weight[:, None], code, grouping.size).T @ values
