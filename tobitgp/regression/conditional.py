"""The response given what was seen of each row: imputation of censored values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from tobitgp.distributions.intervals import log_mass
from tobitgp.numerics.differences import slope
from tobitgp.regression.scales import Predictor, Quantity, observed
from tobitgp.typing import Array

_STEP = 0.01  # of eta in units of sigma, and of log sigma


def conditional_mean(rows: Predictor, lower: Array, upper: Array) -> Array:
    """``E[y* | lower < y* <= upper]``, the value itself where the ends are equal.

    Shapes: lower, upper (n,); gives (n,). W. H. Greene, *Econometric Analysis*, theorem 19.2 (moments of the truncated
    normal variable).
    """
    with np.errstate(over="ignore"):
        out = np.exp(lower) if rows.log_time else lower.astype(np.float64)
    i = np.flatnonzero(lower != upper)
    if len(i):
        part = Predictor(rows.eta[i], rows.tau[i], rows.law, rows.log_time)
        out[i] = (_times if rows.log_time else _values)(part, lower[i], upper[i])
    return out


def conditional(rows: Predictor, lower: Array, upper: Array) -> Quantity:
    """`conditional_mean` with its derivatives, by fourth-order differences; they are 0 where the value is known."""
    return differentiate(rows, lambda at: conditional_mean(at, lower, upper))


def differentiate(rows: Predictor, value: Callable[[Predictor], Array]) -> Quantity:
    """Values of rows with their derivatives, by fourth-order differences."""

    def eta(move: float) -> Array:
        return value(replace(rows, eta=rows.eta + move * rows.sigma))

    def tau(move: float) -> Array:
        return value(replace(rows, tau=rows.tau + move))

    with np.errstate(invalid="ignore"):
        d_eta, d_tau = slope(eta, _STEP) / rows.sigma, slope(tau, _STEP)
    return Quantity(value(rows), d_eta, d_tau, "identity")


Mean = Callable[[Predictor, Array, Array], Array]


def shown(rows: Predictor, lower: Array, upper: Array, entry: Array, exit: Array) -> Quantity:
    """`tobitgp.regression.scales.observed`, of rows with a window `shown_mean` with its derivatives."""
    if not (np.isfinite(entry) | np.isfinite(exit)).any():
        return observed(rows, lower, upper)
    return differentiate(rows, lambda at: shown_mean(at, lower, upper, entry, exit))


def shown_mean(
    rows: Predictor, lower: Array, upper: Array, entry: Array, exit: Array, mean: Mean = conditional_mean
) -> Array:
    """``E[clip(y*, lower, upper) | entry < y* < exit]``, what rows show that are seen only inside a window.

    Shapes: lower, upper, entry, exit (n,); gives (n,).
    """
    mass, inside = inside_window(rows, lower, upper, entry, exit, mean)
    first, last = rows.standardise(entry), rows.standardise(exit)
    low, high = (np.clip(rows.standardise(limit), first, last) for limit in (lower, upper))
    with np.errstate(invalid="ignore"):
        whole, value = log_mass(rows.law, first, last), np.where(mass > 0.0, mass * inside, 0.0)
        for limit, a, b in ((lower, first, low), (upper, high, last)):
            if (b > a).any():
                value += np.where(b > a, np.exp(log_mass(rows.law, a, b) - whole) * limit, 0.0)
    return value


def inside_window(
    rows: Predictor, lower: Array, upper: Array, entry: Array, exit: Array, mean: Mean = conditional_mean
) -> tuple[Array, Array]:
    """Probability of lying between the limits given the window, and the mean there, (n,) each; see `shown_mean`."""
    low, high = np.clip(lower, entry, exit), np.clip(upper, entry, exit)
    ends = (rows.standardise(end) for end in (low, high, entry, exit))
    a, b, first, last = ends
    mass = np.exp(log_mass(rows.law, a, b) - log_mass(rows.law, first, last))
    if rows.log_time:
        with np.errstate(divide="ignore"):
            low, high = np.log(np.maximum(low, 0.0)), np.log(np.maximum(high, 0.0))
    return mass, mean(rows, low, high)


def latent_mean(rows: Predictor, lower: Array, upper: Array) -> Array:
    """`conditional_mean` on the scale that is modelled."""
    return conditional_mean(Predictor(rows.eta, rows.tau, rows.law), lower, upper)


def _values(rows: Predictor, lower: Array, upper: Array) -> Array:
    """From the end where the mass lies, so that the mean keeps its distance from it."""
    sigma = rows.sigma
    a, b = (lower - rows.eta) / sigma, (upper - rows.eta) / sigma
    part = rows.law.between(a, b)
    with np.errstate(invalid="ignore"):
        low, high = part.centre - a, b - part.centre
        from_lower, from_upper = lower + sigma * (low + part.drift), upper - sigma * (high - part.drift)
    near = np.where(np.isfinite(low) & (low <= high), from_lower, from_upper)
    value = np.where(np.isfinite(np.minimum(low, high)), near, rows.eta + sigma * part.mean)
    return np.clip(value, lower, upper)


def _times(rows: Predictor, lower: Array, upper: Array) -> Array:
    sigma = rows.sigma
    a, b = (lower - rows.eta) / sigma, (upper - rows.eta) / sigma
    none = np.isposinf(b) & (sigma >= rows.law.largest_tilt)
    end = np.where(none, np.maximum(a, 0.0) + 1.0, b)
    with np.errstate(over="ignore"):
        ratio = rows.law.between(a, end, sigma).log_mass - rows.law.between(a, end).log_mass
        value = np.where(none, np.inf, np.exp(rows.eta + ratio))
        return np.clip(value, np.exp(lower), np.exp(upper))
