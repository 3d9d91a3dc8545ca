"""Rows at inputs that were measured with errors: their nodes, draws of them together, and of a fit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtr, ndtri

from tobitgp.data.arrays import CensoredResponse, Design
from tobitgp.diagnostics.training_draws import Draws, chunks, on_grid, streams, training_rows
from tobitgp.distributions.location_scale import LocationScale
from tobitgp.distributions.symmetric_noise import NormalNoise
from tobitgp.engines import row_chunks
from tobitgp.numerics.sampling import Rng, open_uniform
from tobitgp.posterior.nodes import Nodes
from tobitgp.posterior.seen import FARTHEST, LeftOutRows, log_predictive, normal_draws
from tobitgp.results.joint import JointPosterior, Within
from tobitgp.results.parameter_estimates import Linear
from tobitgp.results.rows import Asked
from tobitgp.results.uncertain.uncertain_parts import UncertainParts
from tobitgp.typing import Array, BoolArray

_ROWS = 64  # of all nodes and draws that are held at once


def measured_nodes(parts: UncertainParts, design: Design) -> Nodes:
    """The response without noise in rows, with a component for each node of their inputs: (LAT17)."""
    weight, mean, var = parts.rows_at(design).given_inputs()
    sigma = np.full((len(weight), 1), parts.sigma)
    return Nodes(weight, parts.centre + parts.scale * mean, parts.scale * np.sqrt(var), sigma)


def asked_nodes(parts: UncertainParts, asked: Asked) -> Nodes:
    """The same for rows of a question, at the intercept where the process is left out."""
    nodes = measured_nodes(parts, asked.design)
    if not asked.skip:
        return nodes
    return replace(nodes, mean=np.full_like(nodes.mean, parts.level), sd=np.zeros_like(nodes.sd))


def seen_rows(nodes: Nodes, lower: Array, upper: Array) -> LeftOutRows:
    """Rows of which the response lies between ends (n,), the components weighted by what they say of that."""
    none, weight = np.full(len(lower), np.inf), np.repeat(nodes.weight[:, None], len(lower), axis=1)
    ends = lower, upper, nodes.log, nodes.noises, -none, none
    seen = LeftOutRows(weight, nodes.mean, nodes.sd, nodes.sigma, *ends)
    said = log_predictive(seen)
    return replace(seen, weight=np.exp(said - np.logaddexp.reduce(said, axis=0)))


@dataclass(frozen=True, slots=True)
class JointMeasured(JointPosterior):
    """Draws of the response without noise in several rows."""

    parts: UncertainParts

    def moments(self, asked: Asked) -> tuple[Array, Array]:
        """Mean (n,) and covariance (n, n): (LAT14)."""
        rows, parts, n = self.parts.rows_at(asked.design), self.parts, len(asked.design.H)
        if asked.skip:
            return np.full(n, parts.level), np.zeros((n, n))
        return parts.centre + parts.scale * rows.moments[0], np.square(parts.scale) * rows.covariance

    def differences(self, asked: Asked, same: BoolArray) -> Linear:
        """Differences between the first and the second half of the rows, where these are not the same."""
        k = len(asked.design.H) // 2
        m, V = self.moments(asked)
        half = V[:k] - V[k:]
        covariance = np.where(same | same[:, None], 0.0, half[:, :k] - half[:, k:])
        return Linear(np.ones(1), np.where(same, 0.0, m[:k] - m[k:])[None], [covariance], same)

    def _drawn(self, asked: Asked, rows: slice, draws: int, rng: np.random.Generator) -> Array:
        """Draws (n, draws) of the inputs of rows, and of the response without noise there."""
        design = asked.design.rows(rows)
        if asked.skip:
            return np.full((len(design.H), draws), self.parts.level)
        f = self.parts.processes.draw(self.parts.prior(design), draws, rng)[0]
        return np.asarray(self.parts.centre + self.parts.scale * f)

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
        """Draws (n, draws) of the response, with noise or without, or where it is known to lie."""
        f = self._drawn(asked, slice(None), draws, rng)
        if known is None:
            return f + self.parts.sigma * rng.standard_normal(f.shape) if noise else f
        out = np.repeat(known[0][:, None], draws, axis=1)
        hidden = np.flatnonzero(known[0] != known[1])
        nodes = asked_nodes(self.parts, asked)
        seen, scores = seen_rows(nodes, *known).take(hidden), _scores(nodes.take(hidden), f[hidden])
        place = open_uniform(rng, scores.shape)
        node = (np.cumsum(seen.weight, axis=0)[:-1, :, None] < place).sum(axis=0)
        uniform = open_uniform(rng, place.shape)
        for j in range(len(seen.weight)):
            own = normal_draws(seen.component(j), scores, uniform)
            out[hidden] = np.where(node == j, own, out[hidden])
        return out

    def distributions(
        self,
        asked: Asked,
        draws: int,
        cells: int,
        rng: np.random.Generator,
        random: Sequence[str] = (),
        copies: int = 1,
    ) -> Iterator[LocationScale]:
        """Draws of the distributions of the response in all rows together, (n, s) at a time; copies share theirs."""
        n = len(asked.design.H) // copies
        for part in row_chunks(0, draws, max(cells // max(n * copies, 1), 1)):
            size, seed = part.stop - part.start, int(rng.integers(2**63))
            each = [slice(k * n, (k + 1) * n) for k in range(copies)]
            f = np.concatenate([self._drawn(asked, one, size, np.random.default_rng(seed)) for one in each])
            yield LocationScale(NormalNoise(), f, np.full((1, 1), self.parts.sigma))

    @property
    def of_training_rows(self) -> bool:
        """New rows can be drawn as what they are known to be."""
        return False


def _scores(nodes: Nodes, f: Array) -> Array:
    """Normal scores of values (n, S) of the response without noise."""
    z = (f - nodes.mean[:, :, None]) / np.maximum(nodes.sd, 1e-300)[:, :, None]
    below, above = (np.einsum("j,jns->ns", nodes.weight, ndtr(sign * z)) for sign in (1.0, -1.0))
    scores = np.where(below < above, ndtri(below), -ndtri(above))
    return np.clip(scores, -FARTHEST, FARTHEST)


@dataclass(frozen=True, slots=True)
class MeasuredDraws(Draws):
    """Draws of the process; likelihoods of rows are means over their inputs."""

    parts: UncertainParts
    w: Array  # (M, S)
    seeds: tuple[int, ...]  # one for each chunk of rows

    @classmethod
    def of(cls, parts: UncertainParts, draws: int, rng: Rng, question: str) -> MeasuredDraws:
        """Draws from the posterior of the process."""
        stream, seeds = streams(len(training_rows(parts, question).labels), rng)
        q = parts.processes.posterior
        normal = stream.standard_normal((q.w.shape[1], draws))
        return cls(parts, q.w[0][:, None] + np.linalg.cholesky(q.B_inverse[0]) @ normal, seeds)

    @property
    def size(self) -> int:
        """S."""
        return int(self.w.shape[1])

    def parameters(self) -> Array:
        """Parameters, the same in all draws, (S, k)."""
        return np.tile(self.parts.parameters, (self.size, 1))

    def _at(self, x: Array, design: Design) -> tuple[Array, Array]:
        """Mean (..., S) of the response at inputs (...) given the draws, and the variance (...) of what they leave."""
        parts = self.parts
        A, rest = parts.rows_at(design).features(x)
        level, sd = float(parts.processes.scales.level[0]), float(parts.processes.scales.sd[0])
        mean = parts.centre + parts.scale * (level + sd * (A @ self.w))
        return mean, np.square(parts.scale * sd) * rest

    def log_likelihoods(self) -> Iterator[tuple[slice, Array]]:
        """See `Draws`."""
        design, response = self.parts.rows.design, self.parts.rows.response
        for rows in row_chunks(0, len(design.H), _ROWS):
            part, seen = design.rows(rows), response.rows(rows)
            weight, x = self.parts.rows_at(part).nodes()
            mean, rest = self._at(x, part)
            sd = np.sqrt(rest + np.square(self.parts.sigma))[..., None]
            each = [_likelihood(m, s, seen) for m, s in zip(mean, sd, strict=True)]
            yield rows, on_grid(np.logaddexp.reduce(np.log(weight)[:, None, None] + np.stack(each), axis=0))

    def responses(self) -> Iterator[tuple[slice, Array]]:
        """See `Draws`."""
        design = self.parts.rows.design
        for rows, seed in zip(chunks(len(design.H)), self.seeds, strict=True):
            rng, part = np.random.default_rng(seed), design.rows(rows)
            prior, out = self.parts.prior(part), np.empty((len(part.H), self.size))
            for s in range(self.size):
                x = prior.drawn(rng)[:, 0]
                A, rest = replace(self, w=self.w[:, s : s + 1])._at(x, part)
                noise = np.sqrt(rest + np.square(self.parts.sigma))
                out[:, s] = A[:, 0] + noise * rng.standard_normal(len(x))
            yield rows, out


def _likelihood(mean: Array, sd: Array, seen: CensoredResponse) -> Array:
    """Log likelihoods (n, S) of rows about means (n, S)."""
    return LocationScale(NormalNoise(), mean, sd).log_likelihood(seen.lower, seen.upper, seen.entry, seen.exit)
