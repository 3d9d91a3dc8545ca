"""What comes of random questions to random models: an answer, a clear error, or a fault."""

import re
import signal
import traceback
import warnings
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

import tobitgp
from support.random_models import random_model
from support.random_nondetects import ask_nondetects
from support.random_questions import QUESTIONS, random_questions
from support.random_refits import READ  # noqa: F401, whose questions are drawn too
from tobitgp.errors import TobitGPError

SECONDS, NONDETECTS, LONGEST = 60.0, 0.06, 1200
PACKAGE = str(Path(tobitgp.__file__).parent)
# How a message begins: a sentence, or the argument, call or column that it is about, with its value where it has one.
BEGINS = re.compile(r"""[A-Z0-9'"`(]|[a-z_][\w.]*(=|\(|\[|: | (is|are|holds) )""")
NEVER = re.compile(r" object at 0x|  |\bnp\.(str_|float64|int64)|<class ")
ELSEWHERE = ("site-packages", "lib/python")


class TooLong(BaseException):
    """More of the processor than a question may take; no handler of errors catches it."""


class Asked(NamedTuple):
    """What a call gave: an answer or an error, and the warnings heard."""

    value: object
    error: BaseException | None
    heard: list


@dataclass
class Outcome:
    """Faults of one model, and what became of its questions."""

    model: object
    faults: list = field(default_factory=list)
    answers: int = 0
    errors: int = 0
    refused: bool = False
    messages: list = field(default_factory=list)


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


def faults_of(asked):
    """Raw errors, errors that say too little or too much, and warnings of other libraries."""
    error = asked.error
    if isinstance(error, TobitGPError):
        if not (10 < len(str(error)) < LONGEST and well_formed(error)):
            yield f"message: {type(error).__name__}: {error}"
    elif error is not None and not is_of_python(error):
        yield f"raw: {type(error).__name__}: {error} {place(error)}"
    for each in asked.heard:
        if not is_own(each):
            yield f"warning: {each.category.__name__}: {each.message} {each.filename}:{each.lineno}"


def well_formed(error):
    """Whether a message is a sentence that begins and ends as one."""
    said = str(error).partition("\n")[0]
    return bool(BEGINS.match(said)) and not NEVER.search(said) and said.endswith((".", "?"))


def is_own(heard):
    """Whether a warning is one of the package, which names the line that called it."""
    own = heard.category is UserWarning or heard.category.__module__ == "tobitgp.errors"
    return own and not any(part in heard.filename for part in (PACKAGE, *ELSEWHERE))


def is_of_python(error):
    """Whether Python itself says that a fit has no such method, or the method no such argument, where it was asked."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    from_outside = not last.filename.startswith(PACKAGE) or last.name == "missing_attribute"
    absent = isinstance(error, AttributeError) and "object has no attribute" in str(error)
    return from_outside and (absent or (isinstance(error, TypeError) and "unexpected keyword argument" in str(error)))


def place(error):
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if PACKAGE in frame.filename]
    last = traceback.extract_tb(error.__traceback__)[-1]
    return " < ".join(f"{Path(f.filename).name}:{f.lineno}" for f in [last, *frames[::-1]][:5])


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
    notes = str(attempt(res.summary).value)
    return found or "infinite" in notes or "no standard errors" in notes


def rows_left_out(res, model):
    counts = getattr(res, "counts", {})
    return model.shape == "missing" or counts.get("dropped", 0) > 0


def run(seed, number=8):
    """A random model, and random questions to it."""
    rng = np.random.default_rng([seed, 2])
    if rng.random() < NONDETECTS:
        return run_nondetects(seed, rng)
    model = random_model(seed)
    outcome = Outcome(model)
    data = model.data
    before = data.copy(deep=True)
    fitted = attempt(model.fit)
    outcome.faults += [f"fit: {fault}" for fault in faults_of(fitted)]
    if not data.equals(before):
        outcome.faults.append("fit: the data were modified")
    if fitted.error is not None:
        outcome.refused = True
        outcome.messages.append(f"fit: {fitted.error}")
        return outcome
    res = one_cause(fitted.value, rng)
    gaps = rows_left_out(res, model)
    for name in random_questions(res, rng, number):
        asked = attempt(lambda name=name: QUESTIONS[name][1](res, model, np.random.default_rng([seed, 3])))
        record(outcome, name, asked)
        finite = is_finite(asked.value, gaps or model.notes.get("gaps", False))
        if not (finite or any(map(is_own, (*fitted.heard, *asked.heard))) or explained(res)):
            outcome.faults.append(f"{name}: not finite: {asked.value}")
    return outcome


def one_cause(res, rng):
    """The fit, or of competing causes often that of one."""
    return res[rng.choice(np.array(res.causes, object))] if hasattr(res, "causes") and rng.random() < 0.6 else res


def run_nondetects(seed, rng):
    outcome = Outcome(f"nondetects {seed}")
    for name, ask in ask_nondetects(rng):
        asked = attempt(ask)
        record(outcome, name, asked)
        if asked.error is None and not is_finite(asked.value) and not asked.heard:
            outcome.faults.append(f"{name}: not finite: {asked.value}")
    return outcome


def record(outcome, name, asked):
    outcome.faults += [f"{name}: {fault}" for fault in faults_of(asked)]
    outcome.errors += isinstance(asked.error, TobitGPError)
    outcome.answers += asked.error is None
    if asked.error is not None:
        outcome.messages.append(f"{name}: {asked.error}")
