"""Predictions in statsmodels' words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from tobitgp.results.predict import check_alpha
from tobitgp.typing import Frame


@dataclass(frozen=True, slots=True)
class PredictionResults:
    """Mean of y* in rows, its uncertainty, and where new values would lie; (PRE2) and (PRE3) of the theory pages.

    All on the scale of the response.

    Attributes
    ----------
    predict : callable
        That of the results.
    new : DataFrame or dict of columns, or None
        Rows that are predicted; None for those of the training data.
    exclude : str or sequence of str
        Terms that are set to zero.

    Raises
    ------
    SpecError
        By ``conf_int`` and ``summary_frame`` if ``alpha`` does not lie between 0 and 1.
    """

    predict: Callable[..., Any]
    new: Frame | None
    exclude: Any

    @property
    def predicted_mean(self) -> pd.Series[float]:
        """``predict(what="uncensored")``: a Series by row, on the scale of the response."""
        return pd.Series(self._mean()["mean"], name="predicted_mean")

    @property
    def se_mean(self) -> pd.Series[float]:
        """Standard deviation of the mean of y*: a Series by row, on the scale of the response."""
        return pd.Series(self._mean()["se"], name="se_mean")

    def _mean(self, level: float | None = None) -> pd.DataFrame:
        return pd.DataFrame(self.predict(self.new, "uncensored", interval=level, se=True, exclude=self.exclude))

    def conf_int(self, obs: bool = False, alpha: float = 0.05) -> pd.DataFrame:
        """Intervals of probability ``1 - alpha`` for the mean, or with ``obs`` for a new y*.

        A row for each row of the data, columns 0 and 1, on the scale of the response.
        """
        kind = "obs" if obs else "mean"
        table = self.summary_frame(alpha)[[f"{kind}_ci_lower", f"{kind}_ci_upper"]]
        return table.set_axis([0, 1], axis=1)

    def summary_frame(self, alpha: float = 0.05) -> pd.DataFrame:
        """A row for each row of the data, in statsmodels' columns.

        They are ``mean, mean_se, mean_ci_lower, mean_ci_upper, obs_ci_lower, obs_ci_upper``, all on the scale of the
        response.
        """
        alpha = check_alpha(alpha)
        mean = self._mean(1.0 - alpha)
        obs = self.predict(self.new, "quantile", q=[0.5 * alpha, 1.0 - 0.5 * alpha], exclude=self.exclude)
        names = ["mean", "mean_se", "mean_ci_lower", "mean_ci_upper", "obs_ci_lower", "obs_ci_upper"]
        return pd.concat([mean, obs], axis=1).set_axis(names, axis=1)


class Predictions:
    """``get_prediction`` of every kind of results."""

    predict: Any

    def get_prediction(self, new: Frame | None = None, *, exclude: str | Sequence[str] = ()) -> PredictionResults:
        """Mean of y*, its interval, and an interval for a new y*, in statsmodels' columns.

        The interval for a new y* goes from one quantile of ``predict(what="quantile")`` to another: under a process
        those of the predictive distribution, in a regression those at the estimates.

        Parameters
        ----------
        new : DataFrame or dict of columns, optional
            By default the training data.
        exclude : str or list of str
            Terms to set to zero.

        Returns
        -------
        PredictionResults
            With ``summary_frame(alpha)``, ``conf_int(obs, alpha)``, ``predicted_mean`` and ``se_mean``.

        Raises
        ------
        SpecError
            If the fit holds no training rows and ``new`` is not given.
        DataError, UnseenLevelError
            If the new data cannot be used; both when numbers are asked for.

        References
        ----------
        (PRE2) and (PRE3) of the theory pages for processes; the delta method from (REG8) for regressions, from (LR2)
        for mixtures.

        Examples
        --------
        >>> import tobitgp as tg
        >>> res = tg.fit("durable ~ age | censor(0)", tg.datasets.load("tobin"), fixed={"sigma": 5.0})
        >>> res.get_prediction({"age": [30.0]}).summary_frame().round(2).T
                           0
        mean            0.88
        mean_se         3.49
        mean_ci_lower  -5.97
        mean_ci_upper   7.72
        obs_ci_lower   -8.92
        obs_ci_upper   10.68
        """
        return PredictionResults(self.predict, new, exclude)
