r"""Noise that differs between rows: wider on censored ones, or by known factors.

Gaussian noise that is wider on censored rows: a side noise below the lower limit, another above the upper one.

.. math:: \sigma_i^2 = \sigma^2 + \sigma_{\text{lower}}^2 \text{ on left-censored rows}, \qquad
          \sigma^2 + \sigma_{\text{upper}}^2 \text{ on right-censored ones},

the adjusted likelihood of Basson, Louw and Smith (2023), Eqs. 10 and 11, and (LB1) of the theory pages. It has no
density: over all y it integrates to more than 1, so its evidence is not that of the censored model. Interval rows have
two limits and no side, and truncated rows a normaliser that is no part of the paper; both keep the noise of the data.

Noise that is wider in some rows than in others by known factors: ``y = f + sigma c Z``, as ``var_weights`` say.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from tobitgp.data.arrays import Instrument, Rows, Window
from tobitgp.likelihoods.base import Expected, Likelihood, Point, Tilted
from tobitgp.likelihoods.families import GaussianNoise
from tobitgp.typing import Array, BoolArray

SIDES = {"sigma_lower": -1.0, "sigma_upper": 1.0}  # the sign of the rows that each widens


@dataclass(frozen=True, slots=True)
class SideNoise:
    """Gaussian noise with side noises, whose logarithms stand before log sigma in theta."""

    sides: tuple[float, ...]  # signs of the rows that have a side noise
    extra: tuple[float, ...] = ()  # the side noises, 0 before ``at`` has read them
    log_concave: ClassVar[bool] = True
    steep: ClassVar[bool] = False
    _noise: ClassVar[GaussianNoise] = GaussianNoise()

    def over(self, rows: Sequence[Rows]) -> SideNoise:
        """As its noise is on these rows."""
        return self

    def at(self, theta: Array) -> SideNoise:
        """With the side noises of ``theta``."""
        return replace(self, extra=tuple(np.exp(theta[-1 - len(self.sides) : -1]).tolist()))

    def is_conjugate(self, rows: Rows) -> bool:
        """Exact rows that are not truncated."""
        return self._noise.is_conjugate(rows)

    def scale(self, rows: Rows, sigma: float) -> float | Array:
        """Noise standard deviation of every row."""
        if not _has_side(rows):
            return sigma
        extra = np.zeros(len(rows))
        for k, at in self._places(rows):
            extra[at] = self.extra[k]
        return np.sqrt(sigma * sigma + extra * extra)

    def tilted(self, rows: Rows, mean: Array, var: Array, sigma: float) -> Tilted:
        """For expectation propagation; see :class:`tobitgp.likelihoods.base.Tilted`."""
        return self._noise.tilted(rows, mean, var, self.scale(rows, sigma))

    def tilted_slope(self, rows: Rows, mean: Array, var: Array, sigma: float, d1: Array, d2: Array) -> Array:
        """Derivatives (K, n) of log Z in the noise parameters."""
        slope = self._noise.tilted_slope(rows, mean, var, self.scale(rows, sigma), d1, d2)
        return self.share(rows, sigma, slope)

    def newton(self, rows: Rows, f: Array, sigma: float) -> Tilted:
        """``log p`` and its first two derivatives in f."""
        return self._noise.newton(rows, f, self.scale(rows, sigma))

    def point(self, rows: Rows, f: Array, sigma: float) -> Point:
        """For Laplace's method; see :class:`tobitgp.likelihoods.base.Point`."""
        p = self._noise.point(rows, f, self.scale(rows, sigma))
        s0, s1, s2 = (self.share(rows, sigma, slope) for slope in (p.s0, p.s1, p.s2))
        return p._replace(s0=s0, s1=s1, s2=s2)

    def expected(self, rows: Rows, mean: Array, var: Array, sigma: float, *, slopes: bool = True) -> Expected:
        """For variational inference; see :class:`tobitgp.likelihoods.base.Expected`."""
        E = self._noise.expected(rows, mean, var, self.scale(rows, sigma), slopes=slopes)
        return E._replace(s0=self.share(rows, sigma, E.s0))

    def share(self, rows: Rows, sigma: float, slope: Array) -> Array:
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

    def _places(self, rows: Rows) -> Iterator[tuple[int, BoolArray | int]]:
        """Every side noise that occurs, and its rows: those of its sign, or the one whose own it is."""
        if rows.side is not None:
            yield from zip(rows.side.tolist(), range(len(rows)), strict=True)
        else:
            for k, sign in enumerate(self.sides):
                yield k, rows.sign == sign


