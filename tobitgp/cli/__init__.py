"""Command line: ``tobitgp fit``, ``predict``, ``compare``, ``curves`` and ``demo``."""

from __future__ import annotations

import argparse
import os
import sys
import warnings
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tobitgp import api, datasets
from tobitgp.cli.curves_command import add_curves
from tobitgp.cli.table_files import (
    check_targets,
    date_columns,
    load_model,
    names_many,
    read_data,
    read_dates,
    replacing,
    write_table,
)
from tobitgp.data.frames import flat
from tobitgp.data.table import column_names
from tobitgp.data.values import printable_lines
from tobitgp.errors import DataError, SpecError, TobitGPError
from tobitgp.formula import parse_formula
from tobitgp.formula.hazard_formula import read_hazards
from tobitgp.formula.mvbind import is_wide
from tobitgp.formula.parse import parse_scale_formula
from tobitgp.formula.spec import CureSpec, LinearPart, ScaleSpec
from tobitgp.inference.vi import BOUNDS
from tobitgp.likelihoods import FAMILIES
from tobitgp.method_settings import MLE
from tobitgp.method_spelling import METHODS, MOVED, holding
from tobitgp.mixture import MIXTURE_FAMILIES, MIXTURE_METHODS
from tobitgp.results.compare import CRITERIA, EVIDENCE, compare, distinct
from tobitgp.results.hazards.cells import BASELINES, DF, LINKS, PH
from tobitgp.results.likelihood.cure_results import CureResults
from tobitgp.results.mixture.mixture_predictions import WHATS as MIXTURE_WHATS
from tobitgp.results.predict import whats

if TYPE_CHECKING:
    import pandas as pd

DEMO = "nh4 ~ gp(time, kernel='matern32') | censor(limit)"
BAD_INPUT = 2
_AS_GIVEN = ("id", "censored", "missing", "weights", "sigma", "cure")
_PAIR: dict[str, Any] = {"action": "append", "default": [], "metavar": "NAME=VALUE"}
_NUMBERS: dict[str, Any] = {"type": float, "nargs": "+", "action": "extend", "metavar": "NUMBER"}
_FILE: dict[str, Any] = {"type": Path, "metavar": "FILE"}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line."""
    options = _parser().parse_args(arguments)
    warnings.showwarning = _one_line
    try:
        options.run(options)
        sys.stdout.flush()
    except BrokenPipeError:
        _mute_what_breaks()  # whoever read the output has seen enough
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
    """Let output that cannot be written go nowhere: Python would complain again when it closes the stream."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _one_line(message: Warning | str, category: type[Warning], *rest: Any, **more: Any) -> None:
    print(f"{category.__name__}: {printable_lines(message)}", file=sys.stderr)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tobitgp", description="Gaussian-process regression for censored and truncated data."
    )
    parser.add_argument("--version", action="version", version=f"tobitgp {version('tobitgp')}")
    commands = parser.add_subparsers(required=True, metavar="command")

    _add_fit(commands)

    add_curves(commands)

    one = commands.add_parser("demo", help="fit the bundled ammonium data, print the summary, write the figure")
    one.set_defaults(run=_demo)
    one.add_argument("--plot", default=Path("tobitgp-demo.png"), **_FILE)

    one = commands.add_parser("predict", help="predict at the rows of a file from a saved fit")
    one.set_defaults(run=_predict)
    one.add_argument("model", type=Path, help="fit that `tobitgp fit --save` wrote")
    one.add_argument("data", type=Path, help="CSV file with a header line, or Parquet")
    choices = list(dict.fromkeys((*whats(), *MIXTURE_WHATS, *CureResults._whats)))
    one.add_argument("--what", choices=choices, help="median by default, uncensored of a mixture")
    one.add_argument("--q", help="orders of quantiles, with --what quantile", **_NUMBERS)
    one.add_argument("--below", help="with --what prob", **_NUMBERS)
    one.add_argument("--above", help="with --what prob", **_NUMBERS)
    one.add_argument("--interval", type=float, metavar="PROBABILITY", help="as 0.95: add lower and upper")
    one.add_argument("--se", action="store_true", help="add standard deviations")
    one.add_argument("--exclude", nargs="+", action="extend", default=[], metavar="TERM", help="set a term to zero")
    one.add_argument(
        "--keep", nargs="+", action="extend", default=[], metavar="COLUMN", help="also write these columns, e.g. an id"
    )
    one.add_argument("--out", help="CSV or Parquet by its suffix; CSV to stdout without", **_FILE)

    one = commands.add_parser("compare", help="rank saved fits of the same response and rows")
    one.set_defaults(run=_compare)
    one.add_argument("models", type=Path, nargs="+", metavar="model", help="fit that `tobitgp fit --save` wrote")
    # Saved fits hold no rows, and what is a sum over rows cannot be asked of them.
    choices = [name for name, criterion in CRITERIA.items() if not criterion.by_row]
    one.add_argument("--by", choices=[EVIDENCE, *choices], default=EVIDENCE)
    return parser


