"""How cost grows with the rows: ``python -m benchmarks.growth [--python PATH] [--first SEED] [--limit SECONDS]``.

A surface from 30 rows to a million, each fit with its predictions in a process of its own; writes ``growth.csv`` and
``growth.png`` beside this file. A program that ran out of time is not asked for more rows.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from pathlib import Path

import pandas as pd

from benchmarks.peers import PEERS
from benchmarks.problems import GROWTH, GROWTH_ROWS
from benchmarks.processes import run

HERE = Path(__file__).parent
PROGRAMS = ("tobitgp", "mgcv", "GPBoost")


def main() -> None:
    """Fit, write, draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", help="interpreter with the peers that this one has not")
    parser.add_argument("--first", type=int, default=0, help="first seed; 0 by default")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds for all seeds of one fit; 300 by default")
    options = parser.parse_args()
    interpreters, rows = [sys.executable, *([options.python] if options.python else [])], []
    for program in PROGRAMS:
        for n, problem in zip(GROWTH_ROWS, GROWTH, strict=True):
            peer = next(p.name for p in PEERS if p.name.startswith(program) and problem.name in p.problems.split())
            found = run(peer, problem.name, interpreters, options.limit, options.first).found
            if not found:
                break
            median = {
                key: statistics.median(s[key] for s in found) for key in ("seconds", "cpu", "peak", "rmse", "cover")
            }
            rows.append({"program": program, "rows": n, **median})
            print(rows[-1], flush=True)
    table = pd.DataFrame(rows)
    table.round(4).to_csv(HERE / "growth.csv", index=False)
    draw(table)


def draw(table: pd.DataFrame) -> None:
    """Seconds and memory by rows, a line for each program."""
    import matplotlib.pyplot as plt

    fig, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    for ax, (column, label) in zip(axes, (("seconds", "seconds"), ("peak", "peak memory, MB")), strict=True):
        for program, part in table.groupby("program", sort=False):
            ax.plot(part["rows"], part[column], marker="o", ms=3, label=program)
        ax.set(xscale="log", yscale="log", xlabel="rows", ylabel=label)
        ax.grid(alpha=0.3)
    axes[1].yaxis.set_major_formatter("{x:g}")
    axes[1].yaxis.set_minor_formatter("{x:g}")
    axes[0].legend(frameon=False)
    fig.savefig(HERE / "growth.png", dpi=120)


if __name__ == "__main__":
    main()
