"""What a diagnostic found, its verdict, and what to try."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

GOOD, DOUBTFUL, BAD = "good", "doubtful", "bad"
_MARKS = {GOOD: " ok ", DOUBTFUL: "look", BAD: "BAD "}
_DOUBT, _CERTAIN = 0.01, 0.001
_WIDTH = 100


class Finding(NamedTuple):
    """One diagnostic of a fit.

    Attributes
    ----------
    name : str
        Name of the diagnostic.
    value : float
        The statistic, on its own scale; NaN where there is no number.
    p : float
        Tail probability of the statistic if the model is right; NaN where it is no test.
    verdict : {"good", "doubtful", "bad"}
        Beside a test: p of 0.01 and more, of 0.001 and more, and less.
    words : str
        What it means, and what to try.
    """

    name: str
    value: float
    p: float
    verdict: str
    words: str


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Check:
    """Diagnostics of a fit; prints in words.

    Attributes
    ----------
    findings : tuple of Finding
        One for each diagnostic that applies.
    """

    findings: tuple[Finding, ...]

    @property
    def table(self) -> pd.DataFrame:
        """A row for each diagnostic by name, columns ``value, p, verdict, words``."""
        return pd.DataFrame(list(self.findings), columns=list(Finding._fields)).set_index("name")

    @property
    def ok(self) -> bool:
        """Whether no diagnostic found anything."""
        return all(found.verdict == GOOD for found in self.findings)

    @property
    def advice(self) -> list[str]:
        """What was found, bad things first; empty where all is well."""
        return [found.words for verdict in (BAD, DOUBTFUL) for found in self.findings if found.verdict == verdict]

    def __repr__(self) -> str:
        width = max(len(found.name) for found in self.findings)
        lines = []
        for found in self.findings:
            head = f"[{_MARKS[found.verdict]}] {found.name:<{width}}  "
            lines.append(textwrap.fill(found.words, _WIDTH, initial_indent=head, subsequent_indent=" " * len(head)))
        wrong = len(self.advice)
        total = f"{len(self.findings)} diagnostics, " + (f"{wrong} to look at" if wrong else "nothing found")
        return "\n".join([total, *lines])


def judge(p: float, *, material: bool) -> str:
    """Verdict on a test: of many rows what is certain may be too small to matter.

    Examples
    --------
    >>> judge(0.2, material=True), judge(0.005, material=True), judge(1e-9, material=True), judge(1e-9, material=False)
    ('good', 'doubtful', 'bad', 'good')
    """
    if not material or not p < _DOUBT:
        return GOOD
    return BAD if p < _CERTAIN else DOUBTFUL


def plain(name: str, words: str, *, good: bool, value: float = np.nan, doubtful: bool = False) -> Finding:
    """A finding that is no test."""
    return Finding(name, value, np.nan, GOOD if good else DOUBTFUL if doubtful else BAD, words)


def named(labels: Sequence[object], most: int = 3) -> str:
    """Some labels of rows, and how many more there are.

    Examples
    --------
    >>> named([3, 8]), named(range(7))
    ('3, 8', '0, 1, 2 and 4 more')
    """
    more = len(labels) - most
    return ", ".join(map(str, labels[:most])) + (f" and {more} more" if more > 0 else "")
