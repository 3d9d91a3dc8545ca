"""``python -m benchmarks.neutral``: regressions of right-censored times on many data sets, scored on held-out rows.

Every method is fitted to all rows of a data set but those of a fold and judged on these, the same folds for all.
A row of a CSV file of folds is written after each fit, and a run goes on where one was stopped; means over folds are
written to ``docs/trust/neutral.csv`` and their tables printed.
"""

from __future__ import annotations

import csv
import time
import warnings
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.commands import chosen, command
from benchmarks.neutral.data import PROBLEMS, Problem, numeric
from benchmarks.neutral.methods import Method, methods
from benchmarks.neutral.scores import scores
from benchmarks.neutral.tables import REFERENCE, of_sets, rank_table, score_table, with_picks
from tobitgp.selection.folds import deal

FOLD_SCORES = Path("out") / "neutral.csv"
OUT = Path("docs") / "trust" / "neutral.csv"
FOLDS = 5
COLUMNS = (
    "data", "rows", "events", "fold", "method", "brier", "log_loss", "log_density", "concordance", "seconds",
    "log_evidence", "log_evidence_integrated", "df_model", "penalty", "error",
)  # fmt: skip
SHOWN = [  # methods of the tables by data set
    "Kaplan-Meier", "lifelines Cox", "scikit-survival forest", "tobitgp lines, family by evidence",
    "tobitgp curves, family by evidence", "tobitgp lines and curves, family by evidence",
    "tobitgp ph, lines", "tobitgp ph, curves",
]  # fmt: skip


def measured(problem: Problem, method: Method, fold: int) -> dict[str, object]:
    """Scores of a method on the rows of a fold, and processor seconds of its fit."""
    frame = problem.frame()
    at = deal(frame["event"].to_numpy() == 1, FOLDS, np.random.default_rng(0))
    used = numeric(frame) if method.coded else frame
    train, test = used[at != fold], used[at == fold]
    row: dict[str, object] = {"data": problem.name, "rows": len(frame), "events": int(frame["event"].sum())}
    row |= {"fold": fold, "method": method.name}
    began = time.process_time()
    try:
        fitted = method.fit(train)
        seconds = time.process_time() - began
        return row | scores(fitted, train, test) | fitted.about | {"seconds": round(seconds, 3)}
    except Exception as error:  # a fit that fails has a row that says so
        return row | {"error": f"{type(error).__name__}: {error}"[:200]}


def sought(sets: Sequence[str], texts: str, folds: int) -> Iterator[tuple[int, Problem, Method]]:
    """Yield folds, data sets and methods that were requested."""
    for fold in range(folds):
        for problem in PROBLEMS:
            if problem.name in sets:
                yield from ((fold, problem, m) for m in methods() if any(text in m.name for text in texts.split("|")))


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure what is asked for and is not in the file, then write the means and print the tables."""
    parser = command("benchmarks.neutral", __doc__)
    parser.add_argument("data", nargs="*", help="all by default")
    parser.add_argument("--methods", default="", help="only methods whose names contain this text, or one of a|b")
    parser.add_argument("--folds", type=int, default=FOLDS, help=f"how many of the {FOLDS} folds")
    parser.add_argument("--scores", type=Path, default=FOLD_SCORES, help="CSV file of folds, which is added to")
    parser.add_argument("--out", type=Path, default=OUT, help="CSV file of means over folds")
    options = parser.parse_args(arguments)
    sets = chosen(parser, options.data, [problem.name for problem in PROBLEMS])
    path: Path = options.scores
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(",".join(COLUMNS) + "\n")
    known = pd.read_csv(path)
    done = set(zip(known["data"], known["fold"], known["method"], strict=True))
    for fold, problem, method in sought(sets, options.methods, options.folds):
        if (problem.name, fold, method.name) in done:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            row = measured(problem, method, fold)
        with path.open("a", newline="") as file:
            text = {name: f"{value:.6g}" if isinstance(value, float) else value for name, value in row.items()}
            csv.DictWriter(file, COLUMNS).writerow(text)
        print(problem.name, fold, method.name, row.get("seconds"), row.get("error", ""), flush=True)
    folds = pd.read_csv(path)
    if lacking := {"Kaplan-Meier", REFERENCE} - set(folds["method"]):
        parser.exit(message=f"{path} has no rows of {', '.join(sorted(lacking))}, which the tables require.\n")
    means = of_sets(with_picks(folds))
    means.to_csv(options.out, index=False, float_format="%.5g")
    print(f"\n{rank_table(means)}")
    for score in ("log_loss", "brier"):
        print(f"\n{score}\n\n{score_table(means, score, [name for name in SHOWN if name in set(means['method'])])}")


if __name__ == "__main__":
    main()
