"""Command line: ``tobitgp fit`` and ``tobitgp demo``."""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tobitgp import datasets
from tobitgp.api import fit
from tobitgp.errors import DataError, SpecError, TobitGPError
from tobitgp.inference import METHODS
from tobitgp.likelihoods import FAMILIES
from tobitgp.typing import Frame

if TYPE_CHECKING:
    from tobitgp.results.gp import GPResults

BAD_INPUT = 2
DEMO = "nh4 ~ gp(time, kernel='matern32') | censor(limit)"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Parameters
    ----------
    arguments : sequence of str, optional
        Without the program's name; those of the process by default.

    Returns
    -------
    int
        Exit code: 0, or 2 on bad input, which is reported in one line on stderr.
    """
    options = _parser().parse_args(arguments)
    warnings.showwarning = _one_line
    try:
        options.run(options)
    except TobitGPError as error:
        print(f"tobitgp: {error}", file=sys.stderr)
        return BAD_INPUT
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="tobitgp", description="Gaussian-process regression for data that were clipped, cut off or only bracketed."
    )
    parser.add_argument("--version", action="version", version=f"tobitgp {version('tobitgp')}")
    commands = parser.add_subparsers(required=True, metavar="command")
    one = commands.add_parser("fit", help="fit a formula to a CSV file and print the summary")
    one.add_argument("formula", help='for example "Surv(time, event) ~ gp(age) + C(sex)"')
    one.add_argument("data", type=Path, help="CSV file with a header line")
    one.add_argument("--family", choices=FAMILIES, default="gaussian")
    one.add_argument("--method", choices=["auto", *METHODS], default="auto")
    one.add_argument("--hyper", choices=["auto", "integrate", "maximize"], default="auto")
    one.add_argument("--censored", choices=["model", "drop", "ignore"], default="model")
    one.add_argument("--missing", choices=["drop", "raise"], default="drop")
    one.add_argument("--inducing", default="auto", help="auto, none, or a number of inducing inputs")
    one.add_argument("--weights", metavar="COLUMN", help="column of frequency weights")
    one.add_argument(
        "--fixed", action="append", default=[], metavar="NAME=VALUE", help="fix a parameter, natural scale; repeatable"
    )
    one.add_argument("--plot", type=Path, metavar="FILE", help="write a picture of the fit (png, pdf or svg)")
    one.add_argument("--quiet", action="store_true", help="no progress line")
    one.set_defaults(run=_fit)
    demo = commands.add_parser("demo", help="fit the bundled ammonium data, print the summary, write the picture")
    demo.add_argument("--plot", type=Path, metavar="FILE", default=Path("tobitgp-demo.png"))
    demo.set_defaults(run=_demo)
    return parser


def _fit(options: argparse.Namespace) -> None:
    result = fit(
        options.formula,
        read_csv(options.data),
        family=options.family,
        method=options.method,
        hyper=options.hyper,
        censored=options.censored,
        missing=options.missing,
        inducing=_inducing(options.inducing),
        weights=options.weights,
        fixed=_assignments(options.fixed),
        progress=not options.quiet and sys.stderr.isatty(),
    )
    _show(result, options.plot)


def _demo(options: argparse.Namespace) -> None:
    print("Ammonium in precipitation (mg/L), several detection limits: tg.datasets.load('nh4')")
    print(f'tg.fit("{DEMO}", data, family="lognormal")\n')
    result = fit(DEMO, datasets.load("nh4"), family="lognormal")
    _show(result, options.plot)


def _show(result: GPResults, plot: Path | None) -> None:
    print(result.summary())
    if plot is not None:
        _save_plot(result, plot)
        print(f"\nThe picture is in {plot}")


def _save_plot(result: GPResults, path: Path) -> None:
    import matplotlib as mpl
    import numpy as np

    mpl.use("Agg")
    figure = np.ravel(result.plot())[0].figure
    try:
        figure.savefig(path, dpi=150, bbox_inches="tight")
    except (OSError, ValueError) as error:
        raise SpecError(f"--plot {path}: {error}") from None


def read_csv(path: Path) -> Frame:
    """Read a CSV file.

    Raises
    ------
    DataError
        If there is no such file, or it is no table.
    """
    import pandas as pd

    try:
        return pd.read_csv(path)
    except FileNotFoundError:
        raise DataError(f"There is no file {str(path)!r}.") from None
    except (OSError, UnicodeDecodeError, pd.errors.ParserError, pd.errors.EmptyDataError) as error:
        raise DataError(f"{str(path)!r} cannot be read as CSV: {error}") from None


def _inducing(text: str) -> str | int | None:
    if text in ("auto", "none"):
        return None if text == "none" else text
    if text.isdigit() and int(text) > 0:
        return int(text)
    raise SpecError(f"--inducing {text}: auto, none, or a number of at least 1 is allowed.")


def _assignments(pairs: Sequence[str]) -> dict[str, float]:
    out = {}
    for pair in pairs:
        name, _, value = pair.rpartition("=")
        try:
            out[name] = float(value)
        except ValueError:
            raise SpecError(f"--fixed {pair}: NAME=VALUE with a number is needed, as --fixed sigma=0.4.") from None
    return out


def _one_line(message: Warning | str, category: type[Warning], *rest: Any, **more: Any) -> None:
    print(f"{category.__name__}: {message}", file=sys.stderr)
