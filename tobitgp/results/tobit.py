"""A fitted censored regression as its users see it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.errors import SpecError
from tobitgp.results.contrasts import WaldResults
from tobitgp.results.estimates import Linear, ScaleEstimates
from tobitgp.results.outside import PluginHooks
from tobitgp.results.predict import check_alpha
from tobitgp.results.statistics import Statistics
from tobitgp.results.tobit_parts import TobitParts, linear_estimates, scale_estimates
from tobitgp.results.views import COUNTS, ModelView, view_model


class TobitResults(Statistics, PluginHooks):
    """A censored regression fitted by maximum likelihood.

    Made by :func:`tobitgp.fit` with ``method="mle"``. Standard errors come from the observed information, or the
    sandwich that ``cov_type=`` names; intervals of sigma and df are formed on the log scale.

    Parameters
    ----------
    parts : TobitParts

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("durable ~ age + quant | censor(0)", tg.datasets.load("tobin"), method="mle")
    >>> res
    TobitResults: durable ~ age + quant | censor(0)
      gaussian, method mle: 7 rows exact, 13 left-censored, 0 dropped
      log likelihood -28.94, converged
    >>> res.params.round(3)
    Intercept    15.145
    age          -0.129
    quant        -0.046
    sigma         5.573
    dtype: float64
    """

    def __init__(self, parts: TobitParts):
        self._parts = parts

    @property
    def parts(self) -> TobitParts:
        """Specification, training data and maximum, as the rooms below hand them on."""
        return self._parts

    @cached_property
    def _linear(self) -> Linear:
        return linear_estimates(self._parts)

    @cached_property
    def _rest(self) -> ScaleEstimates:
        return scale_estimates(self._parts)

    @property
    def _columns(self) -> tuple[str, ...]:
        return self._parts.columns

    @property
    def _names(self) -> list[str]:
        return self._parts.names

    # -- the fit ------------------------------------------------------------------------------------------------------

    @property
    def nobs(self) -> float:
        """Number of observations: frequency weights of the rows used, summed."""
        return self._parts.facts.nobs

    @property
    def df_model(self) -> float:
        """Estimated parameters beside the intercept and those of the noise."""
        p = len(self._columns)
        return float(self._parts.maximum.free[:p].sum()) - float("Intercept" in self._columns)

    @property
    def df_resid(self) -> float:
        """``nobs`` less the number of estimated parameters."""
        return self.nobs - self._n_free

    @property
    def _n_free(self) -> float:
        return float(self._parts.maximum.free.sum())

    @property
    def llf(self) -> float:
        """Maximised log likelihood of the response as written."""
        return self._parts.llf

    @property
    def llnull(self) -> float:
        """Maximised log likelihood with an intercept only; NaN where that has no maximum."""
        return self._parts.null

    @property
    def aic(self) -> float:
        """``2 k - 2 llf``, k the number of estimated parameters."""
        return 2.0 * (self._n_free - self.llf)

    @property
    def bic(self) -> float:
        """``k log nobs - 2 llf``."""
        return self._n_free * float(np.log(self.nobs)) - 2.0 * self.llf

    @property
    def evidence_kind(self) -> str:
        """A maximised likelihood, which is no evidence: ``"loglik"``."""
        return "loglik"

    @property
    def converged(self) -> bool:
        """Whether a maximum was found."""
        return self._parts.maximum.converged

    @property
    def method(self) -> str:
        """Name of the method: ``"mle"``."""
        return "mle"

    @property
    def cov_type(self) -> str:
        """Kind of covariance: ``"nonrobust"``, ``"HC0"``, ``"HC1"`` or ``"cluster"``."""
        return self._parts.cov_type

    @property
    def formula(self) -> str:
        """The formula as written."""
        return self._parts.spec.formula

    @property
    def counts(self) -> pd.Series[int]:
        """Rows that are exact, left, right and interval censored, and dropped."""
        return pd.Series([self._parts.facts.counts[name] for name in COUNTS], index=list(COUNTS))

    @property
    def model(self) -> ModelView:
        """Formula, specification and names."""
        return view_model(self._parts, self._names, self._parts.covariates)

    @property
    def default_model_infos(self) -> dict[str, Callable[[TobitResults], str]]:
        """Rows that ``statsmodels.iolib.summary2.summary_col`` puts below its columns."""
        infos: dict[str, Callable[[TobitResults], str]] = {"N": lambda res: f"{res.nobs:g}"}
        for name in COUNTS[:4]:
            label = name.capitalize() + ("" if name == "exact" else "-censored")
            infos[label] = lambda res, kind=name: str(res.counts[kind])  # type: ignore[misc]
        infos["Log likelihood"] = lambda res: f"{res.llf:.2f}"
        return infos

    def lr_test(self, other: TobitResults) -> WaldResults:
        """Likelihood ratio test against a smaller model of the same rows.

        Parameters
        ----------
        other : TobitResults
            Nested in this one: with fewer free parameters, on the same response.

        Returns
        -------
        WaldResults
            With ``statistic, pvalue, df``.

        Raises
        ------
        SpecError
            If ``other`` has no fewer parameters, a higher likelihood, or other rows.

        Examples
        --------
        >>> import tobitgp as tg
        >>> data = tg.datasets.load("tobin")
        >>> whole = tg.fit("durable ~ age + quant | censor(0)", data, method="mle")
        >>> whole.lr_test(tg.fit("durable ~ age | censor(0)", data, method="mle"))
        chi2(1) = 0.5817, p = 0.4457
        """
        from tobitgp.results.tobit_tests import likelihood_ratio

        return likelihood_ratio(self, other)

    def summary(self, alpha: float = 0.05) -> Any:
        """Tables to read or to paste into a report.

        Parameters
        ----------
        alpha : float
            Probability left out of the intervals.

        Returns
        -------
        statsmodels.iolib.summary.Summary
            Prints as text; ``as_html``, ``as_latex``, ``as_csv``.
        """
        from tobitgp.report.tobit import summarise_tobit

        return summarise_tobit(self, check_alpha(alpha))

    def save(self, path: Any) -> None:
        """Not offered yet for regressions.

        Raises
        ------
        SpecError
            Always; a fit of ``method="ep"`` can be saved.
        """
        raise SpecError("Fits of method='mle' cannot be saved yet; fit again, or keep the numbers of summary_frame().")

    def __repr__(self) -> str:
        parts, counts = self._parts, self._parts.facts.counts
        censored = ", ".join(f"{counts[k]} {k}-censored" for k in COUNTS[1:4] if counts[k]) or "none censored"
        return (
            f"TobitResults: {parts.spec.formula.strip()}\n"
            f"  {parts.family.name}, method mle: "
            f"{counts['exact']} rows exact, {censored}, {counts['dropped']} dropped\n"
            f"  log likelihood {self.llf:.2f}, {'converged' if self.converged else 'NOT converged'}"
        )
