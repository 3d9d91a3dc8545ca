r"""Residuals of the training rows, censored ones included, of fits of every kind.

Of rows with a window everything is conditional on it. Of interval-censored rows Farrington (2000), Residuals for
proportional hazards models with interval-censored survival data, *Biometrics* 56.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import ndtri_exp

from tobitgp.data.arrays import CensoredResponse
from tobitgp.data.outcome import outcome
from tobitgp.distributions import convolution
from tobitgp.distributions.intervals import log_mass
from tobitgp.distributions.location_scale import LocationScale
from tobitgp.errors import SpecError
from tobitgp.mixture import impute
from tobitgp.numerics.normal import average, total_sd
from tobitgp.numerics.sampling import random_points
from tobitgp.numerics.truncated import share
from tobitgp.posterior.nodes import Nodes
from tobitgp.posterior.seen import conditional_mean
from tobitgp.regression.residuals import deviance
from tobitgp.results.boxcox.nodes import PowerNodes
from tobitgp.results.boxcox.parts import BoxCoxGPParts, BoxCoxParts
from tobitgp.results.cure.parts import CureParts
from tobitgp.results.distributional.parts import DistributionalParts, estimates_of_rows
from tobitgp.results.hazards.parts import HazardParts
from tobitgp.results.hazards.times import HazardTimes, log_survival
from tobitgp.results.mixture.parts import MixtureParts, training_ends
from tobitgp.results.mixture.predict import finite_mean
from tobitgp.results.parametric.parts import ParametricParts
from tobitgp.results.predict import warn_infinite
from tobitgp.results.process.posterior import nodes_of, seen_in_training
from tobitgp.results.regression.parts import RegressionParts, rows_at
from tobitgp.results.rows import Asked, ask
from tobitgp.results.start_stop.parts import StartStopParts, survival_of_rows
from tobitgp.results.views import Parts
from tobitgp.typing import Array, BoolArray

# Log probability that the response of each row lies between two ends, given its window.
LogProbability = Callable[[Array, Array], Array]


def residual_series(parts: Any, kind: str, rng: int | np.random.Generator | None) -> pd.Series[float]:
    """Residuals with the index of the training data; see `tobitgp.results.prediction.residuals`."""
    of, offered = _OF[type(parts)]
    if not isinstance(kind, str) or kind not in offered:
        raise SpecError(f"kind={kind!r} is not supported; choose one of {', '.join(map(repr, offered))}.")
    asked = ask(parts)
    uniform = random_points(rng, len(asked.usable))[asked.usable] if kind == "quantile" else np.zeros(0)
    values = of(parts, asked, kind, uniform)
    if not isinstance(parts, MixtureParts):  # whose mean says so itself
        warn_infinite(values, asked, f"kind={kind!r}")
    return pd.Series(asked.spread(values), index=asked.index, name=kind)


def _residuals_of_processes(parts: Any, asked: Asked, kind: str, uniform: Array) -> Array:
    nodes, seen = nodes_of(parts, asked.design), seen_in_training(parts)
    if kind == "pearson":
        return pearson(nodes, conditional_mean(seen.latent()))
    if kind == "response":
        return conditional_mean(seen) - nodes.new.mean()
    window = (seen.entry, seen.exit) if seen.truncated else None

    def of(lower: Array, upper: Array) -> Array:
        return log_probability(nodes, lower, upper, window)

    return _of_tails(kind, of, seen.lower, seen.upper, seen.entry, seen.exit, uniform)


def _residuals_of_regressions(parts: RegressionParts, asked: Asked, kind: str, uniform: Array) -> Array:
    y, known = rows_at(parts, asked.design), outcome(parts.rows.response, log_time=parts.family.log_time)
    if kind == "deviance":
        return deviance(y, known)
    if kind == "pearson":
        latent = LocationScale(y.noise, y.location, y.scale).conditional_mean(known.lower, known.upper)
        one = y.location[None]
        return pearson(Nodes(np.ones(1), one, 0.0 * one, y.scale[None], noises=(y.noise,)), latent)
    if kind == "response":
        with np.errstate(invalid="ignore", over="ignore"):
            return y.conditional_mean(known.lower, known.upper) - y.mean()
    first, last = ((end - y.location) / y.scale for end in (known.entry, known.exit))
    within = log_mass(y.noise, first, last)

    def of(lower: Array, upper: Array) -> Array:
        a, b = ((end - y.location) / y.scale for end in (lower, upper))
        return log_mass(y.noise, a, b) - within

    return _of_tails(kind, of, known.lower, known.upper, known.entry, known.exit, uniform)


def _residuals_of_mixtures(parts: MixtureParts, asked: Asked, kind: str, uniform: Array) -> Array:
    fit, (lower, upper, _) = parts.fit, training_ends(parts)
    predictive = fit.predictive()
    if kind == "response":
        return np.asarray(impute(fit, lower, upper)[0] - finite_mean(fit, "kind='quantile' has no need of it"))
    if fit.model.family.support == "counts":
        lower = np.where(lower == upper, lower - 1.0, lower)

    def of(low: Array, high: Array) -> Array:
        return np.asarray(predictive.logcdf(high) if np.isneginf(low).all() else predictive.logsf(low))

    free = np.full(len(lower), np.inf)
    return _of_tails(kind, of, lower, upper, -free, free, uniform)


def _residuals_of_hazards(parts: HazardParts, asked: Asked, kind: str, uniform: Array) -> Array:
    response = parts.rows.response
    assert parts.covariates is not None
    times = HazardTimes.of_rows(parts, parts.covariates, ())
    return _of_survival(kind, response, lambda at: log_survival(times, at), uniform)


def _residuals_of_times(parts: DistributionalParts, asked: Asked, kind: str, uniform: Array) -> Array:
    y = estimates_of_rows(parts, asked.design, bands=False).given

    def log_survival(at: Array) -> Array:
        return np.where(np.isposinf(at), -np.inf, y.logsf(np.where(np.isfinite(at), np.maximum(at, 0.0), 0.0)))

    return _of_survival(kind, parts.rows.response, log_survival, uniform)


def _residuals_of_powers(parts: BoxCoxGPParts, asked: Asked, kind: str, uniform: Array) -> Array:
    nodes = [nodes_of(fit, asked.design) for fit in parts.fits]
    y = PowerNodes.of(nodes, parts.weights, parts.powers).new
    return _of_survival(kind, parts.rows.response, lambda at: y.logsf(at), uniform)


def _residuals_of_histories(parts: StartStopParts, asked: Asked, kind: str, uniform: Array) -> Array:
    def log_survival(at: Array) -> Array:
        finite = np.isfinite(at)
        found = survival_of_rows(parts, np.where(finite, at, 1.0)[:, None])[:, 0]
        return np.where(finite, found, np.where(at > 0.0, -np.inf, 0.0))

    return _of_survival(kind, parts.rows.response, log_survival, uniform)


def _of_survival(
    kind: str, response: CensoredResponse, log_survival: Callable[[Array], Array], uniform: Array
) -> Array:
    """Residuals of times from the log probabilities of surviving them."""
    entry, exit, exact = response.entry, response.exit, response.lower == response.upper
    lower, upper = (
        np.where(exact, response.lower, end)
        for end in (np.maximum(response.lower, entry), np.minimum(response.upper, exit))
    )

    def between(low_end: Array, high_end: Array) -> Array:
        with np.errstate(invalid="ignore", divide="ignore"):
            low, high = log_survival(low_end), log_survival(high_end)
            share = np.log(-np.expm1(np.minimum(high - low, 0.0)))
            return np.where(np.isneginf(low), -np.inf, low + share)

    within = between(entry, exit)
    tails = (lambda low_end, high_end: between(low_end, high_end) - within, lower, upper, entry, exit)
    if kind == "deviance":
        left = _of_tails("martingale", *tails, uniform)
        event = np.where(exact | (upper < exit), 1.0, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            log = np.where(event > 0.0, np.log(event - left), 0.0)
        return np.asarray(np.sign(left) * np.sqrt(np.maximum(-2.0 * (left + event * log), 0.0)))
    return _of_tails(kind, *tails, uniform)


_OF: dict[type, tuple[Callable[[Any, Asked, str, Array], Array], tuple[str, ...]]] = {
    Parts: (_residuals_of_processes, ("quantile", "pearson", "response", "cox_snell", "martingale")),
    RegressionParts: (
        _residuals_of_regressions,
        ("response", "quantile", "pearson", "deviance", "cox_snell", "martingale"),
    ),
    HazardParts: (_residuals_of_hazards, ("quantile", "cox_snell", "martingale", "deviance")),
    StartStopParts: (_residuals_of_histories, ("quantile", "cox_snell", "martingale", "deviance")),
    CureParts: (_residuals_of_times, ("quantile", "cox_snell", "martingale", "deviance")),
    BoxCoxParts: (_residuals_of_times, ("quantile", "cox_snell", "martingale", "deviance")),
    BoxCoxGPParts: (_residuals_of_powers, ("quantile", "cox_snell", "martingale", "deviance")),
    ParametricParts: (_residuals_of_times, ("quantile", "cox_snell", "martingale", "deviance")),
    MixtureParts: (_residuals_of_mixtures, ("quantile", "cox_snell", "martingale", "response")),
}


def _of_tails(
    kind: str, of: LogProbability, lower: Array, upper: Array, entry: Array, exit: Array, uniform: Array
) -> Array:
    """Quantile, Cox-Snell or martingale residuals from the probabilities on both sides of a row."""
    if kind == "quantile":
        return quantile_scores(of, lower, upper, entry, exit, uniform)
    open_end = (upper >= exit) & (lower < upper)
    start, end = (-of(at, exit) for at in (lower, np.where(open_end, lower, upper)))
    hazard = expected_hazard(start, end, open_end)
    return hazard if kind == "cox_snell" else np.where(open_end, 0.0, 1.0) - hazard


def quantile_scores(of: LogProbability, lower: Array, upper: Array, entry: Array, exit: Array, uniform: Array) -> Array:
    """Normal scores of the cdf, at a random point of its mass where a row is censored; (n,)."""
    with np.errstate(divide="ignore"):
        share, rest = np.log(uniform), np.log1p(-uniform)
    below = np.logaddexp(rest + of(entry, lower), share + of(entry, upper))
    above = np.logaddexp(rest + of(lower, exit), share + of(upper, exit))
    left = below < above
    score = ndtri_exp(np.minimum(np.where(left, below, above), 0.0))
    return np.asarray(np.where(left, score, -score))


def expected_hazard(A: Array, B: Array, censored: BoolArray) -> Array:
    """Cumulative hazards: A if right-censored, else the mean of an exponential variable in (A, B]; (n,)."""
    gap = np.where(censored, 0.0, B - A)
    with np.errstate(invalid="ignore"):
        return A + np.where(np.isposinf(gap), 1.0, gap * share(gap))


def pearson(nodes: Nodes, value: Array) -> Array:
    """Values of f less their predictive mean, in predictive standard deviations; NaN where there is none."""
    mean = nodes.mean + nodes.sigma * np.array([noise.mean for noise in nodes.noises])[:, None]
    noise = np.square(nodes.sigma) * np.array([noise.variance for noise in nodes.noises])[:, None]
    if not np.isfinite(noise).all():
        return np.full(len(value), np.nan)
    return np.asarray((value - average(nodes.weight, mean)) / total_sd(nodes.weight, mean, nodes.sd**2 + noise))


def log_probability(nodes: Nodes, lower: Array, upper: Array, window: tuple[Array, Array] | None) -> Array:
    """Log of the predictive probability that y* lies between two ends, within a window where one is given; (n,)."""
    if nodes.normal and window is None:
        ends = [[(end - part.location) / part.scale for end in (lower, upper)] for part in nodes.new.parts]
        each = [log_mass(part.noise, *pair) for part, pair in zip(nodes.new.parts, ends, strict=True)]
    else:
        scaled = [(end - nodes.mean) / nodes.sigma for end in (lower, upper, *(window or ()))]
        rows = zip(nodes.noises, *scaled[:2], nodes.sd / nodes.sigma, *scaled[2:], strict=True)
        each = [convolution.log_mass(*row) for row in rows]
    with np.errstate(divide="ignore"):
        return np.asarray(np.logaddexp.reduce(np.log(nodes.weight)[:, None] + np.stack(each), axis=0))
