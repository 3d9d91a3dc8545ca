"""Default searches for spline hazards beside the best of many starts: ``python -m benchmarks.hazard_maxima``.

Small data sets with late entry, intervals, ties and few events, three links, one to five degrees of freedom. The other
starts are the default end and its nested models moved at random, each followed to its own maximum.
"""

from __future__ import annotations

import sys
import time
import warnings

import numpy as np
import pandas as pd

import tobitgp as tg

BELOW = 0.01  # nats
KINDS = ("right", "ties", "late", "late, old", "late, ties", "intervals", "intervals, late")
LINKS = ("hazard", "odds", "probit")


def rows(kind: str, seed: int) -> pd.DataFrame:
    """A small data set."""
    rng = np.random.default_rng(seed)
    n, shape = int(rng.integers(25, 90)), float(rng.uniform(0.6, 3.0))
    x = rng.integers(0, 2, n)
    begin = rng.uniform(30.0, 70.0, n) if "old" in kind else rng.uniform(0.0, 6.0, n) * ("late" in kind)
    scale = 60.0 if "old" in kind else 8.0
    rate = np.exp(0.5 * x) / scale**shape
    time = (begin**shape + rng.exponential(size=n) / rate) ** (1.0 / shape)
    stop = np.minimum(time, begin + rng.uniform(0.2, 1.2, n) * scale)
    if "ties" in kind:
        stop = np.ceil(stop + 1e-9) + (np.ceil(stop) <= begin)
    seen, width = time <= stop, rng.uniform(0.1, 0.6, n) * scale
    low = np.where(seen & ("intervals" in kind), np.maximum(stop - width * rng.uniform(size=n), begin), stop)
    high = np.where(seen, low + width * ("intervals" in kind), np.inf)
    return pd.DataFrame({"begin": begin, "low": low, "high": high, "x": x})


def log_likelihood(data: pd.DataFrame, family: tg.PH, start: dict[str, float] | None = None) -> tuple[float, pd.Series]:
    """Return the log-likelihood of the fit, and its parameters."""
    late = (data["begin"] > 0.0).any()
    formula = "interval(low, high) ~ x" + " | truncate(begin)" * bool(late)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        res = tg.fit(formula, data, family=family, start=start)
    return float(res.llf), res.params


def other_starts(params: pd.Series, number: int, rng: np.random.Generator) -> list[dict[str, float]]:
    """Parameters moved at random, the level and the slope in log time most."""
    found = []
    for _ in range(number):
        moved = params.to_numpy() * rng.choice([1.0, 0.3, 0.0], len(params)) + rng.normal(size=len(params)) * 0.1
        start = dict(zip(params.index, moved, strict=True))
        slope = float(np.exp(rng.normal(0.0, 1.5)))
        start["gamma1"] = slope
        start["Intercept"] = float(rng.uniform(-4.0, 5.0)) - slope * float(rng.uniform(1.0, 4.5))
        start |= {name: 0.0 for name in params.index if name[:5] == "gamma" and name != "gamma1"}
        found.append(start)
    return found


def main(sets: int = 3, starts: int = 12) -> pd.DataFrame:
    """A row for each kind and link: fits, those below the best, the largest loss in nats, seconds of a fit."""
    table = []
    for kind in KINDS:
        for link in LINKS:
            losses, seconds = [], 0.0
            for seed in range(sets):
                data, family = rows(kind, seed), tg.PH("spline", df=1 + (seed + len(table)) % 5, link=link)
                begin = time.process_time()
                try:
                    value, params = log_likelihood(data, family)
                except tg.errors.TobitGPError:
                    continue
                seconds += time.process_time() - begin
                losses.append(max(0.0, best_of(data, family, params, starts) - value))
            below = int((np.array(losses) > BELOW).sum())
            table.append((kind, link, len(losses), below, max(losses, default=0.0), seconds / max(len(losses), 1)))
    return pd.DataFrame(table, columns=["rows", "link", "fits", "below", "largest loss", "seconds"])


def best_of(data: pd.DataFrame, family: tg.PH, params: pd.Series, starts: int) -> float:
    """The highest log likelihood of searches from other starts."""
    values: list[float] = [-np.inf]
    for start in other_starts(params, starts, np.random.default_rng(len(data))):
        try:
            values.append(log_likelihood(data, family, start)[0])
        except tg.errors.TobitGPError:
            continue
    return max(values)


if __name__ == "__main__":
    found = main(*map(int, sys.argv[1:]))
    print(found.to_string(index=False, float_format=lambda value: f"{value:.3f}"))
    print(f"{found['below'].sum()} of {found['fits'].sum()} fits more than {BELOW} nats below the best")
