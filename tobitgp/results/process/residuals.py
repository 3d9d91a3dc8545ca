"""Residuals of the training rows, censored ones included."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.special import ndtr, ndtri, ndtri_exp

from tobitgp.errors import SpecError
from tobitgp.numerics.draws import random_points
from tobitgp.regression.residuals import expected_hazard, open_end
from tobitgp.results import predictive
from tobitgp.results.conditional import Seen, conditional_mean, seen_in_training
from tobitgp.results.normals import Mixture, average, total_sd
from tobitgp.results.predict import moments, noise_laws
from tobitgp.results.rows import ask
from tobitgp.results.scales import uncensored_mean
from tobitgp.results.views import Parts
from tobitgp.typing import Array

KINDS = ("quantile", "pearson", "response", "cox_snell", "martingale")


def residual_table(parts: Parts, kind: str, rng: int | np.random.Generator | None) -> pd.Series[float]:
    """Residuals with the index of the training data; see ``GPResults.residuals``."""
    if kind not in KINDS:
        raise SpecError(f"kind={kind!r} is not offered; choose one of {', '.join(map(repr, KINDS))}.")
    asked, gp = ask(parts), parts.gp
    args = gp.inputs(asked.design), gp.known_mean(asked.design), slice(None), gp.problem.units.scale
    mean, sd, sigma = moments(parts.fitted, *args)
    laws, spread = noise_laws(parts.fitted, gp), asked.design.spread
    q = Mixture(parts.fitted.weights, mean, sd, sigma, gp.family.log_time, laws=laws, spread=spread)
    seen = seen_in_training(parts)
    if kind == "quantile":
        uniform = random_points(rng, len(asked.usable))[asked.usable]
        window = (seen.entry, seen.exit) if seen.truncated else None
        values = quantile_residuals(q, seen.lower, seen.upper, uniform, window)
    elif kind == "pearson":
        values = pearson_residuals(q, conditional_mean(seen.latent()))
    elif kind == "response":
        values = conditional_mean(seen)
        for rows, part in q.of_one_noise():
            values[rows] -= uncensored_mean(part)
    else:
        hazard = cumulative_hazard(q, seen)
        values = (
            hazard if kind == "cox_snell" else np.where(open_end(seen.lower, seen.upper, seen.exit), 0.0, 1.0) - hazard
        )
    return pd.Series(asked.spread(values), index=asked.index, name=kind)


def pearson_residuals(q: Mixture, value: Array) -> Array:
    """Values of f less their predictive mean, in predictive standard deviations; NaN where there is none."""
    mean = q.mean + q.noise * np.array([law.mean for law in q.laws])[:, None]
    noise = np.square(q.noise) * np.array([law.variance for law in q.laws])[:, None]
    if not np.isfinite(noise).all():
        return np.full(len(value), np.nan)
    return (value - average(q.weight, mean)) / total_sd(q.weight, mean, q.sd**2 + noise)


def cumulative_hazard(q: Mixture, seen: Seen) -> Array:
    """``-log`` of the predictive survival function at the response, within its window; (n,).

    At the end of right-censored rows; on other rows that are not exact the expectation given the row, as
    `tobitgp.regression.residuals.cox_snell` has it.
    """
    window = (seen.entry, seen.exit) if seen.truncated else None
    start, end = (-log_probability(q, at, seen.exit, window) for at in (seen.lower, seen.upper))
    return expected_hazard(start, end, open_end(seen.lower, seen.upper, seen.exit))


def quantile_residuals(
    q: Mixture, lower: Array, upper: Array, uniform: Array, window: tuple[Array, Array] | None = None
) -> Array:
    """Normal scores of the predictive cdf, at a random point of the mass where a row is censored.

    Shapes: lower, upper, uniform (n,), window (entry, exit); gives (n,). P. K. Dunn and G. K. Smyth, "Randomized
    quantile residuals", JCGS 5 (1996).
    """
    if q.normal and window is None:
        sd = np.hypot(q.sd, q.noise)
        a, b = (lower - q.mean) / sd, (upper - q.mean) / sd
        below = average(q.weight, ndtr(a)) * (1.0 - uniform) + average(q.weight, ndtr(b)) * uniform
        above = average(q.weight, ndtr(-a)) * (1.0 - uniform) + average(q.weight, ndtr(-b)) * uniform
        tail = np.maximum(np.minimum(below, above), 1e-300)
        return np.asarray(np.where(below < above, ndtri(tail), -ndtri(tail)))
    first, last = window or (np.full_like(lower, -np.inf), np.full_like(upper, np.inf))
    with np.errstate(divide="ignore"):
        share, rest = np.log(uniform), np.log1p(-uniform)
    left = [log_probability(q, first, end, window) for end in (lower, upper)]
    right = [log_probability(q, end, last, window) for end in (lower, upper)]
    log_below, log_above = (np.logaddexp(rest + side[0], share + side[1]) for side in (left, right))
    score = ndtri_exp(np.minimum(np.minimum(log_below, log_above), 0.0))
    return np.asarray(np.where(log_below < log_above, score, -score))


def log_probability(q: Mixture, lower: Array, upper: Array, window: tuple[Array, Array] | None) -> Array:
    """Log of the predictive probability that y* lies between two ends, within a window where one is given; (n,)."""
    sigma = q.noise
    ends = [(end - q.mean) / sigma for end in (lower, upper, *(window or ()))]
    rows = zip(q.laws, *ends[:2], q.sd / sigma, *ends[2:], strict=True)
    with np.errstate(divide="ignore"):
        log_weight = np.log(q.weight)[:, None]
    return np.asarray(np.logaddexp.reduce(log_weight + np.stack([predictive.log_mass(*row) for row in rows]), axis=0))
