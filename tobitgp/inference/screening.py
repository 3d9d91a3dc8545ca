"""Length-scales that a maximum may have missed, screened on all rows with the sites of that maximum.

With its sites frozen every row is a Gaussian pseudo-observation, so the evidence of any other covariance is linear
algebra. Rows whose inputs differ by less than a quarter of a length-scale are summed into cells, and cells are cut into
blocks of at most 96, which are taken as independent: (HYP9) to (HYP11) of the theory pages.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Literal, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix

from tobitgp.engines import row_chunks
from tobitgp.errors import NumericalError
from tobitgp.inference.length_scales import Term, fold, terms_of
from tobitgp.inference.parameters import Parameters
from tobitgp.inference.partitioned import Sites
from tobitgp.inference.posterior import Gaussian, Layout, Posterior, join_features, keep_blocks
from tobitgp.inference.site_updates import CHUNK_ROWS, State
from tobitgp.numerics.linear_algebra import cholesky, solve_lower
from tobitgp.priors.block import BlockAt, Inputs
from tobitgp.priors.prior import Prior
from tobitgp.typing import Array, BoolArray, IntArray

BLOCK_CELLS = 96
_SILENT = 1e-9  # site precisions, standardised, that hold no information


class Cells(NamedTuple):
    """Sums over rows with nearly equal inputs, in the same group."""

    x: Array  # (c, d), weighted mean inputs
    code: IntArray  # (c,)
    precision: Array  # (c,), sums of lambda2
    pseudo: Array  # (c,), sums of lambda1 - lambda2 (m - m_t)
    score: Array  # (c,), sums of lambda1 - lambda2 m
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


Kind = Literal["replace", "add"]

BLOCKS, BLOCKS_OF_MANY_INPUTS = 32, 16
SDS: dict[Kind, tuple[float, ...]] = {"replace": (0.15, 0.3, 0.6, 1.2, 2.4), "add": (0.1, 0.2, 0.4, 0.8)}
FINE = 3  # sets of length-scales tried with every sd, the others with every second
MOST_LOADINGS = 2**25  # numbers held while a component is added
_JITTER = 1e-9


class Candidate(NamedTuple):
    """Other parameters of one term."""

    kind: Kind  # in place of the term's own, or a component beside it
    gain: float  # nats predicted, with the other terms, the noise and the sites as they are
    theta: Array  # (k,), where to climb from: all parameters
    term: int
    scales: IntArray  # (any,), positions in theta of the length-scales screened
    sd: float  # log sd of that component
    z: float  # score of a component of sd 0 over its standard deviation under the fit; NaN of a replacement

    def described(self, parameters: Parameters) -> str:
        """What is predicted, in the user's units."""
        values, names = parameters.values(self.theta), parameters.names
        there = ", ".join(f"{names[i]} {values[i]:.3g}" for i in self.scales)
        beside = "another component with " if self.kind == "add" else ""
        return f"{beside}{there} would gain {self.gain:.2g} nats"


class Screened(NamedTuple):
    """What a screening found."""

    best: Candidate | None  # none where no length-scale is sought
    n: int  # number of candidates
    shortest: tuple[tuple[int, float], ...]  # positions in theta of the length-scales that were varied


def screen(posterior: Posterior, prior: Prior, parameters: Parameters, kind: Kind, *, fixed: bool = False) -> Screened:
    """Predict what other length-scales of each process would gain, over all rows of a posterior at a maximum.

    The rows are those it was found from while the fit lasts, and afterwards those of the prior with the sites kept.
    With ``fixed`` length-scales that are fixed are varied too, as those of a component more may be.
    """
    terms = terms_of(prior, posterior.theta, parameters.free | fixed)
    found: list[Candidate] = []
    least: list[tuple[int, float]] = []
    for term in terms:
        candidates = term.candidates()
        lowest = np.min(candidates, axis=0)
        least += [(term.places.start + int(i), float(lowest[i])) for i in term.scales]
        width = np.min([term.widths(own) for own in candidates], axis=0)
        if posterior.states is None:
            parts = kept_cells(posterior, prior, term, kind == "add")
        else:
            parts = posterior.rows.collect(part_cells, posterior.q, term, width, kind == "add")
        cells = join_cells(parts, width)
        if not len(cells.x):
            continue

        def tried(own: Array, sds: Sequence[float]) -> list[Candidate]:
            # Sites of negative precision may leave the scores no covariance; nothing is added there.
            with contextlib.suppress(np.linalg.LinAlgError, NumericalError):
                return _try(term, own, cells, parameters, posterior.theta, kind, np.log(sds))  # noqa: B023
            return []

        sds = SDS[kind]
        rough = [(own, tried(own, sds[1::2])) for own in candidates]
        rough.sort(key=lambda pair: max(map(_gain, pair[1]), default=-np.inf), reverse=True)
        fine = [candidate for own, _ in rough[:FINE] for candidate in tried(own, sds[::2])]
        found += [candidate for _, several in rough for candidate in several] + fine
    return Screened(max(found, key=_gain, default=None), len(found), tuple(least))


