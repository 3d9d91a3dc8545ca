"""Questions about estimates: tables, tests, likelihoods and evidences."""

from __future__ import annotations

from typing import Any

from .fits import Case
from .question import NEW, Question, finite, new_rows, result, training_rows
from .reasons import (
    CAUSES,
    NO_COLUMNS,
    NO_ERRORS,
    NO_GROUPS,
    NO_RATIO,
    NO_SCALE,
    NO_SITES,
    NO_SLOPES,
    NOT_MAXIMISED,
    NOT_MIXTURE,
    NOT_POSTERIOR,
    NOT_TIME,
    OF_COMPONENTS,
    PRIORS_ONLY,
    ROBUST,
    ROWLESS,
    SHARED,
    SITES_OF_CELLS,
    SITES_OF_COORDINATES,
    SITES_OF_INPUTS,
    SITES_OF_TWO,
    SITES_OF_VALUES,
)

MIXTURES = ("mixture", "mixture of vectors")


def coefficient(case: Case, column: str) -> str:
    """Name in hypotheses of the first coefficient of a column, of a mixture the last of all."""
    names = case.res._testable(None)[1]
    return names[-1] if case.entry.kind in MIXTURES else next(name for name in names if name.startswith(column))


def test_of_one(case: Case) -> Any:
    return case.res.t_test(f"{coefficient(case, 'z')} = 0.1")


def test_of_two(case: Case) -> Any:
    test = case.res.wald_test
    first, second = coefficient(case, "z"), coefficient(case, "arm[T.B]")
    return test(f"{first} = 1" if first == second else f"{first} = 0, {second} = 0")


def ratio_test(case: Case) -> Any:
    return case.res.lr_test(case.fit(case.entry.formula.replace("z + ", "")))


TABLES = ["params", "summary", "summary_frame"]
ERRORS = ["bse", "conf_int", "cov_params", "anova", "tvalues", "pvalues"]
FACTS = ["nobs", "df_model", "counts", "converged", "method", "formula", "model", "fit_history", "evidence_kind"]
RATIOS = (NOT_TIME, NO_COLUMNS, NO_RATIO)
SITES = (
    *(CAUSES, NOT_POSTERIOR, NO_SITES, SITES_OF_TWO, SITES_OF_VALUES),
    *(SITES_OF_COORDINATES, SITES_OF_INPUTS, SITES_OF_CELLS, ROWLESS),
)
ESTIMATES = [
    *(Question(name, result(name)) for name in (*TABLES, *FACTS)),
    *(Question(name, result(name), (NO_ERRORS,)) for name in ERRORS),
    Question("df_resid", result("df_resid"), (NO_SLOPES,)),
    Question("repr", result("__repr__")),
    *(Question(name, result(name), (NOT_MAXIMISED,), finite) for name in ("llf", "aic", "bic")),
    Question("log_evidence", result("log_evidence"), (NOT_POSTERIOR,), finite),
    Question("elbo_rows", result("elbo_rows"), (NOT_MIXTURE, NOT_POSTERIOR, ROWLESS), training_rows),
    Question("sites", result("sites"), SITES, training_rows),
    Question("variational", result("variational"), (NOT_MIXTURE, NOT_POSTERIOR)),
    Question("hyperparameters", result("hyperparameters"), (NOT_POSTERIOR, PRIORS_ONLY)),
    *(Question(name, result(name), (NOT_MAXIMISED, NO_COLUMNS)) for name in ("llnull", "prsquared")),
    Question("conf_int profile", result("conf_int", method="profile"), (NOT_MAXIMISED, ROWLESS, ROBUST)),
    Question("profile_interval", result("profile_interval", "z"), (NOT_MAXIMISED, NO_COLUMNS, ROWLESS, ROBUST)),
    Question("summary hazard_ratios", result("summary", hazard_ratios=True), RATIOS),
    Question("hazard_ratios", result("hazard_ratios"), RATIOS),
    Question("summary anova", result("summary", anova=True), (NO_COLUMNS, NO_ERRORS)),
    Question("t_test", test_of_one, (NO_ERRORS,)),
    Question("wald_test", test_of_two, (NO_ERRORS,)),
    Question("lr_test", ratio_test, (NOT_MAXIMISED, NO_COLUMNS, ROWLESS, ROBUST)),
    Question("bootstrap", result("bootstrap", 20, rng=1), (NOT_MAXIMISED, ROWLESS, SHARED)),
    Question("group_effects", result("group_effects"), (NO_GROUPS,)),
    Question("influence", result("influence"), (NOT_MAXIMISED, NO_COLUMNS, ROWLESS, SHARED)),
    Question("to_maketables", result("to_maketables")),
    Question("predict sigma", result("predict", NEW, "sigma"), (NO_COLUMNS, CAUSES, NO_SCALE, OF_COMPONENTS), new_rows),
]
