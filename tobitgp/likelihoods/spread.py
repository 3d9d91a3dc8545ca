"""Noise that is wider in some rows than in others by known factors: ``y = f + sigma c Z``, as ``var_weights`` say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tobitgp.data.problem import Instrument, Rows, Window
from tobitgp.likelihoods.base import Expected, Point, Tilted
from tobitgp.typing import Array


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
