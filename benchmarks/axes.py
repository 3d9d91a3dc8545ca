"""Axes of ``python -m benchmarks.growth``: their sizes, and the data of each size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from benchmarks.problems import Draw, Problem, additive, surface

Draws = Callable[[int], Draw]
TERM_ROWS, GROUP_ROWS, INPUT_ROWS, COLUMN_ROWS, MIXTURE_ROWS = 200, 200_000, 500, 2000, 2000


@dataclass(frozen=True)
class Axis:
    """An axis: its name and label, its sizes, the data of a size, and the size from which one seed is enough.

    ``score`` is the column of accuracy: RMSE of f, or ``mnll``, the negative log density of held-out responses.
    """

    name: str
    label: str
    sizes: tuple[int, ...]
    draw: Callable[[int], Draws]
    large: int
    seeds: int = 3
    score: str = "rmse"

    def problem(self, size: int) -> Problem:
        """Return the problem of a size."""
        seeds = self.seeds if size < self.large else 1
        return Problem(f"{self.name}-{size}", f"{self.label}: {size:,}", seeds, self.draw(size))

    @property
    def names(self) -> str:
        """The names of all its problems, separated by spaces."""
        return " ".join(f"{self.name}-{size}" for size in self.sizes)


def _numbered(d: int) -> list[str]:
    return [f"x{j}" for j in range(1, d + 1)]


def censored(
    terms: str,
    inputs: list[str],
    train: pd.DataFrame,
    f: np.ndarray,
    sd: float,
    rng: np.random.Generator,
    share: float = 0.4,
) -> tuple[str, list[str], pd.DataFrame]:
    """Return formula, inputs and rows: f with normal noise, of which the lowest share is censored."""
    y = f + sd * rng.normal(size=len(f))
    lower = np.quantile(y, share)
    return f"y ~ {terms} | censor(lower)", inputs, train.assign(y=np.maximum(y, lower), lower=lower)


def _terms(d: int) -> Draws:
    """Draw data with a curve in each of up to five inputs. Other inputs have no effect."""

    def f(X: np.ndarray) -> np.ndarray:
        return np.asarray(sum(np.sin(2 * np.pi * X[:, j] + j) for j in range(min(d, 5))))

    def draw(seed: int) -> Draw:
        rng, names = np.random.default_rng(seed), _numbered(d)
        X, T = rng.uniform(size=(TERM_ROWS, d)), rng.uniform(size=(1000, d))
        terms = " + ".join(f"gp({name})" for name in names)
        rows = censored(terms, names, pd.DataFrame(X, columns=names), f(X), 0.3, rng)
        return Draw(*rows, pd.DataFrame(T, columns=names), f(T))

    return draw


def _groups(count: int) -> Draws:
    """Draw data with a slope and random intercepts. Test rows are in the same groups."""

    def draw(seed: int) -> Draw:
        rng = np.random.default_rng(seed)
        g = rng.permutation(np.arange(GROUP_ROWS) % count)
        x, effect = rng.normal(size=GROUP_ROWS), 0.5 * rng.normal(size=count)
        f, train = 1.0 + 0.5 * x + effect[g], pd.DataFrame({"x": x, "g": g})
        rows = censored("x + re(g)", ["x", "g"], train, f, 1.0, rng)
        return Draw(*rows, train.head(2000), f[:2000])

    return draw


def _inputs(d: int) -> Draws:
    """Draw data for one process of all inputs. The first four inputs have effects."""

    def f(X: np.ndarray) -> np.ndarray:
        padded = np.column_stack([X, np.zeros((len(X), 4))])
        return additive(padded)

    def draw(seed: int) -> Draw:
        rng, names = np.random.default_rng(seed), _numbered(d)
        X, T = rng.uniform(size=(INPUT_ROWS, d)), rng.uniform(size=(1000, d))
        rows = censored(f"gp({', '.join(names)})", names, pd.DataFrame(X, columns=names), f(X), 0.3, rng)
        return Draw(*rows, pd.DataFrame(T, columns=names), f(T))

    return draw


def _columns(d: int) -> Draws:
    """Draw data with linear effects 1, -1/2, 1/3, ..."""
    beta = (-1.0) ** np.arange(d) / np.arange(1, d + 1)

    def draw(seed: int) -> Draw:
        rng, names = np.random.default_rng(seed), _numbered(d)
        X, T = rng.normal(size=(COLUMN_ROWS, d)), rng.normal(size=(1000, d))
        rows = censored(" + ".join(names), names, pd.DataFrame(X, columns=names), X @ beta, 1.0, rng)
        return Draw(*rows, pd.DataFrame(T, columns=names), T @ beta)

    return draw


def _components(k: int) -> Draws:
    """Draw unit normals 6 apart, right-censored at a limit per row. The truth is a sample of new responses."""

    def draw(seed: int) -> Draw:
        rng = np.random.default_rng(seed)
        y, new = (6.0 * rng.integers(0, k, n) + rng.normal(size=n) for n in (MIXTURE_ROWS, 10_000))
        upper = 6.0 * rng.integers(0, k, MIXTURE_ROWS) + rng.normal(3.0, 3.0, MIXTURE_ROWS)
        train = pd.DataFrame({"y": np.minimum(y, upper), "upper": upper})
        return Draw(f"y ~ mixture({k}) | censor(upper=upper)", [], train, pd.DataFrame(index=range(len(new))), new)

    return draw


ROWS = (30, 100, 300, 1000, 3000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
AXES = {
    axis.name: axis
    for axis in (
        Axis("rows", "rows, gp(x1, x2)", ROWS, surface, 30_000, seeds=5),
        Axis("terms", f"terms gp(x), {TERM_ROWS} rows", (1, 2, 5, 10, 20, 30, 50), _terms, 10),
        Axis("groups", f"groups re(g), {GROUP_ROWS:,} rows", (10, 100, 1000, 10_000, 100_000), _groups, 10),
        Axis("inputs", f"inputs of one gp(), {INPUT_ROWS} rows", (1, 2, 5, 10, 20, 50, 100), _inputs, 10),
        Axis("columns", f"linear columns, {COLUMN_ROWS:,} rows", (1, 2, 5, 10, 20, 50, 100), _columns, 50),
        Axis("components", f"components, {MIXTURE_ROWS:,} rows", (1, 2, 5, 10, 20, 50), _components, 10, score="mnll"),
    )
}
GROWTH = [axis.problem(size) for axis in AXES.values() for size in axis.sizes]
