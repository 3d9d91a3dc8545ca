"""Rows of one process to screen, summed into cells of nearly equal inputs, and blocks of neighbouring cells.

Rows whose inputs differ by less than a quarter of a length-scale are summed into cells, and cells are cut into blocks
of at most 96, which are taken as independent: (HYP9) and (HYP10) of the theory pages.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from tobitgp.data.arrays import take
from tobitgp.engines import row_chunks
from tobitgp.inference.feature_layout import join_features, place_columns
from tobitgp.inference.feature_posterior import FeaturePosterior
from tobitgp.inference.input_scaling import FEW_DISTINCT, spacing
from tobitgp.inference.partitioned import Sites
from tobitgp.inference.site_updates import CHUNK_ROWS, Joined, SiteChunk, SitesState
from tobitgp.priors.kernels import Covariance, KernelFactor
from tobitgp.priors.prior import Prior
from tobitgp.priors.structure import Inputs
from tobitgp.typing import Array, BoolArray, IntArray

CELLS_PER_LENGTH = 4
LONGEST, SHORTEST_ALONE = 2.0, 0.03
BLOCK_CELLS = 96
_SPARSE = 4  # so many possible numbers for each that occurs are sorted
_MOST_KEYS = 2**62  # above which numbers of cells are counted anew
_FIRST = 1000  # rows whose distinct inputs are counted before those of all rows
_SILENT = 1e-9  # site precisions, standardised, that hold no information


@dataclass(frozen=True, slots=True)
class ScreenedTerm:
    """A process to screen."""

    index: int  # among the processes
    block: int  # among all blocks
    covariance: Covariance
    places: slice  # in theta
    theta: Array  # (k_t,), log sd, then the logarithms of the covariance's parameters
    scales: IntArray  # (any,), positions in ``theta`` of the free length-scales
    extent: Array  # (d,), how far inputs reach
    shortest: float  # length-scale below which nothing is looked for

    def candidates(self) -> list[Array]:
        """Parameters (k_t,) to try: one length-scale for all inputs, and one input after the other alone."""
        every = [(self.scales, v) for v in halved(self.shortest)]
        one_by_one = self.scales if len(self.scales) > 1 else ()
        alone = itertools.product(one_by_one, halved(min(SHORTEST_ALONE, self.shortest)))
        found = []
        for scales, value in [*every, *alone]:
            theta = self.theta.copy()
            theta[scales] = np.log(value)
            found.append(theta)
        return found

    def widths(self, theta: Array) -> Array:
        """Sizes (d,) of cells in which neither these parameters nor those of the fit let the process vary much."""
        return np.minimum(self._varies_over(theta), self._varies_over(self.theta)) / CELLS_PER_LENGTH

    def _varies_over(self, theta: Array) -> Array:
        out = self.extent.copy()
        for factor, at in self.covariance.places:
            own = np.exp(theta[1:][at])
            if factor.n_scales:
                out[factor.columns] = own[: factor.n_scales]
            elif _is_periodic(factor):
                arc, period = own
                out[factor.columns] = min(arc, 1.0) * period / (2.0 * np.pi)
        return out

    def correlations(self, x: Array, theta: Array) -> Array:
        """Correlations (c, c) between cells."""
        return self.covariance.value(x, x, np.exp(theta[1:]))


def halved(shortest: float) -> list[float]:
    """Length-scales from the longest down to the shortest, each half the one before but for the last."""
    steps = max(int(np.ceil(np.log2(LONGEST / shortest) - 1e-9)), 0)
    return [LONGEST / 2.0**i for i in range(steps)] + [min(shortest, LONGEST)]


def _is_periodic(factor: KernelFactor) -> bool:
    return "period" in factor.kernel.shape


def fold(covariance: Covariance, X: Array, theta: Array) -> Array:
    """Inputs (n, d) with those of periodic kernels brought into one period, as the covariance does not tell."""
    X = X.copy()
    for factor, at in covariance.places:
        if _is_periodic(factor):
            X[:, factor.columns] %= np.exp(theta[1:][at][1])
    return X


def terms_of(prior: Prior, theta: Array, free: BoolArray) -> list[ScreenedTerm]:
    """The processes with a length-scale to vary, of inputs with enough distinct values."""
    first, linear, found = 0, 0 if prior.linear is None else 1, []
    for t, gp in enumerate(prior.gps):
        places = slice(first, first + gp.n_parameters)
        first += gp.n_parameters
        X, code = fold(gp.covariance, gp.inputs.X, theta[places]), gp.inputs.code
        several, extent = np.array([_has_several(x) for x in X.T]), np.ptp(X, axis=0)
        scales, divided, along = [], [], X.copy()
        for factor, at in gp.covariance.places:
            inputs = np.arange(X.shape[1])[factor.columns]
            if _is_periodic(factor):
                along[:, inputs] *= 2.0 * np.pi / np.exp(theta[places][1:][at][1])
            one = factor.n_scales == 1 or _is_periodic(factor)
            for j, columns in enumerate([inputs] if one else inputs[: factor.n_scales, None], start=1 + at.start):
                if free[places.start + j] and several[columns].any():
                    scales.append(j)
                    divided.append(columns)
        if scales:
            apart = spacing(along[:, np.concatenate(divided)], code)
            shortest = LONGEST if apart is None else min(apart.shortest, LONGEST)
            extent = np.where(extent > 0.0, extent, 1.0)
            varied = np.array(scales)
            found.append(ScreenedTerm(t, linear + t, gp.covariance, places, theta[places], varied, extent, shortest))
    return found


def _has_several(x: Array) -> bool:
    """Whether an input (n,) has enough distinct values, which some rows of many show."""
    return any(len(np.unique(part.round(9))) >= FEW_DISTINCT for part in (x[:_FIRST], x))


class Cells(NamedTuple):
    """Sums over rows with nearly equal inputs, in the same group."""

    x: Array  # (c, d), weighted mean inputs
    code: IntArray  # (c,)
    precision: Array  # (c,), sums of lambda2
    pseudo: Array  # (c,), sums of lambda1 - lambda2 (m - m_t)
    score: Array  # (c,), sums of lambda1 - lambda2 m
    excess: Array  # (c,), sums over rows of scores squared less their variances under the fit
    square: Array  # (c,), sums over rows of these variances squared
    loadings: Array  # (c, p), sums of lambda2 A L^-T; no columns where no component is to be added


def part_cells(
    state: SitesState, posterior: FeaturePosterior, term: ScreenedTerm, width: Array, loadings: bool
) -> Cells:
    """Cells of a part of the rows."""

    def cells(c: SiteChunk) -> Cells:
        made = state.features(c)
        rest = c.rows.weight, loadings, state.part.places(c.span)
        return row_cells(posterior, c.inputs, made, state.sites.rows(c.span), term, *rest)

    return join_cells(map(cells, state.chunks), width)


def kept_cells(
    posterior: FeaturePosterior, prior: Prior, term: ScreenedTerm, weight: Array, loadings: bool
) -> list[Cells]:
    """Cells of all rows of a fit that has ended, and their weights (n,)."""

    def cells(span: slice) -> Cells:
        inputs = [at.rows(span) for at in prior.inputs]
        made = join_features(posterior.layout, posterior.blocks, inputs)
        return row_cells(posterior, inputs, made, posterior.sites.rows(span), term, weight[span], loadings)

    return [cells(span) for span in row_chunks(0, len(prior.inputs[0].X), CHUNK_ROWS)]


def row_cells(
    posterior: FeaturePosterior,
    inputs: Sequence[Inputs],
    made: Joined,
    sites: Sites,
    term: ScreenedTerm,
    weight: Array,
    loadings: bool,
    places: slice | None = None,  # among the rows at hand
) -> Cells:
    """Each row as a separate cell; rows without information are left out."""
    parts, A, d = made
    columns = [part.A if t == term.block else np.zeros_like(part.A) for t, part in enumerate(parts)]
    X, code = fold(term.covariance, inputs[term.block].X, term.theta), inputs[term.block].code
    U = np.empty((len(X), 0))
    if loadings:
        U, groups, _ = posterior.factor.whiten_rows(A)
        # Cells of other groups than those eliminated sum over several of these; they keep the common part alone.
        if groups is not None and A.own is not None and code is not None and np.array_equal(code, A.own.code):
            U = np.concatenate([U, groups], axis=1)
    m, m_t = A.times(posterior.w), place_columns(posterior.layout, inputs, columns).times(posterior.w)
    if posterior.field is not None:
        m, m_t = _beside_structure(posterior, inputs, term, m, m_t, places)
    D, code = sites.lambda2, np.zeros(len(d), dtype=np.intp) if code is None else code
    score, V = sites.lambda1 - D * m, D[:, None] * U
    variance = D - np.einsum("ij,ij->i", V, V)
    by_copy = score**2 / weight - variance, variance**2 / weight  # as if each copy of a row were a row
    cells = Cells(X, code, D, sites.lambda1 - D * (m - m_t), score, *by_copy, V)
    told = D > _SILENT
    return cells if told.all() else take(cells, told)


def _beside_structure(
    posterior: FeaturePosterior,
    inputs: Sequence[Inputs],
    term: ScreenedTerm,
    by_features: Array,
    m_t: Array,
    places: slice | None,
) -> tuple[Array, Array]:
    """Means of f and of the term, from those parts of them that are features'."""
    field = posterior.field
    assert field is not None
    if places is None or posterior.structured is None:
        m = posterior.marginals(inputs)[0]
    else:
        m = posterior.structured.mean[places] + posterior.structured.A[places] @ posterior.w
    if term.block not in field.blocks:
        return m, m_t
    if len(field.blocks) == 1:
        return m, m - by_features
    values, _ = field.part(inputs, frozenset(field.blocks.tolist()) - {term.block}, from_level=False)
    return m, values[:, 0] - values[:, 1:] @ posterior.w


