"""Random questions to random models of every kind: an answer, or a clear error; `tests/fuzz.py` looks further."""

import pytest
from support import tally
from support.random_models import KINDS, random_model
from support.random_runs import run


def faults(seeds):
    found = []
    for seed in seeds:
        outcome = run(seed)
        tally.add(1 + outcome.answers + outcome.errors)
        found += [f"{seed}: {fault} {outcome.model}" for fault in outcome.faults]
    return found


@pytest.mark.slow
def test_every_question_is_answered_or_refused():
    assert not faults(range(20))


@pytest.mark.study
def test_more_questions():
    assert not faults(range(1000, 1300))


def test_every_kind_is_drawn():
    assert {random_model(seed).kind for seed in range(300)} == set(KINDS)


def test_a_model_is_drawn_from_its_seed():
    first, again = random_model(3), random_model(3)
    assert str(first) == str(again)
    assert first.data.equals(again.data)
