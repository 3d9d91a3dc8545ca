"""Questions about figures, reports, files and other doors to the same fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

import tobitgp as tg
from tobitgp.cli import main
from tobitgp.errors import SpecError

from .fits import Case
from .question import Of, Question, result
from .reasons import (
    CAUSES,
    COLUMNS,
    LATE,
    NO_COLUMNS,
    NO_COVARIATES,
    NO_LINE,
    NO_PATH,
    NOT_POSTERIOR,
    NOT_TIME,
    NOT_TIMES,
    OF_COMPONENTS,
    ONE_CAUSE,
    PARTS,
    PATHS_AVERAGED,
    PRIORS_ONLY,
    ROWLESS,
)


def two_new_rows(case: Case) -> Any:
    return case.res.plot_survival(df=case.new.head(2), times=list(case.times))


def stored(case: Case) -> Any:
    case.res.save(case.folder / "fit.tgp")
    return tg.load(case.folder / "fit.tgp")


def same_print(case: Case, found: Any) -> str:
    return "" if repr(found) == repr(case.res) else "the loaded fit prints as another one"


def predictions_of_stored(case: Case) -> Any:
    return stored(case).predict(case.new)


def same_predictions(case: Case, found: Any) -> str:
    a, b = (np.asarray(pd.DataFrame(each), dtype=float) for each in (case.res.predict(case.new), found))
    return "" if np.allclose(a, b, rtol=1e-10, equal_nan=True) else "predictions differ after loading"


def predictions_of_the_command(case: Case) -> Any:
    fit, new, out = (str(case.folder / name) for name in ("fit.tgp", "new.csv", "out.csv"))
    case.res.save(fit)
    case.new.to_csv(new, index=False)
    if code := main(["predict", fit, new, "--out", out]):
        raise SpecError(f"exit status {code}")
    return pd.read_csv(out)


OF_MODELS = {"family", "sigma", "cure", "formulas", "id"}


def opened(case: Case) -> Any:
    options = {name: value for name, value in case.entry.options.items() if name in OF_MODELS}
    return tg.Model(case.entry.formula, case.handed, **options)


def model(case: Case) -> Any:
    return opened(case).fit(**{name: v for name, v in case.entry.options.items() if name not in OF_MODELS})


def model_evidence(case: Case) -> Any:
    return opened(case).evidence(case.res.hyperparameters)


OUTPUT = [
    Question("plot", result("plot")),
    Question("plot_terms", result("plot_terms"), (NO_LINE, NO_COVARIATES, CAUSES, OF_COMPONENTS)),
    Question("plot_history", result("plot_history"), (NO_PATH,)),
    Question("plot_effect", result("plot_effect", "z"), COLUMNS),
    Question("plot_residuals", result("plot_residuals"), (ROWLESS,)),
    Question("plot_forest", result("plot_forest"), COLUMNS),
    Question("plot_survival", result("plot_survival"), (NOT_TIMES, ROWLESS, PARTS, PATHS_AVERAGED)),
    Question(
        "plot_survival by", result("plot_survival", by="arm"), (NOT_TIMES, NO_COLUMNS, ROWLESS, PARTS, PATHS_AVERAGED)
    ),
    Question("plot_survival df", two_new_rows, (NOT_TIMES, NO_COLUMNS)),
    Question("plot_hazard", result("plot_hazard"), (NOT_TIMES, NOT_TIME, ROWLESS, PARTS, PATHS_AVERAGED)),
    Question("plot_cumulative_incidence", result("plot_cumulative_incidence"), (ONE_CAUSE,)),
    Question("plot_calibration", result("plot_calibration"), (ROWLESS,)),
    Question("plot_cox_snell", result("plot_cox_snell"), (ROWLESS,)),
    Question("plot_predictive_check", result("plot_predictive_check"), (ROWLESS, LATE)),
    Question("report", result("report", Of("folder", "fit.html"))),
    Question("save, load", stored, (), same_print),
    Question("load, predict", predictions_of_stored, (), same_predictions),
    Question("command predict", predictions_of_the_command),
    Question("Model", model),
    Question("Model.evidence", model_evidence, (NOT_POSTERIOR, PRIORS_ONLY)),
]