def join_cells(several: Iterable[Cells], width: Array) -> Cells:
    """Cells of at most that width, (d,), brought together wherever they come from."""
    cells = Cells(*(np.concatenate(column) for column in zip(*several, strict=True)))
    wide, which = bring_together(cells, width)
    return with_loadings(wide, which, cells.loadings, np.arange(len(wide.x)))


def bring_together(cells: Cells, width: Array) -> tuple[Cells, IntArray]:
    """Wider cells, of at most that width (d,), as yet without loadings, and the place of each cell among them."""
    key, x, most = cells.code.astype(np.int64), cells.x, int(cells.code.max(initial=0)) + 1
    for j in range(x.shape[1]):
        place = np.floor(x[:, j] / width[j]).astype(np.int64)
        place -= place.min(initial=0)
        several = int(place.max(initial=0)) + 1
        if most * several > _MOST_KEYS:
            key, most = _ranks(key, most), len(key)
        key, most = key * several + place, most * several
    if most > _SPARSE * len(key) and (np.diff(np.sort(key)) > 0).all():
        return cells, np.arange(len(key))
    key = _ranks(key, most)
    c = int(key.max(initial=-1)) + 1
    if c == len(key):
        return cells, np.arange(c)
    first = np.empty(c, dtype=np.intp)
    first[key] = np.arange(len(key))
    sums = cells.precision, cells.pseudo, cells.score, cells.excess, cells.square
    columns = (*sums, *(cells.precision * x.T))
    totals = (np.asarray(np.bincount(key, column), dtype=np.float64) for column in columns)
    D, pseudo, scores, excess, square, *moments = totals
    mean = np.stack([moment / D for moment in moments], axis=1)
    return Cells(mean, cells.code[first], D, pseudo, scores, excess, square, np.empty((c, 0))), key