def _add_fit(commands: Any) -> None:
    one = commands.add_parser("fit", help="fit a formula to a CSV or Parquet file and print the summary")
    one.set_defaults(run=_fit)
    one.add_argument("formula", help='for example "Surv(time, event) ~ gp(age) + C(sex)"')
    one.add_argument(
        "data",
        type=Path,
        help="CSV file with a header line, or Parquet (.parquet, .pq); dates in CSV are ISO 8601, as 2024-03-31; a "
        "folder of Parquet files or a pattern in quotes, as 'folder/*.parquet', is never in memory as a whole",
    )
    one.add_argument("--family", choices=[*{**FAMILIES, **MIXTURE_FAMILIES}, PH.name])
    one.add_argument("--baseline", choices=BASELINES, help="with --family ph; gp without it")
    one.add_argument("--df", type=int, metavar="NUMBER", help=f"with --baseline spline: knots and 1; {DF} without it")
    one.add_argument("--link", choices=LINKS, help="with --baseline spline; hazard without it")
    one.add_argument("--frailty", choices=["gamma"], help="of the groups of (1 | g), with a parametric --baseline")
    one.add_argument(
        "--method",
        choices=["auto", *METHODS],
        default="auto",
        help=f"auto is {MLE.name} for a formula without gp() and re() unless --hyper, --inducing, --n-starts, --tol or "
        "--start ask for more; "
        f"{', '.join(MIXTURE_METHODS)} fit y ~ mixture(2)",
    )
    one.add_argument("--bound", choices=BOUNDS, help="with --method vi; exact without it")
    scale = 'formula of the log noise scale, as "~ z"; with gp() and re() in it by --method ep'
    one.add_argument("--sigma", metavar="FORMULA", help=scale)
    one.add_argument("--cure", metavar="FORMULA", help='formula of the logit of being cured, as "~ z"')
    errors = ["nonrobust", "HC0", "HC1"]
    one.add_argument("--cov-type", choices=errors, default="nonrobust", help="by maximum likelihood")
    told = "by maximum likelihood: errors clustered by a column; again for another direction"
    one.add_argument("--cluster", metavar="COLUMN", action="append", help=told)
    one.add_argument(
        "--hyper",
        choices=["auto", "integrate", "maximize"],
        help="average over hyper-parameters, or maximise; of a posterior, default auto",
    )
    one.add_argument("--censored", choices=["model", "drop", "ignore"], default="model")
    one.add_argument("--missing", choices=["drop", "raise"], default="drop")
    one.add_argument("--inducing", help="auto, none, or a number of inducing inputs; auto without it")
    one.add_argument("--n-starts", type=int, metavar="NUMBER", help="starts of the search, of a posterior or a mixture")
    one.add_argument("--max-iter", type=int, metavar="NUMBER", help="iterations of the optimiser")
    one.add_argument("--tol", type=float, metavar="NUMBER", help="where the search stops, of a posterior or a mixture")
    one.add_argument("--weights", metavar="COLUMN", help="column of frequency weights")
    one.add_argument("--id", metavar="COLUMN", help="column that names the subject of rows whose covariates change")
    one.add_argument("--fixed", help="fix a parameter, natural scale; repeatable", **_PAIR)
    one.add_argument("--start", help="where the search starts, natural scale; repeatable", **_PAIR)
    one.add_argument("--save", help="write the fit, for predict and compare", **_FILE)
    one.add_argument("--plot", help="write a figure of the fit (png, pdf or svg)", **_FILE)
    one.add_argument("--report", help="write a page of tables, figures and checks (html)", **_FILE)
    one.add_argument("--quiet", action="store_true", help="no progress line")


def _fit(options: argparse.Namespace) -> None:
    many = names_many(options.data)
    targets = {"--save": options.save, "--plot": options.plot, "--report": options.report}
    check_targets(targets, read=[options.data])
    if many and options.plot is not None:
        remedy = "leave it out, and --save the fit for predictions"
        raise SpecError(f"--plot {options.plot}: fits to a folder or a pattern hold no rows to draw; {remedy}.")
    if is_wide(options.formula):
        raise SpecError("Several responses, mvbind(...), are fitted in Python, by tg.fit().")
    result: Any = api.fit(
        options.formula,
        str(options.data) if many else _read(options),
        family=_family(options),
        method=_method(options),
        fixed=_assignments("--fixed", options.fixed),
        start=_assignments("--start", options.start),
        progress=not options.quiet and sys.stderr.isatty(),
        **_clustered(options),
        **{name: getattr(options, name) for name in _AS_GIVEN},
    )
    if result._causes:
        raise SpecError("Competing risks, Surv(time, cause), are fitted in Python, by tg.fit().")
    if options.save is not None:
        result.save(options.save)
    print(result.summary())
    if options.save is not None:
        print(f"\nThe fit is in {options.save}")
    if options.plot is not None:
        _save_plot(result, options.plot)
    if options.report is not None:
        result.report(options.report)
        print(f"\nThe report is in {options.report}")


