r"""Normal variables inside windows.

A normal density seen through a window, in coordinates that keep their digits.

Positions are measured from the point of the window nearest to the mean, its anchor: with
:math:`t = (x - \text{anchor})/s` and :math:`e = (\text{anchor} - m)/s`, the density is :math:`\phi(e)/s` times
:math:`e^{-t(e + t/2)}`. A window around the mean has e = 0; one far out has a large e of the sign of t.

A normal variable that is only seen inside limits.
"""

from __future__ import annotations

from typing import NamedTuple, Self

import numpy as np

from tobitgp.distributions.censored import FAR, beyond, excess, mills_ratio, segment
from tobitgp.distributions.limited_normal import LimitedNormal
from tobitgp.distributions.read import read_rng, read_size
from tobitgp.numerics.draws import open_uniform
from tobitgp.typing import Array, BoolArray

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


class TruncatedNormal(LimitedNormal):
    r"""Distribution of a normal variable given that it lies between limits, :math:`N(m, s^2)` given :math:`l < x < u`.

    .. math:: p(x) = \frac{\phi((x - m)/s)}{s\{\Phi(b) - \Phi(a)\}}, \qquad a = \frac{l - m}{s}, \; b = \frac{u - m}{s}.

    Everything keeps its relative precision where the window lies far out or is narrow: positions are measured from the
    point of the window nearest to m, and densities in units of the one there.

    Parameters
    ----------
    mean, sd : float or array
        Of the variable before truncation, in its units; sd > 0.
    lower, upper : float or array, optional
        Ends of the window in the same units, lower < upper; None or an infinite one is no limit. All parameters
        broadcast.

    Raises
    ------
    SpecError
        Naming the parameter that is out of range, or whose shape does not fit.

    Notes
    -----
    Let :math:`\bar x` and v be the mean and variance of this distribution, p. With respect to q, another truncated
    normal distribution of parameters :math:`\mu, \sigma` and window :math:`(l', u')`, the cross-entropy is

    .. math:: \log\{\Phi(b') - \Phi(a')\} + \tfrac12\log(2\pi\sigma^2) + \frac{v + (\bar x - \mu)^2}{2\sigma^2},

    (INF8) of the theory pages, if the window of p lies within that of q, and infinite otherwise. The entropy is that of
    q = p, and the divergence the difference of the two. Moments and entropy are those of [1]_, chapter 13, section
    10.1.

    References
    ----------
    .. [1] N. L. Johnson, S. Kotz and N. Balakrishnan (1994), *Continuous Univariate Distributions*, volume 1.

    Examples
    --------
    >>> p = TruncatedNormal(0.0, 1.0, lower=40.0)
    >>> print(p.mean().round(6), p.entropy().round(6), p.ppf(0.5).round(6), p.logsf(41.0).round(6))
    40.024969 -2.690127 40.017314 -40.524663
    >>> print(p.kl(TruncatedNormal(0.0, 1.0, lower=39.0)).round(6), p.kl(TruncatedNormal(0.0, 1.0, lower=41.0)))
    39.525285 inf
    """

    __slots__ = ()

    def rvs(self, size: int | tuple[int, ...] | None = None, rng: int | np.random.Generator | None = None) -> Array:
        """Random values, quantiles of uniform ones.

        Parameters
        ----------
        size : int or tuple of int, optional
            Shape of the sample, to which the parameters broadcast; None is one value for each.
        rng : None, int or numpy.random.Generator
            None is a fixed seed.

        Returns
        -------
        array
            Of shape ``size``, or of that of the parameters, in the units of the variable.

        Raises
        ------
        SpecError
            If ``size`` or ``rng`` is not usable.

        Examples
        --------
        >>> TruncatedNormal(0.0, 1.0, lower=[0.0, 9.0]).rvs((1000, 2), rng=1).mean(axis=0).round(1)
        array([0.8, 9.1])
        """
        return self.ppf(open_uniform(read_rng(rng), read_size(size, self.shape)))

    def _log_density(self, x: Array) -> Array:
        seen = self._window
        t = (x - seen.anchor) / self.scale
        return -t * (seen.e + 0.5 * t) - np.log(seen.mass) - np.log(self.scale)

    def _log_tails(self, x: Array) -> tuple[Array, Array]:
        seen = self._window
        x = np.clip(x, self.lower, self.upper)
        with np.errstate(over="ignore", invalid="ignore"):
            t = (x - seen.anchor) / self.scale
            from_lower = np.where(x == self.lower, 0.0, (x - self.lower) / self.scale)
            from_upper = np.where(x == self.upper, 0.0, (self.upper - x) / self.scale)
        return log_tails(seen, t, from_lower, from_upper)

    def _unlimited_quantile(self, q: Array, p: Array) -> Array:
        return self._window.anchor + self.scale * quantile(self._window, q, p)

    def _moments(self) -> tuple[Array, Array]:
        return self._window.first, self._window.second

    def _inside(self) -> Array:
        return np.ones(self.shape)

    def _surprise(self, other: Self) -> Array:
        seen = other._window
        first, square = self._standardised(seen.anchor, other.scale)
        return np.log(seen.mass) + seen.e * first + 0.5 * square

    def _within(self, other: Self) -> BoolArray:
        return (self.lower >= other.lower) & (self.upper <= other.upper)
