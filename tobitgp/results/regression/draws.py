"""Draws from the normal distribution of a regression's estimates, in several rows together."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tobitgp.data.absorbed import as_dense, centred
from tobitgp.data.arrays import CensoredResponse, Design
from tobitgp.data.outcome import Outcome
from tobitgp.diagnostics.draws import Draws, chunks, on_grid, streams, training_rows
from tobitgp.distributions.base import Distribution
from tobitgp.distributions.location_scale import LocationScale
from tobitgp.engines import row_chunks
from tobitgp.errors import SpecError
from tobitgp.numerics.factored import Factored, leading, of_sums, variances
from tobitgp.numerics.sampling import open_uniform
from tobitgp.regression.maximum import hide, is_lost, normal_root
from tobitgp.results.joint import JointPosterior
from tobitgp.results.regression.parts import RegressionParts, predictors, scale_design, uncentred
from tobitgp.results.rows import Asked
from tobitgp.typing import Array


@dataclass(frozen=True, slots=True)
class JointEstimates(JointPosterior):
    """Of the linear predictor eta in several rows."""

    parts: RegressionParts

    def moments(self, asked: Asked) -> tuple[Array, Array]:
        """Mean (n,) and covariance (n, n) of eta."""
        H, p = centred(asked.design.H, self.parts.centre), len(self.parts.columns)
        V, N = (of_sums(as_dense(H), leading(each, p)) for each in (self.parts.covariance, self.parts.unidentified))
        return predictors(self.parts, asked.design)[0], hide(V, N)

    @property
    def of_training_rows(self) -> bool:
        """As in predictions, what was seen of a new row says nothing of the parameters."""
        return False

    def changes(self, draws: int, rng: np.random.Generator) -> Array:
        """Draws (k, draws) of the parameters less their estimates."""
        root = estimate_root(self.parts)
        return root @ rng.standard_normal((root.shape[1], draws))

    def draw(
        self,
        asked: Asked,
        draws: int,
        *,
        noise: bool,
        rng: np.random.Generator,
        known: Outcome | None = None,
        window: tuple[Array, Array] | None = None,
    ) -> Array:
        """Draws (n, draws) of eta, or of eta plus noise: all parameters anew in each."""
        change = self.changes(draws, rng)
        if not noise:
            return moved_predictors(self.parts, asked.design, change)[0]
        ends = window if known is None else (known.lower, known.upper)
        return drawn_responses(drawn_rows(self.parts, asked.design, change, log=False), draws, rng, ends)

    def distributions(
        self, asked: Asked, draws: int, cells: int, rng: np.random.Generator, random: Sequence[str] = ()
    ) -> Iterator[LocationScale]:
        """Draws of the distributions of the response in all rows, (n, s) at a time, of some cells at most."""
        log = self.parts.family.log_time
        for part in row_chunks(0, draws, max(cells // len(asked.design.H), 1)):
            change = self.changes(part.stop - part.start, rng)
            yield from drawn_rows(self.parts, asked.design, change, log=log)


def estimate_root(parts: RegressionParts) -> Array:
    """A root R (k, m) of the covariance ``R R'`` of the estimates, columns of zeros where that is singular."""
    V, variance = parts.covariance, variances(parts.covariance)
    if not np.isfinite(variance).all() or is_lost(variance, variances(parts.unidentified)).any():
        raise SpecError("Some estimates have no standard error: nothing can be drawn.")
    if isinstance(V, Factored):
        return np.hstack([V.root, np.diag(np.sqrt(V.own))[:, V.own > 0.0]])
    return normal_root(V)


def moved_predictors(parts: RegressionParts, design: Design, change: Array) -> tuple[Array, Array]:
    """Locations and log scales of rows, (n, draws) each, where the parameters move by ``change`` (k, draws)."""
    (location, log_scale), W = predictors(parts, design), scale_design(parts, design)
    p, q = len(parts.columns), W.shape[1]
    eta = location[:, None] + centred(design.H, parts.centre) @ change[:p]
    return eta, log_scale[:, None] + W @ change[p : p + q]


def moved_noises(parts: RegressionParts, change: Array) -> list[Distribution]:
    """Distribution of the noise, one for each draw where its shape was estimated."""
    moves, noise = change[len(parts.columns) + len(parts.maximum.gamma) :], parts.noise
    if not len(moves):
        return [noise]
    return [noise.at_coordinate(x) for x in np.clip(noise.coordinate + moves[0], *noise.coordinate_range()).tolist()]


