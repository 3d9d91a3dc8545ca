"""``tobitgp fit``: the arguments of `tobitgp.fit` as options of the same names, and the files that it writes."""

from __future__ import annotations

import argparse
import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tobitgp import api
from tobitgp.cli.command_options import (
    FAMILIES_WITH_SETTINGS,
    add_command,
    by_name,
    numbers,
    read_inducing,
    read_value,
)
from tobitgp.cli.table_files import check_targets, date_columns, names_many, read_data, read_dates, replacing
from tobitgp.data.table import column_names
from tobitgp.errors import SpecError
from tobitgp.formula import parse_formula
from tobitgp.formula.competing_risks import read_causes
from tobitgp.formula.hazard_formula import read_hazards
from tobitgp.formula.mixture_formulas import is_vectors, read_mixed, read_vectors
from tobitgp.formula.mvbind import is_wide, read_wide
from tobitgp.formula.parse import parse_scale_formula
from tobitgp.formula.spec import CureSpec, LinearPart, ParameterSpec, ScaleSpec
from tobitgp.formula.unknown_inputs import is_latent, read_latent
from tobitgp.inference.vi import BOUNDS
from tobitgp.likelihoods import FAMILIES
from tobitgp.likelihoods.families import BOXCOX
from tobitgp.method_settings import MLE
from tobitgp.method_spelling import METHODS, MOVED, holding
from tobitgp.method_value import MethodValue
from tobitgp.mixture import MIXTURE_FAMILIES, MIXTURE_METHODS
from tobitgp.regression.maximum import KINDS
from tobitgp.results.hazards.cells import BASELINES, DF, LINKS, PH

if TYPE_CHECKING:
    import pandas as pd

_PAIR: dict[str, Any] = {"action": "append", "default": [], "metavar": "NAME=VALUE"}
_COLUMN: dict[str, Any] = {"metavar": "COLUMN"}
_NUMBER: dict[str, Any] = {"type": int, "metavar": "NUMBER"}
_FILE: dict[str, Any] = {"type": Path, "metavar": "FILE"}
_EXAMPLES = (
    '"nh4 ~ gp(time) | censor(limit)" nh4.csv --family lognormal --save fit.tgp',
    '"Surv(time, event) ~ age + C(sex)" lung.csv --family weibull --plot lung.png',
)


def add_fit(commands: Any) -> None:
    """Add the command to a parser."""
    one = add_command(commands, "fit", "fit a model to a CSV or Parquet file and print the summary", *_EXAMPLES)
    one.set_defaults(run=_fit)
    one.add_argument("formula", help='formula in quotes, e.g. "Surv(time, event) ~ gp(age) + C(sex)"')
    one.add_argument(
        "data",
        type=Path,
        help="CSV file with a header line, or Parquet file (.parquet, .pq); dates in CSV must be ISO 8601, e.g. "
        "2024-03-31; a folder of Parquet files or a pattern in quotes, e.g. 'folder/*.parquet', is read in partitions",
    )
    _add_family(one)
    _add_method(one)
    _add_model(one)
    one.add_argument("--save", help="save the fit for predict, compare and summary", **_FILE)
    one.add_argument("--plot", help="write a figure of the fit, png, pdf or svg", **_FILE)
    one.add_argument("--report", help="write an HTML page of tables, figures and checks", **_FILE)
    one.add_argument("--check", action="store_true", help="print the findings of the diagnostics")
    one.add_argument("--quiet", action="store_true", help="show no progress bar")


def _add_family(one: argparse.ArgumentParser) -> None:
    names = ", ".join([*{**FAMILIES, **MIXTURE_FAMILIES}, BOXCOX.name, PH.name])
    calls = ", ".join(FAMILIES_WITH_SETTINGS)
    one.add_argument(
        "--family",
        metavar="FAMILY",
        action="append",
        help=f"distribution of the response (default: gaussian; required for Surv): {names}; or one with settings in "
        f'quotes, e.g. "Student(df=4)": {calls}; for competing risks, repeat as CAUSE=FAMILY',
    )
    one.add_argument("--baseline", choices=BASELINES, help="baseline hazard, with --family ph (default: gp)")
    one.add_argument("--df", help=f"number of inner knots plus 1, with --baseline spline (default: {DF})", **_NUMBER)
    one.add_argument("--link", choices=LINKS, help="scale of the spline, with --baseline spline (default: hazard)")
    frailty = "gamma frailty shared within the groups of (1 | g); requires a parametric --baseline"
    one.add_argument("--frailty", choices=["gamma"], help=frailty)


