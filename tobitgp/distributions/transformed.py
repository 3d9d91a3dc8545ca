r"""Times whose survival is a known function of :math:`\eta + s(\log t)`: (PH5) of the theory pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.polynomial import Chebyshev

from tobitgp.distributions.baselines import Baseline
from tobitgp.distributions.response import SOON, RowDistributions, same_as
from tobitgp.distributions.standard_noise import FAR, Distribution
from tobitgp.numerics.roots import area
from tobitgp.typing import Array

_BREAKS = -np.log(np.array([0.999, 0.97, 0.8, 0.5, 0.2, 0.05, 1e-2, 1e-3, 1e-5, 1e-8, 1e-12]))
_MANY = 500  # rows, from which on a mean is interpolated in eta
_ORDER, _FINER, _MOST = 32, 10.0, 400


@dataclass(frozen=True, slots=True)
class TransformedTimes(RowDistributions):
    """Times of n rows; ``noise`` is the distribution of ``eta + s(log T)``."""

    noise: Distribution
    baseline: Baseline
    eta: Array  # (n,), or with leading and trailing axes that broadcast
    c: tuple[Array, ...]  # of the baseline, each as eta or a number
    log_theta: tuple[Array, ...] = ()  # of the variance of a gamma frailty that is averaged over, where there is one

    log = True
    row_fields = ("eta", "c", "log_theta")
    latent = same_as("eta")

    @property
    def location(self) -> Array:  # type: ignore[override]
        """Location of log times: their median."""
        with np.errstate(divide="ignore"):
            return np.log(self.ppf(0.5))

    @property
    def jumps(self) -> Array:
        return np.exp(self.baseline.bends)

    @property
    def width(self) -> Array:
        return np.ones_like(self.eta)

    def _at(self, x: Array) -> tuple[Array, Array]:
        """The transformed value at log times, and the logarithm of its slope."""
        with np.errstate(over="ignore", invalid="ignore"):
            s, log_slope = self.baseline.at(np.clip(x, -700.0, 700.0), self.c)
        return np.where(np.isneginf(x), -FAR, np.clip(self.eta + s, -FAR, FAR)), log_slope

    def logsf(self, y: Array) -> Array:
        within = self.noise.log_sf(self._at(self.modelled(y))[0])
        for tau in self.log_theta:
            within = -np.log1p(-np.exp(tau) * within) * np.exp(-tau)
        return within

    def logcdf(self, y: Array) -> Array:
        if self.log_theta:
            return RowDistributions.logcdf(self, y)
        return self.noise.log_cdf(self._at(self.modelled(y))[0])

    def logpdf(self, y: Array) -> Array:
        x = self.modelled(y)
        if self.log_theta:
            H, h = self.modelled_hazard(x)
            return np.log(h) - H - x
        z, log_slope = self._at(x)
        return np.asarray(self.noise.logpdf(z) + log_slope - x)

    def modelled_hazard(self, x: Array) -> tuple[Array, Array]:
        z, log_slope = self._at(x)
        tail = self.noise.upper_tail(z)
        H, h = -tail.log_p, -tail.d1 * np.exp(log_slope)
        for tau in self.log_theta:
            H, h = np.log1p(np.exp(tau) * H) * np.exp(-tau), h / (1.0 + np.exp(tau) * H)
        return H, h

    def reached(self, goal: Array) -> Array:
        log_p = -np.asarray(goal)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            for tau in self.log_theta:
                log_p = -np.expm1(-np.exp(tau) * log_p) * np.exp(-tau)
            return np.asarray(self.baseline.inverse(self.noise.inverse_log_sf(log_p) - self.eta, self.c))

    def mean(self) -> Array:
        """Mean times, infinite where survival does not fall to 0 or falls too slowly."""
        far, slope = np.full(self.shape, np.inf), np.broadcast_to(self.baseline.tail(self.c), self.shape)
        value = self.observed_mean(np.zeros(self.shape), far, -far, far)
        for tau in self.log_theta:
            slope = slope * np.exp(-tau)
        if not self.log_theta and (self.noise.exponential_hazard or self.noise.gaussian):
            return np.where(slope > 0.0, value, np.inf)
        last = self.survived(np.full(self.shape, -_BREAKS[-1]))
        with np.errstate(divide="ignore", invalid="ignore"):  # survival falls as a power of time
            return np.where(slope > 1.0, value + last * np.exp(-_BREAKS[-1]) / (slope - 1.0), np.inf)

    def observed_mean(self, lower: Array, upper: Array, entry: Array, exit: Array, *, fast: bool = False) -> Array:
        if (np.isfinite(entry) | np.isfinite(exit)).any():
            return RowDistributions.observed_mean(self, lower, upper, entry, exit)
        values = np.broadcast_arrays(self.eta, lower, upper, *self.c, *self.log_theta)
        eta, *rest = (value.ravel() for value in values)
        if len(eta) < _MANY:
            return self._clipped(eta, rest).reshape(values[0].shape)
        differ = [each for each in rest if (each != each[0]).any()]
        group = (
            np.unique(np.stack(differ), axis=1, return_inverse=True)[1].ravel() if differ else np.zeros(len(eta), int)
        )
        out = np.empty(len(eta))
        for k in range(int(group.max()) + 1):
            at = np.flatnonzero(group == k)
            one = np.array([each[at[0]] for each in rest])
            low, high = eta[at].min(), eta[at].max()
            order = int(min(_ORDER + _FINER * (high - low), _MOST))
            if len(at) <= order or high <= low:
                out[at] = self._clipped(eta[at], [each[at] for each in rest])
                continue

            def of(z: Array, one: Array = one) -> Array:
                return self._clipped(z, [np.full(len(z), each) for each in one])

            out[at] = Chebyshev.interpolate(of, order, (low, high))(eta[at])
        return out.reshape(values[0].shape)

    def _clipped(self, eta: Array, rest: Sequence[Array]) -> Array:
        """Means (n,) of times that are clipped at limits; ``rest`` are these and all parameters but eta, (n,) each."""
        (low, high), c, theta = rest[:2], rest[2 : 2 + len(self.c)], rest[2 + len(self.c) :]
        flat = replace(self, eta=eta, c=tuple(c), log_theta=tuple(theta))
        breaks = np.stack([flat.survived(np.full(len(eta), -H)) for H in _BREAKS], axis=1)
        breaks = np.clip(breaks, low[:, None], high[:, None])
        last = np.where(np.isfinite(high), high, breaks[:, -1])
        breaks = np.column_stack([np.where(np.isfinite(breaks), breaks, last[:, None]), last])
        rows = flat.beside()
        with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
            soon = area(lambda t: np.exp(rows.logsf(t)), np.column_stack([low, breaks[:, 0]]))
            late = area(lambda x: np.exp(rows.logsf(np.exp(x)) + x), np.log(np.maximum(breaks, SOON)))
        return np.asarray(low + soon + late)
