r"""Stochastic steps by batches of rows, the path of the bound along them, and whether it has levelled off.

A batch of rows, weighted up to the weight of all, replaces them in one coordinate-wise update, and the state moves a
fraction :math:`\rho_t = (s + t)^{-\kappa}` of the way, straight in natural parameters, which is a stochastic natural
gradient: (SVB1) to (SVB3) of the theory pages, (SVB4) and (SVB5) for the path.

Probabilities and expected statistics of censored rows by importance sampling, (SVB7) of the theory pages.

Only densities are needed. Values are drawn on an unbounded coordinate of the support, from a two-sided exponential
density between the ends of a row. It begins at the maximum of the component's density there, and falls by one nat as
slowly as that density does near the maximum, or more slowly. So weights are bounded where the logarithm of the density
is concave on the coordinate. A count is the next whole number above a continuous value.

References
----------
Kohjima, Matsubayashi and Toda (2019), algorithm 2 and theorem 1, for the Gaussian in the coordinates
(tau m, tau, 2a, 2b + tau m^2).
Kohjima, Matsubayashi and Toda (2019), Variational Bayes for mixture models with censored data, ECML PKDD, section 5.2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from tobitgp.mixture.arranged_rows import subset
from tobitgp.mixture.coordinate_ascent import chunks_of, evaluate, sum_over
from tobitgp.mixture.evidence_bound import MixtureState, PosteriorModel
from tobitgp.mixture.family import MixtureFamily, PlugInTerms, RowStatistics, Sums
from tobitgp.mixture.methods import SVBCM
from tobitgp.mixture.mixture_rows import MixtureRows, WorkingRows
from tobitgp.numerics.unimodal import Domain, find_range
from tobitgp.typing import Array, IntArray

_LEAST_FALL, _MOST_FALL = 0.5, 2.0  # nats, between which a density falls up to where its scale is measured
_TRIES = 60


def sampled_terms(family: MixtureFamily, draws: int, rng: np.random.Generator) -> PlugInTerms:
    """As ``terms`` of the family, censored rows by so many draws each."""

    def terms(rows: MixtureRows, theta: Array) -> RowStatistics:
        if rows.kind == "exact":
            return family.terms(rows, theta)
        uniform = (np.arange(draws) + rng.random((len(rows), draws))) / draws
        return _sampled(CoordinateDensity(family, theta), rows, uniform)

    return terms


@dataclass(frozen=True, slots=True)
class CoordinateDensity:
    """Densities of K components on the coordinate of their support."""

    family: MixtureFamily
    theta: Array  # (D, K)

    @property
    def chart(self) -> Domain:
        """The coordinate; of counts it is continuous, and they are rounded up."""
        return Domain() if self.family.support == "counts" else self.family.values

    def at(self, z: Array) -> tuple[Array, tuple[Array, ...]]:
        """Log densities (K, m) at coordinates (K, m), -inf outside of the support, and statistics there."""
        family, y = self.family, self.chart.at(z)
        if family.support == "counts":
            bottom, top = max(family.ends[0], 0.0), family.ends[1]
            y = np.ceil(z)
            inside, y = (y >= bottom) & (y <= top), np.clip(y, bottom, top)
        else:
            inside = self.chart.inside(y)
        flat = np.zeros_like(y)
        found = family.terms(MixtureRows("exact", y, y, flat, flat), self.theta)
        lost = 0.0 if family.logarithm else family.lost(y)
        log_f = found.log_p + lost + self.chart.log_slope(z) * (family.support != "counts")
        return np.where(inside & np.isfinite(log_f), log_f, -np.inf), found.statistics

    def ends(self, rows: MixtureRows) -> tuple[Array, Array]:
        """Coordinates (n,) between which the values of rows lie."""
        if self.family.support == "counts":
            return np.maximum(rows.lower, max(self.family.ends[0], 0.0) - 1.0), np.minimum(
                rows.upper, self.family.ends[1]
            )
        largest = self.chart.largest
        low, high = (np.clip(self.chart.coordinate(end), -largest, largest) for end in (rows.lower, rows.upper))
        return low, high


class TwoSidedExponential(NamedTuple):
    """Densities that fall exponentially on either side of a centre, between two ends; (K, n), sides (2, K, n)."""

    centre: Array
    scale: Array  # on the left and on the right
    reach: Array  # probability of an exponential up to the end
    log_total: Array

    def drawn(self, uniform: Array) -> tuple[Array, Array]:
        """Values and their log densities, (K, n, S), at uniform numbers (n, S)."""
        mass = self.scale * self.reach
        u = uniform * mass.sum(axis=0)[..., None]
        left = u < mass[0][..., None]
        u = np.where(left, u, u - mass[0][..., None])
        scale, reach, mass = (np.where(left, a[..., None], b[..., None]) for a, b in (self.scale, self.reach, mass))
        away = -np.log1p(-np.clip(u / mass, 0.0, 1.0) * reach)
        z = self.centre[..., None] + np.where(left, -1.0, 1.0) * scale * away
        return z, -away - self.log_total[..., None]


def _proposal(line: CoordinateDensity, low: Array, high: Array) -> TwoSidedExponential:
    """For rows between coordinates (n,)."""
    k = line.theta.shape[1]
    mode = find_range(lambda z: line.at(z)[0], k, line.chart.largest).mode[:, None]
    inside = 0.5 if line.family.support == "counts" else 0.0
    centre = np.clip(mode, low + inside, high - inside)
    top = line.at(centre)[0]
    side = np.array([-1.0, 1.0])[:, None, None]
    span = np.maximum(np.stack([centre - low, high - centre]), 0.0)

    def fall(step: Array) -> Array:
        z = centre + side * step
        return top - np.stack(np.split(line.at(np.concatenate(list(z), axis=1))[0], 2, axis=1))

    step, near, far = np.minimum(1.0, span), np.zeros_like(span), np.full_like(span, np.inf)
    for _ in range(_TRIES):
        fallen = fall(step)
        short, long = (fallen < _LEAST_FALL) & (step < span), fallen > _MOST_FALL
        if not (short | long).any():
            break
        near, far = np.where(short, step, near), np.where(long, step, far)
        further = np.where(np.isinf(far), np.minimum(2.0 * step, span), 0.5 * (near + far))
        step = np.where(short | long, further, step)
    scale = np.where(step > 0.0, step / np.clip(fallen, _LEAST_FALL, _MOST_FALL), 1.0)
    reach = -np.expm1(-span / scale)
    return TwoSidedExponential(centre, scale, reach, np.log((scale * reach).sum(axis=0)))


def _sampled(line: CoordinateDensity, rows: MixtureRows, uniform: Array) -> RowStatistics:
    """Censored rows of one kind at uniform numbers (n, S)."""
    z, log_g = _proposal(line, *line.ends(rows)).drawn(uniform)
    log_f, statistics = line.at(z.reshape(len(z), -1))
    log_ratio = log_f.reshape(z.shape) - log_g
    log_sum = logsumexp(log_ratio, axis=2)
    share = np.exp(log_ratio - log_sum[..., None])
    each = (np.broadcast_to(one, log_f.shape).reshape(z.shape) for one in statistics)
    means = tuple(np.where(share > 0.0, share * one, 0.0).sum(axis=2) for one in each)
    return RowStatistics(log_sum - np.log(z.shape[2]), means)


PATH_ROWS = 20_000  # rows on which the bound is followed at most
_POINTS = 100  # of a path
_FEWEST = 4  # points in a quarter of a path, from which it can be judged
_RISE, _RISE_PER_ROW = 0.1, 1e-4  # nats, the larger of these, below which a path has levelled off


class StochasticEnd(NamedTuple):
    """The end of stochastic steps."""

    state: MixtureState
    path: Array  # (m,), bound at the steps `path_steps`, without constants


def path_steps(n_steps: int) -> IntArray:
    """After which numbers of steps, the first of them 0, the bound is evaluated, (m,)."""
    return np.unique(np.linspace(0, n_steps, _POINTS + 1).round().astype(np.int64))


def run(
    model: PosteriorModel, working: WorkingRows, state: MixtureState, settings: SVBCM, rng: np.random.Generator
) -> StochasticEnd:
    """Take ``settings.n_steps`` steps, and follow the bound on all rows or on 20,000 spread evenly over them."""
    chunks = chunks_of(subset(working, PATH_ROWS) if sum(map(len, working.parts)) > PATH_ROWS else working, model.k)
    path, marks = [evaluate(model, chunks, state)[0]], set(path_steps(settings.n_steps).tolist())
    for t, (batch, size) in enumerate(batches(working, settings, rng), start=1):
        state = step_along(model, state, batch, size, t, settings, rng).state
        if t in marks:
            path.append(evaluate(model, chunks, state)[0])
    return StochasticEnd(state, np.array(path))


def batches(
    working: WorkingRows, settings: SVBCM, rng: np.random.Generator
) -> Iterator[tuple[list[MixtureRows], float]]:
    """``settings.n_steps`` batches by kinds of rows, and how many rows each of theirs represents."""
    parts, share = [_ordered(part) for part in working.parts], _SHARES[settings.order]
    windows = [] if working.windows is None else [_ordered(working.windows)]
    size = min(settings.batch_size, sum(map(len, parts)))
    represented = sum(float(part.weight.sum()) for part in parts) / size
    for _ in range(settings.n_steps):
        batch = _drawn_from(parts, size, share, rng)
        for one in _drawn_from(windows, size, share, rng) if windows else []:
            batch.append(replace(one, weight=one.weight * windows[0].weight.sum() / (size * represented)))
        yield batch, represented


def _ordered(part: MixtureRows) -> MixtureRows:
    return part[np.lexsort((part.upper, part.lower))]


def _drawn_from(
    parts: Sequence[MixtureRows],
    size: int,
    share: Callable[[int, np.random.Generator], Array],
    rng: np.random.Generator,
) -> list[MixtureRows]:
    """So many rows of some kinds, by weight."""
    ends = np.cumsum([len(part) for part in parts])
    weight = np.cumsum(np.concatenate([part.weight for part in parts]))
    at = np.minimum(np.searchsorted(weight, share(size, rng) * weight[-1], side="right"), ends[-1] - 1)
    batch = []
    for part, end in zip(parts, ends, strict=True):
        inside = at[(at < end) & (at >= end - len(part))] - (end - len(part))
        if len(inside):
            batch.append(replace(part[inside], weight=np.ones(len(inside))))
    return batch


# Where in the cumulative weight of the sorted rows those of a batch are, by ``SVBCM(order=)``.
_SHARES: dict[str, Callable[[int, np.random.Generator], Array]] = {
    "spread": lambda size, rng: (np.arange(size) + rng.random(size)) / size,
    "random": lambda size, rng: rng.random(size),
}


class StochasticStep(NamedTuple):
    """A step and what the rows of its batch said before it."""

    state: MixtureState
    estimate: float  # of the bound of all rows at the state before, without constants


def step_along(
    model: PosteriorModel,
    state: MixtureState,
    batch: Sequence[MixtureRows],
    size: float,
    t: float,
    settings: SVBCM,
    rng: np.random.Generator,
) -> StochasticStep:
    """Step t = 1, 2, ... by a batch of which each row represents ``size`` rows."""
    theta, log_weight, penalty = model.view(state)
    assign = rng if settings.statistics == "sampled" else None
    terms = model.family.terms if settings.draws is None else sampled_terms(model.family, settings.draws, rng)
    sums = sum_over(batch, terms, theta, log_weight, assign)
    goal = model.improve(state, Sums(size * sums.log_norm, size * sums.counts, size * sums.statistics))
    length = min((settings.delay + t) ** -settings.forgetting, 1.0)
    return StochasticStep(model.between(state, goal, length) or state, size * sums.log_norm - penalty)


def has_levelled_off(path: Array, settings: SVBCM, total: float) -> bool:
    """Whether the last quarter of a path is hardly above the quarter before, and hardly varies, (SVB5)."""
    share = path_steps(settings.n_steps) / settings.n_steps
    before, last = path[(share > 0.5) & (share <= 0.75)], path[share > 0.75]
    if min(len(before), len(last)) < _FEWEST:
        return False
    return bool(max(last.mean() - before.mean(), last.std()) < max(_RISE, _RISE_PER_ROW * total))
