"""Priors of positive parameters other than the log-normal one, on a parameter, its square or its precision.

The search works with log parameters, so a prior states the density of the logarithm of its parameter: (HYP13) of the
theory pages.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from numbers import Real
from typing import Any, ClassVar, Literal

import numpy as np
from scipy.special import erfinv, gammaincinv, gammaln, stdtrit

from tobitgp.errors import SpecError

On = Literal["sd", "variance", "precision"]
_POWERS = {"sd": 1.0, "variance": 2.0, "precision": -2.0}


class ScalePrior:
    """A prior of a positive parameter."""

    __slots__ = ()
    _title: ClassVar[str]

    @property
    def _support(self) -> tuple[float, float]:
        """Ends between which the parameter lies."""
        return 0.0, np.inf

    def _log_density(self, log_value: float) -> tuple[float, float]:
        """Log density of the logarithm of the parameter, and its derivative."""
        raise NotImplementedError

    def _value_quantile(self, q: float) -> float:
        """Quantile of the parameter."""
        raise NotImplementedError

    @property
    def _words(self) -> str:
        """The prior as summaries show it."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        on = values.pop("on", "sd")
        numbers = ", ".join(f"{value:.3g}" for value in values.values() if value is not None)
        return f"{self._title}({numbers})" + ("" if on == "sd" else f" on {on}")


class PowerPrior(ScalePrior):
    """A prior of a power of the parameter."""

    __slots__ = ()

    @property
    def _power(self) -> float:
        return _POWERS[self.on]  # type: ignore[attr-defined]

    def __post_init__(self) -> None:
        for field in fields(self):  # type: ignore[arg-type]
            if field.name != "on":
                check_positive(self, field.name)
        on = getattr(self, "on", "sd")
        if not isinstance(on, str) or on not in _POWERS:
            raise SpecError(f"on={on!r}: must be one of {', '.join(map(repr, _POWERS))}.")

    def _log_density(self, log_value: float) -> tuple[float, float]:
        """By the change of variables from the power to the logarithm."""
        value, slope = self._of_log(self._power * log_value)
        return value + float(np.log(abs(self._power))), self._power * slope

    def _value_quantile(self, q: float) -> float:
        """By that of the power."""
        return float(self._quantile(q if self._power > 0.0 else 1.0 - q) ** (1.0 / self._power))

    def _of_log(self, u: float) -> tuple[float, float]:
        """Log density of the logarithm of the power, and its derivative."""
        raise NotImplementedError

    def _quantile(self, q: float) -> float:
        """Quantile of the power."""
        raise NotImplementedError


def check_positive(prior: Any, name: str) -> None:
    """Raise an error for a setting that is not a positive number."""
    value = getattr(prior, name)
    if isinstance(value, bool) or not isinstance(value, Real) or not 0.0 < float(value) < np.inf:
        raise SpecError(f"{type(prior).__name__}({name}={value!r}): must be a positive number.")


@dataclass(frozen=True, slots=True)
class Gamma(PowerPrior):
    """Gamma prior of a positive parameter, of its square or of its precision; (HYP13) of the theory pages.

    Parameters
    ----------
    shape : float
        Positive, a pure number.
    rate : float
        Positive, in the inverse of the units of what the prior is on; the mean is ``shape / rate``.
    on : {"sd", "variance", "precision"}
        What has the gamma distribution: the parameter (for ``sd(...)`` and ``sigma`` a standard deviation, else the
        length-scale, period and so on), its square, or the inverse of its square.

    Raises
    ------
    SpecError
        If a number is not positive and finite, or ``on`` is not one of these.

    Examples
    --------
    >>> import tobitgp as tg
    >>> data = {"y": [1.1, 2.0, 2.8, 4.3, 4.9], "x": [0.0, 1.0, 2.0, 3.0, 4.0]}
    >>> res = tg.fit("y ~ gp(x)", data, priors={"sigma": tg.Gamma(2, 10), "lengthscale(gp(x))": tg.PC(lower=1.0)})
    >>> res.priors.loc["sigma", "distribution"]
    'gamma(2, 10)'
    """

    shape: float
    rate: float
    on: On = "sd"
    _title: ClassVar[str] = "gamma"

    def _of_log(self, u: float) -> tuple[float, float]:
        a, x = self.shape, self.rate * _exp(u)
        return float(a * np.log(self.rate) + a * u - x - gammaln(a)), a - x

    def _quantile(self, q: float) -> float:
        return float(gammaincinv(self.shape, q)) / self.rate


