"""Default searches end at the maxima that starts chosen by hand lead to."""

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from support.methods import with_settings

import tobitgp as tg


def floored(y, q, **columns):
    """Rows below a quantile are censored there."""
    data = pd.DataFrame({"y": np.asarray(y, float), **columns})
    limit = data["y"].quantile(q)
    return data.assign(y=data["y"].clip(lower=limit), limit=limit)


def short():
    data = tg.datasets.simulate_basson(1, rng=41)
    return "y ~ 0 + gp(x) | censor(lower)", data, {"start": {"sigma": 0.1}}, {"priors": {}}


def long():
    nile = sm.datasets.nile.load_pandas().data
    start = {"lengthscale(gp(x))": 15.0, "sigma": 140.0}
    return "y ~ gp(x) | censor(limit)", floored(nile["volume"], 0.3, x=nile["year"]), {"start": start}, {}


def weak():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 7))
    y = 0.5 * np.sin(X[:, 0]) + 0.3 * X[:, 6] + rng.normal(size=200)
    inputs = {f"x{i}": column for i, column in enumerate(X.T)}
    formula = f"y ~ gp({', '.join(inputs)}, ard=False, name='f') | censor(limit)"
    return formula, floored(y, 0.3, **inputs), {"start": {"lengthscale(f)": 5.0, "sigma": 1.0}}, {}


def many():
    """At short length-scales a hundred inducing inputs are too few, and the evidence flatters them by five nats."""
    rng = np.random.default_rng(11)
    X = rng.normal(size=(200, 7))
    y = np.sin(X[:, 0]) + 0.25 * X[:, 1] * X[:, 2] + 2.0 * rng.normal(size=200)
    inputs = {f"x{i}": column for i, column in enumerate(X.T)}
    formula = f"y ~ gp({', '.join(inputs)}, name='f') | censor(limit)"
    by_hand = {"start": {"sd(f)": 0.2}, "method": tg.EP(inducing=None, n_starts=1)}
    return formula, floored(y, 0.3, **inputs), by_hand, {}


@pytest.mark.slow
@pytest.mark.parametrize("problem", [short, long, weak, many])
def test_the_default_finds_what_a_good_start_does(problem):
    formula, data, by_hand, options = problem()
    ends = {}
    for name, how in {"default": {}, "by hand": by_hand}.items():
        res = tg.fit(formula, data, **with_settings({**options, **how}, hyper="maximize"))
        ends[name] = res.fit_history["log_posterior"].iloc[-1]
    assert ends["default"] > ends["by hand"] - 0.01
