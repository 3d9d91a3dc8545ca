"""Contents of the summary of a fit, as data: a title, facts, tables and notes, defined by each kind of fit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from tobitgp.errors import SpecError

LabelledValues = list[tuple[str, str]]  # label and value
NoteSubject = Literal["warning", "rows", "scale", "coefficients", "parameters", "errors", "predictions"]
SUBJECTS: tuple[NoteSubject, ...] = get_args(NoteSubject)  # the order of notes
Notes = Sequence[tuple[NoteSubject, str]]

CENSORED = ["left", "right", "interval"]
ROBUST = {
    "HC0": "heteroscedasticity-consistent (HC0)",
    "HC1": "heteroscedasticity-consistent (HC1)",
    "cluster": "clustered",
}
HAZARD, ODDS = "exp(coef)", "odds ratio"  # names of ratios, as columns have them
METHODS = {  # as summaries write them
    "mle": "maximum likelihood",
    "em": "maximum likelihood (em)",
    "ep": "expectation propagation (ep)",
    "vi": "variational inference (vi)",
    "laplace": "Laplace approximation",
    "vbcm": "variational Bayes (vbcm)",
    "svbcm": "stochastic VB (svbcm)",
}
NOT_FINAL = "No number here is final."


class SummaryTable(NamedTuple):
    """Parameters of one type, one per row.

    The numbers of a row are an estimate, its standard error, z, its p-value and the ends of an interval. Four numbers
    leave out z and the p-value; three numbers also leave out the standard error, and one is an estimate alone. Other
    columns are named, and may contain text.
    """

    heading: str  # what its rows are
    rows: Sequence[tuple[str, Sequence[float | str]]]
    estimate: str = "coef"  # heading of the first column
    unknown: Mapping[str, str] = {}  # what replaces a standard error that is not known, by the name of the row
    columns: Sequence[str] = ()  # behind the first; by default those of estimates
    last: tuple[str, Mapping[str, str]] = ("", {})  # heading and cells of a column behind the others


@dataclass(frozen=True, slots=True)
class Words:
    """A title, facts of this kind of fit, tables and notes; facts that all kinds have are added by `summarise`."""

    title: str
    facts: LabelledValues
    tables: Sequence[SummaryTable]
    notes: Notes
    formulas: Mapping[str, str] = field(default_factory=dict)  # in addition to that of the model
    details: LabelledValues = field(default_factory=list)  # of the computation, shown on request
    tested: LabelledValues = field(default_factory=list)  # a test of the whole model
    evidence: float | None = None  # where it is not the log evidence of the results
    effective: bool = False  # whether the number of parameters is an effective one
    of_ratios: str = ""  # what hazard or odds ratios are, if a table of these is requested
    counts: Mapping[str, Any] | None = None  # of rows, where they are not those of the results
    counted: str = ""  # what these are, where they are not observations
    family: str = ""  # where it is not the name of the family
    response: str = ""  # name to print for the response


def renamed(words: Words, results: Any, yname: str | None, xname: Sequence[str] | None, title: str | None) -> Words:
    """The words with other names for the response and for the parameters, or the coefficients alone, and a title."""
    for argument, given in (("yname", yname), ("title", title)):
        if given is not None and not isinstance(given, str):
            raise SpecError(f"{argument}={given!r}: must be a text.")
    if title is not None:
        words = replace(words, title=title)
    if yname is not None:
        words = replace(words, response=yname)
    if xname is None:
        return words
    names = next((of for of in (results._names, results._columns) if _is_list(xname) and len(xname) == len(of)), None)
    if names is None:
        known = ", ".join(map(str, results._names))
        raise SpecError(f"xname={xname!r}: must be a list of {len(results._names)} names, for {known}.")
    others = dict(zip(map(str, names), map(str, xname), strict=True))
    tables = [t._replace(rows=[(others.get(name, name), of) for name, of in t.rows]) for t in words.tables]
    return replace(words, tables=tables)


def _is_list(given: Any) -> bool:
    return isinstance(given, list | tuple | np.ndarray)


def noted(subject: NoteSubject, texts: Iterable[str]) -> Notes:
    """Notes on one subject."""
    return [(subject, text) for text in texts]


def rows_of(frame: Any, columns: slice = slice(None)) -> list[tuple[str, Any]]:
    """Names and numbers of the rows of a table."""
    return list(zip(map(str, frame.index), frame.to_numpy()[:, columns], strict=True))


def untested(rows: Iterable[tuple[str, Any]]) -> list[tuple[str, Any]]:
    """Rows without z and its tail."""
    return [(name, np.asarray(row)[[0, 1, 4, 5]]) for name, row in rows]


def tail(p: float) -> str:
    """A p-value in words, which is never 0."""
    return "" if np.isnan(p) else "<0.001" if p < 0.0005 else f"{p:.3f}"


def not_converged(message: str) -> str:
    """The note on a fit that did not converge."""
    return f"NOT CONVERGED: {message} {NOT_FINAL}"
