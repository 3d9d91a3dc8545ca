"""Draws from the posterior of a process in several rows together: design point, features, what these leave of f."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from tobitgp.diagnostics.training_draws import Draws, chunks, on_grid, streams, training_rows
from tobitgp.distributions.location_scale import LocationScale
from tobitgp.engines import map_independent, row_chunks, single_blas_thread
from tobitgp.inference.feature_layout import linear_places
from tobitgp.inference.feature_posterior import FeaturePosterior
from tobitgp.inference.rows_together import DrawnWeights, covariance, draw, shared_residuals
from tobitgp.kinds.process import Process, ProcessParts, ScaledFit, refuse_censoring_noises
from tobitgp.kinds.rows_left_out import seen_in_training
from tobitgp.numerics.sampling import open_uniform
from tobitgp.posterior.seen import CHUNK, LeftOutRows, latent_quantiles, log_predictive, normal_draws
from tobitgp.priors.structure import Inputs
from tobitgp.results.averages import DrawnAverages, Population, Sought
from tobitgp.results.drawn_averages import averaged
from tobitgp.results.joint import JointPosterior, Within
from tobitgp.results.parameter_estimates import Linear
from tobitgp.results.rows import Asked
from tobitgp.typing import Array, BoolArray, IntArray


@dataclass(frozen=True, slots=True)
class JointProcess(JointPosterior):
    """Joint posterior of f in several rows."""

    parts: ProcessParts

    def moments(self, asked: Asked) -> tuple[Array, Array]:
        """Mean (n,) and covariance (n, n) of f, by the law of total covariance over the design points."""
        weights, n = self.parts.fitted.weights, len(asked.design.H)
        means, V = np.empty((len(weights), n)), np.zeros((n, n))
        for j, (m, V_j) in enumerate(self._at_points(asked)):
            means[j] = m
            V += weights[j] * V_j
        mean = weights @ means
        between = means - mean
        return mean, V + np.einsum("j,jn,jk->nk", weights, between, between)

    def _at_points(self, asked: Asked) -> Iterator[tuple[Array, Array]]:
        """Mean (n,) and covariance (n, n) of f at every design point."""
        gp = self.parts.gp
        scale = gp.problem.units.scale
        inputs, known = gp.inputs(asked.design), gp.known_mean(asked.design)
        for point in self.parts.fitted.points:
            m, _, d = point.marginals(inputs, asked.skip)
            V = covariance(point, inputs, asked.skip) + np.diag(d)
            for E in shared_residuals(point, inputs, asked.skip):
                V += E @ E.T - np.diag(np.einsum("nk,nk->n", E, E))
            yield known + scale * m, scale**2 * V

    def differences(self, asked: Asked, same: BoolArray) -> Linear:
        """Differences of f between the first and the second half of the rows, where these are not the same."""
        k, means, covariances = len(asked.design.H) // 2, [], []
        for m, V in self._at_points(asked):
            means.append(np.where(same, 0.0, m[:k] - m[k:]))
            half = V[:k] - V[k:]
            covariances.append(np.where(same | same[:, None], 0.0, half[:, :k] - half[:, k:]))
        return Linear(self.parts.fitted.weights, np.array(means), covariances, same)

    def _drawn(
        self,
        asked: Asked,
        inputs: Sequence[Inputs],
        point: FeaturePosterior,
        draws: int,
        rng: np.random.Generator,
        copies: int = 1,
    ) -> tuple[Array, Array, Array]:
        """Draws of standardised f (n, draws) at a design point but for a residual of variance (n,), and their sigma."""
        drawn = draw(point, inputs, draws, rng)
        A, d = point.features(inputs, asked.skip)
        f = drawn.of(A, point, inputs, asked.skip)
        for E in shared_residuals(point, inputs, asked.skip):
            f += E @ rng.standard_normal((E.shape[1], draws))
            d = d - np.einsum("nk,nk->n", E, E)
        log_noise = np.zeros((1, 1))
        if point.noise:
            log_noise, left = drawn.log_noise(point, inputs)
            log_noise = log_noise + np.sqrt(left)[:, None] * _normals(rng, f.shape, copies)
        sigma = self.parts.gp.noise_at(asked.design, point.theta, log_noise)
        return f, np.maximum(d, 0.0), sigma

    def distributions(
        self,
        asked: Asked,
        draws: int,
        cells: int,
        rng: np.random.Generator,
        random: Sequence[str] = (),
        copies: int = 1,
    ) -> Iterator[LocationScale]:
        """Draws of the distributions of the response in all rows together, (n, s) at a time, of some cells at most.

        For an exponentiated response, means average over the noise and over ``random`` terms that are left out.
        ``copies`` of the same rows, one after the other, have what features leave of f in common.
        """
        fitted, gp = self.parts.fitted, self.parts.gp
        scale = gp.problem.units.scale
        inputs, offset = gp.inputs(asked.design), gp.known_mean(asked.design)[:, None]
        ends = np.floor(draws * np.append(0.0, np.cumsum(fitted.weights)) + rng.uniform()).astype(int)
        for point, size in zip(fitted.points, np.diff(ends).tolist(), strict=True):
            noise = gp.family.distribution_at(point.theta)
            values = dict(zip(fitted.parameters.names, fitted.parameters.values(point.theta), strict=True))
            shift = 0.5 * sum(values.get(f"sd({term})", 0.0) ** 2 for term in random) if gp.family.log_time else 0.0
            for part in row_chunks(0, size, max(cells // len(offset), 1)):
                f, variance, sigma = self._drawn(asked, inputs, point, part.stop - part.start, rng, copies)
                f += np.sqrt(variance)[:, None] * _normals(rng, f.shape, copies)
                yield LocationScale(noise, offset + shift + scale * f, scale * sigma, gp.family.log_time)

    def locations(self, asked: Asked, draws: int, seed: int) -> Array:
        """Draws (n, draws) of f, by parameters that are those of the seed, whichever rows are requested."""
        fitted, gp = self.parts.fitted, self.parts.gp
        inputs, offset = gp.inputs(asked.design), gp.known_mean(asked.design)
        chosen = np.random.default_rng(seed).choice(len(fitted.weights), size=draws, p=fitted.weights)
        out, scale = np.empty((len(offset), draws)), gp.problem.units.scale
        for j, point in enumerate(fitted.points):
            size = int((chosen == j).sum())
            f, variance, _ = self._drawn(asked, inputs, point, size, np.random.default_rng([seed, j]))
            left = np.random.default_rng([seed, j, 1]).standard_normal(f.shape)
            left *= np.sqrt(variance)[:, None]
            left += f
            left *= scale
            left += offset[:, None]
            out[:, chosen == j] = left
        return out

    def parameters(self, draws: int, seed: int) -> Array:
        """Parameters (draws, k) of the draws that `locations` has with this seed."""
        fitted, inputs = self.parts.fitted, self.parts.gp.inputs(self.parts.rows.design)
        chosen = np.random.default_rng(seed).choice(len(fitted.weights), size=draws, p=fitted.weights)
        drawn = [
            draw(point, inputs, int((chosen == j).sum()), np.random.default_rng([seed, j]))
            for j, point in enumerate(fitted.points)
        ]
        return _drawn_parameters(self.parts, chosen, drawn)

    @property
    def of_training_rows(self) -> bool:
        """Whether the response of a new row is informative about f, since the posterior is not conditional on it."""
        return True

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
        """Draws (n, draws) of f, or of the response, the rows of a draw together."""
        fitted, gp = self.parts.fitted, self.parts.gp
        scale = gp.problem.units.scale
        inputs, offset = gp.inputs(asked.design), gp.known_mean(asked.design)
        seen = None if known is None else seen_in_training(self.parts.reported)
        out = np.empty((len(offset), draws))
        chosen = rng.choice(len(fitted.weights), size=draws, p=fitted.weights)
        for j, point in enumerate(fitted.points):
            at = np.flatnonzero(chosen == j)
            if not len(at):
                continue
            f, variance, sigma = self._drawn(asked, inputs, point, len(at), rng)
            distribution = gp.family.distribution_at(point.theta)
            free = noise and known is None and window is None
            joined = np.square(sigma) if free and distribution.gaussian else 0.0
            f += np.sqrt(variance[:, None] + joined) * rng.standard_normal(f.shape)
            if seen is not None:
                m, v_p, d = point.marginals(inputs, asked.skip)
                scores = (f - m[:, None]) / np.sqrt(np.maximum(v_p + d, 1e-300))[:, None]
                out[:, at] = _draw_seen_at(seen, j, len(seen.noises) // len(fitted.points), scores, rng)
                continue
            if free and not distribution.gaussian:
                f += sigma * distribution.ppf(open_uniform(rng, f.shape))
            out[:, at] = offset[:, None] + scale * f
            if window is not None:
                y = LocationScale(distribution, out[:, at], scale * sigma, gp.family.log_time)
                out[:, at] = y.modelled(y.drawn(open_uniform(rng, f.shape), *(end[:, None] for end in window)))
        with np.errstate(over="ignore"):
            return np.exp(out) if noise and gp.family.log_time else out


def _normals(rng: np.random.Generator, shape: tuple[int, ...], copies: int) -> Array:
    """Standard normal numbers (n, draws), the same for every copy of the rows."""
    return np.tile(rng.standard_normal((shape[0] // copies, *shape[1:])), (copies, 1))


def _draw_seen_at(seen: LeftOutRows, j: int, k: int, scores: Array, rng: np.random.Generator) -> Array:
    """As :func:`_draw_seen` at a design point with k components, one for each node of log sigma.

    Which of them a row has follows what was observed about it; the rows of a draw have the same order among theirs.
    """
    if k == 1:
        return _draw_seen(seen, j, scores, rng)
    log_share = log_predictive(seen)[j * k : (j + 1) * k]
    share = np.exp(log_share - np.logaddexp.reduce(log_share, axis=0))
    u = open_uniform(rng, (scores.shape[1],))
    node = (np.cumsum(share, axis=0)[:-1, :, None] < u).sum(axis=0)
    each = [_draw_seen(seen, j * k + i, scores, rng) for i in range(k)]
    return np.asarray(np.choose(node, each))


def _draw_seen(seen: LeftOutRows, j: int, scores: Array, rng: np.random.Generator) -> Array:
    """Draws of the uncensored values of rows, (n, draws), given the order of f in its posterior at a design point.

    There the f of all rows are normal together; given what was observed about a row alone its f is not. Orders of the
    one are treated as orders of the other: a normal copula, whose margins are those of imputation, (PRE8) of the theory
    pages.
    """
    out = np.repeat(seen.lower[:, None], scores.shape[1], axis=1)
    censored = np.flatnonzero(seen.lower != seen.upper)
    uniform = open_uniform(rng, (len(censored), scores.shape[1]))

    def draw(span: slice) -> None:
        places = censored[span]
        at = seen.take(places).component(j)
        if at.closed:
            out[places] = normal_draws(at, scores[places], uniform[span])
        else:
            f = latent_quantiles(at, scores[places])
            y = LocationScale(at.noise, f, at.sigma[:, None])
            out[places] = y.drawn(uniform[span], at.lower[:, None], at.upper[:, None])

    spans = row_chunks(0, len(censored), CHUNK)
    with single_blas_thread():
        map_independent(draw, spans, heavy=len(spans) > 4)
    return out


def _drawn_parameters(parts: ProcessParts, chosen: IntArray, draws: Sequence[DrawnWeights]) -> Array:
    """Linear coefficients, and hyper-parameters at the design points that were chosen, (S, k)."""
    fitted, gp, p = parts.fitted, parts.gp, parts.fitted.n_linear
    out = np.empty((len(chosen), len(parts.names)))
    for j, point in enumerate(fitted.points):
        at = chosen == j
        out[at, p:] = fitted.parameters.values(point.theta)
        if gp.linear is not None and at.any():
            centre = gp.problem.units.centre
            places = linear_places(point.layout, p, gp.linear.factor)
            drawn = point.coefficient_draws(places, draws[j].w, draws[j].e)
            out[at, :p] = np.array([gp.linear.coefficients(w, centre) for w in drawn.T])
    return out


@dataclass(frozen=True, slots=True)
class ProcessDraws(Draws):
    """Draws of a fitted process."""

    parts: ProcessParts
    point: IntArray  # (S,), design point of each draw
    drawn: tuple[DrawnWeights, ...]  # those of each design point
    seeds: tuple[int, ...]  # one for each chunk of rows

    @property
    def size(self) -> int:
        """S."""
        return len(self.point)

    def parameters(self) -> Array:
        """Linear coefficients, and hyper-parameters at the draw's design point, (S, k)."""
        return _drawn_parameters(self.parts, self.point, self.drawn)

    def log_likelihoods(self) -> Iterator[tuple[slice, Array]]:
        for rows, f, _ in self._latent():
            seen, out = self.parts.rows.response.rows(rows), np.empty_like(f)
            for at, y in self._given(rows, f):
                out[:, at] = y.log_likelihood(seen.lower, seen.upper, seen.entry, seen.exit)
            yield rows, on_grid(out)

    def responses(self) -> Iterator[tuple[slice, Array]]:
        for rows, f, rng in self._latent():
            uniform, window = open_uniform(rng, f.shape), self.parts.rows.response.rows(rows).window
            ends, out = () if window is None else tuple(end[:, None] for end in window), np.empty_like(f)
            for at, y in self._given(rows, f):
                out[:, at] = y.drawn(uniform[:, at], *ends)
            yield rows, out

    def _given(self, rows: slice, f: Array) -> Iterator[tuple[BoolArray, LocationScale]]:
        """Draws (S,) of each design point, and distributions of the response of some rows given f (n, S)."""
        family, gp, design = self.parts.family, self.parts.gp, self.parts.rows.design.rows(rows)
        for j, point in enumerate(self.parts.fitted.points):
            sigma = gp.problem.units.scale * gp.noise(design, point.theta)[:, None]
            if point.noise:
                sigma = sigma * np.exp(self.drawn[j].log_noise(point, gp.inputs(design))[0])
            at = self.point == j
            yield at, LocationScale(family.distribution_at(point.theta), f[:, at], sigma, family.log_time)

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
                    here = [part.rows(rows) for part in inputs]
                    rest = np.sqrt(np.maximum(point.features(here)[1], 0.0))
                    f[:, at] = self.drawn[j].rows(rows).at(point, here) + rest[:, None] * f[:, at]
            yield rows, known[rows][:, None] + scale * f, rng


