r"""Stochastic steps along natural parameters, over batches of stored rows or of a stream.

A batch of rows, weighed up to the size of the whole, stands for all rows in one coordinate-wise update; the state moves
a part :math:`\rho_t = (s + t)^{-\kappa}` of the way, straight in natural parameters, which is a stochastic natural
gradient: (SVB1) to (SVB3) of the theory pages.

References
----------
Kohjima, Matsubayashi and Toda (2019), algorithm 2 and theorem 1, for the Gaussian in the coordinates
(tau m, tau, 2a, 2b + tau m^2).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tobitgp.mixture.family import Sums
from tobitgp.mixture.methods import SVBCM
from tobitgp.mixture.model import Model, State
from tobitgp.mixture.passes import chunks_of, sum_over
from tobitgp.mixture.rows import Rows, Units, Working, arrange, read_rows
from tobitgp.numerics.draws import generator
from tobitgp.typing import Array


@dataclass(frozen=True, slots=True)
class Stream:
    """A fit that goes on as rows arrive."""

    model: Model
    state: State
    units: Units  # those of the first rows, kept
    settings: SVBCM
    step: int = 0  # steps taken
    seen: float = 0.0  # weight of the rows seen
    total: float | None = None  # weight of all the rows there will be, where that is known


def partial_fit(
    stream: Stream,
    lower: Array,
    upper: Array,
    weight: Array | None = None,
    *,
    rng: int | np.random.Generator | None = None,
) -> Stream:
    """The stream after one more batch.

    Shapes: lower, upper, weight (n,).
    """
    family = stream.model.family
    raw = read_rows(family, lower, upper, weight)
    if not len(raw.lower):
        return stream
    working = arrange(family, raw, stream.units)
    seen = stream.seen + working.total
    size = (seen if stream.total is None else stream.total) / working.total
    state = step_along(
        stream.model,
        stream.state,
        working.parts,
        size,
        stream.step,
        stream.settings,
        generator(rng),
    )
    return replace(stream, state=state, step=stream.step + 1, seen=seen)


def run(model: Model, working: Working, state: State, settings: SVBCM, rng: np.random.Generator) -> State:
    """Take ``settings.n_steps`` steps over the rows."""
    parts = [part[np.lexsort((part.upper, part.lower))] for part in working.parts]
    ends = np.cumsum([len(part) for part in parts])
    weight = np.cumsum(np.concatenate([part.weight for part in parts]))
    size = min(settings.batch_size, int(ends[-1]))
    for t in range(settings.n_steps):
        at = np.searchsorted(weight, (np.arange(size) + rng.random(size)) / size * weight[-1], side="right")
        at = np.minimum(at, ends[-1] - 1)
        batch = []
        for part, end in zip(parts, ends, strict=True):
            inside = at[(at < end) & (at >= end - len(part))] - (end - len(part))
            if len(inside):
                some = part[inside]
                batch.append(Rows(some.kind, some.lower, some.upper, some.width, np.ones(len(inside))))
        state = step_along(model, state, batch, weight[-1] / size, t, settings, rng)
    return state


def step_along(
    model: Model,
    state: State,
    batch: Sequence[Rows],
    size: float,
    t: int,
    settings: SVBCM,
    rng: np.random.Generator,
) -> State:
    """One step by a batch of which each row stands for ``size`` rows."""
    theta, log_weight, _ = model.view(state)
    some = Working(tuple(batch), Units(), 0.0, 0.0, 0.0)
    assign = rng if settings.statistics == "sampled" else None
    sums = sum_over(chunks_of(some, len(log_weight)), model.family, theta, log_weight, assign)
    goal = model.improve(state, Sums(size * sums.log_norm, size * sums.counts, size * sums.statistics))
    length = (settings.delay + t + 1.0) ** -settings.forgetting
    return model.between(state, goal, min(length, 1.0)) or state
