"""Measures of the incidence of each cause, on rows that a fit of competing risks has not seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from tobitgp import metrics
from tobitgp.errors import DataError, SpecError
from tobitgp.selection import held_out
from tobitgp.selection.held_out import HeldOut, Measure, Survival, grid_of
from tobitgp.typing import Array, IntArray


class JudgedCause(NamedTuple):
    """Training and test rows with the number of a cause."""

    cause: Any
    k: int  # from 1 on
    rows: Survival  # whose events are those of the cause
    codes: tuple[IntArray, IntArray]  # causes of the training and of the test rows

    @classmethod
    def of(cls, held: HeldOut, cause: Any) -> JudgedCause:
        """Rows of a fit and those left out."""
        results: Any = held.results
        seen, k = results.parts.seen, 1 + results.causes.index(cause)
        new = results._seen_of(held.test, "a measure")
        if not (new.code == k).any():
            raise DataError(f"No row left out had an event of cause {cause!r}. Use fewer folds=.")
        weight = np.ones(len(new.time)) if held.weight is None else held.weight[new.kept]
        more = {"entry": (seen.entry, new.entry), "weights": (seen.weight, weight)}
        rows = Survival((seen.time, seen.code == k), (new.time, new.code == k), more, new.kept)
        return cls(cause, k, rows, (seen.code, new.code))

    def incidence(self, held: HeldOut, times: Array, since: float | None = None) -> pd.DataFrame:
        """Incidence of the cause in the test rows, of those without an event by a landmark."""
        results: Any = held.results
        new, how = held.test[self.rows.known], {"cause": self.cause, "conditional_after": since}
        found = results.predict_cumulative_incidence(new, times - (since or 0.0), **how)
        return pd.DataFrame(found).set_axis(times)

    @property
    def pairs(self) -> tuple[tuple[Array, IntArray], tuple[Array, IntArray]]:
        """Times and causes of training and of test rows."""
        return (self.rows.train[0], self.codes[0]), (self.rows.test[0], self.codes[1])


def log_likelihood(held: HeldOut) -> float:
    """Mean log density of times and causes."""
    results: Any = held.results
    return float(results.score(held.test, weights=held.weight))


def concordance_index(cause: Any, held: HeldOut) -> float:
    """Share of the pairs whose order is known that predicted incidences put in order."""
    judged = JudgedCause.of(held, cause)
    (time, code), more = judged.pairs[1], judged.rows.more
    how = {"entry": more["entry"][1], "weights": more["weights"][1], "cause": judged.k}
    return metrics.concordance_index(time, _score(judged, held), code, **how)


def concordance_ipcw(cause: Any, held: HeldOut) -> float:
    """Uno's concordance of predicted incidences, of pairs up to the last decile of the cause's events."""
    judged = JudgedCause.of(held, cause)
    how = judged.rows.more | {"cause": judged.k}
    if not any((entry > 0.0).any() for entry in how["entry"]):
        how.pop("entry")
    return metrics.concordance_ipcw(*judged.pairs, _score(judged, held), judged.rows.deciles[1], **how)


def _score(judged: JudgedCause, held: HeldOut) -> Array:
    """What is higher of rows that are less likely to have the event by the last decile of those of training rows."""
    return -judged.incidence(held, np.array([judged.rows.deciles[1]])).to_numpy()[0]


def integrated_brier_score(cause: Any, held: HeldOut) -> float:
    """Brier score of incidences, averaged over the times from the first to the last decile of the cause's events."""
    judged, how = _over_time(cause, held)
    return metrics.integrated_brier_score(*judged, **how)


def cumulative_dynamic_auc(cause: Any, held: HeldOut) -> float:
    """Mean area under time-dependent ROC curves of incidences, over the same times."""
    judged, how = _over_time(cause, held)
    return metrics.cumulative_dynamic_auc(*judged, **how).mean


def _over_time(cause: Any, held: HeldOut) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """As of one event, with incidences for curves."""
    judged = JudgedCause.of(held, cause)
    rows = judged.rows
    since = rows.deciles[0] if (rows.more["entry"][1] > 0.0).any() else None
    times = grid_of(rows, since)
    curves = judged.incidence(held, times, since)
    return (*judged.pairs, curves, times), {**rows.more, "landmark": since, "cause": judged.k}


MEASURES = {
    getattr(held_out, measure.__name__): measure
    for measure in (concordance_index, concordance_ipcw, integrated_brier_score, cumulative_dynamic_auc)
}


def by_cause(measures: Mapping[str, Measure], causes: Sequence[Any]) -> dict[str, Measure]:
    """Measures of competing risks: of all causes together, or of each, by the names of their columns."""
    out: dict[str, Measure] = {}
    for name, measure in measures.items():
        if measure in (held_out.mae, held_out.rmse):
            raise SpecError(f"{name!r} compares values, and times ended by another cause have none. Leave it out.")
        if measure in (held_out.log_likelihood, held_out.nlpd):
            out[name] = log_likelihood if measure is held_out.log_likelihood else lambda held: -log_likelihood(held)
        elif measure in MEASURES:
            out |= {f"{name}[{cause}]": partial(MEASURES[measure], cause) for cause in causes}
        else:
            out[name] = measure
    return out
