"""One distribution of the durations, by maximum likelihood, as a fitter of lifelines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.errors import SpecError
from tobitgp.lifelines.fitter_input import check_method
from tobitgp.lifelines.results_fitter import ResultsFitter
from tobitgp.likelihoods.families import GenGamma
from tobitgp.results.hazards.cells import PH
from tobitgp.typing import Array


@dataclass(frozen=True, slots=True)
class LifetimeFamily:
    """How a distribution is fitted, and its parameters in lifelines' terms."""

    fitter_name: str
    family: Any
    rhs: str = "1"
    method: str = "auto"
    parameters: dict[str, float] | None = None  # lifelines' names, with their values of no effect
    # lifelines' parameters of those here, with their derivatives.
    of_ours: Callable[[Array], tuple[list[float], list[list[float]]]] | None = None


def _scale_and_shape(ours: Array) -> tuple[list[float], list[list[float]]]:
    location, sigma = ours
    return [np.exp(location), 1.0 / sigma], [[np.exp(location), 0.0], [0.0, -1.0 / sigma**2]]


def _scale(ours: Array) -> tuple[list[float], list[list[float]]]:
    return [np.exp(ours[0])], [[np.exp(ours[0]), 0.0]]


def _location_and_scale(ours: Array) -> tuple[list[float], list[list[float]]]:
    return list(ours), [[1.0, 0.0], [0.0, 1.0]]


def _generalised_gamma(ours: Array) -> tuple[list[float], list[list[float]]]:
    location, sigma, Q = ours
    return [location, np.log(sigma), Q], [[1.0, 0.0, 0.0], [0.0, 1.0 / sigma, 0.0], [0.0, 0.0, 1.0]]


LIFETIMES = {
    "weibull": LifetimeFamily(
        "WeibullFitter", "weibull", parameters={"lambda_": 1.0, "rho_": 1.0}, of_ours=_scale_and_shape
    ),
    "exponential": LifetimeFamily("ExponentialFitter", "exponential", parameters={"lambda_": 0.0}, of_ours=_scale),
    "lognormal": LifetimeFamily(
        "LogNormalFitter", "lognormal", parameters={"mu_": 0.0, "sigma_": 1.0}, of_ours=_location_and_scale
    ),
    "loglogistic": LifetimeFamily(
        "LogLogisticFitter", "loglogistic", parameters={"alpha_": 1.0, "beta_": 1.0}, of_ours=_scale_and_shape
    ),
    "gengamma": LifetimeFamily(
        "GeneralizedGammaFitter",
        "gengamma",
        parameters={"mu_": 0.0, "ln_sigma_": 0.0, "lambda_": 1.0},
        of_ours=_generalised_gamma,
    ),
    "gamma": LifetimeFamily("GammaFitter", "gamma", "mixture(1)", "em"),
    "inverse_gaussian": LifetimeFamily("InverseGaussianFitter", "inverse_gaussian", "mixture(1)", "em"),
    "gompertz": LifetimeFamily("GompertzFitter", PH("gompertz")),
    "spline": LifetimeFamily("SplineFitter", PH("spline")),
}


class DistributionFitter(ResultsFitter):
    """A distribution of durations by maximum likelihood, (SUR1) to (SUR7), which is a univariate fitter of lifelines.

    Functions of lifelines take it as their own fitters: it is a ``lifelines.fitters.ParametricUnivariateFitter``, with
    the arguments and attributes of ``lifelines.WeibullFitter``. :func:`tobitgp.fit` makes the fit.

    Parameters
    ----------
    family : str, ``tg.PH("spline", df=3)``, ``tg.GenGamma(Q=1)``
        ``"weibull"``, ``"exponential"``, ``"lognormal"``, ``"loglogistic"`` and ``"gengamma"`` have the parameters of
        lifelines' fitters; ``"gamma"``, ``"inverse_gaussian"``, ``"gompertz"`` and ``"spline"`` those of
        :func:`tobitgp.fit`.
    alpha : float
        One minus the probability of intervals, on the scale 0 to 1.
    label : str, optional
        Name of the columns of curves.
    **fit_kwargs
        As for :func:`tobitgp.fit`.

    Attributes
    ----------
    results_ : RegressionResults, ParametricHazardResults or MixtureResults
        The fit, with all its methods.

    Raises
    ------
    SpecError
        For another family, or an ``alpha`` outside (0, 1).

    Notes
    -----
    Durations, times and timelines such as ``pandas.Timedelta`` are days, as in :func:`tobitgp.fit`.

    ``initial_point`` and ``fit_options`` of ``fit()`` have no effect, since the search finds its own start. Curves of
    the five distributions of lifelines have its intervals, the value plus and minus multiples of its standard error.
    Other distributions have the intervals of ``results_.predict_survival_function(interval=)``, which stay between 0
    and 1.

    A duration that is left-censored after a late entry lies between the two times; lifelines uses the probability that
    it lies anywhere before the duration.

    Examples
    --------
    >>> import tobitgp as tg
    >>> lung = tg.datasets.load("lung")
    >>> model = tg.lifelines.DistributionFitter("weibull").fit(lung["time"], lung["event"])
    >>> model.params_.round(2).to_dict(), round(model.AIC_, 2)
    ({'lambda_': 417.76, 'rho_': 1.32}, 2311.7)
    """

    def __init__(self, family: Any = "weibull", alpha: float = 0.05, label: str | None = None, **fit_kwargs: Any):
        if isinstance(family, str):
            if family not in LIFETIMES:
                raise SpecError(
                    f"family={family!r}: family must be a distribution of durations. Use {', '.join(LIFETIMES)}."
                )
            row = LIFETIMES[family]
        elif isinstance(family, PH | GenGamma):
            row = LifetimeFamily(f"{type(family).__name__}Fitter", family)
        else:
            raise SpecError(f"family={family!r}: family must be a name, tg.PH(...) or tg.GenGamma(...).")
        super().__init__(row.fitter_name, alpha, label)
        self._row, self._family, self._rhs = row, row.family, row.rhs
        self._known = row.parameters is not None
        self._fit_kwargs = {"method": row.method, **fit_kwargs}
        check_method(self._fit_kwargs["method"], mixture="mixture" in row.rhs)

    def _estimated(self) -> tuple[pd.Series[float], Array]:
        values, covariance = super()._estimated()
        row = self._row
        if row.of_ours is None or row.parameters is None:
            free = np.flatnonzero(values.index != "weight[1]")
            return values.iloc[free], covariance[np.ix_(free, free)]
        with np.errstate(all="ignore"):  # of a location at infinity
            theirs, slopes = row.of_ours(np.asarray(values, dtype=np.float64))
        for name, value in zip(row.parameters, theirs, strict=True):
            setattr(self, name, value)
        J = np.array(slopes, dtype=np.float64)
        with np.errstate(all="ignore"):
            return pd.Series(theirs, index=list(row.parameters)), J @ covariance @ J.T

    @property
    def _compare_to_values(self) -> Array:
        known = self._row.parameters
        return super()._compare_to_values if known is None else np.array(list(known.values()))
