"""Draws of a process after a power transformation: of a power, and of the process of the response at that power."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from tobitgp.diagnostics.training_draws import Draws, on_grid, training_rows
from tobitgp.kinds.power_process import PowerProcessParts
from tobitgp.kinds.process import ScaledFit
from tobitgp.numerics.sampling import generator
from tobitgp.results.joint import JointPosterior, Within
from tobitgp.results.process.process_draws import JointProcess, ProcessDraws, draw_process
from tobitgp.results.rows import Asked
from tobitgp.typing import Array, IntArray


@dataclass(frozen=True, slots=True)
class JointPowers(JointPosterior):
    """Joint posterior of f in several rows at the reported power, and of responses at all powers."""

    parts: PowerProcessParts

    @property
    def of_training_rows(self) -> bool:
        return True

    def moments(self, asked: Asked) -> tuple[Array, Array]:
        return JointProcess(self.parts.reported.fit).moments(asked)

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
        if not noise:
            return JointProcess(self.parts.reported.fit).draw(asked, draws, noise=False, rng=rng)
        out = np.empty((len(asked.design.H), draws))
        for scaled, at in _drawn_powers(self.parts, draws, rng):
            within = None if window is None else (scaled.modelled(window[0]), scaled.modelled(window[1]))
            how: dict[str, Any] = {"noise": True, "rng": rng, "known": known, "window": within}
            out[:, at] = scaled.values(JointProcess(scaled.fit).draw(asked, len(at), **how))
        return out


@dataclass(frozen=True, slots=True)
class PowerDraws(Draws):
    """Draws of the fits at several powers."""

    parts: PowerProcessParts
    of: tuple[tuple[ScaledFit, IntArray, ProcessDraws], ...]  # those of each power, and their places among all

    @property
    def size(self) -> int:
        return sum(len(at) for _, at, _ in self.of)

    @property
    def names(self) -> list[str]:
        return [*self.parts.names, "power"]

    def parameters(self) -> Array:
        out = np.empty((self.size, len(self.names)))
        for scaled, at, draws in self.of:
            out[at, :-1], out[at, -1] = draws.parameters(), scaled.power
        return out

    def log_likelihoods(self) -> Iterator[tuple[slice, Array]]:
        response = self.parts.rows.response
        for each in zip(*(draws.log_likelihoods() for _, _, draws in self.of), strict=True):
            rows = each[0][0]
            out = np.empty((rows.stop - rows.start, self.size))
            for (scaled, at, _), (_, values) in zip(self.of, each, strict=True):
                out[:, at] = values + scaled.log_jacobian(response.rows(rows))[:, None]
            yield rows, on_grid(out)

    def responses(self) -> Iterator[tuple[slice, Array]]:
        for each in zip(*(draws.responses() for _, _, draws in self.of), strict=True):
            rows = each[0][0]
            out = np.empty((rows.stop - rows.start, self.size))
            for (scaled, at, _), (_, values) in zip(self.of, each, strict=True):
                out[:, at] = scaled.values(values)
            yield rows, out


def draw_powers(
    parts: PowerProcessParts, draws: int, rng: int | np.random.Generator | None, *, question: str
) -> PowerDraws:
    """Draw from the posterior of powers and processes."""
    training_rows(parts, question)
    stream = generator(rng)
    chosen = list(_drawn_powers(parts, draws, stream))
    made = (draw_process(scaled.fit, len(at), stream, question=question) for scaled, at in chosen)
    return PowerDraws(parts, tuple((*one, drawn) for one, drawn in zip(chosen, made, strict=True)))


def _drawn_powers(
    parts: PowerProcessParts, draws: int, rng: np.random.Generator
) -> Iterator[tuple[ScaledFit, IntArray]]:
    """Fits, and the places of the draws that are of each."""
    weight = np.array([scaled.weight for scaled in parts.scaled])
    chosen = rng.choice(len(weight), size=draws, p=weight / weight.sum())
    for k, scaled in enumerate(parts.scaled):
        if (chosen == k).any():
            yield scaled, np.flatnonzero(chosen == k)
