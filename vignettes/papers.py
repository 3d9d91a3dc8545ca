"""Functions that the folders of papers share: they write tables and format numbers."""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import tobitgp as tg

# Medians over those of the defaults, and sds of the logarithm, by kind of parameter: those of `weak`.
_WEAK = {"sd": (1.5, 0.8), "lengthscale": (0.7, 0.7), "sigma": (0.2, 1.0)}

Tables = Mapping[str, Callable[[], Iterable[Mapping[str, Any]]]]


def maximised(method: Any = None) -> dict[str, Any]:
    """Return options of a fit at the maximum of the evidence, as in the papers, by EP or another method."""
    return {"method": replace(method or tg.EP(), hyper="maximize"), "priors": {}}


MAXIMISED = maximised()


def forrester(x: Any) -> Any:
    """The curve of Groot and Lucas (2012) and of Basson et al. (2023)."""
    return (6 * x - 2) ** 2 * np.sin(2 * (6 * x - 2))


def weak(formula: str, data: pd.DataFrame, **how: Any) -> dict[str, Any]:
    """Priors of one process without a line, so that tables do not change with the defaults of the package.

    In standardised units the medians are 1.5 of its sd, 0.7 times the root of the number of inputs of its length-scales
    and 0.1 of sigma.
    """
    fit = tg.fit(formula, data, method=tg.EP(hyper="maximize", n_starts=1), **how)
    (term,), found = fit.model.spec.gps, {}
    for name, prior in fit.priors.iterrows():
        ratio, spread = _WEAK.get(name.partition("(")[0], (None, 1.0))
        if ratio is not None:
            several = name.startswith("lengthscale") and len(term.inputs) > 1
            found[name] = tg.LogNormal(ratio * prior["location"], 1.0 if several else spread)
    return {"priors": found}


def with_error(mean: Any, error: Any, digits: int = 3) -> Any:
    """Return means with their standard errors in brackets; both are Series or DataFrames."""
    form = f"{{:.{digits}f}}".format
    return mean.map(form) + " (" + error.map(form) + ")"


def mean_se(groups: Any, digits: int = 3) -> Any:
    """Return means with their standard errors in brackets, by group."""
    return with_error(groups.mean(), groups.sem(), digits)


def write(tables: Tables, script: str, about: str | None, arguments: Sequence[str] | None = None) -> None:
    """Compute the tables named on the command line, or all, and write each to a CSV file of its name."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tables", nargs="*", metavar="table", help=f"of {', '.join(tables)}; all by default")
    parser.add_argument("--out", type=Path, default=Path(script).parent, help="folder; that of the script by default")
    options = parser.parse_args(arguments)
    unknown = sorted({*options.tables} - {*tables})
    if unknown:
        parser.error(f"{', '.join(unknown)}: must be among {', '.join(tables)}")
    for name in options.tables or tables:
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of noise at its bound, and so on: the tables say what did not settle
            frame = pd.DataFrame(tables[name]())
        frame.to_csv(options.out / f"{name}.csv", index=False, float_format="%.5g", lineterminator="\n")
        print(f"{name}.csv: {len(frame)} rows, {time.perf_counter() - start:.0f} seconds", flush=True)
