"""Summaries, tests and trends of concentrations of which some are known only to lie below a detection limit.

What has covariates is a model: ``tg.fit("y ~ x | censor(limit)", data, family="lognormal")``.
"""

from __future__ import annotations

from tobitgp.nondetects.figures import plot_box, plot_ecdf, plot_probability
from tobitgp.nondetects.limits import exceedance, tolerance_limit, upper_confidence_limit
from tobitgp.nondetects.prediction import prediction_limit
from tobitgp.nondetects.ros import ros
from tobitgp.nondetects.summary import summary

__all__ = [
    "exceedance",
    "plot_box",
    "plot_ecdf",
    "plot_probability",
    "prediction_limit",
    "ros",
    "summary",
    "tolerance_limit",
    "upper_confidence_limit",
]
