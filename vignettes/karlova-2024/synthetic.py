"""Table 1: six ways to fit 15 clipped values of a function, and what each says of 100 new ones."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import tobitgp as tg

sys.path.insert(0, str(Path(__file__).parents[1]))

from papers import MAXIMISED, maximised, weak  # in the folder above

FORMULA = "y ~ 0 + gp(x, line=False) | censor(lower, upper)"
RANGES = {"[0, 2]": (0.0, 2.0), "[0, 1]": (0.0, 1.0)}
CASES = ["left", "right", "symmetric"]
DRAWN = "VI, 1000 draws"
METHODS: dict[str, dict[str, Any]] = {
    "uncensored": {"censored": "ignore", **MAXIMISED},
    "VI": maximised(tg.VI()),
    DRAWN: maximised(tg.VI(bound="monte_carlo", draws=1000)),
    "closed form": {"method": tg.VI(bound="karlova")},
    "EP": MAXIMISED,
    "EP, priors": {"method": tg.EP(hyper="maximize")},
    "EP, averaged": {},
}
WEAK = ("EP, priors", "EP, averaged")


def curve(x: Any) -> Any:
    """The paper's function."""
    return (5 * x - 10) * np.sin(10 * x - 20)


def train_and_test(case: str, x_range: tuple[float, float], seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """15 rows to learn from and 100 others, under the same limits."""
    train = tg.datasets.simulate_karlova(case, rng=seed, x_range=x_range)
    return train, tg.datasets.simulate_karlova(case, rng=10_000 + seed, n=100, x_range=x_range)


def fit_all(train: pd.DataFrame, drawn: bool) -> Iterator[tuple[str, Any]]:
    """The closed form is given the hyper-parameters of VI, as tobitgp lets nothing be chosen by it."""
    at: dict[str, float] = {}
    for name, how in METHODS.items():
        if name == DRAWN and not drawn:
            continue
        own = {"fixed": at} if name == "closed form" else weak(FORMULA, train) if name in WEAK else {}
        res = tg.fit(FORMULA, train, **how, **own)
        if name == "VI":
            at = res.hyperparameters
        yield name, res


def scores(res: Any, test: pd.DataFrame, averaged: bool) -> dict[str, float]:
    """MAE of the clipped mean, and minus the log predictive density: over all rows and over those at a limit."""
    at_limit = (test["y"] <= test["lower"]) | (test["y"] >= test["upper"])
    f = res.predict(test, "latent", se=True)
    sigma = float(res.params["sigma"])
    y, mean, sd = test["y"], f["estimate"], np.hypot(f["se"], sigma)
    error = (mean.clip(test["lower"], test["upper"]) - y).abs()
    nlpd = tg.metrics.nlpd(y, mean, sd, lower=test["lower"], upper=test["upper"], stratify=at_limit)
    if averaged:  # that of the mixture over hyper-parameters, not of its moments
        nlpd = {"all": -res.score(test), True: -res.score(test[at_limit])}
    return {
        "mae": error.mean(),
        "mae_c": error[at_limit].mean(),
        "mae_latent": (mean - test["f"]).abs().mean(),
        "nlpd": nlpd["all"],
        "nlpd_c": nlpd[True],
        "nlpd_c_as_values": tg.metrics.nlpd(y, mean, sd, stratify=at_limit)[True],  # density at the limit, not mass
        "sigma": sigma,
        "at_limit": at_limit.mean(),
    }


def table(draws: dict[str, int], drawn: dict[str, int]) -> Iterator[dict[str, Any]]:
    """Yield a row for each draw, method, kind of censoring and range of x; the first ``drawn`` have VI by draws too."""
    for where, x_range in RANGES.items():
        for case in CASES:
            for seed in range(1, draws[where] + 1):
                train, test = train_and_test(case, x_range, seed)
                for name, res in fit_all(train, seed <= drawn[where]):
                    found = scores(res, test, name == "EP, averaged")
                    yield {"x": where, "case": case, "seed": seed, "method": name, "converged": res.converged, **found}
