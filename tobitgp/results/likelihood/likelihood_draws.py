"""Draws from the normal distribution of the estimates of a maximum of the likelihood, in several rows together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tobitgp.data.absorbed import as_dense
from tobitgp.diagnostics.training_draws import Draws, chunks, on_grid, streams, training_rows
from tobitgp.engines import row_chunks
from tobitgp.errors import SpecError
from tobitgp.kinds.likelihood import LikelihoodParts, drawn_rows, moved_rows
from tobitgp.numerics.bordered import leading, of_sums
from tobitgp.numerics.sampling import open_uniform
from tobitgp.regression.maximum import hide
from tobitgp.results.joint import JointPosterior, Within
from tobitgp.results.rows import Asked
from tobitgp.typing import Array

_MORE = (1, 2, 8, 64)  # times as many, of which enough must be possible


@dataclass(frozen=True, slots=True)
class JointEstimates(JointPosterior):
    """Joint estimates of the linear predictor eta in several rows."""

    parts: LikelihoodParts

    def moments(self, asked: Asked) -> tuple[Array, Array]:
        """Mean (n,) and covariance (n, n) of eta."""
        H, *_ = self.parts.designs(asked.design)
        p = H.shape[1]
        V, N = (of_sums(as_dense(H), leading(each, p)) for each in (self.parts.covariance, self.parts.unidentified))
        return self.parts.predictors(asked.design)[0], hide(V, N)

    @property
    def of_training_rows(self) -> bool:
        """As in predictions, what was observed about a new row says nothing of the parameters."""
        return False

    def draw(
        self,
        asked: Asked,
        draws: int,
        *,
        noise: bool,
        rng: np.random.Generator,
        known: Within = None,
        window: Within = None,
    ) -> Array:
        """Draws (n, draws) of eta, or of the response: all parameters anew in each."""
        change = draw_changes(self.parts, draws, rng, question="sample()")[0]
        if not noise:
            return moved_rows(self.parts, asked.design, change)[0]
        ends = window if known is None else known
        return drawn_responses(drawn_rows(self.parts, asked.design, change), draws, rng, ends)

    def distributions(
        self, asked: Asked, draws: int, cells: int, rng: np.random.Generator, random: Sequence[str] = ()
    ) -> Iterator[Any]:
        """Draws of the distributions of the response in all rows, (n, s) at a time, of some cells at most."""
        for part in row_chunks(0, draws, max(cells // len(asked.design.H), 1)):
            change = draw_changes(self.parts, part.stop - part.start, rng, question="sample()")[0]
            yield from drawn_rows(self.parts, asked.design, change)


@dataclass(frozen=True, slots=True)
class EstimateDraws(Draws):
    """Draws of the parameters."""

    parts: LikelihoodParts
    change: Array  # (k, S), draws of ``maximum.parameters`` less their estimates
    squares: Array  # (S,), squared length of the draws in standard deviations
    seeds: tuple[int, ...]  # one for each chunk of rows

    @property
    def size(self) -> int:
        """S."""
        return self.change.shape[1]

    def parameters(self) -> Array:
        """As they are reported, (S, k)."""
        return self.parts.reported((self.parts.maximum.parameters[:, None] + self.change).T)

    def log_likelihoods(self) -> Iterator[tuple[slice, Array]]:
        training = self.parts.rows
        for rows in chunks(len(training.labels)):
            seen, drawn = training.response.rows(rows), self.parts.drawn_in_training(rows, self.change)
            ends = seen.lower, seen.upper, *self.parts.windows(seen)
            yield rows, on_grid(np.hstack([y.log_likelihood(*ends) for y in drawn]))

    def responses(self) -> Iterator[tuple[slice, Array]]:
        """Infinite in rows that never have the event."""
        training = self.parts.rows
        for rows, seed in zip(chunks(len(training.labels)), self.seeds, strict=True):
            entry, exit = self.parts.windows(training.response.rows(rows))
            open_window = np.isinf(entry) & np.isinf(exit)
            ends = None if open_window.all() else (entry, exit)
            drawn = self.parts.drawn_in_training(rows, self.change)
            yield rows, drawn_responses(drawn, self.size, np.random.default_rng(seed), ends)


def draw_estimates(
    parts: LikelihoodParts, draws: int, rng: int | np.random.Generator | None, *, question: str
) -> EstimateDraws:
    """Draw the parameters of a fit that holds its rows."""
    training = training_rows(parts, question)
    if not parts.maximum.converged:
        raise SpecError(
            f"The fit has not converged, so that {question} cannot draw from the distribution of its estimates. "
            f"Follow its warning first."
        )
    stream, seeds = streams(len(training.labels), rng)
    return EstimateDraws(parts, *draw_changes(parts, draws, stream, question=question), seeds)


def draw_changes(parts: LikelihoodParts, draws: int, rng: np.random.Generator, *, question: str) -> tuple[Array, Array]:
    """Draws (k, draws) of the parameters less their estimates, and their squared length in standard deviations."""
    if not parts.has_errors:
        raise SpecError(
            "Some estimates have no standard error, so that nothing can be drawn. conf_int() shows which. Leave "
            "out their columns, or join levels."
        )
    root = parts.draw_root
    inside = np.square(root).sum(axis=0) > 0.0
    for times in _MORE:
        z = rng.standard_normal((root.shape[1], times * draws))
        change = root @ z
        some = np.flatnonzero(parts.possible(change))[:draws]
        if len(some) == draws:
            return change[:, some], np.square(z[inside][:, some]).sum(axis=0)
    raise SpecError(
        f"Hardly any draw of the parameters has an increasing cumulative hazard, which {question} requires. "
        f"Give a smaller df."
    )


def drawn_responses(
    rows: Sequence[Any], draws: int, rng: np.random.Generator, ends: tuple[Array, Array] | None
) -> Array:
    """New responses (n, draws) in rows, between ends (n,) where there are any."""
    uniform = np.split(open_uniform(rng, (rows[0].shape[0], draws)), len(rows), axis=1)
    beside = () if ends is None else tuple(end[:, None] for end in ends)
    return np.hstack([y.drawn(u, *beside) for y, u in zip(rows, uniform, strict=True)])
