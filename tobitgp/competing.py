"""Fit competing risks: a model of each cause, to which events of the others are censoring."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.errors import DataError, FormulaError, SpecError, user_level
from tobitgp.formula.competing_risks import Cause, CauseFormula, read_causes
from tobitgp.hazards import HazardModel, is_hazards, open_model
from tobitgp.likelihoods import Family
from tobitgp.model import Model
from tobitgp.options import choose_family
from tobitgp.results.competing.competing_parts import CompetingParts, SeenCauses
from tobitgp.results.competing.competing_results import CompetingRisksResults
from tobitgp.results.hazards.cells import PH, baseline_size
from tobitgp.start_stop import StartStopModel
from tobitgp.typing import Frame

CENSORED = "censored"
_CODES = "causes are whole numbers (0: censored), text ('censored') or categories (the first: censored)"


class Competing:
    """Formulas of competing risks that have met their data."""

    def __init__(self, written: Mapping[Cause | None, CauseFormula], data: Any):
        self.written, self.data = written, data
        first = next(iter(written.values()))
        self.column = first.column
        self.causes, self.censored = read_levels(data[first.column], first)

    def formulas(self) -> dict[Cause, str]:
        """The formula of every cause."""
        if None in self.written:
            return {cause: self.written[None].of(cause) for cause in self.causes}
        return {cause: self.of(cause, self.written, "formula").of(cause) for cause in self.causes}

    def of(self, cause: Cause, given: Mapping[Any, Any], name: str) -> Any:
        """What was given for a cause."""
        unknown = [key for key in given if key not in self.causes]
        if unknown or cause not in given:
            listed, wrong = ", ".join(map(repr, self.causes)), unknown[0] if unknown else cause
            words = f"has {wrong!r}, which is none of them" if unknown else f"lacks {wrong!r}"
            raise SpecError(f"{name}= by cause {words}; the causes of {self.column!r} are {listed}.")
        return given[cause]

    def open(self, **reading: Any) -> dict[Cause, Model | HazardModel]:
        """The model of every cause, with what :class:`~tobitgp.Model` is asked for; warns once of what all warn of."""
        if reading.get("censored", "model") != "model":
            raise SpecError("censored= does not go with competing risks: events of other causes are censoring.")
        taken = next((cause for cause in self.causes if cause in (CENSORED, "dropped")), None)
        if taken is not None:
            raise DataError(
                f"A cause of {self.column!r} is called {taken!r}, as counts call rows without an event or left out; "
                f"rename it, or say which value means censored if {self.censored!r} does not."
            )
        family, cure, models = reading.pop("family", "gaussian"), reading.pop("cure", None), {}
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            for cause, formula in self.formulas().items():
                own = self.of(cause, family, "family") if isinstance(family, Mapping) else family
                cured = self.of(cause, cure, "cure") if isinstance(cure, Mapping) else cure
                model = models[cause] = open_model(formula, self.data, family=own, cure=cured, **reading)
                if reading.get("id") is not None and isinstance(model, StartStopModel):
                    raise SpecError("id= of competing risks goes with family='ph'.")
                if len(self.causes) > 1:
                    _check(model, own, cause, self.column)
        for category, message in dict.fromkeys((note.category, str(note.message)) for note in caught):
            warnings.warn(message, category, stacklevel=user_level())
        return models

    def fit(self, *, reading: Mapping[str, Any], fitting: Mapping[str, Any]) -> CompetingRisksResults | Any:
        """Fit every cause, with what :class:`~tobitgp.Model` and its ``fit`` are asked for; one alone as it is."""
        models = self.open(**reading)
        fits = {cause: model.fit(**fitting) for cause, model in models.items()}
        if len(fits) == 1:
            return fits[self.causes[0]]
        formulas = tuple(dict.fromkeys(written.formula for written in self.written.values()))
        seen = SeenCauses.of([model.training for model in models.values()])
        events = {cause: int((seen.code == k).sum()) for k, cause in enumerate(self.causes, 1)}
        rest = {CENSORED: int((seen.code == 0).sum()), "dropped": int((~seen.kept).sum())}
        counts = pd.Series([*events.values(), *rest.values()], index=pd.Index([*events, *rest], dtype=object))
        return CompetingRisksResults(CompetingParts(formulas, self.column, self.censored, fits, counts, seen))


def open_competing(formula: Any, data: Frame) -> Competing | None:
    """Formulas whose event is a column of causes; None of all others."""
    by_cause = isinstance(formula, Mapping)
    written = {cause: read_causes(text) for cause, text in (formula if by_cause else {None: formula}).items()}
    shared = {one and (one.times, one.column, one.censored, one.all_seen) for one in written.values()}
    if by_cause and (len(shared) != 1 or None in shared):
        raise FormulaError(
            "formula= by cause holds a formula for each, all with the same Surv(time, cause) left of '~'"
        )
    first = next(iter(written.values()))
    if first is None:
        return None
    if not isinstance(data, pd.DataFrame | Mapping) or first.column not in data:
        if by_cause or first.censored is not None or first.all_seen:
            raise SpecError(
                f"Competing risks are fitted in memory: a DataFrame with a column {first.column!r} is needed."
            )
        return None
    try:
        frame = pd.DataFrame(data)
        several = holds_causes(frame[first.column]) or first.censored is not None or first.all_seen
    except (TypeError, ValueError, AttributeError):  # no table of columns, which Model says in words
        return None
    return Competing(written, frame) if several or by_cause else None  # type: ignore[arg-type]


def holds_causes(column: pd.Series[Any]) -> bool:
    """Whether a column of events holds several causes, or one in words beside 'censored'."""
    present = column.dropna().infer_objects()
    if pd.api.types.is_bool_dtype(present) or present.nunique() < 2:
        return False
    if pd.api.types.is_numeric_dtype(present):
        return present.nunique() > 2 and _are_codes(present)
    if isinstance(present.dtype, pd.CategoricalDtype) and not (present == present.cat.categories[0]).any():
        return True  # the first category means censored, and nobody was
    return present.nunique() > 2 or CENSORED in present.to_numpy(dtype=object)


def _are_codes(values: pd.Series[Any]) -> bool:
    """Whether numbers are whole and not negative."""
    numbers = values.to_numpy(dtype=np.float64)
    return bool(((numbers >= 0.0) & (numbers % 1.0 == 0.0)).all())


def read_levels(column: pd.Series[Any], written: CauseFormula) -> tuple[tuple[Cause, ...], Cause | None]:
    """Causes in a column, and its value of censored rows, None where nobody is said to be censored."""
    name, given = written.column, written.censored
    present, known = pd.Series(column).dropna().infer_objects(), list[Any]()
    if isinstance(present.dtype, pd.CategoricalDtype):
        known = list(present.cat.categories)
        levels = [level for level in known if (present == level).any()]
        if given is None and not written.all_seen and CENSORED in known[1:]:
            raise DataError(
                f"The first category of {name!r}, {known[0]!r}, would mean censored, and {CENSORED!r} is another one; "
                f"write Surv({written.times}, {written.written}, censored={CENSORED!r})."
            )
        censored = known[0] if given is None else given
    elif pd.api.types.is_numeric_dtype(present):
        values = np.unique(present.to_numpy(dtype=np.float64))
        if not _are_codes(present):
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
            f"No row of {name!r}, which holds {listed or 'nothing'}, is {censored!r}, which means censored; say which "
            f"value does, as in {call}{(known or levels or [0])[0]!r}), or that nobody was censored, as in {call}None)."
        )
    causes = tuple(level for level in levels if level != censored)
    if not causes:
        raise DataError(f"Every row of {name!r} is {censored!r}, which means censored.")
    return causes, censored


def _plain(value: Any) -> Any:
    """A value of numpy as one of Python."""
    return value.item() if isinstance(value, np.generic) else value


def _check(model: Model | HazardModel, family: Any, cause: Cause, column: str) -> None:
    """Refuse what has no hazard of a cause, and a cause with fewer events than parameters."""
    if model.spec.mixture is not None:
        raise SpecError("A mixture does not go with competing risks; leave mixture() out.")
    columns, scale = len(model.training.state.linear.columns), 0
    if not is_hazards(family):
        chosen = choose_family(family, model.spec)
        assert isinstance(chosen, Family)
        if not chosen.log_time:
            raise SpecError(
                f"Competing risks take a family of positive times, as 'weibull', or 'ph', not {chosen.name!r}."
            )
        scale = int(chosen.name != "exponential")
    elif isinstance(family, PH):
        scale = baseline_size(family) + (family.frailty is not None)
    response = model.training.response
    events = int((response.lower == response.upper).sum())
    if events < columns + scale:
        raise DataError(
            f"The cause {cause!r} of {column!r} has {events} events, fewer than the {columns + scale} parameters of "
            "its model; join it to another cause, or give it fewer terms by formula={cause: ...}."
        )
