"""``python -m benchmarks``: time and score tobitgp beside its peers, in one process, and print a table.

Times are whole fits with predictions at the test inputs, medians over the seeds of a problem; scores are means over
them.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence

import tobitgp as tg
from benchmarks.peers import PEERS, PROCESSES, REGRESSIONS
from benchmarks.problems import PROBLEMS, Problem
from benchmarks.scores import scores, term_coverage

TERM_SEEDS = 20
_FITS = {"process": PROCESSES, "grouped": PROCESSES[:2], "linear": REGRESSIONS}
HEADER = "| problem | fit | seconds | x fastest | RMSE | MNLL | cover 95% |\n|---|---|---|---|---|---|---|"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the problems asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("problems", nargs="*", help="names as P1; all by default")
    parser.add_argument("--peers", default="", help="only fits whose name holds this text")
    options = parser.parse_args(arguments)
    chosen = [p for p in PROBLEMS if not options.problems or p.name in options.problems]
    print(HEADER, flush=True)
    for problem in chosen:
        _run(problem, [name for name in _FITS[problem.kind] if options.peers in name])
    for problem in chosen:
        if problem.draw(0).terms:
            _cover_terms(problem)
    if not options.problems:
        print(f"\n`import tobitgp` takes {_import_cost():.2f} s more than `import pandas` (median of 5).")


def _run(problem: Problem, names: Sequence[str]) -> None:
    rows = []
    for name in names:
        PEERS[name](problem.draw(0))  # imports and caches
        seconds, found = [], []
        for seed in range(problem.seeds):
            draw = problem.draw(seed)
            began = time.perf_counter()
            mixture = PEERS[name](draw)
            seconds.append(time.perf_counter() - began)
            found.append(scores(*mixture, draw.truth))
        mean = {key: statistics.fmean(s[key] for s in found) for key in found[0]}
        rows.append((name, statistics.median(seconds), mean))
    best = min(row[1] for row in rows)
    for name, second, mean in rows:
        figures = f"{second:.3f} | {second / best:.1f} | {mean['rmse']:.4f} | {mean['mnll']:.3f} | {mean['cover']:.3f}"
        print(f"| {problem.name} ({problem.seeds} seeds) | {name} | {figures} |", flush=True)


def _cover_terms(problem: Problem) -> None:
    """Print how often the terms' 95% bands hold the truth, over rows and seeds."""
    draws = [problem.draw(seed) for seed in range(TERM_SEEDS)]
    found = [term_coverage(tg.fit(draw.formula, draw.train), draw.terms) for draw in draws]
    words = ", ".join(f"{name} {statistics.fmean(f[name] for f in found):.3f}" for name in found[0])
    print(f"\n{problem.name}, share of rows whose 95% band holds the true term, {TERM_SEEDS} seeds: {words}.")


def _import_cost() -> float:
    def seconds(statement: str) -> float:
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", statement], check=True)
        return time.perf_counter() - began

    pairs = [(seconds("import tobitgp"), seconds("import pandas")) for _ in range(5)]
    return statistics.median(a - b for a, b in pairs)


if __name__ == "__main__":
    main()
