"""Problems on which fits are compared: data, truth at test inputs, and the number of seeds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from scipy.linalg import cholesky
from scipy.spatial.distance import cdist
from scipy.special import gammainc

ADDITIVE_TERMS = {"gp(x1)": "f_x1", "gp(x2)": "f_x2", "z": "f_z", "re(g)": "f_g"}


@dataclass(frozen=True)
class Draw:
    """One data set: training frame with ``y`` and its limits ``lower`` and ``upper``, test inputs, the true f there.

    ``terms`` holds the true part of each term in the training rows.
    """

    formula: str
    inputs: list[str]
    train: pd.DataFrame
    test: pd.DataFrame
    truth: np.ndarray
    terms: dict[str, np.ndarray] = field(default_factory=dict)

    @property
    def status(self) -> np.ndarray:
        """(n,) array: -1 where a training row is left-censored, 1 where right-censored, 0 where exact."""
        y, sides = self.train["y"], {"lower": -1, "upper": 1}
        reached = [side * (y == self.train[limit]) for limit, side in sides.items() if limit in self.train]
        return np.sum(reached, axis=0)

    def head(self, rows: int) -> Draw:
        """Return the first rows only, without truth."""
        return Draw(self.formula, self.inputs, self.train.head(rows), self.test.head(rows), self.truth[:0])


@dataclass(frozen=True)
class Problem:
    """A problem: its name and label, the number of seeds in the table, and the draw of a seed."""

    name: str
    words: str
    seeds: int
    draw: Callable[[int], Draw]


def _groot_lucas(x: np.ndarray) -> np.ndarray:
    return (6 * x - 2) ** 2 * np.sin(2 * (6 * x - 2))


def _one_dimensional(n: int, grid: bool) -> Callable[[int], Draw]:
    def draw(seed: int) -> Draw:
        rng = np.random.default_rng(seed)
        x = np.linspace(0, 1, n) if grid else rng.uniform(size=n)
        y = _groot_lucas(x) + np.sqrt(0.1) * rng.normal(size=n)
        lower = np.quantile(y, 0.4)
        train = pd.DataFrame({"x": x, "y": np.maximum(y, lower), "lower": lower})
        test = pd.DataFrame({"x": np.linspace(0, 1, 201)})
        return Draw("y ~ gp(x) | censor(lower)", ["x"], train, test, _groot_lucas(test["x"].to_numpy()))

    return draw


def additive(X: np.ndarray) -> np.ndarray:
    """Effects of four inputs, two of which interact."""
    return (
        np.sin(2 * np.pi * X[:, 0])
        + 4 * (X[:, 1] - 0.5) ** 2
        + X[:, 2] * (1 + 0.5 * np.cos(3 * X[:, 0]))
        + 0.2 * X[:, 3]
    )


def _four_dimensional(seed: int) -> Draw:
    rng = np.random.default_rng(seed)
    names = ["x1", "x2", "x3", "x4"]
    X = rng.uniform(size=(2000, 4))
    y = additive(X) + 0.3 * rng.normal(size=2000)
    wait = np.std(y) * rng.normal(size=2000)
    upper = wait + np.quantile(y - wait, 0.7)
    train = pd.DataFrame(X, columns=names).assign(y=np.minimum(y, upper), upper=upper)
    T = np.random.default_rng(10_000 + seed).uniform(size=(2000, 4))
    formula = "y ~ gp(x1, x2, x3, x4) | censor(upper=upper)"
    return Draw(formula, names, train, pd.DataFrame(T, columns=names), additive(T))


def _linear(seed: int) -> Draw:
    rng = np.random.default_rng(seed)
    names = [f"x{j}" for j in range(1, 6)]
    X, T = rng.normal(size=(10_000, 5)), np.random.default_rng(10_000 + seed).normal(size=(2000, 5))
    beta = np.array([1.0, -0.5, 0.3, 0.0, 0.2])
    y = 0.5 + X @ beta + rng.normal(size=10_000)
    lower = np.quantile(y, 0.4)
    train = pd.DataFrame(X, columns=names).assign(y=np.maximum(y, lower), lower=lower)
    formula = f"y ~ {' + '.join(names)} | censor(lower)"
    return Draw(formula, names, train, pd.DataFrame(T, columns=names), 0.5 + T @ beta)


def _surface(X: np.ndarray) -> np.ndarray:
    return np.sin(6 * X[:, 0]) + np.cos(5 * X[:, 1]) + 2 * X[:, 0] * X[:, 1]


def surface(n: int) -> Callable[[int], Draw]:
    """Two inputs, 40% left-censored."""

    def draw(seed: int) -> Draw:
        rng = np.random.default_rng(seed)
        names = ["x1", "x2"]
        X = rng.uniform(size=(n, 2))
        y = _surface(X) + 0.5 * rng.normal(size=n)
        lower = np.quantile(y, 0.4)
        train = pd.DataFrame(X, columns=names).assign(y=np.maximum(y, lower), lower=lower)
        T = np.random.default_rng(10_000 + seed).uniform(size=(2000, 2))
        return Draw("y ~ gp(x1, x2) | censor(lower)", names, train, pd.DataFrame(T, columns=names), _surface(T))

    return draw


def matern32(x: np.ndarray, lengthscale: float, noise: np.ndarray) -> np.ndarray:
    """A draw of a Matern-3/2 process of unit variance at inputs (n,) from standard normal ``noise`` (n, 2).

    From each input to the next, (MKV1) and (MKV2) of the theory pages, so that a million rows take a second.
    """
    order = np.argsort(x)
    u = np.maximum(np.sqrt(3) / lengthscale * np.diff(x[order]), 1e-12)  # ties would divide by 0
    decay, own = np.exp(-u), np.sqrt(gammainc(1, 2 * u) + 2 * u * (1 - u) * np.exp(-2 * u))
    shared = 2 * np.square(u * decay) / own
    rest = np.sqrt(gammainc(3, 2 * u) - shared**2)
    (value, slope), found = noise[0], [noise[0, 0]]
    to_value, to_slope = shared * noise[1:, 0] + rest * noise[1:, 1], own * noise[1:, 0]
    for gap, factor, a, b in zip(*(part.tolist() for part in (u, decay, to_value, to_slope)), strict=True):
        value, slope = (
            factor * (value + gap * (value + slope)) + a,
            factor * (slope - gap * (value + slope)) + b,
        )
        found.append(value)
    f = np.empty(len(x))
    f[order] = found
    return f


def _exponential(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw a process of unit variance with an exponential kernel of range 0.1 at inputs (n, d)."""
    K = cdist(X, X)
    np.exp(-K / 0.1, out=K)
    return cholesky(K, lower=True, overwrite_a=True, check_finite=False) @ rng.normal(size=len(X))


