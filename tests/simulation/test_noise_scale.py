"""A curve of 200 rows, 30% left-censored, whose noise grows from .1 to .8: intervals hold the truth."""

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

import tobitgp as tg

SEEDS = 100
GRID = pd.DataFrame({"x": np.linspace(0.02, 0.98, 50)})


def curve(x):
    return np.sin(2.0 * np.pi * x) + 0.5 * x


def scale(x):
    return 0.1 + 0.7 * x


def held(seed):
    """Shares of 95% intervals of f and its 10% quantile that hold the truth, noise a process or not."""
    rng = np.random.default_rng(seed)
    x = rng.uniform(size=200)
    y = curve(x) + scale(x) * rng.normal(size=200)
    limit = np.quantile(y, 0.3)
    data = pd.DataFrame({"x": x, "y": np.maximum(y, limit), "limit": limit})
    f = curve(GRID["x"])
    found = {}
    for name, sigma in (("process", "~ gp(x)"), ("constant", None)):
        res = tg.fit("y ~ gp(x) | censor(limit)", data, sigma=sigma)
        asked = {
            "f": (f, {"what": "latent"}),
            "quantile": (f + scale(GRID["x"]) * norm.ppf(0.1), {"what": "quantile", "q": 0.1}),
        }
        for what, (truth, how) in asked.items():
            at = res.predict(GRID, interval=0.95, **how)
            found[f"{what}, {name}"] = float(((at["lower"] <= truth) & (truth <= at["upper"])).mean())
    return found


@pytest.mark.study
def test_intervals_hold_the_truth_where_noise_grows(record_property):
    share = pd.DataFrame([held(seed) for seed in range(SEEDS)]).mean()
    record_property("coverage", share.round(3).to_dict())
    assert share[["f, process", "quantile, process"]].between(0.92, 0.97).all(), share
    assert (share[["f, constant", "quantile, constant"]] < 0.85).all(), share
