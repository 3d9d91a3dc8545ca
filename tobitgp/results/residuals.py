r"""Residuals of the training rows, censored ones included, of fits of every kind.

Residuals of rows with a window are conditional on it. For interval-censored rows see Farrington (2000), Residuals for
proportional hazards models with interval-censored survival data, *Biometrics* 56.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import ndtri_exp

from tobitgp.data.arrays import CensoredResponse
from tobitgp.distributions import convolution
from tobitgp.distributions.response import RowDistributions
from tobitgp.numerics.log_probabilities import log_difference
from tobitgp.numerics.normal_functions import average, total_sd
from tobitgp.numerics.truncated_moments import share
from tobitgp.posterior.nodes import Nodes
from tobitgp.posterior.seen import conditional_mean
from tobitgp.results.rows import Asked
from tobitgp.typing import Array, BoolArray

if TYPE_CHECKING:
    from tobitgp.kinds.process import Process

# Log probability that the response of each row lies between two ends, given its window.
LogProbability = Callable[[Array, Array], Array]


class Tails(NamedTuple):
    """Rows as they are judged, (n,) each."""

    log_probability: LogProbability
    lower: Array  # ends of the response; equal if it is uncensored
    upper: Array
    entry: Array
    exit: Array
    log: bool = False  # whether these ends are logarithms of the response

    @classmethod
    def of(cls, y: RowDistributions, response: CensoredResponse, window: tuple[Array, Array] | None = None) -> Tails:
        """Tails of distributions of the response; the window is that of the response by default."""
        entry, exit = window or (response.entry, response.exit)
        within = y.log_mass(entry, exit)
        return cls(lambda low, high: y.log_mass(low, high) - within, *response.within_window, entry, exit)

    @classmethod
    def of_survival(cls, log_survival: Callable[[Array], Array], response: CensoredResponse) -> Tails:
        """Tails from log probabilities of surviving finite times, which are computed once for an array of these."""
        known: dict[int, tuple[Array, Array]] = {}  # by the identity of the array, which is held with them

        def left(at: Array) -> Array:
            if id(at) not in known:
                inside, found = np.isfinite(at), np.where(at > 0.0, -np.inf, 0.0)
                if inside.any():
                    found = np.where(inside, log_survival(np.where(inside, at, 0.0)), found)
                known[id(at)] = at, found
            return known[id(at)][1]

        def between(low: Array, high: Array) -> Array:
            with np.errstate(invalid="ignore", divide="ignore"):
                alive, later = left(low), left(high)
                return np.where(np.isneginf(alive), -np.inf, log_difference(alive, later))

        entry, exit = response.entry, response.exit
        within = between(entry, exit)
        return cls(lambda low, high: between(low, high) - within, *response.within_window, entry, exit)

    def quantile(self, uniform: Array) -> Array:
        """Normal scores of the cdf, at a random point of its mass where a row is censored; (n,)."""
        of, lower, upper, entry, exit, _ = self
        with np.errstate(divide="ignore"):
            share, rest = np.log(uniform), np.log1p(-uniform)
        below = np.logaddexp(rest + of(entry, lower), share + of(entry, upper))
        above = np.logaddexp(rest + of(lower, exit), share + of(upper, exit))
        left = below < above
        score = ndtri_exp(np.minimum(np.where(left, below, above), 0.0))
        return np.asarray(np.where(left, score, -score))

    @property
    def _open(self) -> BoolArray:
        return (self.upper >= self.exit) & (self.lower < self.upper)

    def cox_snell(self) -> Array:
        """Cumulative hazards, their expectations given the row where it is censored on the left or between ends."""
        start, end = (
            -self.log_probability(at, self.exit) for at in (self.lower, np.where(self._open, self.lower, self.upper))
        )
        return expected_hazard(start, end, self._open)

    def martingale(self) -> Array:
        """Events less cumulative hazards."""
        return np.where(self._open, 0.0, 1.0) - self.cox_snell()

    def deviance(self) -> Array:
        """Martingale residuals on a scale on which they are nearly normal."""
        left = self.martingale()
        event = np.where((self.lower == self.upper) | (self.upper < self.exit), 1.0, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            log = np.where(event > 0.0, np.log(event - left), 0.0)
        return np.asarray(np.sign(left) * np.sqrt(np.maximum(-2.0 * (left + event * log), 0.0)))


def expected_hazard(A: Array, B: Array, censored: BoolArray) -> Array:
    """Cumulative hazards: A if right-censored, else the mean of an exponential variable in (A, B]; (n,)."""
    gap = np.where(censored, 0.0, B - A)
    with np.errstate(invalid="ignore"):
        return A + np.where(np.isposinf(gap), 1.0, gap * share(gap))


def process_tails(parts: Process, asked: Asked) -> Tails:
    """Training rows as their posterior has them."""
    from tobitgp.kinds.process_nodes import nodes_of

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
    from tobitgp.kinds.process_nodes import nodes_of
    from tobitgp.kinds.rows_left_out import seen_in_training

    seen = seen_in_training(parts.reported).latent()
    return pearson(nodes_of(parts.reported.fit, asked.design), conditional_mean([seen]))


def response_residuals(parts: Process, asked: Asked) -> Array:
    """Responses, or their means given what was seen, less predictive means."""
    from tobitgp.kinds.process_nodes import nodes_of
    from tobitgp.kinds.rows_left_out import seen_in_rows

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
