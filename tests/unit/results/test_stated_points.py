"""Summaries say where an intercept and a noise scale are, and what they are at the means of the columns."""

import re

import numpy as np
import pandas as pd

import tobitgp as tg


def _rows():
    rng = np.random.default_rng(2)
    x, z = rng.uniform(1000.0, 1006.0, 80), rng.normal(size=80)
    u, v = 0.3 * (x - 1003.0) + 0.3 * rng.normal(size=80), 0.5 * z + 2.0 + 0.2 * rng.normal(size=80)
    y = 1.0 + 0.1 * z + np.exp(0.4 * (x - 1003.0)) * 0.3 * rng.normal(size=80)
    return pd.DataFrame({"x": x, "z": z, "u": u, "v": v, "y": y})


def test_intercepts_of_several_responses():
    data = _rows()
    res = tg.fit("mvbind(u, v) ~ x + z", data, method=tg.EP(hyper="maximize"))
    note = " ".join(str(res.summary()).split("Notes:")[1].split())
    said = [float(value) for value in re.findall(r"(-?[\d.]+) \[[uv]\]", note)]
    means = data[["x", "z"]].mean()
    expected = [res.params[f"Intercept[{y}]"] + sum(means[c] * res.params[f"{c}[{y}]"] for c in "xz") for y in "uv"]
    assert np.allclose(said, expected, rtol=1e-3)
    errors = [float(value) for value in re.findall(r"std err ([\d.]+)\)", note)]
    assert np.allclose(errors, [res.params[f"sigma[{y}]"] / np.sqrt(80.0) for y in "uv"], rtol=0.1)


def test_the_scale_of_a_noise_process():
    data = _rows()
    res = tg.fit("y ~ z", data, sigma="~ gp(x)", method=tg.EP(hyper="maximize", n_starts=1))
    said = float(re.search(r"it is ([\d.]+)\.", " ".join(str(res.summary()).split()))[1])
    row = data[["x", "z"]].mean().to_frame().T
    ends = res.predict(row, "quantile", q=0.841344746), res.predict(row, "quantile", q=0.158655254)
    assert np.isclose(said, 0.5 * float((ends[0] - ends[1]).iloc[0]), rtol=0.1)
    assert np.isclose(said, 0.3, rtol=0.35)
