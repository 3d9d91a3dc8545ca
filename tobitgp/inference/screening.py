"""Length-scales that a maximum may have missed, screened on all rows with the sites of that maximum.

With its sites frozen every row is a Gaussian pseudo-observation, so the evidence of any other covariance is linear
algebra on the cells of :mod:`tobitgp.inference.screening_cells`: (HYP10) and (HYP11) of the theory pages.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from operator import attrgetter
from typing import Literal, NamedTuple

import numpy as np

from tobitgp.engines import map_independent
from tobitgp.errors import NumericalError
from tobitgp.inference.feature_posterior import FeaturePosterior
from tobitgp.inference.hyperparameters import Parameters
from tobitgp.inference.screening_cells import (
    Cells,
    ScreenedTerm,
    bring_together,
    cut_cells,
    join_cells,
    kept_cells,
    part_cells,
    terms_of,
    with_loadings,
)
from tobitgp.numerics.linear_algebra import cholesky, solve_lower
from tobitgp.priors.prior import Prior
from tobitgp.typing import Array, IntArray

MoveKind = Literal["replace", "add"]

MANY_CELLS = 500  # for which threads pay
BLOCKS, BLOCKS_OF_MANY_INPUTS = 32, 16
SDS: dict[MoveKind, tuple[float, ...]] = {"replace": (0.15, 0.3, 0.6, 1.2, 2.4), "add": (0.1, 0.2, 0.4, 0.8)}
FINE = 3  # sets of length-scales tried with every sd, the others with every second
HELD = 1260  # cells, up to which features can hold an effect of every row
MOST_SINGLE = 0.5  # share of single rows in a replacement, above which pairs must show it
MOST_LOADINGS = 2**25  # numbers held while a component is added
_JITTER = 1e-9
_gain = attrgetter("gain")


class ScaleCandidate(NamedTuple):
    """Other parameters of one term."""

    kind: MoveKind  # in place of the term's own, or a component beside it
    gain: float  # nats predicted, with the other terms, the noise and the sites as they are
    theta: Array  # (k,), where to climb from: all parameters
    term: int
    scales: IntArray  # (any,), positions in theta of the length-scales screened
    sd: float  # log sd of that component
    z: float  # score of a component of sd 0 over its standard deviation under the fit; NaN of a replacement

    def is_like(self, other: ScaleCandidate, apart: float) -> bool:
        """Whether another is of the same term and nearly the same length-scales."""
        same = (self.kind, self.term) == (other.kind, other.term) and np.array_equal(self.scales, other.scales)
        return same and bool(np.abs(self.theta - other.theta)[self.scales].max() <= apart)

    def described(self, parameters: Parameters) -> str:
        """What is predicted, in the user's units."""
        values, names = parameters.values(self.theta), parameters.names
        there = ", ".join(f"{names[i]} {values[i]:.3g}" for i in self.scales)
        beside = "another component with " if self.kind == "add" else ""
        return f"{beside}{there} would {'gain' if self.gain > 0 else 'lose'} {abs(self.gain):.2g} nats"


class Screened(NamedTuple):
    """What a screening found."""

    best: ScaleCandidate | None  # none where no length-scale is sought
    n: int  # number of candidates
    shortest: tuple[tuple[int, float], ...]  # positions in theta of the length-scales that were varied


def screen(
    posterior: FeaturePosterior,
    prior: Prior,
    parameters: Parameters,
    kind: MoveKind,
    *,
    fixed: bool = False,
    weight: Array | None = None,
) -> Screened:
    """Predict what other length-scales of each process, fixed ones too where asked, would gain at a maximum.

    ``weight`` (n,) is that of the rows of a fit that has ended.
    """
    found: list[ScaleCandidate] = []
    least: list[tuple[int, float]] = []
    if kind == "add" and posterior.field is not None:
        return Screened(None, 0, ())
    for term in terms_of(prior, posterior.theta, parameters.free | fixed):
        candidates = term.candidates()
        lowest = np.min(candidates, axis=0)
        least += [(term.places.start + int(i), float(lowest[i])) for i in term.scales]
        width = np.min([term.widths(own) for own in candidates], axis=0)
        if posterior.states is None:
            kept = np.ones(len(prior.inputs[0].X)) if weight is None else weight
            cells = join_cells(kept_cells(posterior, prior, term, kept, kind == "add"), width)
        else:
            without = replace(posterior, states=None)
            join = partial(join_cells, width=width)
            cells = posterior.rows.fold(join, part_cells, without, term, width, kind == "add")
        if not len(cells.x):
            continue

        found += _try_all(term, candidates, cells, parameters, posterior.theta, kind)
    return Screened(max(found, key=_gain, default=None), len(found), tuple(least))


def _try_all(
    term: ScreenedTerm, candidates: Sequence[Array], cells: Cells, parameters: Parameters, theta: Array, kind: MoveKind
) -> list[ScaleCandidate]:
    """All candidates with every second sd, the best of them with the others too."""
    doubted = len(cells.x) > HELD and shape_differs(cells)
    sds, rest = SDS[kind], (cells, parameters, theta, kind, doubted)

    def rough(own: Array) -> list[ScaleCandidate]:
        return _try(term, own, sds[1::2], *rest)

    tried = map_independent(rough, candidates, heavy=len(cells.x) > MANY_CELLS)
    best = sorted(range(len(tried)), key=lambda i: max(map(_gain, tried[i]), default=-np.inf), reverse=True)
    fine = [_try(term, candidates[i], sds[::2], *rest) for i in best[:FINE]]
    return [candidate for several in [tried[i] for i in best] + fine for candidate in several]


