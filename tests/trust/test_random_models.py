"""Random questions to random models of every kind: an answer, or a clear error; `tests/fuzz.py` looks further."""

import pytest
from support import tally
from support.random_models import KINDS, random_model
from support.random_runs import run


def faults(seed):
    outcome = run(seed)
    tally.add(1 + outcome.answers + outcome.errors)
    return [f"{fault} {outcome.model}" for fault in outcome.faults]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(20))
def test_every_question_is_answered_or_refused(seed):
    assert not faults(seed)


@pytest.mark.study
@pytest.mark.parametrize("first", range(1000, 1300, 50))
def test_more_questions(first):
    assert not [fault for seed in range(first, first + 50) for fault in faults(seed)]


def test_every_kind_is_drawn():
    assert {random_model(seed).kind for seed in range(300)} == set(KINDS)


def test_a_model_is_drawn_from_its_seed():
    first, again = random_model(3), random_model(3)
    assert str(first) == str(again)
    assert first.data.equals(again.data)
