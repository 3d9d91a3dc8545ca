"""Where each block's features are among all.

One grouping, the one with most weights, is held as an arrow (``numerics/arrow.py``); blocks of any other are among the
common columns, every group's features after the last's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from tobitgp.numerics.arrow import Loadings, OwnColumns, Slope, SpreadColumns
from tobitgp.priors.prior import LevelColumns
from tobitgp.priors.structure import BlockAt, Features, Inputs, StructuredTermAt
from tobitgp.typing import Array, IntArray


class Place(NamedTuple):
    """One block's place: among common columns, as they are or spread over groups, or among those of a row's group.

    Columns that are spread over many groups are held as the few entries that a row has in them, after all others.
    """

    kind: Literal["common", "spread", "sparse", "own"]
    columns: slice


@dataclass(frozen=True, slots=True)
class Layout:
    """Places of all blocks."""

    places: tuple[Place, ...]
    p: int  # common features
    m: int  # features of each group
    size: int  # groups
    entries: int = 0  # of a row in the columns that are held by their entries

    @property
    def row_features(self) -> int:
        """Numbers that are held of a row."""
        return self.dense + self.entries + self.m

    @property
    def dense(self) -> int:
        """Common features but for those that are held by their entries."""
        return min((place.columns.start for place in self.places if place.kind == "sparse"), default=self.p)

    @property
    def has_sparse(self) -> bool:
        """Whether some columns are held by their entries."""
        return self.entries > 0


MOST_SPREAD = 100  # columns of groups that are not eliminated, above which they are held by their entries


def lay_out(blocks: Sequence[BlockAt]) -> Layout:
    """Place blocks, in their order; a structured part ties groups together, so that all columns are common."""
    weights: dict[tuple[str, int], int] = {}
    structured = any(isinstance(block, StructuredTermAt) for block in blocks)
    for block in blocks:
        if block.grouping is not None and not structured:
            weights[block.grouping] = weights.get(block.grouping, 0) + block.size * block.grouping.size
    chosen = max(weights, key=lambda grouping: weights[grouping], default=None)
    sparse = sum(size for grouping, size in weights.items() if grouping != chosen) > MOST_SPREAD
    places, p, m = {}, 0, 0
    # Columns that are held by their entries come last.
    order = sorted(range(len(blocks)), key=lambda t: sparse and blocks[t].grouping not in (None, chosen))
    for t in order:
        block = blocks[t]
        if block.grouping is None or block.grouping != chosen:
            width = block.size * (1 if block.grouping is None else block.grouping.size)
            kind: Any = "common" if block.grouping is None else "sparse" if sparse else "spread"
            places[t] = Place(kind, slice(p, p + width))
            p += width
        else:
            places[t] = Place("own", slice(m, m + block.size))
            m += block.size
    entries = sum(block.size for t, block in enumerate(blocks) if places[t].kind == "sparse")
    in_order = tuple(places[t] for t in range(len(blocks)))
    return Layout(in_order, p, m, 0 if chosen is None else chosen[1], entries)


def join_features(
    layout: Layout, blocks: Sequence[BlockAt], inputs: Sequence[Inputs], *, slopes: bool = False
) -> tuple[tuple[Features, ...], Loadings, Array]:
    """Features of each block in rows with the given inputs, all of them as ``A``, and the sum of their ``d`` (n,)."""
    parts = tuple(block_features(block, at, slopes=slopes) for block, at in zip(blocks, inputs, strict=True))
    joined = place_columns(layout, inputs, [part.A for part in parts])
    seen = tuple(
        part._replace(A=joined.common[:, place.columns]) if place.kind == "common" else part
        for part, place in zip(parts, layout.places, strict=True)
    )
    return seen, joined, sum_residuals(parts)


def sum_residuals(parts: Sequence[Features]) -> Array:
    """Residual variance (n,) of several blocks."""
    d = parts[0].d.copy()
    for part in parts[1:]:
        d += part.d
    return d


def block_features(block: BlockAt, at: Inputs, *, slopes: bool = False) -> Features:
    """Features of one block; a group not seen in training has its prior: zero features, their variance in ``d``."""
    part, code = block.features(at.X, slopes=slopes), at.code
    if code is None or code.min(initial=0) >= 0:
        return part
    left_out = np.where(code < 0, np.einsum("nm,nm->n", part.A, part.A), 0.0)
    return part._replace(A=np.where(code[:, None] < 0, 0.0, part.A), d=part.d + left_out)


def place_columns(layout: Layout, inputs: Sequence[Inputs], columns: Sequence[Array]) -> Loadings:
    """All blocks' columns, (n, M_t) each, where they belong in ``A``."""
    common, own, code = [np.empty((len(columns[0]), 0))], [], None
    first, entries = layout.dense, []
    for place, at, A in zip(layout.places, inputs, columns, strict=True):
        if place.kind == "own":
            own.append(A)
            code = at.code
        elif place.kind == "sparse":
            entries.append((A, place.columns.start - first + _positions(at.code, A.shape[1])))
        else:
            width = place.columns.stop - place.columns.start
            common.append(A if place.kind == "common" else spread_columns(A, at.code, width))
    A_common = common[1] if len(common) == 2 else np.concatenate(common, axis=1)
    spread = None
    if entries:
        values, at_columns = (np.concatenate(part, axis=1) for part in zip(*entries, strict=True))
        spread = SpreadColumns(values, at_columns, layout.p - first)
    if code is None:
        return Loadings(A_common, None, spread)
    A_own = own[0] if len(own) == 1 else np.concatenate(own, axis=1)
    return Loadings(A_common, OwnColumns(A_own, np.maximum(code, 0), layout.size), spread)


def block_slopes(layout: Layout, inputs: Sequence[Inputs], blocks: Sequence[BlockAt], G: Slope) -> Iterator[Array]:
    """Each block's columns (n, M_t) of a derivative with respect to the loadings."""
    common, own, entries = G
    first = 0
    for place, at, block in zip(layout.places, inputs, blocks, strict=True):
        if place.kind == "own":
            assert own is not None
            yield own[:, place.columns]
        elif place.kind == "common":
            yield common[:, place.columns]
        elif place.kind == "spread":
            yield np.take_along_axis(common[:, place.columns], _positions(at.code, block.size), axis=1)
        else:
            assert entries is not None
            yield entries[:, first : first + block.size]
            first += block.size


def spread_columns(A: Array, code: IntArray | None, width: int) -> Array:
    """Features in the columns of each row's group, zero in those of others."""
    out = np.zeros((len(A), width))
    np.put_along_axis(out, _positions(code, A.shape[1]), A, axis=1)
    return out


def _positions(code: IntArray | None, size: int) -> IntArray:
    assert code is not None
    return np.maximum(code, 0)[:, None] * size + np.arange(size)


def weight_places(layout: Layout, place: Place, groups: IntArray, size: int) -> IntArray:
    """Where the weights of some groups in a block are among all, (k, size); of a common one there is one group."""
    first, step = (layout.p, layout.m) if place.kind == "own" else (0, size)
    return first + place.columns.start + step * groups[:, None] + np.arange(size)


def linear_places(layout: Layout, p: int, factor: LevelColumns | None) -> IntArray:
    """Where the weights of linear columns are among all, (p,)."""
    if factor is None:
        return np.arange(p)
    own = weight_places(layout, layout.places[-1], factor.groups, 1)[:, 0]
    return factor.join(np.arange(p - factor.size), own)
