"""What warnings and errors propose is carried out as they write it: it runs, and what they told of is gone."""

import numpy as np
import pandas as pd
import pytest
from support.mistakes import D, Mistake, N, at_maximum, fit, follow, heard

import tobitgp as tg

THRICE = pd.concat([D, D, D], ignore_index=True)
TIMES, PARTS = "Surv(t, e) ~ x", "Surv(start, stop, died) ~ x"
MISTAKES = {
    # warnings
    "sampling weights": Mistake(
        lambda: fit("y ~ x", weights="w"),
        "maximum likelihood (method='mle') with cov_type='HC0' or 'cluster'",
        (
            lambda: fit("y ~ x", weights="w", method="mle", cov_type="HC0"),
            lambda: fit("y ~ x", weights="w", method="mle", cov_type="cluster", cov_kwds={"groups": "firm"}),
        ),
    ),
    "weights of precision": Mistake(
        lambda: fit("y ~ x", weights="w"), "use var_weights=", (lambda: fit("y ~ x", var_weights="w"),)
    ),
    "copies": Mistake(
        lambda: at_maximum("y ~ gp(x)", THRICE),
        "keep one of each",
        (lambda: at_maximum("y ~ gp(x)", THRICE.drop_duplicates()),),
    ),
    "copies by weights": Mistake(
        lambda: at_maximum("y ~ gp(x)", weights=np.full(N, 3)),
        "give them as var_weights=",
        (lambda: at_maximum("y ~ gp(x)", var_weights=np.full(N, 3.0)),),
    ),
    "one row is exact": Mistake(
        lambda: fit("same ~ x | censor(1.0)"),
        "Fix it by fixed={'sigma': ...}, or fit a posterior by method='ep'",
        (lambda: fit("same ~ x | censor(1.0)", fixed={"sigma": 0.5}),),
    ),
    "one group": Mistake(
        lambda: at_maximum("y ~ x + (1 | seven)"), "Leave it out", (lambda: at_maximum("y ~ x", method="ep"),)
    ),
    "a group for every row": Mistake(
        lambda: at_maximum("y ~ x + (1 | row)"),
        "Leave the term out, or fix one of the two",
        (
            lambda: at_maximum("y ~ x", method="ep"),
            lambda: at_maximum("y ~ x + (1 | row)", fixed={"sigma": 0.3}),
            lambda: at_maximum("y ~ x + (1 | row)", fixed={"sd(re(row))": 0.3}),
        ),
    ),
    "a value far out": Mistake(
        lambda: fit("far ~ x"),
        "Correct it, drop it, or try family='student'",
        (lambda: fit("far ~ x", D.assign(far=D["y"])), lambda: fit("far ~ x", D.drop(3))),
    ),
    "calibration by training rows": Mistake(
        lambda: fit("y ~ x").conformalise(D),
        "Fit to some rows and calibrate with the others",
        (lambda: fit("y ~ x", D[::2]).conformalise(D[1::2]),),
    ),
    "few clusters": Mistake(
        lambda: fit("y ~ x + z", cov_type="cluster", cov_kwds={"groups": "g"}),
        "Estimate fewer parameters, or use other clusters",
        (
            lambda: fit("y ~ 1", cov_type="cluster", cov_kwds={"groups": "g"}),
            lambda: fit("y ~ x + z", cov_type="cluster", cov_kwds={"groups": "firm"}),
        ),
    ),
    "robust errors of a level with one row": Mistake(
        lambda: fit("y ~ x + solo", cov_type="HC0"),
        "Merge levels, or use cov_type='nonrobust'",
        (lambda: fit("y ~ x", cov_type="HC0"), lambda: fit("y ~ x + solo", cov_type="nonrobust")),
    ),
    "a unit far from the column": Mistake(
        lambda: fit("Surv(t, e) ~ x", D.assign(x=1e-5 * D["x"]), family="weibull").hazard_ratios(),
        "Rescale the column, e.g. data['x'] / 1e-05",
        (lambda: fit("Surv(t, e) ~ x", D.assign(x=1e-5 * D["x"] / 1e-05), family="weibull").hazard_ratios(),),
    ),
    "averages of two signs": Mistake(
        lambda: tg.contrast(fit("y ~ x"), {"x": -3.0}, {"x": 3.0}, "median", scale="ratio"),
        "Use scale='difference'",
        (lambda: tg.contrast(fit("y ~ x"), {"x": -3.0}, {"x": 3.0}, "median", scale="difference"),),
    ),
    # errors about the formula
    "a factor of R's": Mistake(lambda: fit("y ~ factor(g)"), "A factor is written C(g)", (lambda: fit("y ~ C(g)"),)),
    "a factor of Stata's": Mistake(lambda: fit("y ~ i.g"), "A factor is written C(g)", (lambda: fit("y ~ C(g)"),)),
    "a power": Mistake(lambda: fit("y ~ x^2"), "I(x**2) for the square", (lambda: fit("y ~ I(x**2)"),)),
    "both of two": Mistake(
        lambda: fit("y ~ (x > 1) & (z < 2)"), "(x > 1) * (z < 2)", (lambda: fit("y ~ I((x > 1) * (z < 2))"),)
    ),
    "either of two": Mistake(
        lambda: fit("c ~ x | censor(low, nondetect=(q == 'U') | (q == 'UJ'))"),
        "maximum(q == 'U', q == 'UJ')",
        (lambda: fit("c ~ x | censor(low, nondetect=maximum(q == 'U', q == 'UJ'))"),),
    ),
    "a smooth of mgcv's": Mistake(
        lambda: fit("y ~ pspline(x)"),
        "written gp(x), or bs(x, df=5)",
        (lambda: at_maximum("y ~ gp(x)"), lambda: fit("y ~ bs(x, df=5)")),
    ),
    "a frailty": Mistake(
        lambda: fit("y ~ frailty(g)"),
        "re(g), or (1 | g)",
        (lambda: at_maximum("y ~ re(g)"), lambda: at_maximum("y ~ (1 | g)")),
    ),
    "strata of a regression": Mistake(
        lambda: fit("y ~ x + strata(g)"), "sigma='~ C(g)'", (lambda: fit("y ~ x", sigma="~ C(g)"),)
    ),
    "two ends": Mistake(
        lambda: fit("cbind(y, t) ~ x"), "interval(lo, hi) ~", (lambda: fit("interval(y - 1, y + 1) ~ x"),)
    ),
    "a flag for a limit": Mistake(
        lambda: fit("c ~ x | censor(nd)"),
        "censor(nondetect=nd)",
        (lambda: fit("c ~ x | censor(nondetect=nd)"),),
    ),
    "a name misspelt": Mistake(
        lambda: fit("c ~ x | censor(low, uper=3)"),
        "did you mean 'upper'?",
        (lambda: fit("c ~ x | censor(low, upper=3)"),),
    ),
    # errors about columns
    "a constant column": Mistake(
        lambda: fit("y ~ x + seven"),
        "Leave it out, or remove the intercept by 0 +",
        (lambda: fit("y ~ x"), lambda: fit("y ~ 0 + x + seven")),
    ),
    "a column twice": Mistake(lambda: fit("y ~ x + twice"), "Leave one of them out", (lambda: fit("y ~ x"),)),
    "a cubic spline": Mistake(
        lambda: fit("y ~ cr(x, df=4)"), "constraints='center'", (lambda: fit("y ~ cr(x, df=4, constraints='center')"),)
    ),
    "beyond a spline": Mistake(
        lambda: fit("y ~ bs(x, df=4)").predict({"x": [9.0]}),
        "write extrapolation='extend' in the spline",
        (lambda: fit("y ~ bs(x, df=4, extrapolation='extend')").predict({"x": [9.0]}),),
    ),
    "periods": Mistake(
        lambda: fit("y ~ decimal_year(month)"),
        ".dt.to_timestamp()",
        (lambda: fit("y ~ decimal_year(month)", D.assign(month=D["month"].dt.to_timestamp())),),
    ),
    "dates": Mistake(lambda: fit("y ~ day"), "Write decimal_year(day)", (lambda: fit("y ~ decimal_year(day)"),)),
    "text among numbers": Mistake(
        lambda: fit("y ~ text"),
        "Make it all numbers or all text",
        (lambda: fit("y ~ text", D[1:].assign(text=D["text"][1:].astype(float))),),
    ),
    # errors about families, methods and errors
    "times without a family": Mistake(
        lambda: fit(TIMES), "requires family=, one of", (lambda: fit(TIMES, family="weibull"),)
    ),
    "times that are negative": Mistake(
        lambda: fit("y ~ x", family="lognormal"),
        "Drop these rows, or choose a family for all numbers, e.g. 'gaussian'",
        (
            lambda: fit("y ~ x", D[D["y"] > 0], family="lognormal"),
            lambda: fit("y ~ x", D.assign(y=D["y"] - D["y"].min() + 1), family="lognormal"),
            lambda: fit("y ~ x"),
        ),
    ),
    "another program's family": Mistake(
        lambda: fit("y ~ x", family="tobit"), "it is called 'gaussian' here", (lambda: fit("y ~ x", family="gaussian"),)
    ),
    "clusters without groups": Mistake(
        lambda: fit("y ~ x", cov_type="cluster"),
        "cov_kwds={'groups': ...} must be given",
        (lambda: fit("y ~ x", cov_type="cluster", cov_kwds={"groups": "firm"}),),
    ),
    "groups of clusters": Mistake(
        lambda: fit("y ~ x", cov_type="cluster", groups="firm"),
        "cov_type='cluster', cov_kwds={'groups': 'g'}",
        (lambda: fit("y ~ x", cov_type="cluster", cov_kwds={"groups": "firm"}),),
    ),
    "maximum likelihood of a process": Mistake(
        lambda: fit("y ~ gp(x)", method="mle"), "Use method='ep'", (lambda: at_maximum("y ~ gp(x)", method="ep"),)
    ),
    "a process with a parametric baseline": Mistake(
        lambda: fit("Surv(t, e) ~ gp(x)", family=tg.PH("weibull")),
        "tg.PH(baseline='gp') supports processes",
        (lambda: at_maximum("Surv(t, e) ~ gp(x)", family=tg.PH(baseline="gp")),),
    ),
    "an effect of levels that changes": Mistake(
        lambda: at_maximum("Surv(t, e) ~ tv(g)", family="ph"),
        "Use strata(g) to give each level a baseline",
        (lambda: fit("Surv(t, e) ~ x + strata(g)", family=tg.PH("weibull")),),
    ),
    "a parameter of another name": Mistake(
        lambda: at_maximum("y ~ gp(x)", fixed={"sd": 1.0}),
        "It has: Intercept, sd(gp(x)), lengthscale(gp(x)), sigma",
        (lambda: at_maximum("y ~ gp(x)", fixed={"sd(gp(x))": 1.0}),),
    ),
    "settings among the arguments": Mistake(
        lambda: fit("y ~ gp(x)", hyper="maximize", n_starts=1),
        "Write method=tg.EP(hyper='maximize', n_starts=1)",
        (lambda: fit("y ~ gp(x)", method=tg.EP(hyper="maximize", n_starts=1)),),
    ),
    "a number of basis functions": Mistake(
        lambda: fit("y ~ gp(x)", k=20),
        "a setting of the method, e.g. method=tg.EP(inducing=20)",
        (lambda: at_maximum("y ~ gp(x)", method=tg.EP(inducing=20)),),
    ),
    "a number of basis functions in the formula": Mistake(
        lambda: fit("y ~ gp(x, k=20)"),
        "a setting of the method, such as method=tg.EP(inducing=20)",
        (lambda: at_maximum("y ~ gp(x)", method=tg.EP(inducing=20)),),
    ),
    "evidence that was not integrated": Mistake(
        lambda: tg.compare([at_maximum("y ~ x", method="vi")], by="log_evidence_integrated"),
        "Fit with method=tg.VI(hyper='integrate', n_starts=1)",
        (
            lambda: tg.compare(
                [fit("y ~ x", method=tg.VI(hyper="integrate", n_starts=1))], by="log_evidence_integrated"
            )[["value", "weight"]],
        ),
    ),
    "a lag of Stata's": Mistake(
        lambda: fit("y ~ L.x"),
        "made in the data frame, by groupby().shift()",
        (lambda: fit("y ~ lag", D.assign(lag=D.groupby("g")["x"].shift())),),
    ),
    "a group that is an input": Mistake(
        lambda: at_maximum("y ~ gp(x, by=x)"), "leave out one of the two", (lambda: at_maximum("y ~ gp(x)"),)
    ),
    # errors about questions
    "bands of time that end": Mistake(
        lambda: fit(TIMES, family=tg.PH("piecewise"), method="mle").predict_survival_function(D, [1e3]),
        "Give earlier times, or fit with tg.PH(baseline='gp')",
        (
            lambda: fit(TIMES, family=tg.PH("piecewise"), method="mle").predict_survival_function(D, [1.0]),
            lambda: at_maximum(TIMES, family=tg.PH(baseline="gp")).predict_survival_function(D, [1e3]),
        ),
    ),
    "values of a number": Mistake(
        lambda: fit(TIMES, family="weibull").standardise("x", times=1.0),
        "standardise({'x': [1, 2]})",
        (lambda: fit(TIMES, family="weibull").standardise({"x": [1, 2]}, times=1.0),),
    ),
    "parts of subjects": Mistake(
        lambda: fit(PARTS, family=tg.PH("weibull"), id="id").standardise({"x": [0]}, times=1.5),
        "give df=, a row for each",
        (lambda: fit(PARTS, family=tg.PH("weibull"), id="id").standardise({"x": [0]}, times=1.5, df=D[::2]),),
    ),
    "effects over parts of subjects": Mistake(
        lambda: fit(PARTS, family=tg.PH("weibull"), id="id").marginal_effects("survival", times=1.5),
        "give at= a DataFrame, a row for each",
        (lambda: fit(PARTS, family=tg.PH("weibull"), id="id").marginal_effects("survival", at=D[::2], times=1.5),),
    ),
    "groups beside the formula": Mistake(
        lambda: fit(TIMES, family="weibull").plot_survival(by="g"),
        "a Series, by=data[...]",
        (lambda: fit(TIMES, family="weibull").plot_survival(by=D["g"]),),
    ),
    "a mean up to no time": Mistake(
        lambda: fit(TIMES, family="weibull").predict_restricted_mean(D),
        "e.g. t=365",
        (lambda: fit(TIMES, family="weibull").predict_restricted_mean(D, t=1.0),),
    ),
    "a mean beyond the last time": Mistake(
        lambda: fit(TIMES, family="weibull").predict_restricted_mean(D, t=1e3),
        "beyond",
        (lambda: fit(TIMES, family="weibull").predict_restricted_mean(D, t=float(D["t"].max())),),
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_remedies_run_and_help(name):
    """The same is not said again, and there are numbers."""
    follow(MISTAKES[name])


def test_a_distribution_with_long_tails_is_not_moved_by_a_value_far_out():
    """family='student', which is proposed; the value is still told of."""
    true = fit("y ~ x").params["x"]
    moved = {
        family: abs(fit_quietly("far ~ x", family=family).params["x"] - true) for family in ("gaussian", "student")
    }
    assert moved["student"] < 0.1 < moved["gaussian"]


def fit_quietly(formula, **options):
    return heard(lambda: fit(formula, **options))[0]


def test_robust_errors_of_sampling_weights_are_those_of_weighted_least_squares():
    """cov_type='HC0' is the sandwich of weighted scores, as in statsmodels."""
    import statsmodels.formula.api as smf

    ours = fit("y ~ x", weights="w", method="mle", cov_type="HC0").bse[["Intercept", "x"]]
    theirs = smf.wls("y ~ x", D, weights=D["w"]).fit(cov_type="HC0").bse
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)
