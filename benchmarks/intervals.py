"""``python -m benchmarks.intervals``: left- and interval-censored data by tobitgp and lifelines, on the same folds.

Each model is fitted to all rows but those of a fold and judged on these: Groot and Lucas' concordance, mean log
predictive density, calibration of all held-out rows together. Right-censored times: ``python -m benchmarks.neutral``.
"""

from __future__ import annotations

import re
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import tobitgp as tg
from benchmarks.commands import chosen, command
from benchmarks.mixtures.tables import Row, mean_and_error, show
from tobitgp.selection.folds import deal

REFERENCE = "lifelines WeibullAFT"


@dataclass(frozen=True)
class Problem:
    """A data set and what is fitted to it.

    Attributes
    ----------
    name : str
    kind : {"left", "interval"}
    columns : tuple of str
        Value and whether it was seen (1), or the two bounds.
    family : str
        The one that gives processes, or else linear models, the highest evidence of weibull, lognormal and loglogistic.
    linear : str
        Right-hand side of all linear models.
    curved : str
        That of the process, or the mixture where no column is a number.
    prepare : callable
        Of the frame as `tobitgp.datasets.load` has it.
    """

    name: str
    kind: str
    columns: tuple[str, str]
    family: str
    linear: str
    curved: str
    prepare: Callable[[pd.DataFrame], pd.DataFrame] = lambda frame: frame

    def frame(self) -> pd.DataFrame:
        """Its rows, none missing in a column that is used."""
        words = {*self.columns, *re.findall(r"\w+", f"{self.linear} {self.curved}")}
        whole = self.prepare(tg.datasets.load(self.name))
        return whole[[column for column in whole if column in words]].dropna().reset_index(drop=True)

    def bounds(self, frame: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
        """Ends of what is known of each row."""
        a, b = (frame[column].to_numpy(float) for column in self.columns)
        return (a, b) if self.kind == "interval" else (np.where(b == 1, a, 0.0), a)


PROBLEMS = (
    Problem(
        "nh4", "left", ("nh4", "seen"), "loglogistic", "time", "gp(time)",
        lambda frame: frame.assign(seen=1 - frame["censored"]),
    ),
    Problem("diabetes", "interval", ("left", "right"), "loglogistic", "sex", "mixture(2)"),
)  # fmt: skip


class Candidate(NamedTuple):
    """A model: ``fit`` gives what predicts as lifelines' fitters do."""

    name: str
    fit: Callable[[pd.DataFrame], Any]


def candidates(problem: Problem) -> Iterator[Candidate]:
    """Return the models: a process, and regressions of both libraries."""
    from lifelines import WeibullAFTFitter

    fit, columns = f"fit_{problem.kind}_censoring", problem.columns

    def ours(rhs: str, family: str, how: str = "auto") -> Callable[[pd.DataFrame], Any]:
        return lambda frame: getattr(tg.SurvivalModel(rhs, family, how), fit)(frame, *columns)

    curved = "mixture" if "mixture" in problem.curved else "process"
    family = "lognormal" if curved == "mixture" else problem.family
    yield Candidate(f"tobitgp {curved}, {family}", ours(problem.curved, family))
    for family in dict.fromkeys([problem.family, "weibull"]):
        yield Candidate(f"tobitgp linear, {family}", ours(problem.linear, family, "mle"))
    yield Candidate(REFERENCE, lambda frame: getattr(WeibullAFTFitter(), fit)(frame, *columns, formula=problem.linear))


class Scores(NamedTuple):
    """The scores of a model on each fold; NaN where it has none.

    Attributes
    ----------
    concordance, density, seconds : (folds,) array
    calibration : float
        p-value of D-calibration, of all held-out rows.
    """

    concordance: np.ndarray
    density: np.ndarray
    seconds: np.ndarray
    calibration: float


def cross_validated(problem: Problem, candidate: Candidate, frame: pd.DataFrame, at: np.ndarray) -> Scores:
    """Fit without each fold, and judge on it; ``at`` is the fold of each row, (n,)."""
    folds, ends = [], []
    for fold in range(at.max() + 1):
        train, test = frame[at != fold], frame[at == fold]
        began = time.process_time()
        fitted = candidate.fit(train)
        seconds = time.process_time() - began
        lower, upper = problem.bounds(test)
        score = np.asarray(fitted.predict_median(test), dtype=float)
        constant = np.ptp(score) == 0.0
        folds.append(
            (
                np.nan if constant else tg.metrics.concordance_index(None, score, lower=lower, upper=upper),
                fitted.score(test, "log_likelihood"),
                seconds,
            )
        )
        above = _own(fitted, test, lower, 1.0)
        ends.append((above, np.minimum(above, _own(fitted, test, upper, 0.0))))  # which rounding may set above it
    above, below = (np.concatenate(part) for part in zip(*ends, strict=True))
    calibration = tg.metrics.d_calibration(lower=above, upper=below).p_value
    return Scores(*np.array(folds).T, calibration)


def _own(fitted: Any, test: pd.DataFrame, end: np.ndarray, beyond: float) -> np.ndarray:
    """Each row's predicted survival at an end of its own; at an end that is open that of the end of the scale."""
    open_end = ~np.isfinite(end) | (end <= 0.0)
    times = np.where(open_end, np.median(end[~open_end]) if (~open_end).any() else 1.0, end)
    distinct, where = np.unique(times, return_inverse=True)
    curves = np.asarray(fitted.predict_survival_function(test, times=distinct))
    return np.where(open_end, beyond, curves[where, np.arange(len(test))])


def table(problem: Problem, folds: int) -> list[Row]:
    """A row for each model."""
    frame = problem.frame()
    lower, upper = problem.bounds(frame)
    at = deal(lower == upper, folds, np.random.default_rng(0))
    found = {one.name: cross_validated(problem, one, frame, at) for one in candidates(problem)}
    reference = found[REFERENCE].density
    return [
        {
            "data": f"{problem.name} ({len(frame)} rows, {np.mean(lower != upper):.0%} {problem.kind}-censored)",
            "model": name,
            "c-index": _shown(scores.concordance, 3),
            "log density": _shown(scores.density, 4),
            "ahead of WeibullAFT": "" if name == REFERENCE else _shown(scores.density - reference, 4),
            "D-calibration p": f"{scores.calibration:.2f}",
            "CPU s": f"{np.median(scores.seconds):.2f}",
        }
        for name, scores in found.items()
    ]


def _shown(values: np.ndarray, digits: int) -> str:
    if np.isnan(values).any():
        return ""
    mean, error = mean_and_error(values)
    return f"{round(mean, digits) + 0.0:.{digits}f} ({error:.{digits}f})"


def main(arguments: Sequence[str] | None = None) -> None:
    """Print one table of the problems asked for."""
    parser = command("benchmarks.intervals", __doc__)
    parser.add_argument("problems", nargs="*", help="nh4, diabetes; all by default")
    parser.add_argument("--folds", type=int, default=10, help="number of folds; 10 by default")
    parser.add_argument("--out", type=Path, help="folder for a CSV file")
    options = parser.parse_args(arguments)
    names = chosen(parser, options.problems, [problem.name for problem in PROBLEMS])
    rows: list[Row] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for problem in PROBLEMS:
            if problem.name in names:
                rows += table(problem, options.folds)
    show(f"Intervals, {options.folds} folds, standard errors over folds", rows, options.out, "intervals")


if __name__ == "__main__":
    main()
