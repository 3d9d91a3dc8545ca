"""What a visit to some rows does: their sites, and the sums over them that the posterior and its iteration need.

Every function takes the state of a part and gives a new one, or sums; nothing here knows of other parts.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from tobitgp.compiled import library
from tobitgp.data.arrays import KindRows
from tobitgp.engines import add_up
from tobitgp.errors import NumericalError
from tobitgp.inference import compiled_rows
from tobitgp.inference.feature_layout import Layout, join_features
from tobitgp.inference.feature_posterior import FeatureWeights
from tobitgp.inference.method import Marginals, Method, Slopes
from tobitgp.inference.partitioned import RowPartition, Sites, spans
from tobitgp.likelihoods.censoring_noise import Spread
from tobitgp.likelihoods.row_terms import Likelihood
from tobitgp.numerics.arrow import Loadings, Slope
from tobitgp.numerics.linear_algebra import History, mixed, normal_equations, remember
from tobitgp.priors.structure import BlockAt, Features, Inputs
from tobitgp.typing import Array

CHUNK_ROWS = 2048
SPARSE_ROWS = 65_536  # where a row has few entries, and sums over a chunk are large
# Largest change of a standardised site precision: a row so much steeper than its noise, as a Gumbel is far out in
# its tail, is led back bit by bit, since beside such a precision all other rows are lost to rounding.
_STEEPEST = 1e8

_NO_DOTS = np.zeros((2, 3))

Joined = tuple[tuple[Features, ...], Loadings, Array]


class Setting(NamedTuple):
    """What stays while sites converge: the blocks at their parameters, the method and the noise."""

    blocks: tuple[BlockAt, ...]
    layout: Layout
    method: Method
    likelihood: Likelihood
    sigma: float


@dataclass(frozen=True, slots=True)
class SiteChunk:
    """Rows of one kind."""

    rows: KindRows
    span: slice  # their place in the part
    inputs: tuple[Inputs, ...]
    conjugate: bool  # whether their sites are known
    kept: tuple[Joined, ...] = ()  # their features, where memory allows, else empty
    for_slopes: bool = False  # whether what is kept serves slopes too
    d: Array | None = None  # (n,), what features leave of the prior variance, once they were made


class SitesState(NamedTuple):
    """A part in the middle of an iteration."""

    part: RowPartition
    setting: Setting
    chunks: tuple[SiteChunk, ...]
    sites: Sites
    here: Sites | None = None  # where the step last taken began; None before the first
    step: Sites | None = None  # the step last taken
    history: History | None = None  # of standardised sites that are sought, where steps are accelerated
    sums: tuple[Any, ...] = ()  # over the rows last visited

    @property
    def sizes(self) -> tuple[int, ...]:
        """Number of rows of every kind."""
        return tuple(map(len, self.part.rows))

    def others(self) -> Iterator[SiteChunk]:
        """Rows whose sites are sought."""
        return (chunk for chunk in self.chunks if not chunk.conjugate)

    @property
    def sought(self) -> slice:
        """Where these are, after the others."""
        return slice(min((chunk.span.start for chunk in self.others()), default=len(self.part)), len(self.part))

    def features(self, chunk: SiteChunk, *, slopes: bool = False) -> Joined:
        """Features block by block, all of them as ``A``, and the summed residual ``d`` (n,)."""
        if chunk.kept and (chunk.for_slopes or not slopes):
            return chunk.kept[0]
        return join_features(self.setting.layout, self.setting.blocks, chunk.inputs, slopes=slopes)

    def marginals(self, chunk: SiteChunk, q: FeatureWeights) -> tuple[Loadings, Marginals]:
        """The loadings of f given the structured part, and the marginals, of a chunk's rows."""
        _, A, d = self.features(chunk)
        return self.marginals_of(chunk, q, A, d)[:2]

    def marginals_of(
        self, chunk: SiteChunk, q: FeatureWeights, A: Loadings, d: Array
    ) -> tuple[Loadings, Marginals, Slope]:
        """The same from the features, and these loadings whitened."""
        A, mean, variance = q.given_structure(A, self.part.places(chunk.span))
        v_p, whitened = q.factor.begin(A)
        m, v_p = A.times(q.w) + mean, v_p + variance
        span = chunk.span
        return A, Marginals(m, v_p, d, self.sites.lambda1[span], self.sites.lambda2[span]), whitened


class Room(NamedTuple):
    """How many times memory has space for the features of all rows, and whether for those whose sites are sought."""

    times: int  # from 2 on with what slopes need
    sought: bool


NO_ROOM = Room(0, False)