def _add_method(one: argparse.ArgumentParser) -> None:
    one.add_argument(
        "--method",
        default="auto",
        metavar="METHOD",
        help=f'{", ".join(["auto", *METHODS])}, or one with settings in quotes, e.g. "EP(damping=0.5)"; '
        f"auto uses {MLE.name} for a formula without gp() and re(), unless --hyper, --inducing, --n-starts, --tol or "
        f"--start is given; {', '.join(MIXTURE_METHODS)} are for mixtures, y ~ mixture(2)",
    )
    one.add_argument("--bound", choices=BOUNDS, help="bound of the log-likelihood, with --method vi (default: exact)")
    one.add_argument(
        "--hyper",
        choices=["auto", "integrate", "maximize"],
        help="average over the hyper-parameters (integrate) or use their mode (maximize); default: auto",
    )
    one.add_argument("--inducing", help="number of inducing inputs, auto or none (default: auto)")
    one.add_argument("--n-starts", help="number of starts, for posteriors and mixtures", **_NUMBER)
    one.add_argument("--max-iter", help="maximum number of iterations", **_NUMBER)
    one.add_argument("--tol", type=float, metavar="NUMBER", help="stopping tolerance, for posteriors and mixtures")
    one.add_argument("--rng", help="seed of the random numbers (default: the same ones in every run)", **_NUMBER)
    one.add_argument("--fixed", help="fixed value of a parameter, natural scale; repeatable", **_PAIR)
    one.add_argument("--start", help="starting value of a parameter, natural scale; repeatable", **_PAIR)


def _add_model(one: argparse.ArgumentParser) -> None:
    scale = 'formula for the log noise scale, e.g. "~ z"; gp() and re() require a posterior, e.g. --method ep'
    one.add_argument("--sigma", metavar="FORMULA", help=scale)
    one.add_argument("--cure", metavar="FORMULA", help='formula for the log odds of being cured, e.g. "~ z"')
    more = 'formula for another parameter, e.g. "shape=~ z", by maximum likelihood; repeatable'
    one.add_argument("--formulas", help=more, **_PAIR | {"metavar": "NAME=FORMULA"})
    one.add_argument("--rescor", action="store_true", help="let the residuals of mvbind(y1, y2) be correlated")
    one.add_argument("--id", help="column of subjects, for covariates that change over time", **_COLUMN)
    one.add_argument("--weights", help="column of frequency or sampling weights; see --cov-kwds", **_COLUMN)
    one.add_argument("--var-weights", help="column of weights that divide the variance of the noise", **_COLUMN)
    one.add_argument("--cov-type", choices=KINDS, default="nonrobust", help="covariance of the estimates (method mle)")
    one.add_argument(
        "--cov-kwds",
        help="option of a robust --cov-type: weights=sampling, weights=frequency, groups=COLUMN or "
        "use_correction=True; repeatable",
        **_PAIR,
    )
    cluster = "standard errors clustered by this column; repeatable for multiway clustering"
    one.add_argument("--cluster", action="append", default=[], help=cluster, **_COLUMN)
    one.add_argument(
        "--censored",
        choices=["model", "drop", "ignore"],
        default="model",
        help="model censored rows (default), leave them out, or treat their limits as values",
    )
    one.add_argument(
        "--missing",
        choices=["drop", "raise"],
        default="drop",
        help="leave out rows with missing values (default), or stop with an error",
    )


def _fit(options: argparse.Namespace) -> None:
    many = names_many(options.data)
    targets = {"--save": options.save, "--plot": options.plot, "--report": options.report}
    check_targets(targets, read=[options.data])
    if many and options.plot is not None:
        remedy = "Leave --plot out, and --save the fit for predictions"
        raise SpecError(f"--plot {options.plot}: fits to a folder or a pattern hold no rows to draw. {remedy}.")
    given = _arguments(options)
    result: Any = api.fit(**given | {"data": str(options.data) if many else _read(options, given["family"])})
    if options.save is not None:
        result.save(options.save)
    print(result.summary())
    if options.check:
        print(f"\n{result.check()}")
    if options.save is not None:
        print(f"\nSaved fit to {options.save}")
    if options.plot is not None:
        save_plot(result, options.plot)
    if options.report is not None:
        result.report(options.report)
        print(f"\nSaved report to {options.report}")


def _arguments(options: argparse.Namespace) -> dict[str, Any]:
    """Arguments of `tobitgp.fit` from the options of the same names."""
    names = inspect.signature(api.fit).parameters
    given = {name: getattr(options, name) for name in names if hasattr(options, name)}
    return given | {
        "family": _family(options),
        "method": _method(options),
        "formulas": by_name("--formulas", options.formulas) or None,
        "fixed": numbers("--fixed", options.fixed),
        "start": numbers("--start", options.start),
        "progress": not options.quiet and sys.stderr.isatty(),
        **_covariance(options),
    }


