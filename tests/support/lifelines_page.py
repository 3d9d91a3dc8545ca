"""The page of the reference on lifelines' univariate fitters; `python -m tests.support.lifelines_page` writes it."""

from __future__ import annotations

from pathlib import Path

from tobitgp.lifelines.univariate_names import UNIVARIATE_NAMES

# Names of lifelines 0.30 by class, after a fit to right-censored durations and one to intervals.
_KAPLAN_MEIER = (
    "alpha conditional_time_to_event_ confidence_interval_ confidence_interval_cumulative_density_ "
    "confidence_interval_survival_function_ cumulative_density_ cumulative_density_at_times "
    "cumulative_hazard_at_times divide durations entry event_observed event_table fit fit_interval_censoring "
    "fit_left_censoring fit_right_censoring hazard_at_times label lower_bound median_survival_time_ percentile "
    "plot plot_cumulative_density plot_cumulative_hazard plot_density plot_hazard plot_loglogs "
    "plot_survival_function predict subtract survival_function_ survival_function_at_times timeline upper_bound "
    "weights"
)
UNIVARIATE_CLASSES = {
    "KaplanMeierFitter": frozenset(_KAPLAN_MEIER.split()),
    "WeibullFitter": frozenset(UNIVARIATE_NAMES) - {"plot_loglogs"},
}

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "lifelines.md"

HEAD = """# Names of lifelines

`tg.lifelines` has fitters of durations that are univariate fitters of lifelines. Functions of lifelines take them as
their own. Each makes a fit with `tg.fit`, which is in `results_`. They require `pip install 'tobitgp[lifelines]'`.

## Univariate fitters

`DistributionFitter` fits one distribution by maximum likelihood. `MixtureFitter` fits a mixture of lifetimes, and can
choose the number of components.

```python
import tobitgp as tg

lung = tg.datasets.load("lung")
model = tg.lifelines.DistributionFitter("gengamma").fit(lung["time"], lung["event"])
mixture = tg.lifelines.MixtureFitter("select").fit(lung["time"], lung["event"])
mixture.selection_  # the numbers of components that were tried
mixture.plot_components()
ages = lung.loc[lung["event"] == 0, "time"]
left = mixture.predict([90], conditional_after=ages)
failures = (1 - left.loc[90]).sum()
```

The last three lines are a warranty forecast. Censored subjects have survived `ages`. `left` has the probability that
each survives 90 days more, and `failures` is the expected number of events in these days.

`tobitgp.lifelines` also has the names `WeibullFitter`, `ExponentialFitter`, `LogNormalFitter`, `LogLogisticFitter` and
`GeneralizedGammaFitter`. They call `DistributionFitter`, and take `alpha` and `label` as in lifelines. A script for
lifelines then needs only another import: [an example](../migration/lifelines_script.py).

```{{eval-rst}}
.. py:module:: tobitgp.lifelines
   :no-index-entry:

.. currentmodule:: tobitgp

.. autosummary::
   :toctree: generated
   :template: autosummary/whole.rst

   lifelines.DistributionFitter
   lifelines.MixtureFitter
```

## Availability of names

{shares}

Fits of the Weibull, log-normal, log-logistic and exponential distributions have the values of lifelines to eight
digits, if lifelines has found the maximum. Its search stops after about six digits.
"""

FUNCTIONS = """## Functions of lifelines

| function | here |
|---|---|
| `lifelines.utils.median_survival_times`, `restricted_mean_survival_time`, `qth_survival_time` | all fitters |
| `lifelines.plotting.rmst_plot`, `loglogs_plot` | all fitters |
| `lifelines.plotting.add_at_risk_counts` | all fitters of right-censored durations |
| `lifelines.plotting.qq_plot`, `cdf_plot` | Weibull, exponential, log-normal, log-logistic. Other distributions raise \
an error of lifelines, as its own generalised gamma does; `results_.plot_cox_snell()` and `plot_survival()` compare \
these with the data. |
| `lifelines.utils.find_best_parametric_model(..., additional_models=[...])` | fitters by maximum likelihood, such as \
`MixtureFitter(2, method="em")` |
| `lifelines.statistics.survival_difference_at_fixed_point_in_time_test` | all fitters |
"""

TITLES = {"same": "Same meaning", "here": "Different definition", "none": "Not available"}


def shares() -> str:
    """How many names of each class are available."""
    lines = ["| fitter of lifelines | names | available |", "|---|---|---|"]
    for kind, names in UNIVARIATE_CLASSES.items():
        known = sum(UNIVARIATE_NAMES[name].meaning != "none" for name in names)
        lines.append(f"| {kind} | {len(names)} | {known} |")
    return "\n".join(lines)


def table(meaning: str) -> str:
    """The names of one meaning, or nothing if there are none."""
    rows = []
    for name, row in sorted(UNIVARIATE_NAMES.items(), key=lambda pair: pair[0].lower()):
        if row.meaning == meaning:
            of = ", ".join(kind for kind, names in UNIVARIATE_CLASSES.items() if name in names)
            lacking = f"The error of other fits: {row.instead}" if row.instead else ""
            rows.append(f"| `{name}` | {of} | {row.words} {lacking}".rstrip() + " |")
    return "\n".join([f"## {TITLES[meaning]}", "", "| name | of | here |", "|---|---|---|", *rows]) if rows else ""


def text() -> str:
    """The page."""
    tables = [table(meaning) for meaning in TITLES]
    parts = [HEAD.format(shares=shares()).rstrip("\n"), *filter(None, tables), FUNCTIONS]
    return "\n\n".join(parts)


if __name__ == "__main__":
    PAGE.write_text(text(), encoding="utf-8")