def _ranks(key: IntArray, most: int) -> IntArray:
    """The place of each number (n,), from 0 to less than ``most``, among those that occur."""
    if most > _SPARSE * len(key):
        return np.asarray(np.unique(key, return_inverse=True)[1])
    occurs = np.zeros(most, dtype=np.bool_)
    occurs[key] = True
    return np.asarray((np.cumsum(occurs) - 1)[key])


def with_loadings(wide: Cells, which: IntArray, loadings: Array, chosen: IntArray) -> Cells:
    """Some of the wider cells, with the sums of the loadings (n, p) of those in them."""
    if len(which) == len(wide.x):  # each in a cell of its own
        return take(wide._replace(loadings=loadings), chosen)
    if not loadings.shape[1]:
        return take(wide, chosen)
    place = np.full(len(wide.x), -1)
    place[chosen] = np.arange(len(chosen))
    to = place[which]
    rows = np.flatnonzero(to >= 0)
    starts = np.arange(len(rows) + 1)
    total = csr_matrix((np.ones(len(rows)), to[rows], starts), (len(rows), len(chosen))).T
    part = loadings if len(rows) == len(to) else loadings[rows]
    return take(wide, chosen)._replace(loadings=np.asarray(total @ part))


def cut_cells(cells: Cells, width: Array, most: int) -> tuple[list[IntArray], int]:
    """Blocks of at most 96 neighbouring cells of one group, so many of them, and how many there are.

    Halves along the longest side, again and again.
    """
    order = np.argsort(cells.code, kind="stable")
    groups = np.split(order, np.flatnonzero(np.diff(cells.code[order])) + 1)
    sizes = [-(-len(group) // BLOCK_CELLS) for group in groups]
    n = sum(sizes)
    chosen = np.arange(n) if n <= most else np.linspace(0, n - 1, most).round().astype(int)
    blocks: list[IntArray] = []
    places = np.ascontiguousarray((cells.x / width).T)
    for group, end in zip(groups, np.cumsum(sizes), strict=True):
        first = end - -(-len(group) // BLOCK_CELLS)
        blocks += _halves(places, group, chosen[(chosen >= first) & (chosen < end)] - first)
    return blocks, n


def _halves(places: Array, rows: IntArray, chosen: IntArray) -> Iterator[IntArray]:
    """Those of the blocks of some cells that were chosen; places (d, c) of all cells."""
    n = -(-len(rows) // BLOCK_CELLS)
    if n <= 1 or not len(chosen):
        yield from [rows] * len(chosen)
        return
    own = places.take(rows, axis=1)  # in the order of memory in which extremes are found fast
    along = own[int(np.argmax(own.max(axis=1) - own.min(axis=1)))]
    at, left = len(rows) * (n // 2) // n, chosen < n // 2
    order = rows[np.argpartition(along, at)]
    yield from _halves(places, order[:at], chosen[left])
    yield from _halves(places, order[at:], chosen[~left] - n // 2)
