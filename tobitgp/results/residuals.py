"""Residuals of the training rows, censored ones included."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.special import ndtr, ndtri

from tobitgp.errors import SpecError
from tobitgp.results.conditional import conditional_mean, seen_in_training
from tobitgp.results.mixture import Mixture, average, total_sd
from tobitgp.results.predict import moments
from tobitgp.results.rows import ask
from tobitgp.results.scales import uncensored_mean
from tobitgp.results.views import Parts
from tobitgp.typing import Array

KINDS = ("quantile", "pearson", "response")


def residual_table(parts: Parts, kind: str, rng: int | np.random.Generator | None) -> pd.Series[float]:
    """Residuals with the index of the training data; see ``GPResults.residuals``."""
    if kind not in KINDS:
        raise SpecError(f"kind={kind!r} is not offered; choose one of {', '.join(map(repr, KINDS))}.")
    asked, gp = ask(parts), parts.gp
    args = gp.inputs(asked.design), gp.known_mean(asked.design), slice(None), gp.problem.units.scale
    q = Mixture(parts.fitted.weights, *moments(parts.fitted, *args), gp.family.log_time)
    seen = seen_in_training(parts)
    if kind == "quantile":
        uniform = np.random.default_rng(0 if rng is None else rng).uniform(size=len(asked.usable))[asked.usable]
        values = quantile_residuals(q, seen.lower, seen.upper, uniform)
    elif kind == "pearson":
        noise = np.square(q.sigma)[:, None]
        values = (conditional_mean(seen.latent()) - average(q.weight, q.mean)) / total_sd(
            q.weight, q.mean, q.sd**2 + noise
        )
    else:
        values = conditional_mean(seen) - uncensored_mean(q)
    return pd.Series(asked.spread(values), index=asked.index, name=kind)


def quantile_residuals(q: Mixture, lower: Array, upper: Array, uniform: Array) -> Array:
    """Normal scores of the predictive cdf, at a random point of the mass where a row is censored.

    Parameters
    ----------
    q : Mixture
        Posterior of f in n rows.
    lower, upper : (n,) array
        What is known of y*, on the scale of f.
    uniform : (n,) array
        Between 0 and 1.

    Returns
    -------
    (n,) array

    References
    ----------
    .. [1] P. K. Dunn and G. K. Smyth, "Randomized quantile residuals", JCGS 5 (1996).

    Examples
    --------
    >>> q = Mixture(np.ones(1), np.zeros((1, 2)), np.full((1, 2), 3.0), np.array([4.0]))
    >>> quantile_residuals(q, np.array([10.0, -np.inf]), np.array([10.0, 0.0]), np.full(2, 0.5)).round(4)
    array([ 2.    , -0.6745])
    """
    sd = np.hypot(q.sd, q.sigma[:, None])
    a, b = (lower - q.mean) / sd, (upper - q.mean) / sd
    below = average(q.weight, ndtr(a)) * (1.0 - uniform) + average(q.weight, ndtr(b)) * uniform
    above = average(q.weight, ndtr(-a)) * (1.0 - uniform) + average(q.weight, ndtr(-b)) * uniform
    tail = np.maximum(np.minimum(below, above), 1e-300)
    return np.asarray(np.where(below < above, ndtri(tail), -ndtri(tail)))
