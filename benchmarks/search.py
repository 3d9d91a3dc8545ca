"""``python -m benchmarks.search``: how far below the best of a thorough search default fits end, as a small CSV file.

The thorough search climbs on all rows from the truth and from a grid of every length-scale. ``--before FILE`` joins a
file that the same program wrote with an older version of the package, run as
``PYTHONPATH=old:. python benchmarks/search.py --default-only``, where ``old`` is a folder with that package alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from scipy.spatial.distance import cdist

from benchmarks.battery import Columns, arguments, fit, tabulate

OUT = Path("docs") / "trust" / "search.csv"
GRID = (1.0, 0.3, 0.1, 0.03, 0.01)  # of the standard deviation of an input
FEW_ROWS = 1000  # up to which the thorough search tries the whole grid


class Problem(NamedTuple):
    """A formula, a true function of uniform inputs, noise, and how rows are censored."""

    name: str
    formula: str
    f: Callable[[Columns], np.ndarray]
    truth: dict[str, float]
    sizes: tuple[int, ...]
    noise: float = 1.0
    censored: float = 0.3
    side: str = "left"
    family: str = "gaussian"
    seeds: int = 1


def problems() -> Iterator[Problem]:
    """Kinds of function, at one to four sizes each; the last are rough."""
    ell = "lengthscale(gp(x))"
    yield Problem(
        "weak wave on a trend",
        "y ~ gp(x)",
        lambda d: 3.0 * d["x"] + 0.5 * np.sin(2 * np.pi * d["x"] / 0.08),
        {ell: 0.03},
        (300, 1000, 3000, 10_000),
        censored=0.4,
        side="right",
        family="lognormal",
    )
    yield Problem("strong wave", "y ~ gp(x)", lambda d: np.sin(60 * d["x"]), {ell: 0.03}, (100, 1000), noise=0.4)
    yield Problem(
        "weak wave", "y ~ gp(x)", lambda d: 0.4 * np.sin(40 * d["x"]), {ell: 0.04}, (300, 1000, 3000), censored=0.0
    )
    yield Problem("long curve", "y ~ gp(x)", lambda d: np.sin(5 * d["x"]), {ell: 0.3}, (100, 1000, 10_000))
    yield Problem("noise alone", "y ~ gp(x)", lambda d: 0.0 * d["x"], {ell: 0.5}, (100, 1000, 3000))
    yield Problem("steps", "y ~ gp(x)", lambda d: np.sign(np.sin(12 * d["x"])), {ell: 0.05}, (300, 1000), noise=0.5)
    yield Problem(
        "rough", 'y ~ gp(x, kernel="matern32")', lambda d: _path(d["x"], 0.03, 7), {ell: 0.03}, (300, 1000), noise=0.4
    )
    yield Problem(
        "two scales",
        "y ~ gp(x)",
        lambda d: np.sin(4 * d["x"]) + 0.25 * np.sin(70 * d["x"]),
        {ell: 0.03},
        (1000, 3000),
        noise=0.5,
    )
    yield Problem(
        "dense at one end",
        "y ~ gp(u)",
        lambda d: np.sin(3 * d["u"]) + 0.5 * np.sin(80 * d["u"]) * (d["u"] < 0.3),
        {"lengthscale(gp(u))": 0.03},
        (1000, 3000),
        noise=0.7,
    )
    yield Problem(
        "most rows censored",
        "y ~ gp(x)",
        lambda d: 2 * d["x"] + 0.7 * np.sin(50 * d["x"]),
        {ell: 0.04},
        (1000, 3000),
        censored=0.8,
        side="right",
        family="weibull",
    )
    two = {"lengthscale(gp(x))": 0.5, "lengthscale(gp(z))": 0.03}
    yield Problem(
        "two terms",
        "y ~ gp(x) + gp(z)",
        lambda d: 2 * d["x"] + 0.3 * np.sin(40 * d["z"]),
        two,
        (300, 1000, 4000),
        seeds=2,
    )
    yield Problem(
        "three terms",
        "y ~ gp(x) + gp(z) + gp(u)",
        lambda d: 2 * d["x"] + 0.35 * np.sin(40 * d["z"]) + np.cos(3 * d["u"]),
        {**two, "lengthscale(gp(u))": 0.5},
        (1000, 3000),
    )
    yield Problem(
        "curves by group",
        "y ~ C(g) + gp(x, by=g)",
        lambda d: 0.5 * d["g"] + d["x"] + 0.35 * np.sin(50 * d["x"] + d["g"]),
        {"lengthscale(gp(x, by=g))": 0.03},
        (300, 1000, 4000),
    )
    plane = {"lengthscale(gp(x, z))[x]": 0.7, "lengthscale(gp(x, z))[z]": 0.06}
    yield Problem(
        "plane, one input short",
        "y ~ gp(x, z)",
        lambda d: 1.5 * d["x"] + 0.35 * np.sin(30 * d["z"]),
        plane,
        (300, 1000, 4000),
        seeds=2,
    )
    yield Problem(
        "plane, both short",
        "y ~ gp(x, z)",
        lambda d: d["x"] + 0.5 * np.sin(25 * d["x"]) * np.sin(25 * d["z"]),
        dict.fromkeys(plane, 0.06),
        (1000, 4000),
    )
    yield Problem(
        "smooth plane", "y ~ gp(x, z)", lambda d: np.sin(4 * d["x"]) * d["z"], dict.fromkeys(plane, 0.4), (300, 3000)
    )
    four = [f"lengthscale(gp(x, z, u, v))[{name}]" for name in "xzuv"]
    yield Problem(
        "four inputs",
        "y ~ gp(x, z, u, v)",
        lambda d: np.sin(6 * d["x"]) + 4 * (d["z"] - 0.5) ** 2 + d["u"],
        dict(zip(four, (0.3, 0.5, 1.5, 5.0), strict=True)),
        (300, 1000),
        noise=0.3,
    )
    yield Problem(
        "four inputs, one short",
        "y ~ gp(x, z, u, v)",
        lambda d: 2 * d["u"] + 0.5 * np.sin(25 * d["x"]),
        dict(zip(four, (0.06, 5.0, 1.5, 5.0), strict=True)),
        (1000, 3000),
        seeds=2,
    )
    yield Problem(
        "student noise",
        "y ~ gp(x)",
        lambda d: 2 * d["x"] + 0.5 * np.sin(60 * d["x"]),
        {ell: 0.03},
        (1000,),
        family="student",
    )
    yield from rough_problems()


def rough_problems() -> Iterator[Problem]:
    """Sample paths and fields whose length-scales are short beside what the rows cover."""
    ell, series = "lengthscale(gp(x))", "y ~ gp(x, kernel='matern32')"
    yield Problem("rough series", series, lambda d: _path(d["x"], 0.004, 7), {ell: 0.004}, (1000, 4000), noise=0.3)
    yield Problem(
        "rougher series",
        "y ~ gp(x, kernel='matern12')",
        lambda d: _path(d["x"], 0.01, 8, "matern12"),
        {ell: 0.01},
        (1000, 4000),
        noise=0.3,
    )
    yield Problem(
        "rough series, most rows censored",
        series,
        lambda d: _path(d["x"], 0.01, 9),
        {ell: 0.01},
        (1000, 4000),
        noise=0.3,
        censored=0.7,
    )
    yield Problem(
        "rough series beside a curve",
        "y ~ gp(z) + gp(x, kernel='matern32')",
        lambda d: np.sin(4 * d["z"]) + _path(d["x"], 0.006, 10),
        {"lengthscale(gp(z))": 0.3, ell: 0.006},
        (1000, 4000),
        noise=0.3,
    )
    field = {"lengthscale(gp(x, z))[x]": 0.1, "lengthscale(gp(x, z))[z]": 0.1}
    yield Problem(
        "rough plane",
        "y ~ gp(x, z, kernel='matern12')",
        lambda d: _path(np.column_stack([d["x"], d["z"]]), 0.1, 11, "matern12"),
        field,
        (1000, 3000),
        noise=0.3,
        seeds=2,
    )
    yield Problem(
        "rough plane beside a trend",
        "y ~ u + gp(x, z, kernel='matern32')",
        lambda d: d["u"] + _path(np.column_stack([d["x"], d["z"]]), 0.06, 12),
        dict.fromkeys(field, 0.06),
        (1000, 3000),
        noise=0.3,
    )


def _path(x: np.ndarray, scale: float, seed: int, kernel: str = "matern32") -> np.ndarray:
    """A draw of a process of sd 1 at inputs (n,) or (n, d)."""
    r = cdist(x.reshape(len(x), -1), x.reshape(len(x), -1)) / scale
    root = np.sqrt(3.0) * r
    K = (np.exp(-r) if kernel == "matern12" else (1.0 + root) * np.exp(-root)) + 1e-9 * np.eye(len(x))
    return np.linalg.cholesky(K) @ np.random.default_rng(seed).normal(size=len(x))


def draw(problem: Problem, n: int, seed: int) -> tuple[pd.DataFrame, str, np.ndarray]:
    """Rows, the whole formula, and the true function in the rows."""
    rng = np.random.default_rng([n, seed, 21])
    d = {name: rng.uniform(size=n) for name in "xzv"}
    d |= {"u": rng.beta(1.0, 3.0, n), "g": rng.integers(0, 3, n).astype(float)}
    f = problem.f(d)
    e = {
        "student": lambda: rng.standard_t(4, n),
        "weibull": lambda: np.log(rng.exponential(size=n)),
    }.get(problem.family, lambda: rng.normal(size=n))()
    y = f + problem.noise * e
    frame = pd.DataFrame(d | {"g": np.array(list("abc"))[d["g"].astype(int)]})
    right, term = problem.side == "right", problem.formula
    limit = np.quantile(y, 1.0 - problem.censored if right else problem.censored)
    if problem.family in ("lognormal", "weibull"):
        limits = limit + rng.normal(size=n)
        frame["time"], frame["event"] = np.exp(np.minimum(y, limits)), y <= limits
        return frame, term.replace("y ~", "Surv(time, event) ~"), f
    frame["y"], frame["limit"] = (np.minimum if right else np.maximum)(y, limit), limit
    return frame, f"{term} | censor(limit)" if problem.censored else term, f


def thorough(problem: Problem, frame: pd.DataFrame, formula: str, n: int) -> float:
    """The highest of climbs on all rows from the truth and, on few rows, from a grid."""
    starts = [problem.truth]
    if n <= FEW_ROWS:
        for name in problem.truth:
            column = name.partition("[")[2].rstrip("]") or name.partition("gp(")[2][0]
            starts += [{name: value * float(frame[column].std())} for value in GRID]
    return max(fit(frame, formula, family=problem.family, start=start)[1] for start in starts)


def run(problem: Problem, n: int, seed: int, default_only: bool) -> dict[str, Any]:
    """Return a row of the table."""
    frame, formula, f = draw(problem, n, seed)
    began = time.process_time()
    res, value = fit(frame, formula, family=problem.family)
    seconds = time.process_time() - began
    band = res.predict(None, "latent", interval=0.95)
    covered = float(np.mean((band["lower"] < f) & (f < band["upper"])))
    row = {"problem": problem.name, "n": n, "seed": seed, "seconds": seconds, "value": value, "coverage": covered}
    return row if default_only else row | {"best": max(value, thorough(problem, frame, formula, n))}


def main() -> None:
    """Run the battery and write the table."""
    options = arguments(__doc__, OUT)
    runs = (
        partial(run, problem, n, seed, options.default_only)
        for problem in problems()
        for n in problem.sizes * (options.named in problem.name)
        for seed in range(1, problem.seeds + 1)
    )
    tabulate(runs, ["problem", "n", "seed"], options)


if __name__ == "__main__":
    main()
