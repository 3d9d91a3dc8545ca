"""``python -m benchmarks.survival``: five data sets by tobitgp and lifelines, cross-validated on the same folds.

Each model is fitted to all rows but those of a fold and judged on these: concordance (Groot and Lucas' for left- and
interval-censored rows), integrated Brier score, mean log predictive density, calibration of all held-out rows together.
"""

from __future__ import annotations

import argparse
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
from benchmarks.mixtures.tables import Row, mean_and_error, show
from tobitgp.selection.cross_validation import deal

REFERENCE = "lifelines WeibullAFT"
_TIMES = 100


@dataclass(frozen=True)
class Problem:
    """A data set and what is fitted to it.

    Attributes
    ----------
    name : str
    kind : {"right", "left", "interval"}
    columns : tuple of str
        Time and event (1 where it was seen), or the two bounds.
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
        if self.kind == "interval":
            return a, b
        return (a, np.where(b == 1, a, np.inf)) if self.kind == "right" else (np.where(b == 1, a, 0.0), a)


def _logs(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.assign(
        log_size=np.log(frame["size"]),
        log_nodes=np.log(frame["nodes"]),
        log_progesterone=np.log(frame["progesterone"] + 1.0),
    )


_GBSG2 = "hormone + menopause + grade"
_ROSSI = "fin + race + wexp + mar + paro"
PROBLEMS = (
    Problem(
        "lung", "right", ("time", "event"), "weibull", "age + sex + ph_ecog + wt_loss",
        "gp(age) + sex + ph_ecog + gp(wt_loss)",
    ),
    Problem(
        "rossi", "right", ("week", "event"), "loglogistic", f"{_ROSSI} + age + prio", f"{_ROSSI} + gp(age) + gp(prio)"
    ),
    Problem(
        "gbsg2", "right", ("time", "event"), "lognormal", f"{_GBSG2} + age + log_size + log_nodes + log_progesterone",
        f"{_GBSG2} + gp(age) + gp(log_size) + gp(log_nodes) + gp(log_progesterone)", _logs,
    ),
    Problem(
        "nh4", "left", ("nh4", "seen"), "loglogistic", "time", "gp(time)",
        lambda frame: frame.assign(seen=1 - frame["censored"]),
    ),
    Problem("diabetes", "interval", ("left", "right"), "loglogistic", "sex", "mixture(2)"),
)  # fmt: skip


class Candidate(NamedTuple):
    """A model: ``fit`` gives what predicts as lifelines' fitters do; Cox's has no density."""

    name: str
    fit: Callable[[pd.DataFrame], Any]
    density: bool = True


def candidates(problem: Problem) -> Iterator[Candidate]:
    """What is fitted: a process, regressions, and those of lifelines that take such rows."""
    from lifelines import CoxPHFitter, WeibullAFTFitter

    method = {"right": "fit_right_censoring", "left": "fit_left_censoring", "interval": "fit_interval_censoring"}
    fit, columns = method[problem.kind], problem.columns

    def ours(rhs: str, family: str, how: str = "auto") -> Callable[[pd.DataFrame], Any]:
        return lambda frame: getattr(tg.SurvivalModel(rhs, family, how), fit)(frame, *columns)

    curved = "mixture" if "mixture" in problem.curved else "process"
    family = "lognormal" if curved == "mixture" else problem.family
    yield Candidate(f"tobitgp {curved}, {family}", ours(problem.curved, family))
    for family in dict.fromkeys([problem.family, "weibull"]):
        yield Candidate(f"tobitgp linear, {family}", ours(problem.linear, family, "mle"))
    yield Candidate(REFERENCE, lambda frame: getattr(WeibullAFTFitter(), fit)(frame, *columns, formula=problem.linear))
    if problem.kind == "right":
        yield Candidate(
            "lifelines CoxPH", lambda frame: CoxPHFitter().fit(frame, *columns, formula=problem.linear), density=False
        )


class Scores(NamedTuple):
    """What a model reached on each fold; NaN where it has none.

    Attributes
    ----------
    concordance, brier, density, seconds : (folds,) array
    calibration : float
        p-value of D-calibration, of all held-out rows.
    """

    concordance: np.ndarray
    brier: np.ndarray
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
        score = _order(fitted, test)
        constant = np.ptp(score) == 0.0
        folds.append(
            (
                np.nan if constant else tg.metrics.concordance_index(None, score, lower=lower, upper=upper),
                _brier(fitted, train, test, problem) if problem.kind == "right" else np.nan,
                fitted.score(test, "log_likelihood") if candidate.density else np.nan,
                seconds,
            )
        )
        ends.append((_own(fitted, test, lower, 1.0), _own(fitted, test, upper, 0.0)))
    above, below = (np.concatenate(part) for part in zip(*ends, strict=True))
    calibration = tg.metrics.d_calibration(lower=above, upper=below).p_value
    return Scores(*np.array(folds).T, calibration)


def _order(fitted: Any, test: pd.DataFrame) -> np.ndarray:
    """Predicted medians; of Cox's model, whose medians may lie beyond the last event, minus the hazards."""
    if hasattr(fitted, "predict_partial_hazard"):
        return -np.asarray(fitted.predict_partial_hazard(test), dtype=float)
    return np.asarray(fitted.predict_median(test), dtype=float)


def _brier(fitted: Any, train: pd.DataFrame, test: pd.DataFrame, problem: Problem) -> float:
    rows = [(part[problem.columns[0]], part[problem.columns[1]]) for part in (train, test)]
    events = train.loc[train[problem.columns[1]] == 1, problem.columns[0]]
    times = np.linspace(*np.quantile(events, [0.1, 0.9]), _TIMES)
    times = times[times < test[problem.columns[0]].max()]
    return float(tg.metrics.integrated_brier_score(*rows, fitted.predict_survival_function(test, times=times), times))


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
            "Brier": _shown(scores.brier, 4),
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
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("problems", nargs="*", help="all by default")
    parser.add_argument("--folds", type=int, default=10, help="10 by default")
    parser.add_argument("--out", type=Path, help="folder for a CSV file")
    options = parser.parse_args(arguments)
    names = [problem.name for problem in PROBLEMS]
    unknown = ", ".join(sorted({*options.problems} - {*names}))
    if unknown:
        parser.error(f"{unknown}: choose of {', '.join(names)}.")
    rows: list[Row] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for problem in PROBLEMS:
            if problem.name in (options.problems or names):
                rows += table(problem, options.folds)
    show(f"Survival, {options.folds} folds, standard errors over folds", rows, options.out, "survival")


if __name__ == "__main__":
    main()