def _gain(candidate: Candidate) -> float:
    return candidate.gain


def _try(
    term: Term, own: Array, cells: Cells, parameters: Parameters, theta: Array, kind: Kind, sds: Array
) -> list[Candidate]:
    """Several log sds with the same length-scales, those of ``own`` (k_t,)."""
    width = term.widths(own)
    cells = join_cells([cells], width)
    blocks = cut_cells(cells, width)
    most = BLOCKS if cells.x.shape[1] == 1 else BLOCKS_OF_MANY_INPUTS
    scale = max(len(blocks) / most, 1.0)
    if scale > 1.0:
        blocks = [blocks[i] for i in np.linspace(0, len(blocks) - 1, most).round().astype(int)]
    free_sd, first = parameters.free[term.places.start], term.places.start
    z = np.nan
    if kind == "replace":
        systems = [_replaced(cells, block, term, own) for block in blocks]
        sds = starts = sds if free_sd else own[:1]
        gains = log_evidence(systems, sds, 0) - log_evidence(systems, own[:1], 1)
    else:
        systems = [_added(cells, block, term, own) for block in blocks]
        starts = 0.5 * np.log(np.exp(2.0 * sds) + variance_of_mean(cells)) if free_sd else np.repeat(own[0], len(sds))
        gains, z = log_evidence(systems, sds, 0), float(np.sqrt(scale) * score(systems))
    found = []
    for gain, sd, start in zip(scale * gains, sds, starts, strict=True):
        there = theta.copy()
        there[term.places] = own
        there[first] = start
        if kind == "replace":
            gain += parameters.log_prior(there)[0] - parameters.log_prior(theta)[0]
        found.append(Candidate(kind, float(gain), there, term.index, first + term.scales, float(sd), z))
    return found


class System(NamedTuple):
    """A block of cells: whitened residuals r (b,), and covariances of unit sd whitened on both sides, (b, b) each."""

    r: Array
    covariances: tuple[Array, ...]


def _replaced(cells: Cells, block: IntArray, term: Term, theta: Array) -> System:
    """Pseudo-observations of the term alone: covariances of the candidate and of the fit."""
    root = np.sqrt(cells.precision[block])
    x = cells.x[block]
    outer = np.multiply.outer(root, root)
    now = tuple(outer * term.correlations(x, parameters) for parameters in (theta, term.theta))
    return System(cells.pseudo[block] / root, now)


def _added(cells: Cells, block: IntArray, term: Term, theta: Array) -> System:
    """Scores under the fit, of covariance R = D - V V', and what a component of unit sd adds to it."""
    D, V = cells.precision[block], cells.loadings[block]
    L = cholesky(np.diag(D * (1.0 + _JITTER)) - V @ V.T)
    half = L.T @ term.correlations(cells.x[block], theta) @ L
    return System(solve_lower(L, np.asfortranarray(cells.score[block][:, None]))[:, 0], (half,))


def log_evidence(systems: Sequence[System], sds: Array, which: int) -> Array:
    """``sum 1/2 (r'r - r' (I + a^2 G)^-1 r) - 1/2 log|I + a^2 G|`` over blocks, for every log sd a.

    Rows added to make blocks of one size have neither residual nor covariance.
    """
    b = max(len(system.r) for system in systems)
    G, r = np.zeros((len(systems), b, b)), np.zeros((len(systems), b))
    for i, system in enumerate(systems):
        size = len(system.r)
        G[i, :size, :size], r[i, :size] = system.covariances[which], system.r
    bordered = np.empty((len(systems), b + 1, b + 1))
    bordered[:, b, :b] = bordered[:, :b, b] = r
    bordered[:, b, b] = np.einsum("lb,lb->l", r, r) + 1.0
    out = np.empty(len(sds))
    for i, sd in enumerate(sds):
        bordered[:, :b, :b] = np.exp(2.0 * sd) * G
        bordered[:, range(b), range(b)] += 1.0
        pivots = np.einsum("lbb->lb", np.linalg.cholesky(bordered))
        out[i] = 0.5 * float((pivots[:, b] ** 2 - 1.0).sum()) - float(np.log(pivots[:, :b]).sum())
    return out


def score(systems: Sequence[System]) -> float:
    """Standardised slope of the evidence in the variance of an added component where that is zero."""
    slope = sum(float(s.r @ s.covariances[0] @ s.r) - float(np.trace(s.covariances[0])) for s in systems)
    variance = 2.0 * sum(float(np.square(s.covariances[0]).sum()) for s in systems)
    return slope / np.sqrt(variance) if variance > 0.0 else 0.0
