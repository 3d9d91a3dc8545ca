"""Tables, tests and figures of times by group, without a model: Kaplan-Meier, log-rank, Gray, probability plots.

What has covariates is a model: ``tg.fit("Surv(time, event) ~ age + sex", data, family="weibull")``.
"""

from __future__ import annotations

from tobitgp.survival.comparing_times import gray_test, logrank_test
from tobitgp.survival.curve_tables import kaplan_meier, quantiles, turnbull
from tobitgp.survival.fine_gray import finegray
from tobitgp.survival.incidence_table import cumulative_incidence
from tobitgp.survival.probability_plot import plot_probability

__all__ = [
    "cumulative_incidence",
    "finegray",
    "gray_test",
    "kaplan_meier",
    "logrank_test",
    "plot_probability",
    "quantiles",
    "turnbull",
]
