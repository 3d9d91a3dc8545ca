"""Questions about times: survival, hazards, medians, restricted means and incidences."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import tobitgp as tg

from .fits import Case
from .question import NEW, NO_ROWS, PATHS, TIMES, Of, Question, bands, curves, new_rows, no_rows, result
from .reasons import (
    BEYOND,
    CONSTANT,
    CURED_MEAN,
    NO_COLUMNS,
    NOT_RIGHT,
    NOT_TIME,
    NOT_TIMES,
    ONE_CAUSE,
    ONE_EVENT,
    ONE_ROW_EACH,
    TAILS_OF_CAUSES,
    WHOLE,
)

CURVES = {"survival": "survival_function", "cumulative hazard": "cumulative_hazard", "hazard": "hazard"}


def curve_questions() -> Iterator[Question]:
    for name, method in CURVES.items():
        reasons = (NOT_TIMES,)
        ask = f"predict_{method}"
        yield Question(name, result(ask, NEW, TIMES), reasons, curves)
        yield Question(f"{name} interval", result(ask, NEW, TIMES, interval=0.9), reasons, curves)
        yield Question(f"{name} conditional_after", result(ask, NEW, TIMES, conditional_after=0.5), reasons, curves)
        yield Question(f"{name} no rows", result(ask, NO_ROWS, TIMES), reasons, no_rows)
        yield Question(f"{name} exclude", result(ask, NEW, TIMES, exclude="z"), (*reasons, NO_COLUMNS), curves)


def path_questions() -> Iterator[Question]:
    for name, ask, more in (
        ("survival id", "predict_survival_function", {}),
        ("survival id interval", "predict_survival_function", {"interval": 0.9}),
        ("hazard id", "predict_hazard", {}),
    ):
        yield Question(name, result(ask, PATHS, TIMES, id="who", **more), (CONSTANT,), asked_without_meaning=False)


def survival_model(case: Case) -> Any:
    """The interface of lifelines, with the same terms."""
    left, _, right = case.entry.formula.partition("~")
    times = re.split(", ", left.strip()[5:-1])
    columns = dict(zip(("duration_col", "event_col", "entry_col"), (*times[-2:], *times[:-2]), strict=False))
    used = {"z", "x", "arm", "g", *times}
    model = tg.SurvivalModel(right.strip(), **case.entry.options)
    model.fit(case.train[[name for name in case.train if name in used]], **columns)
    return model.predict_survival_function(case.new, list(case.times)), model.score(case.new)


MEANS = (NOT_TIMES, NOT_TIME)
LIFETIMES = [
    *curve_questions(),
    *path_questions(),
    Question("median", result("predict_median", NEW), (NOT_TIMES,), new_rows),
    Question("median interval", result("predict_median", NEW, interval=0.9), (NOT_TIMES, WHOLE), bands),
    Question("median conditional_after", result("predict_median", NEW, conditional_after=0.5), (NOT_TIMES,), new_rows),
    Question("median no rows", result("predict_median", NO_ROWS), (NOT_TIMES,), no_rows),
    Question("percentile", result("predict_percentile", NEW, p=0.8), (NOT_TIMES,), new_rows),
    Question(
        "expectation", result("predict_expectation", NEW), (NOT_TIMES, TAILS_OF_CAUSES, CURED_MEAN, BEYOND), new_rows
    ),
    Question("restricted mean", result("predict_restricted_mean", NEW, t=2.0), MEANS, new_rows),
    Question("restricted mean interval", result("predict_restricted_mean", NEW, t=2.0, interval=0.9), MEANS, bands),
    Question("incidence", result("predict_cumulative_incidence", NEW, TIMES), (ONE_CAUSE,)),
    Question("incidence no rows", result("predict_cumulative_incidence", NO_ROWS, TIMES), (ONE_CAUSE,), no_rows),
    Question("incidence interval", result("predict_cumulative_incidence", NEW, TIMES, interval=0.9), (ONE_CAUSE,)),
    Question("write_curves", result("write_curves", Of("folder", "curves.parquet"), NEW, TIMES), (NOT_TIMES,)),
    Question(
        "SurvivalModel",
        survival_model,
        (NOT_TIMES, NOT_RIGHT, ONE_EVENT, ONE_ROW_EACH),
        asked_without_meaning=False,
    ),
]
