"""Prior distributions a user can put on a parameter."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real

import numpy as np

from tobitgp.errors import SpecError


@dataclass(frozen=True, slots=True)
class LogNormal:
    """Log-normal prior of a positive parameter, in the parameter's own units; (HYP1) of the theory pages.

    Parameters
    ----------
    median : float
        Positive, in the units of the parameter.
    spread : float
        Standard deviation of the logarithm, a pure number, positive: about two thirds of the mass lie within a factor
        ``exp(spread)`` of the median.

    Raises
    ------
    SpecError
        If one of them is not positive and finite.

    Examples
    --------
    >>> LogNormal(0.4, 0.5)
    LogNormal(median=0.4, spread=0.5)
    """

    median: float
    spread: float

    def __post_init__(self) -> None:
        if not (0 < self.median < np.inf and 0 < self.spread < np.inf):
            raise SpecError(f"LogNormal({self.median!r}, {self.spread!r}): median and spread must be positive.")


class Usual(LogNormal):
    """A default prior in units that the model does not know of."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class LKJ:
    """Prior of the correlations of a random effect, density proportional to ``det(R)^(eta - 1)``; (RAN4).

    Parameters
    ----------
    eta : float
        Positive, a pure number: 1 for a uniform density over all correlation matrices R, larger values to
        shrink correlations towards 0.

    Raises
    ------
    SpecError
        If it is not positive and finite.

    References
    ----------
    D. Lewandowski, D. Kurowicka and H. Joe (2009), Generating random correlation matrices based on vines and extended
    onion method, *Journal of Multivariate Analysis* 100.

    Examples
    --------
    >>> LKJ(2.0)
    LKJ(eta=2.0)
    """

    eta: float

    def __post_init__(self) -> None:
        if not isinstance(self.eta, Real) or not 0 < self.eta < np.inf:
            raise SpecError(f"LKJ({self.eta!r}): eta must be positive.")


@dataclass(frozen=True, slots=True)
class Normal:
    """Normal prior of a linear coefficient, in the units of response per column; (FEA3) of the theory pages.

    Parameters
    ----------
    mean : float
        Any finite number, in the units of the coefficient.
    sd : float
        Positive, in the units of the coefficient.

    Raises
    ------
    SpecError
        If ``mean`` is not finite or ``sd`` not positive and finite.

    Examples
    --------
    >>> Normal(0.0, 2.5)
    Normal(mean=0.0, sd=2.5)
    """

    mean: float
    sd: float

    def __post_init__(self) -> None:
        if not (np.isfinite(self.mean) and 0 < self.sd < np.inf):
            raise SpecError(f"Normal({self.mean!r}, {self.sd!r}): mean must be finite and sd positive.")


class UsualSlope(Normal):
    """A default prior of the linear effect of a process, in units that the model does not know of."""

    __slots__ = ()
