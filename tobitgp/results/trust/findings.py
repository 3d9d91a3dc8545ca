"""What a diagnostic found, its verdict, and what to try."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd

GOOD, DOUBTFUL, BAD = "good", "doubtful", "bad"
_MARKS = {GOOD: " ok ", DOUBTFUL: "look", BAD: "BAD "}
_DOUBT, _CERTAIN = 0.02, 0.001
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
        Tail probability of the statistic if the model is right, adjusted by Holm's method for all tests of the check;
        NaN where it is no test.
    verdict : {"good", "doubtful", "bad"}
        Of a test: "good" if p is 0.02 or more; "bad" if it is below 0.001 and what was found is large.
    words : str
        What it means, and what to try.
    """

    name: str
    value: float
    p: float
    verdict: str
    words: str


class RawTest(NamedTuple):
    """A test of a fit before its p is adjusted for the others."""

    name: str
    value: float  # the statistic, and its tail probability if the model is right
    p: float  # the statistic, and its tail probability if the model is right
    large: bool  # whether what was found is large enough to be bad
    good: str  # what it means if p is not small, and if it is
    wrong: str  # what it means if p is not small, and if it is
    remedy: str  # what to try then


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


def judge(found: Iterable[Finding | RawTest]) -> tuple[Finding, ...]:
    """Findings as they are, and tests with their p adjusted by Holm's method, so that all hold one level together."""
    found = list(found)
    adjusted = iter(holm([one.p for one in found if isinstance(one, RawTest)]))
    tests = sum(isinstance(one, RawTest) for one in found)
    return tuple(_judged(one, next(adjusted), tests) if isinstance(one, RawTest) else one for one in found)


def holm(p: Sequence[float]) -> list[float]:
    """Tail probabilities adjusted for the number of tests: S. Holm, Scandinavian Journal of Statistics 6 (1979)."""
    order = np.argsort(p)
    raised = np.maximum.accumulate(np.sort(p) * np.arange(len(p), 0, -1))
    out = np.empty(len(p))
    out[order] = np.minimum(raised, 1.0)
    return out.tolist()


def _judged(test: RawTest, p: float, tests: int) -> Finding:
    if not p < _DOUBT:
        return Finding(test.name, test.value, p, GOOD, test.good)
    verdict = BAD if test.large and p < _CERTAIN else DOUBTFUL
    small = "" if test.large else "; small, and seen because there are many rows"
    many = f", adjusted for {tests} tests" if tests > 1 else ""
    shown = "p < 0.001" if p < _CERTAIN else f"p = {p:.2g}"
    return Finding(
        test.name,
        test.value,
        p,
        verdict,
        f"{test.wrong} ({shown}{many}{small}). {test.remedy}",
    )


def plain(name: str, words: str, *, good: bool, value: float = np.nan, doubtful: bool = False) -> Finding:
    """A finding that is no test."""
    return Finding(name, value, np.nan, GOOD if good else DOUBTFUL if doubtful else BAD, words)
