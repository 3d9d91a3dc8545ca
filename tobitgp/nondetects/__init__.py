"""Summaries, tests and trends of concentrations of which some are known only to lie below a detection limit.

What has covariates is a model: ``tg.fit("y ~ x | censor(limit)", data, family="lognormal")``.
"""

from __future__ import annotations

from tobitgp.nondetects.group_tests import test_groups
from tobitgp.nondetects.kendall import kendall
from tobitgp.nondetects.limits import exceedance, tolerance_limit, upper_confidence_limit
from tobitgp.nondetects.paired import test_paired
from tobitgp.nondetects.prediction_limits import prediction_limit
from tobitgp.nondetects.ros import ros
from tobitgp.nondetects.sample import read
from tobitgp.nondetects.sample_figures import plot_box, plot_ecdf, plot_probability, plot_trend
from tobitgp.nondetects.sample_summary import summary
from tobitgp.nondetects.seasonal import seasonal_kendall
from tobitgp.nondetects.theil_sen import theil_sen
from tobitgp.nondetects.value_order import gehan_scores

__all__ = [
    "exceedance",
    "gehan_scores",
    "kendall",
    "plot_box",
    "plot_ecdf",
    "plot_probability",
    "plot_trend",
    "prediction_limit",
    "read",
    "ros",
    "seasonal_kendall",
    "summary",
    "test_groups",
    "test_paired",
    "theil_sen",
    "tolerance_limit",
    "upper_confidence_limit",
]
