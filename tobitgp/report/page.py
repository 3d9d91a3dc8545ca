"""How the page of a fit looks: light and dark, on paper and on a phone."""

from __future__ import annotations

import base64
import html
import io
import platform
from collections.abc import Iterator
from importlib.metadata import version
from typing import Any

from tobitgp.data.values import printable_lines
from tobitgp.diagnostics.residual_tests import MARKS
from tobitgp.errors import SpecError
from tobitgp.results.curves import is_time

STYLE = """\
:root { color-scheme: light dark;
  --ink: #1b1f24; --soft: #59636e; --line: #d6dbe1; --paper: #ffffff; --shade: #f5f7f9;
  --look: #8a5a00; --bad: #b3261e; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e9ed; --soft: #9aa4af; --line: #38404a; --paper: #14181d; --shade: #1d2228;
  --look: #e0b04a; --bad: #ff8a80; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink); line-height: 1.5;
  font-family: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif; }
main { max-width: 54rem; margin: 0 auto; padding: 1.2rem 1rem 3rem; }
h1 { font-size: 1.25rem; overflow-wrap: anywhere; margin: .4rem 0 1rem; }
h2 { font-size: 1.05rem; margin: 2rem 0 .6rem; padding-bottom: .25rem; border-bottom: 1px solid var(--line); }
.wide { overflow-x: auto; margin: 0 0 .9rem; }
table { border-collapse: collapse; font-size: .875rem; font-variant-numeric: tabular-nums; }
th, td { padding: .22rem .6rem; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap; }
tr > :first-child { text-align: left; padding-left: 0; }
th { font-weight: 600; }
.words td, .words th { text-align: left; white-space: normal; vertical-align: top; }
.doubtful td:nth-child(2) { color: var(--look); font-weight: 600; }
.bad td:nth-child(2) { color: var(--bad); font-weight: 600; }
pre { background: var(--shade); padding: .7rem .8rem; border-radius: .3rem; overflow-x: auto; font-size: .8rem;
  white-space: pre-wrap; overflow-wrap: anywhere; }
.notes { color: var(--soft); font-size: .85rem; padding-left: 1.3rem; }
figure { margin: 0; }
img { max-width: 100%; height: auto; background: #ffffff; border-radius: .3rem; }
figcaption { color: var(--soft); font-size: .85rem; }
@media (max-width: 36rem) { table { font-size: .76rem; } th, td { padding: .2rem .35rem; } }
@media print { main { max-width: none; padding: 0; } section { break-inside: avoid; } }
"""


PACKAGES = ("tobitgp", "numpy", "scipy", "pandas", "formulaic", "statsmodels", "matplotlib")
_RC = {"svg.hashsalt": "tobitgp", "svg.fonttype": "path", "figure.facecolor": "white"}


# Title, the method of the results that draws it, what a reader sees in it, and of censored rows.
FIGURES = (
    ("Fit", "plot", "The fit over the data.", " Triangles mark censored rows and point away from their limits."),
    ("Terms", "plot_terms", "Each term separately.", ""),
    ("Components", "plot_components", "The mixture and its components over the data.", ""),
    ("Survival", "plot_survival", "Probability of surviving each time.", ""),
    ("Residuals", "plot_residuals", "Quantile residuals: normal, and without pattern, if the model is right.", ""),
    (
        "Calibration",
        "plot_calibration",
        "Predicted probabilities against observed proportions of rows: on the diagonal if the model is right.",
        "",
    ),
    (
        "Replicates",
        "plot_predictive_check",
        "Distribution of the response, and of new responses drawn from the model.",
        " Censored rows are kept as such.",
    ),
    ("Search", "plot_evidence", "Optimisation history.", ""),
)


def make_page(results: Any, title: str | None = None) -> str:
    """The page of a fit."""
    name = results.formula.strip() if title is None else title
    summary = results.summary()
    read = "\n\n".join(str(spec) for spec in results._specifications)
    model = f"<pre>{_escape(read)}</pre>\n{_wide(summary.tables[1].as_html())}"
    pairs = [("Python", platform.python_version()), *((package, version(package)) for package in PACKAGES)]
    versions = "".join(f"<tr><td>{package}</td><td>{number}</td></tr>" for package, number in pairs)
    sections = [
        _section("Model", model),
        _estimates(summary),
        _diagnostics(results),
        *_pictures(results),
        _section("Versions", f"<table>{versions}</table>"),
    ]
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{_escape(name)}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<main>\n"
        f"<h1>{_escape(name)}</h1>\n" + "\n".join(sections) + "\n</main>\n</body>\n</html>\n"
    )


def _escape(text: object) -> str:
    return html.escape(printable_lines(text))


def _section(title: str, body: str) -> str:
    return f"<section>\n<h2>{_escape(title)}</h2>\n{body}\n</section>"


def _wide(table: str) -> str:
    """A table that scrolls by itself where the screen is narrow."""
    return f'<div class="wide">{table}</div>'


def _estimates(summary: Any) -> str:
    """Tables of the summary, and its notes."""
    notes = "".join(f"<li>{_escape(note)}</li>" for note in summary.notes)
    tables = "\n".join(_wide(table.as_html()) for table in summary.tables[2:])
    return _section("Estimates", f'{tables}\n<ol class="notes">{notes}</ol>')


def _diagnostics(results: Any) -> str:
    """Findings of ``check``, or why there are none."""
    try:
        table = results.check().table
    except SpecError as error:
        return _section("Diagnostics", f"<p>{_escape(error)}</p>")
    rows = (
        f'<tr class="{row.verdict}"><th scope="row">{_escape(row.Index)}</th><td>{MARKS[row.verdict].strip()}</td>'
        f"<td>{_escape(row.words)}</td></tr>"
        for row in table.itertuples()
    )
    return _section("Diagnostics", f'<table class="words">{"".join(rows)}</table>')


def _pictures(results: Any) -> Iterator[str]:
    """Figures that this kind of results has, and those that this fit can draw."""
    import matplotlib.pyplot as plt

    of = type(results)
    censored = any(results.parts.facts.counts[kind] for kind in ("left", "right", "interval"))
    for title, method, caption, of_censored in FIGURES:
        draw = getattr(of, method, None)
        # A figure that goes by two names is drawn under the more telling one.
        if draw is None or (method == "plot" and draw is getattr(of, "plot_components", None)):
            continue
        if method == "plot_survival" and not is_time(results):
            continue
        with plt.rc_context(_RC), plt.ioff():
            try:
                sources = list(_as_svg(draw(results)))
            except SpecError:
                continue
        words = _escape(caption + of_censored * censored)
        images = "".join(f'<img alt="{words}" src="{source}">' for source in sources)
        element = f"<figure>{images}<figcaption>{words}</figcaption></figure>"
        yield _section(title, element)


def _as_svg(axes: Any) -> Iterator[str]:
    """Addresses that hold the figures themselves."""
    import matplotlib.pyplot as plt
    import numpy as np

    for figure in dict.fromkeys(ax.figure for ax in np.ravel(axes)):
        out = io.BytesIO()
        try:
            figure.savefig(out, format="svg", bbox_inches="tight", dpi=110, metadata={"Date": None})
        finally:
            plt.close(figure)
        yield "data:image/svg+xml;base64," + base64.b64encode(out.getvalue()).decode("ascii")
