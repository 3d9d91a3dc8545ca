"""Default fits, a line and a curve, end at the best maximum that a grid of starts finds."""

import numpy as np
import pandas as pd
import pytest

from benchmarks.battery import FAR, fit

pytestmark = pytest.mark.study


def path(x, lengthscale, rng):
    """A draw of a process of sd 1."""
    K = np.exp(-0.5 * ((x[:, None] - x) / lengthscale) ** 2) + 1e-8 * np.eye(len(x))
    return np.linalg.cholesky(K) @ rng.normal(size=len(x))


INPUTS = {"normal": lambda rng, n: rng.normal(size=n), "gamma": lambda rng, n: rng.gamma(1.0, 2.0, n)}
CURVES = {  # rows, distribution of the input, true function
    "line": (40, "normal", lambda x, rng: 2 * x),
    "line and bump": (120, "uniform", lambda x, rng: 3 * x + np.exp(-(((x - 0.5) / 0.05) ** 2))),
    "exponential growth": (60, "uniform", lambda x, rng: np.exp(3 * x)),
    "hinge": (80, "uniform", lambda x, rng: 8 * np.maximum(x - 0.6, 0)),
    "path": (100, "uniform", lambda x, rng: path(x, 0.1, rng)),
    "line and path": (200, "uniform", lambda x, rng: 5 * x + path(x, 0.03, rng)),
    "path of few rows": (25, "uniform", lambda x, rng: path(x, 0.2, rng)),
    "line and wave": (150, "gamma", lambda x, rng: x + np.sin(4 * x)),
    "noise": (60, "uniform", lambda x, rng: 0 * x),
    "chirp": (150, "uniform", lambda x, rng: np.sin(2 / (x + 0.1))),
}


def draw(name, seed):
    """Rows under noise of .1, .3 or 1 sd of the curve, none, 30% or 70% of them censored, and the formula."""
    rng = np.random.default_rng([seed, 2026])
    n, inputs, curve = CURVES[name]
    x = INPUTS.get(inputs, lambda rng, n: rng.uniform(size=n))(rng, n)
    f = curve(x, rng)
    y = f + rng.choice([0.1, 0.3, 1.0]) * max(np.std(f), 0.3) * rng.normal(size=n)
    censored = rng.choice([0.0, 0.3, 0.7])
    limit = np.quantile(y, censored) if censored else -np.inf
    data = pd.DataFrame({"x": x, "y": np.maximum(y, limit), "l": limit})
    return data, "y ~ gp(x) | censor(l)" if censored else "y ~ gp(x)"


def starts(data):
    """Length-scales from neighbours to five sds of the input, each with little and with much noise."""
    sd, near = data["x"].std(), 2 * np.median(np.diff(np.sort(data["x"])))
    for scale in np.geomspace(max(near, 0.005 * sd), 5 * sd, 6):
        yield from ({"lengthscale(gp(x))": scale, "sigma": share * data["y"].std()} for share in (0.15, 0.7))


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("name", CURVES)
def test_no_start_ends_higher(name, seed):
    data, formula = draw(name, seed)
    value = fit(data, formula)[1]
    assert max(fit(data, formula, start=start)[1] for start in starts(data)) < value + FAR
