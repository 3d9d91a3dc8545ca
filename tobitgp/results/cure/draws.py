"""Draws of cure models from the normal distribution of the estimates."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from tobitgp.data.arrays import Design, take
from tobitgp.diagnostics.draws import chunks, on_grid
from tobitgp.distributions.base import Distribution
from tobitgp.distributions.cured import Cured
from tobitgp.distributions.location_scale import LocationScale
from tobitgp.numerics.sampling import open_uniform
from tobitgp.results.cure.parts import CureParts, designs_of, row_parameters
from tobitgp.results.regression.draws import EstimateDraws, draw_estimates, estimate_root, moved_noises, of_draws
from tobitgp.typing import Array, BoolArray


@dataclass(frozen=True, slots=True)
class CureDraws(EstimateDraws):
    """Draws of the parameters of a cure model."""

    parts: CureParts

    def log_likelihoods(self) -> Iterator[tuple[slice, Array]]:
        """See `Draws`; (CUR2)."""
        for rows in chunks(len(self.known)):
            known = take(self.known, rows)
            time, start, exact = np.exp(known.lower)[:, None], np.exp(known.entry)[:, None], known.exact[:, None]

            def of(y: Cured) -> Array:
                return np.where(exact, y.logpdf(time), y.logsf(time)) - y.logsf(start)  # noqa: B023

            yield rows, on_grid(over_draws(self.parts, self.parts.rows.design.rows(rows), self.change, of))

    def responses(self) -> Iterator[tuple[slice, Array]]:
        """See `Draws`; those of cured ones are infinite."""
        for rows, seed in zip(chunks(len(self.known)), self.seeds, strict=True):
            entry = np.exp(self.known.entry[rows])
            yield rows, _times(self.parts, self.parts.rows.design.rows(rows), self.change, seed, entry)


def draw_cure(parts: CureParts, draws: int, rng: int | np.random.Generator | None, *, question: str) -> CureDraws:
    """Draw the parameters of a cure model."""
    found = draw_estimates(parts, draws, rng, question=question)
    return CureDraws(parts, found.known, found.change, found.squares, found.seeds)


def over_draws(parts: CureParts, design: Design, change: Array, of: Callable[..., Array], *more: Array) -> Array:
    """Numbers (n, S) of the distributions of rows under each draw of the parameters; ``more`` (n, S) go with them."""
    designs, x = designs_of(parts, design), row_parameters(parts, design)
    moves = np.split(change, np.cumsum([each.shape[1] for each in designs])[:-1])
    eta, v, tau, *_ = (at[:, None] + each @ move for at, each, move in zip(x, designs, moves, strict=True))

    def number(noise: Distribution, eta: Array, v: Array, tau: Array, *more: Array) -> Array:
        return of(Cured(LocationScale(noise, eta, np.exp(tau), log=True), v), *more)

    return of_draws(moved_noises(parts, change), number, eta, v, tau, *more)


def _times(parts: CureParts, design: Design, change: Array, seed: int, start: Array) -> Array:
    """Times (n, S) after starts (n,)."""
    shape = (len(start), change.shape[1])
    uniform = open_uniform(np.random.default_rng(seed), shape)

    def of(y: Cured, uniform: Array, start: Array) -> Array:
        return y.survived(np.log(uniform) + y.logsf(start))

    return over_draws(parts, design, change, of, uniform, np.broadcast_to(start[:, None], shape))


def draw_times(
    parts: CureParts,
    design: Design,
    draws: int,
    rng: np.random.Generator,
    start: tuple[Array, BoolArray] | None = None,
) -> Array:
    """New times (n, draws), all parameters anew in each; after the ``start`` of each row, or just there where known."""
    root = estimate_root(parts)
    change = root @ rng.standard_normal((root.shape[1], draws))
    first, exact = (np.zeros(len(design.H)), np.zeros(len(design.H), dtype=bool)) if start is None else start
    times = _times(parts, design, change, int(rng.integers(2**32)), first)
    return np.where(exact[:, None], first[:, None], times)
