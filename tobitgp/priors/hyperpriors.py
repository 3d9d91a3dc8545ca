"""Prior distributions a user can put on a parameter."""

from __future__ import annotations

from dataclasses import dataclass

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
            raise SpecError(f"LogNormal needs a positive median and spread, got {self.median!r}, {self.spread!r}.")


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
            raise SpecError(f"Normal needs a finite mean and a positive sd, got {self.mean!r}, {self.sd!r}.")
