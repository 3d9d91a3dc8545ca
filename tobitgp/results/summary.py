"""Parts of the summaries of all kinds of fits: a title, rows about the model and the data, tables, notes.

Names from the data are escaped in every format. Loads statsmodels; import it inside functions only.
"""

from __future__ import annotations

import csv
import html
import io
import itertools
import re
import textwrap
from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from statsmodels.iolib.summary import Summary
from statsmodels.iolib.table import Cell, SimpleTable

from tobitgp.data.values import printable
from tobitgp.results.words import (
    CENSORED,
    HAZARD,
    METHODS,
    ODDS,
    ROBUST,
    SUBJECTS,
    LabelledValues,
    SummaryTable,
    Words,
    noted,
    tail,
    untested,
)
from tobitgp.typing import Array

WIDTH = 78

_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    **{c: f"\\{c}" for c in "&%$#_"},
}
_GAP = 2
_MANY, _LEVELS, _SHOWN = 40, 10, 3  # rows of a table, and levels of a factor, that are too many; levels that are shown
_COMPUTED = ("=", "+", "-", "@", "\t", "\r")
_RATIOS = {HAZARD: "hazard ratio", ODDS: "odds ratio"}
_RATIO_HEADINGS = ("Hazard ratios", "Odds ratios")
_NAME = 24  # characters of the name of the response


def escape_latex(text: str) -> str:
    r"""Text that LaTeX prints as it stands."""
    return "".join(_LATEX.get(c, c) for c in text)


_ESCAPES: dict[str, Callable[[str], str]] = {"html": html.escape, "latex": escape_latex}


class EscapedCell(Cell):  # type: ignore[misc]
    """A cell whose text cannot be read as markup."""

    def format(self, width: int, output_format: str = "txt", **fmt_dict: Any) -> str:
        """Text of the cell, padded, in one of statsmodels' formats."""
        twin = Cell(self)
        twin.row = self.row
        twin.data = _ESCAPES.get(output_format, str)(str(self.data))
        return str(twin.format(width, output_format=output_format, **{**fmt_dict, "replacements": {}}))


class FitSummary(Summary):  # type: ignore[misc]
    """statsmodels' Summary with a title, escaped notes, and one LaTeX tabular for each table."""

    def __init__(self, tables: Sequence[Any], notes: Sequence[str], width: int):
        super().__init__()
        self.tables, self.width = list(tables), width
        self.notes = notes = [printable(note) for note in notes]
        lines = [textwrap.fill(f"[{i}] {note}", width, subsequent_indent="    ") for i, note in enumerate(notes, 1)]
        if lines:
            self.add_extra_txt(["Notes:", *lines])

    def with_tests(self, tests: pd.DataFrame) -> FitSummary:
        """The summary with a table of joint tests of terms after its others."""
        rows = [
            [name, f"{df:.4g}", f"{chi2:.3f}", tail(p), *map(number, rest)]
            for name, (df, chi2, p, *rest) in frame_rows(tests)
        ]
        headers = ["Joint tests", "df", "chi2", "P>chi2", *tests.columns[3:]]
        table = _table(rows, "r" * len(tests.columns), self.width, headers=headers)
        note = "Joint tests: Wald tests of linear terms, Wood's test of processes, score tests of random effects."
        return FitSummary([*self.tables, table], [*self.notes, note], self.width)

    def as_html(self) -> str:
        """HTML tables, and the notes as an ordered list."""
        items = "\n".join(f"<li>{html.escape(note)}</li>" for note in self.notes)
        return "\n".join(table.as_html() for table in self.tables) + f"\nNotes:\n<ol>\n{items}\n</ol>"

    def as_latex(self) -> str:
        """LaTeX tabulars (package booktabs), and the notes below them."""
        notes = "\n\n".join(f"[{i}] {escape_latex(note)}" for i, note in enumerate(self.notes, 1))
        return "\n".join(table.as_latex_tabular() for table in self.tables) + f"\n\nNotes:\n\n{notes}\n"

    def as_csv(self) -> str:
        """Comma-separated tables and the notes, one per line; fields are quoted where necessary.

        A text that a spreadsheet would read as a formula, such as a column named ``=A1``, gets an apostrophe. Tables
        for programs (``summary_frame()``, predictions) keep their names.
        """
        out = io.StringIO()
        write = csv.writer(out, lineterminator="\n").writerow
        for table in self.tables:
            for row in table:
                write([_inert(str(cell).strip()) for cell in row.data])
        write(["Notes:"])
        for i, note in enumerate(self.notes, 1):
            write([f"[{i}] {note}"])
        return out.getvalue()


