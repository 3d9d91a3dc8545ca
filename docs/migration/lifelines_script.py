"""A script for lifelines. It also runs with ``from tobitgp.lifelines import ...``."""

import matplotlib.pyplot as plt
from lifelines import ExponentialFitter, LogLogisticFitter, LogNormalFitter, WeibullFitter
from lifelines.datasets import load_diabetes, load_waltons
from lifelines.plotting import add_at_risk_counts, cdf_plot, qq_plot, rmst_plot
from lifelines.statistics import survival_difference_at_fixed_point_in_time_test
from lifelines.utils import median_survival_times, restricted_mean_survival_time

waltons = load_waltons()
T, E, control = waltons["T"], waltons["E"], waltons["group"] == "control"

# Which distribution?
models = [WeibullFitter(), LogNormalFitter(), LogLogisticFitter(), ExponentialFitter()]
for model in models:
    model.fit(T, event_observed=E)
aic = {model.label: model.AIC_ for model in models}
best = min(models, key=lambda model: model.AIC_)
best.print_summary(decimals=3, style="ascii")

# Two groups.
first = WeibullFitter().fit(T[control], E[control], label="control", timeline=range(1, 81))
second = WeibullFitter().fit(T[~control], E[~control], label="miR-137", timeline=range(1, 81))
medians = median_survival_times(first), median_survival_times(second)
areas = [restricted_mean_survival_time(model, t=60) for model in (first, second)]
difference = first.subtract(second).loc[50, "diff"]
p_value = survival_difference_at_fixed_point_in_time_test(50.0, first, second).p_value
alive = first.survival_function_at_times([20, 40, 60])
limits = first.confidence_interval_survival_function_.loc[40]

# Intervals.
eyes = load_diabetes()
onset = LogNormalFitter().fit_interval_censoring(eyes["left"], eyes["right"])
late = onset.percentile(0.1)

fig, axes = plt.subplots(2, 2, figsize=(11, 10))
cdf_plot(best, ax=axes[0, 0])
qq_plot(best, ax=axes[0, 1])
rmst_plot(first, model2=second, t=60, ax=axes[1, 0])
first.plot_survival_function(ax=axes[1, 1])
second.plot_survival_function(ax=axes[1, 1])
add_at_risk_counts(first, second, ax=axes[1, 1])
fig.tight_layout()