def _rough(n: int, d: int) -> Callable[[int], Draw]:
    """Draw a curve with 20 rows per length-scale, or a surface, at rows and test inputs together."""

    def draw(seed: int) -> Draw:
        rng = np.random.default_rng(seed)
        names = ["x"] if d == 1 else ["x1", "x2"]
        X = rng.uniform(size=(n + 1000, d))
        f = matern32(X[:, 0], 20 / n, rng.normal(size=(len(X), 2))) if d == 1 else _exponential(X, rng)
        y = f[:n] + 0.3 * rng.normal(size=n)
        lower = np.quantile(y, 0.4)
        train = pd.DataFrame(X[:n], columns=names).assign(y=np.maximum(y, lower), lower=lower)
        kernel = "matern32" if d == 1 else "matern12"
        formula = f'y ~ gp({", ".join(names)}, kernel="{kernel}") | censor(lower)'
        return Draw(formula, names, train, pd.DataFrame(X[n:], columns=names), f[n:])

    return draw


def _grouped(seed: int) -> Draw:
    import tobitgp as tg  # other interpreters, which have peers only, draw the other problems

    data = tg.datasets.simulate_additive(seed)
    parts = {name: data[part].to_numpy() for name, part in ADDITIVE_TERMS.items()}
    # A process beside an intercept is measured from its average over the rows.
    terms = {name: part - part.mean() if name.startswith("gp") else part for name, part in parts.items()}
    inputs = ["x1", "x2", "z", "g"]
    return Draw(
        "y ~ z + gp(x1) + gp(x2) + re(g) | censor(lower, upper)", inputs, data, data, data["f"].to_numpy(), terms
    )


PROBLEMS = [
    Problem("P1", "Groot-Lucas, 30 rows on a grid, 40% left-censored", 20, _one_dimensional(30, grid=True)),
    Problem("P2", "the same, 1000 uniform rows", 5, _one_dimensional(1000, grid=False)),
    Problem("P3", "four inputs, 2000 rows, 30% right-censored", 5, _four_dimensional),
    Problem("P4", "a surface, 100,000 rows, 40% left-censored", 3, surface(100_000)),
    Problem("P5", "the same, 1,000,000 rows", 1, surface(1_000_000)),
    Problem("P6", "linear, 10,000 rows, 5 inputs, 40% left-censored", 5, _linear),
    Problem("R1", "a Matern-3/2 curve, 10,000 rows, 40% left-censored", 3, _rough(10_000, 1)),
    Problem("R2", "the same, a tenth of the length-scale, 100,000 rows", 1, _rough(100_000, 1)),
    Problem("R3", "the same, a hundredth of it, 1,000,000 rows", 1, _rough(1_000_000, 1)),
    Problem("R4", "an exponential surface, 2000 rows, 40% left-censored", 3, _rough(2000, 2)),
    Problem("R5", "the same, 10,000 rows", 1, _rough(10_000, 2)),
    Problem("R6", "the surface of P4, 2000 rows", 3, surface(2000)),
    Problem("A1", "two curves, a slope and 200 groups, 5000 rows, 40% censored", 5, _grouped),
]