def _inert(text: str) -> str:
    """Text that no spreadsheet computes; numbers stay numbers."""
    if not text.startswith(_COMPUTED):
        return text
    try:
        float(text)
    except ValueError:
        return f"'{text}"
    return text


class Section(NamedTuple):
    """A table of a summary: texts only, the first column of names."""

    headers: list[str]  # first what its rows are
    rows: list[list[str]]


def summarise(
    results: Any, words: Words, alpha: float, ratios: Sequence[pd.DataFrame] = (), *, details: bool = False
) -> FitSummary:
    """A summary of a fit of any kind, on request with hazard or odds ratios, and with details of the computation."""
    sections, notes = [_section(table, alpha) for table in words.tables], list(words.notes)
    if ratios and not any(table.heading in _RATIO_HEADINGS for table in words.tables):
        sections += [ratio_section(table, alpha) for table in ratios]
        notes += noted("coefficients", [words.of_ratios] * bool(words.of_ratios))
    if _counted(results, words) == "rows":
        n = sum(_known(results, words).values())
        notes += noted("rows", [f"The number of observations is the sum of the weights of {n} rows."])
    if details:
        df = {"Df model:": results.df_model, "Df residuals:": results.df_resid}
        rows = [(label, f"{value:.2f}".removesuffix(".00")) for label, value in df.items()]
        sections.append(Section(["Details", ""], [list(each) for each in (*rows, *words.details)]))
    ordered = [text for subject in SUBJECTS for of, text in notes if of == subject]
    formulas = {"Formula:": "; ".join(results.formula.split("\n"))} | dict(words.formulas)
    return lay_out(words.title, _model_facts(results, words), _data_facts(results, words), sections, ordered, formulas)


def _model_facts(results: Any, words: Words) -> LabelledValues:
    """Facts about the model and its fit, in one order for all kinds."""
    response, robust = str(results.model.endog_names), str(getattr(results, "cov_type", ""))
    response = response if len(response) <= _NAME else f"{response[: _NAME - 3]}..."
    size = ("Effective df:", f"{results.df_model:.2f}") if words.effective else ("Parameters:", f"{results._n_free:g}")
    return [
        ("Dep. variable:", words.response or response),
        ("Family:", words.family or str(results.parts.family.name)),
        *words.facts,
        ("Method:", METHODS.get(results.method, results.method)),
        *[("Covariance:", robust)] * (robust in ROBUST),
        size,
        ("Converged:", "yes" if results.converged else "NO, see notes"),
    ]


def _data_facts(results: Any, words: Words) -> LabelledValues:
    """Facts about the rows, and how well the model fits them, in one order for all kinds."""
    counts, flag = _known(results, words), results.model.spec.response.flag
    events = flag is not None and flag.codes == "event" and not counts["interval"]
    what, dropped = _counted(results, words), results.counts["dropped"]
    of = {"exact": "events" if events else "uncensored"} | {kind: f"{kind}-censored" for kind in CENSORED}
    subjects = results._n_units
    found = [("No. observations:", f"{results.nobs:.10g}")]
    found += [("Subjects:", f"{subjects:.10g}")] * (subjects != results.nobs)
    found += [(f"  {of[kind]} {what}".rstrip() + ":", str(n)) for kind, n in counts.items() if n or kind == "exact"]
    found += [("Rows dropped:", str(dropped))] * bool(dropped)
    if np.isnan(results.llf):
        found += _numbers({"Log evidence:": results.log_evidence if words.evidence is None else words.evidence})
    else:
        found += _numbers({"Log-likelihood:": results.llf})
    return [*found, *words.tested, *_numbers({"AIC:": results.aic, "BIC:": results.bic})]


