"""Draws of the parameters of a mixture that have the covariance of their estimates."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tobitgp.mixture import Predictive
from tobitgp.results.mixture.parts import MixtureParts, covariance_of, training_ends
from tobitgp.results.mixture.residuals import draw_parameters
from tobitgp.results.trust.posterior_draws import chunks, on_grid, streams, training_rows
from tobitgp.typing import Array


@dataclass(frozen=True, slots=True)
class ComponentDraws:
    """Draws of a mixture's parameters; keeps the protocol of ``Draws``.

    Attributes
    ----------
    parts : MixtureParts
    ends : tuple of two (n,) arrays
        The values lie in (lower, upper].
    weights : (S, K) array
    theta : (S, D, K) array
        Plug-in parameters of the components.
    seeds : tuple of int
        One for each chunk of rows.
    """

    parts: MixtureParts
    ends: tuple[Array, Array]
    weights: Array
    theta: Array
    seeds: tuple[int, ...]

    @property
    def size(self) -> int:
        """S."""
        return len(self.weights)

    @property
    def names(self) -> list[str]:
        """Weights, then parameters of the components."""
        return list(self.parts.fit.names)

    def parameters(self) -> Array:
        """As ``params`` has them, (S, p)."""
        fit = self.parts.fit
        values = np.array([fit.model.family.point_estimates(at, fit.units)[0].ravel() for at in self.theta])
        return np.concatenate([self.weights, values], axis=1)

    def log_likelihoods(self) -> Iterator[tuple[slice, Array]]:
        """See `Draws`."""
        laws = list(self._laws())
        for rows in chunks(len(self.ends[0])):
            lower, upper = (end[rows] for end in self.ends)
            yield rows, on_grid(np.column_stack([law.log_mass(lower, upper) for law in laws]))

    def responses(self) -> Iterator[tuple[slice, Array]]:
        """See `Draws`."""
        laws = list(self._laws())
        for rows, seed in zip(chunks(len(self.ends[0])), self.seeds, strict=True):
            rng = np.random.default_rng(seed)
            yield rows, np.column_stack([law.rvs(rows.stop - rows.start, rng) for law in laws])

    def _laws(self) -> Iterator[Predictive]:
        fit = self.parts.fit
        for w, theta in zip(self.weights, self.theta, strict=True):
            yield Predictive(w, fit.model.family.point_law(theta, fit.units))


def draw_components(
    parts: MixtureParts, draws: int, rng: int | np.random.Generator | None, *, question: str
) -> ComponentDraws:
    """Draw the parameters of a mixture.

    Raises
    ------
    SpecError
        If the fit holds no rows, or the rows do not determine a parameter.
    """
    training = training_rows(parts, question)
    stream, seeds = streams(len(training.labels), rng)
    lower, upper, _ = training_ends(parts)
    weights, theta = draw_parameters(parts.fit, covariance_of(parts), draws, stream)
    return ComponentDraws(parts, (lower, upper), weights, theta, seeds)
