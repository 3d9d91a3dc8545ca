"""Estimates of a mixture's parameters, their errors, intervals and tests."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.errors import BoundaryWarning, user_level
from tobitgp.mixture import MixtureFit, intervals
from tobitgp.report.protocols import CovKind
from tobitgp.results.contrasts import ContrastResults, WaldResults, contrast, wald
from tobitgp.results.estimates import Linear
from tobitgp.results.mixture.parts import MixtureParts, covariance_of, errors_in_words
from tobitgp.results.predict import check_alpha
from tobitgp.results.statistics import Statistics
from tobitgp.results.views import FRAME_COLUMNS
from tobitgp.typing import Array


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
        """Ends (p, 2); see :func:`tobitgp.mixture.covariance.intervals`."""
        return intervals(self.fit, self.V, 1.0 - alpha)


NO_LINEAR = Linear(np.ones(1), np.zeros((1, 0)), np.zeros((1, 0, 0)), np.zeros(0, dtype=bool))


class MixtureInference(Statistics):
    """Estimates of :class:`MixtureResults`, and what is inferred from them."""

    _parts: MixtureParts

    @property
    def _linear(self) -> Linear:
        return NO_LINEAR

    @property
    def _columns(self) -> tuple[str, ...]:
        return ()

    @property
    def _names(self) -> list[str]:
        return list(self._parts.fit.names)

    @property
    def _rest(self) -> MixtureEstimates:
        return self._estimates("linear_response")

    @property
    def _with_covariance(self) -> MixtureParts:
        """Parts that hold their covariance, which takes some passes over the rows; says once what has no errors."""
        if self._parts.covariance is None:
            V = covariance_of(self._parts)
            self._parts = replace(self._parts, covariance=V)
            for note in errors_in_words(self._parts.fit, V):
                warnings.warn(note, BoundaryWarning, stacklevel=user_level())
        return self._parts

    def _estimates(self, kind: CovKind) -> MixtureEstimates:
        default = isinstance(kind, str) and kind == "linear_response"
        parts = self._with_covariance if default else self._parts
        return MixtureEstimates(parts.fit, covariance_of(parts, kind))

    @property
    def params(self) -> pd.Series[float]:
        """``weight[1]``, ..., then the parameters of the components: a Series by name, in the user's units."""
        return pd.Series(self._parts.fit.values, index=self._names)

    @property
    def hyperparameters(self) -> dict[str, float]:
        """All of ``params`` as a dict, in the user's units; a mixture takes no ``fixed=``, its use elsewhere."""
        return dict(zip(self._names, self._parts.fit.values.tolist(), strict=True))

    def conf_int(self, alpha: float = 0.05, kind: CovKind = "linear_response") -> pd.DataFrame:
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
        return pd.DataFrame(self._estimates(kind).interval(check_alpha(alpha)), index=self._names)

    def cov_params(self, kind: CovKind = "linear_response") -> pd.DataFrame:
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
        return pd.DataFrame(self._estimates(kind).covariance(), index=self._names, columns=self._names)

    def t_test(self, hypotheses: Any, kind: CovKind = "linear_response") -> ContrastResults:
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
        return contrast(self._as_linear(kind), self._names, hypotheses)

    def wald_test(self, hypotheses: Any, kind: CovKind = "linear_response") -> WaldResults:
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
        return wald(self._as_linear(kind), self._names, hypotheses)

    def _as_linear(self, kind: CovKind) -> Linear:
        estimates = self._estimates(kind)
        return Linear(np.ones(1), estimates.value[None], estimates.V[None], np.diag(estimates.V) == 0.0)

    def summary_frame(self, alpha: float = 0.05, kind: CovKind = "linear_response") -> pd.DataFrame:
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
        estimates = self._estimates(kind)
        ends = estimates.interval(check_alpha(alpha))
        columns = [estimates.value, estimates.errors(), estimates.z_values(), estimates.p_values(), *ends.T]
        return pd.DataFrame(dict(zip(FRAME_COLUMNS, columns, strict=True)), index=self._names)
