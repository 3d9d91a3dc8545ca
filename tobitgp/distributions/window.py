r"""A normal density seen through a window, in coordinates that keep their digits.

Positions are measured from the point of the window nearest to the mean, its anchor: with
:math:`t = (x - \text{anchor})/s` and :math:`e = (\text{anchor} - m)/s`, the density is :math:`\phi(e)/s` times
:math:`e^{-t(e + t/2)}`. A window around the mean has e = 0; one far out has a large e of the sign of t.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tobitgp.distributions.segment import FAR, beyond, excess, mills_ratio, segment
from tobitgp.typing import Array

HALF_LOG_2PI = 0.5 * float(np.log(2.0 * np.pi))
_LARGEST = 1e300


class Window(NamedTuple):
    r"""Where a window lies on a normal density, and what it holds; arrays of one shape."""

    anchor: Array  # point of the window nearest to the mean
    e: Array  # its distance from the mean in standard deviations, signed
    below: Array  # widths of the window on either side of the anchor, in standard deviations, at most 1e100
    above: Array  # widths of the window on either side of the anchor, in standard deviations, at most 1e100
    left: Array  # mass on either side, divided by :math:`\phi(e)`
    right: Array  # mass on either side, divided by :math:`\phi(e)`
    first: Array  # means of t and :math:`t^2` inside the window
    second: Array  # means of t and :math:`t^2` inside the window

    @property
    def mass(self) -> Array:
        r"""Mass of the window divided by :math:`\phi(e)`."""
        return self.left + self.right

    @property
    def variance(self) -> Array:
        """Variance of t inside the window."""
        return np.maximum(self.second - self.first * self.first, 0.0)

    @property
    def probability(self) -> Array:
        r"""Mass of the window, :math:`\Phi(b) - \Phi(a)`."""
        return np.exp(-0.5 * self.e * self.e - HALF_LOG_2PI) * self.mass


def window(mean: Array, sd: Array, lower: Array, upper: Array) -> Window:
    """Look at N(mean, sd^2) through (lower, upper)."""
    mean, sd, lower, upper = np.broadcast_arrays(mean, sd, lower, upper)
    anchor = np.clip(mean, lower, upper)
    with np.errstate(over="ignore", under="ignore"):
        e = np.clip((anchor - mean) / sd, -FAR, FAR)
        below, above = _width(anchor - lower, sd), _width(upper - anchor, sd)
        left, right = segment(np.abs(e), below), segment(np.abs(e), above)
        mass = left[0] + right[0]
        return Window(
            anchor, e, below, above, left[0], right[0], (right[1] - left[1]) / mass, (right[2] + left[2]) / mass
        )


def log_tails(seen: Window, t: Array, from_lower: Array, from_upper: Array) -> tuple[Array, Array]:
    """Log probabilities of lying below and above t, given the window."""
    with np.errstate(divide="ignore", over="ignore", under="ignore"):
        log_below = _log_part(seen, seen.left, t, from_lower)
        log_above = _log_part(seen, seen.right, -t, from_upper)
        return _sharpen(log_below, log_above), _sharpen(log_above, log_below)


def quantile(seen: Window, q: Array, p: Array) -> Array:
    """Position t below which a share q lies, and above which p = 1 - q."""
    with np.errstate(divide="ignore", over="ignore", under="ignore"):
        a, mass = np.abs(seen.e), seen.mass
        ratio = mills_ratio(a)
        upwards = q * mass >= seen.left
        within = np.where(upwards, q * mass - seen.left, p * mass - seen.right) / ratio
        outside = np.where(upwards, p, q) * mass / ratio + beyond(a, np.where(upwards, seen.above, seen.below))
        log_odds = np.where(within < 0.5, -np.log1p(-np.clip(within, 0.0, 0.5)), -np.log(outside))
        t = excess(a, np.maximum(log_odds, 0.0))
        return np.where(upwards, t, -t)


def _width(gap: Array, sd: Array) -> Array:
    """A gap in standard deviations, finite, and 0 only if it is none."""
    return np.where(gap > 0.0, np.clip(gap / sd, 1.0 / _LARGEST, FAR), 0.0)


def _log_part(seen: Window, rest: Array, t: Array, gap: Array) -> Array:
    """Log share of the window below t, ``rest`` of it below the anchor, the end at a distance ``gap``; or mirrored."""
    a, out = np.abs(seen.e), np.clip(-t, 0.0, FAR)
    part = segment(a + out, np.where(t < 0.0, gap, t), rows=1)[0] + np.where(t < 0.0, 0.0, rest)
    return np.log(part / seen.mass) - out * (a + 0.5 * out)


def _sharpen(log_p: Array, log_q: Array) -> Array:
    """``log p`` from ``log q = log(1 - p)`` where p is the larger."""
    return np.where(log_p < log_q, log_p, np.log1p(-np.exp(np.minimum(log_q, 0.0))))
