"""Draws over latent coordinates: of one response in rows, and of all values of a fit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tobitgp.diagnostics.training_draws import Draws, on_grid, training_rows
from tobitgp.distributions.location_scale import LocationScale
from tobitgp.distributions.symmetric_noise import NormalNoise
from tobitgp.latent.collapsed_bound import ResponseEnds
from tobitgp.numerics.sampling import Rng, generator, open_uniform
from tobitgp.posterior.nodes import Nodes
from tobitgp.posterior.seen import LeftOutRows, normal_draws
from tobitgp.results.joint import JointPosterior, Within
from tobitgp.results.latent.coordinates import CoordinateDesign
from tobitgp.results.latent.latent_parts import LatentParts, LatentResponse
from tobitgp.results.rows import Asked
from tobitgp.typing import Array


def response_nodes(parts: LatentResponse, design: CoordinateDesign) -> Nodes:
    """One response without noise in rows: (LAT8)."""
    mean, sd = parts.state.coordinates.moments(design)
    return Nodes(np.ones(1), mean[None], sd[None], np.full((1, 1), parts.sigma))


def seen_by_the_others(nodes: Nodes, lower: Array, upper: Array) -> LeftOutRows:
    """Rows by their other responses, of which this one lies between ends (n,)."""
    weight, none = np.ones_like(nodes.mean), np.full(len(lower), np.inf)
    return LeftOutRows(weight, nodes.mean, nodes.sd, nodes.sigma, lower, upper, nodes.log, nodes.noises, -none, none)


@dataclass(frozen=True, slots=True)
class JointResponse(JointPosterior):
    """One response in rows together."""

    parts: LatentResponse

    def moments(self, asked: Asked) -> tuple[Array, Array]:
        """Mean (n,) and covariance (n, n) of the response without noise: (LAT14)."""
        state, design = self.parts.state, _design(asked)
        j, coordinates = state.response, state.coordinates
        V = coordinates.processes.covariances(coordinates.points(design.known))[j, :, j]
        return coordinates.moments(design)[0], np.square(coordinates.scale[j]) * V

    def _drawn(self, design: CoordinateDesign, draws: int, rng: np.random.Generator) -> Array:
        """Draws (n, draws) of the response without noise."""
        state = self.parts.state
        j, coordinates = state.response, state.coordinates
        f = coordinates.processes.draw(coordinates.points(design.known), draws, rng)[j]
        return np.asarray(coordinates.centre[j] + coordinates.scale[j] * f)

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
        design, sigma = _design(asked), self.parts.sigma
        if known is not None:
            design = design.by_the_others()
        f = self._drawn(design, draws, rng)
        if known is None:
            return f + sigma * rng.standard_normal(f.shape) if noise else f
        nodes, out = response_nodes(self.parts, design), np.repeat(known[0][:, None], draws, axis=1)
        hidden = np.flatnonzero(known[0] != known[1])
        rows = seen_by_the_others(nodes, *known).take(hidden).component(0)
        scores = (f[hidden] - rows.mean[:, None]) / np.maximum(rows.sd, 1e-300)[:, None]
        out[hidden] = normal_draws(rows, scores, open_uniform(rng, scores.shape))
        return out

    def distributions(
        self, asked: Asked, draws: int, cells: int, rng: np.random.Generator, random: Sequence[str] = ()
    ) -> Iterator[LocationScale]:
        """Draws of the distributions of the response in all rows together, (n, s) at a time."""
        size = max(cells // max(len(asked.design.H), 1), 1)
        for first in range(0, draws, size):
            f = self._drawn(_design(asked), min(size, draws - first), rng)
            yield LocationScale(NormalNoise(), f, np.full((1, 1), self.parts.sigma))

    @property
    def of_training_rows(self) -> bool:
        """New rows can be drawn as what they are known to be, by their other responses."""
        return False


def _design(asked: Asked) -> CoordinateDesign:
    assert isinstance(asked.design, CoordinateDesign)
    return asked.design


@dataclass(frozen=True, slots=True)
class LatentDraws(Draws):
    """Draws of the responses without noise at all values of a fit, or at those of one response."""

    parts: LatentParts
    f: tuple[Array, ...]  # (n_j, S) of each response j, on its scale
    rng: np.random.Generator
    response: int | None = None

    @classmethod
    def of(cls, parts: LatentParts, draws: int, rng: Rng, question: str) -> LatentDraws:
        """Draws from the posterior of coordinates and processes."""
        training_rows(parts, question)
        assert parts.read is not None
        stream, coordinates = generator(rng), parts.coordinates
        kept = np.zeros(len(parts.read.data), dtype=bool)
        for one in parts.responses:
            kept |= one.rows.kept
        known = ResponseEnds(*(end[kept] for end in parts.read.ends))
        f = coordinates.processes.draw(coordinates.points(known), draws, stream)
        places = [one.rows.kept[kept] for one in parts.responses]
        scaled = zip(f, places, parts.centre, parts.scale, strict=True)
        return cls(parts, tuple(b + a * each[at] for each, at, b, a in scaled), stream)

    def of_response(self, j: int) -> LatentDraws:
        """Those of one response."""
        return replace(self, response=j)

    @property
    def size(self) -> int:
        """S."""
        return int(self.f[0].shape[1])

    @property
    def names(self) -> list[str]:
        """The parameters, which are the same in all draws."""
        return self.parts.names if self.response is None else self.parts.responses[self.response].names

    def parameters(self) -> Array:
        """See `Draws`."""
        own = self.parts.parameters
        if self.response is not None:
            own = own[: 3 * len(self.f)].reshape(3, -1)[:, self.response]
        return np.tile(own, (self.size, 1))

    def _given(self) -> Iterator[tuple[slice, LatentResponse, LocationScale]]:
        """Places of the values of each response, its parts, and its distributions (n_j, S)."""
        start = 0
        for j, (one, f) in enumerate(zip(self.parts.responses, self.f, strict=True)):
            if self.response in (None, j):
                yield slice(start, start + len(f)), one, LocationScale(NormalNoise(), f, np.full((1, 1), one.sigma))
                start += len(f)

    def log_likelihoods(self) -> Iterator[tuple[slice, Array]]:
        """See `Draws`."""
        for place, one, y in self._given():
            seen = one.rows.response
            yield place, on_grid(y.log_likelihood(seen.lower, seen.upper, seen.entry, seen.exit))

    def responses(self) -> Iterator[tuple[slice, Array]]:
        """See `Draws`."""
        for place, _, y in self._given():
            yield place, y.location + y.scale * self.rng.standard_normal(y.location.shape)
