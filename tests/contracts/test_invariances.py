"""What does not change the question does not change the answer: kinds of fits under transformations.

A new kind is one more row of ``KINDS``, a new form of the same question one more row of ``TRANSFORMATIONS``.
``python -m pytest tests/contracts/test_invariances.py -rs`` lists the cells without a meaning, and their reasons.
"""

from __future__ import annotations

import pytest
from support.cells import FALLS_SHORT, QUICK, cell
from support.kinds import KINDS
from support.transformations import TRANSFORMATIONS


def cells():
    for name in KINDS:
        for transformation, change in TRANSFORMATIONS.items():
            reason, short = change.lost(KINDS[name]), FALLS_SHORT.get((name, transformation))
            marks = [pytest.mark.skip(reason=reason)] if reason else []
            marks += [pytest.mark.xfail(reason=short, strict=True)] if short else []
            marks += [] if name in QUICK else [pytest.mark.slow]
            yield pytest.param(name, transformation, marks=marks, id=f"{name}, {transformation}")


@pytest.mark.parametrize(("name", "transformation"), list(cells()))
def test_answers_stay(name, transformation):
    assert not cell(name, transformation)
