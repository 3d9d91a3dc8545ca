"""Measures of predictions of censored responses: discrimination, calibration, distance and predictive density.

Every function takes arrays, lists or Series, whose rows are matched by position. Scores are higher for longer times.
Survival curves come as a DataFrame with times in the index and a column for each row, from any model.
"""

from __future__ import annotations

from tobitgp.metrics.calibration import DCalibration, d_calibration, mae, mse, rmse
from tobitgp.metrics.concordance import Concordance, concordance_counts, concordance_index, concordance_ipcw
from tobitgp.metrics.density import mnll, nlpd
from tobitgp.metrics.survival_curves import survival_at
from tobitgp.metrics.time_dependent import DynamicAUC, brier_score, cumulative_dynamic_auc, integrated_brier_score
from tobitgp.metrics.weak_calibration import calibration_slope

__all__ = [
    "Concordance",
    "DCalibration",
    "DynamicAUC",
    "brier_score",
    "calibration_slope",
    "concordance_counts",
    "concordance_index",
    "concordance_ipcw",
    "cumulative_dynamic_auc",
    "d_calibration",
    "integrated_brier_score",
    "mae",
    "mnll",
    "mse",
    "nlpd",
    "rmse",
    "survival_at",
]
