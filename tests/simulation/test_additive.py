"""Two curves, a slope and 200 random intercepts from 5000 rows, 40% censored: each term's band holds its truth."""

import numpy as np
import pandas as pd
import pytest

import tobitgp as tg

TERMS = {"gp(x1)": "f_x1", "gp(x2)": "f_x2", "re(g)": "f_g", "z": "f_z"}
SEEDS = 40


def coverage(seed):
    """Share of the 95% bands that hold the truth: over rows, or over groups."""
    data = tg.datasets.simulate_additive(seed)
    res = tg.fit("y ~ z + gp(x1) + gp(x2) + re(g) | censor(lower, upper)", data)
    assert res.converged
    table, found = res.predict(what="terms", interval=0.95), {}
    for term, part in TERMS.items():
        truth = data[part] - (data[part].mean() if term.startswith("gp") else 0.0)
        inside = table[term]["lower"].le(truth) & table[term]["upper"].ge(truth)
        found[term] = (inside.groupby(data["g"]).first() if term == "re(g)" else inside).mean()
    return {**found, "sd(re(g))": res.params["sd(re(g))"], "sigma": res.params["sigma"]}


@pytest.mark.study
def test_bands_of_terms_hold_the_truth():
    table = pd.DataFrame([coverage(seed) for seed in range(SEEDS)])
    mean = table.mean()
    assert mean[["gp(x1)", "gp(x2)", "re(g)"]].between(0.90, 0.99).all(), mean
    # The slope is one number a data set: 40 of them tell .95 from .85.
    assert mean["z"] >= 0.87
    assert abs(mean["sd(re(g))"] - 0.5) < 4 * table["sd(re(g))"].std() / np.sqrt(SEEDS) + 0.005
    assert abs(mean["sigma"] - 0.4) < 0.003
