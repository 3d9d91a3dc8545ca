"""Questions about trust: checks, scores, comparisons and cross-validation."""

from __future__ import annotations

from typing import Any

import tobitgp as tg

from .fits import Case
from .question import NEW, Question, finite, result
from .reasons import (
    CLUSTERS,
    MIRRORED,
    NO_COLUMNS,
    NO_GAUSSIAN,
    NOT_RIGHT,
    PATHS,
    PATHS_SCORED,
    ROWLESS,
    SHARED,
)


def criterion(case: Case) -> str:
    return "aic" if "likelihood" in case.entry.facts else "log_evidence"


def concordance(case: Case) -> Any:
    if case.entry.kind == "causes":
        return case.res.concordance_index(1)
    return case.res.score(case.new, "concordance_index")


def conformal(case: Case) -> Any:
    first, rest = case.train.iloc[:50], case.train.iloc[50:]
    return case.fit(case.entry.formula, first).conformalise(rest).predict(case.new)


def compared(case: Case) -> Any:
    return tg.compare({"a": case.res, "b": case.fit(case.entry.formula, case.train)}, by=criterion(case))


def compared_by_loo(case: Case) -> Any:
    return tg.compare({"a": case.res, "b": case.res}, by="loo")


def cross_validated(case: Case, metric: str) -> Any:
    return tg.cross_validate(case.entry.formula, case.train, folds=2, metrics=[metric], **case.entry.options)


def cross_validated_likelihood(case: Case) -> Any:
    return cross_validated(case, "log_likelihood")


def cross_validated_brier(case: Case) -> Any:
    return cross_validated(case, "integrated_brier_score")


def selected(case: Case) -> Any:
    formula = case.entry.formula
    smaller = formula.replace("mixture(2)", "mixture(1)").replace("z + ", "")
    return tg.select([formula, smaller], case.train, by=criterion(case), **case.entry.options)


CHECKING = [
    Question("check", result("check", rng=1), (ROWLESS,)),
    Question("loo", result("loo", draws=200, rng=1), (ROWLESS, SHARED)),
    Question("loo psis", result("loo", "psis", draws=200, rng=1), (ROWLESS, SHARED)),
    Question("waic", result("waic", draws=200, rng=1), (ROWLESS, SHARED)),
    Question("k_hat", result("k_hat", 200, rng=1), (ROWLESS, NO_GAUSSIAN, SHARED, MIRRORED)),
    Question("score", result("score", NEW)),
    Question("score concordance", concordance, (NO_COLUMNS,)),
    Question("concordance_index_", result("concordance_index_"), (NO_COLUMNS, ROWLESS)),
    Question("conformalise", conformal, (PATHS,)),
    Question("compare", compared, (ROWLESS,)),
    Question("compare loo", compared_by_loo, (ROWLESS, SHARED)),
    Question("cross_validate", cross_validated_likelihood, (CLUSTERS, ROWLESS), finite),
    Question("cross_validate brier", cross_validated_brier, (ROWLESS, NOT_RIGHT, PATHS_SCORED), finite),
    Question("select", selected, (ROWLESS, CLUSTERS)),
]
