"""Every public question, asked of a small fit of every kind: answered, without meaning, or on the list."""

from pathlib import Path

import pytest
from support.matrix import listed, page
from support.matrix.asking import QUESTIONS, ask
from support.matrix.fits import FITS, Case

QUICK = ("tobit", "gp markov", "cure", "boxcox", "weibull ph", "frailty")
REFRESH = "python -m tests.support.matrix writes the list and the page"


@pytest.mark.quick_cases(*QUICK)
@pytest.mark.parametrize("name", FITS)
def test_every_question_is_answered_or_refused_for_a_reason(name: str, tmp_path: Path) -> None:
    entry = FITS[name]
    case, faults, unanswered = Case(entry, tmp_path), [], set()
    for question in QUESTIONS:
        meaningful = question.reason(entry) is None
        if not (meaningful or question.asked_without_meaning):
            continue
        outcome = ask(case, question)
        if outcome.word in ("raw", "shape"):
            faults.append(f"{question.name}: {outcome.said}")
        if meaningful and outcome.word != "answered":
            unanswered.add(question.name)
    assert faults == []
    assert unanswered == {question for fit, question in listed.read() if fit == name}, REFRESH


def test_the_list_names_meaningful_questions_of_fits() -> None:
    assert listed.read() <= page.meaningful_cells()


def test_questions_have_one_name_each() -> None:
    assert len({question.name for question in QUESTIONS}) == len(QUESTIONS)


def test_the_page_shows_what_the_list_says() -> None:
    assert page.PAGE.read_text(encoding="utf-8") == page.text(listed.read()), REFRESH
