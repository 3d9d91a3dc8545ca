"""Coverage of what is said of hazards, with smooth effects, late entry and a baseline that no family has."""

import warnings

import numpy as np
import pandas as pd
import pytest

import tobitgp as tg

TIMES = np.array([0.3, 0.8, 1.5])
ROWS = pd.DataFrame({"x": [0.2, 0.5, 0.8], "z": [0.0, 1.0, -1.0]})
GRID = np.linspace(0.0, 3.0, 3001)


def baseline(t):
    """A hazard that rises, falls and rises again."""
    return 0.5 + np.exp(-0.5 * ((t - 0.6) / 0.25) ** 2) + 0.15 * t**2


def effect(x):
    return np.sin(2.0 * np.pi * x)


CUMULATIVE = np.concatenate([[0.0], np.cumsum(0.5 * (baseline(GRID[1:]) + baseline(GRID[:-1]))) * GRID[1]])


def simulate(rng, n=300):
    x, z = rng.uniform(size=n), rng.normal(size=n)
    entry = np.where(rng.random(n) < 0.2, rng.uniform(0.0, 0.5, n), 0.0)
    level = np.exp(effect(x) + 0.5 * z)
    goal = np.interp(entry, GRID, CUMULATIVE) + rng.exponential(size=n) / level
    time = np.interp(goal, CUMULATIVE, GRID, right=9.0)
    end = np.minimum(time, np.maximum(rng.uniform(0.8, 3.0, n), entry + 0.05))
    return pd.DataFrame({"a": entry, "t": end, "d": (time == end).astype(int), "x": x, "z": z})


@pytest.mark.study
def test_coverage_of_hazards_and_of_survival():
    inside = {"z": [], "curve": [], "survival": [], "hazard": []}
    level = np.exp(effect(ROWS["x"]) + 0.5 * ROWS["z"]).to_numpy()
    S, h = np.exp(-level * np.interp(TIMES, GRID, CUMULATIVE)[:, None]), level * baseline(TIMES)[:, None]
    for seed in range(100):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            res = tg.fit("Surv(a, t, d) ~ gp(x) + z", simulate(np.random.default_rng(seed)), family="ph")
        low, high = res.conf_int().loc["z"]
        inside["z"].append(low < 0.5 < high)
        ratios = res.hazard_ratios(at={"x": [0.25, 0.75, 1.0]}, reference={"x": 0.5})
        truth = np.exp(effect(np.array([0.25, 0.75, 1.0])) - effect(0.5))
        inside["curve"] += list((ratios["lower"] < truth) & (truth < ratios["upper"]))
        for name, ask, true in (("survival", "survival_function", S), ("hazard", "hazard", h)):
            band = getattr(res, f"predict_{ask}")(ROWS, TIMES, interval=0.95)
            low, high = (band.xs(end, axis=1, level=1).to_numpy() for end in ("lower", "upper"))
            inside[name] += list(((low < true) & (true < high)).ravel())
    share = {name: float(np.mean(values)) for name, values in inside.items()}
    print(share)
    assert 0.88 <= share["z"] <= 0.99
    for name in ("curve", "survival", "hazard"):
        assert 0.92 <= share[name] <= 0.985, share
