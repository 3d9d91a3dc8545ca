"""``tobitgp curves``: Kaplan-Meier curves of groups, their medians, and the log-rank test, without a model."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from tobitgp.cli.command_options import add_command
from tobitgp.cli.table_files import check_targets, read_data, replacing
from tobitgp.data.outcome import check_entry
from tobitgp.errors import DataError
from tobitgp.model import Model
from tobitgp.report.group_curves import (
    CurveGroup,
    Seen,
    draw_groups,
    groups_size,
    log_rank,
    log_rank_words,
    read_groups,
    summarise_groups,
)

_OUT = "curves --out"


def add_curves(commands: Any) -> None:
    """Add the command to a parser."""
    what = "draw Kaplan-Meier curves of groups, print medians and the log-rank test"
    one = add_command(commands, "curves", what, "time event lung.csv --by sex --out curves.png")
    one.set_defaults(run=_curves)
    one.add_argument("time", help="column of times")
    one.add_argument("event", help="column of events: 1 for an event, 0 for right-censored")
    one.add_argument("data", type=Path, help="CSV file with a header line, or Parquet file")
    one.add_argument("--by", metavar="COLUMN", help="column of at most eight groups to compare")
    one.add_argument("--entry", metavar="COLUMN", help="column of times at which rows enter the study (late entry)")
    one.add_argument("--out", type=Path, metavar="FILE", help="write a figure with numbers at risk, png, pdf or svg")


def _curves(options: argparse.Namespace) -> None:
    check_targets({_OUT: options.out}, read=[options.data])
    data, by = read_data(options.data), options.by
    columns = (options.entry, options.time, options.event)
    names = ", ".join(name if name.isidentifier() else f"`{name}`" for name in columns if name)
    training = Model(f"Surv({names}) ~ 1", data, family="gaussian").training
    response = training.response
    seen = Seen(response.lower, response.upper, response.weight, response.entry)
    check_entry(seen.lower, seen.entry, training.labels)
    if by is not None and by not in data:
        raise DataError(f"--by {by}: there is no such column. The file has {', '.join(map(str, data.columns))}.")
    groups = read_groups(seen, None if by is None else data[by].loc[training.labels])
    table = summarise_groups(seen, groups).rename_axis(by)
    print(table.to_string(float_format="{:.6g}".format))
    words = log_rank_words(log_rank(seen, groups))
    if words:
        print(f"\n{words}")
    if options.out is not None:
        _save(options, seen, groups, words)


def _save(options: argparse.Namespace, seen: Seen, groups: list[CurveGroup], words: str) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, ax = plt.subplots(figsize=groups_size(groups, at_risk=True), layout="constrained")
    until = 1.02 * float(seen.lower.max())
    draw_groups(ax, seen, groups, until=until, names=(options.time, "survival"), by=options.by or "", at_risk=True)
    ax.set_title(words, loc="left", fontsize="small")
    try:
        with replacing(options.out, _OUT) as file:
            figure.savefig(file, format=options.out.suffix[1:].lower(), dpi=150)
    finally:
        plt.close(figure)
    print(f"\nSaved figure to {options.out}")
