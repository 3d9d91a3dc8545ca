"""Warnings about properties of the rows as a whole."""

from __future__ import annotations

import warnings
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.data.absorbed import telling
from tobitgp.data.arrays import CensoredResponse, Design
from tobitgp.data.prepare import TrainingData
from tobitgp.errors import BoundaryWarning, user_level
from tobitgp.formula.spec import ModelSpec
from tobitgp.typing import BoolArray, Frame

_SHARE = 0.5


def warn_copies(design: Design, response: CensoredResponse, effective: float) -> None:
    """Warn if a process interpolates exact copies of rows and no other rows indicate noise.

    It does where its effective parameters are more than half as many as the distinct inputs.
    """
    if not any(X.shape[1] for X in design.X):
        return
    exact = response.lower == response.upper
    codes = [g.code[:, None] for g in design.groups if g is not None]
    inputs = np.hstack([*telling(design.H), *design.X, *codes])[exact]
    y, weight = response.lower[exact], response.weight[exact]
    order = np.lexsort(inputs.T)
    new = (inputs[order[1:]] != inputs[order[:-1]]).any(axis=1)
    if not len(y) or not ((weight > 1.0).any() or not new.all()):
        return
    place = np.empty(len(y), dtype=np.intp)
    place[order] = np.append(0, np.cumsum(new))
    copies = np.bincount(place, weights=weight)[place]
    repeated = float(weight[copies > 1.0].sum() / weight.sum())
    values = len(np.unique(np.column_stack([place, y]), axis=0))
    if values == place.max() + 1 and repeated > _SHARE and effective > _SHARE * values:
        warnings.warn(
            f"{100.0 * repeated:.0f}% of the exact rows are copies (repeated rows, or weights above 1) whose response "
            "is the same at the same inputs, and no two others share their inputs. So the noise is estimated as 0, and "
            "the curve interpolates the copies. If weights mean precision, give them as var_weights=. If rows were "
            "entered twice, keep one of each.",
            BoundaryWarning,
            stacklevel=user_level(),
        )


_SAME = 1e-9  # of a time, below which two are the same
_LINKS = 3  # rows that begin where another ended, below which nothing is said


def warn_split_subjects(spec: ModelSpec, training: TrainingData, data: Frame, covariates: pd.DataFrame) -> None:
    """Warn if successive rows of ``Surv(entry, time, event)`` are those of one subject with changing covariates.

    Their likelihood assumes that the current covariates were constant, which is correct under proportional hazards.
    """
    if spec.response.kind != "surv" or spec.truncation is None:
        return
    known = set(spec.names("response", "event", "window"))
    frame = pd.DataFrame(data)[training.kept]
    for name in frame.columns:
        if name not in known and _changes(frame[name], training, covariates.drop(columns=name, errors="ignore")):
            warnings.warn(
                f"Column {name!r} names subjects with several rows, between which covariates change. Each row is "
                f"treated as the late entry of a subject who always had its covariates, which is correct for "
                f"family='weibull' and 'exponential', whose hazards are proportional. For other families, give "
                f"id={name!r}.",
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
    links = np.isclose(entry[after], end[before], rtol=_SAME, atol=0.0)
    if links.sum() < _LINKS or 2 * links.sum() < len(links) or ((entry[after] < end[before]) & ~links).any():
        return False
    x = covariates.reset_index(drop=True)
    return bool((x.iloc[before].to_numpy() != x.iloc[after].to_numpy()).any())


_MOST = 3


def in_common(frame: pd.DataFrame, rows: BoolArray) -> str | None:
    """Words for the values of one column that these rows have and no others; rows (n,)."""
    if not rows.any():
        return None
    for name in frame.columns:
        inside = frame.loc[rows, name].drop_duplicates().tolist()
        if len(inside) > _MOST or frame.loc[~rows, name].isin(inside).any():
            continue
        if isinstance(frame[name].dtype, pd.CategoricalDtype) or isinstance(inside[0], str):
            return f"of level{'s' * (len(inside) > 1)} {', '.join(map(repr, inside))} of {name!r}"
        if len(inside) < int(rows.sum()):
            return f"with {name!r} = {' or '.join(map(_shown, inside))}"
    return None


def _shown(value: Any) -> str:
    return f"{value:g}" if isinstance(value, Real) else str(value)
