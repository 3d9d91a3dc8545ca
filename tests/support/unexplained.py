"""Whether an answer that is not finite comes with a warning, or with words of the fit that say so."""

import re
import signal
import warnings
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

import tobitgp

SECONDS = 60.0
PACKAGE = str(Path(tobitgp.__file__).parent)
ELSEWHERE = ("site-packages", "lib/python")


class TooLong(BaseException):
    """More of the processor than a question may take; no handler of errors catches it."""


class Asked(NamedTuple):
    """What a call gave: an answer or an error, and the warnings heard."""

    value: object
    error: BaseException | None
    heard: list


@contextmanager
def limited(seconds):
    """Raises TooLong after so many seconds of the processor, as far as Python is given a chance."""

    def stop(*_):
        raise TooLong(f"more than {seconds:g} s")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)


def attempt(ask):
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            with limited(SECONDS):
                return Asked(ask(), None, heard)
        except (Exception, TooLong) as error:
            return Asked(None, error, heard)


def is_own(heard):
    """Whether a warning is one of the package, which names the line that called it."""
    own = heard.category is UserWarning or heard.category.__module__ == "tobitgp.errors"
    return own and not any(part in heard.filename for part in (PACKAGE, *ELSEWHERE))


def numbers(answer, gaps):
    """Arrays of numbers in an answer; with ``gaps`` without rows, or columns, that are missing as a whole."""
    if isinstance(answer, (list, tuple)):
        for each in answer:
            yield from numbers(each, gaps)
    elif isinstance(answer, (pd.Series, pd.DataFrame)):
        table = pd.DataFrame(answer).select_dtypes("number")
        table = table.dropna(how="all").dropna(how="all", axis=1) if gaps else table
        yield table.to_numpy(float, na_value=np.nan)
    elif isinstance(answer, (float, np.floating, np.ndarray)):
        values = np.asarray(answer, float)
        yield values[~np.isnan(values)] if gaps else values


def is_finite(answer, gaps=False):
    return all(np.isfinite(each).all() for each in numbers(answer, gaps))


def explained(res):
    """Whether the diagnostics, or the notes below the summary, say that something is wrong, or infinite."""
    checked = attempt(lambda: res.check()).value
    found = checked is not None and any(each.verdict != "good" for each in checked.findings)
    notes = " ".join(str(attempt(res.summary).value).split())
    return found or "infinite" in notes or "no standard errors" in notes


def documented(name, answer):
    """An answer without the numbers whose absence the reference documents, such as z of sigma."""
    if name in ("tvalues", "pvalues"):  # sigma has none
        return answer.fillna(0.0)
    if name == "summary_frame":
        without = [column for column in answer if re.search("[zP]|exp", str(column))]
        return answer.assign(**answer[without].fillna(0.0))
    return answer.drop(columns="edf", errors="ignore") if name == "anova" else answer  # of processes alone


def unexplained(res, fitted, asked, *, gaps=False):
    """Whether an answer is not finite, and neither a warning of the fit or of the question nor the fit says why."""
    heard = any(map(is_own, (*fitted.heard, *asked.heard)))
    return not (is_finite(asked.value, gaps) or heard or explained(res))