def moved_parameters(parts: RegressionParts, change: Array) -> Array:
    """All parameters as they are reported, (draws, k), where those of the maximum move by ``change`` (k, draws)."""
    p, positive = len(parts.columns), parts.positive
    out = (parts.maximum.parameters[:, None] + change).T
    out[:, :p] = uncentred(parts, out[:, :p].T).T
    with np.errstate(over="ignore"):
        out[:, p:] = np.where(positive, np.exp(out[:, p:]), out[:, p:])
    return out


def of_draws(noises: Sequence[Distribution], of: Callable[..., Array], *values: Array) -> Array:
    """``of(noise, *values)``, (n, draws), of one noise or of one for each draw; values (n, draws)."""
    if len(noises) == 1:
        return of(noises[0], *values)
    return np.column_stack([of(noise, *(value[:, [s]] for value in values)) for s, noise in enumerate(noises)])


def drawn_rows(parts: RegressionParts, design: Design, change: Array, *, log: bool) -> list[LocationScale]:
    """Distributions of the response in rows under draws of the parameters, together or one draw at a time, (n, s)."""
    eta, tau = moved_predictors(parts, design, change)
    noises, sigma = moved_noises(parts, change), np.exp(tau)
    if len(noises) == 1:
        return [LocationScale(noises[0], eta, sigma, log)]
    return [LocationScale(noise, eta[:, [s]], sigma[:, [s]], log) for s, noise in enumerate(noises)]


def drawn_responses(
    rows: list[LocationScale], draws: int, rng: np.random.Generator, ends: tuple[Array, Array] | None
) -> Array:
    """New responses (n, draws) in rows, between ends (n,) where there are any."""
    uniform = np.split(open_uniform(rng, (rows[0].shape[0], draws)), len(rows), axis=1)
    beside = () if ends is None else tuple(end[:, None] for end in ends)
    return np.hstack([y.drawn(u, *beside) for y, u in zip(rows, uniform, strict=True)])


@dataclass(frozen=True, slots=True)
class EstimateDraws(Draws):
    """Draws of a regression's parameters."""

    parts: RegressionParts
    change: Array  # (k, S), draws of ``maximum.parameters`` less their estimates
    squares: Array  # (S,), squared length of the draws in standard deviations
    seeds: tuple[int, ...]  # one for each chunk of rows

    @property
    def size(self) -> int:
        """S."""
        return self.change.shape[1]

    def parameters(self) -> Array:
        """Coefficients of the columns as written, sigma and the shape on their natural scale, (S, k)."""
        return moved_parameters(self.parts, self.change)

    def log_likelihoods(self) -> Iterator[tuple[slice, Array]]:
        """See `Draws`."""
        for rows, seen, drawn in self._rows():
            ends = seen.lower, seen.upper, seen.entry, seen.exit
            yield rows, on_grid(np.hstack([y.log_likelihood(*ends) for y in drawn]))

    def responses(self) -> Iterator[tuple[slice, Array]]:
        """See `Draws`."""
        for (rows, seen, drawn), seed in zip(self._rows(), self.seeds, strict=True):
            yield rows, drawn_responses(drawn, self.size, np.random.default_rng(seed), seen.window)

    def _rows(self) -> Iterator[tuple[slice, CensoredResponse, list[LocationScale]]]:
        """Chunks of rows, what is known of them, and their distributions under the draws."""
        training, log = self.parts.rows, self.parts.family.log_time
        for rows in chunks(len(training.labels)):
            design = training.design.rows(rows)
            yield rows, training.response.rows(rows), drawn_rows(self.parts, design, self.change, log=log)


def draw_estimates(
    parts: RegressionParts, draws: int, rng: int | np.random.Generator | None, *, question: str
) -> EstimateDraws:
    """Draw the parameters of a regression."""
    training = training_rows(parts, question)
    if not parts.maximum.converged:
        raise SpecError(
            f"The fit has not converged, so that its estimates have no distribution that {question} could draw from."
        )
    stream, seeds = streams(len(training.labels), rng)
    root = estimate_root(parts)
    z = stream.standard_normal((root.shape[1], draws))
    squares = np.square(z[np.square(root).sum(axis=0) > 0.0]).sum(axis=0)
    return EstimateDraws(parts, root @ z, squares, seeds)
