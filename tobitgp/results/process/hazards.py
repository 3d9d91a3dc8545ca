"""Survival and hazard of the predictive law of a process, with relative precision in both tails.

(SUR1) and (SUR2) of the theory pages.
"""

from __future__ import annotations

import numpy as np
from scipy.special import log_ndtr

from tobitgp.numerics.normal import mills
from tobitgp.results.normals import Mixture
from tobitgp.results.process.many_tails import DENSITY, LOWER, UPPER, log_values
from tobitgp.typing import Array

_FAR, _EARLY = 1e100, -0.05


def log_survival(q: Mixture, y: Array) -> Array:
    """Log probability that a new value lies above y.

    Shapes: y (n, m); gives (n, m).
    """
    out = _mixed(q, _tails(q, y, upper=True))
    early = out > _EARLY
    if early.any():
        below = np.exp(np.minimum(_mixed(q, _tails(q, y, upper=False)), 0.0))
        out = np.where(early, np.log1p(-np.minimum(below, 0.5)), out)
    return out


def rate(q: Mixture, y: Array) -> Array:
    """Density over survival of a new value at y, (n, m), on the scale of f: components weighted by their survivors."""
    log_alive = _tails(q, y, upper=True) + np.log(q.weight)[:, None, None]
    top = np.maximum(log_alive.max(axis=0), -1e300)
    alive = np.exp(log_alive - top)
    if q.normal:
        z, total = _standardised(q, y)
        each = mills(-z)[0] / total
    else:
        z, t, sigma = _of_noise(q, y)
        log_density = np.stack([log_values(DENSITY, *row) for row in zip(q.laws, z, t, strict=True)])
        each = np.exp(log_density - (log_alive - np.log(q.weight)[:, None, None])) / sigma
    known = alive > 0.0
    return np.asarray((np.where(known, alive, 0.0) * np.where(known, each, 0.0)).sum(axis=0) / alive.sum(axis=0))


def _tails(q: Mixture, y: Array, *, upper: bool) -> Array:
    """Log probability of a tail in every component, (J, n, m)."""
    if q.normal:
        z, _ = _standardised(q, y)
        return np.asarray(log_ndtr(-z if upper else z))
    z, t, _ = _of_noise(q, y)
    of = UPPER if upper else LOWER
    return np.stack([log_values(of, *row) for row in zip(q.laws, z, t, strict=True)])


def _mixed(q: Mixture, log_p: Array) -> Array:
    return np.asarray(np.logaddexp.reduce(log_p + np.log(q.weight)[:, None, None], axis=0))


def _standardised(q: Mixture, y: Array) -> tuple[Array, Array]:
    total = np.hypot(q.sd, q.sigma[:, None])[:, :, None]
    return np.clip((y - q.mean[:, :, None]) / total, -_FAR, _FAR), total


def _of_noise(q: Mixture, y: Array) -> tuple[Array, Array, Array]:
    """Values and the spread of f on the scale of the noise, and that scale."""
    sigma = q.sigma[:, None, None]
    z = np.clip((y - q.mean[:, :, None]) / sigma, -_FAR, _FAR)
    return z, q.sd / q.sigma[:, None], sigma
