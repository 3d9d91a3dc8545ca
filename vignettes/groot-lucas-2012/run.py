"""Compute the long tables of this page: `python vignettes/groot-lucas-2012/run.py [artificial] [housing]`.

`artificial.csv` and `housing.csv` are written beside this script: about a quarter of an hour of one core. All seeds are
fixed.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import tobitgp as tg

sys.path.insert(0, str(Path(__file__).parents[1]))

from papers import MAXIMISED, weak, write  # in the folder above

FOLDS = 10
MODELS: dict[str, dict[str, Any]] = {
    "GP, limits as values": {"censored": "ignore"},
    "GP, censored rows dropped": {"censored": "drop"},
    "Tobit GP, LA": {"method": tg.Laplace(hyper="maximize")},
    "Tobit GP, EP": {"method": tg.EP(hyper="maximize")},
    "Tobit GP, VI": {"method": tg.VI(hyper="maximize")},
}
AVERAGED = "Tobit GP, averaged"
BLOCKS = ("GP, limits as values", "Tobit GP, EP")
INPUTS = ["crim", "zn", "indus", "chas", "nox", "rm", "age", "dis", "rad", "tax", "ptratio", "b", "lstat"]
RUNS = 10
KERNELS = {  # reading of the paper: inputs standardised, a length-scale for each
    "inputs standardised, one length-scale": (True, False),
    "inputs standardised, a length-scale for each": (True, True),
    "inputs as recorded, one length-scale": (False, False),
}


def artificial() -> Iterator[dict[str, Any]]:
    """Table 1: a row for each way of dealing the folds, model and draw of the noise."""
    cases = [("random", name, "0 + gp(x, line=False)", {**MAXIMISED, **model}, 20) for name, model in MODELS.items()]
    cases += [("random", AVERAGED, "gp(x, line=False)", {}, 20)]
    cases += [("blocks", name, "0 + gp(x, line=False)", {**MAXIMISED, **MODELS[name]}, 10) for name in BLOCKS]
    for folds, name, terms, options, draws in cases:
        for draw in range(draws):
            data = tg.datasets.simulate_groot_lucas(rng=draw)
            fold = np.arange(len(data)) * FOLDS // len(data)
            if folds == "random":
                fold = np.random.default_rng(1000 + draw).permutation(fold)
            own = weak(f"y ~ {terms} | censor(lower)", data) if name == AVERAGED else {}
            yield {"folds": folds, "model": name, "draw": draw, **one_draw(data, fold, terms, options | own)}


def one_draw(data: pd.DataFrame, fold: np.ndarray, terms: str, options: dict[str, Any]) -> dict[str, float]:
    """Errors and concordance of means of f that were predicted for rows left out."""
    formula = f"y ~ {terms} | censor(lower)"
    mean, settled = left_out(formula, data, fold, options)
    counts = tg.metrics.concordance_counts(data["y"], mean, lower=data["lower"])
    within = [folds_own(data[fold == k], mean[fold == k]) for k in range(FOLDS)]
    seen = fit(formula, data, options).predict(data, "latent")
    return {
        "settled": settled,
        "rmse": tg.metrics.rmse(data["f"], mean),
        "mae": tg.metrics.mae(data["f"], mean),
        "c_index": counts.c_index,
        "c_truth": tg.metrics.concordance_index(data["f"], mean),
        "c_within_folds": float(np.nanmean(within)),
        "c_all_pairs": counts.concordant / (len(data) * (len(data) - 1) / 2),
        "c_training": tg.metrics.concordance_index(data["y"], seen, lower=data["lower"]),
    }


def folds_own(test: pd.DataFrame, mean: np.ndarray) -> float:
    """Concordance among the rows of one fold; NaN where the order of no pair is known."""
    try:
        return tg.metrics.concordance_index(test["y"], mean, lower=test["lower"])
    except tg.errors.DataError:
        return np.nan


def housing() -> Iterator[dict[str, Any]]:
    """Table 2: a row for each run of cross-validation, fold, model and reading of the kernel."""
    recorded = tg.datasets.fetch("housing")
    scaled = recorded.assign(**(recorded[INPUTS] - recorded[INPUTS].mean()) / recorded[INPUTS].std())
    for kernel, (standardise, ard) in KERNELS.items():
        data = scaled if standardise else recorded
        formula = f"medv ~ gp({', '.join(INPUTS)}, ard={ard}) | censor(upper=50)"
        for run in range(RUNS):
            fold = np.random.default_rng(run).permutation(np.arange(len(data)) % FOLDS)
            for name in ("GP, limits as values", "Tobit GP, LA", "Tobit GP, EP"):
                options = {"method": tg.EP(hyper="maximize"), **MODELS[name]}
                options["method"] = replace(options["method"], n_starts=1, inducing=None, tol=1e-2)
                mean, settled = left_out(formula, data, fold, options)
                one = {"kernel": kernel, "run": run, "model": name, "settled": settled}
                for k in range(FOLDS):
                    test = fold == k
                    index = tg.metrics.concordance_index(data["medv"][test], mean[test], upper=50)
                    yield {**one, "fold": str(k), "c_index": index}
                pooled = tg.metrics.concordance_index(data["medv"], mean, upper=50)
                yield {**one, "fold": "pooled", "c_index": pooled}


def left_out(formula: str, data: pd.DataFrame, fold: np.ndarray, options: dict[str, Any]) -> tuple[np.ndarray, int]:
    """Mean of f at every row from a fit without its fold, and how many of the fits settled."""
    mean, settled = np.empty(len(data)), 0
    for k in range(FOLDS):
        results = fit(formula, data[fold != k], options)
        mean[fold == k] = results.predict(data[fold == k], "latent")
        settled += bool(results.converged)
    return mean, settled


def fit(formula: str, data: pd.DataFrame, options: dict[str, Any]) -> Any:
    """A fit whose warnings are told by its ``converged`` alone."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return tg.fit(formula, data, **options)


TABLES = {"artificial": artificial, "housing": housing}

if __name__ == "__main__":
    write(TABLES, __file__, __doc__)
