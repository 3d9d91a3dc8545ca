"""What does not change the question does not change the answer: kinds of fits under transformations.

A new kind is one more row of ``KINDS``, a new form of the same question one more row of ``TRANSFORMATIONS``.
``pytest -rs`` lists the cells without a meaning, with their reasons.
"""

from __future__ import annotations

import pytest
from support.cells import cell, no_meaning, quick_cells, tally
from support.kinds import KINDS
from support.transformations import TRANSFORMATIONS


def cells():
    quick = quick_cells()
    for name in KINDS:
        for transformation in TRANSFORMATIONS:
            reason = no_meaning(name, transformation)
            marks = [pytest.mark.skip(reason=reason)] if reason else []
            marks += [] if (name, transformation) in quick else [pytest.mark.slow]
            yield pytest.param(name, transformation, marks=marks, id=f"{name}, {transformation}")


@pytest.mark.filterwarnings("ignore:Events share times")  # copies of rows do
@pytest.mark.parametrize(("name", "transformation"), list(cells()))
def test_answers_stay(name, transformation):
    assert not cell(name, transformation)


def test_most_cells_have_a_meaning():
    counted = tally()
    assert counted["hold"] > counted["have no meaning"]
