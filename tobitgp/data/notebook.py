"""HTML of objects that print in words or tables, for notebooks."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

import pandas as pd

from tobitgp.data.values import printable_lines


def html_of_text(text: object) -> str:
    """A text with its lines as they are."""
    return f"<pre>{html.escape(printable_lines(text))}</pre>"


def html_of_table(frame: pd.DataFrame, text: str = "", *, index: bool = True) -> str:
    """A table of numbers with four digits, below a text where there is one."""
    above = f"<p>{html.escape(printable_lines(text))}</p>\n" * bool(text)
    return above + str(frame.to_html(float_format="{:.4g}".format, index=index, na_rep=""))


def html_of_rows(rows: Iterable[Sequence[str]], text: str) -> str:
    """Rows of texts below a text."""
    left = '<td style="text-align: left">'
    cells = ([f"{left}{html.escape(printable_lines(cell))}</td>" for cell in row] for row in rows)
    lines = "\n".join(f"<tr>{''.join(row)}</tr>" for row in cells)
    return f"<p>{html.escape(text)}</p>\n<table>\n{lines}\n</table>"
