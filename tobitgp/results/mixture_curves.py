"""The predictive law of a mixture, and survival as lifelines' fitters are asked for it."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.errors import BoundaryWarning, user_level
from tobitgp.mixture import Predictive
from tobitgp.results.mixture_parts import MixtureParts, covariance_of, errors_in_words
from tobitgp.typing import Frame


class MixtureCurves:
    """The law of a new value, and its survival."""

    _parts: MixtureParts

    @property
    def predictive(self) -> Predictive:
        """Law of a new value, as scipy's frozen distributions: ``pdf, logpdf, cdf, sf, hazard, ppf, rvs, mean, var``.

        Exact: parameters are integrated over their posterior, which makes components Student's t, Lomax, Burr (at the
        estimated shape) or negative binomial; by maximum likelihood components are at their estimates.

        References
        ----------
        Kohjima, Matsubayashi and Toda (2019), Variational Bayes for mixture models with censored data, ECML PKDD,
        eqs. 34 and 46-47.

        Examples
        --------
        >>> import tobitgp as tg
        >>> res = tg.fit("Surv(time, event) ~ mixture(2)", tg.datasets.load("lung"), family="weibull")
        >>> print(res.predictive.sf([100.0, 365.0]).round(3))
        [0.856 0.434]
        """
        return self._parts.fit.predictive()

    @property
    def _settled(self) -> MixtureParts:
        """Parts that hold their covariance, which takes some passes over the rows; says once what has no errors."""
        if self._parts.covariance is None:
            V = covariance_of(self._parts)
            self._parts = replace(self._parts, covariance=V)
            for note in errors_in_words(self._parts.fit, V):
                warnings.warn(note, BoundaryWarning, stacklevel=user_level())
        return self._parts

    def predict_survival_function(
        self,
        df: Frame | None = None,
        times: Any = None,
        *,
        conditional_after: Any = None,
        interval: float | None = None,
    ) -> pd.DataFrame:
        """Probability of surviving each time.

        Parameters
        ----------
        df : DataFrame or dict of columns, optional
            Rows to give curves for, which are all the same; one curve, called 0, without.
        times : list of float, optional
            The distinct training durations by default.
        conditional_after : float or one for each row, optional
            Time survived already; ``times`` are then remaining times.
        interval : float, optional
            Probability of pointwise bands, normal in the logit of survival, by the delta method.

        Returns
        -------
        DataFrame
            Times in the index, a column for each row; with ``interval`` the columns are ``(row, mean|lower|upper)``.

        Examples
        --------
        >>> import tobitgp as tg
        >>> res = tg.fit("Surv(time, event) ~ mixture(2)", tg.datasets.load("lung"), family="weibull")
        >>> res.predict_survival_function(times=[100, 365], interval=0.95)[0].round(3)
        statistic   mean  lower  upper
        100.0      0.856  0.815  0.889
        365.0      0.434  0.377  0.493
        """
        return self._curve("survival", df, times, conditional_after, interval)

    def predict_cumulative_hazard(
        self,
        df: Frame | None = None,
        times: Any = None,
        *,
        conditional_after: Any = None,
        interval: float | None = None,
    ) -> pd.DataFrame:
        """Minus the logarithm of survival; arguments as :meth:`predict_survival_function`."""
        return self._curve("cumulative_hazard", df, times, conditional_after, interval)

    def predict_hazard(
        self,
        df: Frame | None = None,
        times: Any = None,
        *,
        conditional_after: Any = None,
        interval: float | None = None,
    ) -> pd.DataFrame:
        """Density over survival; arguments as :meth:`predict_survival_function`, bands normal in the logarithm."""
        return self._curve("hazard", df, times, conditional_after, interval)

    def _curve(self, of: str, df: Any, times: Any, after: Any, interval: float | None) -> pd.DataFrame:
        from tobitgp.results.mixture_survival import curve_table

        return curve_table(self._parts if interval is None else self._settled, of, df, times, after, interval)

    def predict_percentile(
        self, df: Frame | None = None, *, p: float = 0.5, conditional_after: Any = None
    ) -> pd.Series[float]:
        """Times at which survival falls to ``p``, as lifelines has it: ``p=0.9`` is the time that 90% survive."""
        from tobitgp.results.mixture_survival import percentiles

        return percentiles(self._parts, df, p, conditional_after)

    def predict_median(self, df: Frame | None = None, *, conditional_after: Any = None) -> pd.Series[float]:
        """Median survival times, remaining ones after ``conditional_after``."""
        return self.predict_percentile(df, p=0.5, conditional_after=conditional_after)

    def predict_expectation(self, df: Frame | None = None) -> pd.Series[float]:
        """Mean survival times; infinite or NaN where a component has none."""
        from tobitgp.results.mixture_survival import row_index

        index = row_index(df)
        return pd.Series(np.full(len(index), self.predictive.mean()), index=index, name="expectation")
