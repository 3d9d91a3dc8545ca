"""Every public question, asked of a small fit of every kind: answered, without meaning, or on the list."""

import pytest
from support.matrix import listed, page
from support.matrix.asking import GROUPS, QUESTIONS, ask
from support.matrix.fits import FITS, Case

# All groups of questions, and six kinds.
QUICK = {
    "Estimates": "weibull ph",
    "Predictions, residuals and draws": "gp markov",
    "Times": "cure",
    "Checks and comparisons": "tobit",
    "Effects": "boxcox",
    "Figures and files": "frailty",
}
REFRESH = "python -m tests.support.matrix writes the list and the page"


@pytest.fixture(scope="module", params=FITS)
def case(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Case:
    return Case(FITS[request.param], tmp_path_factory.mktemp("fit"))


@pytest.mark.quick_cases(*(f"{name}-{group}" for group, name in QUICK.items()))
@pytest.mark.parametrize("group", GROUPS)
def test_every_question_is_answered_or_refused_for_a_reason(case: Case, group: str) -> None:
    faults, unanswered = [], set()
    for question in GROUPS[group]:
        meaningful = question.reason(case.entry) is None
        if not (meaningful or question.asked_without_meaning):
            continue
        outcome = ask(case, question)
        if outcome.word in ("raw", "shape"):
            faults.append(f"{question.name}: {outcome.said}")
        if meaningful and outcome.word != "answered":
            unanswered.add(question.name)
    assert faults == []
    names = {question.name for question in GROUPS[group]}
    assert unanswered == {question for fit, question in listed.read() if fit == case.entry.name} & names, REFRESH


def test_the_list_names_meaningful_questions_of_fits() -> None:
    assert listed.read() <= page.meaningful_cells()


def test_questions_have_one_name_each() -> None:
    assert len({question.name for question in QUESTIONS}) == len(QUESTIONS)


def test_the_page_shows_what_the_list_says() -> None:
    assert page.PAGE.read_text(encoding="utf-8") == page.text(listed.read()), REFRESH
