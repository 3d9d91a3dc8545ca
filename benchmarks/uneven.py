"""``python -m benchmarks.uneven``: the battery of search.py for inputs that are not spread evenly, and for periods.

Each data set is fitted as it comes, and from a grid of length-scales (or periods) with much and with little noise, all
of it climbed on all rows; the file has how far below the best of these the default ends. ``--before FILE`` joins the
values of an older version, run as ``PYTHONPATH=old:. python benchmarks/uneven.py --default-only --out FILE``, where
``old`` is a folder with that package alone.
"""

from __future__ import annotations

import itertools
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

import numpy as np
import pandas as pd

import tobitgp as tg
from benchmarks.battery import FAR, Columns, arguments, fit, tabulate
from tobitgp.inference import search

OUT = Path("docs") / "trust" / "uneven.csv"
GRID = 8  # length-scales, from three times the usual distance of neighbours to the range
NOISES = (0.15, 0.7)  # of the sd of the response
Generator = np.random.Generator


class Set(NamedTuple):
    """Inputs, a true function of them, and the formula of the fit."""

    name: str
    inputs: Callable[[Generator], Columns]
    f: Callable[[Columns], np.ndarray]
    formula: str = "y ~ gp(x)"
    noise: float = 0.3
    censored: float = 0.0
    starts: tuple[dict[str, float], ...] = ()  # beside the grid


def bursts(days: int, span: int, per_day: int) -> Callable[[Generator], Columns]:
    """Hours of some days."""

    def draw(rng: Generator) -> Columns:
        day = np.sort(rng.choice(span, days, replace=False))
        return {"x": (24.0 * day[:, None] + 24.0 / per_day * np.arange(per_day)).ravel()}

    return draw


def clusters(centres: Callable[[Generator], np.ndarray], width: float, each: int) -> Callable[[Generator], Columns]:
    """Uniform rows beyond each centre."""
    return lambda rng: {"x": (centres(rng)[:, None] + rng.uniform(0, width, (len(centres(rng)), each))).ravel()}


def along(draw: Callable[[Generator], np.ndarray]) -> Callable[[Generator], Columns]:
    """Make a frame of one input."""
    return lambda rng: {"x": draw(rng)}


def wave(period: float, name: str = "x") -> Callable[[Columns], np.ndarray]:
    """A sinusoid."""
    return lambda d: np.sin(2 * np.pi * d[name] / period)


def log_wave(d: Columns) -> np.ndarray:
    """Short waves where inputs are dense, long ones elsewhere."""
    return np.sin(2.0 * np.log(d["x"]))


def peak(at: float, width: float) -> Callable[[Columns], np.ndarray]:
    """A bump."""
    return lambda d: 2.0 * np.exp(-(((d["x"] - at) / width) ** 2))


def stations(rng: Generator) -> Columns:
    """Places in a plane with 15 rows around each, far apart beside that."""
    at = rng.uniform(0, 1000, (20, 1, 2)) + rng.uniform(0, 5, (20, 15, 2))
    return dict(zip("xz", at.reshape(-1, 2).T, strict=True))


