"""Names from data are text wherever they go: on a terminal, on a page, in LaTeX, in a spreadsheet, in a picture."""

import csv
import io
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

import tobitgp as tg
from tobitgp.cli import main

COLUMN = '=1+<img src=x onerror=alert(1)> "q" & $a^_{ \\input{x} %#'
FACTOR = "$\\frac{"
LEVELS = [
    "<script>alert(1)</script>",
    '=cmd|"/C calc"!A0',
    "\\input{/etc/passwd}",
    "$x_{$",
    "a\nb\r\nc",
    "\u202eevil\u202c",
    "\x1b[31mred",
    "100% #1 & co ~ ^",
]
STEERING = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({COLUMN: rng.normal(size=40), FACTOR: LEVELS * 5, "seen": rng.integers(0, 2, 40)})
    frame["y$_{"] = np.maximum(frame[COLUMN] + rng.normal(size=40), -0.5)
    return frame.assign(t=np.exp(frame["y$_{"]))


@pytest.fixture(scope="module")
def fits(data):
    line = f"`y$_{{` ~ `{COLUMN}` + C(`{FACTOR}`) | censor(-0.5)"
    curve = f"`y$_{{` ~ gp(`{COLUMN}`, name='$tre_{{') + re(`{FACTOR}`) | censor(-0.5)"
    levels = f"`y$_{{` ~ gp(`{COLUMN}`, by=`{FACTOR}`) | censor(-0.5)"
    return {
        "line": tg.fit(line, data),
        "curve": tg.fit(curve, data, method=tg.EP(hyper="maximize")),
        "levels": tg.fit(levels, data.iloc[[k for k in range(40) if k % 8 < 4]], method=tg.EP(hyper="maximize")),
        "times": tg.fit(f"Surv(t, seen) ~ `{COLUMN}` + C(`{FACTOR}`)", data, family="weibull"),
        "mixture": tg.fit("`y$_{` ~ mixture(1) | censor(-0.5)", data),
    }


KINDS = pytest.mark.parametrize("kind", ["line", "curve", "levels", "times", "mixture"])


class Page(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes = set(), set()
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attributes}


@KINDS
def test_a_summary_is_one_line_a_row(fits, kind):
    text = str(fits[kind].summary())
    assert not STEERING.search(text)
    if kind == "line":
        assert r"[T.a\nb\r\nc]" in text
        assert r"[T.\u202eevil\u202c]" in text
        assert fits[kind].params.index.str.contains("\u202e").any()  # the names themselves are kept


@KINDS
def test_html_and_latex_hold_no_markup_from_data(fits, kind):
    summary = fits[kind].summary()
    page = Page(summary.as_html())
    assert not page.tags & {"script", "img"}
    assert not any(name.startswith("on") for name in page.attributes)
    latex = summary.as_latex()
    assert not re.search(r"\\input|\\frac", latex)
    bare = re.sub(r"^%.*$", "", re.sub(r"\\[&%$#_{}]|\\text[a-z]+\{\}", "", latex), flags=re.M)
    assert not set(bare) & set("$#%^~")


@KINDS
def test_no_cell_of_a_spreadsheet_is_a_formula(fits, kind):
    cells = [cell for row in csv.reader(io.StringIO(fits[kind].summary().as_csv())) for cell in row]
    assert cells
    for cell in cells:
        if cell[:1] in ("=", "+", "-", "@", "\t", "\r"):
            float(cell)
    if kind == "line":
        assert "'" + COLUMN in cells


def test_tables_for_programs_keep_their_names(fits, data):
    """Pandas writes them as they are: whoever reads them back finds the columns of the data."""
    frame = fits["line"].get_prediction(data).summary_frame()
    assert COLUMN in next(iter(zip(*csv.reader(io.StringIO(fits["line"].params.to_csv())), strict=True)))
    again = pd.read_csv(io.StringIO(frame.to_csv()), index_col=0)
    np.testing.assert_allclose(again, frame)


