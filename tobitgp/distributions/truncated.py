"""A normal variable that is only seen inside limits."""

from __future__ import annotations

from typing import Self

import numpy as np

from tobitgp.distributions.limited_normal import LimitedNormal
from tobitgp.distributions.read import read_rng, read_size
from tobitgp.distributions.window import log_tails, quantile
from tobitgp.numerics.draws import open_uniform
from tobitgp.typing import Array, BoolArray


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
