"""Estimates of parameters that are linear coefficients and others: series, tables and tests of hypotheses."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from tobitgp.errors import SpecError
from tobitgp.results import anova, hazard_ratios, hypotheses, parameter_estimates
from tobitgp.results.hazard_ratios import Kind
from tobitgp.results.parameter_estimates import CovKind, Linear
from tobitgp.results.process.term_tests import TermTest
from tobitgp.results.why_not import missing_attribute
from tobitgp.results.words import Words
from tobitgp.typing import Array


class EstimatedParameters:
    """What is asked about estimates; fits say what these are."""

    @property
    def _linear(self) -> Linear:
        """Linear coefficients."""
        raise NotImplementedError

    @property
    def _rest(self) -> Any:
        """Parameters other than linear coefficients, on the scale on which they are reported."""
        raise NotImplementedError

    @property
    def _columns(self) -> Sequence[str]:
        """Names of linear coefficients."""
        raise NotImplementedError

    @property
    def _names(self) -> list[str]:
        """Names of all parameters."""
        raise NotImplementedError

    @property
    def _has_ratios(self) -> bool:
        """Whether exponentials of linear coefficients are reported."""
        return False

    _kind: str  # one of `why_not.KINDS`

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Say why this kind of fit has not what others have."""
            return missing_attribute(self, name)

    def _estimates(self, kind: CovKind | None) -> tuple[Linear, Any]:
        """Linear coefficients and the rest, with the covariance that ``kind`` names."""
        if kind is not None:
            raise SpecError(f"kind={kind!r} chooses among the covariances of a mixture; this fit has one.")
        return self._linear, self._rest

    def _profile(self, name: str, alpha: float) -> tuple[float, float]:
        """Interval of a parameter by the profile likelihood."""
        raise SpecError(
            f"method='profile' is for fits by maximum likelihood, as RegressionResults; this fit, "
            f"{type(self).__name__}, has method='wald'."
        )

    def _testable(self, kind: CovKind | None) -> tuple[Linear, Sequence[str]]:
        """Parameters that hypotheses are about, and their names."""
        return self._estimates(kind)[0], self._columns

    def _term_tests(self) -> Iterator[tuple[str, TermTest]]:
        """Joint tests of terms."""
        raise NotImplementedError

    def _ratio_kind(self) -> Kind:
        """The ratio of hazards or odds that is the same at all times."""
        raise NotImplementedError

    def _ratio_tables(self, alpha: float) -> list[pd.DataFrame]:
        """Tables of hazard or odds ratios that summaries show."""
        of: Any = getattr(type(self), "hazard_ratios", hazard_ratios.hazard_ratios)
        return [of(self, alpha)]

    def _words(self, alpha: float, kind: CovKind | None = None) -> Words:
        """What a summary says."""
        raise NotImplementedError

    def _series(self, linear: Array, rest: Array) -> pd.Series[float]:
        return pd.Series(np.concatenate([linear, rest]), index=self._names)

    @property
    def params(self) -> pd.Series[float]:
        """Linear coefficients, then hyper-parameters or parameters of the noise, by name; in the user's units."""
        return self._series(self._linear.coefficients(), self._rest.value)

    @property
    def bse(self) -> pd.Series[float]:
        """Standard errors by parameter, 0 where fixed; under a prior posterior standard deviations.

        In the user's units: roots of the diagonal of ``cov_params()``, by (REG8), (PRE2), (HYP2) or (LR2) of the theory
        pages.
        """
        return self._series(self._linear.errors(), self._rest.errors())

    @property
    def tvalues(self) -> pd.Series[float]:
        """Coefficients over their standard errors, by parameter; NaN for fixed ones, hyper-parameters, sigma and df.

        Pure numbers: the signed root of (REG10) of the theory pages for a coefficient at a time.
        """
        return self._series(self._linear.z_values(), self._rest.z_values())

    @property
    def pvalues(self) -> pd.Series[float]:
        """Two-sided tail probabilities; of a posterior twice the probability of a coefficient's less likely sign.

        A Series by parameter; NaN for fixed coefficients, and for hyper-parameters, sigma and df, of which zero is no
        value to test. Of a regression the tail of (REG10) of the theory pages, of a posterior that of the mixture of
        (PRE3).
        """
        return self._series(self._linear.p_values(), self._rest.p_values())

    conf_int = parameter_estimates.conf_int
    cov_params = parameter_estimates.cov_params
    summary_frame = parameter_estimates.summary_frame
    summary = parameter_estimates.summary
    t_test = hypotheses.t_test
    wald_test = hypotheses.wald_test
    anova = anova.anova
