"""Draws from the normal distribution of the estimates of rows with several parameters."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tobitgp.data.arrays import Design
from tobitgp.diagnostics.draws import chunks, on_grid
from tobitgp.errors import SpecError
from tobitgp.numerics.sampling import open_uniform
from tobitgp.results.distributional.parts import DistributionalParts
from tobitgp.results.regression.draws import EstimateDraws, draw_estimates, estimate_root
from tobitgp.typing import Array

_MORE = (1, 2, 8, 64)  # times as many, of which enough must be possible


@dataclass(frozen=True, slots=True)
class DistributionalDraws(EstimateDraws):
    """Draws of the parameters."""

    parts: DistributionalParts

    def log_likelihoods(self) -> Iterator[tuple[slice, Array]]:
        """See `Draws`; (CUR2), (PH6)."""
        for rows in chunks(len(self.parts.rows.labels)):
            seen = self.parts.rows.response.rows(rows)
            ends, design = (seen.lower, seen.upper, seen.entry, seen.exit), self.parts.rows.design.rows(rows)
            yield rows, on_grid(over_draws(self.parts, design, self.change, lambda y, e=ends: y.log_likelihood(*e)))

    def responses(self) -> Iterator[tuple[slice, Array]]:
        """See `Draws`; those of rows that never have the event are infinite."""
        for rows, seed in zip(chunks(len(self.parts.rows.labels)), self.seeds, strict=True):
            seen = self.parts.rows.response
            within = seen.entry[rows], seen.exit[rows]
            yield rows, _times(self.parts, self.parts.rows.design.rows(rows), self.change, seed, within)


def draw_parameters(
    parts: DistributionalParts, draws: int, rng: int | np.random.Generator | None, *, question: str
) -> DistributionalDraws:
    """Draw the parameters of a fit."""
    for times in _MORE:
        found = draw_estimates(parts, times * draws, rng, question=question)
        some = np.flatnonzero(parts.possible(found.change))[:draws]
        if len(some) == draws:
            return DistributionalDraws(parts, found.change[:, some], found.squares[some], found.seeds)
    raise _few_possible(question)


def draw_changes(parts: DistributionalParts, draws: int, rng: np.random.Generator, *, question: str) -> Array:
    """Draws (k, draws) of by how much the parameters differ from their estimates."""
    root = estimate_root(parts)
    for times in _MORE:
        change = root @ rng.standard_normal((root.shape[1], times * draws))
        some = np.flatnonzero(parts.possible(change))[:draws]
        if len(some) == draws:
            return np.asarray(change[:, some])
    raise _few_possible(question)


def _few_possible(question: str) -> SpecError:
    return SpecError(
        f"Hardly any draw of the parameters has a baseline that rises, and {question} rests on draws; give a "
        "smaller df."
    )


def moved_rows(parts: DistributionalParts, design: Design, change: Array) -> tuple[Array, ...]:
    """The parameters of rows, (n, S) each, where those of the fit move by ``change`` (k, S)."""
    designs = parts.designs(design)
    moves = np.split(change, np.cumsum([each.shape[1] for each in designs])[:-1])
    rows = zip(parts.predictors(design), designs, moves, strict=True)
    return tuple(at[:, None] + each @ move for at, each, move in rows)


def over_draws(
    parts: DistributionalParts, design: Design, change: Array, of: Callable[..., Array], *more: Array
) -> Array:
    """Numbers (n, S) of the distributions of rows under each draw of the parameters; ``more`` (n, S) go with them."""
    x = moved_rows(parts, design, change)
    if not parts.draw_by_draw:
        return of(parts.at(x), *more)
    one = [slice(s, s + 1) for s in range(change.shape[1])]
    return np.hstack([of(parts.at(tuple(each[:, s] for each in x)), *(each[:, s] for each in more)) for s in one])


def _times(parts: DistributionalParts, design: Design, change: Array, seed: int, within: tuple[Array, Array]) -> Array:
    """Times (n, S) between two ends (n,) each."""
    shape = (len(within[0]), change.shape[1])
    uniform = open_uniform(np.random.default_rng(seed), shape)

    def of(y: Any, *at: Array) -> Array:
        return np.asarray(y.drawn(*at))

    return over_draws(parts, design, change, of, uniform, *(np.broadcast_to(at[:, None], shape) for at in within))


def draw_times(
    parts: DistributionalParts,
    design: Design,
    draws: int,
    rng: np.random.Generator,
    known: tuple[Array, Array] | None = None,
) -> Array:
    """New times (n, draws), all parameters anew in each; within what is known of the rows."""
    change, n = draw_changes(parts, draws, rng, question="sample()"), len(design.H)
    ends = (np.zeros(n), np.full(n, np.inf)) if known is None else known
    return _times(parts, design, change, int(rng.integers(2**32)), ends)
