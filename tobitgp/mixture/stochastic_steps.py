r"""Stochastic steps by batches of rows, the path of the bound along them, and whether it has levelled off.

A batch of rows, weighted up to the weight of all, replaces them in one coordinate-wise update, and the state moves a
fraction :math:`\rho_t = (s + t)^{-\kappa}` of the way, straight in natural parameters, which is a stochastic natural
gradient: (SVB1) to (SVB3) of the theory pages, (SVB4) and (SVB5) for the path.

References
----------
Kohjima, Matsubayashi and Toda (2019), algorithm 2 and theorem 1, for the Gaussian in the coordinates
(tau m, tau, 2a, 2b + tau m^2).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from tobitgp.mixture.arranged_rows import subset
from tobitgp.mixture.coordinate_ascent import chunks_of, evaluate, sum_over
from tobitgp.mixture.evidence_bound import MixtureState, Model
from tobitgp.mixture.family import Sums
from tobitgp.mixture.methods import SVBCM
from tobitgp.mixture.mixture_rows import MixtureRows, WorkingRows
from tobitgp.mixture.sampled_statistics import sampled_terms
from tobitgp.typing import Array, IntArray

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
    model: Model, working: WorkingRows, state: MixtureState, settings: SVBCM, rng: np.random.Generator
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
    model: Model,
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
