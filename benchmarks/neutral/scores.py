"""Scores of held-out rows."""

from __future__ import annotations

import numpy as np
import pandas as pd

import tobitgp as tg
from benchmarks.neutral.methods import Fitted
from tobitgp.metrics.survival_curves import read_judged

TIMES = 50
QUANTILES = (0.1, 0.8)  # of the training rows' event times: from when to when scores are integrated
LEAST = 1e-3  # of a probability whose logarithm is taken


def scores(fitted: Fitted, train: pd.DataFrame, test: pd.DataFrame) -> dict[str, float]:
    """Integrated Brier score and log loss, mean log density, and concordance of the mean survival."""
    times = np.linspace(*np.quantile(train.loc[train["event"] == 1, "time"], QUANTILES), TIMES)
    times = times[times < test["time"].max()]
    curves = pd.DataFrame(fitted.survival(test, times), index=times)
    pairs = [(rows["time"], rows["event"]) for rows in (train, test)]
    mean = curves.mean().to_numpy()
    upper = np.where(test["event"] == 1, test["time"], np.inf)
    return {
        "brier": tg.metrics.integrated_brier_score(*pairs, curves, times),
        "log_loss": _log_loss(*pairs, curves),
        "log_density": np.nan if fitted.log_density is None else fitted.log_density(test),
        "concordance": 0.5 if np.ptp(mean) < 1e-12 else _concordance(mean, test["time"], upper),
    }


def _concordance(mean: np.ndarray, lower: pd.Series[float], upper: np.ndarray) -> float:
    return float(tg.metrics.concordance_index(None, mean, lower=lower, upper=upper))


def _log_loss(train: tuple[object, object], test: tuple[object, object], curves: pd.DataFrame) -> float:
    """Minus the log of what was predicted of being alive or not, weighted as the Brier score is, over time."""
    how = {"entry": None, "weights": None, "landmark": None, "cause": None}
    judged = read_judged(train, test, curves, None, interpolation="linear", **how)
    rows, grid, gone = judged.rows, judged.grid, judged.event_weights()
    left = judged.censoring.weights(grid, "times holds")
    S = np.clip(judged.values, LEAST, 1.0 - LEAST)
    losses = [
        np.where(rows.case & (rows.time <= t), -np.log1p(-s), -np.log(s)) * np.where(rows.time > t, w, gone)
        for t, w, s in zip(grid, left, S, strict=True)
    ]
    heights = np.mean(losses, axis=1)
    return float(0.5 * (heights[1:] + heights[:-1]) @ np.diff(grid) / (grid[-1] - grid[0]))
