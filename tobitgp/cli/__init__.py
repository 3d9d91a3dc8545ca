"""Command line: ``tobitgp fit``, ``predict``, ``summary``, ``report``, ``compare``, ``curves`` and ``demo``."""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

from tobitgp import api, datasets
from tobitgp.cli.command_options import add_command
from tobitgp.cli.curves_command import add_curves
from tobitgp.cli.fit_command import add_fit, save_plot
from tobitgp.cli.table_files import check_targets, date_columns, load_model, read_data, read_dates, write_table
from tobitgp.data.frames import flat
from tobitgp.data.values import printable_lines
from tobitgp.errors import DataError, TobitGPError
from tobitgp.results.compare import CRITERIA, EVIDENCE, compare, distinct
from tobitgp.results.likelihood.cure_results import CureResults
from tobitgp.results.mixture.mixture_predictions import WHATS as MIXTURE_WHATS
from tobitgp.results.predict import whats

DEMO = "nh4 ~ gp(time, kernel='matern32') | censor(limit)"
BAD_INPUT = 2
INTERRUPTED = 130  # as shells report Ctrl-C
_NUMBERS: dict[str, Any] = {"type": float, "nargs": "+", "action": "extend", "metavar": "NUMBER"}
_FILE: dict[str, Any] = {"type": Path, "metavar": "FILE"}
_MODEL: dict[str, Any] = {"type": Path, "help": "file written by `tobitgp fit --save` or `res.save()`"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line."""
    options = _parser().parse_args(arguments)
    warnings.showwarning = _one_line
    try:
        options.run(options)
        sys.stdout.flush()
    except BrokenPipeError:
        _mute_what_breaks()  # the reader closed the pipe
    except KeyboardInterrupt:
        print("tobitgp: interrupted", file=sys.stderr)
        return INTERRUPTED
    except TobitGPError as error:
        print(f"tobitgp: {printable_lines(error)}", file=sys.stderr)
        return BAD_INPUT
    except OSError as error:
        place = "" if error.filename is None else f"{error.filename}: "
        print(f"tobitgp: {printable_lines(place + (error.strerror or str(error)))}", file=sys.stderr)
        _mute_what_breaks()
        return BAD_INPUT
    return 0


def _mute_what_breaks() -> None:
    """Discard output that cannot be written; otherwise Python reports it again when it closes the stream."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _one_line(message: Warning | str, category: type[Warning], *rest: Any, **more: Any) -> None:
    print(f"{category.__name__}: {printable_lines(message)}", file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tobitgp",
        description="Regression for censored and truncated data, with an R-style formula.",
    )
    parser.add_argument("--version", action="version", version=f"tobitgp {version('tobitgp')}")
    commands = parser.add_subparsers(required=True, metavar="command")

    add_fit(commands)

    add_curves(commands)

    demo = "fit the bundled ammonium data, print the summary and write a figure"
    one = add_command(commands, "demo", demo, "", "--plot ammonium.pdf")
    one.set_defaults(run=_demo)
    target = Path("tobitgp-demo.png")
    one.add_argument("--plot", default=target, help=f"figure to write, png, pdf or svg (default: {target})", **_FILE)

    examples = ("fit.tgp new.csv --interval 0.95", "fit.tgp new.csv --what prob --above 10 --keep id --out prob.csv")
    one = add_command(commands, "predict", "predict the rows of a file from a saved fit", *examples)
    one.set_defaults(run=_predict)
    one.add_argument("model", **_MODEL)
    one.add_argument("data", type=Path, help="CSV file with a header line, or Parquet file")
    choices = list(dict.fromkeys((*whats(), *MIXTURE_WHATS, *CureResults._whats)))
    one.add_argument("--what", choices=choices, help="quantity to predict (default: median; uncensored for mixtures)")
    one.add_argument("--q", help="probabilities of the quantiles, e.g. 0.1 0.9; requires --what quantile", **_NUMBERS)
    one.add_argument("--below", help="probability of a response below this value; requires --what prob", **_NUMBERS)
    one.add_argument("--above", help="probability of a response above this value; requires --what prob", **_NUMBERS)
    interval = "add columns lower and upper of an interval with this probability, e.g. 0.95"
    one.add_argument("--interval", type=float, metavar="PROBABILITY", help=interval)
    one.add_argument("--se", action="store_true", help="add a column of standard errors")
    excluded = "terms to set to zero, named as in the summary"
    one.add_argument("--exclude", nargs="+", action="extend", default=[], metavar="TERM", help=excluded)
    kept = "columns of the data to copy to the output, e.g. an id"
    one.add_argument("--keep", nargs="+", action="extend", default=[], metavar="COLUMN", help=kept)
    one.add_argument("--out", help="write CSV or Parquet, by the suffix of the name (default: CSV to stdout)", **_FILE)

    one = add_command(commands, "summary", "print the summary of a saved fit", "fit.tgp")
    one.set_defaults(run=_summary)
    one.add_argument("model", **_MODEL)

    page = "write an HTML page about a saved fit; saved fits have no training rows, so `fit --report` shows more"
    one = add_command(commands, "report", page, "fit.tgp --out fit.html")
    one.set_defaults(run=_report)
    one.add_argument("model", **_MODEL)
    one.add_argument("--out", required=True, help="page to write, .html or .htm", **_FILE)
    one.add_argument("--title", help="title of the page (default: the formula)")

    ranking = "rank saved fits of the same response and rows"
    one = add_command(commands, "compare", ranking, "linear.tgp smooth.tgp", "a.tgp b.tgp --by aic")
    one.set_defaults(run=_compare)
    one.add_argument("models", nargs="+", metavar="model", **_MODEL)
    # Saved fits hold no rows, so criteria that sum over rows are not available.
    choices = [name for name, criterion in CRITERIA.items() if not criterion.by_row]
    by = f"criterion (default: {EVIDENCE}, integrated if every fit has that; aic without a posterior)"
    one.add_argument("--by", choices=[EVIDENCE, *choices], default=EVIDENCE, help=by)
    return parser


def _demo(options: argparse.Namespace) -> None:
    check_targets({"--plot": options.plot})
    print("Ammonium in precipitation (mg/L), several detection limits: tg.datasets.load('nh4')")
    print(f'tg.fit("{DEMO}", data, family="lognormal")\n')
    result = api.fit(DEMO, datasets.load("nh4"), family="lognormal")
    print(result.summary())
    save_plot(result, options.plot)


def _predict(options: argparse.Namespace) -> None:
    check_targets({"--out": options.out}, read=[options.model, options.data])
    model = load_model(options.model)
    predict, state = model.predict, model.parts.state
    # Levels 1, 2 and a are text, and a file that holds 1 and 2 alone looks like numbers.
    text = [name for name, levels in state.levels.items() if any(isinstance(level, str) for level in levels or ())]
    data = read_dates(read_data(options.data, text), date_columns(part.spec for part in state.parts))
    given = {name: getattr(options, name) for name in ("what", "interval", "se", "exclude", "q", "below", "above")}
    numbers = {name: given[name][0] for name in ("q", "below", "above") if given[name] and len(given[name]) == 1}
    table: Any = predict(data, **{name: value for name, value in (given | numbers).items() if value})
    table = flat(table)
    for name in options.keep:
        if name not in data.columns:
            raise DataError(
                f"--keep {name}: the data have no such column. They have {', '.join(map(str, data.columns))}."
            )
        if name in table.columns:
            raise DataError(f"--keep {name}: predictions have a column of this name. Rename the column of the data.")
    write_table(data[options.keep].join(table) if options.keep else table, options.out)


def _summary(options: argparse.Namespace) -> None:
    print(load_model(options.model).summary())


def _report(options: argparse.Namespace) -> None:
    check_targets({"report --out": options.out}, read=[options.model])
    load_model(options.model).report(options.out, title=options.title)


def _compare(options: argparse.Namespace) -> None:
    same = len({path.stem for path in options.models}) < len(options.models)
    names = distinct(str(path) if same else path.stem for path in options.models)
    fits = {name: load_model(path) for name, path in zip(names, options.models, strict=True)}
    print(compare(fits, options.by).to_string(float_format="{:.3f}".format))