def _covariance(options: argparse.Namespace) -> dict[str, Any]:
    """The kind of covariance, with its settings."""
    kind, clusters = options.cov_type, [*options.cluster]
    if clusters and kind not in ("nonrobust", "cluster"):
        raise SpecError(f"--cov-type {kind} cannot be combined with --cluster. Leave one of them out.")
    clusters += [pair.partition("=")[2] for pair in options.cov_kwds if pair.startswith("groups=")]
    rest = [pair for pair in options.cov_kwds if not pair.startswith("groups=")]
    settings: dict[str, Any] = by_name("--cov-kwds", rest)
    if "use_correction" in settings:
        text = settings["use_correction"]
        settings["use_correction"] = {"True": True, "False": False}.get(text, text)
    settings |= {"groups": clusters if len(clusters) > 1 else clusters[0]} if clusters else {}
    return {"cov_type": "cluster" if options.cluster else kind, "cov_kwds": settings or None}


def _family(options: argparse.Namespace) -> Any:
    """The family, of proportional hazards with its baseline; or one of each cause."""
    given = {name: getattr(options, name) for name in ("baseline", "df", "link", "frailty")}
    given = {name: value for name, value in given.items() if value is not None}
    texts = options.family or [None]
    by_cause = [text for text in texts if text is not None and "=" in text.partition("(")[0]]
    if given and texts != [PH.name]:
        raise SpecError(f"--{next(iter(given))} requires --family {PH.name}.")
    if given:
        return PH(**given)
    if by_cause:
        read = by_name("--family", texts).items()
        return {_cause(name): read_value("--family", text, FAMILIES_WITH_SETTINGS) for name, text in read}
    if len(texts) > 1:
        raise SpecError(f"--family {texts[1]}: a family is given already. Leave one out, or write CAUSE=FAMILY.")
    return read_value("--family", texts[0], FAMILIES_WITH_SETTINGS)


def _cause(text: str) -> str | int:
    """A cause as the column of events holds it."""
    return int(text) if text.isdigit() else text


def _method(options: argparse.Namespace) -> Any:
    """The method, with the settings that were given."""
    classes = {each.__name__: each for each in METHODS.values()}
    method: Any = read_value("--method", options.method, classes)
    given = {name: getattr(options, name) for name in MOVED if getattr(options, name) is not None}
    if "inducing" in given:
        given["inducing"] = read_inducing(given["inducing"])
    if not given:
        return method
    chosen, settings = holding(method, given, options.formula)
    if (method.name if isinstance(method, MethodValue) else method) not in ("auto", chosen.name):
        listed = " and ".join("--" + name.replace("_", "-") for name in given)
        raise SpecError(f"--method {options.method} does not use {listed}. Leave it out, or --method.")
    return chosen(**settings)


def _read(options: argparse.Namespace, family: Any) -> pd.DataFrame:
    """One file as a frame, with dates where the formulas take them."""
    data = read_data(options.data)
    weights = (options.weights, options.var_weights)
    columns = [c for c in column_names(data) if c not in weights]
    parts: list[LinearPart] = [parse_formula(text, columns) for text in _formulas(options, family)]
    if not is_wide(options.formula):
        texts = [(options.sigma, ScaleSpec), (options.cure, CureSpec)]
        parts += [parse_scale_formula(text, columns, kind=kind) for text, kind in texts if text is not None]
        named = by_name("--formulas", options.formulas).items()
        parts += [parse_scale_formula(text, columns, kind=ParameterSpec, parameter=name) for name, text in named]
    return read_dates(data, date_columns(parts))


def _formulas(options: argparse.Namespace, family: Any) -> Iterator[str]:
    """The formula, of several responses that of each by itself."""
    formula: str = options.formula
    if is_wide(formula):
        if is_vectors(formula):
            wide = read_vectors(formula).wide
        else:
            wide = read_latent(formula).wide if is_latent(formula) else read_wide(formula, options.sigma)
        yield from (wide.alone(j) for j in range(len(wide.labels)))
        return
    causes = read_causes(formula)
    if causes is not None and (causes.censored is not None or causes.all_seen):
        formula = causes.of(1)
    mixed = read_mixed(formula)
    if mixed is not None:
        yield mixed.linear
        return
    hazards = family.values() if isinstance(family, dict) else [family]
    yield read_hazards(formula).rows if any(each == PH.name or isinstance(each, PH) for each in hazards) else formula


def save_plot(result: Any, target: Path) -> None:
    """Write the figure that shows a fit."""
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
    print(f"\nSaved figure to {target}")