def sets() -> Iterator[Set]:
    """Bursts, campaigns, clusters, logarithmic and heavy-tailed inputs, outliers, two scales, and periods."""
    year = bursts(24, 365, 24)
    for kernel in ("rbf", "matern12", "matern32", "matern52", "rq"):
        yield Set(f"hourly on 24 days of a year, {kernel}", year, wave(24.0), f"y ~ gp(x, kernel={kernel!r})")
    yield Set("the same, weak", year, lambda d: 0.5 * wave(24.0)(d), noise=1.0)
    yield Set("the same, half censored", year, wave(24.0), censored=0.5)
    yield Set("the same beside a trend", year, lambda d: wave(24.0)(d) + 2e-4 * d["x"], "y ~ x + gp(x)")
    yield Set("the same and a season", year, lambda d: wave(24.0)(d) + wave(8760.0)(d), "y ~ gp(x, name='a') + gp(x)")
    yield Set("10 days, every 2 hours", bursts(10, 365, 12), wave(24.0))
    yield Set("60 days, every 4 hours", bursts(60, 1000, 6), wave(24.0))
    yield Set("three years, 40 days, hourly", bursts(40, 1100, 24), wave(12.0))
    campaigns = clusters(lambda rng: 400.0 * np.arange(6), 10.0, 40)
    yield Set("six campaigns", campaigns, wave(6.0))
    yield Set("six campaigns, slow", campaigns, wave(1500.0))
    yield Set("six campaigns, 40% censored", campaigns, wave(6.0), censored=0.4)
    yield Set("six campaigns, a line", campaigns, lambda d: 1e-3 * d["x"])
    yield Set("six campaigns, noise", campaigns, lambda d: 0.0 * d["x"])
    for apart in (20.0, 1000.0, 1e5):
        yield Set(
            f"two clusters {apart:g} apart", clusters(lambda rng, a=apart: np.array([0, a]), 10.0, 100), wave(6.3)
        )  # type: ignore[misc]
    depths = along(lambda rng: np.geomspace(0.1, 4000, 200))
    yield Set("log-spaced depths, a peak at 5", depths, peak(5.0, 3.0), noise=0.1)
    yield Set("log-spaced depths, a peak at 200", depths, peak(200.0, 100.0), noise=0.1)
    yield Set("log-spaced depths, matern32", depths, peak(5.0, 3.0), "y ~ gp(x, kernel='matern32')", noise=0.1)
    yield Set("log-spaced depths, waves", depths, log_wave)
    yield Set("log-spaced depths, waves, censored", depths, log_wave, "y ~ gp(x, kernel='matern52')", censored=0.4)
    for spread in (1.0, 2.0, 3.0):
        inputs = along(lambda rng, s=spread: rng.lognormal(0, s, 400))  # type: ignore[misc]
        yield Set(f"log-normal inputs, sd {spread:g}", inputs, lambda d: np.sin(3 * d["x"]))
    heavy = along(lambda rng: rng.standard_cauchy(300))
    yield Set("Cauchy inputs", heavy, lambda d: np.sin(2 * d["x"]))
    yield Set("Cauchy inputs, 40% censored", heavy, lambda d: np.sin(2 * d["x"]), censored=0.4)
    yield Set("gamma inputs", along(lambda rng: rng.gamma(0.3, 10.0, 300)), lambda d: np.sin(4 * np.sqrt(d["x"])))
    for far in (100.0, 9999.0, 1e6):
        inputs = along(lambda rng, v=far: np.r_[rng.uniform(0, 10, 200), v])  # type: ignore[misc]
        yield Set(f"one row at {far:g} beside 200 on [0, 10]", inputs, lambda d: np.sin(d["x"]))
    three = along(lambda rng: np.r_[rng.uniform(0, 10, 150), 500.0, 800.0, 3000.0])
    yield Set("three rows far out", three, lambda d: np.sin(2 * d["x"]))
    dense = along(lambda rng: np.r_[rng.uniform(0, 1, 300), rng.uniform(0, 100, 100)])
    yield Set("two scales, a fast wave", dense, lambda d: np.sin(30 * d["x"]) * (d["x"] < 1))
    yield Set("two scales, a slow wave", dense, wave(60.0))
    yield Set(
        "two scales, both waves",
        dense,
        lambda d: 0.5 * np.sin(30 * d["x"]) + wave(60.0)(d),
        "y ~ gp(x, name='a') + gp(x)",
    )
    yield Set("stations in a plane", stations, lambda d: np.sin(1.5 * d["x"]) + np.cos(1.5 * d["z"]), "y ~ gp(x, z)")
    yield Set("stations in a plane, one length", stations, lambda d: np.sin(d["x"]), "y ~ gp(x, z, ard=False)")
    yield from periodic_sets()


