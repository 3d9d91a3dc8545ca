"""Three responses of 150 rows, 30% below limits and 10% missing, and a covariate 40% censored: intervals' coverage."""

import numpy as np
import pandas as pd
import pytest

import tobitgp as tg

SEEDS = 100
NAMES, SIGMA = ["y1", "y2", "y3"], np.array([0.3, 0.4, 0.2])
R = np.array([[1.0, 0.6, 0.2], [0.6, 1.0, -0.3], [0.2, -0.3, 1.0]])
GRID = pd.DataFrame({"x": np.linspace(0.02, 0.98, 25), "z": 0.0})
TRUTH = {f"sigma[{name}]": sd for name, sd in zip(NAMES, SIGMA, strict=True)} | {f"z[{name}]": 0.3 for name in NAMES}
TRUTH |= {f"rescor[{NAMES[k]}, {NAMES[j]}]": R[j, k] for j in range(3) for k in range(j)}


def curves(x):
    return np.column_stack([np.sin(6.0 * x), np.cos(5.0 * x)]) @ np.array([[0.8, 0.2, -0.5], [0.6, 0.9, 0.7]])


def held(seed):
    """Whether intervals of parameters, and the share of those of curves and 10% quantiles that, hold the truth."""
    rng = np.random.default_rng(seed)
    x, z = rng.uniform(size=150), rng.normal(size=150)
    y = curves(x) + 0.3 * z[:, None] + rng.multivariate_normal(np.zeros(3), R * np.outer(SIGMA, SIGMA), 150)
    limit = np.quantile(y, 0.3, axis=0)
    data = pd.DataFrame(np.maximum(y, limit), columns=NAMES).mask(rng.random((150, 3)) < 0.1)
    data = data.assign(x=x, z=z, l1=limit[0], l2=limit[1], l3=limit[2])
    res = tg.fit("mvbind(y1, y2, y3) ~ gp(x) + z | censor(l1, l2, l3)", data, rescor=True)
    ends, f = res.conf_int(), curves(GRID["x"])
    found = {name: float(ends.loc[name, 0] < value < ends.loc[name, 1]) for name, value in TRUTH.items()}
    for what, truth, q in (("f", f, None), ("quantile", f - 1.2815516 * SIGMA, 0.1)):
        table = res.predict(GRID, "latent" if q is None else "quantile", q=q, interval=0.95)
        for j, name in enumerate(NAMES):
            inside = (table[name, "lower"] < truth[:, j]) & (truth[:, j] < table[name, "upper"])
            found[f"{what} {name}"] = float(inside.mean())
    return found


@pytest.mark.study
def test_intervals_hold_the_truth(record_property):
    share = pd.DataFrame([held(seed) for seed in range(SEEDS)]).mean()
    record_property("coverage", share.round(3).to_dict())
    assert share[list(TRUTH)].between(0.88, 1.0).all(), share  # three standard errors of 100 data sets
    assert share.drop(list(TRUTH)).between(0.91, 0.97).all(), share


@pytest.mark.study
def test_slopes_in_a_censored_covariate_are_unbiased(record_property):
    left, inside = [], []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        z = rng.normal(size=200)
        x = 0.5 * z + rng.normal(size=200)
        y = x + 0.5 * z + 0.8 * rng.normal(size=200)
        limit = np.quantile(x, 0.4)
        data = pd.DataFrame({"z": z, "x": np.maximum(x, limit), "y": y, "limit": limit})
        row = tg.fit("mvbind(y, x) ~ z | censor(None, limit)", data, rescor=True).regression("y", "x").loc["x"]
        left.append(row["coef"] - 1.0)
        inside.append(row["lower"] < 1.0 < row["upper"])
    record_property("bias, rmse, coverage", [np.mean(left), np.sqrt(np.mean(np.square(left))), np.mean(inside)])
    assert abs(np.mean(left)) < 0.02
    assert np.sqrt(np.mean(np.square(left))) < 0.08
    assert np.mean(inside) > 0.90