def _known(results: Any, words: Words) -> dict[str, int]:
    """Rows or values by censoring."""
    counts = results.counts if words.counts is None else words.counts
    return {kind: int(counts[kind]) for kind in ("exact", *CENSORED)}


def _counted(results: Any, words: Words) -> str:
    """What is counted by censoring, where these are not observations."""
    return words.counted or ("" if sum(_known(results, words).values()) == results.nobs else "rows")


def _numbers(values: dict[str, float]) -> LabelledValues:
    """Numbers by label, without those that are not defined."""
    return [(label, f"{value:.3f}") for label, value in values.items() if not np.isnan(value)]


def _section(table: SummaryTable, alpha: float) -> Section:
    """A table of texts."""
    size, (last, beside) = max((len(numbers) for _, numbers in table.rows), default=0), table.last
    if size == 6 and all(np.isnan(numbers[2]) for _, numbers in table.rows):  # nothing is tested
        table, size = table._replace(rows=untested(table.rows)), 4
    ends = interval_headers(alpha)
    usual = {6: ["std err", "z", "P>|z|", *ends], 4: ["std err", *ends], 3: ends}
    columns = [table.estimate, *(table.columns or usual.get(size, ())), *[last] * bool(last)]
    rows = []
    for name, numbers in table.rows:
        if table.columns or size == 1:
            cells = [value if isinstance(value, str) else number(value) for value in numbers]
        else:
            cells = _estimate(np.asarray(numbers, dtype=np.float64), table.unknown.get(name, "nan"))
        rows.append([name, *cells, *[beside.get(name, "")] * bool(last)])
    return Section([table.heading, *columns], rows)


def _estimate(numbers: Array, unknown: str) -> list[str]:
    """Cells of an estimate: its value, its error or why there is none, z and tail, interval, as far as it has them."""
    if len(numbers) == 3:
        value, *ends = map(number, numbers)
        return [value, "(fixed)", ""] if numbers[1] == numbers[2] == numbers[0] else [value, *ends]
    tests = len(numbers) == 6
    row = numbers if tests else np.insert(numbers, 2, [np.nan] * 2)
    return estimate_row("", row, tests=tests, unknown=unknown)[1:]


def ratio_section(ratios: pd.DataFrame, alpha: float) -> Section:
    """Table of hazard ratios or odds ratios."""
    name = _RATIOS[ratios.columns[2]]
    rows = []
    for label, (value, error, ratio, low, high, z, p) in frame_rows(ratios):
        cells = estimate_row(label, np.array([ratio, error, z, p, low, high]))
        rows.append([label, number(value), *cells[2:3], cells[1], *cells[3:]])
    return Section(
        [f"{name.capitalize()}s", "log ratio", "std err", "ratio", "z", "P>|z|", *interval_headers(alpha)], rows
    )


def lay_out(
    title: str,
    left: LabelledValues,
    right: LabelledValues,
    sections: Sequence[Section],
    notes: Sequence[str],
    formulas: dict[str, str] | None = None,
) -> FitSummary:
    """A summary of a title, formulas below it, two columns of rows, a table for each section with rows, notes."""
    head = [[*a, *b] for a, b in zip_longest(left, right, fillvalue=("", ""))]
    compact = [_compact(section) for section in sections if section.rows]
    if compact != [section for section in sections if section.rows]:
        notes = [
            *notes,
            f"Tables of more than {_MANY} rows show the first levels of a factor. Use summary_frame() for all.",
        ]
    sections = compact
    width = max(WIDTH, *(_width(_column_widths(rows)) for rows in (head, *([s.headers, *s.rows] for s in sections))))
    written = []
    for label, formula in (formulas or {}).items():
        lines = textwrap.wrap(formula.strip(), width - len(label) - 2) or [""]
        written += [[label * (i == 0), line] for i, line in enumerate(lines)]
    tables = [
        *([_table(written, "l", width, title=title)] if written else []),
        _table(head, "rlr", width, widen=(1, 3), title="" if written else title),
        *(_table(s.rows, "r" * (len(s.headers) - 1), width, headers=s.headers) for s in sections),
    ]
    return FitSummary(tables, notes, width)


