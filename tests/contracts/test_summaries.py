"""The summary of a fit of every kind, as a golden text, which running this file writes again."""

import re
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from support.kinds import KINDS, fitted

GOLDEN = Path(__file__).parents[1] / "reference" / "summaries.txt"
MARK = "#### "


def summary(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fitted(name).summary()


def recorded():
    parts = re.split(rf"^{MARK}(.*)\n", GOLDEN.read_text(), flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def words(text):
    """Words and numbers."""
    return text.split()


def same(a, b):
    try:
        a, b = float(a), float(b)
    except ValueError:
        return a == b
    return bool(np.isclose(a, b, rtol=2e-3, atol=2e-3))


@pytest.mark.parametrize("name", KINDS)
def test_summary_is_the_recorded_one(name):
    found, expected = words(str(summary(name))), words(recorded()[name])
    assert len(found) == len(expected)
    assert [(a, b) for a, b in zip(found, expected, strict=True) if not same(a, b)] == []


@pytest.mark.parametrize("name", KINDS)
def test_notes_are_in_one_order_and_numbered_once(name):
    found = summary(name)
    assert re.findall(r"^\[(\d+)\] ", str(found), flags=re.MULTILINE) == [str(i + 1) for i in range(len(found.notes))]
    for text in (found.as_html(), found.as_latex(), found.as_csv()):
        for heading in ("Formula:", "No. observations:", "Converged:"):
            assert heading in text
    kinds = [kind for kind in ("errors", "scale") if any(note.startswith(STARTS[kind]) for note in found.notes)]
    places = {kind: [i for i, note in enumerate(found.notes) if note.startswith(STARTS[kind])] for kind in kinds}
    if len(places) == 2:
        assert max(places["scale"]) < min(places["errors"])


@pytest.mark.parametrize("name", KINDS)
def test_notes_have_two_lines_at_most_and_tables_say_what_their_rows_are(name):
    found = summary(name)
    notes = str(found).split("Notes:\n")[1].rstrip()
    assert max(len(note.splitlines()) for note in re.split(r"\n(?=\[)", notes)) <= 2
    headings = [str(table[0].data[0]).strip() for table in found.tables[2:]]
    assert all(headings)
    assert len(set(headings)) == len(headings)


MODEL = ["Dep. variable", "Family", "", "Method", "Parameters", "Effective df", "Converged"]
DATA = ["No. observations", "events", "uncensored", "left-censored", "right-censored", "interval-censored"]
FIT = ["Log-likelihood", "Log evidence", "LR chi2", "P>chi2", "AIC", "BIC"]


@pytest.mark.parametrize("name", KINDS)
def test_facts_are_in_one_order(name):
    """Those of a kind lie between the family and the method; of several evidences and sizes there is one."""
    rows = [[str(cell).strip() for cell in row.data] for row in summary(name).tables[1]]
    left, right = [row[0].rstrip(":") for row in rows if row[0]], [row[2].rstrip(":") for row in rows if row[2]]
    places = [MODEL.index(label) if label in MODEL else MODEL.index("") for label in left]
    assert places == sorted(places)
    order = [*DATA, *FIT]
    known = [re.sub(r", df = \d+| (rows|values)$", "", label) for label in right]
    assert [order.index(label) for label in known] == sorted(order.index(label) for label in known)
    assert len({"Log-likelihood", "Log evidence"} & set(known)) == len({"Parameters", "Effective df"} & set(left)) == 1
    assert [row for row in rows if row[3] == "0" and row[2] != "uncensored:"] == []


STARTS = {"errors": "Standard errors are", "scale": ("Coefficients and sigma are", "Coefficients, sd() and sigma")}


if __name__ == "__main__":
    text = "".join(f"{MARK}{name}\n{re.sub(' +$', '', str(summary(name)), flags=re.MULTILINE)}\n" for name in KINDS)
    GOLDEN.write_text(text)
