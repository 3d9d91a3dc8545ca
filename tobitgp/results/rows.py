"""Which rows a question is about, which of them can be done, and under which labels."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from tobitgp.data.arrays import CensoredResponse, Design
from tobitgp.data.censored_response import UNKNOWN_LIMITS, build_response, unknown_rows
from tobitgp.data.columns import known_inputs
from tobitgp.data.spellings import spell_numbers
from tobitgp.data.table import Table, column_names, read_table
from tobitgp.errors import SpecError
from tobitgp.results.terms import check_levels, fill_columns, find_terms, without, without_in_components
from tobitgp.results.views import Source
from tobitgp.typing import Array, BoolArray, Frame, IntArray


class Limits(NamedTuple):
    """Limits at which values are clipped in n rows, and the window outside which none is seen, infinite without."""

    lower: Array  # (n,) each, on the scale of the response
    upper: Array
    entry: Array
    exit: Array

    @property
    def ends(self) -> tuple[Array, Array]:
        """Ends between which values are shown."""
        return np.fmax(self.lower, self.entry), np.fmin(self.upper, self.exit)

    def rows(self, at: slice) -> Limits:
        """Some of the rows."""
        return Limits(*(end[at] for end in self))


def no_limits(n: int) -> Limits:
    """Rows without limits and window."""
    open_ends = np.full(n, -np.inf), np.full(n, np.inf)
    return Limits(*open_ends, *open_ends)


@dataclass(frozen=True, slots=True)
class Labelled:
    """Rows of new or training data, n of which can be used."""

    index: pd.Index
    usable: BoolArray  # (n_data,)

    def spread(self, values: Array) -> Array:
        """Values (n, ...) of the usable rows among all rows, NaN elsewhere."""
        out = np.full((len(self.usable), *values.shape[1:]), np.nan)
        out[self.usable] = values
        return out

    def table(self, columns: dict[str, Array]) -> pd.DataFrame:
        """Columns (n,) of the usable rows under the labels of all, NaN elsewhere."""
        return pd.DataFrame({name: self.spread(values) for name, values in columns.items()}, index=self.index)

    @property
    def labels(self) -> pd.Index:
        """Labels of the usable rows."""
        return self.index[self.usable]


@dataclass(frozen=True, slots=True)
class Asked(Labelled):
    """Rows and their design."""

    design: Design  # of the n usable rows, excluded terms set to zero
    limits: Callable[[], Limits]  # gives the limits and the window of the usable rows, or says why they are unknown
    skip: frozenset[int]  # blocks of features that are zero
    covariates: Callable[[], tuple[pd.DataFrame, BoolArray]]  # columns of some rows (n_data,), and which these are
    excluded: Any = ()  # terms that are set to zero, by name

    @property
    def frame(self) -> pd.DataFrame:
        """Input columns of the n usable rows; those that excluded terms alone use hold some value."""
        frame, rows = self.covariates()
        return frame[self.usable[rows]]

    def among(self, known: BoolArray) -> Asked:
        """Some of the n usable rows; the others count as not usable."""
        usable = self.usable.copy()
        usable[usable] = known
        return replace(self, design=self.design.rows(known), usable=usable)


def ask(parts: Source, new: Frame | None = None, exclude: Any = (), *, instead: str = "", terms: bool = False) -> Asked:
    """Rows of new data, or without any those of the training data."""
    excluded = find_terms(parts, exclude)
    if new is None:
        training = parts.rows
        design, usable, index = training.design, training.kept, training.index
        covariates = partial(_training_frame, parts)
    else:
        filled = fill_columns(parts, new, excluded, location=terms) if excluded or terms else new
        design, usable = parts.state.replay(filled)
        index = read_table(filled, []).index
        covariates = partial(_new_frame, parts, filled, len(usable))
    skip: frozenset[int] = frozenset()
    if excluded:
        if not terms:
            check_levels(parts, excluded)
        design, skip = without(without_in_components(parts, design, excluded), excluded)
    return Asked(index, usable, design, partial(_limits, parts, new, usable, instead), skip, covariates, exclude)


def _training_frame(parts: Source) -> tuple[pd.DataFrame, BoolArray]:
    assert parts.covariates is not None
    return parts.covariates, parts.rows.kept


def _new_frame(parts: Source, new: Frame, n: int) -> tuple[pd.DataFrame, BoolArray]:
    frame = pd.DataFrame(known_inputs(parts.spec, new), index=None)
    return frame[list(parts.state.input_names)], np.ones(n, dtype=np.bool_)


def limits_of(response: CensoredResponse) -> Limits:
    """Limits and windows of training rows."""
    return Limits(response.limit_lower, response.limit_upper, response.entry, response.exit)


def _limits(parts: Source, new: Frame | None, usable: BoolArray, instead: str) -> Limits:
    """Limits and windows of the usable rows of new data, or without any of the training data."""
    _check_known(parts, instead)
    if new is None:
        return limits_of(parts.rows.response)
    return Limits(*parts.state.limits(new, usable), *parts.state.window(new, usable))


def _check_known(parts: Source, instead: str = "") -> None:
    if not parts.facts.limits_known:
        raise SpecError(f"{UNKNOWN_LIMITS}{instead and f', or use {instead}'}.")


def mean_limits(parts: Source) -> Limits:
    """Weighted means of the limits and windows of the training rows, as one row."""
    _check_known(parts)
    return Limits(*(np.full(1, end) for end in (*parts.facts.mean_limits, *parts.facts.mean_window)))


def what_was_seen(parts: Source, new: Frame, asked: str = "what='conditional'") -> Table:
    """Columns of the response, the censoring and the window, which what is ``asked`` needs."""
    names = parts.spec.names("response", "event", "bound", "limit", "window")
    lacking = [name for name in names if name not in set(column_names(new))]
    if lacking:
        raise SpecError(
            f"{asked} requires the response of each row. The new data lack {', '.join(map(repr, lacking))}."
        )
    spelled = spell_numbers(new, parts.spec.names("response")) if parts.spec.response.kind == "text" else new
    return read_table(spelled, names)


class Scored(NamedTuple):
    """Rows of which something is known."""

    asked: Asked  # the m rows
    response: CensoredResponse  # of these


def response_of_rows(parts: Source, new: Frame | None, asked: Asked, needed_by: str = "what='conditional'") -> Scored:
    """The usable rows with an observed or censored response, and that response."""
    if new is None:
        return Scored(asked, parts.rows.response)
    table = what_was_seen(parts, new, needed_by).take(asked.usable)
    known = ~unknown_rows(parts.spec, table)
    table = table.take(known)
    return Scored(asked.among(known), build_response(parts.spec, table, np.ones(table.n)))


def read_scored(parts: Source, df: Frame, needed_by: str = "score()") -> Scored:
    """Read what is known about new rows, their windows too."""
    what_was_seen(parts, df, needed_by)
    scored = response_of_rows(parts, df, ask(parts, df), needed_by)
    if not scored.asked.usable.any():
        raise SpecError(f"{needed_by} requires rows with an observed or censored response, and these data have none.")
    return scored


class Scores(NamedTuple):
    """Rows with an observed or censored response, to be scored."""

    known: BoolArray  # (n_data,), which rows these are, m of them
    lower: Array  # (m,), end of the response
    upper: Array  # (m,), end of the response
    entry: Array  # (m,), from when on it could have been seen
    values: Array  # (m,), log likelihoods, or predicted medians


_DECIMALS = 6  # of predictions, which depend on the order of the rows by rounding errors


class RowContents(NamedTuple):
    """An order of n training rows that only depends on what is known about them, and which of them are equal."""

    order: IntArray  # (n,), positions
    code: IntArray  # (n,), of each row; the same where rows are equal in everything


def row_contents(parts: Source, *predicted: Array) -> RowContents:
    """Rows ordered by ends and windows of the response, then covariates, then predictions (n,) of them."""
    response = parts.rows.response
    known = [response.lower, response.upper, response.entry, response.exit]
    frame = parts.covariates if parts.covariates is not None else pd.DataFrame(index=range(len(response.lower)))
    values: list[Any] = [
        *known,
        *(column for _, column in frame.items()),
        *(np.round(each, _DECIMALS) for each in predicted),
    ]
    ranks = np.stack([pd.factorize(each, sort=True)[0] for each in values])
    order = np.lexsort(ranks[::-1])
    differs = (np.diff(ranks[:, order], axis=1) != 0).any(axis=0)
    code = np.empty(len(order), dtype=np.intp)
    code[order] = np.append(0, np.cumsum(differs))
    return RowContents(order, code)