def _try(
    term: ScreenedTerm,
    own: Array,
    tried: Sequence[float],
    cells: Cells,
    parameters: Parameters,
    theta: Array,
    kind: MoveKind,
    doubted: bool,  # whether single rows promise what is not there
) -> list[ScaleCandidate]:
    """Several sds with the same length-scales, those of ``own`` (k_t,); (HYP17) where they are doubted."""
    width, sds = term.widths(own), np.log(tried)
    wide, which = bring_together(cells, width)
    most = BLOCKS if cells.x.shape[1] == 1 else BLOCKS_OF_MANY_INPUTS
    blocks, n_blocks = cut_cells(wide, width, most)
    scale, spread = max(n_blocks / most, 1.0), variance_of_mean(wide)
    cells = with_loadings(wide, which, cells.loadings, np.concatenate(blocks))
    blocks = np.split(np.arange(len(cells.x)), np.cumsum([len(block) for block in blocks])[:-1])
    free_sd, first = parameters.free[term.places.start], term.places.start
    z = np.nan
    try:
        if kind == "replace":
            systems = [_replaced(cells, block, term, own) for block in blocks]
            sds = starts = sds if free_sd else own[:1]
            gains = log_evidence(systems, sds, 0) - log_evidence(systems, own[:1], 1)
            residuals = [cells.score[block] / np.sqrt(cells.precision[block]) for block in blocks]
        else:
            systems = [_added(cells, block, term, own) for block in blocks]
            more = 0.5 * np.log(np.exp(2.0 * sds) + spread)
            starts = more if free_sd else np.repeat(own[0], len(sds))
            gains, z = log_evidence(systems, sds, 0), float(np.sqrt(scale) * score(systems))
            residuals = [system.r for system in systems]
    except (np.linalg.LinAlgError, NumericalError):
        return []  # sites of negative precision may leave the scores no covariance
    gains = scale * gains
    if doubted:
        seen, single = pairs(systems, residuals, cells)
        gains = np.minimum(gains, seen) if kind == "add" or single > MOST_SINGLE else gains
    found = []
    for gain, sd, start in zip(gains, sds, starts, strict=True):
        there = theta.copy()
        there[term.places] = own
        there[first] = start
        if kind == "replace":
            gain += parameters.log_prior(there)[0] - parameters.log_prior(theta)[0]
        found.append(ScaleCandidate(kind, float(gain), there, term.index, first + term.scales, float(sd), z))
    return found


def shape_differs(cells: Cells) -> bool:
    """Whether the scores vary more than under the fit by more than half a nat.

    Normal noise takes up an effect of every row by itself. Noise of another shape may not, and a component shorter
    than the distance of rows then promises what no length-scale explains.
    """
    excess, square = float(cells.excess.sum()), float(cells.square.sum())
    return excess > 0.0 and excess**2 > 2.0 * square


def pairs(systems: Sequence[System], residuals: Sequence[Array], cells: Cells) -> tuple[float, float]:
    """Nats that products of scores of two different rows show of a component, and the share of single rows in it.

    Between cells the variance of the products is their own, whatever the distribution of the scores.
    """
    slope = between = within = every = 0.0
    for system, r in zip(systems, residuals, strict=True):
        G, own = system.covariances[0], np.diag(system.covariances[0])
        slope += float(r @ G @ r) - float(own.sum())
        between += float(r**2 @ G**2 @ r**2 - own**2 @ r**4)
        within, every = within + float(own @ own), every + float(np.square(G).sum())
    single = float(cells.square.sum())
    slope, variance = slope - float(cells.excess.sum()), 2.0 * (between + max(within - single, 0.0))
    return 0.5 * slope * abs(slope) / variance if variance > 0.0 else 0.0, single / every


def variance_of_mean(cells: Cells) -> float:
    """Variance over the rows of the term's mean, of which (pseudo - score) / precision is the sum in a cell."""
    m_t = (cells.pseudo - cells.score) / cells.precision
    weight = cells.precision / cells.precision.sum()
    return float(weight @ (m_t - weight @ m_t) ** 2)


class System(NamedTuple):
    """A block of cells: whitened residuals r (b,), and covariances of unit sd whitened on both sides, (b, b) each."""

    r: Array
    covariances: tuple[Array, ...]


def _replaced(cells: Cells, block: IntArray, term: ScreenedTerm, theta: Array) -> System:
    """Pseudo-observations of the term alone: covariances of the candidate and of the fit."""
    root = np.sqrt(cells.precision[block])
    x = cells.x[block]
    outer = np.multiply.outer(root, root)
    now = tuple(outer * term.correlations(x, parameters) for parameters in (theta, term.theta))
    return System(cells.pseudo[block] / root, now)


def _added(cells: Cells, block: IntArray, term: ScreenedTerm, theta: Array) -> System:
    """Scores under the fit, of covariance R = D - V V', and what a component of unit sd adds to it."""
    D, V = cells.precision[block], cells.loadings[block]
    L = cholesky(np.diag(D * (1.0 + _JITTER)) - V @ V.T)
    half = L.T @ term.correlations(cells.x[block], theta) @ L
    return System(solve_lower(L, np.asfortranarray(cells.score[block][:, None]))[:, 0], (half,))


def log_evidence(systems: Sequence[System], sds: Array, which: int) -> Array:
    """``sum 1/2 (r'r - r' (I + a^2 G)^-1 r) - 1/2 log|I + a^2 G|`` over blocks, for every log sd a."""
    # Blocks are made of one size by rows with neither residual nor covariance.
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
