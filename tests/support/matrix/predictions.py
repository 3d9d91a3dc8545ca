"""Questions about rows: predictions, residuals and draws."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .fits import Case
from .question import NEW, NO_ROWS, Check, Question, Result, bands, new_rows, no_rows, result, training_rows
from .reasons import (
    BEYOND,
    CAUSES,
    COLUMNS,
    CURED_MEAN,
    NO_LIMIT,
    NO_LINE,
    NO_PREDICTED_ROW,
    NO_WORST,
    NOBODY_CURED,
    OF_COMPONENTS,
    PARTS,
    ROWLESS,
    SHARED,
    TAILS_OF_CAUSES,
    UNSEEN,
    WHOLE,
    Reason,
)

WHATS: dict[str, tuple[Reason, ...]] = {
    "median": (),
    "latent": (NO_LINE, CAUSES),
    "uncensored": (TAILS_OF_CAUSES, CURED_MEAN, BEYOND),
    "observed": (TAILS_OF_CAUSES, CURED_MEAN, NO_LIMIT),
    "conditional": (TAILS_OF_CAUSES, CURED_MEAN, BEYOND, PARTS),
    "quantile": (),
    "prob": (),
    "terms": (NO_LINE, CAUSES, OF_COMPONENTS),
}
TOGETHER = ("several", "latent", "mixture of vectors")  # kinds of several responses
MORE: dict[str, dict[str, Any]] = {"quantile": {"q": [0.1, 0.9]}, "prob": {"below": 1.0}}
TRAINING_ROWS = Reason(ROWLESS.words, ROWLESS.when, ("mixture",))


class Predict:
    """`predict` of one quantity; several responses have one quantile at a time."""

    def __init__(self, rows: Any, what: str, **options: Any) -> None:
        self.rows, self.what, self.options = rows, what, options

    def __call__(self, case: Case) -> Any:
        more = {"q": 0.9} if case.entry.kind in TOGETHER and self.what == "quantile" else MORE.get(self.what, {})
        return Result("predict", (self.rows, self.what), more | self.options)(case)


def predictions() -> Iterator[Question]:
    for what, reasons in WHATS.items():
        whole = (WHOLE,) if what in ("median", "quantile") else ()
        checks: dict[str, tuple[Predict, tuple[Reason, ...], Check]] = {
            f"predict {what}": (Predict(NEW, what), reasons, new_rows),
            f"predict {what} interval": (Predict(NEW, what, interval=0.9), (*reasons, *whole), bands),
            f"predict {what} of the rows": (Predict(None, what), (*reasons, TRAINING_ROWS), training_rows),
        }
        for name, (call, why, check) in checks.items():
            yield Question(name, call, why, check)


def predict_polars(case: Case) -> Any:
    import polars

    return case.res.predict(polars.from_pandas(case.new))


def predict_dask(case: Case) -> Any:
    import dask.dataframe as dd

    return case.res.predict(dd.from_pandas(case.new, npartitions=2)).compute()


def prediction_table(case: Case) -> Any:
    return case.res.get_prediction(case.new).summary_frame()


def distribution(case: Case, what: str = "uncensored") -> Any:
    found = case.res.get_distribution(case.new, what)
    return found["r1"] if case.entry.kind in TOGETHER else found


def recorded(case: Case) -> Any:
    return distribution(case, "observed")


def of_rows(case: Case, found: Any) -> str:
    """Probabilities, entropies and draws of every new row."""
    answers = found.cdf([[0.5, 1.0]]), found.entropy(), found.rvs((3, len(found)), random_state=1).T
    good = all(len(one) == len(case.new) and not np.isnan(one).any() for one in answers)
    return "" if good else f"{[np.shape(one) for one in answers]}, or NaN, for {len(case.new)} rows"


def residuals() -> Iterator[Question]:
    more: dict[str, tuple[Reason, ...]] = {
        "quantile": (),
        "cox_snell": (),
        "martingale": (),
        "deviance": (NO_PREDICTED_ROW, NO_WORST),
        "response": (TAILS_OF_CAUSES, CURED_MEAN, BEYOND, PARTS),
        "pearson": (TAILS_OF_CAUSES, CURED_MEAN, BEYOND, NO_PREDICTED_ROW, PARTS),
    }
    for kind, reasons in more.items():
        yield Question(f"residuals {kind}", result("residuals", kind), (ROWLESS, *reasons), training_rows)


def draws() -> Iterator[Question]:
    more: dict[str, tuple[Reason, ...]] = {
        "uncensored": (),
        "latent": (NO_LINE, CAUSES),
        "observed": (NO_LIMIT,),
        "conditional": (UNSEEN, PARTS),
    }
    yield Question(
        "sample conditional of the rows", result("sample", None, 3, what="conditional", rng=1), (ROWLESS, PARTS)
    )
    yield Question("sample no rows", result("sample", NO_ROWS, 3, rng=1), (), no_rows)
    for what, reasons in more.items():
        yield Question(f"sample {what}", result("sample", NEW, 3, what=what, rng=1), reasons)


PREDICTIONS = [
    *predictions(),
    Question("predict se", result("predict", NEW, se=True), (), new_rows),
    Question("predict exclude", result("predict", NEW, exclude="z"), COLUMNS, new_rows),
    Question("predict no rows", result("predict", NO_ROWS), (), no_rows),
    Question("predict polars", predict_polars),
    Question("predict dask", predict_dask),
    Question("get_prediction", prediction_table, (TAILS_OF_CAUSES, CURED_MEAN, BEYOND), new_rows),
    Question("get_distribution", distribution, (), of_rows),
    Question("get_distribution observed", recorded, (TAILS_OF_CAUSES, CURED_MEAN, NO_LIMIT), of_rows),
    Question("predict cured", result("predict", NEW, "cured"), (NOBODY_CURED,)),
    *residuals(),
    *draws(),
    Question("posterior", result("posterior", NEW), (NO_LINE, CAUSES)),
    Question("log_likelihood_draws", result("log_likelihood_draws", 5, rng=1), (ROWLESS, SHARED)),
    Question("to_arviz", result("to_arviz", 20, rng=1), (ROWLESS, SHARED)),
]