def with_side_noises(likelihood: Likelihood, roles: Sequence[str]) -> Likelihood:
    """Gaussian noise with the side noises that stand among the parameters of a model; itself where none does."""
    sides = tuple(SIDES[role] for role in roles if role in SIDES)
    return SideNoise(sides) if sides else likelihood


def _has_side(rows: Rows) -> bool:
    return rows.kind == "one-sided" and rows.window is None


@dataclass(frozen=True, slots=True)
class Spread:
    r"""Likelihood of rows whose noise has the standard deviation ``sigma`` times ``rows.spread``.

    Of :math:`y / c` given :math:`f / c` the noise has the standard deviation sigma, so that any likelihood serves, its
    derivatives in f divided by c once each; the density of exact rows takes the Jacobian 1/c. Rows without ``spread``
    are left as they are.
    """

    noise: Any

    @property
    def log_concave(self) -> bool:
        """See `Likelihood`."""
        return bool(self.noise.log_concave)

    @property
    def steep(self) -> bool:
        """See `Likelihood`."""
        return bool(self.noise.steep)

    def over(self, rows: Sequence[Rows]) -> Spread:
        """See `Likelihood`."""
        return Spread(self.noise.over(rows))

    def at(self, theta: Array) -> Spread:
        """See `Likelihood`."""
        return Spread(self.noise.at(theta))

    def is_conjugate(self, rows: Rows) -> bool:
        """See `Likelihood`."""
        return bool(self.noise.is_conjugate(rows))

    def scale(self, rows: Rows, sigma: float) -> float | Array:
        """Noise standard deviation of every row, side noises included."""
        return rows.noise(self.noise.scale(rows, sigma))

    def share(self, rows: Rows, sigma: float, slope: Array) -> Array:
        """As of side noises."""
        return np.asarray(self.noise.share(rows, sigma, slope))

    def tilted(self, rows: Rows, mean: Array, var: Array, sigma: float) -> Tilted:
        """See `Likelihood`."""
        if rows.spread is None:
            return self.noise.tilted(rows, mean, var, sigma)
        c = rows.spread
        t = self.noise.tilted(_of_one_scale(rows), mean / c, var / (c * c), sigma)
        return Tilted(t.log_Z - _lost(rows), t.d1 / c, t.d2 / (c * c))

    def tilted_slope(self, rows: Rows, mean: Array, var: Array, sigma: float, d1: Array, d2: Array) -> Array:
        """See `Likelihood`."""
        if rows.spread is None:
            return np.asarray(self.noise.tilted_slope(rows, mean, var, sigma, d1, d2))
        c = rows.spread
        return np.asarray(
            self.noise.tilted_slope(_of_one_scale(rows), mean / c, var / (c * c), sigma, d1 * c, d2 * c * c)
        )

    def newton(self, rows: Rows, f: Array, sigma: float) -> Tilted:
        """See `Likelihood`."""
        if rows.spread is None:
            return self.noise.newton(rows, f, sigma)
        c = rows.spread
        t = self.noise.newton(_of_one_scale(rows), f / c, sigma)
        return Tilted(t.log_Z - _lost(rows), t.d1 / c, t.d2 / (c * c))

    def point(self, rows: Rows, f: Array, sigma: float) -> Point:
        """See `Likelihood`."""
        if rows.spread is None:
            return self.noise.point(rows, f, sigma)
        c = rows.spread
        p = self.noise.point(_of_one_scale(rows), f / c, sigma)
        square = c * c
        return Point(p.log_p - _lost(rows), p.d1 / c, p.d2 / square, p.d3 / (c * square), p.s0, p.s1 / c, p.s2 / square)

    def expected(self, rows: Rows, mean: Array, var: Array, sigma: float, *, slopes: bool = True) -> Expected:
        """See `Likelihood`."""
        if rows.spread is None:
            return self.noise.expected(rows, mean, var, sigma, slopes=slopes)
        c = rows.spread
        E = self.noise.expected(_of_one_scale(rows), mean / c, var / (c * c), sigma, slopes=slopes)
        return Expected(E.value - _lost(rows), E.d1 / c, E.d2 / (c * c), E.s0)


def _of_one_scale(rows: Rows) -> Rows:
    """The rows in units of their noise."""
    c, window, limits = rows.spread, rows.window, rows.instrument
    assert c is not None
    return replace(
        rows,
        lower=rows.lower / c,
        upper=rows.upper / c,
        limit=rows.limit / c,
        width=rows.width / c,
        window=None if window is None else Window(*(end / c for end in window)),
        instrument=None if limits is None else Instrument(*(end / c for end in limits)),
        spread=None,
    )


def _lost(rows: Rows) -> Array | float:
    """Log of the Jacobian of exact rows."""
    assert rows.spread is not None
    return np.log(rows.spread) if rows.kind == "exact" else 0.0
