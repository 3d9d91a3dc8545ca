"""Command lines of the benchmarks."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Sequence


def command(name: str, about: str | None) -> argparse.ArgumentParser:
    """Return the parser of ``python -m NAME``, which shows the docstring of the module."""
    formatter = argparse.RawDescriptionHelpFormatter
    return argparse.ArgumentParser(prog=f"python -m {name}", description=about, formatter_class=formatter)


def chosen(parser: argparse.ArgumentParser, given: Sequence[str], names: Collection[str]) -> list[str]:
    """Return the names that were given, or all names. An unknown name ends the program."""
    if unknown := [name for name in given if name not in names]:
        parser.error(f"{', '.join(unknown)}: must be among {', '.join(names)}")
    return list(given) or list(names)


def rows_given(name: str, about: str | None, default: int, arguments: Sequence[str] | None = None) -> int:
    """Return the number of rows on a command line whose only argument it is."""
    parser = command(name, about)
    parser.add_argument(
        "rows", nargs="?", type=row_count, default=default, help=f"rows to draw; {default:,} by default"
    )
    return int(parser.parse_args(arguments).rows)


def row_count(text: str) -> int:
    """Return a number of rows, which may be written as 1e6."""
    try:
        rows = int(float(text))
    except (OverflowError, ValueError):
        rows = 0
    if rows < 100:
        raise argparse.ArgumentTypeError(f"{text}: must be a number of at least 100, e.g. 1e6")
    return rows
