"""Problems of the aims that the other programs do not have."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.linalg import cholesky
from scipy.spatial.distance import cdist

from benchmarks.axes import censored
from benchmarks.problems import Draw, Problem


def _field(seed: int) -> Draw:
    """A surface with a Matern-5/2 kernel of length-scale 0.1, the lowest 28% censored."""
    rng, n, names = np.random.default_rng(seed), 4000, ["x1", "x2"]
    X = rng.uniform(size=(n + 1000, 2))
    s = np.sqrt(5.0) / 0.1 * cdist(X, X)
    K = (1.0 + s + s * s / 3.0) * np.exp(-s) + 1e-8 * np.eye(len(X))
    f = cholesky(K, lower=True, overwrite_a=True, check_finite=False) @ rng.normal(size=len(X))
    terms = 'gp(x1, x2, kernel="matern52")'
    rows = censored(terms, names, pd.DataFrame(X[:n], columns=names), f[:n], 0.3, rng, share=0.28)
    return Draw(*rows, pd.DataFrame(X[n:], columns=names), f[n:])


def _crossed(seed: int) -> Draw:
    """A slope and random intercepts of two crossed groupings of 1000 and 600 levels."""
    rng, n = np.random.default_rng(seed), 20_000
    x, g, h = rng.normal(size=n), rng.integers(0, 1000, n), rng.integers(0, 600, n)
    f = 1.0 + 0.5 * x + 0.7 * rng.normal(size=1000)[g] + 0.5 * rng.normal(size=600)[h]
    train = pd.DataFrame({"x": x, "g": g, "h": h})
    rows = censored("x + re(g) + re(h)", ["x", "g", "h"], train, f, 1.0, rng)
    return Draw(*rows, train.head(2000), f[:2000])


AIMED = [
    Problem("F1", "a Matern-5/2 surface, 4000 rows, 28% left-censored", 1, _field),
    Problem("C1", "crossed effects of 1000 and 600 levels, 20,000 rows, 40% left-censored", 1, _crossed),
]


def survival(n: int, seed: int = 0) -> pd.DataFrame:
    """Weibull times with three covariates and late entry, and the cause of each event."""
    rng = np.random.default_rng(seed)
    x, age, group = rng.normal(size=n), rng.uniform(40.0, 80.0, n), rng.integers(0, 2, n)
    entry = rng.uniform(0.0, 1.0, n)
    rate = np.exp(0.5 * x + 0.02 * (age - 60.0) + 0.4 * group) / 5.0
    event = (entry**1.3 + rng.exponential(size=n) / rate) ** (1.0 / 1.3)
    stop = entry + rng.uniform(0.5, 8.0, n)
    seen = (event <= stop).astype(int)
    cause = seen * (1 + (rng.uniform(size=n) < 0.4))
    made = {"entry": entry, "time": np.minimum(event, stop), "event": seen, "cause": cause}
    return pd.DataFrame(made | {"x": x, "age": age, "group": group})


def late(n: int = 26) -> pd.DataFrame:
    """A few subjects on the scale of age, all of whom entered late."""
    rng = np.random.default_rng(2)
    age, arm = rng.uniform(39.0, 75.0, n), rng.integers(0, 2, n)
    life, seen = 2.5 * rng.weibull(1.1, n), rng.uniform(1.0, 3.3, n)
    stop = age + np.minimum(life, seen)
    return pd.DataFrame({"age": age, "stop": stop, "event": (life <= seen).astype(int), "arm": arm})


def curves(left: bool) -> pd.DataFrame:
    """10,000 rows with three curves, log-normal times right-censored or normal responses left-censored."""
    rng, n = np.random.default_rng(0), 10_000
    X = rng.uniform(size=(n, 3))
    y = np.sin(2.0 * np.pi * X[:, 0]) + 4.0 * (X[:, 1] - 0.5) ** 2 + X[:, 2] + 0.5 * rng.normal(size=n)
    frame = pd.DataFrame(X, columns=["x1", "x2", "x3"])
    if left:
        lower = np.quantile(y, 0.4)
        return frame.assign(y=np.maximum(y, lower), lower=lower)
    time, end = np.exp(y), rng.exponential(8.0, n)
    return frame.assign(time=np.minimum(time, end), event=(time <= end).astype(int))
