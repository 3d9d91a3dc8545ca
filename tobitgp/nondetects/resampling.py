"""Many samples at once: maxima of their likelihoods, bootstrap limits, and samples drawn under the same limits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from tobitgp.distributions.standard_noise import Distribution
from tobitgp.nondetects.sample import Sample
from tobitgp.numerics.nonparametric import kaplan_meier
from tobitgp.numerics.sampling import generator
from tobitgp.typing import Array, BoolArray, IntArray

MANY = 5000  # rows, beyond which estimates are as good as normal and resamples take minutes
_BATCHES = 10
_CELLS = 1_000_000  # of a block of samples by rows
_ITERATIONS = 60
_CLOSE = 1e-10


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """One-sided limits from resamples."""

    limits: tuple[float, ...]
    error: tuple[float, ...]  # Monte Carlo standard error of each
    redrawn: int  # resamples without two distinct detects


def bca(
    sample: Sample, means: Callable[[IntArray], Array], confidences: tuple[float, ...], resamples: int, rng: Any
) -> Bootstrap:
    """Bias-corrected and accelerated limits of a mean, after Efron, by `scipy.stats.bootstrap`.

    ``means`` returns the means of samples given by row indices (B, n).
    """
    from scipy.stats import bootstrap

    stream, redrawn, n = generator(rng), 0, len(sample)
    detects = np.where(sample.censored, np.nan, sample.values)
    known: dict[tuple[int, ...], Array] = {}  # means without each row, which every batch asks for

    def statistic(rows: IntArray, axis: int = -1) -> Array:
        if rows.shape[-1] == n:
            return means_of(rows)
        if rows.shape not in known:
            known[rows.shape] = means_of(rows)
        return known[rows.shape]

    def means_of(rows: IntArray) -> Array:
        nonlocal redrawn
        flat = rows.reshape(-1, rows.shape[-1]).copy()
        while rows.shape[-1] == n and (few := few_detects(detects[flat])).any():
            redrawn += int(few.sum())
            flat[few] = stream.integers(n, size=(int(few.sum()), n))
        blocks = np.array_split(flat, -(-flat.size // _CELLS))
        return np.concatenate([means(block) for block in blocks]).reshape(rows.shape[:-1])

    def limit(confidence: float, found: Any = None, rng: Any = None) -> Any:
        side, level = ("less", confidence) if confidence > 0.5 else ("greater", 1.0 - confidence)
        drawn: dict[str, Any] = (
            {"bootstrap_result": found, "n_resamples": 0} if found else {"n_resamples": resamples, "rng": rng}
        )
        options: dict[str, Any] = {"vectorized": True, "confidence_level": level, "alternative": side, "method": "BCa"}
        return bootstrap((np.arange(n),), cast(Any, statistic), **options, **drawn)

    def end(confidence: float, found: Any) -> float:
        interval = limit(confidence, found).confidence_interval
        return float(interval.high if confidence > 0.5 else interval.low)

    whole = limit(confidences[0], rng=stream)
    batches = [_Drawn(part) for part in np.array_split(whole.bootstrap_distribution, _BATCHES)]
    ends = np.array([[end(confidence, part) for part in batches] for confidence in confidences])
    error = ends.std(axis=1, ddof=1) / np.sqrt(_BATCHES)
    return Bootstrap(tuple(end(confidence, whole) for confidence in confidences), tuple(map(float, error)), redrawn)


@dataclass(frozen=True, slots=True)
class _Drawn:
    """Part of a bootstrap distribution, in the form that `scipy.stats.bootstrap` reads."""

    bootstrap_distribution: Array


def few_detects(detects: Array) -> BoolArray:
    """Samples, rows with NaN for non-detects, with fewer than two distinct detects."""
    low = np.where(np.isnan(detects), np.inf, detects).min(axis=1)
    high = np.where(np.isnan(detects), -np.inf, detects).max(axis=1)
    return np.asarray(low >= high)


def draw_limits(sample: Sample, size: int, rng: np.random.Generator, link: Callable[[Array], Array]) -> Array:
    """Detection limits (size, n), linked; the unrecorded limit of a detect is drawn from those not above it.

    The limit is known for a non-detect and lies at or below the value of a detect. Its distribution is therefore the
    Kaplan-Meier estimate with the flags reversed; -inf where no limit is possible.
    """
    values, censored = sample.values, sample.censored
    times, survival = kaplan_meier(-values, censored, np.ones(len(values)))
    u, F = -times[::-1], np.append(survival[::-1], 1.0)  # F[j]: of limits below u[j]
    at = F[np.searchsorted(u, values) + 1]
    rows = np.flatnonzero(~censored)
    drawn = np.searchsorted(F, rng.uniform(size=(size, len(rows))) * at[rows], side="left")
    limits = np.tile(link(values), (size, 1))
    limits[:, rows] = np.append(-np.inf, link(u))[drawn]
    return limits


def fit_many(noise: Distribution, t: Array, censored: BoolArray) -> tuple[Array, Array]:
    """Location and scale (B,) of each of B samples (B, n), in which some values are only known to lie below t.

    Newton's method in location/scale and 1/scale, in which the likelihood of a log-concave distribution is concave
    (Olsen, 1978), with steps damped by the Newton decrement.
    """
    blocks = np.array_split(np.arange(len(t)), -(-t.size // _CELLS))
    fits = [_fit_block(noise, t[block], censored[block]) for block in blocks]
    return np.concatenate([a for a, _ in fits]), np.concatenate([s for _, s in fits])


def _fit_block(noise: Distribution, t: Array, censored: BoolArray) -> tuple[Array, Array]:
    centre, unit = t.mean(axis=1, keepdims=True), t.std(axis=1, keepdims=True)
    x, m = (t - centre) / unit, (~censored).sum(axis=1)
    theta, tau = np.zeros(len(t)), np.ones(len(t))
    moving = np.arange(len(t))
    for _ in range(_ITERATIONS):
        rows, below = x[moving], censored[moving]
        z = tau[moving, None] * rows - theta[moving, None]
        d1, d2 = np.empty_like(z), np.empty_like(z)
        tail = noise.lower_tail(z[below])
        d1[below], d2[below] = tail.d1, tail.d2
        d1[~below], d2[~below] = noise.log_density(z[~below], 2)[1:]
        g0, g1 = -d1.sum(axis=1), (rows * d1).sum(axis=1) + m[moving] / tau[moving]
        h00, h01 = -d2.sum(axis=1), (rows * d2).sum(axis=1)
        h11 = -(rows * rows * d2).sum(axis=1) + m[moving] / tau[moving] ** 2
        det = h00 * h11 - h01 * h01
        step0, step1 = (h11 * g0 - h01 * g1) / det, (h00 * g1 - h01 * g0) / det
        decrement = np.sqrt(np.maximum(g0 * step0 + g1 * step1, 0.0))
        damp = np.where(decrement < 0.25, 1.0, 1.0 / (1.0 + decrement))
        theta[moving] += damp * step0
        tau[moving] = np.maximum(tau[moving] + damp * step1, 0.1 * tau[moving])
        moving = moving[decrement > _CLOSE]
        if not len(moving):
            break
    return centre[:, 0] + unit[:, 0] * theta / tau, unit[:, 0] / tau
