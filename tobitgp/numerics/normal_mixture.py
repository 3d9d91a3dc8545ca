"""Moments and quantiles of mixtures of J normals in many rows, (J, n) or (J, n, m)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import ndtr, ndtri

from tobitgp.numerics.monotone_roots import solve_quantile
from tobitgp.typing import Array

_ROOT_2PI = float(np.sqrt(2.0 * np.pi))


def average(weight: Array, values: Array) -> Array:
    """Mean (n,) of component values (J, n)."""
    return np.asarray(np.tensordot(weight, values, 1))


def total_sd(weight: Array, mean: Array, variance: Array) -> Array:
    """Standard deviation (n,) by the law of total variance (PRE2), from component means and variances (J, n)."""
    between = mean - average(weight, mean)
    return np.sqrt(average(weight, variance + between * between))


def exponential_sd(weight: Array, mean: Array, sd: Array) -> Array:
    """Standard deviation (n,) of the exponential of a mixture of normals; infinite where it is beyond all numbers."""
    variance = sd * sd
    top = (mean + variance).max(axis=0)  # half the log of the largest second moment
    share = np.exp(mean + 0.5 * variance - top)
    within = np.exp(2.0 * (mean + variance - top)) * -np.expm1(-variance)
    with np.errstate(over="ignore", divide="ignore"):
        return np.exp(top + np.log(total_sd(weight, share, within)))


def normal_quantile(p: float, weight: Array, mean: Array, sd: Array) -> Array:
    """Quantile (n,) of a mixture of normals, by Newton's method on its cdf, (PRE3) of the theory pages."""
    z = float(ndtri(p))
    if len(weight) == 1:
        return np.asarray(mean[0] + z * sd[0])
    sd = np.maximum(sd, 1e-300)
    ends = mean + z * sd

    def cdf(x: Array) -> tuple[Array, Array]:
        u = (x - mean) / sd
        return average(weight, ndtr(u)), average(weight, np.exp(-0.5 * u * u) / sd) / _ROOT_2PI

    start = average(weight, mean) + z * total_sd(weight, mean, sd * sd)
    return solve_quantile(cdf, p, low=ends.min(axis=0), high=ends.max(axis=0), start=start)


def node_quantiles(weight: Array, g: Array, orders: Sequence[float]) -> list[Array]:
    """Quantiles (n,) of values at nodes of J components, (J, n, k), under their weights there."""
    g, weight = (values.transpose(1, 0, 2).reshape(values.shape[1], -1) for values in (g, weight))
    order = np.argsort(g, axis=1)
    g, weight = np.take_along_axis(g, order, axis=1), np.take_along_axis(weight, order, axis=1)
    cdf = np.cumsum(weight, axis=1) - 0.5 * weight
    return [np.array([np.interp(p, F, x) for F, x in zip(cdf, g, strict=True)]) for p in orders]
