"""``python -m benchmarks``: measure run time and accuracy of tobitgp and other packages, and print a table.

Times are those of a fit with predictions at the test inputs, as medians over the seeds of a problem. Scores are means
over the seeds. Memory is the peak of a process that has fitted the first seed.
"""

from __future__ import annotations

import signal
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence

import tobitgp as tg
from benchmarks.commands import chosen, command
from benchmarks.peers import PEERS
from benchmarks.problems import PROBLEMS, Problem
from benchmarks.processes import Outcome, run
from benchmarks.rates import report
from benchmarks.scores import term_coverage

TERM_SEEDS = 20
COLUMNS = ("problem", "fit", "seconds", "CPU", "x tobitgp", "RMSE", "MNLL", "cover 95%", "peak MB")
HEADER = f"| {' | '.join(COLUMNS)} |\n{'|---' * len(COLUMNS)}|"


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the problems asked for."""
    parser = command("benchmarks", __doc__)
    parser.add_argument(
        "problems", nargs="*", help=f"{', '.join(problem.name for problem in PROBLEMS)}; all by default"
    )
    parser.add_argument("--peers", metavar="TEXT", default="", help="only fits whose name contains this text")
    parser.add_argument("--python", metavar="PATH", help="interpreter for packages that this one does not have")
    parser.add_argument("--first", metavar="SEED", type=int, default=0, help="first seed; 0 by default")
    parser.add_argument(
        "--limit", metavar="SECONDS", type=float, default=600.0, help="seconds for all seeds of one fit; 600 by default"
    )
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the fit under way ends too
    names = chosen(parser, options.problems, [problem.name for problem in PROBLEMS])
    problems = [problem for problem in PROBLEMS if problem.name in names]
    interpreters = [sys.executable, *([options.python] if options.python else [])]
    print(HEADER, flush=True)
    missing: set[str] = set()
    for problem in problems:
        peers = [p.name for p in PEERS if problem.name in p.problems.split() and options.peers in p.name]
        missing |= _run(problem, peers, interpreters, options.limit, options.first)
    if missing:
        print(f"\nNot installed (blank rows): {', '.join(sorted(missing))}.")
    print(f"\n{report()}")
    for problem in problems:
        if problem.name == "A1":
            _cover_terms(problem)
    if not options.problems:
        print(f"\n`import tobitgp` takes {_import_cost():.2f} s more than `import pandas` (median of 5).")


def _run(problem: Problem, names: Sequence[str], interpreters: Sequence[str], limit: float, first: int) -> set[str]:
    """Print the rows of a problem; what was not installed."""
    missing, reference = set(), None
    for name in names:
        outcome = run(name, problem.name, interpreters, limit, first)
        missing |= {outcome.missing} - {""}
        if reference is None and name.startswith("tobitgp") and outcome.found:
            reference = _seconds(outcome)
        print(_row(problem, name, outcome, reference, limit), flush=True)
    return missing


def _row(problem: Problem, peer: str, outcome: Outcome, reference: float | None, limit: float) -> str:
    done = f"{len(outcome.found)} of " if 0 < len(outcome.found) < problem.seeds else ""
    start = f"| {problem.name} ({done}{problem.seeds} seed{'s' * (problem.seeds > 1)}) | {peer} |"
    if not outcome.found:
        reason = f"over {limit:.0f}" if outcome.late else f"failed: {outcome.error}" if outcome.error else ""
        return f"{start} {reason} | | | | | | |"
    mean = {key: statistics.fmean(s[key] for s in outcome.found) for key in ("rmse", "mnll", "cover")}
    # Later seeds add what libraries keep of earlier fits.
    seconds, peak = _seconds(outcome), outcome.found[0]["peak"]
    ratio = f"{seconds / reference:.1f}" if reference else ""
    figures = f"{mean['rmse']:.4f} | {mean['mnll']:.3f} | {mean['cover']:.3f} | {peak:.0f}"
    cpu = statistics.median(s["cpu"] for s in outcome.found)
    return f"{start} {seconds:.3f} | {cpu:.3f} | {ratio} | {figures} |"


def _seconds(outcome: Outcome) -> float:
    return statistics.median(s["seconds"] for s in outcome.found)


def _cover_terms(problem: Problem) -> None:
    """Print how often the 95% bands of the terms cover the truth, over rows and seeds."""
    draws = [problem.draw(seed) for seed in range(TERM_SEEDS)]
    found = [term_coverage(tg.fit(draw.formula, draw.train), draw.terms) for draw in draws]
    words = ", ".join(f"{name} {statistics.fmean(f[name] for f in found):.3f}" for name in found[0])
    print(f"\n{problem.name}, share of rows whose 95% band covers the true term, {TERM_SEEDS} seeds: {words}.")


def _import_cost() -> float:
    def seconds(statement: str) -> float:
        began = time.perf_counter()
        subprocess.run([sys.executable, "-c", statement], check=True)
        return time.perf_counter() - began

    pairs = [(seconds("import tobitgp"), seconds("import pandas")) for _ in range(5)]
    return statistics.median(a - b for a, b in pairs)


if __name__ == "__main__":
    main()