def begin(part: RowPartition, setting: Setting, room: Room, windows: bool = True) -> SitesState:
    """Set the sites that are known (SIT4), the others to where they start or to flat ones.

    The sums are ``A' diag(lambda2) A``, ``A' lambda1`` and ``y' Lambda y`` of the rows whose sites are known, and their
    evidence part D as it were if the mean met every value.
    """
    state = arranged(part, setting, room, windows)
    sites, chunks = state.sites, list(state.chunks)

    def known(place: int) -> tuple[Any, ...]:
        chunk = chunks[place]
        _, A, d = state.features(chunk)
        chunks[place] = replace(chunk, d=d)
        y, variance = chunk.rows.limit, setting.method.exact_variance(d, chunk.rows.noise(setting.sigma))
        precision = chunk.rows.weight / variance
        sites.lambda2[chunk.span] = precision
        sites.lambda1[chunk.span] = precision * y
        D = setting.method.exact_part(chunk.rows, y, d, setting.sigma).sum()
        return A.gram(precision), A.adjoint(precision * y), float(precision @ (y * y)), float(D)

    sums = tuple(add_up(known(place) for place, chunk in enumerate(state.chunks) if chunk.conjugate))
    return state._replace(sums=sums, chunks=tuple(chunks))


def arranged(part: RowPartition, setting: Setting, room: Room, windows: bool) -> SitesState:
    """Chunks whose features are kept where there is space; untruncated without windows."""
    n = len(part)
    sites = Sites(np.zeros(n), np.zeros(n)) if part.sites is None else part.sites.copy()
    seen = part.rows if windows else tuple(replace(rows, window=None) for rows in part.rows)
    chunks = []
    for rows, span in spans(seen, SPARSE_ROWS if setting.layout.has_sparse else CHUNK_ROWS):
        inputs, conjugate = tuple(at.rows(span) for at in part.inputs), setting.likelihood.is_conjugate(rows)
        chunk = SiteChunk(rows, span, inputs, conjugate, for_slopes=room.times > 1)
        if room.times or (room.sought and not conjugate):
            kept = join_features(setting.layout, setting.blocks, inputs, slopes=chunk.for_slopes)
            chunk = replace(chunk, kept=(kept,), d=kept[2])
        chunks.append(chunk)
    return SitesState(part, setting, tuple(chunks), sites)


def seeded(part: RowPartition, setting: Setting, q: FeatureWeights) -> RowPartition:
    """The part with sites that the posterior of other rows leads to: each row meets it as its cavity."""
    state = visit(arranged(replace(part, sites=None), setting, NO_ROOM, True), q)
    assert state.step is not None
    return ended(state._replace(sites=state.step))


def sums_of(state: SitesState) -> tuple[Any, ...]:
    """What the last visit summed."""
    return state.sums


def site_sums(state: SitesState) -> list[Any]:
    """``A' diag(lambda2) A`` and ``A' lambda1`` of the rows whose sites are sought."""

    def sums(chunk: SiteChunk) -> tuple[Any, ...]:
        A, sites = state.features(chunk)[1], state.sites.rows(chunk.span)
        if library.load() is None or A.own is not None or A.spread is not None:
            return A.gram(sites.lambda2), A.adjoint(sites.lambda1)
        B, r = compiled_rows.site_sums(A.common, sites)
        return (B,), r

    found = add_up(map(sums, state.others()))
    if found and not np.isfinite(found[1]).all():
        raise NumericalError("The sites of the rows leave no posterior.")
    return found


def visit(state: SitesState, q: FeatureWeights) -> SitesState:
    """Find the step from the sites to the method's.

    The sums are: how many rows; their squared standardised changes (SIT10); D; inner products of this step and the last
    one, where nothing is ascended; and, where steps are accelerated, the equations of the next.
    """
    method, likelihood, sigma = state.setting.method, state.setting.likelihood, state.setting.sigma
    step = Sites(np.zeros(len(state.sites.lambda1)), np.zeros(len(state.sites.lambda2)))

    last = state.step or Sites(*np.zeros((2, len(state.sites.lambda1))))

    def move(chunk: SiteChunk) -> tuple[Any, ...]:
        _, A, d = state.features(chunk)
        common = q.structured is None and A.own is None and A.spread is None
        visitor = _visitor(state.setting, chunk.rows) if common else None
        if visitor is not None:
            at = [sites.rows(chunk.span) for sites in (state.sites, last, step)]
            return len(chunk.rows), *visitor.find_steps(chunk.rows, A.common, d, q, *at)
        marginals = state.marginals_of(chunk, q, A, d)[1]
        m = marginals.m
        u = method.update(likelihood, chunk.rows, marginals, sigma)
        g1, g2 = u.lambda1 - marginals.lambda1, u.lambda2 - marginals.lambda2
        scale = sigma / chunk.rows.weight
        with np.errstate(over="ignore"):  # a gap too large for a number is one
            gap = float(np.sum(((g1 - g2 * m) * scale) ** 2 + (g2 * scale * sigma) ** 2))
            size = np.abs(g2) * scale * sigma
        held = np.maximum(np.where(np.isfinite(size), size, 1.0) / _STEEPEST, 1.0)
        step.lambda1[chunk.span], step.lambda2[chunk.span] = g1 / held, g2 / held
        dots = _NO_DOTS
        if state.step is not None and method.traits.ascends is None:
            pairs = (g1 / held, state.step.lambda1[chunk.span]), (g2 / held, state.step.lambda2[chunk.span])
            dots = np.array([(a @ b, a @ a, b @ b) for a, b in pairs])
        return len(m), gap, float(u.D.sum()), dots

    sums: tuple[Any, ...] = tuple(add_up(move(chunk) for chunk in state.others()))
    history: History | None = None
    if sums and method.traits.accelerated:
        history = remember(state.history, _flat(state, state.sites), _flat(state, step))
        sums = (*sums, *normal_equations(history))
    return state._replace(here=state.sites, step=step, history=history, sums=sums)


