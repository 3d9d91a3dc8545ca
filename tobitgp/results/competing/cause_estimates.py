"""Estimates of competing risks: those of each cause beside each other, which are independent of each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from scipy.linalg import block_diag

from tobitgp.errors import SpecError
from tobitgp.numerics.bordered import dense
from tobitgp.results.hypotheses import WaldResults, chi_squared
from tobitgp.results.parameter_estimates import Linear
from tobitgp.results.predict import check_alpha
from tobitgp.typing import Array

if TYPE_CHECKING:
    from tobitgp.results.competing.competing_results import CompetingRisksResults


@dataclass(frozen=True, slots=True)
class IndependentLinear:
    """Posteriors of the linear coefficients of several fits, which are independent of each other."""

    fits: Sequence[Linear]

    def combine(self, R: Array, null: Array) -> Linear:
        """Posterior of the combinations ``R beta - null`` of the rows of R (k, p), p that of all fits."""
        k, lost = len(R), np.zeros((len(R), len(R)))
        weight, mean, V, fixed = np.ones(1), -null[None, :], np.zeros((1, k, k)), np.ones(k, dtype=bool)
        ends = np.cumsum([fit.mean.shape[1] for fit in self.fits])[:-1]
        for fit, own in zip(self.fits, np.split(R, ends, axis=1), strict=True):
            part = fit.combine(own, np.zeros(k))
            within = np.stack([dense(each) for each in part.covariance])
            weight = np.outer(weight, part.weight).ravel()
            mean = (mean[:, None] + part.mean).reshape(-1, k)
            V = (V[:, None] + within).reshape(-1, k, k)
            fixed &= part.fixed
            if part.unidentified is not None:
                lost += dense(part.unidentified)
        return Linear(weight, mean, V, fixed, lost)


def conf_int(results: CompetingRisksResults, alpha: float = 0.05) -> pd.DataFrame:
    """Intervals of ``params``.

    Parameters
    ----------
    alpha : float
        One minus the probability of the intervals.

    Returns
    -------
    DataFrame
        A row for each ``(cause, parameter)``, columns 0 and 1, in the units of ``params``.

    Raises
    ------
    SpecError
        If alpha is outside (0, 1).

    References
    ----------
    (REG8) of the theory pages, of processes (PRE3) and (HYP2); of each cause as by itself.

    Examples
    --------
    >>> import tobitgp as tg
    >>> lung = tg.datasets.load("lung").assign(cause=lambda d: d["event"] * (1 + (d["age"] > 65)))
    >>> res = tg.fit("Surv(time, cause) ~ sex", lung, family="weibull")
    >>> res.conf_int().loc[(2, "sex")].round(2).tolist()
    [0.17, 1.03]
    """
    alpha = check_alpha(alpha)
    return pd.DataFrame(_beside(results, lambda fit: fit.conf_int(alpha)))


def summary_frame(results: CompetingRisksResults, alpha: float = 0.05) -> pd.DataFrame:
    """All parameters of all causes in one table.

    Parameters
    ----------
    alpha : float
        One minus the probability of the intervals.

    Returns
    -------
    DataFrame
        A row for each ``(cause, parameter)``, with the columns that the results of a cause have, in their units.

    Raises
    ------
    SpecError
        If alpha is outside (0, 1).

    Examples
    --------
    >>> import tobitgp as tg
    >>> lung = tg.datasets.load("lung").assign(cause=lambda d: d["event"] * (1 + (d["age"] > 65)))
    >>> res = tg.fit("Surv(time, cause) ~ sex", lung, family="weibull")
    >>> res.summary_frame().loc[1, "coef"].round(2).to_dict()
    {'Intercept': 6.09, 'sex': 0.26, 'sigma': 0.71}
    """
    return pd.DataFrame(_beside(results, lambda fit: fit.summary_frame(alpha)))


def cov_params(results: CompetingRisksResults) -> pd.DataFrame:
    """Covariance of ``params``; 0 between causes.

    Returns
    -------
    DataFrame
        A row and a column for each ``(cause, parameter)``, in squares of the units of ``params``.

    References
    ----------
    (CR1) of the theory pages: the likelihood is a product of one factor for each cause.

    Examples
    --------
    >>> import tobitgp as tg
    >>> lung = tg.datasets.load("lung").assign(cause=lambda d: d["event"] * (1 + (d["age"] > 65)))
    >>> res = tg.fit("Surv(time, cause) ~ sex", lung, family="weibull")
    >>> float(res.cov_params().loc[(1, "sex"), (2, "sex")])
    0.0
    """
    tables, index = [fit.cov_params() for fit in results.parts.fits.values()], results.params.index
    return pd.DataFrame(block_diag(*tables), index=index, columns=index)


def hazard_ratios(results: CompetingRisksResults, alpha: float = 0.05) -> pd.DataFrame:
    """Ratios of the hazard of each cause.

    Parameters
    ----------
    alpha : float
        One minus the probability of the intervals.

    Returns
    -------
    DataFrame
        A row for each ``(cause, column)``, columns as of :meth:`RegressionResults.hazard_ratios`: ratios
        and their logarithms, pure numbers.

    Raises
    ------
    SpecError
        If alpha is outside (0, 1), or the hazards of a cause have no ratio that is the same at all times.

    References
    ----------
    (SUR11), (SUR12) and (CR1) of the theory pages.

    Examples
    --------
    >>> import tobitgp as tg
    >>> lung = tg.datasets.load("lung").assign(cause=lambda d: d["event"] * (1 + (d["age"] > 65)))
    >>> res = tg.fit("Surv(time, cause) ~ sex", lung, family="weibull")
    >>> res.hazard_ratios()["exp(coef)"].round(2).to_dict()
    {(1, 'sex'): 0.7, (2, 'sex'): 0.47}
    """
    return pd.DataFrame(_beside(results, lambda fit: fit.hazard_ratios(alpha)))


def lr_test(results: CompetingRisksResults, other: CompetingRisksResults) -> WaldResults:
    """Likelihood ratio test against smaller models of the same causes in the same rows.

    Parameters
    ----------
    other : CompetingRisksResults
        By maximum likelihood, the model of each cause nested in the one of this fit. Of one cause alone
        ``res[cause].lr_test(other[cause])`` tests.

    Returns
    -------
    WaldResults
        With ``statistic, pvalue, df``, pure numbers: the sums of the statistics and of the degrees of freedom.

    Raises
    ------
    SpecError
        If ``other`` has other causes, or as of :meth:`RegressionResults.lr_test` for a cause.

    References
    ----------
    S. S. Wilks (1938), The large-sample distribution of the likelihood ratio for testing composite hypotheses, *Annals
    of Mathematical Statistics* 9, 60-62; (CR1) of the theory pages.

    Examples
    --------
    >>> import tobitgp as tg
    >>> lung = tg.datasets.load("lung").assign(cause=lambda d: d["event"] * (1 + (d["age"] > 65)))
    >>> res = tg.fit("Surv(time, cause) ~ sex", lung, family="weibull")
    >>> res.lr_test(tg.fit("Surv(time, cause) ~ 1", lung, family="weibull"))
    chi2(2) = 11.68, p = 0.002908
    """
    fits = getattr(getattr(other, "parts", None), "fits", {})
    if list(fits) != list(results.causes):
        raise SpecError(f"lr_test() takes a fit of the same causes: {', '.join(map(repr, results.causes))}.")
    own: dict[Any, Any] = dict(results.parts.fits)
    tests = [fit.lr_test(fits[cause]) for cause, fit in own.items()]
    return chi_squared(sum(test.statistic for test in tests), sum(test.df for test in tests))


def anova(results: CompetingRisksResults) -> pd.DataFrame:
    """Joint test of each term of each cause.

    Returns
    -------
    DataFrame
        Index ``(cause, term)``; columns ``df, chi2, p`` and of processes ``edf``, pure numbers, as of
        :meth:`RegressionResults.anova`.

    Raises
    ------
    SpecError
        If the model of a cause has no term beside the intercept.

    References
    ----------
    (ANO1) to (ANO3) of the theory pages.

    Examples
    --------
    >>> import tobitgp as tg
    >>> lung = tg.datasets.load("lung").assign(cause=lambda d: d["event"] * (1 + (d["age"] > 65)))
    >>> tg.fit("Surv(time, cause) ~ C(sex) + bs(age, df=3)", lung, family="weibull").anova()["df"].loc[2].to_dict()
    {'C(sex)': 1.0, 'bs(age, df=3)': 3.0}
    """
    return pd.DataFrame(_beside(results, lambda fit: fit.anova(), "term"))


def _beside(results: CompetingRisksResults, of: Callable[[Any], Any], name: str | None = None) -> Any:
    """Tables of all causes one below the other."""
    return pd.concat({cause: of(fit) for cause, fit in results.parts.fits.items()}, names=["cause", name])