def periodic_sets() -> Iterator[Set]:
    """Periods over few cycles and many, in even and uneven rows."""
    own = "y ~ gp(x, kernel='periodic')"
    monthly = along(lambda rng: np.arange(468) / 12.0)
    season = "y ~ x + gp(x, name='trend') + gp(x, kernel='periodic', name='season')"

    def told(period: float, name: str = "gp(x)") -> tuple[dict[str, float], ...]:
        return ({f"period({name})": period}, {f"period({name})": 2 * period})

    yield Set("daily, a week", along(lambda rng: np.arange(730.0)), wave(7.0), own, starts=told(7.0))
    yield Set("daily, a week, half censored", along(lambda rng: np.arange(730.0)), wave(7.0), own, 0.5, 0.5, told(7.0))
    yield Set(
        "monthly, a year beside a trend",
        monthly,
        lambda d: 2.5 * wave(1.0)(d) - 0.8 * wave(0.5)(d) + 1.3 * d["x"] + 0.01 * d["x"] ** 2,
        season,
        starts=told(1.0, "season"),
    )
    yield Set(
        "random times, 60 cycles", along(lambda rng: rng.uniform(0, 720, 400)), wave(12.0), own, starts=told(12.0)
    )
    yield Set(
        "a pulse in each cycle",
        along(lambda rng: np.arange(600.0)),
        lambda d: 1.0 * (d["x"] % 12 < 2),
        own,
        starts=told(12.0),
    )
    yield Set("hourly on 24 days, a day", bursts(24, 365, 24), wave(24.0), own, starts=told(24.0))
    yield Set("log-normal times", along(lambda rng: rng.lognormal(1, 1, 300)), wave(1.5), own, starts=told(1.5))


def draw(each: Set, seed: int = 1) -> tuple[pd.DataFrame, str]:
    """Rows and the whole formula."""
    rng = np.random.default_rng([seed, 45])
    d = each.inputs(rng)
    y = each.f(d) + each.noise * rng.normal(size=len(d["x"]))
    if not each.censored:
        return pd.DataFrame(d | {"y": y}), each.formula
    limit = float(np.quantile(y, each.censored))
    return pd.DataFrame(d | {"y": np.maximum(y, limit), "limit": limit}), f"{each.formula} | censor(limit)"


def thorough(each: Set, frame: pd.DataFrame, formula: str, names: list[str]) -> float:
    """The highest of climbs from all length-scales, in formulas of two of the same input each on its own."""
    x = np.unique(frame["x"])
    scales = np.geomspace(3.0 * np.quantile(np.diff(x), 0.3), np.ptp(x), GRID)
    found = [own for own in names if own.startswith("lengthscale")]
    period = any(own.startswith("period") for own in names)
    starts = list(each.starts)
    if not period:
        several = [dict.fromkeys(found, scale) for scale in scales]
        several += [
            dict(zip(found, pair, strict=True))
            for pair in itertools.combinations(scales[::2], len(found))
            if len(found) == 2
        ]
        starts += [own | {"sigma": noise * float(frame["y"].std())} for own in several for noise in NOISES]
    values = []
    for start in starts:
        try:
            values.append(fit(frame, formula, start=start)[1])
        except tg.errors.TobitGPError:
            continue
    return max(values, default=-np.inf)


def doubted(res: Any) -> bool:
    """Return whether `check()` reports a possible higher maximum or a missing component."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return bool(res.check().table["verdict"].get("structure", "good") != "good")


def switched_off(frame: pd.DataFrame, formula: str) -> tuple[Any, float]:
    """A fit without screening, and without starts from the distances of neighbours."""
    with (
        mock.patch.object(search.Search, "_screen", lambda self, maximum: maximum),
        mock.patch.object(search, "log_scales", return_value=[]),
    ):
        return fit(frame, formula)


def run(each: Set, default_only: bool) -> dict[str, Any]:
    """Return a row of the table."""
    frame, formula = draw(each)
    began = time.process_time()
    res, value = fit(frame, formula)
    row = {"set": each.name, "n": len(frame), "seconds": time.process_time() - began, "value": value}
    if default_only:
        return row
    best = max(value, thorough(each, frame, formula, list(res.params.index)))
    plain, without = switched_off(frame, formula)
    return row | {"doubted": doubted(res), "best": best, "value_off": without, "doubted_off": doubted(plain)}


def main() -> None:
    """Run the battery and write the table."""
    options = arguments(__doc__, OUT)
    runs = (partial(run, each, options.default_only) for each in sets() if options.named in each.name)
    table = tabulate(runs, ["set"], options)
    if not options.default_only:
        missed = table["best"] - table["value_off"] > FAR
        told = (missed & table["doubted_off"]).sum()
        print(f"With the search switched off {missed.sum()} are missed, and check() doubts {told} of these.")


if __name__ == "__main__":
    main()
