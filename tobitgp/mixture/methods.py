"""Methods of fitting a mixture: small values with their settings."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Literal

import numpy as np

from tobitgp.errors import SpecError
from tobitgp.method_value import MethodValue, naming_settings


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class MixtureAscent(MethodValue):
    """Settings of the ascents of every method; see `VBCM`."""

    n_init: int = 10
    max_iter: int = 2000
    tol: float = 1e-8
    relax: bool = True
    check: bool = False

    def __post_init__(self) -> None:
        """Raise an error for invalid settings."""
        for field in fields(self):
            value = getattr(self, field.name)
            holds, words = _NEEDED.get(field.name, _ANYTHING)
            if not holds(value):
                raise SpecError(f"{field.name}={value!r}: {words}.")


@naming_settings
@dataclass(frozen=True, slots=True, repr=False, eq=False)
class VBCM(MixtureAscent):
    """Variational Bayes for mixtures with censored data, by coordinate ascent.

    Parameters
    ----------
    n_init : int
        Maximum number of ascents, of which the best is kept: half of them from separate starts, the others from the
        best of these with one component moved.
    max_iter : int
        Maximum number of passes of one ascent.
    tol : float
        A fit has converged if the expected remaining gain of the objective is below this value, in nats per unit of
        weight of the rows; never below 1e-9 in total.
    relax : bool
        Use over-relaxed steps, and extrapolation of the last steps near the optimum.
    check : bool
        Raise NumericalError if the objective decreases.

    Raises
    ------
    SpecError
        If a setting is invalid.

    References
    ----------
    .. [1] M. Kohjima, T. Matsubayashi and H. Toda, "Variational Bayes for mixture models with censored data",
       ECML PKDD 2019, algorithm 1.

    Examples
    --------
    >>> import tobitgp as tg
    >>> lung, method = tg.datasets.load("lung"), tg.VBCM(n_init=3)
    >>> res = tg.fit("Surv(time, event) ~ mixture(2)", lung, family="exponential", method=method)
    >>> res.method, round(res.elbo, 2)
    ('vbcm', -1171.23)
    """

    name: ClassVar[str] = "vbcm"


@naming_settings
@dataclass(frozen=True, slots=True, repr=False, eq=False)
class SVBCM(MixtureAscent):
    """Stochastic VBCM: steps along natural parameters by batches of rows, then batch passes to the optimum.

    Step t = 1, 2, ... has length ``(delay + t)^-forgetting``. Rows enter a batch with probability proportional to their
    weights. The path of the bound is in ``fit_history``; (SVB4) and (SVB5) of the theory pages.

    Parameters
    ----------
    n_init, max_iter, tol, relax, check
        As in `tobitgp.VBCM`, for the final passes.
    batch_size : int
        Number of rows in a batch.
    n_steps : int
        Number of batches for each start.
    delay, forgetting : float
        Settings of the step lengths, (SVB3) of the theory pages: a number of steps of at least 0, and a power in
        (1/2, 1], by the conditions of Robbins and Monro. With ``delay=0`` the first batch replaces the start.
    order : {"spread", "random"}
        Batches are spread evenly over the kinds and values of the rows, or drawn independently at random, as in the
        paper. "spread" has less noise and the same mean.
    statistics : {"expected", "sampled"}
        Use the responsibilities, or one component per row drawn from them.
    draws : int, optional
        With ``statistics="sampled"``: the number of draws of each censored row, at least 2. They approximate its
        probability and its expected statistics under each component, (SVB7), so steps require only the density of a
        family. None computes both exactly; so do the path of the bound and the final passes. Weibull components, which
        are not an exponential family, do not support draws.
    polish : bool
        End with the passes of `tobitgp.VBCM`. Without them ``converged`` is judged from the path of the bound, (SVB5).

    Raises
    ------
    SpecError
        If a setting is invalid.

    References
    ----------
    .. [1] M. Kohjima, T. Matsubayashi and H. Toda, "Variational Bayes for mixture models with censored data",
       ECML PKDD 2019, algorithm 2.
    .. [2] H. Robbins and S. Monro, "A stochastic approximation method", Annals of Mathematical Statistics 22 (1951).

    Examples
    --------
    >>> import tobitgp as tg
    >>> lung, method = tg.datasets.load("lung"), tg.SVBCM(n_steps=200)
    >>> res = tg.fit("Surv(time, event) ~ mixture(2)", lung, family="exponential", method=method)
    >>> res.method, round(res.elbo, 2)
    ('svbcm', -1171.23)
    """

    n_init: int = 1
    batch_size: int = 20
    n_steps: int = 2000
    delay: float = 10.0
    forgetting: float = 0.6
    order: Literal["spread", "random"] = "spread"
    statistics: Literal["expected", "sampled"] = "expected"
    draws: int | None = None
    polish: bool = True
    name: ClassVar[str] = "svbcm"

    def __post_init__(self) -> None:
        """Raise an error for invalid settings."""
        MixtureAscent.__post_init__(self)
        if self.draws is not None and self.statistics != "sampled":
            raise SpecError(f"draws={self.draws}: statistics are not sampled. Add statistics='sampled'.")


@naming_settings
@dataclass(frozen=True, slots=True, repr=False, eq=False)
class EMCM(MixtureAscent):
    """Maximum likelihood by the EM algorithm for mixtures with censored data.

    Parameters
    ----------
    n_init, max_iter, tol, relax, check
        As in `tobitgp.VBCM`, with the log-likelihood as objective.
    floor : float, optional
        Lower bound for the variance of a Gaussian component (in units of the variance of the rows), the mean of an
        exponential component (in units of the median) and the rate of a Poisson component. Without a bound the
        likelihood of Gaussian components has no maximum. None uses a bound in proportion to the distance between the
        rows nearest to a component, (EM8) of the theory pages, which does not affect groups that are far apart.

    Raises
    ------
    SpecError
        If a setting is invalid.

    References
    ----------
    .. [1] G. Lee and C. Scott, "EM algorithms for multivariate Gaussian mixture models with truncated and censored
       data", Computational Statistics & Data Analysis 56 (2012).

    Examples
    --------
    >>> import tobitgp as tg
    >>> lung, method = tg.datasets.load("lung"), tg.EMCM(n_init=3)
    >>> res = tg.fit("Surv(time, event) ~ mixture(2)", lung, family="exponential", method=method)
    >>> res.method, round(res.llf, 2)
    ('em', -1162.34)
    """

    floor: float | None = None
    name: ClassVar[str] = "em"


MixtureMethod = VBCM | SVBCM | EMCM
MIXTURE_METHODS: dict[str, type[VBCM] | type[SVBCM] | type[EMCM]] = {
    method.name: method for method in (VBCM, SVBCM, EMCM)
}


def _whole(value: Any) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool) and bool(value >= 1)


def _number(value: Any) -> bool:
    return isinstance(value, (int, float, np.number)) and not isinstance(value, bool)


def _positive(value: Any) -> bool:
    return _number(value) and bool(0 < value < np.inf)


def _one_of(*allowed: str) -> _Needed:
    words = "choose " + " or ".join(map(repr, allowed))
    return lambda value: isinstance(value, str) and value in allowed, words


# What a setting must be, and in words.
_Needed = tuple[Callable[[Any], bool], str]
_ANYTHING: _Needed = lambda value: True, ""
_COUNT: _Needed = _whole, "must be a whole number of at least 1"
_POSITIVE: _Needed = _positive, "must be a positive number"
_NEEDED: dict[str, _Needed] = {
    **dict.fromkeys(("n_init", "max_iter", "batch_size", "n_steps"), _COUNT),
    "tol": _POSITIVE,
    "delay": (lambda value: _number(value) and bool(0 <= value < np.inf), "must be a finite number of at least 0"),
    "floor": (lambda value: value is None or _positive(value), "must be a positive number or None"),
    "forgetting": (lambda value: _number(value) and 0.5 < value <= 1.0, "must be a number in (0.5, 1]"),
    "order": _one_of("spread", "random"),
    "statistics": _one_of("expected", "sampled"),
    "draws": (
        lambda value: value is None or (_whole(value) and bool(value >= 2)),
        "must be None or a whole number of at least 2",
    ),
}
