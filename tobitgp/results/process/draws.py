"""Draws from the posterior of a process: design point, features, what the features leave of f."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tobitgp.data.outcome import Outcome, outcome
from tobitgp.diagnostics.draws import Draws, chunks, log_jacobian, on_grid, streams, training_rows
from tobitgp.errors import SpecError
from tobitgp.likelihoods.censoring_noise import SIDES
from tobitgp.likelihoods.row_terms import log_likelihoods
from tobitgp.numerics.draws import open_uniform
from tobitgp.results.joint import draw_within
from tobitgp.results.views import Parts
from tobitgp.typing import Array, IntArray


@dataclass(frozen=True, slots=True)
class ProcessDraws(Draws):
    """Draws of a fitted process."""

    parts: Parts
    known: Outcome  # of the n rows
    point: IntArray  # (S,), design point of each draw
    w: tuple[Array, ...]  # (M_j, S_j), features' weights of the draws of each design point
    seeds: tuple[int, ...]  # one for each chunk of rows

    @property
    def size(self) -> int:
        """S."""
        return len(self.point)

    @property
    def names(self) -> list[str]:
        """Linear columns, then hyper-parameters."""
        return self.parts.names

    def parameters(self) -> Array:
        """Linear coefficients, and hyper-parameters at the draw's design point, (S, k)."""
        fitted, gp = self.parts.fitted, self.parts.gp
        p = fitted.n_linear
        out = np.empty((self.size, len(self.names)))
        for j, point in enumerate(fitted.points):
            at = self.point == j
            out[at, p:] = fitted.parameters.values(point.theta)
            if gp.linear is not None and at.any():
                centre = gp.problem.units.centre
                out[at, :p] = np.array(
                    [gp.linear.coefficients(w, centre) for w in self.w[j].T @ point.coefficient_rows(p)]
                )
        return out

    def log_likelihoods(self) -> Iterator[tuple[slice, Array]]:
        """See `Draws`."""
        log_time, scale = self.parts.family.log_time, self.parts.gp.problem.units.scale
        jacobian = log_jacobian(self.known, log_time=log_time)
        for rows, f, _ in self._latent():
            known, out = self.known.rows(np.arange(rows.start, rows.stop)), np.empty_like(f)
            for j, point in enumerate(self.parts.fitted.points):
                at = self.point == j
                law, tau = self.parts.family.law_at(point.theta), np.log(scale * self._noise(point.sigma, rows))
                out[:, at] = log_likelihoods(law, known, f[:, at], tau)
            yield rows, on_grid(out + jacobian[rows][:, None])

    def responses(self) -> Iterator[tuple[slice, Array]]:
        """See `Draws`."""
        family, scale, window = self.parts.family, self.parts.gp.problem.units.scale, self.known.window
        for rows, f, rng in self._latent():
            uniform = open_uniform(rng, f.shape)
            for j, point in enumerate(self.parts.fitted.points):
                at = self.point == j
                law, sigma = family.law_at(point.theta), scale * self._noise(point.sigma, rows)
                if window is None:
                    f[:, at] += sigma * law.ppf(uniform[:, at])
                else:
                    f[:, at] = draw_within(law, f[:, at], sigma, window[0][rows], window[1][rows], uniform[:, at])
            yield rows, _exp(f) if family.log_time else f

    def _noise(self, sigma: float, rows: slice) -> Array:
        """Noise scale of some rows, (n, 1) or a number."""
        noise = self.parts.rows.design.noise(sigma)
        return np.asarray(noise)[rows, None] if np.ndim(noise) else np.asarray(noise)

    def _latent(self) -> Iterator[tuple[slice, Array, np.random.Generator]]:
        """Chunks of rows, f of the draws in them in the user's units, and the generator that they left."""
        gp, design = self.parts.gp, self.parts.rows.design
        inputs, known, scale = gp.inputs(design), gp.known_mean(design), gp.problem.units.scale
        for rows, seed in zip(chunks(len(known)), self.seeds, strict=True):
            rng = np.random.default_rng(seed)
            f = rng.standard_normal((rows.stop - rows.start, self.size))
            for j, point in enumerate(self.parts.fitted.points):
                at = self.point == j
                if at.any():
                    A, d = point.features([part.rows(rows) for part in inputs])
                    f[:, at] = A.times(self.w[j]) + np.sqrt(np.maximum(d, 0.0))[:, None] * f[:, at]
            yield rows, known[rows][:, None] + scale * f, rng


def draw_process(
    parts: Parts, draws: int, rng: int | np.random.Generator | None, *, question: str, first: bool = False
) -> ProcessDraws:
    """Draw from the posterior of a process, with ``first`` from that at the maximum alone."""
    training = training_rows(parts, question)
    refuse_side_noises(parts, question)
    stream, seeds = streams(len(training.labels), rng)
    fitted = parts.fitted
    chosen = stream.choice(len(fitted.weights), size=draws, p=fitted.weights)
    point = np.zeros_like(chosen) if first else chosen
    w = []
    for j, at in enumerate(fitted.points):
        z = stream.standard_normal((len(at.w), int((point == j).sum())))
        w.append(at.w[:, None] + at.factor.colour(z))
    known = outcome(training.response, log_time=parts.family.log_time)
    return ProcessDraws(parts, known, point, tuple(w), seeds)


def refuse_side_noises(parts: Parts, question: str) -> None:
    """Refuse fits whose censored rows have noise of their own."""
    found = parts.fitted.parameters
    noises = [
        value
        for role, value in zip(found.roles, found.values(parts.fitted.points[0].theta), strict=True)
        if role in SIDES
    ]
    if any(noises):
        raise SpecError(
            f"The side noises of bound='local' make a likelihood that is no density, of which {question} has no "
            "meaning; use bound='exact', or fix sigma_lower and sigma_upper at 0."
        )


def _exp(f: Array) -> Array:
    with np.errstate(over="ignore"):
        return np.exp(f)
