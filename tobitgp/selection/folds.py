"""Folds of the rows of a model, by chance, labels or a splitter of scikit-learn, and what cross-validation gives."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import pandas as pd

from tobitgp.data.frames import by_label
from tobitgp.errors import SpecError, TobitGPError
from tobitgp.metrics import concordance_index
from tobitgp.model import Model
from tobitgp.selection import held_out
from tobitgp.selection.held_out import HeldOut, Measure
from tobitgp.typing import Array, BoolArray, IntArray

FoldRows = list[tuple[IntArray, IntArray]]


def own_column(formula: Any, folds: Any, names: list[str]) -> list[str]:
    """The column that names the folds, unless the formula names it; then "." does not include it."""
    named = isinstance(folds, str) and folds in names and not re.search(rf"\b{re.escape(folds)}\b", str(formula))
    return [folds] if named else []


def read_folds(folds: Any, model: Model, frame: pd.DataFrame, rng: np.random.Generator) -> tuple[list[Any], FoldRows]:
    """Names of the folds, and the places of their training and test rows; rows that a fit drops are in none."""
    used = np.flatnonzero(model.training.kept)
    exact = model.training.response.lower == model.training.response.upper
    if hasattr(folds, "split") and not isinstance(folds, str):
        parts = _split(folds, used, exact)
        return list(range(1, len(parts) + 1)), parts
    if isinstance(folds, (int, np.integer)) and not isinstance(folds, bool):
        if not 2 <= folds <= len(used):
            raise SpecError(f"folds={folds}: must be from 2 to {len(used)}, the number of rows.")
        code, levels = deal(exact, int(folds), rng), list(range(1, int(folds) + 1))
    else:
        code, levels = _labelled(folds, model.training.kept, frame)
    return levels, [(used[code != k], used[code == k]) for k in range(len(levels))]


def _split(folds: Any, used: IntArray, exact: Any) -> FoldRows:
    """What a splitter of scikit-learn makes of the rows used; its training rows may be fewer than the others."""
    try:
        parts = [
            (used[np.sort(train)], used[np.sort(test)]) for train, test in folds.split(np.zeros((len(used), 1)), exact)
        ]
    except (TypeError, ValueError, IndexError) as error:
        raise SpecError(
            f"folds={folds!r} cannot split {len(used)} rows: {error} Give labels of groups directly as folds=."
        ) from error
    if not parts or not all(len(train) and len(test) for train, test in parts):
        raise SpecError(f"folds={folds!r}: must not make empty folds.")
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
        raise SpecError(f"folds= must be a number, a column, {len(kept)} labels, or an object with split().")
    if isinstance(folds, pd.Series):
        labels = pd.Series(np.asarray(by_label("The folds", "folds", folds, frame.index)))
    if labels[kept].isna().any():
        raise SpecError("folds= must not have missing labels in rows that are used.")
    code, levels = pd.factorize(labels[kept], sort=True)
    if len(levels) < 2:
        raise SpecError("folds= must have at least two different labels.")
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


class FoldScores(pd.DataFrame):
    """A row for each fold, with the scores of all rows together and the predictions of rows left out.

    Attributes
    ----------
    pooled : Series
        Scores of the test rows of all folds together, by metric.
    """

    _metadata: ClassVar[list[str]] = ["pooled", "_predicted"]
    pooled: pd.Series[float]
    _predicted: pd.DataFrame | TobitGPError

    @property
    def _constructor(self) -> Callable[..., pd.DataFrame]:
        return pd.DataFrame

    @classmethod
    def of(cls, table: pd.DataFrame, pooled: pd.Series[float], predicted: pd.DataFrame | TobitGPError) -> FoldScores:
        """Scores of folds, and what is known about their rows."""
        out = cls(table)
        out.pooled, out._predicted = pooled, predicted
        return out

    @property
    def predictions(self) -> pd.DataFrame:
        """Predictions of rows by the fits that have not seen them, as ``predict=`` of the call asks for.

        A row for each test row, in the order and under the labels of the data, ``fold`` its fold. A row that several
        folds leave out has a prediction by each. NaN where a fold has no predictions.

        Raises
        ------
        TobitGPError
            What predictions failed of, if all did.
        """
        if isinstance(self._predicted, TobitGPError):
            raise self._predicted
        return self._predicted


@dataclass(frozen=True)
class OrderedRows:
    """Test rows with their predicted medians, (m,) each."""

    median: Array
    lower: Array  # what is known about the response
    upper: Array
    entry: Array
    weight: Array

    @classmethod
    def of(cls, held: HeldOut) -> OrderedRows:
        """Those of a fit."""
        found = held.results._scores(held.test, "concordance_index")
        weight = np.ones(len(found.values)) if held.weight is None else held.weight[found.known]
        return cls(found.values, found.lower, found.upper, found.entry, weight)


class Fold(NamedTuple):
    """What a fit says of the rows of a fold."""

    scores: dict[str, float]  # converged, and each metric
    predicted: pd.DataFrame | TobitGPError
    ordered: OrderedRows | None  # where concordance of medians is measured


def pool(measures: Mapping[str, Measure], folds: Sequence[Fold | None], weights: Sequence[float]) -> pd.Series[float]:
    """Scores of the rows of all folds together, by metric; weights of the folds are those of their rows."""
    known = [(fold, weight) for fold, weight in zip(folds, weights, strict=True) if fold is not None]
    names = [name for name in dict.fromkeys(n for fold, _ in known for n in fold.scores) if name != "converged"]
    out = {}
    for name in names:
        values = np.array([fold.scores[name] for fold, _ in known])
        finite = ~np.isnan(values)
        some = [fold for (fold, _), has in zip(known, finite, strict=True) if has]
        share = np.array([weight for _, weight in known])[finite]
        out[name] = _pooled(measures.get(name), some, values[finite], share) if some else np.nan
    return pd.Series(out, name="pooled", dtype=np.float64)


def _pooled(measure: Measure | None, folds: Sequence[Fold], values: Array, weight: Array) -> float:
    """Concordance of all pairs, a root of the mean of squares, and means of all else."""
    if measure is held_out.concordance_index:
        rows = [fold.ordered for fold in folds if fold.ordered is not None]
        joined: dict[str, Any] = {
            name: np.concatenate([getattr(each, name) for each in rows]) for name in rows[0].__dict__
        }
        median, weights = joined.pop("median"), joined.pop("weight")
        return concordance_index(None, median, **joined, weights=weights)
    if measure is held_out.rmse:
        return float(np.sqrt(np.average(values**2, weights=weight)))
    return float(np.average(values, weights=weight))


def join_predictions(
    names: Sequence[Any], places: Sequence[IntArray], folds: Sequence[Fold | None], index: pd.Index
) -> pd.DataFrame | TobitGPError:
    """Predictions of all folds in the order of the data, or what the first failed of where none has any."""
    known = [None if fold is None else fold.predicted for fold in folds]
    frames = [one for one in known if isinstance(one, pd.DataFrame)]
    if not frames:
        return next(one for one in known if isinstance(one, TobitGPError))
    parts = []
    for name, at, one in zip(names, places, known, strict=True):
        missing = pd.DataFrame(np.nan, index=index[at], columns=frames[0].columns)
        part = one if isinstance(one, pd.DataFrame) else missing
        parts.append(part.set_axis(index[at]))
        parts[-1].insert(0, "fold", name)
    return pd.concat(parts).iloc[np.argsort(np.concatenate(places), kind="stable")]