@pytest.mark.slow
@KINDS
def test_pictures_take_names_as_they_stand(fits, kind, tmp_path):
    """Dollars begin no mathematics, in files of pixels or of curves."""
    import matplotlib.pyplot as plt

    res, drawn = fits[kind], 0
    for name in (name for name in dir(res) if name.startswith("plot")):
        try:
            axes = np.ravel(getattr(res, name)())
        except tg.errors.SpecError:
            continue
        for suffix in ("png", "svg"):
            axes[0].figure.savefig(tmp_path / f"a.{suffix}")
        drawn += 1
        plt.close("all")
    assert drawn >= 2


def test_a_label_shows_the_name(fits):
    axes = fits["line"].plot()
    axis = np.ravel(axes)[0].yaxis.label
    axis.figure.canvas.draw()
    assert axis.get_text() == r"y\$_{"  # which matplotlib draws as y$_{


@pytest.mark.slow
@KINDS
def test_a_page_holds_pictures_and_no_script(fits, kind, tmp_path):
    fits[kind].report(tmp_path / "fit.html", title="\u202e<script>&")
    text = (tmp_path / "fit.html").read_text(encoding="utf-8")
    page = Page(text)
    assert not page.tags & {"script", "link", "iframe", "object"}
    assert not any(name.startswith("on") for name in page.attributes)
    assert not STEERING.search(text)


def test_a_terminal_is_not_steered(data, tmp_path, capsys):
    data.to_csv(tmp_path / "d.csv", index=False)
    formula = f"`y$_{{` ~ C(`{FACTOR}`) | censor(-0.5)"
    assert main(["fit", formula, str(tmp_path / "d.csv"), "--quiet"]) == 0
    said = capsys.readouterr()
    assert not STEERING.search(said.out + said.err)
    pd.DataFrame({"y": [1, 2], "\x1b[31mred": [1, 2]}).to_csv(tmp_path / "e.csv", index=False)
    assert main(["fit", "y ~ x", str(tmp_path / "e.csv")]) == 2
    assert not STEERING.search(capsys.readouterr().err)


@pytest.mark.slow
@pytest.mark.filterwarnings("error:.*starting with '_'")
def test_names_with_an_underscore_first_are_in_the_pictures():
    """Matplotlib leaves labels that begin so out of legends."""
    rng = np.random.default_rng(8)
    data = pd.DataFrame({"_x": rng.uniform(0, 3, 40), "_g": rng.choice(["_a", "_b"], 40)})
    data["_t"] = np.exp(np.sin(data["_x"]) + 0.3 * rng.normal(size=40))
    fixed = {"sigma": 0.3, "sd(gp(_x, by=_g))": 1.0, "lengthscale(gp(_x, by=_g))": 1.0}
    process = tg.fit("_t ~ gp(_x, by=_g)", data, family="lognormal", fixed=fixed)
    line = tg.fit("_t ~ C(_g) + _x", data, family="weibull")
    new = pd.DataFrame({"_x": [1.0, 2.0], "_g": ["_a", "_b"]}, index=["_first", "_second"])
    for fit in (process, line):
        for interval in (None, 0.9):
            legend = fit.plot_survival(df=new, interval=interval).get_legend()
            assert {"_first", "_second"} <= {text.get_text().strip() for text in legend.get_texts()}
    chosen = tg.select({"family": ["lognormal", "gaussian"]}, data, formula="_t ~ C(_g)")
    pictures = [process.plot(), *np.ravel(process.plot_terms()), *np.ravel(line.plot_terms()), chosen.plot_evidence()]
    drawn = " ".join(text for ax in pictures for text in texts(ax))
    assert {"_a", "_b", "_x", "_g", "_t"} <= set(drawn.split())


def texts(ax):
    """Everything written in a picture."""
    from matplotlib.text import Text

    ax.figure.canvas.draw()
    return [text.get_text() for text in ax.figure.findobj(Text)]
