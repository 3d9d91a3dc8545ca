"""Tables on statsmodels' classes, with names from the data escaped wherever they go.

Loads statsmodels; import it inside functions only.
"""

from __future__ import annotations

import csv
import html
import io
import textwrap
from collections.abc import Callable, Sequence
from typing import Any

from statsmodels.iolib.summary import Summary
from statsmodels.iolib.table import Cell, SimpleTable

from tobitgp.report.text import printable

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
GAP = 2
_COMPUTED = ("=", "+", "-", "@", "\t", "\r")


def escape_latex(text: str) -> str:
    r"""Text that LaTeX prints as it stands."""
    return "".join(_LATEX.get(c, c) for c in text)


_ESCAPES: dict[str, Callable[[str], str]] = {"html": html.escape, "latex": escape_latex}


def _as_is(text: str) -> str:
    return text


class EscapedCell(Cell):  # type: ignore[misc]
    """A cell whose text cannot be taken for markup."""

    def format(self, width: int, output_format: str = "txt", **fmt_dict: Any) -> str:
        """Text of the cell, padded, in one of statsmodels' formats."""
        twin = Cell(self)
        twin.row = self.row
        twin.data = _ESCAPES.get(output_format, _as_is)(str(self.data))
        return str(twin.format(width, output_format=output_format, **{**fmt_dict, "replacements": {}}))


class FitSummary(Summary):  # type: ignore[misc]
    """statsmodels' Summary with a title, escaped notes, and one LaTeX tabular for each table."""

    def __init__(self, tables: Sequence[Any], notes: Sequence[str], width: int):
        super().__init__()
        self.tables = list(tables)
        self.notes = notes = [printable(note) for note in notes]
        lines = [textwrap.fill(f"[{i}] {note}", width, subsequent_indent="    ") for i, note in enumerate(notes, 1)]
        self.add_extra_txt(["Notes:", *lines])

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


def column_widths(rows: Sequence[Sequence[str]]) -> list[int]:
    """Width of the longest text in each column."""
    return [max(len(cell) for cell in column) for column in zip(*rows, strict=True)]


def total_width(widths: Sequence[int]) -> int:
    """Width of a table in characters."""
    return sum(widths) + GAP * (len(widths) - 1)


def make_table(
    rows: Sequence[Sequence[str]],
    aligns: str,
    *,
    headers: Sequence[str] | None = None,
    title: str = "",
    width: int = 0,
    widen: Sequence[int] | None = None,
) -> Any:
    """Build a table of texts."""
    rows = [[printable(cell) for cell in row] for row in rows]
    widths = column_widths([*rows, *([headers] if headers else [])])
    widen = range(1, len(widths)) if widen is None else widen
    spare = max(width - total_width(widths), 0)
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
            "colsep": " " * GAP,
            "table_dec_above": "=",
            "table_dec_below": "=",
            "data_aligns": aligns,
            "header_align": "r",
        },
        ltx_fmt={"data_aligns": aligns, "header_align": "r"},
    )
