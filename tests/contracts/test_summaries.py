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
TINY = 1e-6  # an approximation gap of rounding alone


def summary(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return fitted(name).summary()


def recorded():
    parts = re.split(rf"^{MARK}(.*)\n", GOLDEN.read_text(), flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def words(text):
    """Words and numbers, without counts of passes and iterations, which rounding may change."""
    return re.sub(r"(Passes over the data|Passes|Iterations): +\d+", r"\1:", text).split()


def same(a, b):
    try:
        a, b = float(a), float(b)
    except ValueError:
        return a == b
    return bool(np.isclose(a, b, rtol=2e-3, atol=2e-3)) or max(abs(a), abs(b)) < TINY


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


STARTS = {"errors": "Standard errors are", "scale": ("Coefficients and sigma are", "Coefficients, sd() and sigma")}


if __name__ == "__main__":
    text = "".join(f"{MARK}{name}\n{re.sub(' +$', '', str(summary(name)), flags=re.MULTILINE)}\n" for name in KINDS)
    GOLDEN.write_text(text)
