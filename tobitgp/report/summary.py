"""What summaries of all kinds of fits are made of: a title, rows about the model and the data, tables, notes.

Names from the data are escaped wherever they go. Loads statsmodels; import it inside functions only.
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
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from statsmodels.iolib.summary import Summary
from statsmodels.iolib.table import Cell, SimpleTable

from tobitgp.report.axes import printable
from tobitgp.typing import Array

if TYPE_CHECKING:
    from tobitgp.results.results import Results

Rows = list[tuple[str, str]]  # label and value

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
_CENSORED = ["left", "right", "interval"]
# As names of distributions are written in the middle of a title, where not as families are named.
_SPELLINGS = {
    "boxcox": "Box-Cox",
    "gaussian": "Gaussian",
    "poisson": "Poisson",
    "weibull": "Weibull",
    "lognormal": "log-normal",
    "loglogistic": "log-logistic",
}


def escape_latex(text: str) -> str:
    r"""Text that LaTeX prints as it stands."""
    return "".join(_LATEX.get(c, c) for c in text)


_ESCAPES: dict[str, Callable[[str], str]] = {"html": html.escape, "latex": escape_latex}


class EscapedCell(Cell):  # type: ignore[misc]
    """A cell whose text cannot be taken for markup."""

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
            [name, f"{df:.4g}", f"{chi2:.3f}", f"{p:.3f}", *map(number, rest)]
            for name, (df, chi2, p, *rest) in frame_rows(tests)
        ]
        headers = ["", "df", "chi2", "P>chi2", *tests.columns[3:]]
        table = _table(rows, "r" * len(tests.columns), self.width, headers=headers)
        note = "Joint tests of terms are Wald's, of processes Wood's, of random effects a score test of no variance."
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
        """Comma-separated tables, and the notes, a line each; fields are quoted where they need it.

        A text that a spreadsheet would take for a formula, as a column named ``=A1``, has an apostrophe before it:
        this is a page to read. Tables of numbers for programs (``summary_frame()``, predictions) keep their names.
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

    headers: list[str]
    rows: list[list[str]]


def build_summary(
    results: Results,
    title: str,
    model: Rows,
    numbers: dict[str, float | str],
    sections: Sequence[Section],
    notes: Sequence[str],
    formulas: dict[str, str] | None = None,
) -> FitSummary:
    """A summary: formulas below the title, model and data side by side, a table for each section with rows, notes."""
    counts = results.counts
    left = [*model, ("Converged:", "yes" if results.converged else "NO, see notes")]
    right = [
        ("No. observations:", f"{results.nobs:.10g}"),
        ("  exact:", str(counts["exact"])),
        *((f"  {kind}-censored:", str(counts[kind])) for kind in _CENSORED),
        ("Rows dropped:", str(counts["dropped"])),
        *((label, value if isinstance(value, str) else f"{value:.3f}") for label, value in numbers.items()),
    ]
    return lay_out(title, left, right, sections, notes, {"Formula:": results.formula} | (formulas or {}))


def lay_out(
    title: str,
    left: Rows,
    right: Rows,
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
            f"Tables of more than {_MANY} rows show the first levels of a factor; summary_frame() has all.",
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
    return SimpleTable(
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
    """Cells of an estimate: name, value, error or why there is none, z and tail if asked for, interval."""
    value, error, z, p, *ends = row
    if error == 0.0 or np.isnan(error):
        return [name, number(value), unknown if error else "(fixed)", *[""] * (4 if tests else 2)]
    shown = ["", ""] if np.isnan(z) else [f"{z:.3f}", f"{p:.3f}"]
    return [name, number(value), number(error), *(shown if tests else []), *map(number, ends)]


def interval_headers(alpha: float) -> list[str]:
    """Names of the columns of the ends of an interval."""
    return [f"[{0.5 * alpha:.3g}", f"{1.0 - 0.5 * alpha:.3g}]"]


def model_title(results: Results, model: str = "regression", *, positive: bool, added: str = "") -> str:
    """What was fitted: "Censored regression", "Weibull survival model", "Censored log-normal regression".

    A family of ``positive`` responses is named, and is a survival model where the response is ``Surv(...)``.
    """
    spec, family = results.model.spec, results.parts.family.name
    name = _SPELLINGS.get(family, family)
    if positive and spec.response.kind == "surv":
        words = [name, "mixture" * (model == "mixture"), "survival model"]
    else:
        censored, truncated = bool(results.counts[_CENSORED].any()), spec.truncation is not None
        sample = " and ".join(["censored"] * censored + ["truncated"] * truncated)
        if model == "regression" and not sample and not positive:
            sample = "linear"
        words = [sample, name if positive or model == "mixture" else "", model]
    title = " ".join(filter(None, [*words, added]))
    return title[0].upper() + title[1:]


def censoring_note(results: Results) -> list[str]:
    """Say of a fit without censoring whether there was any in the data, and what became of it."""
    censored, facts = int(results.counts[_CENSORED].sum()), results.parts.facts
    if not censored:
        return ["No row is censored."]
    if facts.any_censored:
        return []
    dropped = facts.n == int(results.counts["exact"])
    how = "were left out (censored='drop')" if dropped else "were taken at their limits (censored='ignore')"
    return [f"{censored} censored rows {how}."]


def weights_note(results: Results) -> list[str]:
    """Say of variance weights what they did."""
    if results.parts.state.var_weight is None:
        return []
    name, mean = results.parts.state.var_weight
    of = f" ({name})" if name else ""
    return [
        f"Noise variance sigma^2 / w, with w = var_weights{of} / {mean:.4g}, their mean; sigma is that of a row of "
        "average weight."
    ]


def times_note(results: Results) -> list[str]:
    """Say of ``Surv(time, event)`` that its times may be negative, unless their logarithm is taken there."""
    response, family = results.model.spec.response, results.parts.family.name
    if response.flag is None or response.flag.codes != "event" or re.search(r"\blog\w*\(", response.value.text):
        return []
    name = {"gaussian": "normal"}.get(family, family)
    return [f"Times are modelled as {name}, and may be negative; family='weibull' or 'lognormal' keeps them positive."]


def response_notes(results: Results) -> list[str]:
    """Say of which response the estimates are where ``truncate(...)`` is written, and in which unit dates differ."""
    spec = results.model.spec
    y, days = spec.response.value.text, spec.response.duration
    notes = [f"{days} is a duration in days."] if days else []
    if spec.truncation is not None and spec.response.kind == "value":
        notes.append(f"Estimates are of {y} before truncation; predict(what='observed') is its mean in the window.")
    return notes
