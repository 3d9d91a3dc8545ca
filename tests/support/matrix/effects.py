"""Questions about effects: derivatives, standardised answers and contrasts."""

from __future__ import annotations

from typing import Any

import tobitgp as tg

from .fits import Case
from .predictions import WHATS
from .question import NEW, Question, result
from .reasons import (
    BEYOND,
    CAUSES,
    COLUMNS,
    CURED_MEAN,
    NOT_PROCESS,
    NOT_TIME,
    ONE_CRITERION,
    PARTS,
    PATHS_AVERAGED,
    ROWLESS,
    TAILS_OF_CAUSES,
)


def contrasted(case: Case) -> Any:
    first, second = ({"x": 1.0}, {"x": 4.0}) if case.entry.kind == "uncertain" else ({"arm": "A"}, {"arm": "B"})
    return tg.contrast(case.res, first, second, "survival", [1.0])


def suggested(case: Case) -> Any:
    return tg.suggest(case.res, case.new, 2)


OF_TIMES = (*COLUMNS, NOT_TIME, ROWLESS)
OF_AVERAGES = (*COLUMNS, ROWLESS, PARTS, PATHS_AVERAGED)
EFFECTS = [
    *(
        Question(
            f"marginal_effects {what}",
            result("marginal_effects", what, at="mean", **more),
            (*COLUMNS, *WHATS[what], PARTS, PATHS_AVERAGED),
        )
        for what, more in {"latent": {}, "median": {}, "prob": {"above": 1.0}, "observed": {}}.items()
    ),
    Question(
        "marginal_effects survival",
        result("marginal_effects", "survival", times=1.0),
        (*OF_TIMES, PARTS, PATHS_AVERAGED),
    ),
    Question(
        "marginal_effects rmst", result("marginal_effects", "rmst", times=2.0), (*OF_TIMES, PARTS, PATHS_AVERAGED)
    ),
    Question("marginal_effects rows", result("marginal_effects", "median", at=NEW), COLUMNS),
    Question("get_margeff", result("get_margeff", at="mean"), (*COLUMNS, CAUSES, PARTS, PATHS_AVERAGED)),
    Question(
        "standardise survival",
        result("standardise", "arm", "survival", [1.0]),
        OF_AVERAGES,
    ),
    Question("standardise rmst", result("standardise", "arm", "rmst", [2.0]), (*OF_TIMES, PARTS, PATHS_AVERAGED)),
    Question("standardise median", result("standardise", "arm", "median"), OF_AVERAGES),
    Question(
        "standardise mean",
        result("standardise", "arm", "mean"),
        (*COLUMNS, TAILS_OF_CAUSES, CURED_MEAN, BEYOND, ROWLESS, PARTS, PATHS_AVERAGED),
    ),
    Question("standardise df", result("standardise", "arm", "survival", [1.0], df=NEW), COLUMNS),
    Question("contrast", contrasted, OF_AVERAGES),
    Question("suggest", suggested, (NOT_PROCESS, ONE_CRITERION)),
]
