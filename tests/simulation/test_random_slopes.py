"""Intercepts and slopes of 30 groups of eight rows, 40% left-censored: intervals hold the truth."""

import numpy as np
import pandas as pd
import pytest

import tobitgp as tg

SIGMA = np.array([[1.0, -0.18], [-0.18, 0.36]])
TRUTH = {
    "Intercept": 1.0,
    "z": 0.5,
    "sd(re(g))": 1.0,
    "sd(re(g))[z]": 0.6,
    "cor(re(g))[Intercept, z]": -0.3,
    "sigma": 0.5,
}
SEEDS = 100


def held(seed):
    """Whether each parameter's 95% interval holds it, and the share of the groups' intervals that do."""
    rng = np.random.default_rng(1000 + seed)
    g, z = np.repeat(np.arange(30), 8), rng.normal(1.0, 1.0, 240)
    b = rng.multivariate_normal([0.0, 0.0], SIGMA, 30)
    y = 1.0 + 0.5 * z + b[g, 0] + b[g, 1] * z + 0.5 * rng.normal(size=240)
    limit = np.quantile(y, 0.4)
    data = pd.DataFrame({"y": np.maximum(y, limit), "z": z, "g": g, "limit": limit})
    res = tg.fit("y ~ z + (1 + z | g) | censor(limit)", data)
    assert res.converged
    ends, groups = res.conf_int().loc[list(TRUTH)].to_numpy(), res.group_effects()
    found = dict(zip(TRUTH, (ends[:, 0] < [*TRUTH.values()]) & (ends[:, 1] > [*TRUTH.values()]), strict=True))
    for j, name in enumerate(["re(g)", "re(g)[z]"]):
        table = groups.loc[name]
        found[name] = float(((table["lower"] < b[:, j]) & (b[:, j] < table["upper"])).mean())
    return found


@pytest.mark.study
def test_intervals_hold_the_truth(record_property):
    share = pd.DataFrame([held(seed) for seed in range(SEEDS)]).mean()
    record_property("coverage", share.round(3).to_dict())
    assert share.drop(["re(g)", "re(g)[z]"]).between(0.88, 1.0).all(), share  # three standard errors of 100 data sets
    assert share[["re(g)", "re(g)[z]"]].between(0.93, 0.97).all(), share
