"""Ask every question of every fit, and write the list of unanswered cells and the page of the reference.

python -m tests.support.matrix                  write both
python -m tests.support.matrix page             write the page alone, from the stored list
python -m tests.support.matrix show "gp *"      print what is not answered by some fits, and why
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path

import matplotlib as mpl

from . import listed, page
from .asking import QUESTIONS, Outcome, ask
from .fits import FITS, Case, Entry
from .question import Question


def outcomes(entry: Entry, asked: str = "*") -> Iterator[tuple[Question, Outcome]]:
    with tempfile.TemporaryDirectory() as folder:
        case = Case(entry, Path(folder))
        for question in QUESTIONS:
            if fnmatchcase(question.name, asked) and (question.asked_without_meaning or not question.reason(entry)):
                yield question, ask(case, question)


def run(fits: str, questions: str, show: bool) -> list[listed.Cell]:
    unanswered, counts = [], Counter[str]()
    for entry in (entry for name, entry in FITS.items() if fnmatchcase(name, fits)):
        for question, outcome in outcomes(entry, questions):
            meaningful = question.reason(entry) is None
            counts[f"{outcome.word}{'' if meaningful else ' without meaning'}"] += 1
            if meaningful and outcome.word != "answered":
                unanswered.append((entry.name, question.name))
            if outcome.word in ("raw", "shape") or (show and outcome.word != "answered" and meaningful):
                print(f"{entry.name:18} {question.name:32} {outcome.word:9} {outcome.said}", flush=True)
        print(f"{entry.name:18} {time.process_time():6.0f} s of processor time", flush=True)
    print(dict(counts))
    return unanswered


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.support.matrix")
    parser.add_argument("command", nargs="?", default="write", choices=["write", "page", "show"])
    parser.add_argument("fits", nargs="?", default="*")
    parser.add_argument("questions", nargs="?", default="*")
    args = parser.parse_args()
    mpl.use("Agg")
    if args.command == "show":
        run(args.fits, args.questions, show=True)
        return
    if args.command == "write":
        listed.write(run("*", "*", show=False))
    page.PAGE.write_text(page.text(listed.read()), encoding="utf-8")


if __name__ == "__main__":
    main()
