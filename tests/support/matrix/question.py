"""What a question is: how it is asked, for which fits it has no meaning, and what shape its answer has."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from .fits import Case, Entry
from .reasons import Reason

Ask = Callable[[Case], Any]
Check = Callable[[Case, Any], str]


@dataclass(frozen=True)
class Of:
    """An argument that the case supplies: its new rows, times, paths or folder."""

    name: str
    file: str = ""

    def value(self, case: Case) -> Any:
        found = getattr(case, self.name)
        return found / self.file if self.file else found


NEW, NO_ROWS, TIMES, PATHS = Of("new"), Of("no_rows"), Of("times"), Of("paths")


@dataclass(frozen=True)
class Result:
    """An attribute of the fitted results, called where it is a method."""

    name: str
    args: tuple[Any, ...] = ()
    options: dict[str, Any] = field(default_factory=dict)

    def __call__(self, case: Case) -> Any:
        found = getattr(case.res, self.name)
        args = [_given(case, arg) for arg in self.args]
        options = {name: _given(case, arg, name) for name, arg in self.options.items()}
        return found(*args, **options) if callable(found) else found


def _given(case: Case, arg: Any, option: str = "") -> Any:
    if isinstance(arg, Of):
        return arg.value(case)
    return case.asked(arg, option) if isinstance(arg, str) else arg


def result(name: str, *args: Any, **options: Any) -> Result:
    return Result(name, args, options)


def any_shape(case: Case, found: Any) -> str:
    return ""


@dataclass(frozen=True)
class Question:
    """A public question: `reasons` say why it has no meaning for some fits, `check` what is wrong with an answer."""

    name: str
    call: Ask
    reasons: tuple[Reason, ...] = ()
    check: Check = any_shape
    asked_without_meaning: bool = True

    def reason(self, entry: Entry) -> Reason | None:
        return next((reason for reason in self.reasons if reason.holds(entry.known)), None)


def new_rows(case: Case, found: Any) -> str:
    """A row for each new row, with its label."""
    index = list(found.index)
    return "" if index == list(case.new.index) else f"{len(index)} rows {index[:4]}, for {len(case.new)} new rows"


def no_rows(case: Case, found: Any) -> str:
    """No row, or in curves no column; a mixture has one curve for all rows."""
    empty = 0 in np.shape(found) or case.entry.kind == "mixture"
    return "" if empty else f"shape {np.shape(found)} for no rows"


def training_rows(case: Case, found: Any) -> str:
    return "" if len(found) == len(case.train) else f"{len(found)} rows, {len(case.train)} in the data"


def bands(case: Case, found: Any) -> str:
    names = set(found.columns.get_level_values(-1)) if isinstance(found, pd.DataFrame) else set()
    return new_rows(case, found) or ("" if {"lower", "upper"} <= names else f"no bands, but {sorted(map(str, names))}")


def curves(case: Case, found: Any) -> str:
    """A row for each time, and columns for each new row; a mixture has one curve for all rows."""
    if case.entry.kind == "mixture":
        return ""
    index, columns = list(found.index), len(found.columns)
    if index != list(case.times):
        return f"index {index}, not the times"
    return "" if columns % len(case.new) == 0 else f"{columns} columns for {len(case.new)} rows"


def finite(case: Case, found: Any) -> str:
    return "" if np.isfinite(np.asarray(found, dtype=float)).all() else "not finite"
