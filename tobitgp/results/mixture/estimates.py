"""Estimates of a mixture's parameters, their errors, intervals and tests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from tobitgp.mixture import MixtureFit, intervals
from tobitgp.results.estimates import Linear
from tobitgp.results.hypotheses import ContrastResults, WaldResults, contrast, wald
from tobitgp.results.mixture.predict import CovKind
from tobitgp.results.predict import check_alpha
from tobitgp.results.views import FRAME_COLUMNS
from tobitgp.typing import Array

if TYPE_CHECKING:
    from tobitgp.results.mixture.results import MixtureResults


@dataclass(frozen=True, slots=True)
class MixtureEstimates:
    """The p parameters."""

    fit: MixtureFit
    V: Array  # (p, p), covariance of the values; NaN where these rows do not determine a parameter

    @property
    def value(self) -> Array:
        """Estimates, (p,)."""
        return self.fit.values

    @property
    def cross(self) -> float:
        """Covariance with linear coefficients, of which there are none."""
        return 0.0

    def errors(self) -> Array:
        """Standard errors, (p,); 0 for the weight of a single component."""
        return np.sqrt(np.diag(self.V))

    def z_values(self) -> Array:
        """NaN: zero is no value to test."""
        return np.full(len(self.value), np.nan)

    def p_values(self) -> Array:
        """NaN, as ``z_values``."""
        return np.full(len(self.value), np.nan)

    def covariance(self) -> Array:
        """The matrix V."""
        return self.V

    def interval(self, alpha: float) -> Array:
        """Ends (p, 2); see :func:`tobitgp.mixture.fitted.intervals`."""
        return intervals(self.fit, self.V, 1.0 - alpha)


def conf_int(results: MixtureResults, alpha: float = 0.05, kind: CovKind = "linear_response") -> pd.DataFrame:
    """Intervals of probability ``1 - alpha``.

    Parameters
    ----------
    alpha : float
        Probability left out of the intervals, between 0 and 1.
    kind : {"linear_response", "vb"}
        Where the standard errors come from, as in :meth:`cov_params`.

    Returns
    -------
    DataFrame
        A row for each parameter, columns 0 and 1, in the user's units; NaN where the rows do not determine it.

    Raises
    ------
    SpecError
        For another ``kind``, or if ``alpha`` does not lie between 0 and 1.

    References
    ----------
    (LR6) and (LR7) of the theory pages.

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("Surv(time, event) ~ mixture(2)", tg.datasets.load("lung"), family="weibull")
    >>> res.conf_int().loc["shape[2]"].round(2).tolist()
    [1.1, 1.76]
    """
    return pd.DataFrame(results._estimates(kind).interval(check_alpha(alpha)), index=results._names)


def cov_params(results: MixtureResults, kind: CovKind = "linear_response") -> pd.DataFrame:
    """Covariance of all parameters.

    Parameters
    ----------
    kind : {"linear_response", "vb"}
        Of the posterior with what censoring hides allowed for, by maximum likelihood the inverse of the observed
        information; or of the variational posterior itself, which takes censored rows for seen ones.

    Returns
    -------
    DataFrame
        In squares of the user's units; NaN where the rows do not determine a parameter.

    Raises
    ------
    SpecError
        For another ``kind``.

    References
    ----------
    Giordano, Broderick and Jordan (2018), Covariances, robustness, and variational Bayes, *JMLR* 19(51); (LR2) of
    the theory pages.

    Examples
    --------
    >>> import numpy as np
    >>> import tobitgp as tg
    >>> data = tg.datasets.load("lung")
    >>> res = tg.fit("Surv(time, event) ~ mixture(1)", data, family="exponential")
    >>> ratio = res.cov_params("vb") / res.cov_params()
    >>> seen, rows = data["event"].sum() + 2, len(data) + 2
    >>> print(np.sqrt(ratio.loc["rate[1]", "rate[1]"]).round(3), np.sqrt(seen / rows).round(3))
    0.852 0.852
    """
    return pd.DataFrame(results._estimates(kind).covariance(), index=results._names, columns=results._names)


def t_test(results: MixtureResults, hypotheses: Any, kind: CovKind = "linear_response") -> ContrastResults:
    """Hypotheses about parameters, each on its own, by their normal distribution.

    Parameters
    ----------
    hypotheses : str, list of str, (k, P) array, or pair of such an array and k values
        As ``"mean[1] = mean[2]"``, or rows of weights of all P parameters.
    kind : {"linear_response", "vb"}
        Where the standard errors come from, as in :meth:`cov_params`.

    Returns
    -------
    ContrastResults
        With ``effect, sd, tvalue, pvalue, conf_int(alpha), summary_frame(alpha)``.

    Raises
    ------
    SpecError
        If a hypothesis cannot be read, or for another ``kind``.

    References
    ----------
    (REG10) of the theory pages for one hypothesis at a time, with the covariance (LR2).

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("Surv(time, event) ~ mixture(2)", tg.datasets.load("lung"), family="weibull")
    >>> res.t_test("shape[2] = 1").pvalue.round(4).tolist()
    [0.0199]
    """
    return contrast(_as_linear(results, kind), results._names, hypotheses)


def wald_test(results: MixtureResults, hypotheses: Any, kind: CovKind = "linear_response") -> WaldResults:
    """Several hypotheses about parameters together, by their values and covariance.

    Parameters
    ----------
    hypotheses : str, list of str, (k, P) array, or pair of such an array and k values
        As ``"mean[1] = mean[2]"``, or rows of weights of all P parameters.
    kind : {"linear_response", "vb"}
        Where the standard errors come from, as in :meth:`cov_params`.

    Returns
    -------
    WaldResults
        With ``statistic, pvalue, df, summary_frame()``.

    Raises
    ------
    SpecError
        If a hypothesis cannot be read, they depend on each other, or for another ``kind``.

    References
    ----------
    (REG10) of the theory pages with the covariance (LR2).

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("Surv(time, event) ~ mixture(2)", tg.datasets.load("lung"), family="weibull")
    >>> res.wald_test("shape[1] = 1, shape[2] = 1")
    chi2(2) = 5.704, p = 0.05772
    """
    return wald(_as_linear(results, kind), results._names, hypotheses)


def _as_linear(results: MixtureResults, kind: CovKind) -> Linear:
    estimates = results._estimates(kind)
    return Linear(np.ones(1), estimates.value[None], estimates.V[None], np.diag(estimates.V) == 0.0)


def summary_frame(results: MixtureResults, alpha: float = 0.05, kind: CovKind = "linear_response") -> pd.DataFrame:
    """All parameters in one table.

    Parameters
    ----------
    alpha : float
        Probability left out of the intervals, between 0 and 1.
    kind : {"linear_response", "vb"}
        Where the standard errors come from, as in :meth:`cov_params`.

    Returns
    -------
    DataFrame
        In the user's units: columns ``coef, std err, z, P>|z|, lower, upper``; z and its tail are NaN, since zero
        is no value to test.

    Raises
    ------
    SpecError
        For another ``kind``, or if ``alpha`` does not lie between 0 and 1.

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("Surv(time, event) ~ mixture(2)", tg.datasets.load("lung"), family="weibull")
    >>> res.summary_frame().loc["shape[2]", ["coef", "std err"]].round(2).tolist()
    [1.39, 0.17]
    """
    estimates = results._estimates(kind)
    ends = estimates.interval(check_alpha(alpha))
    columns = [estimates.value, estimates.errors(), estimates.z_values(), estimates.p_values(), *ends.T]
    return pd.DataFrame(dict(zip(FRAME_COLUMNS, columns, strict=True)), index=results._names)


def summary(results: MixtureResults, alpha: float = 0.05, kind: CovKind = "linear_response") -> Any:
    """Tables to read or to paste into a report.

    Parameters
    ----------
    alpha : float
        Probability left out of the intervals.
    kind : {"linear_response", "vb"}
        As in :meth:`cov_params`.

    Returns
    -------
    statsmodels.iolib.summary.Summary
        Prints as text; ``as_html``, ``as_latex``, ``as_csv``.

    Raises
    ------
    SpecError
        For another ``kind``, or if ``alpha`` does not lie between 0 and 1.

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("Surv(time, event) ~ mixture(2)", tg.datasets.load("lung"), family="weibull", tol=1e-12)
    >>> print(res.summary().tables[2])
    ==============================================================================
                          value          std err           [0.025           0.975]
    ------------------------------------------------------------------------------
    weight[1]            0.0575           0.1039           0.0014           0.7231
    weight[2]            0.9425           0.1039           0.2769           0.9986
    scale[1]           148.4739         129.3557          26.9186         818.9309
    scale[2]           431.1018          38.8617         361.2835         514.4125
    shape[1]             0.9056           0.3907           0.3888           2.1096
    shape[2]             1.3916           0.1682           1.0981           1.7635
    ==============================================================================
    """
    from tobitgp.report.mixture import summarise_mixture

    return summarise_mixture(results, check_alpha(alpha), kind)
