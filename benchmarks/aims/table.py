"""The aims: the problem, its earlier cost and the cost aimed at."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import tobitgp as tg
from benchmarks.aims import calls
from benchmarks.aims.clocks import Measured, apart, of_code, of_problem, relative


@dataclass(frozen=True)
class Aim:
    """An aim: its name, the problem, the earlier cost, the cost aimed at, and the function that measures it."""

    name: str
    problem: str
    before: str
    aim: str
    measure: Callable[[], Measured]


def dask(rows: int) -> Measured:
    """Measure the surface on a cluster of two workers."""
    (clock, rmse, peak), _ = apart(calls.dask_surface, rows)
    return Measured(clock, peak, f"RMSE {rmse:.4f}")


TOLD = "tobitgp (ep), with the interaction"
FIRST_FIT = """
import tobitgp as tg
tg.fit("durable ~ gp(age) | censor(0)", data)
"""
TOBIN = "import pandas; data = pandas.read_csv('tobitgp/datasets/tobin.csv')"

# Name of a problem of benchmarks.problems, benchmarks.axes or draws.py, words, before, aim.
PROBLEMS = (
    ("P1", "P1: curve, 30 rows", "20 ms", "6 ms"),
    ("P2", "P2: curve, 1000 rows", "56 ms", "25 ms"),
    ("A1", "A1: two curves, a slope, 200 groups, 5000 rows", "0.27 s", "0.12 s"),
    ("P3", "P3: four inputs, 2000 rows", "0.63 s", "0.25 s"),
    ("P4", "P4: surface, 100,000 rows", "1.4 s", "0.6 s"),
    ("P5", "P5: surface, 1,000,000 rows", "6.6 s, 1.0 GB", "3.5 s, 450 MB"),
    ("R2", "R2: rough curve, 100,000 rows", "1.4 s", "0.8 s"),
    ("R3", "R3: rough curve, 1,000,000 rows", "17 s", "8 s"),
    ("R4", "R4: rough surface, 2000 rows", "10.3 s", "1.5 s"),
    ("R5", "R5: rough surface, 10,000 rows", "83 s", "15 s"),
    ("terms-30", "30 terms gp(x), 200 rows", "9 s", "1 s"),
    ("terms-50", "50 terms gp(x), 200 rows", "108 s", "5 s"),
    ("F1", "Matérn-5/2 field, 4000 rows, 28% censored", "57 s", "8 s"),
    ("C1", "crossed effects, 1000 x 600 levels, 20,000 rows", "6.5 to 13 s", "4 s"),
)
# Data, terms, family, times the normal noise before.
NOISE: tuple[tuple[str, str, Any, str], ...] = (
    ("lung", "gp(age)", "weibull", "3.4"),
    ("lung", "gp(age)", "loglogistic", "2.5"),
    ("gbsg2", "gp(age)", "weibull", "3.4"),
    ("gbsg2", "gp(age)", "loglogistic", "3.0"),
    ("gbsg2", "gp(age) + gp(nodes) + gp(progesterone)", "weibull", "1.6"),
    ("gbsg2", "gp(age) + gp(nodes) + gp(progesterone)", "loglogistic", "1.3"),
    ("right-censored", "gp(x1)", "weibull", "2.9"),
    ("right-censored", "gp(x1)", "loglogistic", "3.5"),
    ("right-censored", "gp(x1) + gp(x2) + gp(x3)", "weibull", "2.7"),
    ("right-censored", "gp(x1) + gp(x2) + gp(x3)", "loglogistic", "2.1"),
    ("left-censored", "gp(x1)", tg.Student(df=4), "7.0"),
    ("left-censored", "gp(x1)", "student", "5.4"),
    ("left-censored", "gp(x1) + gp(x2) + gp(x3)", tg.Student(df=4), "3.6"),
    ("left-censored", "gp(x1) + gp(x2) + gp(x3)", "student", "3.7"),
)
# Question, its options, rows, column of events, seconds before.
HAZARDS: tuple[tuple[str, dict[str, Any], int, str, str], ...] = (
    ("predict_restricted_mean", {"t": 4.0}, 2000, "event", "28 s"),
    ("plot_survival", {"by": "group"}, 3000, "event", "79 s"),
    ("plot_hazard", {}, 3000, "event", "62 s"),
    ("plot_cumulative_incidence", {"by": "group"}, 200, "cause", "30 s"),
)
# What measures it, its arguments, words.
EXAMPLES: tuple[tuple[Callable[..., Any], tuple[Any, ...], str], ...] = (
    (calls.lifelines_times, ("WeibullAFTFitter", "weibull"), "lifelines WeibullAFTFitter, rossi"),
    (calls.lifelines_times, ("LogNormalAFTFitter", "lognormal"), "lifelines LogNormalAFTFitter, rossi"),
    (calls.lifelines_times, ("LogLogisticAFTFitter", "loglogistic"), "lifelines LogLogisticAFTFitter, rossi"),
    (calls.statsmodels_tobit, (), "statsmodels GenericLikelihoodModel (Tobit), fair"),
    (calls.statsmodels_hazards, ("ph",), "statsmodels PHReg, heart; family='ph'"),
    (calls.statsmodels_hazards, (tg.PH("spline"),), "statsmodels PHReg, heart; spline"),
    (calls.sksurv_hazards, ("ph",), "scikit-survival CoxPHSurvivalAnalysis, whas500; family='ph'"),
    (calls.sksurv_hazards, (tg.PH("spline"),), "scikit-survival CoxPHSurvivalAnalysis, whas500; spline"),
)

AIMS = (
    *(Aim(name, words, before, aim, partial(of_problem, name)) for name, words, before, aim in PROBLEMS),
    Aim("P3-told", "P3 with the interaction given", "0.41 s", "0.12 s", partial(of_problem, "P3", TOLD)),
    *(
        Aim(
            "noise",
            f"noise: {data}, {terms}, {family}",
            f"{before} times normal",
            "2 times",
            partial(relative, calls.noise, data, terms, family),
        )
        for data, terms, family, before in NOISE
    ),
    *(
        Aim(
            "hazards",
            f"{question}({', '.join(options)}), family='ph', {n} rows",
            before,
            "3 times a spline",
            partial(relative, calls.hazard_answer, question, options, n, column),
        )
        for question, options, n, column, before in HAZARDS
    ),
    Aim("late", "gengamma, late entry, 26 rows", "4 to 14 s", "0.1 s", partial(relative, calls.late_gengamma)),
    Aim("first", "first fit of a process, with the import", "1.3 s", "0.3 s", partial(of_code, TOBIN, FIRST_FIT)),
    *(
        Aim("examples", words, "", "1 times", partial(relative, function, *arguments))
        for function, arguments, words in EXAMPLES
    ),
    Aim("dask", "surface, 10,000,000 rows, dask, two workers", "209 s", "60 s", partial(dask, 10_000_000)),
)
