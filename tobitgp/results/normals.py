"""Mixtures of normals: what a fit says of f in each row, and quantiles of such mixtures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtr, ndtri

from tobitgp.distributions.base import Distribution
from tobitgp.distributions.normal import Normal
from tobitgp.typing import Array, BoolArray, IntArray

_ROOT_2PI = float(np.sqrt(2.0 * np.pi))
_MAX_STEPS = 100


@dataclass(frozen=True, slots=True)
class Mixture:
    """Posterior of f in n rows: ``sum_j weight_j N(mean_j, sd_j^2)``, and the noise that goes with each component."""

    weight: Array  # (J,), sum to one
    mean: Array  # (J, n), of f, in the user's units; on the log scale for log-time families
    sd: Array  # (J, n), of f, in the user's units; on the log scale for log-time families
    sigma: Array  # (J,), noise scale, on the scale of f
    log_time: bool = False  # f stands for log time
    lower: Array | None = None  # (n,), limits and window on the scale of the response, infinite where there is none
    upper: Array | None = None  # (n,), limits and window on the scale of the response, infinite where there is none
    laws: tuple[Distribution, ...] = ()  # of the noise: ``y* = f + sigma_j Z``
    entry: Array | None = None  # (n,), limits and window on the scale of the response, infinite where there is none
    exit: Array | None = None  # (n,), limits and window on the scale of the response, infinite where there is none
    spread: Array | None = None  # (n,), standard deviation of the rows' noise in units of sigma, where rows differ

    def __post_init__(self) -> None:
        if not self.laws:
            object.__setattr__(self, "laws", (Normal(),) * len(self.sigma))

    @property
    def noise(self) -> Array:
        """Noise scale of the rows, (J, 1) or (J, n)."""
        return self.sigma[:, None] if self.spread is None else self.sigma[:, None] * self.spread

    def of_one_noise(self) -> Iterator[tuple[IntArray, Mixture]]:
        """Positions of the rows of each noise, and these rows with it as sigma."""
        for c, rows in same_spread(self.spread, self.mean.shape[1]):
            yield rows, self if c is None else replace(self.take(rows), sigma=c * self.sigma, spread=None)

    @property
    def normal(self) -> bool:
        """Whether all noise is normal."""
        return all(law.gaussian for law in self.laws)

    @property
    def truncated(self) -> bool:
        """Whether some row has a window."""
        return any(end is not None and bool(np.isfinite(end).any()) for end in (self.entry, self.exit))

    @property
    def one_noise(self) -> bool:
        """Whether all components have the same noise."""
        return len(self.sigma) == 1 or (bool(np.ptp(self.sigma) == 0.0) and len(set(self.laws)) == 1)

    def response(self, f: Array) -> Array:
        """Values of f on the scale of the response."""
        with np.errstate(over="ignore"):
            return np.exp(f) if self.log_time else f

    def take(self, rows: BoolArray | IntArray) -> Mixture:
        """Some of the rows."""
        if rows.dtype == bool and rows.all():
            return self
        ends = (self.lower, self.upper, self.entry, self.exit)
        lower, upper, entry, exit = (None if end is None else end[rows] for end in ends)
        mean, sd = self.mean[:, rows], self.sd[:, rows]
        spread = None if self.spread is None else self.spread[rows]
        return replace(self, mean=mean, sd=sd, lower=lower, upper=upper, entry=entry, exit=exit, spread=spread)

    def components(self, chosen: BoolArray) -> Mixture:
        """Some of the components."""
        weight = self.weight[chosen] / self.weight[chosen].sum()
        laws = tuple(law for law, there in zip(self.laws, chosen, strict=True) if there)
        mean, sd, sigma = self.mean[chosen], self.sd[chosen], self.sigma[chosen]
        return replace(self, weight=weight, mean=mean, sd=sd, sigma=sigma, laws=laws)


def same_spread(spread: Array | None, n: int) -> Iterator[tuple[float | None, IntArray]]:
    """Noise of rows in units of sigma, and the positions of those that have it; None of all n without."""
    if spread is None:
        yield None, np.arange(n)
        return
    levels, place, counts = np.unique(spread, return_inverse=True, return_counts=True)
    yield from zip(levels.tolist(), np.split(np.argsort(place, kind="stable"), np.cumsum(counts)[:-1]), strict=True)


def average(weight: Array, values: Array) -> Array:
    """Mean (n,) of component values (J, n)."""
    return np.asarray(weight @ values)


def total_sd(weight: Array, mean: Array, variance: Array) -> Array:
    """Standard deviation (n,) by the law of total variance (PRE2), from component means and variances (J, n)."""
    between = mean - weight @ mean
    return np.sqrt(weight @ (variance + between * between))


def exponential_sd(weight: Array, mean: Array, sd: Array) -> Array:
    """Standard deviation (n,) of the exponential of a mixture of normals; infinite where it is beyond all numbers.

    Shapes: weight (J,), mean, sd (J, n).
    """
    variance = sd * sd
    top = (mean + variance).max(axis=0)  # half the log of the largest second moment
    share = np.exp(mean + 0.5 * variance - top)
    within = np.exp(2.0 * (mean + variance - top)) * -np.expm1(-variance)
    with np.errstate(over="ignore", divide="ignore"):
        return np.exp(top + np.log(total_sd(weight, share, within)))


def normal_quantile(p: float, weight: Array, mean: Array, sd: Array) -> Array:
    """Quantile of a mixture of normals, by Newton's method on its cdf, (PRE3) of the theory pages.

    Shapes: weight (J,), mean, sd (J, n); gives (n,).
    """
    z = float(ndtri(p))
    if len(weight) == 1:
        return np.asarray(mean[0] + z * sd[0])
    sd = np.maximum(sd, 1e-300)
    ends = mean + z * sd

    def cdf(x: Array) -> tuple[Array, Array]:
        u = (x - mean) / sd
        return weight @ ndtr(u), weight @ (np.exp(-0.5 * u * u) / sd) / _ROOT_2PI

    start = weight @ mean + z * total_sd(weight, mean, sd * sd)
    return solve_quantile(cdf, p, low=ends.min(axis=0), high=ends.max(axis=0), start=start)


def node_quantiles(weight: Array, g: Array, orders: Sequence[float]) -> list[Array]:
    """Quantiles (n,) of values at nodes of J components, (J, n, k), under their weights there."""
    g, weight = (values.transpose(1, 0, 2).reshape(values.shape[1], -1) for values in (g, weight))
    order = np.argsort(g, axis=1)
    g, weight = np.take_along_axis(g, order, axis=1), np.take_along_axis(weight, order, axis=1)
    cdf = np.cumsum(weight, axis=1) - 0.5 * weight
    return [np.array([np.interp(p, F, x) for F, x in zip(cdf, g, strict=True)]) for p in orders]


def solve_quantile(
    cdf: Callable[[Array], tuple[Array, Array]],
    p: float,
    *,
    low: Array,
    high: Array,
    start: Array,
    settled: float = 1e-11,
) -> Array:
    """Solve ``F(x) = p`` in n rows: Newton's method on ``Phi^-1(F)``, nearly linear, and bisection where it strays.

    Shapes: low, high, start (n,); gives (n,).
    """
    target = float(ndtri(p))
    x = np.clip(start, low, high)
    tolerance = settled * np.maximum(high - low, 0.0)
    with np.errstate(all="ignore"):
        for _ in range(_MAX_STEPS):
            F, density = cdf(x)
            z = ndtri(F)
            low, high = np.where(z < target, x, low), np.where(z < target, high, x)
            new = x - (z - target) * np.exp(-0.5 * z * z) / (_ROOT_2PI * density)
            new = np.where((new >= low) & (new <= high), new, 0.5 * (low + high))
            moved = np.abs(new - x)
            x = new
            if (moved <= tolerance + 1e-15 * np.abs(x)).all():
                break
    return x
