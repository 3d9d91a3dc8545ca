"""Asking one question of one fit: what came of it, in one word."""

from __future__ import annotations

import contextlib
import io
import traceback
import warnings
from dataclasses import dataclass
from pathlib import Path

import matplotlib.pyplot as plt

from tobitgp.errors import TobitGPError

from .checking import CHECKING
from .effects import EFFECTS
from .estimates import ESTIMATES
from .fits import Case
from .lifetimes import LIFETIMES
from .output import OUTPUT
from .predictions import PREDICTIONS
from .question import Question

GROUPS = {
    "Estimates": ESTIMATES,
    "Predictions, residuals and draws": PREDICTIONS,
    "Times": LIFETIMES,
    "Checks and comparisons": CHECKING,
    "Effects": EFFECTS,
    "Figures and files": OUTPUT,
}
QUESTIONS = [question for group in GROUPS.values() for question in group]


@dataclass(frozen=True)
class Outcome:
    """`answered`, `refused` with an error of the package, `missing` (no such argument), `shape` (wrong) or `raw`."""

    word: str
    said: str = ""


def ask(case: Case, question: Question) -> Outcome:
    try:
        with (
            warnings.catch_warnings(),
            contextlib.redirect_stdout(io.StringIO()),
            contextlib.redirect_stderr(io.StringIO()),
        ):
            warnings.simplefilter("ignore")
            found = question.call(case)
            wrong = "" if question.reason(case.entry) else question.check(case, found)
        return Outcome("shape", wrong) if wrong else Outcome("answered")
    except (TobitGPError, SystemExit) as error:
        return Outcome("refused", str(error))
    except Exception as error:
        last = traceback.extract_tb(error.__traceback__)[-1]
        said = f"{type(error).__name__}: {error} [{Path(last.filename).name}:{last.lineno}]"
        missing = isinstance(error, TypeError) and "unexpected keyword argument" in str(error)
        return Outcome("missing" if missing else "raw", said)
    finally:
        plt.close("all")
