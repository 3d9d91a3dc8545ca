r"""Noise that differs between rows: Gaussian noise wider on censored ones, and any noise by known factors.

With a side noise below the lower limit and another above the upper one,

.. math:: \sigma_i^2 = \sigma^2 + \sigma_{\text{lower}}^2 \text{ on left-censored rows}, \qquad
          \sigma^2 + \sigma_{\text{upper}}^2 \text{ on right-censored ones},

the adjusted likelihood of Basson, Louw and Smith (2023), Eqs. 10 and 11, and (LB1) of the theory pages. It has no
density: over all y it integrates to more than 1, so its evidence is not that of the censored model. Interval rows have
two limits and no side, and truncated rows a normaliser that is not in the paper; both keep the noise of the data.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tobitgp.data.arrays import KindRows, Window
from tobitgp.likelihoods.families import GaussianNoise
from tobitgp.likelihoods.row_terms import Expected, Likelihood, Point, Tilted, Wrapped
from tobitgp.typing import Array, BoolArray

SIDES = {"sigma_lower": -1.0, "sigma_upper": 1.0}  # the sign of the rows that each widens
_GAUSSIAN = GaussianNoise()


@dataclass(frozen=True, slots=True)
class SideNoise(GaussianNoise):
    """Gaussian noise with side noises, whose logarithms come before log sigma in theta."""

    sides: tuple[float, ...]  # signs of the rows that have a side noise
    extra: tuple[float, ...] = ()  # the side noises, 0 before ``at`` has read them

    def at(self, theta: Array) -> SideNoise:
        """With the side noises of ``theta``."""
        return replace(self, extra=tuple(np.exp(theta[-1 - len(self.sides) : -1]).tolist()))

    def scale(self, rows: KindRows, sigma: float) -> float | Array:
        """Noise standard deviation of every row."""
        if not _has_side(rows):
            return sigma
        extra = np.zeros(len(rows))
        for k, at in self._places(rows):
            extra[at] = self.extra[k]
        return np.sqrt(sigma * sigma + extra * extra)

    def tilted(self, rows: KindRows, mean: Array, var: Array, sigma: Any) -> Tilted:
        return _GAUSSIAN.tilted(rows, mean, var, self.scale(rows, sigma))

    def tilted_slope(self, rows: KindRows, mean: Array, var: Array, sigma: Any, d1: Array, d2: Array) -> Array:
        slope = _GAUSSIAN.tilted_slope(rows, mean, var, self.scale(rows, sigma), d1, d2)
        return self.share(rows, sigma, slope)

    def newton(self, rows: KindRows, f: Array, sigma: Any) -> Tilted:
        return _GAUSSIAN.newton(rows, f, self.scale(rows, sigma))

    def point(self, rows: KindRows, f: Array, sigma: Any) -> Point:
        p = _GAUSSIAN.point(rows, f, self.scale(rows, sigma))
        s0, s1, s2 = (self.share(rows, sigma, slope) for slope in (p.s0, p.s1, p.s2))
        return p._replace(s0=s0, s1=s1, s2=s2)

    def expected(self, rows: KindRows, mean: Array, var: Array, sigma: Any, *, slopes: bool = True) -> Expected:
        E = _GAUSSIAN.expected(rows, mean, var, self.scale(rows, sigma), slopes=slopes)
        return E._replace(s0=self.share(rows, sigma, E.s0))

    def share(self, rows: KindRows, sigma: float, slope: Array) -> Array:
        """Derivatives (K, n) in the noise parameters from that in the log scale of each row, (1, n): (LB7)."""
        out = np.zeros((len(self.sides) + 1, len(rows)))
        if not _has_side(rows):
            out[-1:] = slope
            return out
        share = slope[0] / np.square(self.scale(rows, sigma))
        for k, at in self._places(rows):
            out[k, at] = self.extra[k] ** 2 * share[at]
        out[-1] = sigma * sigma * share
        return out

    def _places(self, rows: KindRows) -> Iterator[tuple[int, BoolArray | int]]:
        """Every side noise that occurs, and its rows: those of its sign, or the one whose own it is."""
        if rows.side is not None:
            yield from zip(rows.side.tolist(), range(len(rows)), strict=True)
        else:
            for k, sign in enumerate(self.sides):
                yield k, rows.sign == sign


def with_side_noises(likelihood: Likelihood, roles: Sequence[str]) -> Likelihood:
    """Gaussian noise with the side noises that are among the parameters of a model; itself if there are none."""
    sides = tuple(SIDES[role] for role in roles if role in SIDES)
    return SideNoise(sides) if sides else likelihood


def _has_side(rows: KindRows) -> bool:
    return rows.kind == "one-sided" and rows.window is None


@dataclass(frozen=True, slots=True)
class Spread(Wrapped):
    r"""Likelihood of rows whose noise has the standard deviation ``sigma`` times ``rows.spread``.

    Given :math:`f / c`, the noise of :math:`y / c` has standard deviation sigma, so any likelihood can be used, its
    derivatives in f divided by c once each; the density of exact rows takes the Jacobian 1/c.
    """

    def scale(self, rows: KindRows, sigma: float) -> float | Array:
        """Noise standard deviation of every row, side noises included."""
        return rows.noise(self.noise.scale(rows, sigma))

    def share(self, rows: KindRows, sigma: float, slope: Array) -> Array:
        return np.asarray(self.noise.share(rows, sigma, slope))

    def tilted(self, rows: KindRows, mean: Array, var: Array, sigma: float) -> Tilted:
        even, c, lost = _evened(rows)
        return _spread(self.noise.tilted(even, mean / c, var / (c * c), sigma), c, lost)

    def tilted_slope(self, rows: KindRows, mean: Array, var: Array, sigma: float, d1: Array, d2: Array) -> Array:
        even, c, _ = _evened(rows)
        return np.asarray(self.noise.tilted_slope(even, mean / c, var / (c * c), sigma, d1 * c, d2 * c * c))

    def newton(self, rows: KindRows, f: Array, sigma: float) -> Tilted:
        even, c, lost = _evened(rows)
        return _spread(self.noise.newton(even, f / c, sigma), c, lost)

    def point(self, rows: KindRows, f: Array, sigma: float) -> Point:
        even, c, lost = _evened(rows)
        p = self.noise.point(even, f / c, sigma)
        return Point(*_spread(p[:3], c, lost), p.d3 / c**3, p.s0, p.s1 / c, p.s2 / (c * c))

    def expected(self, rows: KindRows, mean: Array, var: Array, sigma: float, *, slopes: bool = True) -> Expected:
        """In units of each row's noise, where these do not matter."""
        if not self.noise.homogeneous:
            return self.noise.expected(rows, mean, var, rows.noise(sigma), slopes=slopes)
        even, c, lost = _evened(rows)
        E = self.noise.expected(even, mean / c, var / (c * c), sigma, slopes=slopes)
        return Expected(*_spread(E[:3], c, lost), E.s0)


def _spread(of: tuple[Array, Array, Array], c: Array | float, lost: Array | float) -> Tilted:
    """Value and two derivatives in f from those in f / c."""
    return Tilted(of[0] - lost, of[1] / c, of[2] / (c * c))


def _evened(rows: KindRows) -> tuple[KindRows, Array | float, Array | float]:
    """The rows in units of their noise, these, and the log Jacobian of exact rows."""
    c = rows.spread
    if c is None:
        return rows, 1.0, 0.0
    ends = {name: getattr(rows, name) / c for name in ("lower", "upper", "limit", "width")}
    window = None if rows.window is None else Window(*(end / c for end in rows.window))
    even = replace(rows, **ends, window=window, spread=None)
    return even, c, np.log(c) if rows.kind == "exact" else 0.0
