"""Folds of the rows of a model: dealt at random, named by labels, or made by a splitter of scikit-learn."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.data.frames import by_label
from tobitgp.errors import SpecError
from tobitgp.model import Model
from tobitgp.typing import BoolArray, IntArray

Parts = list[tuple[IntArray, IntArray]]


def own_column(formula: Any, folds: Any, names: list[str]) -> list[str]:
    """The column that names the folds, unless the formula does: it is no input that "." stands for."""
    named = isinstance(folds, str) and folds in names and not re.search(rf"\b{re.escape(folds)}\b", str(formula))
    return [folds] if named else []


def read_folds(folds: Any, model: Model, frame: pd.DataFrame, rng: np.random.Generator) -> tuple[list[Any], Parts]:
    """Names of the folds, and the places of their training and test rows; rows that a fit drops are in none."""
    used = np.flatnonzero(model.training.kept)
    exact = model.training.response.lower == model.training.response.upper
    if hasattr(folds, "split") and not isinstance(folds, str):
        parts = _split(folds, used, exact)
        return list(range(1, len(parts) + 1)), parts
    if isinstance(folds, (int, np.integer)) and not isinstance(folds, bool):
        if not 2 <= folds <= len(used):
            raise SpecError(f"folds={folds}: from 2 to {len(used)}, the number of rows, is allowed.")
        code, levels = deal(exact, int(folds), rng), list(range(1, int(folds) + 1))
    else:
        code, levels = _labelled(folds, model.training.kept, frame)
    return levels, [(used[code != k], used[code == k]) for k in range(len(levels))]


def _split(folds: Any, used: IntArray, exact: Any) -> Parts:
    """What a splitter of scikit-learn makes of the rows used; its training rows may be fewer than the others."""
    try:
        parts = [
            (used[np.sort(train)], used[np.sort(test)]) for train, test in folds.split(np.zeros((len(used), 1)), exact)
        ]
    except (TypeError, ValueError, IndexError) as error:
        raise SpecError(
            f"folds={folds!r} cannot split {len(used)} rows: {error} Labels of groups are given as folds= themselves."
        ) from error
    if not parts or not all(len(train) and len(test) for train, test in parts):
        raise SpecError(f"folds={folds!r} makes no folds, or empty ones.")
    return parts


def _labelled(folds: Any, kept: BoolArray, frame: pd.DataFrame) -> tuple[IntArray, list[Any]]:
    """Fold of each row used, and the labels; a Series finds its rows by the labels of the data."""
    if isinstance(folds, str):
        if folds not in frame.columns:
            raise SpecError(f"folds={folds!r}: the data have no such column.")
        folds = frame[folds]
    flat = pd.api.types.is_list_like(folds) and all(pd.api.types.is_scalar(label) for label in folds)
    labels = pd.Series(np.asarray(folds)) if flat else None
    if labels is None or len(labels) != len(kept):
        raise SpecError(f"folds= takes a number, a column, an array of {len(kept)} labels, or an object with split().")
    if isinstance(folds, pd.Series):
        labels = pd.Series(np.asarray(by_label("The folds", "folds", folds, frame.index)))
    if labels[kept].isna().any():
        raise SpecError("folds= has missing labels in rows that are used.")
    code, levels = pd.factorize(labels[kept], sort=True)
    if len(levels) < 2:
        raise SpecError("folds= needs two different labels at least.")
    return code, list(levels)


def deal(exact: Any, folds: int, rng: np.random.Generator) -> IntArray:
    """Fold of each row (n,): shuffled rows are dealt, censored ones after exact ones, so that all folds are alike."""
    order = rng.permutation(len(exact))
    order = order[np.argsort(~exact[order], kind="stable")]
    out = np.empty(len(exact), dtype=np.intp)
    out[order] = np.arange(len(exact)) % folds
    return out


def by_subject(folds: Any, subject: Any, rng: np.random.Generator) -> Any:
    """Folds that hold all rows of a subject: numbers of folds are dealt, labels are checked."""
    code, subjects = pd.factorize(subject)
    if isinstance(folds, (int, np.integer)) and not isinstance(folds, bool) and 2 <= folds <= len(subjects):
        return deal(np.ones(len(subjects), dtype=bool), int(folds), rng)[code]
    return folds
