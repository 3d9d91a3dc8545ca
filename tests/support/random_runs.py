"""What comes of random questions to random models: an answer, a clear error, or a fault."""

import re
import traceback
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from support.random_models import random_model
from support.random_nondetects import ask_nondetects
from support.random_questions import QUESTIONS, random_questions
from support.random_refits import READ  # noqa: F401, whose questions are drawn too
from support.unexplained import PACKAGE, attempt, is_finite, is_own, unexplained
from tobitgp.errors import TobitGPError

NONDETECTS, LONGEST = 0.06, 1200
# How a message begins: a sentence, or the argument, call or column that it is about, with its value where it has one.
BEGINS = re.compile(r"""[A-Z0-9'"`(]|[a-z_][\w.]*(=|\(|\[|: | (is|are|holds) )""")
NEVER = re.compile(r" object at 0x|  |\bnp\.(str_|float64|int64)|<class ")


@dataclass
class Outcome:
    """Faults of one model, and what became of its questions."""

    model: object
    faults: list = field(default_factory=list)
    answers: int = 0
    errors: int = 0
    refused: bool = False
    messages: list = field(default_factory=list)


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


def rows_left_out(res, model):
    counts = getattr(res, "counts", {})
    chosen = model.options.get("censored") == "drop"
    return chosen or model.shape == "missing" or counts.get("dropped", 0) > 0


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
        if unexplained(res, fitted, asked, gaps=gaps or model.notes.get("gaps", False)):
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
