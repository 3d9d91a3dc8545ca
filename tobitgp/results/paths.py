"""Rows (start, stop] of subjects whose covariates change: which rows are whose, and curves along them."""

from __future__ import annotations

from collections.abc import Collection, Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from tobitgp.data.columns import evaluate
from tobitgp.data.table import column_names, read_table
from tobitgp.errors import DataError, SpecError
from tobitgp.regression.start_stop_likelihood import Histories
from tobitgp.results.hazards.cells import SAME_TIME, AtRisk, check_subjects
from tobitgp.results.rows import Asked, ask
from tobitgp.typing import Array, BoolArray, Frame

if TYPE_CHECKING:
    from tobitgp.results.results import Results

PARTS = "The rows of this fit are parts of the time of subjects, not rows to average over: give df=, a row for each."
_LATE = "an accelerated time needs the covariates from time 0 on; family='ph' takes late entry and gaps"


@dataclass(frozen=True, slots=True)
class Paths:
    """Rows of the subjects of a question, and what is asked of them."""

    asked: Asked  # the n rows
    frame: pd.DataFrame  # their covariates
    histories: Histories
    times: Array  # (T,)
    exclude: Any  # terms that are set to zero

    def unknown(self) -> BoolArray:
        """Times (m, T) at which the path of a subject says nothing."""
        past = self.histories
        return (self.times < past.start[past.first][:, None]) | (self.times > past.stop[past.last][:, None])


def read_subjects(id: Any, data: Frame) -> npt.NDArray[Any]:
    """The subject of each row, by the column that names them."""
    check_subject_name(id, column_names(data))
    column = pd.Series(data[id])
    if column.isna().any():
        raise DataError(f"The column {id!r} is missing in {int(column.isna().sum())} rows, and each needs one.")
    return column.to_numpy()


def check_subject_name(id: Any, columns: Collection[Any]) -> None:
    """Refuse what names no column."""
    if not isinstance(id, str) or id not in columns:
        given = f"={id!r}" if isinstance(id, Hashable) else f"= is a {type(id).__name__}"
        raise SpecError(f"id{given}: the name of the column that tells the subject of each row is needed.")


def holds_parts(subject: npt.NDArray[Any]) -> bool:
    """Whether rows are parts of the time of subjects, some of whom have several."""
    return len(pd.unique(subject)) < len(subject)


def check_order(subject: Any, risk: AtRisk, labels: Any, *, from_zero: bool) -> None:
    """Refuse rows of a subject that overlap, that leave gaps or, where it matters, begin late or differ in weight."""
    check_subjects(subject, risk, labels)
    frame = pd.DataFrame({"id": subject, "start": risk.entry, "stop": risk.exit, "weight": risk.weight, "row": labels})
    frame = frame.sort_values(["id", "start"], kind="stable")
    again = frame["id"].eq(frame["id"].shift())
    before = frame["stop"].shift()
    checks = [
        (
            again & (frame["start"] - before > SAME_TIME * before),
            "has a gap in time before it, or a row was left out there",
        ),
        (again & (frame["weight"] != frame["weight"].shift()), "differs in its weight from the row before"),
    ]
    if from_zero:
        checks.insert(0, (~again & (frame["start"] > 0.0), "does not begin at time 0"))
    for wrong, words in checks:
        if wrong.any():
            row, of = frame["row"][wrong].iloc[0], frame["id"][wrong].iloc[0]
            rest = f"; {_LATE}" if from_zero and "weight" not in words else ""
            raise DataError(f"Row {row} of id={of} {words}{rest}.")


def read_paths(
    results: Results, df: Frame | None, times: Array, id: Any, exclude: Any, *, from_zero: bool
) -> tuple[Paths, pd.Index, BoolArray]:
    """Rows of new data as paths, with the names of all subjects and which of them have values in all rows."""
    if df is None:
        raise SpecError("id= takes df=, rows of subjects with the columns of Surv(start, stop, event) but the event.")
    parts, frame = results.parts, pd.DataFrame(df)
    subject, (start, stop) = read_subjects(id, frame), _read_ends(results, frame)
    asked = ask(parts, frame, exclude)
    code, names = pd.factorize(subject)
    known = asked.usable & ~np.isnan(start) & ~np.isnan(stop)
    whole = ~np.isin(np.arange(len(names)), code[~known])
    rows = whole[code]
    one = np.ones(rows.sum())
    risk = AtRisk(start[rows], stop[rows], np.zeros(rows.sum(), dtype=bool), one)
    late = risk.exit <= risk.entry
    if late.any():
        raise DataError(f"Row {frame.index[rows][late][0]} ends at {risk.exit[late][0]:g}, not after its start.")
    check_order(subject[rows], risk, frame.index[rows], from_zero=from_zero)
    histories = Histories.of(np.unique(code[rows], return_inverse=True)[1], risk.entry, risk.exit)
    own = frame[list(parts.state.input_names)][rows]
    return Paths(asked.among(rows[asked.usable]), own, histories, times, exclude), pd.Index(names, name=id), whole


def _read_ends(results: Results, frame: pd.DataFrame) -> tuple[Array, Array]:
    """Start, from time 0 on, and stop of rows, NaN where they are missing."""
    spec = results.parts.spec
    if spec.response.kind != "surv" or spec.truncation is None:
        raise SpecError(f"id= is of rows from start to stop, and this fit was written {spec.response.label}.")
    names = spec.names("window", "response")
    lacking = [name for name in names if name not in frame.columns]
    if lacking:
        raise SpecError(f"id= needs the start and stop of each row; the new data lack {', '.join(map(repr, lacking))}.")
    table = read_table(frame, names)
    start, stop = (evaluate(of, table) for of in (spec.truncation.lower, spec.response.value) if of is not None)
    return np.maximum(start, 0.0), stop


def along_paths(
    results: Results, of: str, df: Frame | None, times: Array, id: Any, level: float | None, exclude: Any
) -> tuple[pd.Index, BoolArray, dict[str, Array]]:
    """One of ``CURVES`` of each subject, (m, T), NaN where its path says nothing; names of all and which are known."""
    paths, names, whole = read_paths(results, df, times, id, exclude, from_zero=results._from_zero)
    with np.errstate(all="ignore"):
        made = results._along(of, paths, level)
    unknown = paths.unknown()
    return names, whole, {name: np.where(unknown, np.nan, values) for name, values in made.items()}
