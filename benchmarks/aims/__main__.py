"""``python -m benchmarks.aims [NAME ...]``: measure the aims of table.py, and print a table.

Each fit with its predictions, or each call, has a separate process. The table has its processor and wall seconds, and
its peak memory. "x 2.0" is the ratio of processor seconds to the fit that the problem names: one with normal noise, a
spline, or a fit of another package.
"""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.aims.clocks import Measured
from benchmarks.aims.table import AIMS, Aim
from benchmarks.commands import chosen, command

COLUMNS = ("problem", "before", "aim", "now, CPU s", "wall s", "accuracy", "peak MB")


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print, row by row."""
    names = list(dict.fromkeys(aim.name for aim in AIMS))
    parser = command("benchmarks.aims", __doc__)
    parser.add_argument("names", nargs="*", help=f"{', '.join(names)}; all by default")
    wanted = chosen(parser, parser.parse_args(arguments).names, names)
    print(f"| {' | '.join(COLUMNS)} |\n{'|---' * len(COLUMNS)}|", flush=True)
    for aim in AIMS:
        if aim.name in wanted:
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
