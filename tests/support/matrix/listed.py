"""Meaningful questions that no kind may leave unanswered for long: the stored list, which only shrinks."""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path

FILE = Path(__file__).with_name("unanswered.csv")
Cell = tuple[str, str]  # a fit and a question


def read() -> set[Cell]:
    with FILE.open(newline="") as file:
        return {(row["fit"], row["question"]) for row in csv.DictReader(file)}


def write(cells: Iterable[Cell]) -> None:
    with FILE.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerows([("fit", "question"), *cells])
