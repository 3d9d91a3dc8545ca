"""``python -m benchmarks.mixtures [coverage families numbers size power passes fits positive]``: tables of mixtures.

Rows are censored. Tables are printed in markdown; ``--out`` keeps them as CSV too.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from benchmarks.commands import chosen, command
from benchmarks.mixtures import coverage, families, numbers, speed, survival
from benchmarks.mixtures.tables import show

TABLES = ("coverage", "families", "numbers", "size", "power", "passes", "fits", "positive")


def main(arguments: Sequence[str] | None = None) -> None:
    """Make the tables asked for."""
    parser = command("benchmarks.mixtures", __doc__)
    parser.add_argument("tables", nargs="*", help=f"{', '.join(TABLES)}; all by default")
    parser.add_argument("--sets", type=int, default=300, help="data sets of each case of coverage; 300 by default")
    parser.add_argument("--seeds", type=int, default=20, help="data sets of each number of groups; 20 by default")
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows that are timed; a million by default")
    parser.add_argument("--repeats", type=int, default=5, help="timings of which medians are shown; 5 by default")
    parser.add_argument("--out", type=Path, help="folder for CSV files")
    options = parser.parse_args(arguments)
    wanted, out = chosen(parser, options.tables, TABLES), options.out
    if "coverage" in wanted:
        rows = coverage.coverage_table(options.sets)
        show(f"Coverage of 95% intervals, {options.sets} sets", rows, out, "coverage")
    if "families" in wanted:
        rows = families.family_table(options.sets)
        show(f"Coverage of 95% intervals of separated groups, {options.sets} sets", rows, out, "families")
    if "numbers" in wanted:
        rows = numbers.number_table(options.seeds)
        show(
            f"Share with the right number of groups, {options.seeds} sets",
            [*rows, numbers.overall(rows)],
            out,
            "numbers",
        )
    for name, table in (("size", survival.size_table), ("power", survival.power_table)):
        if name in wanted:
            show(f"Survival check: {name}, {options.sets} sets", table(options.sets), out, name)
    if "passes" in wanted:
        rows = speed.passes(options.rows, options.repeats)
        show(f"One pass over {options.rows:,} rows, K = 5", rows, out, "passes")
    if "fits" in wanted:
        rows = speed.fits(options.rows, max(1, options.repeats // 2))
        show(f"A whole fit of {options.rows:,} rows, K = 5", rows, out, "fits")
    if "positive" in wanted:
        rows = speed.family_fits(options.rows)
        show(f"A whole fit of {options.rows:,} positive rows, 40% right-censored", rows, out, "positive")


if __name__ == "__main__":
    main()