def _visitor(setting: Setting, rows: KindRows) -> compiled_rows.Visitor | None:
    """The compiled core, where it knows the rows and their noise."""
    likelihood = setting.likelihood.noise if isinstance(setting.likelihood, Spread) else setting.likelihood
    return compiled_rows.Visitor.of(setting.method, likelihood, setting.sigma, rows)


def slopes_of(setting: Setting, rows: KindRows, at: Marginals) -> Slopes:
    """Derivatives of the evidence at the fixed point by each of some rows."""
    visitor = _visitor(setting, rows)
    if visitor is not None:
        return visitor.slopes(rows, at)
    return setting.method.slopes(setting.likelihood, rows, at, setting.sigma)


def take_step(state: SitesState, rho: float) -> SitesState:
    """Go a part of the step last found from where it was; what is remembered of the points before stays true."""
    assert state.here is not None
    assert state.step is not None
    return state._replace(sites=state.here.plus(state.step, rho))


def flatten(state: SitesState) -> SitesState:
    """Flat sites where they are sought."""
    sites = state.sites.copy()
    for chunk in state.others():
        sites.lambda1[chunk.span] = sites.lambda2[chunk.span] = 0.0
    return state._replace(sites=sites)


def mix(state: SitesState, gamma: Array, rho: float, floor: float) -> SitesState:
    """Take the accelerated step."""
    if state.history is None:  # no rows whose sites are sought
        return state
    sigma, sites = state.setting.sigma, state.sites.copy()
    lambda1, lambda2 = np.split(mixed(state.history, gamma, rho), 2)
    sites.lambda1[state.sought], sites.lambda2[state.sought] = lambda1 / sigma, np.maximum(lambda2, floor) / sigma**2
    return state._replace(sites=sites)


def step_anew(state: SitesState, rho: float) -> SitesState:
    """As `take_step`, with nothing remembered but the step last found."""
    history = state.history and remember(None, state.history.point, state.history.step)
    return take_step(state._replace(history=history), rho)


def _flat(state: SitesState, sites: Sites) -> Array:
    """Standardised natural parameters of the rows whose sites are sought, in a row."""
    sigma = state.setting.sigma
    return np.concatenate([sigma * sites.lambda1[state.sought], sigma**2 * sites.lambda2[state.sought]])


def known_evidence(state: SitesState, q: FeatureWeights) -> float:
    """Evidence part D of the rows whose sites are known."""
    method, sigma = state.setting.method, state.setting.sigma

    def D(chunk: SiteChunk) -> float:
        _, A, d = state.features(chunk)
        A, mean, _ = q.given_structure(A, state.part.places(chunk.span))
        return float(method.exact_part(chunk.rows, A.times(q.w) + mean, d, sigma).sum())

    return sum(D(chunk) for chunk in state.chunks if chunk.conjugate)


def at_rest(state: SitesState) -> SitesState:
    """Without the steps that led to the sites."""
    return state._replace(here=None, step=None, history=None)


def ended(state: SitesState) -> RowPartition:
    """The part with the sites it has come to."""
    return replace(state.part, sites=state.sites)


def all_sites(state: SitesState) -> Sites:
    """Those of the part's rows."""
    return state.sites


def all_weights(state: SitesState) -> Array:
    """Frequency weights of the part's rows."""
    return np.concatenate([rows.weight for rows in state.part.rows])


def all_features(state: SitesState) -> Array:
    """``A`` of the part's rows, (n, M), where no groups are held apart."""
    return np.concatenate([state.features(chunk)[1].common for chunk in state.chunks])


def final_sites(state: SitesState) -> tuple[tuple[int, ...], tuple[Array, Array]]:
    """Number of rows of every kind, and both natural parameters."""
    return state.sizes, (state.sites.lambda1, state.sites.lambda2)


def final_moments(state: SitesState, q: FeatureWeights) -> tuple[tuple[int, ...], tuple[Array, Array]]:
    """Number of rows of every kind, mean and variance of f in the rows."""
    found = [state.marginals(chunk, q)[1] for chunk in state.chunks]
    return state.sizes, (np.concatenate([q.m for q in found]), np.concatenate([q.v_p + q.d for q in found]))


def unexplained(state: SitesState) -> float:
    """``1/2 sum lambda2 d`` over the rows whose sites hold information, (FEA8)."""
    precision = np.maximum(state.sites.lambda2, 0.0)
    left = ((chunk, state.features(chunk)[2] if chunk.d is None else chunk.d) for chunk in state.chunks)
    return 0.5 * sum(float(precision[chunk.span] @ d) for chunk, d in left)
