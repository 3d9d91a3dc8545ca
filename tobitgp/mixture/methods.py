"""Methods of fitting a mixture: small values with their settings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from tobitgp.errors import SpecError


@dataclass(frozen=True, slots=True)
class VBCM:
    """Variational Bayes for mixtures with censored data.

    Attributes
    ----------
    n_init : int
        Starts, of which the highest end is kept.
    max_iter : int
        Most passes of one ascent.
    tol : float
        Gain of the objective, per unit of weight of the rows, below which a pass counts as standing still; never below
        1e-9 in all.
    relax : bool
        Over-relaxed steps.
    check : bool
        Raise `NumericalError` where the bound falls.

    Raises
    ------
    SpecError
        Naming a setting that makes no sense.

    References
    ----------
    Kohjima, Matsubayashi and Toda (2019), Variational Bayes for mixture models with censored data, ECML PKDD.
    """

    n_init: int = 10
    max_iter: int = 2000
    tol: float = 1e-8
    relax: bool = True
    check: bool = False
    name: ClassVar[str] = "vbcm"

    def __post_init__(self) -> None:
        check_settings(self)


@dataclass(frozen=True, slots=True)
class SVBCM:
    """Stochastic VBCM: steps along natural parameters by batches of rows, then batch passes to the optimum.

    Step t has length ``(delay + t)^-forgetting``. Batches hold rows spread evenly over kinds and values, each row with
    a chance in proportion to its weight.

    Attributes
    ----------
    batch_size : int
    n_steps : int
        How many batches; each start has as many.
    delay, forgetting : float
        Of the step lengths; forgetting in (1/2, 1].
    statistics : {"expected", "sampled"}
        Responsibilities, or one component drawn for each row by them (algorithm 2 of the paper).
    polish : bool
        End with the passes of VBCM.
    n_init, max_iter, tol, relax, check
        As of `VBCM`.

    Raises
    ------
    SpecError
        Naming a setting that makes no sense.
    """

    batch_size: int = 20
    n_steps: int = 2000
    delay: float = 10.0
    forgetting: float = 0.6
    statistics: Literal["expected", "sampled"] = "expected"
    polish: bool = True
    n_init: int = 1
    max_iter: int = 2000
    tol: float = 1e-8
    relax: bool = True
    check: bool = False
    name: ClassVar[str] = "svbcm"

    def __post_init__(self) -> None:
        check_settings(self)
        if self.statistics not in ("expected", "sampled"):
            raise SpecError(f"SVBCM(statistics={self.statistics!r}): choose 'expected' or 'sampled'.")
        if not 0.5 < self.forgetting <= 1.0:
            raise SpecError(f"SVBCM(forgetting={self.forgetting!r}): a number in (0.5, 1] is needed.")


@dataclass(frozen=True, slots=True)
class EMCM:
    """Maximum likelihood by the EM algorithm for mixtures with censored data.

    Attributes
    ----------
    floor : float
        Smallest variance of a Gaussian component, in units of the variance of the rows; see
        `tobitgp.mixture.model.Points` for other families. The likelihood has no maximum without it.
    n_init, max_iter, tol, relax, check
        As of `VBCM`.

    Raises
    ------
    SpecError
        Naming a setting that makes no sense.
    """

    floor: float = 1e-3
    n_init: int = 10
    max_iter: int = 2000
    tol: float = 1e-8
    relax: bool = True
    check: bool = False
    name: ClassVar[str] = "em"

    def __post_init__(self) -> None:
        check_settings(self)


Method = VBCM | SVBCM | EMCM
MIXTURE_METHODS: dict[str, type[VBCM] | type[SVBCM] | type[EMCM]] = {
    method.name: method for method in (VBCM, SVBCM, EMCM)
}
_WHOLE = ("n_init", "max_iter", "batch_size", "n_steps")
_POSITIVE = ("tol", "floor", "delay")


def check_settings(method: Any) -> None:
    """Refuse settings with which no fit makes sense.

    Raises
    ------
    SpecError
        Naming the setting and what is allowed.

    Examples
    --------
    >>> VBCM(n_init=0)
    Traceback (most recent call last):
        ...
    tobitgp.errors.SpecError: VBCM(n_init=0): a whole number of at least 1 is needed.
    """
    name = type(method).__name__
    for field in _WHOLE:
        value = getattr(method, field, 1)
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
            raise SpecError(f"{name}({field}={value!r}): a whole number of at least 1 is needed.")
    for field in _POSITIVE:
        value = getattr(method, field, 1.0)
        if isinstance(value, bool) or not isinstance(value, (int, float, np.number)) or not 0 < value < np.inf:
            raise SpecError(f"{name}({field}={value!r}): a positive number is needed.")
