"""``python -m benchmarks.levels [tobitgp]``: fit thousands of fixed effects and tens of thousands of random ones.

``python -m benchmarks.levels pyfixest`` fits the responses before censoring with both groupings as fixed effects, in an
environment that has pyfixest. Each command prints one row of a table: seconds, peak memory, the slope and its standard
error.
"""

from __future__ import annotations

import resource
import time
import warnings
from typing import NamedTuple

import numpy as np
import pandas as pd

from benchmarks.commands import command

SLOPE, FIXED_SD, RANDOM_SD, BELOW = 0.5, 1.0, 0.7, 0.3


class Found(NamedTuple):
    """The seconds of a fit, its slope and the standard error."""

    seconds: float
    slope: float
    error: float


def simulate(fixed: int, random: int, rows: int) -> pd.DataFrame:
    """Draw rows in levels of two crossed groupings. ``true`` is the response; the lowest 30% of ``y`` are censored."""
    rng = np.random.default_rng(0)
    f, g, x = rng.integers(0, fixed, rows), rng.integers(0, random, rows), rng.normal(size=rows)
    y = SLOPE * x + rng.normal(0, FIXED_SD, fixed)[f] + rng.normal(0, RANDOM_SD, random)[g] + rng.normal(size=rows)
    limit = np.quantile(y, BELOW)
    return pd.DataFrame({"y": np.maximum(y, limit), "limit": limit, "true": y, "x": x, "f": f, "g": g})


def tobitgp(data: pd.DataFrame) -> Found:
    """Fit the censored response, with one fixed and one random grouping."""
    import tobitgp as tg

    start = time.perf_counter()
    res = tg.fit("y ~ x + C(f) + (1 | g) | censor(limit)", data, method=tg.EP(hyper="maximize"))
    return Found(time.perf_counter() - start, res.params["x"], res.bse["x"])


def pyfixest(data: pd.DataFrame) -> Found:
    """Fit the response before censoring, with two fixed groupings, after a first fit that compiles."""
    import pyfixest as pf

    pf.feols("true ~ x | f + g", data)
    start = time.perf_counter()
    res = pf.feols("true ~ x | f + g", data, vcov="iid")
    return Found(time.perf_counter() - start, res.coef()["x"], res.se()["x"])


FITS = {"tobitgp": tobitgp, "pyfixest": pyfixest}


def main(arguments: list[str] | None = None) -> None:
    """Fit once, and print a row."""
    parser = command("benchmarks.levels", __doc__)
    parser.add_argument("program", nargs="?", choices=FITS, default="tobitgp")
    parser.add_argument("--fixed", type=int, default=3000, help="levels with fixed effects; 3000 by default")
    parser.add_argument("--random", type=int, default=50_000, help="groups with random effects; 50000 by default")
    parser.add_argument("--rows", type=int, default=200_000, help="rows; 200000 by default")
    asked = parser.parse_args(arguments)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = FITS[asked.program](simulate(asked.fixed, asked.random, asked.rows))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    levels = f"{asked.fixed} + {asked.random} | {asked.rows}"
    print(f"| {asked.program} | {levels} | {found.seconds:.1f} | {peak:.0f} | {found.slope:.4f} ({found.error:.4f}) |")


if __name__ == "__main__":
    main()
