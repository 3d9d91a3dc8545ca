"""Predictions as pandas tables: which rows are asked for, which of them can be done, under which labels."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd

from tobitgp.data.prepare import TrainingData
from tobitgp.data.table import read_table
from tobitgp.errors import SpecError
from tobitgp.results.predict import Limits, check_level, check_what, predict_rows
from tobitgp.results.views import Parts
from tobitgp.typing import Array, BoolArray, Frame


def predict_table(
    parts: Parts, new: Frame | None, what: str | None, *, interval: float | None, se: bool
) -> pd.Series[float] | pd.DataFrame:
    """Predictions with the index of the data; see ``GPResults.predict``."""
    what, level = check_what(what), check_level(interval)
    training = parts.training
    if new is None:
        design, usable, index, limits = training.design, training.kept, training.index, _training_limits(training)
    else:
        design, usable = training.state.replay(new)
        index, limits = read_table(new, []).index, _new_limits(training, new, usable)
    columns = predict_rows(parts.fitted, parts.gp, design, what=what, limits=limits, level=level, se=bool(se))
    table = pd.DataFrame({name: _spread(values, usable) for name, values in columns.items()}, index=index)
    return table if level is not None or se else table["mean"].rename(what)


def _spread(values: Array, usable: BoolArray) -> Array:
    """Values of usable rows among all rows, NaN elsewhere."""
    out = np.full(len(usable), np.nan)
    out[usable] = values
    return out


def _training_limits(training: TrainingData) -> Callable[[], Limits]:
    def limits() -> Limits:
        lower, upper = training.response.limit_lower, training.response.limit_upper
        if np.isnan(lower).any() or np.isnan(upper).any():
            raise SpecError(
                "what='observed' needs the limits, and they are unknown: Surv() and censor(event=) say which rows were "
                "censored, not where the others would have been. Write censor(lower, upper), or use what='uncensored'."
            )
        return lower, upper

    return limits


def _new_limits(training: TrainingData, new: Frame, usable: BoolArray) -> Callable[[], Limits]:
    def limits() -> Limits:
        _training_limits(training)()
        return training.state.limits(new, usable)

    return limits
