"""``python -m benchmarks.growth [AXIS ...]``: fit problems of growing size, and write a table and a figure.

Axes are rows, terms, groups, inputs, columns and components. Each problem is fitted in a separate process, and times
include predictions. Axes and programs that are not measured keep their rows in the file. An axis ends for a program
where a fit takes longer than the limit.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd

from benchmarks.axes import AXES, Axis
from benchmarks.commands import chosen, command
from benchmarks.peers import PEERS
from benchmarks.processes import run

HERE = Path(__file__).parent
PROGRAMS = ("tobitgp", "mgcv", "GPBoost", "scikit-learn", "statsmodels", "lifelines")
FIGURES = ("seconds", "cpu", "peak", "rmse", "mnll", "cover")
START = 10.0  # seconds for imports and draws
PANELS = 3  # axes in a row of the figure


def main(arguments: Sequence[str] | None = None) -> None:
    """Fit, write, draw."""
    parser = command("benchmarks.growth", __doc__)
    parser.add_argument("axes", nargs="*", help=f"{', '.join(AXES)}; all by default")
    parser.add_argument("--python", metavar="PATH", help="interpreter for packages that this one does not have")
    parser.add_argument("--first", metavar="SEED", type=int, default=0, help="first seed; 0 by default")
    parser.add_argument(
        "--limit", metavar="SECONDS", type=float, default=60.0, help="seconds of one fit; 60 by default"
    )
    parser.add_argument(
        "--out",
        metavar="FOLDER",
        type=Path,
        default=HERE,
        help="folder of growth.csv and growth.png; that of this file by default",
    )
    options = parser.parse_args(arguments)
    interpreters = [sys.executable, *([options.python] if options.python else [])]
    found = []
    for name in chosen(parser, options.axes, AXES):
        for program in PROGRAMS:
            for line in along(AXES[name], program, interpreters, options.limit, options.first):
                found.append(line)
                print(line, flush=True)
    draw(keep(pd.DataFrame(found), options.out / "growth.csv"), options.out / "growth.png")


def along(
    axis: Axis, program: str, interpreters: Sequence[str], limit: float, first: int
) -> Iterator[dict[str, object]]:
    """Yield medians over seeds for each size, of the first fit of a program that has this size."""
    for size in axis.sizes:
        problem = axis.problem(size)
        tried = (peer.name for peer in PEERS if peer.name.startswith(program) and problem.name in peer.problems.split())
        if (peer := next(tried, None)) is None:
            return
        # A first fit, which is not timed, is as long as the others where rows are few.
        found = run(peer, problem.name, interpreters, START + limit * (problem.seeds + 1), first).found
        if not found:
            return
        median = {key: statistics.median(seed[key] for seed in found) for key in FIGURES}
        if axis.score == "mnll":  # new responses, not f
            median |= {"rmse": float("nan"), "cover": float("nan")}
        yield {"axis": axis.name, "program": program, "size": size} | median
        if median["seconds"] > limit:
            return


def keep(found: pd.DataFrame, file: Path) -> pd.DataFrame:
    """Write the new rows, and keep the rows that the file has for other axes and programs."""
    if file.exists():
        before, keys = pd.read_csv(file), ["axis", "program"]
        again = pd.MultiIndex.from_frame(before[keys]).isin(pd.MultiIndex.from_frame(found[keys]))
        found = pd.concat([before[~again], found])
    order = [list(AXES), list(PROGRAMS)]
    places = [found[key].map(names.index) for key, names in zip(("axis", "program"), order, strict=True)]
    found = found.assign(axis_=places[0], program_=places[1]).sort_values(["axis_", "program_", "size"])
    found = found.drop(columns=["axis_", "program_"]).round(4)
    found.to_csv(file, index=False)
    return found


def draw(table: pd.DataFrame, file: Path) -> None:
    """Draw processor seconds and memory: two panels for each axis, a line for each program."""
    import matplotlib.pyplot as plt

    axes = [axis for axis in AXES.values() if axis.name in set(table["axis"])]
    blocks = -(-len(axes) // PANELS)
    fig, panels = plt.subplots(2 * blocks, PANELS, figsize=(10, 5.4 * blocks), layout="constrained")
    for ax in panels.flat:
        ax.set_visible(False)  # until it has an axis
    colours = dict(zip(PROGRAMS, plt.rcParams["axes.prop_cycle"].by_key()["color"], strict=False))
    for i, axis in enumerate(axes):
        top, column = 2 * (i // PANELS), i % PANELS
        for ax, key, label in ((panels[top, column], "cpu", "CPU seconds"), (panels[top + 1, column], "peak", "MB")):
            for program, part in table[table["axis"] == axis.name].groupby("program", sort=False):
                ax.plot(part["size"], part[key], marker="o", ms=3, label=program, color=colours[program])
            ax.set(xscale="log", yscale="log" if key == "cpu" else "linear", xlabel=axis.label, ylabel=label)
            ax.set_visible(True)
            ax.yaxis.set_major_formatter("{x:g}")
            ax.grid(alpha=0.3)
        panels[top + 1, column].set_ylim(0.0, 1.08 * table.loc[table["axis"] == axis.name, "peak"].max())
    handles = {name: line for ax in panels.flat for line, name in zip(*ax.get_legend_handles_labels(), strict=True)}
    fig.legend(handles.values(), handles.keys(), loc="outside upper center", ncols=len(handles), frameon=False)
    fig.savefig(file, dpi=120)
    plt.close(fig)


if __name__ == "__main__":
    main()
