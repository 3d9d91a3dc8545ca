"""Predictions in statsmodels' words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pandas as pd

from tobitgp.results.predict import check_alpha
from tobitgp.results.tables import predict_table
from tobitgp.results.views import Parts
from tobitgp.typing import Frame


@dataclass(frozen=True, slots=True)
class PredictionResults:
    """Mean of y* in rows, its uncertainty, and where new values would lie.

    Attributes
    ----------
    parts : Parts
    new : DataFrame or dict of columns, or None
    exclude : str or sequence of str
    """

    parts: Parts
    new: Frame | None
    exclude: Any

    @property
    def predicted_mean(self) -> pd.Series[float]:
        """``predict(what="uncensored")``."""
        return pd.Series(self._mean()["mean"], name="predicted_mean")

    @property
    def se_mean(self) -> pd.Series[float]:
        """Its standard deviation."""
        return pd.Series(self._mean()["se"], name="se_mean")

    def _mean(self, level: float | None = None) -> pd.DataFrame:
        table = predict_table(self.parts, self.new, "uncensored", interval=level, se=True, exclude=self.exclude)
        return pd.DataFrame(table)

    def conf_int(self, obs: bool = False, alpha: float = 0.05) -> pd.DataFrame:
        """Intervals of probability ``1 - alpha`` for the mean, or for a new y*; columns 0 and 1."""
        kind = "obs" if obs else "mean"
        table = self.summary_frame(alpha)[[f"{kind}_ci_lower", f"{kind}_ci_upper"]]
        return table.set_axis([0, 1], axis=1)

    def summary_frame(self, alpha: float = 0.05) -> pd.DataFrame:
        """Columns ``mean, mean_se, mean_ci_lower, mean_ci_upper, obs_ci_lower, obs_ci_upper``."""
        alpha = check_alpha(alpha)
        mean = self._mean(1.0 - alpha)
        tails = [0.5 * alpha, 1.0 - 0.5 * alpha]
        obs = predict_table(self.parts, self.new, "quantile", interval=None, se=False, q=tails, exclude=self.exclude)
        names = ["mean", "mean_se", "mean_ci_lower", "mean_ci_upper", "obs_ci_lower", "obs_ci_upper"]
        return pd.concat([mean, obs], axis=1).set_axis(names, axis=1)
