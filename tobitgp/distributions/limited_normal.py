"""What a censored and a truncated normal distribution have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from tobitgp.distributions.distribution_arguments import broadcast, documented, read_numbers, read_parameters, read_size
from tobitgp.distributions.segment import FAR, StandardWindow, window
from tobitgp.errors import SpecError
from tobitgp.numerics.sampling import generator
from tobitgp.typing import Array, BoolArray


class LimitedNormal(ABC):
    """A normal distribution with limits, as scipy's frozen distributions: every question is a method."""

    __slots__ = ("_window", "loc", "lower", "scale", "upper")

    loc: Array  # mean and standard deviation of the normal distribution behind the limits
    scale: Array
    lower: Array  # limits, infinite where there is none
    upper: Array
    _window: StandardWindow

    def __init__(
        self, mean: ArrayLike, sd: ArrayLike, lower: ArrayLike | None = None, upper: ArrayLike | None = None
    ) -> None:
        self.loc, self.scale, self.lower, self.upper = read_parameters(mean, sd, lower, upper)
        self._window = window(self.loc, self.scale, self.lower, self.upper)

    def __repr__(self) -> str:
        names = ("mean", "sd", "lower", "upper")
        values = (self.loc, self.scale, self.lower, self.upper)
        shown = (f"{v:g}" if v.ndim == 0 else f"array{v.shape}" for v in values)
        return f"{type(self).__name__}({', '.join(map('='.join, zip(names, shown, strict=True)))})"

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of the parameters broadcast together."""
        return self._window.e.shape

    @documented("value", "example")
    def pdf(self, x: ArrayLike) -> Array:
        """Density at x per unit, 0 outside the limits; on a limit of a censored variable the probability of its atom.

        >>> distribution.pdf([-0.6, 0.0, 2.0]).round(4)
        array([0.0993, 0.5199, 0.    ])
        """
        return np.exp(self.logpdf(x))

    @documented("value", "example")
    def logpdf(self, x: ArrayLike) -> Array:
        """Log density at x in nats, -inf outside the limits.

        >>> distribution.logpdf([0.0, 2.0]).round(4)
        array([-0.6541,    -inf])
        """
        x = self._read("x", x)
        with np.errstate(over="ignore", invalid="ignore"):
            inside = (x >= self.lower) & (x <= self.upper) & np.isfinite(x)
            return _plain(np.where(np.isnan(x), np.nan, np.where(inside, self._log_density(x), -np.inf)))

    @documented("value", "example")
    def cdf(self, x: ArrayLike) -> Array:
        """Probability of a value at or below x, right-continuous.

        >>> distribution.cdf([-0.6, 0.0, 1.1]).round(4)
        array([0.0993, 0.3341, 1.    ])
        """
        return np.exp(self.logcdf(x))

    @documented("value", "example")
    def sf(self, x: ArrayLike) -> Array:
        """Probability of a value above x: ``1 - cdf(x)``, with relative precision.

        >>> distribution.sf([-0.6, 0.0, 1.1]).round(4)
        array([0.9007, 0.6659, 0.    ])
        """
        return np.exp(self.logsf(x))

    @documented("value")
    def logcdf(self, x: ArrayLike) -> Array:
        """Log of `cdf` in nats, with relative precision in both tails.

        Examples
        --------
        >>> from tobitgp.distributions import CensoredNormal
        >>> float(CensoredNormal(0, 1, upper=9).logcdf(-40.0).round(3))
        -804.608
        """
        return _plain(self._log_tails(self._read("x", x))[0])

    @documented("value")
    def logsf(self, x: ArrayLike) -> Array:
        """Log of `sf` in nats, with relative precision in both tails.

        Examples
        --------
        >>> from tobitgp.distributions import CensoredNormal
        >>> float(CensoredNormal(0, 1, lower=-9).logsf(40.0).round(3))
        -804.608
        """
        return _plain(self._log_tails(self._read("x", x))[1])

    @documented("order", "example")
    def ppf(self, q: ArrayLike) -> Array:
        """Quantile: the smallest x within the limits whose `cdf` is at least q.

        >>> distribution.ppf([0.05, 0.5, 0.95]).round(4)
        array([-0.6,  0.3,  1.1])
        """
        q = self._read("q", q)
        return self._quantile(q, 1.0 - q)

    @documented("order")
    def isf(self, q: ArrayLike) -> Array:
        """Quantile of the upper tail, ``ppf(1 - q)`` without the rounding of ``1 - q``.

        Examples
        --------
        >>> from tobitgp.distributions import CensoredNormal
        >>> float(CensoredNormal(0, 1, lower=-9).isf(1e-30).round(4))
        11.464
        """
        q = self._read("q", q)
        return self._quantile(1.0 - q, q)

    def rvs(self, size: int | tuple[int, ...] | None = None, rng: int | np.random.Generator | None = None) -> Array:
        """Random values.

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
        >>> from tobitgp.distributions import CensoredNormal
        >>> CensoredNormal(0.0, 1.0, lower=[0.0, 9.0]).rvs((1000, 2), rng=1).min(axis=0)
        array([0., 9.])
        """
        return self._draw(generator(rng), read_size(size, self.shape))

    @documented("each", "example")
    def mean(self) -> Array:
        """Mean, in the units of the variable: (INF2) clipped, Johnson, Kotz and Balakrishnan (1994, 13.10.1) truncated.

        >>> float(distribution.mean().round(4))
        0.2887
        """
        return _plain(np.clip(self._window.anchor + self.scale * self._moments()[0], self.lower, self.upper))

    @documented("each", "example")
    def var(self) -> Array:
        """Variance, in squared units: (INF3) clipped, Johnson, Kotz and Balakrishnan (1994, 13.10.1) truncated.

        >>> float(distribution.var().round(4))
        0.3144
        """
        return self.std() ** 2

    @documented("each", "example")
    def std(self) -> Array:
        """Standard deviation, in the units of the variable.

        >>> float(distribution.std().round(4))
        0.5607
        """
        first, second = self._moments()
        return _plain(self.scale * np.sqrt(np.maximum(second - first * first, 0.0)))

    @documented("each", "example")
    def entropy(self) -> Array:
        """Entropy in nats, ``-E log pdf(X)``, in closed form: (INF4) clipped, (INF8) with itself truncated.

        >>> float(distribution.entropy().round(4))
        1.0824
        """
        return _plain(self._inside() * np.log(self.scale) + self._surprise(self))

    @documented("other", "example")
    def cross_entropy(self, other: Self) -> Array:
        """Cross-entropy in nats, ``-E log other.pdf(X)``, in closed form: (INF5) and (INF6) clipped, (INF8) truncated.

        >>> float(distribution.cross_entropy(CensoredNormal(0.0, 1.0, lower=-0.6, upper=1.1)).round(4))
        1.1971
        """
        self._check(other)
        with np.errstate(over="ignore", invalid="ignore"):
            value = self._inside() * np.log(other.scale) + self._surprise(other)
            return _plain(np.where(self._within(other), value, np.inf))

    @documented("other", "example")
    def kl(self, other: Self) -> Array:
        """Kullback-Leibler divergence to another distribution in nats, ``E log(pdf(X) / other.pdf(X))`` (INF7).

        At least 0, and 0 for equal ones, to about 1e-15 of the terms that make it up.

        >>> float(distribution.kl(CensoredNormal(0.0, 1.0, lower=-0.6, upper=1.1)).round(4))
        0.1147
        """
        self._check(other)
        with np.errstate(over="ignore", invalid="ignore"):
            value = self._inside() * np.log(other.scale / self.scale) + (self._surprise(other) - self._surprise(self))
            return _plain(np.where(self._within(other), np.maximum(value, 0.0), np.inf))

    def _read(self, name: str, value: ArrayLike) -> Array:
        """Read an argument, which broadcasts with the parameters."""
        x = read_numbers(name, value)
        broadcast(self.shape, name, x.shape)
        return x

    def _check(self, other: Any) -> None:
        """Raise an error for objects that cannot be compared with this one."""
        if type(other) is not type(self):
            raise SpecError(f"other={other!r}: must be a {type(self).__name__}.")
        broadcast(self.shape, "other", other.shape, SpecError)

    def _quantile(self, q: Array, p: Array) -> Array:
        """Quantile at q = 1 - p, within the limits."""
        possible = (q >= 0.0) & (q <= 1.0) & (p >= 0.0) & (p <= 1.0)
        x = self._unlimited_quantile(np.where(possible, q, 0.5), np.where(possible, p, 0.5))
        x = np.where(q == 0.0, self.lower, np.where(p == 0.0, self.upper, np.clip(x, self.lower, self.upper)))
        return _plain(np.where(possible, x, np.nan))

    def _standardised(self, origin: Array, unit: Array) -> tuple[Array, Array]:
        """Means of ``z = (x - origin) / unit`` and of its square inside the window."""
        with np.errstate(over="ignore"):
            ratio = np.minimum(self.scale / unit, FAR)
            first = np.clip((self._window.anchor - origin) / unit + ratio * self._window.first, -FAR, FAR)
        return first, ratio * ratio * self._window.variance + first * first

    @abstractmethod
    def _draw(self, stream: np.random.Generator, shape: tuple[int, ...]) -> Array:
        """Random values."""

    @abstractmethod
    def _log_density(self, x: Array) -> Array:
        """Log density at x within the limits."""

    @abstractmethod
    def _log_tails(self, x: Array) -> tuple[Array, Array]:
        """Log probabilities of lying at or below x, and above."""

    @abstractmethod
    def _unlimited_quantile(self, q: Array, p: Array) -> Array:
        """Quantile before rounding is kept within the limits."""

    def _moments(self) -> tuple[Array, Array]:
        """Means of t and its square, t the standardised distance from the window's anchor."""
        return self._window.first, self._window.second

    def _inside(self) -> Array:
        """Probability that has a density."""
        return np.ones(self.shape)

    @abstractmethod
    def _surprise(self, other: Self) -> Array:
        """Cross-entropy where the other distribution's scale is the unit."""

    @abstractmethod
    def _within(self, other: Self) -> BoolArray:
        """Whether whatever is possible here is possible there."""


def _plain(values: Array) -> Array:
    """A scalar instead of an array without dimensions."""
    return np.asarray(values)[()]
