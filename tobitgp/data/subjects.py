"""Subjects whose time at risk is split over several rows."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd

from tobitgp.data.prepare import TrainingData
from tobitgp.errors import user_level
from tobitgp.formula.spec import ModelSpec
from tobitgp.typing import Frame

_LINKS = 3  # rows that begin where another ended, below which nothing is said


def warn_split_subjects(spec: ModelSpec, training: TrainingData, data: Frame, covariates: pd.DataFrame) -> None:
    """Warn of rows of ``Surv(entry, time, event)`` that are one subject's, one after the other, covariates changing.

    Their likelihood is that of the present covariates having held all along, which is meant under proportional hazards.
    """
    if spec.response.kind != "surv" or spec.truncation is None:
        return
    known = set(spec.names("response", "event", "window"))
    frame = pd.DataFrame(data)[training.kept]
    for name in frame.columns:
        if name not in known and _changes(frame[name], training, covariates.drop(columns=name, errors="ignore")):
            warnings.warn(
                f"Column {name!r} tells subjects whose rows follow one another in time, with covariates that change. A "
                "row is taken for a late entry of a subject who always had its covariates, as is right for "
                "family='weibull' and 'exponential', whose hazards are proportional; for other families keep a row for "
                "each subject, or fit Cox's model with time-varying covariates (lifelines: CoxTimeVaryingFitter)",
                UserWarning,
                stacklevel=user_level(),
            )
            return


def _changes(column: pd.Series, training: TrainingData, covariates: pd.DataFrame) -> bool:
    """Whether rows of one value begin where the one before ended, none before that, and differ in covariates."""
    code, entry, end = pd.factorize(column)[0], training.response.entry, training.response.lower
    order = np.lexsort((entry, code))
    before, after = order[:-1], order[1:]
    same = (code[before] == code[after]) & (code[before] >= 0)
    before, after = before[same], after[same]
    links = entry[after] == end[before]
    if links.sum() < _LINKS or 2 * links.sum() < len(links) or (entry[after] < end[before]).any():
        return False
    x = covariates.reset_index(drop=True)
    return bool((x.iloc[before].to_numpy() != x.iloc[after].to_numpy()).any())