@dataclass(frozen=True, slots=True)
class InverseGamma(PowerPrior):
    """Inverse gamma prior: the inverse of what it is on has a gamma distribution; (HYP13) of the theory pages.

    Parameters
    ----------
    shape : float
        Positive, a pure number.
    scale : float
        Positive, in the units of what the prior is on; the mode is ``scale / (shape + 1)``.
    on : {"sd", "variance", "precision"}
        The parameter, its square, or the inverse of its square, as of :class:`Gamma`.

    Raises
    ------
    SpecError
        If a number is not positive and finite, or ``on`` is not one of these.

    Examples
    --------
    >>> InverseGamma(3.0, 2.0, on="variance")
    InverseGamma(shape=3.0, scale=2.0, on='variance')
    """

    shape: float
    scale: float
    on: On = "sd"
    _title: ClassVar[str] = "inverse gamma"

    def _of_log(self, u: float) -> tuple[float, float]:
        a, x = self.shape, self.scale * _exp(-u)
        return float(a * np.log(self.scale) - a * u - x - gammaln(a)), x - a

    def _quantile(self, q: float) -> float:
        return self.scale / float(gammaincinv(self.shape, 1.0 - q))


@dataclass(frozen=True, slots=True)
class HalfStudent(PowerPrior):
    """Prior with the density of Student's t above 0; (HYP13) of the theory pages.

    Parameters
    ----------
    df : float
        Degrees of freedom, positive; 1 for a half-Cauchy distribution.
    scale : float
        Positive, in the units of what the prior is on.
    on : {"sd", "variance", "precision"}
        The parameter, its square, or the inverse of its square, as of :class:`Gamma`.

    Raises
    ------
    SpecError
        If a number is not positive and finite, or ``on`` is not one of these.

    Examples
    --------
    >>> HalfStudent(3.0, 2.5)
    HalfStudent(df=3.0, scale=2.5, on='sd')
    """

    df: float
    scale: float
    on: On = "sd"
    _title: ClassVar[str] = "half-Student"

    def _of_log(self, u: float) -> tuple[float, float]:
        half, log_scale = 0.5 * (self.df + 1.0), np.log(self.scale)
        far = np.logaddexp(0.0, 2.0 * (u - log_scale) - np.log(self.df))  # log(1 + x^2 / (df scale^2))
        norm = np.log(2.0) + gammaln(half) - gammaln(0.5 * self.df) - 0.5 * np.log(self.df * np.pi) - log_scale
        return float(norm + u - half * far), float(1.0 + 2.0 * half * np.expm1(-far))

    def _quantile(self, q: float) -> float:
        return self.scale * float(stdtrit(self.df, 0.5 + 0.5 * q))


@dataclass(frozen=True, slots=True)
class HalfNormal(PowerPrior):
    """Prior with the density of a normal distribution above its mean 0; (HYP13) of the theory pages.

    Parameters
    ----------
    scale : float
        Standard deviation of that normal distribution, positive, in the units of what the prior is on.
    on : {"sd", "variance", "precision"}
        The parameter, its square, or the inverse of its square, as of :class:`Gamma`.

    Raises
    ------
    SpecError
        If a number is not positive and finite, or ``on`` is not one of these.

    Examples
    --------
    >>> HalfNormal(2.0)
    HalfNormal(scale=2.0, on='sd')
    """

    scale: float
    on: On = "sd"
    _title: ClassVar[str] = "half-normal"

    def _of_log(self, u: float) -> tuple[float, float]:
        log_scale = float(np.log(self.scale))
        square = _exp(2.0 * (u - log_scale))
        return float(0.5 * np.log(2.0 / np.pi) - log_scale + u - 0.5 * square), 1.0 - square

    def _quantile(self, q: float) -> float:
        return self.scale * float(np.sqrt(2.0) * erfinv(q))


@dataclass(frozen=True, slots=True)
class Exponential(PowerPrior):
    """Exponential prior; (HYP13) of the theory pages.

    Parameters
    ----------
    rate : float
        Positive, in the inverse of the units of what the prior is on; the mean is ``1 / rate``.
    on : {"sd", "variance", "precision"}
        The parameter, its square, or the inverse of its square, as of :class:`Gamma`.

    Raises
    ------
    SpecError
        If the rate is not positive and finite, or ``on`` is not one of these.

    Examples
    --------
    >>> Exponential(0.5)
    Exponential(rate=0.5, on='sd')
    """

    rate: float
    on: On = "sd"
    _title: ClassVar[str] = "exponential"

    def _of_log(self, u: float) -> tuple[float, float]:
        return exponential_of_log(u, self.rate)

    def _quantile(self, q: float) -> float:
        return float(-np.log1p(-q)) / self.rate


def exponential_of_log(u: float, rate: float) -> tuple[float, float]:
    """Log density of the logarithm of an exponential variable at u, and its derivative."""
    x = rate * _exp(u)
    return float(np.log(rate) + u - x), 1.0 - x


def _exp(u: float) -> float:
    """Exponential that stays a number."""
    return float(np.exp(min(u, 700.0)))
