"""Calls of competing risks: a fit of each cause, to which events of the others are censoring."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.errors import DataError, FormulaError, SpecError, user_level
from tobitgp.formula.competing_risks import Cause, CauseFormula
from tobitgp.formula.parse import as_written
from tobitgp.kinds.call import Call, Rows
from tobitgp.kinds.cause_columns import CENSORED, are_codes, written_causes
from tobitgp.kinds.kind import Claim, Kind, claimed
from tobitgp.options import FitOptions
from tobitgp.results.competing.competing_parts import CompetingParts, SeenCauses
from tobitgp.results.competing.competing_results import CompetingRisksResults

_CODES = "causes are whole numbers (0: censored), text ('censored') or categories (the first: censored)"


@dataclass(frozen=True)
class RowsByCause(Rows):
    """The rows of every cause, and what fits them; the other fields are those of the first cause."""

    formulas: tuple[str, ...]  # as written, one for all causes or one for each
    column: str  # of the causes
    censored: Cause | None  # its value of a censored row
    by_cause: Mapping[Cause, tuple[Kind, Rows]]

    @property
    def training(self) -> SeenCauses:  # type: ignore[override]
        return SeenCauses.of([rows.training for _, rows in self.by_cause.values()])

    @property
    def has_causes(self) -> bool:
        return True

    @property
    def formula(self) -> str:
        return "\n".join(self.formulas)

    @property
    def shown(self) -> str:
        return self.formula

    @property
    def counts(self) -> dict[Any, int]:
        seen = self.training
        events = {cause: int((seen.code == k).sum()) for k, cause in enumerate(self.by_cause, 1)}
        return {**events, CENSORED: int((seen.code == 0).sum()), "dropped": int((~seen.kept).sum())}

    @property
    def counted(self) -> str:
        *events, censored, dropped = self.counts.items()
        seen = ", ".join(f"{number} of {cause}" for cause, number in events)
        return f"{seen}; {censored[1]} censored, {dropped[1]} dropped"


@dataclass(frozen=True)
class Causes(Kind):
    """``Surv(time, cause)`` with a column of causes, each of which has a model of one of these kinds."""

    claims: tuple[Claim, ...]
    by_cause = True

    def read(self, call: Call) -> Rows | RowsByCause:
        """The rows of all causes, or those of one alone; warns once of what all warn of."""
        why = "is not supported with competing risks: events of other causes are censoring."
        call.refuse(("censored",), why)
        found = written_causes(call)
        assert found is not None
        written, data = found
        first = next(iter(written.values()))
        causes, censored = read_levels(data[first.column], first)
        taken = next((cause for cause in causes if cause in (CENSORED, "dropped")), None)
        if taken is not None:
            raise DataError(
                f"A cause of {first.column!r} is called {taken!r}, a name that is reserved for rows without an "
                f"event or rows left out. Rename it, or use censored= if {censored!r} does not mean censored."
            )
        by_cause = {}
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for cause in causes:
                text = written.get(None) or _of(cause, causes, written, "formula", first.column)
                given = {
                    name: _of(cause, causes, value, name, first.column) if isinstance(value, Mapping) else value
                    for name, value in (("family", call.family), ("cure", call.cure))
                }
                own = replace(call, formula=text.of(cause), data=data, **given)
                kind, own = claimed(own, self.claims)
                try:
                    by_cause[cause] = kind, kind.read(own)
                except FormulaError as error:
                    raise as_written(error, text.formula) from None
                if own.id is not None and not kind.hazards:
                    raise SpecError("id= with competing risks requires family='ph'.")
                if len(causes) > 1:
                    _size(*by_cause[cause])
        for category, message in dict.fromkeys((note.category, str(note.message)) for note in caught):
            warnings.warn(message, category, stacklevel=user_level())
        _, rows = by_cause[causes[0]]
        read = rows.spec, rows.family, rows.read, rows.frame, rows.columns
        formulas = tuple(dict.fromkeys(each.formula for each in written.values()))
        return RowsByCause(call, *read, formulas, first.column, censored, by_cause)

    def fit(self, rows: RowsByCause, asked: FitOptions) -> Any:
        if len(rows.by_cause) > 1:
            for cause, (kind, own) in rows.by_cause.items():
                _check_events(kind, own, cause, rows.column)
        fits = {cause: kind.fit(own, asked) for cause, (kind, own) in rows.by_cause.items()}
        if len(fits) == 1:
            return next(iter(fits.values()))
        numbers = rows.counts
        counts = pd.Series([*numbers.values()], index=pd.Index([*numbers], dtype=object))
        return CompetingRisksResults(
            CompetingParts(rows.formulas, rows.column, rows.censored, fits, counts, rows.training)
        )


def _of(cause: Cause, causes: tuple[Cause, ...], given: Mapping[Any, Any], name: str, column: str) -> Any:
    """The argument given for a cause."""
    unknown = [key for key in given if key not in causes]
    if unknown or cause not in given:
        listed, wrong = ", ".join(map(repr, causes)), unknown[0] if unknown else cause
        words = f"has {wrong!r}, which is not a cause" if unknown else f"lacks {wrong!r}"
        raise SpecError(f"{name}= by cause {words}; the causes of {column!r} are {listed}.")
    return given[cause]


def read_levels(column: pd.Series[Any], written: CauseFormula) -> tuple[tuple[Cause, ...], Cause | None]:
    """Causes in a column, and its value of censored rows, None where no one is said to be censored."""
    name, given = written.column, written.censored
    present, known = pd.Series(column).dropna().infer_objects(), list[Any]()
    if isinstance(present.dtype, pd.CategoricalDtype):
        known = list(present.cat.categories)
        levels = [level for level in known if (present == level).any()]
        if given is None and not written.all_seen and CENSORED in known[1:]:
            raise DataError(
                f"The first category of {name!r}, {known[0]!r}, would mean censored, but {CENSORED!r} is "
                f"another category. Write Surv({written.times}, {written.written}, censored={CENSORED!r})."
            )
        censored = known[0] if given is None else given
    elif pd.api.types.is_numeric_dtype(present):
        values = np.unique(present.to_numpy(dtype=np.float64))
        if not are_codes(present):
            listed = ", ".join(f"{value:g}" for value in values[:6])
            raise DataError(f"The column {name!r} must hold causes, not {listed}; {_CODES}.")
        levels, censored = [int(value) for value in values], 0 if given is None else given
    else:
        levels, censored = sorted(present.unique(), key=str), CENSORED if given is None else given
    levels, censored = [_plain(level) for level in levels], _plain(censored)
    if not all(isinstance(level, str | int) for level in levels):
        raise DataError(f"The event column {name!r} holds {levels[0]!r}; {_CODES}.")
    if written.all_seen:
        censored = None
    elif censored not in (known or levels) and given not in (0, CENSORED):
        listed, call = ", ".join(map(repr, levels[:6])), f"Surv({written.times}, {written.written}, censored="
        raise DataError(
            f"No row of {name!r}, which holds {listed or 'nothing'}, is {censored!r}, which means censored. "
            f"Give the value that does, as in {call}{(known or levels or [0])[0]!r}), or that no row is "
            f"censored, as in {call}None)."
        )
    causes = tuple(level for level in levels if level != censored)
    if not causes:
        raise DataError(f"Every row of {name!r} is {censored!r}, which means censored.")
    return causes, censored


def _plain(value: Any) -> Any:
    """A value of numpy as one of Python."""
    return value.item() if isinstance(value, np.generic) else value


def _size(kind: Kind, rows: Rows) -> int:
    """Number of parameters of the model of a cause; an error for what has no hazard."""
    if rows.spec.mixture is not None:
        raise SpecError("Competing risks do not support mixtures. Leave mixture() out.")
    return len(rows.training.state.linear.columns) + kind.baseline_size(rows)


def _check_events(kind: Kind, rows: Rows, cause: Cause, column: str) -> None:
    """Raise an error for a cause with fewer events than parameters, which has an incidence but no fit."""
    size, response = _size(kind, rows), rows.training.response
    events = int((response.lower == response.upper).sum())
    if events < size:
        raise DataError(
            f"The cause {cause!r} of {column!r} has {events} event{'s' * (events != 1)}, fewer than the {size} "
            "parameters of its model. Join it to another cause, or give it fewer terms by formula={cause: ...}."
        )
