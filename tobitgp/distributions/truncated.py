"""Normal variables with limits: clipped there, or never seen beyond them."""

from __future__ import annotations

from typing import Self

import numpy as np
from scipy.special import ndtr, ndtri

from tobitgp.distributions.limited_normal import LimitedNormal
from tobitgp.distributions.segment import FAR, HALF_LOG_2PI, log_tails, quantile
from tobitgp.numerics.normal_functions import log_cdf
from tobitgp.numerics.sampling import open_uniform
from tobitgp.typing import Array, BoolArray


class CensoredNormal(LimitedNormal):
    r"""Distribution of a normal variable clipped at limits, :math:`\mathrm{clip}(N(m, s^2), l, u)`.

    Density inside the limits, atoms on them: with :math:`a = (l - m)/s` and :math:`b = (u - m)/s`, and with respect to
    Lebesgue measure plus a unit mass on each finite limit,

    .. math:: p(x) = \Phi(a)^{[x = l]}\; \{\phi((x - m)/s)/s\}^{[l < x < u]}\; \Phi(-b)^{[x = u]}.

    `pdf` is therefore a probability at a limit, `cdf` takes up the lower atom at l and reaches 1 at u, and `sf` is the
    probability of exceeding x: it falls to 0 at u.

    Parameters
    ----------
    mean, sd : float or array
        Of the variable before clipping, in its units; sd > 0.
    lower, upper : float or array, optional
        Limits in the same units, lower < upper; None or an infinite value means no limit. All parameters broadcast.

    Raises
    ------
    SpecError
        Naming the parameter that is out of range, or whose shape does not fit.

    Notes
    -----
    With :math:`D = \Phi(b) - \Phi(a)`, the entropy is

    .. math:: -\Phi(a)\log\Phi(a) - \Phi(-b)\log\Phi(-b) + \tfrac12 D\{\log(2\pi s^2) + 1\}
              - \tfrac12\{b\phi(b) - a\phi(a)\},

    and the cross-entropy with respect to :math:`N(\mu, \sigma^2)` clipped at the same limits

    .. math:: -\Phi(a)\log\Phi(\tfrac{l - \mu}{\sigma}) - \Phi(-b)\log\Phi(\tfrac{\mu - u}{\sigma})
              + \tfrac12 D\Big\{\log(2\pi\sigma^2) + \frac{(m - \mu)^2 + s^2}{\sigma^2}\Big\}
              - \frac{s(u + m - 2\mu)\phi(b) - s(l + m - 2\mu)\phi(a)}{2\sigma^2}.

    These are (INF4) to (INF6) of the theory pages, moments are (INF2) and (INF3). They are evaluated through moments
    inside the limits, which lose no digits far out or in narrow windows. They are equations 17 and 22 of [1]_ with
    three corrections: the logarithms of the atoms are weighted by probabilities, not by densities; the cross-entropy is
    the divergence plus the entropy; and between distributions whose limits differ, one without limits among them, both
    are infinite, as each has an atom that is impossible under the other.

    References
    ----------
    .. [1] A. Karlova, R. Kabra, D. A. de Souza and B. Paige, "Variational inference with censored Gaussian process
       regressors", 2024, equations 2 and 12 to 22.

    Examples
    --------
    >>> p = CensoredNormal(0.3, 0.7, lower=-0.6, upper=1.1)
    >>> q = CensoredNormal(-0.2, 0.5, lower=-0.6, upper=1.1)
    >>> print(p.mean().round(6), p.entropy().round(6), p.kl(q).round(6))
    0.288748 1.082418 0.572814
    >>> print(p.pdf([-0.6, 0.0, 1.1]).round(6), p.cdf(1.1), p.kl(CensoredNormal(0.3, 0.7)))
    [0.099271 0.51991  0.126549] 1.0 inf
    """

    __slots__ = ()

    def _draw(self, stream: np.random.Generator, shape: tuple[int, ...]) -> Array:
        return np.clip(self.loc + self.scale * stream.standard_normal(shape), self.lower, self.upper)[()]

    def _log_density(self, x: Array) -> Array:
        z = (x - self.loc) / self.scale
        inside = -0.5 * z * z - np.log(self.scale) - HALF_LOG_2PI
        log_low, log_high = self._log_atoms()
        return np.where(x == self.lower, log_low, np.where(x == self.upper, log_high, inside))

    def _log_tails(self, x: Array) -> tuple[Array, Array]:
        with np.errstate(over="ignore"):
            z = (x - self.loc) / self.scale
        under, over = x < self.lower, x >= self.upper
        log_below = np.where(under, -np.inf, np.where(over, 0.0, log_cdf(z)))
        log_above = np.where(under, 0.0, np.where(over, -np.inf, log_cdf(-z)))
        return log_below, log_above

    def _unlimited_quantile(self, q: Array, p: Array) -> Array:
        return self.loc + self.scale * np.where(q < p, ndtri(q), -ndtri(p))

    def _moments(self) -> tuple[Array, Array]:
        seen, inside = self._window, self._inside()
        low, high = self._atoms()
        first = inside * seen.first + seen.above * high - seen.below * low
        return first, inside * seen.second + seen.above**2 * high + seen.below**2 * low

    def _inside(self) -> Array:
        return self._window.probability

    def _surprise(self, other: Self) -> Array:
        _, square = self._standardised(other.loc, other.scale)
        low, high = self._atoms()
        log_low, log_high = other._log_atoms()
        return self._inside() * (HALF_LOG_2PI + 0.5 * square) - low * log_low - high * log_high

    def _within(self, other: Self) -> BoolArray:
        return (self.lower == other.lower) & (self.upper == other.upper)

    def _atoms(self) -> tuple[Array, Array]:
        """Probabilities of the limits, 0 for infinite ones."""
        a, b = self._ends()
        return ndtr(a), ndtr(-b)

    def _log_atoms(self) -> tuple[Array, Array]:
        """Their logarithms, large and negative for infinite ones."""
        a, b = self._ends()
        return log_cdf(a), log_cdf(-b)

    def _ends(self) -> tuple[Array, Array]:
        """Standardised limits, finite."""
        with np.errstate(over="ignore"):
            a, b = ((end - self.loc) / self.scale for end in (self.lower, self.upper))
        return np.clip(a, -FAR, FAR), np.clip(b, -FAR, FAR)


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
        Ends of the window in the same units, lower < upper; None or an infinite value means no limit. All parameters
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

    def _draw(self, stream: np.random.Generator, shape: tuple[int, ...]) -> Array:
        return self.ppf(open_uniform(stream, shape))

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

    def _surprise(self, other: Self) -> Array:
        seen = other._window
        first, square = self._standardised(seen.anchor, other.scale)
        return np.log(seen.mass) + seen.e * first + 0.5 * square

    def _within(self, other: Self) -> BoolArray:
        return (self.lower >= other.lower) & (self.upper <= other.upper)
