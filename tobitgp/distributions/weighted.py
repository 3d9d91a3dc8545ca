"""A new response: weighted sums over what its parameters may be, also in rows that meet many values; (SUR1), (SUR2)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from tobitgp.distributions.convolution import Convolved, cdf, log_density, log_tail, reach
from tobitgp.distributions.location_scale import LocationScale
from tobitgp.distributions.response import RowDistributions, complementary, same_as
from tobitgp.distributions.standard_noise import FAR, Distribution
from tobitgp.numerics.normal_functions import average, normal_quantile, total_sd
from tobitgp.numerics.quadrature import STEP, narrowness
from tobitgp.numerics.roots import RowIndex, rises_to, solve_quantile
from tobitgp.typing import Array, IntArray

_LEAST_SHARE = 1e-16  # of a part, from which a value is drawn


@dataclass(frozen=True, slots=True)
class WeightedSum(RowDistributions):
    """J distributions of the response in n rows, and their weights."""

    weight: Array  # (J,), sum to one
    parts: tuple[LocationScale, ...]

    row_fields = ("parts",)

    @property
    def location(self) -> Array:  # type: ignore[override]
        return average(self.weight, np.stack([part.location for part in self.parts]))

    def log_tails(self, y: Array) -> tuple[Array, Array]:
        return complementary(
            lambda: self._mixed(np.stack([part.logsf(y) for part in self.parts])),
            lambda: self._mixed(np.stack([part.logcdf(y) for part in self.parts])),
        )

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
            ends = (part._clipped((x - part.location) / part.scale) for part in self.parts)
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

    def independent(self, uniform: Array) -> Array:
        """Draws from the part in whose share of 0 to 1 the uniform number (n, m) lies; rows have shape (n, 1)."""
        if len(self.weight) == 1 or not all(part.noise.gaussian for part in self.parts):
            return self.drawn(uniform)
        ends = np.cumsum(self.weight)
        which = np.minimum(np.searchsorted(ends, uniform), len(ends) - 1)
        share = np.clip(1.0 - (ends[which] - uniform) / self.weight[which], _LEAST_SHARE, 1.0 - _LEAST_SHARE)
        out, rows = np.empty(which.shape), np.broadcast_to(np.arange(which.shape[0])[:, None], which.shape)
        for j, part in enumerate(self.parts):
            at = which == j
            location, scale = (np.broadcast_to(x, (len(rows), 1))[rows[at], 0] for x in (part.location, part.scale))
            out[at] = location + scale * ndtri(share[at])
        return self.response(out)

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

        def mixed(x: Array, rows: RowIndex) -> tuple[Array, Array]:
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


_MOST = 2000  # nodes
_ROOT_2PI = float(np.sqrt(2.0 * np.pi))
_LEAST, _LOWEST = 1e-280, -700.0  # a sum that has all its digits, a logarithm whose exponential is a number


class _Part(NamedTuple):
    """Something that the distribution of the noise says of a value."""

    log_given: Callable[[Distribution, Array], Array]  # its logarithm given f
    log_mean: Callable[[Distribution, Array, Array], Array]  # of its mean over f, by integrals
    per_unit: float = 0.0  # whether it is a density


_ABOVE = _Part(lambda noise, z: noise.log_sf(z), partial(log_tail, upper=True))
_BELOW = _Part(lambda noise, z: noise.log_cdf(z), partial(log_tail, upper=False))
_DENSITY = _Part(lambda noise, z: noise.logpdf(z), log_density, 1.0)


@dataclass(frozen=True, slots=True)
class Lattice(RowDistributions):
    r"""Weighted sums of noise plus a normal location, in n rows at the same m values, (m,).

    In units of the noise, with t and v the standard deviation and the mean of f, row n lies above the value u with
    probability :math:`E\,P(Z > u - v_n - t_n X)`, as in `convolution`. With nodes :math:`g = v_n + t_n x` that are the
    same for all rows, h apart, the trapezoidal rule is

    .. math:: \sum_g \frac{h}{t_n}\,\varphi\Bigl(\frac{g - v_n}{t_n}\Bigr)\,P(Z > u - g),

    whose first factor knows the row alone, and whose second knows the value alone: integrals are products of matrices.
    Logarithms are right to 1e-12. Where a sum is too small to have all its digits, or a lattice would need too many
    nodes, each value has a separate integral.
    """

    weight: Array  # (J,), sum to one
    noises: tuple[Distribution, ...]
    mean_f: Array  # (J, n), of the location
    sd_f: Array  # (J, n)
    sigma: Array  # (J,), scale of the noise
    log: bool

    def log_tails(self, y: Array) -> tuple[Array, Array]:
        above, below = self._logs(self.modelled(y), _ABOVE, _BELOW)
        return complementary(lambda: above, lambda: below)

    def modelled_hazard(self, x: Array) -> tuple[Array, Array]:
        above, _, log_hazard = self.tabulated(x)
        return -above, np.exp(log_hazard)

    def tabulated(self, x: Array) -> tuple[Array, Array, Array]:
        """Log survival, log cdf and log hazard (n, m) at values on the scale of the location."""
        above, below, density = self._logs(x, _ABOVE, _BELOW, _DENSITY)
        above, below = complementary(lambda: above, lambda: below)
        return above, below, density - above

    def _logs(self, x: Array, *parts: _Part) -> list[Array]:
        """Logarithms (n, m) of parts at values on the scale of the location."""
        sums = np.zeros((self.mean_f.shape[1], len(parts) * x.size))
        for j, weight in enumerate(self.weight):
            sums += weight * self._mean(j, x.ravel(), parts)
        out = []
        with np.errstate(divide="ignore"):
            for part, total in zip(parts, np.split(sums, len(parts), axis=1), strict=True):
                out.append(np.log(total))
                rows, values = np.nonzero(~(total > _LEAST))
                if len(rows):
                    each = [self._log_mean(j, part, x.ravel()[values], rows) for j in range(len(self.weight))]
                    log_weight = np.log(self.weight)[:, None]
                    out[-1][rows, values] = np.logaddexp.reduce(log_weight + np.stack(each), axis=0)
        return out

    def _mean(self, j: int, x: Array, parts: tuple[_Part, ...]) -> Array:
        """Means (n, len(parts) * m) over f of one component."""
        noise, sigma = self.noises[j], self.sigma[j]
        u, v, t = np.clip(x / sigma, -FAR, FAR), self.mean_f[j][:, None] / sigma, self.sd_f[j][:, None] / sigma
        told = u[np.abs(u) < FAR] if (np.abs(u) < FAR).any() else np.zeros(1)
        low, high = reach(noise, np.array([told.min(), told.max()]) - v, t)
        found = lattice(v, t, low, high, t / noise.reach)
        if found is None:
            rows, values = (places.ravel() for places in np.indices((len(v), len(x))))
            each = [np.exp(self._log_mean(j, part, x[values], rows)).reshape(len(v), -1) for part in parts]
            return np.hstack(each)
        g, bell = found
        given = np.hstack([part.log_given(noise, u - g[:, None]) - part.per_unit * np.log(sigma) for part in parts])
        return bell @ np.exp(np.maximum(given, _LOWEST, out=given), out=given)

    def _log_mean(self, j: int, part: _Part, x: Array, rows: IntArray) -> Array:
        """Logarithms of means of one component, by an integral for each row and its value."""
        sigma = self.sigma[j]
        z = np.clip((x - self.mean_f[j, rows]) / sigma, -FAR, FAR)
        return part.log_mean(self.noises[j], z, self.sd_f[j, rows] / sigma) - part.per_unit * np.log(sigma)


def lattice(mean: Array, sd: Array, low: Array, high: Array, t: Array) -> tuple[Array, Array] | None:
    """Nodes (k,) and weights (n, k) of integrals over normal variables, None where there would be too many.

    They reach from ``mean + low sd`` to ``mean + high sd``; integrands have features of width sd / t. All are (n, 1).
    """
    first, last = (mean + sd * low).min(), (mean + sd * high).max()
    step = STEP * (sd / narrowness(low, high, t)).min()
    if not last - first < _MOST * step:
        return None
    g = np.arange(first, last + step, step)
    bell = np.square((g - mean) / sd)
    bell *= -0.5
    np.exp(np.maximum(bell, _LOWEST, out=bell), out=bell)
    bell *= step / (_ROOT_2PI * sd)
    return g, bell


_STEP = 0.15  # between nodes, in widths of the noise
_PLACES = np.arange(-5.0, 7.0)  # of the nodes that a value lies between, the nearest in the middle
_BASIS = np.linalg.inv(np.vander(_PLACES, increasing=True))


@dataclass(frozen=True, slots=True)
class Interpolated(RowDistributions):
    """The rows of a lattice at row-specific values, (n, m) or (n,), within the tabulated range."""

    rows: Lattice
    x: Array  # (K,), evenly spaced, on the scale of the location
    tables: tuple[Array, Array, Array]  # (n, K), log survival, log cdf and log hazard

    log = same_as("rows.log")

    def log_tails(self, y: Array) -> tuple[Array, Array]:
        x = self.modelled(y)
        above, below = (self._between(table, x) for table in self.tables[:2])
        return np.where(np.isneginf(x), 0.0, above), np.where(np.isneginf(x), -np.inf, below)

    def modelled_hazard(self, x: Array) -> tuple[Array, Array]:
        H = np.where(np.isneginf(x), 0.0, -self._between(self.tables[0], x))
        return H, np.exp(self._between(self.tables[2], x))

    def reached(self, goal: Array) -> Array:
        """Where cumulative hazards (n,) are reached, on the scale of the location; at most the end of the table."""
        H = -self.tables[0]
        goal, spacing = np.minimum(goal, H[:, -1]), self.x[1] - self.x[0]
        start = self.x[np.argmax(goal[:, None] <= H, axis=1)]
        return np.asarray(np.minimum(rises_to(self.modelled_hazard, goal, start, spacing), self.x[-1]))

    def _between(self, table: Array, x: Array) -> Array:
        """Polynomials through the nearest nodes."""
        half, end = len(_PLACES) // 2, len(self.x)
        place = (np.clip(x, self.x[0], self.x[-1]) - self.x[0]) / (self.x[1] - self.x[0])
        k = np.clip(place.astype(np.intp), half - 1, end - half - 1)
        weights = (place - k)[..., None] ** np.arange(len(_PLACES)) @ _BASIS
        row = np.arange(len(table)).reshape(-1, *[1] * (x.ndim - 1))
        out = np.zeros(x.shape)
        for i, shift in enumerate(_PLACES.astype(np.intp)):
            out += weights[..., i] * table[row, k + shift]
        return out


def interpolate(rows: Lattice, low: float, high: float, most: int = _MOST) -> Interpolated | None:
    """Rows of a lattice at values between two on the scale of the location; None if that takes too many nodes."""
    step = _STEP * min(float(s) * noise.reach for s, noise in zip(rows.sigma, rows.noises, strict=True))
    beyond = len(_PLACES) * step
    if not high - low + 2.0 * beyond < min(most, _MOST) * step:
        return None
    x = np.arange(low - beyond, high + beyond, step)
    tables = rows.tabulated(x)
    return Interpolated(rows, x, tables) if all(np.isfinite(table).all() for table in tables) else None