def draw_process(
    parts: ProcessParts, draws: int, rng: int | np.random.Generator | None, *, question: str
) -> ProcessDraws:
    """Draw from the posterior of a process."""
    training = training_rows(parts, question)
    refuse_censoring_noises(parts, question)
    stream, seeds = streams(len(training.labels), rng)
    fitted = parts.fitted
    point = stream.choice(len(fitted.weights), size=draws, p=fitted.weights)
    inputs = parts.gp.inputs(parts.rows.design)
    drawn = [draw(at, inputs, int((point == j).sum()), stream) for j, at in enumerate(fitted.points)]
    return ProcessDraws(parts, point, tuple(drawn), seeds)


_CELLS, _FEWER = 1_000_000, 10_000  # rows times draws that are held at once; of those whose means are quadratures


def process_averages(parts: Process, population: Population, sought: Sought) -> DrawnAverages:
    """Draws of averages, of which each has one f in all rows, one noise and, of a sample, one set of weights."""
    made = []
    for scaled, size in _allotted(parts, population):
        joint, cells = JointProcess(scaled.fit), _CELLS if scaled.power is None else _FEWER
        with single_blas_thread(), np.errstate(all="ignore"):
            made_of = population.asked, size, cells, population.rng
            for rows in joint.distributions(*made_of, copies=population.settings):
                made.append(averaged(rows, population, sought, scaled.response))
    return DrawnAverages(np.concatenate(made, axis=2))


def _allotted(parts: Process, population: Population) -> list[tuple[ScaledFit, int]]:
    """The fits and how many of the draws are of each, by its weight."""
    if len(parts.scaled) == 1:
        return [(parts.scaled[0], population.draws)]
    shares = np.append(0.0, np.cumsum([scaled.weight for scaled in parts.scaled]))
    ends = np.floor(population.draws * shares / shares[-1] + population.rng.uniform()).astype(int)
    return [(scaled, size) for scaled, size in zip(parts.scaled, np.diff(ends).tolist(), strict=True) if size]
