"""``python -m benchmarks.aims [NAME ...]``: measure the aims of table.py, and print a table.

Processor and wall seconds of a fit with its predictions, or of a call, in a process of its own. "x 2.0" is relative to
what the problem names: normal noise, a spline, a peer.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from benchmarks.aims.clocks import Measured
from benchmarks.aims.table import AIMS, Aim

COLUMNS = ("problem", "before", "aim", "now, CPU s", "wall s", "accuracy", "peak MB")


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print, row by row."""
    names = list(dict.fromkeys(aim.name for aim in AIMS))
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(names)}; all by default")
    chosen = parser.parse_args(arguments).names or names
    if unknown := [name for name in chosen if name not in names]:
        parser.error(f"{', '.join(unknown)}: choose of {', '.join(names)}")
    print(f"| {' | '.join(COLUMNS)} |\n{'|---' * len(COLUMNS)}|", flush=True)
    for aim in AIMS:
        if aim.name in chosen:
            print(row(aim, aim.measure()), flush=True)


def row(aim: Aim, found: Measured) -> str:
    """A row of the table."""
    cpu, wall = map(figures, found.clock) if found.clock else ("", "")
    times = "" if found.times is None else f" (x {figures(found.times)})"
    peak = "" if found.clock is None else f"{found.peak:.0f}"
    return f"| {aim.problem} | {aim.before} | {aim.aim} | {cpu}{times} | {wall} | {found.accuracy} | {peak} |"


def figures(value: float) -> str:
    """Two figures, and never an exponent."""
    return f"{value:.0f}" if value >= 10.0 else f"{value:#.2g}"


if __name__ == "__main__":
    main()
