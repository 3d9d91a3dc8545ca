"""The page of the reference that says which kind of fit answers which question."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from .asking import GROUPS, QUESTIONS
from .fits import FITS, KINDS
from .listed import Cell
from .question import Question

PAGE = Path(__file__).parents[3] / "docs" / "reference" / "kinds.md"
CALLS = {
    "process": r"`gp()` or `(1 + z \| g)`",
    "regression": "linear terms alone",
    "start-stop": "linear terms, several rows a subject, `id=`",
    "cure": "`cure=`",
    "Box-Cox": '`family="boxcox"`',
    "Box-Cox process": '`family="boxcox"` with `gp()`',
    "mixture": "`mixture()`",
    "hazard": "`family=tg.PH()`",
    "piecewise": '`family=tg.PH("piecewise")`, `method="mle"`',
    "parametric": '`family=tg.PH("weibull")`, `"gompertz"`, `"spline"`',
    "frailty": '`tg.PH(..., frailty="gamma")`',
    "causes": "`Surv(time, cause)` with several causes",
    "several": "`mvbind()`",
}
HEAD = """# Which kind answers which question

A small fit of every kind receives every question. The tables show which kinds answer it.

* **yes**: all fits of the kind answer.
* **some**: some fits of the kind do not answer yet.
* **no**: the question has a meaning, but the kind does not answer it yet.
* **A number**: the question has no meaning, for the reason with that number at the end of the page. The method then
  raises an error, or gives the nearest answer. A number after "yes" applies to some fits of the kind.

{total}

| kind | call |
|---|---|
{calls}
"""


class Numbers:
    """A number for each reason, in the order of their first use."""

    def __init__(self) -> None:
        self.words: dict[str, int] = {}

    def of(self, words: set[str]) -> str:
        return ", ".join(map(str, sorted(self.words.setdefault(each, len(self.words) + 1) for each in sorted(words))))


def cell(question: Question, kind: str, unanswered: set[Cell], numbers: Numbers) -> str:
    entries = [entry for entry in FITS.values() if entry.kind == kind]
    reasons = {entry.name: question.reason(entry) for entry in entries}
    meaningful = [name for name, reason in reasons.items() if reason is None]
    number = numbers.of({reason.words for reason in reasons.values() if reason is not None})
    if not meaningful:
        return number
    missing = sum((name, question.name) in unanswered for name in meaningful)
    word = "yes" if missing == 0 else "no" if missing == len(meaningful) else "some"
    return f"{word} ({number})" if number else word


def table(questions: list[Question], unanswered: set[Cell], numbers: Numbers) -> Iterator[str]:
    yield f"| question | {' | '.join(KINDS)} |"
    yield "|---" * (len(KINDS) + 1) + "|"
    for question in questions:
        yield f"| {' | '.join([question.name, *(cell(question, kind, unanswered, numbers) for kind in KINDS)])} |"


def meaningful_cells() -> set[Cell]:
    return {(entry.name, each.name) for entry in FITS.values() for each in QUESTIONS if each.reason(entry) is None}


def text(unanswered: set[Cell]) -> str:
    numbers, cells = Numbers(), len(meaningful_cells())
    total = f"Of {cells:,} meaningful pairs of a fit and a question, {cells - len(unanswered):,} are answered."
    calls = "\n".join(f"| {kind} | {call} |" for kind, call in CALLS.items())
    parts = [HEAD.format(total=total, calls=calls)]
    for title, questions in GROUPS.items():
        parts.append("\n".join([f"## {title}\n", *table(questions, unanswered, numbers), ""]))
    reasons = [f"{number}. {words}" for words, number in numbers.words.items()]
    return "\n".join([*parts, "## Reasons\n", *reasons, ""])
