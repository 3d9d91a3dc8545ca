"""Rows as Gaussian pseudo-observations of one process, summed into cells of nearly equal inputs: (HYP9)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from tobitgp.engines import row_chunks
from tobitgp.inference.layout import Layout, join_features, keep_blocks
from tobitgp.inference.length_scales import Term, fold
from tobitgp.inference.parts import Sites
from tobitgp.inference.passes import CHUNK_ROWS, State
from tobitgp.inference.posterior import Gaussian, Posterior
from tobitgp.inference.prior import Prior
from tobitgp.prior.block import BlockAt, Inputs
from tobitgp.typing import Array, BoolArray, IntArray

BLOCK_CELLS = 96
_SILENT = 1e-9  # site precisions, standardised, that hold no information


class Cells(NamedTuple):
    """Sums over rows with nearly equal inputs, in the same group."""

    x: Array  # (c, d), weighted mean inputs
    code: IntArray  # (c,)
    precision: Array  # (c,), sums of lambda2, of lambda1 - lambda2 (m - m_t), and of lambda1 - lambda2 m
    pseudo: Array  # (c,), sums of lambda2, of lambda1 - lambda2 (m - m_t), and of lambda1 - lambda2 m
    score: Array  # (c,), sums of lambda2, of lambda1 - lambda2 (m - m_t), and of lambda1 - lambda2 m
    loadings: Array  # (c, p), sums of lambda2 A L^-T; no columns where no component is to be added

    def at(self, rows: BoolArray) -> Cells:
        """Some of them."""
        x, code, *sums = self
        return Cells(x[rows], code[rows], *(values[rows] for values in sums))


class Frozen(NamedTuple):
    """A posterior of which only the rows' sites and the blocks are asked."""

    blocks: tuple[BlockAt, ...]
    layout: Layout
    q: Gaussian


def part_cells(state: State, q: Gaussian, term: Term, width: Array, loadings: bool) -> Cells:
    """Cells of a part of the rows."""
    setting, sites = state.setting, state.sites
    frozen = Frozen(setting.blocks, setting.layout, q)
    return join_cells([row_cells(frozen, c.inputs, sites.rows(c.span), term, loadings) for c in state.chunks], width)


def kept_cells(posterior: Posterior, prior: Prior, term: Term, loadings: bool) -> list[Cells]:
    """Cells of all rows of a fit that has ended."""
    frozen, inputs = Frozen(posterior.blocks, posterior.layout, posterior.q), prior.inputs
    spans = row_chunks(0, len(inputs[0].X), CHUNK_ROWS)
    return [
        row_cells(frozen, [at.rows(span) for at in inputs], posterior.sites.rows(span), term, loadings)
        for span in spans
    ]


def row_cells(frozen: Frozen, inputs: Sequence[Inputs], sites: Sites, term: Term, loadings: bool) -> Cells:
    """Each row as a cell of its own, those without information left out."""
    parts, A, _ = join_features(frozen.layout, frozen.blocks, inputs)
    own, _ = keep_blocks(frozen.layout, parts, inputs, A, frozenset({term.block}))
    X, code = fold(term.covariance, inputs[term.block].X, term.theta), inputs[term.block].code
    U = np.empty((len(X), 0))
    if loadings:
        U, groups = frozen.q.factor.whiten_rows(A)
        # Cells of other groups than those eliminated sum over several of these; they keep the common part alone.
        if groups is not None and A.own is not None and code is not None and np.array_equal(code, A.own.code):
            U = np.concatenate([U, groups], axis=1)
    D, m, m_t = sites.lambda2, A.times(frozen.q.w), own.times(frozen.q.w)
    cells = Cells(
        X,
        np.zeros(len(X), dtype=np.intp) if code is None else code,
        D,
        sites.lambda1 - D * (m - m_t),
        sites.lambda1 - D * m,
        D[:, None] * U,
    )
    return cells.at(D > _SILENT)


def join_cells(several: Sequence[Cells], width: Array) -> Cells:
    """Cells of at most that width, (d,), brought together wherever they come from."""
    x, code, precision, pseudo, score, loadings = (np.concatenate(column) for column in zip(*several, strict=True))
    key = code.astype(np.int64)
    for j in range(x.shape[1]):
        place = np.floor(x[:, j] / width[j]).astype(np.int64)
        place -= place.min(initial=0)
        key = key * (int(place.max(initial=0)) + 1) + place
        key = np.unique(key, return_inverse=True)[1]
    c = int(key.max(initial=-1)) + 1
    if c == len(key):
        return Cells(x, code, precision, pseudo, score, loadings)
    total = csr_matrix((np.ones(len(key)), (key, np.arange(len(key)))), (c, len(key)))
    D = total @ precision
    first = np.empty(c, dtype=np.intp)
    first[key] = np.arange(len(key))
    mean = (total @ (precision[:, None] * x)) / D[:, None]
    return Cells(mean, code[first], D, total @ pseudo, total @ score, total @ loadings)


def cut_cells(cells: Cells, width: Array) -> list[IntArray]:
    """Blocks of at most 96 neighbouring cells of one group: halves along the longest side, again and again."""
    order = np.argsort(cells.code, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(cells.code[order])) + 1)
    return [block for group in groups for block in _halves(cells.x / width, group)]


def _halves(x: Array, rows: IntArray) -> Iterator[IntArray]:
    n = -(-len(rows) // BLOCK_CELLS)
    if n <= 1:
        yield rows
        return
    along = x[rows, int(np.argmax(np.ptp(x[rows], axis=0)))]
    at = len(rows) * (n // 2) // n
    order = rows[np.argsort(along, kind="stable")]
    yield from _halves(x, order[:at])
    yield from _halves(x, order[at:])


def variance_of_mean(cells: Cells) -> float:
    """Variance over the rows of the term's mean, of which (pseudo - score) / precision is the sum in a cell."""
    m_t = (cells.pseudo - cells.score) / cells.precision
    weight = cells.precision / cells.precision.sum()
    return float(weight @ (m_t - weight @ m_t) ** 2)
