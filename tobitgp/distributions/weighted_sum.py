"""The distribution of a new response: a weighted sum over what its parameters may be; (SUR1), (SUR2)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from tobitgp.distributions.convolution import Convolved, cdf
from tobitgp.distributions.location_scale import LocationScale
from tobitgp.distributions.response import RowDistributions, complementary
from tobitgp.distributions.standard_noise import FAR
from tobitgp.numerics.normal_functions import average, normal_quantile, total_sd
from tobitgp.numerics.roots import Rows, solve_quantile
from tobitgp.typing import Array


@dataclass(frozen=True, slots=True)
class WeightedSum(RowDistributions):
    """J distributions of the response in n rows, and their weights."""

    weight: Array  # (J,), sum to one
    parts: tuple[LocationScale, ...]

    @property
    def location(self) -> Array:  # type: ignore[override]
        return average(self.weight, np.stack([part.location for part in self.parts]))

    @property
    def shape(self) -> tuple[int, ...]:
        return self.parts[0].shape

    def take(self, rows: Any) -> WeightedSum:
        return WeightedSum(self.weight, tuple(part.take(rows) for part in self.parts))

    def log_tails(self, y: Array) -> tuple[Array, Array]:
        return complementary(
            lambda: self._mixed(np.stack([part.logsf(y) for part in self.parts])),
            lambda: self._mixed(np.stack([part.logcdf(y) for part in self.parts])),
        )

    def logsf(self, y: Array) -> Array:
        return self.log_tails(y)[0]

    def logcdf(self, y: Array) -> Array:
        return self.log_tails(y)[1]

    def logpdf(self, y: Array) -> Array:
        return self._mixed(np.stack([part.logpdf(y) for part in self.parts]))

    @property
    def width(self) -> Array:
        mean, scale = (np.stack([getattr(part, name) for part in self.parts]) for name in ("location", "scale"))
        t = np.stack([np.broadcast_to(getattr(part.noise, "t", 0.0), part.location.shape) for part in self.parts])
        return total_sd(self.weight, mean, np.square(scale) * (1.0 + np.square(t)))

    @property
    def log(self) -> bool:  # type: ignore[override]
        return self.parts[0].log

    def modelled_hazard(self, x: Array) -> tuple[Array, Array]:
        """Hazards are those of the parts, weighted by their survivors."""
        pairs = [part.modelled_hazard(x) for part in self.parts]
        risen, each = (np.stack(values) for values in zip(*pairs, strict=True))
        with np.errstate(divide="ignore", invalid="ignore"):
            log_weight = np.log(self.weight).reshape(-1, *[1] * (risen.ndim - 1))
            log_alive = log_weight - risen
            alive = np.exp(log_alive - np.maximum(log_alive.max(axis=0), -1e300))
        known = alive > 0.0
        rate = (np.where(known, alive, 0.0) * np.where(known, each, 0.0)).sum(axis=0) / alive.sum(axis=0)

        def below() -> Array:
            ends = (np.clip((x - part.location) / part.scale, -FAR, FAR) for part in self.parts)
            return self._mixed(np.stack([part.noise.log_cdf(z) for part, z in zip(self.parts, ends, strict=True)]))

        return -complementary(lambda: self._mixed(-risen), below)[0], rate

    def _mixed(self, log_p: Array) -> Array:
        """Logarithm of the average of exponentials, (J, ...)."""
        top = np.clip(log_p.max(axis=0), -1e300, 1e300)
        with np.errstate(divide="ignore", over="ignore"):
            return np.asarray(top + np.log(average(self.weight, np.exp(log_p - top))))

    def mean(self) -> Array:
        with np.errstate(over="ignore"):
            return average(self.weight, np.stack([part.mean() for part in self.parts]))

    def ppf(self, p: float) -> Array:
        mean, scale = (np.stack([getattr(part, name) for part in self.parts]) for name in ("location", "scale"))
        if all(part.noise.gaussian for part in self.parts):
            return self.response(normal_quantile(p, self.weight, mean, scale))
        return self.response(self._solved_quantile(p, mean, scale))

    def _solved_quantile(self, p: float, mean: Array, scale: Array) -> Array:
        """By Newton's method."""
        noises = [part.noise for part in self.parts]
        assert all(isinstance(noise, Convolved) for noise in noises)
        of = [(noise.noise, np.broadcast_to(noise.t, mean.shape[1:])) for noise in noises]  # type: ignore[attr-defined]
        sd = np.stack([t for _, t in of]) * scale

        def mixed(x: Array, rows: Rows) -> tuple[Array, Array]:
            s = scale[:, rows]
            pairs = [cdf(noise, z, t[rows]) for (noise, t), z in zip(of, (x - mean[:, rows]) / s, strict=True)]
            F, density = (np.stack(values) for values in zip(*pairs, strict=True))
            return average(self.weight, F), average(self.weight, density / s)

        def quantile(order: float) -> Array:
            each = np.array([float(noise.ppf(np.array(order))) for noise, _ in of])
            return scale * each.reshape(-1, *[1] * (mean.ndim - 1))

        low, centre, middle, high = (quantile(order) for order in (0.5 * p, 0.5, p, 0.5 * (1.0 + p)))
        ends = (
            (mean + low + ndtri(0.5 * p) * sd).min(axis=0),
            (mean + high + ndtri(0.5 * (1.0 + p)) * sd).max(axis=0),
        )
        away = np.hypot(middle - centre, ndtri(p) * sd)
        start = average(self.weight, mean + centre + (away if p > 0.5 else -away))
        return solve_quantile(mixed, p, low=ends[0], high=ends[1], start=start, tolerance=1e-7)
