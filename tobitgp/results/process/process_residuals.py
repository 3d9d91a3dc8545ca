"""Residuals of the training rows of processes."""

from __future__ import annotations

import numpy as np

from tobitgp.distributions import convolution
from tobitgp.kinds.process import Process
from tobitgp.kinds.process_nodes import nodes_of
from tobitgp.kinds.rows_left_out import seen_in_rows, seen_in_training
from tobitgp.numerics.normal_functions import average, total_sd
from tobitgp.posterior.nodes import Nodes
from tobitgp.posterior.seen import conditional_mean
from tobitgp.results.residuals import Tails
from tobitgp.results.rows import Asked
from tobitgp.typing import Array


def process_tails(parts: Process, asked: Asked) -> Tails:
    """Training rows as their posterior has them."""
    response, fits = parts.rows.response, parts.scaled
    known = [nodes_of(scaled.fit, asked.design) for scaled in fits]
    ends = response.window
    windows = [None if ends is None else (scaled.modelled(ends[0]), scaled.modelled(ends[1])) for scaled in fits]

    def of(low: Array, high: Array) -> Array:
        each = [
            np.log(scaled.weight) + log_probability(nodes, scaled.modelled(low), scaled.modelled(high), window)
            for scaled, nodes, window in zip(fits, known, windows, strict=True)
        ]
        return np.asarray(np.logaddexp.reduce(each, axis=0))

    return Tails(of, *response.within_window, response.entry, response.exit)


def pearson_residuals(parts: Process, asked: Asked) -> Array:
    """Responses, or their means given what was seen, less predictive means, in predictive standard deviations.

    On the scale of f.
    """
    seen = seen_in_training(parts.reported).latent()
    return pearson(nodes_of(parts.reported.fit, asked.design), conditional_mean([seen]))


def response_residuals(parts: Process, asked: Asked) -> Array:
    """Responses, or their means given what was seen, less predictive means."""
    return conditional_mean(seen_in_rows(parts, None)[1]) - nodes_of(parts, asked.design).new.mean()


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
        each = [part.noise.log_mass(*pair) for part, pair in zip(nodes.new.parts, ends, strict=True)]
    else:
        scaled = [(end - nodes.mean) / nodes.sigma for end in (lower, upper, *(window or ()))]
        rows = zip(nodes.noises, *scaled[:2], nodes.sd / nodes.sigma, *scaled[2:], strict=True)
        each = [convolution.log_mass(*row) for row in rows]
    with np.errstate(divide="ignore"):
        return np.asarray(np.logaddexp.reduce(np.log(nodes.weight)[:, None] + np.stack(each), axis=0))