def _compact(section: Section) -> Section:
    """A long table with the first rows of factors of many levels, and how many more there are."""
    if len(section.rows) <= _MANY:
        return section
    rows: list[list[str]] = []
    for factor, run in itertools.groupby(section.rows, lambda row: re.sub(r"\[.*?\]", "[...]", row[0])):
        levels = list(run)
        rows += levels[:_SHOWN] if len(levels) > _LEVELS else levels
        if len(levels) > _LEVELS:
            rows.append([f"{factor} {len(levels) - _SHOWN} more", *[""] * (len(section.headers) - 1)])
    return section._replace(rows=rows)


def _column_widths(rows: Sequence[Sequence[str]]) -> list[int]:
    return [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]


def _width(widths: Sequence[int]) -> int:
    return sum(widths) + _GAP * (len(widths) - 1)


def _table(
    rows: Sequence[Sequence[str]],
    aligns: str,
    width: int,
    *,
    headers: Sequence[str] | None = None,
    title: str = "",
    widen: Sequence[int] | None = None,
) -> Any:
    """A table of texts as wide as the summary, by widening some columns, or all but the first."""
    rows = [[printable(cell) for cell in row] for row in rows]
    widths = _column_widths([*rows, *([headers] if headers else [])])
    widen = range(1, len(widths)) if widen is None else widen
    spare = max(width - _width(widths), 0)
    for k, column in enumerate(widen):
        widths[column] += spare // len(widen) + (k < spare % len(widen))
    table = SimpleTable(
        [row[1:] for row in rows],
        headers=headers[1:] if headers else None,
        stubs=[row[0] for row in rows],
        title=title,
        celltype=EscapedCell,
        txt_fmt={
            "colwidths": widths,
            "colsep": " " * _GAP,
            "table_dec_above": "=",
            "table_dec_below": "=",
            "data_aligns": aligns,
            "header_align": "r",
        },
        ltx_fmt={"data_aligns": aligns, "header_align": "r"},
    )
    if headers and headers[0]:
        table[0][0] = stub = EscapedCell(printable(headers[0]), datatype="stub")
        stub.row = table[0]
    return table


def number(value: float) -> str:
    """Four decimals where they show something, four digits elsewhere; blank for NaN."""
    if np.isnan(value):
        return ""
    size = abs(value)
    if size and (size >= 1e5 or size < 1e-3):
        return f"{value:.4g}"
    return f"{value:.{4 if size < 1e3 else 2}f}"


def frame_rows(frame: pd.DataFrame) -> Iterator[tuple[str, Array]]:
    """Names and numbers of the rows of a table; levels of a name one after the other."""
    names = [": ".join(map(str, each)) if isinstance(each, tuple) else str(each) for each in frame.index]
    return zip(names, frame.to_numpy(), strict=True)


def estimate_row(name: str, row: Array, *, tests: bool = True, unknown: str = "nan") -> list[str]:
    """Cells of an estimate: name, value, error or why there is none, z and tail if requested, interval."""
    value, error, z, p, *ends = row
    if error == 0.0 or np.isnan(error):
        return [name, number(value), unknown if error else "(fixed)", *[""] * (4 if tests else 2)]
    shown = ["", ""] if np.isnan(z) else [f"{z:.3f}", tail(p)]
    return [name, number(value), number(error), *(shown if tests else []), *map(number, ends)]


def interval_headers(alpha: float) -> list[str]:
    """Names of the columns of the ends of an interval."""
    return [f"[{0.5 * alpha:.3g}", f"{1.0 - 0.5 * alpha:.3g}]"]