def _clustered(options: argparse.Namespace) -> dict[str, Any]:
    """The kind of covariance."""
    if options.cluster is None:
        return {"cov_type": options.cov_type}
    if options.cov_type != "nonrobust":
        raise SpecError(f"--cov-type {options.cov_type} cannot be combined with --cluster. Leave one of them out.")
    return {"cov_type": "cluster", "cov_kwds": {"groups": options.cluster}}


def _family(options: argparse.Namespace) -> str | PH | None:
    """The family, of proportional hazards with its baseline."""
    given = {name: getattr(options, name) for name in ("baseline", "df", "link", "frailty")}
    given = {name: value for name, value in given.items() if value is not None}
    if not given:
        return options.family
    if options.family != PH.name:
        raise SpecError(f"--{next(iter(given))} requires --family {PH.name}.")
    return PH(**given)


def _read(options: argparse.Namespace) -> pd.DataFrame:
    """One file as a frame, with dates where the formulas take them."""
    data = read_data(options.data)
    columns = [c for c in column_names(data) if c != options.weights]
    formula = read_hazards(options.formula).rows if options.family == PH.name else options.formula
    parts: list[LinearPart] = [parse_formula(formula, columns)]
    for text, kind in ((options.sigma, ScaleSpec), (options.cure, CureSpec)):
        if text is not None:
            parts.append(parse_scale_formula(text, columns, kind=kind))
    return read_dates(data, date_columns(parts))


def _method(options: argparse.Namespace) -> Any:
    """The method, with the settings that were given."""
    given = {name: getattr(options, name) for name in MOVED if getattr(options, name) is not None}
    if "inducing" in given:
        given["inducing"] = _inducing(given["inducing"])
    if not given:
        return options.method
    chosen, settings = holding(options.method, given, options.formula)
    if options.method not in ("auto", chosen.name):
        listed = " and ".join("--" + name.replace("_", "-") for name in given)
        raise SpecError(f"--method {options.method} does not use {listed}. Leave it out, or --method.")
    return chosen(**settings)


def _inducing(text: str) -> str | int | None:
    if text in ("auto", "none"):
        return None if text == "none" else text
    if text.isdigit() and int(text) > 0:
        return int(text)
    raise SpecError(f"--inducing {text}: auto, none, or a number of at least 1 is allowed.")


def _assignments(option: str, pairs: Sequence[str]) -> dict[str, float]:
    out: dict[str, float] = {}
    for pair in pairs:
        name, _, value = pair.rpartition("=")
        if name in out:
            raise SpecError(f"{option} {pair}: {name} is given twice; leave one out.")
        try:
            out[name] = float(value)
        except ValueError:
            raise SpecError(f"{option} {pair}: NAME=VALUE with a number is needed, as {option} sigma=0.4.") from None
    return out


def _save_plot(result: Any, target: Path) -> None:
    import matplotlib as mpl
    import numpy as np

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    draw = getattr(result, result._figure)
    figure = np.ravel(draw())[0].figure
    try:
        with replacing(target, "--plot") as file:
            figure.savefig(file, format=target.suffix[1:].lower(), dpi=150, bbox_inches="tight")
    finally:
        plt.close(figure)
    print(f"\nThe figure is in {target}")


def _demo(options: argparse.Namespace) -> None:
    check_targets({"--plot": options.plot})
    print("Ammonium in precipitation (mg/L), several detection limits: tg.datasets.load('nh4')")
    print(f'tg.fit("{DEMO}", data, family="lognormal")\n')
    result = api.fit(DEMO, datasets.load("nh4"), family="lognormal")
    print(result.summary())
    _save_plot(result, options.plot)


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
                f"--keep {name}: the data have no such column; they have {', '.join(map(str, data.columns))}."
            )
        if name in table.columns:
            raise DataError(f"--keep {name}: predictions have a column of this name; rename that of the data.")
    write_table(data[options.keep].join(table) if options.keep else table, options.out)


def _compare(options: argparse.Namespace) -> None:
    same = len({path.stem for path in options.models}) < len(options.models)
    names = distinct(str(path) if same else path.stem for path in options.models)
    fits = {name: load_model(path) for name, path in zip(names, options.models, strict=True)}
    print(compare(fits, options.by).to_string(float_format="{:.3f}".format))
