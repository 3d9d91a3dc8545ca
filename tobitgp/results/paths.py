"""Rows (start, stop] of subjects whose covariates change: which rows are whose, and curves along them."""

from __future__ import annotations

from collections.abc import Collection, Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from tobitgp.data.table import column_names
from tobitgp.errors import DataError, SpecError
from tobitgp.regression.start_stop_likelihood import Histories
from tobitgp.results.hazards.cells import SAME_TIME, AtRisk, check_subjects
from tobitgp.results.rows import Asked
from tobitgp.typing import Array, BoolArray, Frame

_LATE = "accelerated time requires the covariates from time 0 on. Use family='ph', which supports late entry and gaps"


@dataclass(frozen=True, slots=True)
class Paths:
    """Rows of the subjects of a question, and what is predicted for them."""

    asked: Asked  # the n rows
    frame: pd.DataFrame  # their covariates
    histories: Histories
    times: Array  # (T,)
    exclude: Any  # terms that are set to zero

    def unknown(self) -> BoolArray:
        """Times (m, T) at which the path of a subject says nothing."""
        past = self.histories
        return (self.times < past.start[past.first][:, None]) | (self.times > past.stop[past.last][:, None])


def refuse_parts(results: Any, remedy: str) -> None:
    """Raise an error for averages over training rows that are parts of the time of subjects."""
    if results._of_subjects:
        what = "The rows of this fit are parts of the time of subjects, not rows to average over"
        raise SpecError(f"{what}: {remedy}, a row for each subject.")


def read_subjects(id: Any, data: Frame) -> npt.NDArray[Any]:
    """The subject of each row, by the column that names them."""
    check_subject_name(id, column_names(data))
    column = pd.Series(data[id])
    if column.isna().any():
        raise DataError(
            f"The column {id!r} is missing in {int(column.isna().sum())} rows. Every row must have a value."
        )
    return column.to_numpy()


def check_subject_name(id: Any, columns: Collection[Any]) -> None:
    """Raise an error for what names no column."""
    if not isinstance(id, str) or id not in columns:
        given = repr(id) if isinstance(id, Hashable) else f"a {type(id).__name__}"
        raise SpecError(f"id={given}: id must be the name of the column of subjects.")


def holds_parts(subject: npt.NDArray[Any]) -> bool:
    """Whether rows are parts of the time of subjects, some of whom have several."""
    return len(pd.unique(subject)) < len(subject)


def subjects_of(subject: npt.NDArray[Any] | None, weight: Array) -> dict[str, Any]:
    """Stored subjects (n,) of a fit if some have several rows; otherwise nothing."""
    if subject is None or not holds_parts(subject):
        return {}
    code = pd.factorize(subject)[0]
    first = np.unique(code, return_index=True)[1]
    return {"of_subjects": True, "subject_weight": float(weight[first].sum()), "subject": code.astype(np.intp)}


def check_order(subject: Any, risk: AtRisk, labels: Any, *, from_zero: bool) -> None:
    """Raise for rows of a subject that overlap, leave gaps or, where it matters, begin late or change weight."""
    check_subjects(subject, risk, labels)
    frame = pd.DataFrame({"id": subject, "start": risk.entry, "stop": risk.exit, "weight": risk.weight, "row": labels})
    frame = frame.sort_values(["id", "start"], kind="stable")
    again = frame["id"].eq(frame["id"].shift())
    before = frame["stop"].shift()
    checks = [
        (
            again & (frame["start"] - before > SAME_TIME * before),
            "follows a gap in time, or a row before it was left out",
        ),
        (again & (frame["weight"] != frame["weight"].shift()), "has another weight than the row before"),
    ]
    if from_zero:
        checks.insert(0, (~again & (frame["start"] > 0.0), "does not begin at time 0"))
    for wrong, words in checks:
        if wrong.any():
            row, of = frame["row"][wrong].iloc[0], frame["id"][wrong].iloc[0]
            rest = f"; {_LATE}" if from_zero and "weight" not in words else ""
            raise DataError(f"Row {row} of id={of} {words}{rest}.")
