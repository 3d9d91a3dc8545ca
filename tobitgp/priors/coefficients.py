"""The default prior of linear coefficients, which depends on no origin, unit or coding: (PRI1) to (PRI4)."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from tobitgp.data.margins import LinearBlock
from tobitgp.numerics.linear_algebra import triangle
from tobitgp.typing import Array, BoolArray, IntArray

SCALE = 2.5  # of a coefficient's prior sd, in sd(y) over the sd of what its column adds to its margins
WEAK = 10.0  # the same of a constant, and of an absorbed factor's levels
FLAT = 1e4  # the same where a prior is dropped
_NOTHING = 1e-8  # of a length, below which a direction is rounding
_NOTHING_LEFT = 1e-11  # the same of a function that is taken out of a larger one


@dataclass(frozen=True, slots=True)
class Layer:
    """Functions of the rows that share a prior."""

    columns: Array  # (p, m), the functions as sums of the linear columns
    group: IntArray  # (m,), which of them are exchangeable
    below: tuple[int, ...]  # margins: layers that are taken out of these functions

    @property
    def plain(self) -> bool:
        """Whether the functions have independent coefficients with nothing taken out."""
        return not self.below and len(np.unique(self.group)) == len(self.group)


@dataclass(frozen=True, slots=True)
class Layers:
    """All that the linear columns span, margins before what they are margins of."""

    constant: Array | None  # (p,), the sum of the columns that is 1 in every row, where the terms have one
    layers: tuple[Layer, ...]

    @property
    def plain(self) -> bool:
        """Whether the coefficients are independent in their prior."""
        return all(layer.plain for layer in self.layers)


Key = tuple[frozenset[str], frozenset[str]]  # factors and numbers of a layer


def find_layers(blocks: Sequence[LinearBlock], p: int, held: BoolArray) -> Layers:
    """Spans of blocks of p columns, except held columns, which have a separate prior or a known value."""
    whole = [block for block in blocks if not (block.own or held[block.places].any())]
    names = {text: own for block in blocks for (text, _), own in zip(block.factors, block.names, strict=True)}
    constant, spanned, seen = None, np.zeros(p, dtype=np.bool_), set[Key]()
    found: list[tuple[tuple[int, int], frozenset[str], Array, IntArray]] = []
    for block in whole:
        factors = frozenset(text for text, _ in block.factors) - block.numbers
        for key, columns, group in _functions(factors, block.numbers, whole, p):
            spanned |= (columns != 0.0).any(axis=1)
            if key in seen:
                continue
            seen.add(key)
            if key == (frozenset(), frozenset()):
                constant = columns[:, 0]
                continue
            expressions = key[0] | key[1]
            first = int(np.flatnonzero(columns.any(axis=1))[-1])
            own = frozenset[str]().union(*(names[text] for text in expressions))
            found.append(((len(expressions), first), own, columns, group))
    for block in blocks:
        own = frozenset[str]() if block.own else frozenset[str]().union(*block.names)
        for j in block.places:
            if not (spanned[j] or held[j]):
                found.append(((len(block.factors), j), own, np.eye(p)[:, [j]], np.zeros(1, dtype=np.intp)))
    found.sort(key=lambda layer: layer[0])
    below = (tuple(k for k in range(i) if found[k][1] and found[k][1] <= found[i][1]) for i in range(len(found)))
    layers = (Layer(*each[2:], margins) for each, margins in zip(found, below, strict=True))
    return Layers(constant, tuple(layers))


def _functions(
    factors: frozenset[str], numbers: frozenset[str], blocks: Sequence[LinearBlock], p: int
) -> Iterator[tuple[Key, Array, IntArray]]:
    """Indicators of all combinations of the levels of factors, and of some of these, times numbers.

    They are sums of columns (p, m); nothing where blocks do not span them.
    """
    inside = [b for b in blocks if b.numbers == numbers and {text for text, _ in b.factors} - numbers <= factors]
    codings = {text: coding for b in inside for text, coding in b.factors}
    axes = [(text, len(codings[text])) for text in (*sorted(numbers), *sorted(factors))]
    M = np.column_stack([column for b in inside for column in _columns(b, axes)])
    if M.shape[0] != M.shape[1] or np.linalg.matrix_rank(M) < len(M):
        return
    solved = np.zeros((p, len(M)))
    solved[[j for b in inside for j in b.places]] = np.linalg.inv(M)
    every = np.where(np.abs(solved) < 1e-12, 0.0, solved).reshape(p, *(size for _, size in axes))
    for k in range(len(factors), -1, -1):
        for some in itertools.combinations(sorted(factors), k):
            out = tuple(1 + i for i, (text, _) in enumerate(axes) if text not in numbers and text not in some)
            columns = every.sum(axis=out).reshape(p, -1)
            width = int(np.prod([size for text, size in axes if text in numbers], dtype=int))
            group = np.repeat(np.arange(width), columns.shape[1] // width)
            yield (frozenset(some), numbers), np.where(np.abs(columns) < 1e-12, 0.0, columns), group


def _columns(block: LinearBlock, axes: Sequence[tuple[str, int]]) -> Iterator[Array]:
    """Each column of a block in the indicators of all combinations."""
    codings = dict(block.factors)
    sizes = [coding.shape[1] for _, coding in block.factors]
    for at in range(block.size):
        index = dict(zip(codings, np.unravel_index(at, sizes, order="F") if sizes else (), strict=True))
        parts = [codings[text][:, index[text]] if text in codings else np.ones(size) for text, size in axes]
        yield reduce(np.multiply.outer, parts, np.ones(())).ravel()


def prior_root(layers: Layers, joint: Array, sd: Array, scale: float, level: float) -> Array:
    """Upper-triangular root (p, p) of the prior covariance of the coefficients, (PRI4).

    The constant's prior sd is ``level``. If it is a separate column, the prior of the other coefficients assumes that
    it absorbs their means.

    Shapes: joint (q, 1 + p), a factor of the columns with a constant, as in `Joint`; sd (p,), NaN except where a
    coefficient is independent.
    """
    p, held = len(sd), ~np.isnan(sd)
    means, c = joint[0, 1:] / joint[0, 0], layers.constant
    coordinates = joint[0 if c is None else 1 :, 1:]
    values, roots = list[Array](), list[Array]()
    for layer in layers.layers:
        below = [values[k] for k in layer.below], [roots[k] for k in layer.below]
        Z, G = _less(coordinates @ layer.columns, layer.columns, below)
        values.append(Z)
        roots.append(G)
    B = [np.where(held, sd, 0.0) * np.eye(p)]
    for layer, Z, G in zip(layers.layers, values, roots, strict=True):
        B.append(G * _spread(Z if c is None else np.vstack([np.zeros((1, Z.shape[1])), Z]), layer, joint[0, 0]) * scale)
    if c is not None:
        alone = np.count_nonzero(c) == 1
        B[1:] = [part * (c == 0.0)[:, None] if alone else part - np.outer(c, means @ part) for part in B[1:]]
        B.append(level * c[:, None])
    R = triangle(np.ascontiguousarray(np.hstack(B)[::-1].T))
    return np.asarray((R.T * np.where(np.diag(R) < 0.0, -1.0, 1.0))[::-1, ::-1])


def _less(E: Array, A: Array, below: tuple[Sequence[Array], Sequence[Array]]) -> tuple[Array, Array]:
    """Functions minus their projections on their margins, as coordinates (q, m) and as sums of columns (p, m)."""
    if not below[0]:
        return E, A
    V, G = np.hstack(below[0]), np.hstack(below[1])
    size = np.sqrt((V * V).sum(axis=0))
    unit = np.where(size > 0.0, size, 1.0)
    before = (E * E).sum(axis=0)
    for _ in range(2):  # the second time takes what rounding left
        slopes = np.linalg.lstsq(V / unit, E, rcond=_NOTHING)[0] / unit[:, None]
        E, A = E - V @ slopes, A - G @ slopes
    kept = (E * E).sum(axis=0) > _NOTHING_LEFT**2 * before
    return E * kept, A * kept


def _spread(Z: Array, layer: Layer, root_n: float) -> Array:
    """Prior sds (m,) of functions' weights, in sd(y): each degree of freedom adds the same to the variance, (PRI3)."""
    out = np.zeros(Z.shape[1])
    for g in np.unique(layer.group):
        some = Z[:, layer.group == g]
        apart = some[1:] if (some[1:] ** 2).sum() > _NOTHING**2 * (some**2).sum() else some
        values = np.linalg.svd(apart, compute_uv=False)
        rank = int((values > _NOTHING * values[0]).sum()) if values[0] > 0.0 else 0
        out[layer.group == g] = SCALE * root_n * np.sqrt(rank) / (np.sqrt((values**2).sum()) or 1.0)
    return out


def default_sd(mean: Array, sd: Array, scale: float, factor: Array | float) -> Array:
    """``factor x sd(y) / sd(column)``, (p,); a constant column counts with its size."""
    size = np.where(sd > 1e-12 * np.abs(mean), sd, np.abs(mean))
    return factor * scale / np.where(size > 0, size, 1.0)
