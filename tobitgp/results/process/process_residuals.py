"""Residuals of the training rows of processes."""

from __future__ import annotations

import numpy as np

from tobitgp.distributions import convolution
from tobitgp.distributions.intervals import log_mass
from tobitgp.numerics.normal_functions import average, total_sd
from tobitgp.posterior.nodes import Nodes
from tobitgp.posterior.seen import conditional_mean
from tobitgp.results.process.process_posterior import nodes_of, seen_in_training
from tobitgp.results.residuals import Tails
from tobitgp.results.rows import Asked
from tobitgp.results.views import Parts
from tobitgp.typing import Array


def process_tails(parts: Parts, asked: Asked) -> Tails:
    """Training rows as their posterior has them, on the scale of f."""
    nodes, seen = nodes_of(parts, asked.design), seen_in_training(parts)
    window = (seen.entry, seen.exit) if seen.truncated else None
    ends = seen.lower, seen.upper, seen.entry, seen.exit
    return Tails(lambda low, high: log_probability(nodes, low, high, window), *ends, log=parts.family.log_time)


def pearson_residuals(parts: Parts, asked: Asked) -> Array:
    """Responses, or their means given what was seen, less predictive means, in predictive standard deviations."""
    return pearson(nodes_of(parts, asked.design), conditional_mean(seen_in_training(parts).latent()))


def response_residuals(parts: Parts, asked: Asked) -> Array:
    """Responses, or their means given what was seen, less predictive means."""
    return conditional_mean(seen_in_training(parts)) - nodes_of(parts, asked.design).new.mean()


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
