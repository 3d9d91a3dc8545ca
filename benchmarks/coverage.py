"""``python -m benchmarks.coverage``: how often intervals of processes hold the truth, as a small CSV file.

Curves are drawn from the prior, so the exact posterior's intervals would hold them as often as they say. Rows are
censored on the left at a quantile of the response.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, delayed

import tobitgp as tg

ROWS = 60
TRUTH = {"sd(gp(x))": 1.0, "lengthscale(gp(x))": 0.2, "sigma": 0.3}
LEVELS = (0.5, 0.8, 0.95)
SHARES = (0.0, 0.25, 0.5, 0.75, 0.95)
METHODS: dict[str, Any] = {"laplace": tg.Laplace(), "ep": tg.EP(), "vi": tg.VI(), "local": tg.VI(bound="local")}
FAMILIES: dict[str, Any] = {"student": tg.Student(df=4)} | {
    name: name for name in ("logistic", "gumbel", "lognormal", "loglogistic", "weibull", "exponential")
}
KEYS = ["family", "method", "censored", "hyper"]
WORDS = {True: "true", False: "fitted"}
LOG_TIME = ("lognormal", "loglogistic", "weibull", "exponential")


@dataclass(frozen=True)
class Case:
    """A case: a family, a method, the share of censored rows, and whether hyper-parameters are given."""

    family: str
    method: str
    share: float
    given: bool


def cases() -> Iterator[tuple[Case, int]]:
    """Every case with its number of data sets, half of them for other families than the Gaussian."""
    for given in (True, False):
        for method in METHODS:
            yield from ((Case("gaussian", method, share, given), 2) for share in SHARES)
        for family in FAMILIES:
            yield from ((Case(family, method, 0.5, given), 1) for method in ("laplace", "ep", "vi"))


def draw(case: Case, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Training rows and new ones: x, f, y_star before censoring, y and limit."""
    rng = np.random.default_rng([seed, 20])
    x = rng.uniform(size=2 * ROWS)
    K = np.exp(-0.5 * np.square((x[:, None] - x) / TRUTH["lengthscale(gp(x))"]))
    f = TRUTH["sd(gp(x))"] * np.linalg.cholesky(K + 1e-9 * np.eye(2 * ROWS)) @ rng.normal(size=2 * ROWS)
    y = f + _scale(case) * _noise(case.family, rng)
    limit = np.quantile(y[:ROWS], case.share) if case.share else -np.inf
    shown = np.exp if case.family in LOG_TIME else np.asarray
    frame = pd.DataFrame({"x": x, "f": f, "y_star": shown(y), "y": shown(np.maximum(y, limit)), "limit": shown(limit)})
    return frame.iloc[:ROWS], frame.iloc[ROWS:]


def _scale(case: Case) -> float:
    return _truth(case).get("sigma", 1.0)


def _truth(case: Case) -> dict[str, float]:
    """The hyper-parameters that the family leaves free."""
    return {name: value for name, value in TRUTH.items() if name != "sigma" or case.family != "exponential"}


def _noise(family: str, rng: np.random.Generator) -> np.ndarray:
    if family == "student":
        return rng.standard_t(4, 2 * ROWS)
    if family in ("logistic", "loglogistic"):
        return rng.logistic(size=2 * ROWS)
    if family in ("gumbel", "weibull", "exponential"):
        return np.log(rng.exponential(size=2 * ROWS))
    return rng.normal(size=2 * ROWS)


def fit(case: Case, data: pd.DataFrame) -> Any:
    """Zero-mean process at the true hyper-parameters, or what a user would fit."""
    options: dict[str, Any] = {"family": FAMILIES.get(case.family, case.family), "method": METHODS[case.method]}
    if not case.given:
        return tg.fit("y ~ gp(x) | censor(limit)", data, **options)
    fixed = _truth(case)
    if case.method == "local" and case.share:
        fixed["sigma_lower"] = 0.0
    options["method"] = replace(options["method"], inducing=None)
    return tg.fit("y ~ 0 + gp(x, line=False) | censor(limit)", data, fixed=fixed, **options)


def held(case: Case, seed: int) -> list[dict[str, Any]]:
    """Share of the truths inside the intervals of one data set, a row for each quantity and level."""
    data, new = draw(case, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        res = fit(case, data)
        out = []
        for level in LEVELS:
            tails = [0.5 - 0.5 * level, 0.5 + 0.5 * level]
            band = res.predict(data, "latent", interval=level)
            inside = ((band["lower"] <= data["f"]) & (data["f"] <= band["upper"])).to_numpy()
            censored = (data["y"] <= data["limit"]).to_numpy()
            ahead = res.predict(new, what="quantile", q=tails).to_numpy()
            found = {
                "f": inside.mean(),
                "f, censored rows": inside[censored].mean() if censored.any() else np.nan,
                "y*": ((ahead[:, 0] <= new["y_star"]) & (new["y_star"] <= ahead[:, 1])).mean(),
            }
            if not case.given:
                ends = res.conf_int(alpha=1.0 - level)
                found |= {
                    name: float(ends.loc[name, 0] <= value <= ends.loc[name, 1]) for name, value in _truth(case).items()
                }
            out += [{"quantity": name, "level": level, "inside": value} for name, value in found.items()]
    return [vars(case) | {"seed": seed, **row} for row in out]


def table(rows: list[dict[str, Any]]) -> pd.DataFrame:
    """Means over data sets with their standard errors."""
    tidy = pd.DataFrame(rows).dropna().rename(columns={"share": "censored", "given": "hyper"})
    tidy["hyper"] = tidy["hyper"].map(WORDS)
    inside = tidy.groupby([*KEYS, "quantity", "level"], sort=False)["inside"]
    return inside.agg(coverage="mean", se="sem", sets="size").reset_index().round(4)


def main() -> None:
    """Run every case that is not in the table yet, and write the table after each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", type=int, default=100, help="data sets of a case, twice as many of Gaussian ones")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", type=Path, default=Path("docs/trust/coverage.csv"), help="delete it to begin anew")
    options = parser.parse_args()
    begun = time.perf_counter()
    options.out.parent.mkdir(parents=True, exist_ok=True)
    found = pd.read_csv(options.out, keep_default_na=False) if options.out.exists() else pd.DataFrame()
    done = set(found[KEYS].itertuples(index=False, name=None)) if len(found) else set()
    for case, times in cases():
        if (case.family, case.method, case.share, WORDS[case.given]) not in done:
            jobs = (delayed(held)(case, seed) for seed in range(times * options.sets))
            rows = [row for rows in Parallel(n_jobs=options.jobs)(jobs) for row in rows]
            found = pd.concat([found, table(rows)])
            found.to_csv(options.out, index=False)
    minutes = (time.perf_counter() - begun) / 60.0
    print(f"{len(found)} rows in {options.out}, {minutes:.0f} minutes with {options.jobs} processes")


if __name__ == "__main__":
    main()
