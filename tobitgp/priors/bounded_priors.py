"""Priors by a tail probability (penalised complexity), and of parameters between two ends."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import ClassVar

import numpy as np
from scipy.special import betaincinv, betaln

from tobitgp.errors import SpecError
from tobitgp.priors.scale_priors import ScalePrior, check_positive, exponential_of_log


@dataclass(frozen=True, slots=True)
class PC(ScalePrior):
    """Penalised complexity prior, given by a tail probability; (HYP13) of the theory pages.

    ``PC(upper=U)`` is for standard deviations and noise: their simplest value is 0, and they have an exponential prior
    with ``P(value > U) = probability``. ``PC(lower=L)`` is for length-scales: their simplest value is infinity, and
    ``value^(-inputs / 2)`` has an exponential prior with ``P(value < L) = probability``.

    Parameters
    ----------
    upper : float, optional
        Positive, in the units of the parameter.
    lower : float, optional
        Positive, in the units of the parameter; give one of the two.
    probability : float
        Probability of values beyond this end, between 0 and 1.
    inputs : int
        Number of inputs that share the length-scale; only with ``lower``.

    Raises
    ------
    SpecError
        If not exactly one end is given, or a number is outside its range.

    References
    ----------
    D. Simpson, H. Rue, A. Riebler, T. Martins and S. Sorbye (2017), Penalising model component complexity, *Statistical
    Science* 32, 1-28; G.-A. Fuglstad, D. Simpson, F. Lindgren and H. Rue (2019), Constructing priors that penalize the
    complexity of Gaussian random fields, *Journal of the American Statistical Association* 114, 445-452, theorem 2.6.

    Examples
    --------
    >>> PC(upper=1.0, probability=0.05)
    PC(upper=1.0, lower=None, probability=0.05, inputs=1)
    """

    upper: float | None = None
    lower: float | None = None
    probability: float = 0.05
    inputs: int = 1
    _title: ClassVar[str] = "PC"

    def __post_init__(self) -> None:
        if (self.upper is None) == (self.lower is None):
            raise SpecError("PC() requires one end: upper= for a standard deviation, or lower= for a length-scale.")
        check_positive(self, "lower" if self.upper is None else "upper")
        p, inputs = self.probability, self.inputs
        if not isinstance(p, Real) or not 0.0 < float(p) < 1.0:
            raise SpecError(f"PC(probability={p!r}): must be a number between 0 and 1.")
        if isinstance(inputs, bool) or not isinstance(inputs, (int, np.integer)) or inputs < 1:
            raise SpecError(f"PC(inputs={inputs!r}): must be a whole number of at least 1.")
        if self.upper is not None and inputs != 1:
            raise SpecError("PC(inputs=...): requires a length-scale, with lower=. Leave inputs= out.")

    @property
    def _power(self) -> float:
        return 1.0 if self.upper is not None else -0.5 * self.inputs

    @property
    def _rate(self) -> float:
        end = self.upper if self.upper is not None else self.lower
        assert end is not None
        return float(-np.log(self.probability) * end**-self._power)

    def _log_density(self, log_value: float) -> tuple[float, float]:
        """Log density for an exponential power of the parameter."""
        value, slope = exponential_of_log(self._power * log_value, self._rate)
        return value + float(np.log(abs(self._power))), self._power * slope

    def _value_quantile(self, q: float) -> float:
        """By that of the exponential distribution."""
        x = -np.log1p(-q) if self._power > 0.0 else -np.log(q)
        return float((x / self._rate) ** (1.0 / self._power))

    @property
    def _words(self) -> str:
        """The tail probability."""
        side = f"> {self.upper:.3g}" if self.upper is not None else f"< {self.lower:.3g}"
        return f"PC(P({side}) = {self.probability:.3g})"


class IntervalPrior(ScalePrior):
    """A prior between two ends."""

    __slots__ = ()
    lower: float
    upper: float

    @property
    def _support(self) -> tuple[float, float]:
        """The ends."""
        return self.lower, self.upper

    def _check_ends(self) -> None:
        low, high = self.lower, self.upper
        if not all(isinstance(end, Real) and np.isfinite(float(end)) for end in (low, high)) or not low < high:
            raise SpecError(f"{type(self).__name__}: lower={low!r} must be a number below upper={high!r}.")


@dataclass(frozen=True, slots=True)
class Beta(IntervalPrior):
    """Beta prior of a parameter between two ends; (HYP13) of the theory pages.

    For a positive parameter, or with the ends -1 and 1 for the only correlation of a random effect.

    Parameters
    ----------
    a, b : float
        At least 1, pure numbers; ``Beta(1, 1)`` is uniform.
    lower, upper : float
        Ends, in the units of the parameter. The parameter is estimated between them.

    Raises
    ------
    SpecError
        If ``a`` or ``b`` is below 1, or the ends are not two numbers in order.

    Examples
    --------
    >>> Beta(2.0, 2.0, lower=-1.0)
    Beta(a=2.0, b=2.0, lower=-1.0, upper=1.0)
    """

    a: float
    b: float
    lower: float = 0.0
    upper: float = 1.0
    _title: ClassVar[str] = "beta"

    def __post_init__(self) -> None:
        for name in ("a", "b"):
            check_positive(self, name)
            if getattr(self, name) < 1.0:
                raise SpecError(f"Beta({name}={getattr(self, name)!r}): must be a number of at least 1.")
        self._check_ends()

    def _log_density(self, log_value: float) -> tuple[float, float]:
        """By the change of variables to the logarithm."""
        value, width = float(np.exp(log_value)), self.upper - self.lower
        below, above = (value - self.lower) / width, (self.upper - value) / width
        density, slope = float(log_value - betaln(self.a, self.b) - np.log(width)), 1.0
        for power, part, sign in ((self.a - 1.0, below, 1.0), (self.b - 1.0, above, -1.0)):
            if power > 0.0:
                density += power * float(np.log(part)) if part > 0.0 else -np.inf
                slope += sign * power * value / (width * part) if part > 0.0 else 0.0
        return density, slope

    def _value_quantile(self, q: float) -> float:
        """Quantile of the parameter."""
        return self.lower + (self.upper - self.lower) * float(betaincinv(self.a, self.b, q))


@dataclass(frozen=True, slots=True)
class Uniform(IntervalPrior):
    """Uniform prior of a parameter between two ends; (HYP13) of the theory pages.

    For a positive parameter, or with the ends -1 and 1 for the only correlation of a random effect.

    Parameters
    ----------
    lower, upper : float
        Ends, in the units of the parameter. The parameter is estimated between them.

    Raises
    ------
    SpecError
        If the ends are not two numbers in order.

    Examples
    --------
    >>> Uniform(0.9, 1.1)
    Uniform(lower=0.9, upper=1.1)
    """

    lower: float
    upper: float
    _title: ClassVar[str] = "uniform"

    def __post_init__(self) -> None:
        self._check_ends()

    def _log_density(self, log_value: float) -> tuple[float, float]:
        """That of the logarithm, which rises with the parameter."""
        return float(log_value - np.log(self.upper - self.lower)), 1.0

    def _value_quantile(self, q: float) -> float:
        """Quantile of the parameter."""
        return self.lower + (self.upper - self.lower) * q
