"""Remedies of messages that were drawn at random from all of the package; those of check() are in test_remedies.py."""

import numpy as np
import pandas as pd
import pytest
from support.mistakes import D, Mistake, N, at_maximum, fit, follow

import tobitgp as tg

GRID = pd.DataFrame({"x": [-1.0, 0.0, 2.5]})
TIMES, TIMES_OF_G, MIXED = "Surv(t, e) ~ x", "Surv(t, e) ~ x + g", "t ~ mixture(2)"
PAST = np.array([3.0, 5.0, 8.0, 13.0, 21.0, 2.0, 9.0, 4.0]), [True, True, False, False, False, True, False, False]
MISTAKES = {
    "a limit that is missing": Mistake(
        lambda: fit("y ~ x | censor(None, up)", D.assign(up=np.where(D["solo"], np.nan, 9.0))),
        "Write inf where there is no limit",
        (lambda: fit("y ~ x | censor(None, up)", D.assign(up=np.where(D["solo"], np.inf, 9.0))),),
    ),
    "effects on what is conditional": Mistake(
        lambda: fit("y ~ x", method="ep").marginal_effects(what="conditional"),
        "Use what='observed' or 'uncensored'",
        (
            lambda: fit("c ~ x | censor(-1)", method="ep").marginal_effects(what="observed"),
            lambda: fit("c ~ x | censor(-1)", method="ep").marginal_effects(what="uncensored"),
        ),
    ),
    "another program's covariance": Mistake(
        lambda: fit("y ~ x", cov_type="robust"), "it is called 'HC0' here", (lambda: fit("y ~ x", cov_type="HC0"),)
    ),
    "a bar in the response": Mistake(
        lambda: fit("c | nd ~ x"),
        "Write y ~ ... | censor(lower, upper)",
        (lambda: fit("c ~ x | censor(-1, None)"),),
    ),
    "start must describe a mixture": Mistake(
        lambda: fit(MIXED, family="lognormal", start="kmeans"),
        "Give parameters (a DataFrame or dict with a value for each component), responsibilities",
        (
            lambda: fit(MIXED, family="lognormal", start={"mean": [-0.5, 0.5], "sd": [1.0, 1.0], "weight": [0.5, 0.5]}),
            lambda: fit(MIXED, family="lognormal", start=np.random.default_rng(1).dirichlet([1, 1], N)),
        ),
    ),
    "times of a median": Mistake(
        lambda: fit(TIMES_OF_G, family="weibull").standardise("g", "median", times=[1.0]),
        "Leave times= out",
        (lambda: fit(TIMES_OF_G, family="weibull").standardise("g", "median"),),
    ),
    "a standard below a detection limit": Mistake(
        lambda: tg.nondetects.exceedance(PAST[0], 4.0, censored=PAST[1], method="binomial"),
        "Use method='mle', which fits a distribution",
        (lambda: tg.nondetects.exceedance(PAST[0], 4.0, censored=PAST[1], method="mle"),),
    ),
    "more curves than can be distinguished": Mistake(
        lambda: fit(TIMES, family="weibull").plot_survival(df=D),
        "Give fewer rows",
        (lambda: fit(TIMES, family="weibull").plot_survival(df=D[:4]),),
    ),
    "a reference of improvement": Mistake(
        lambda: tg.suggest(at_maximum("y ~ gp(x)"), GRID, goal="expected_improvement", reference=GRID),
        "Leave it out",
        (lambda: tg.suggest(at_maximum("y ~ gp(x)"), GRID, goal="expected_improvement"),),
    ),
    "a quantity of another name": Mistake(
        lambda: fit("y ~ x").predict(GRID, "avg"),
        "choose one of 'median'",
        (lambda: fit("y ~ x").predict(GRID, "median"),),
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_remedies_run_and_help(name):
    """The same is not said again, and there are numbers."""
    follow(MISTAKES[name])
