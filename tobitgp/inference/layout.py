"""Where each block's features stand among all: side by side, or with the groups that are eliminated.

One grouping, the one with most weights, is held as an arrow (``numerics/arrow.py``); blocks of any other stand among
the common columns, every group's features beside the last's.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np

from tobitgp.numerics.arrow import Loadings, OwnColumns, Slope
from tobitgp.priors.block import BlockAt, Features, Inputs
from tobitgp.typing import Array, IntArray


class Place(NamedTuple):
    """One block's place: among common columns, as they are or spread over groups, or among those of a row's group."""

    kind: Literal["common", "spread", "own"]
    columns: slice


@dataclass(frozen=True, slots=True)
class Layout:
    """Places of all blocks."""

    places: tuple[Place, ...]
    p: int  # common features, features of each group, and groups
    m: int  # common features, features of each group, and groups
    size: int  # common features, features of each group, and groups

    @property
    def row_features(self) -> int:
        """Features of one row, p + m."""
        return self.p + self.m


def lay_out(blocks: Sequence[BlockAt]) -> Layout:
    """Place blocks, in their order."""
    weights: dict[tuple[str, int], int] = {}
    for block in blocks:
        if block.grouping is not None:
            weights[block.grouping] = weights.get(block.grouping, 0) + block.size * block.grouping.size
    chosen = max(weights, key=lambda grouping: weights[grouping], default=None)
    places, p, m = [], 0, 0
    for block in blocks:
        if block.grouping is None or block.grouping != chosen:
            width = block.size * (1 if block.grouping is None else block.grouping.size)
            places.append(Place("common" if block.grouping is None else "spread", slice(p, p + width)))
            p += width
        else:
            places.append(Place("own", slice(m, m + block.size)))
            m += block.size
    return Layout(tuple(places), p, m, 0 if chosen is None else chosen[1])


def join_features(
    layout: Layout, blocks: Sequence[BlockAt], inputs: Sequence[Inputs], *, slopes: bool = False
) -> tuple[tuple[Features, ...], Loadings, Array]:
    """Features of all blocks in rows with the given inputs.

    A group that was not seen in training has its prior: its features are zero, and their variance joins ``d``.

    Gives d (n,).
    """
    parts = tuple(block.features(at.X, slopes=slopes) for block, at in zip(blocks, inputs, strict=True))
    common: list[Array] = []
    own: list[Array] = []
    d, code = np.zeros(len(inputs[0].X)), None
    for part, place, at in zip(parts, layout.places, inputs, strict=True):
        A = part.A
        if part.d is not None:
            d += part.d
        if at.code is not None and len(at.code) and at.code.min() < 0:
            unseen = at.code < 0
            d[unseen] += np.einsum("nm,nm->n", A[unseen], A[unseen])
            A = np.where(unseen[:, None], 0.0, A)
        if place.kind == "own":
            own.append(A)
            code = at.code
        else:
            common.append(A if place.kind == "common" else _spread(A, at.code, place))
    A_common = common[0] if len(common) == 1 else np.concatenate([np.empty((len(d), 0)), *common], axis=1)
    if code is None:
        return parts, Loadings(A_common), d
    A_own = own[0] if len(own) == 1 else np.concatenate(own, axis=1)
    return parts, Loadings(A_common, OwnColumns(A_own, np.maximum(code, 0), layout.size)), d


def keep_blocks(
    layout: Layout, parts: Sequence[Features], inputs: Sequence[Inputs], A: Loadings, blocks: frozenset[int]
) -> tuple[Loadings, Array]:
    """Loadings and residual variance (n,) of some blocks alone, the columns of all others zero."""
    common, own = np.zeros_like(A.common), None if A.own is None else np.zeros_like(A.own.A)
    d = np.zeros(len(A))
    for t in blocks:
        place, part, code = layout.places[t], parts[t], inputs[t].code
        if place.kind == "own":
            assert own is not None
            assert A.own is not None
            own[:, place.columns] = A.own.A[:, place.columns]
        else:
            common[:, place.columns] = A.common[:, place.columns]
        if part.d is not None:
            d += part.d
        if code is not None:
            d += np.where(code < 0, np.einsum("nm,nm->n", part.A, part.A), 0.0)
    return Loadings(common, None if own is None or A.own is None else replace(A.own, A=own)), d


def add_columns(layout: Layout, t: int, A: Loadings, rows: Array, code: IntArray | None) -> None:
    """Add to one block's columns (n, M_t) of loadings, in place."""
    place = layout.places[t]
    if place.kind == "own":
        assert A.own is not None
        A.own.A[:, place.columns] += rows
    else:
        A.common[:, place.columns] += rows if place.kind == "common" else _spread(rows, code, place)


def block_slopes(layout: Layout, inputs: Sequence[Inputs], sizes: Sequence[int], G: Slope) -> Iterator[Array]:
    """Each block's columns (n, M_t) of a derivative with respect to the loadings."""
    for place, at, size in zip(layout.places, inputs, sizes, strict=True):
        if place.kind == "own":
            assert G[1] is not None
            yield G[1][:, place.columns]
        elif place.kind == "common":
            yield G[0][:, place.columns]
        else:
            yield np.take_along_axis(G[0][:, place.columns], _positions(at.code, size), axis=1)


def _spread(A: Array, code: IntArray | None, place: Place) -> Array:
    """Features in the columns of each row's group, zero in those of others."""
    out = np.zeros((len(A), place.columns.stop - place.columns.start))
    np.put_along_axis(out, _positions(code, A.shape[1]), A, axis=1)
    return out


def _positions(code: IntArray | None, size: int) -> IntArray:
    assert code is not None
    return np.maximum(code, 0)[:, None] * size + np.arange(size)
