"""WRTDS (Hirsch, Moyer and Archfield, 2010): a weighted censored regression at each point of time and discharge.

What flow-normalised trends are compared with; windows, weights and edges as in EGRET 3.0.12.
"""

from __future__ import annotations

import warnings
from typing import NamedTuple

import numpy as np
import pandas as pd

import tobitgp as tg
from tobitgp.typing import Array

YEARS, LOG_Q, SEASON = 7.0, 2.0, 0.5  # half-widths of the windows
MIN_ROWS, MIN_DETECTS = 100, 50
FORMULA = "interval(lower, upper) ~ t + log_q + sin(2 * pi * t) + cos(2 * pi * t)"


class Point(NamedTuple):
    """The regression at a point."""

    location: float  # of log concentration
    scale: float

    @property
    def mean(self) -> float:
        """Expected concentration."""
        return float(np.exp(self.location + self.scale**2 / 2.0))


def tricube(distance: Array, width: float) -> Array:
    """Weights that fall from 1 to 0 at a width."""
    return np.maximum(1.0 - np.abs(distance / width) ** 3, 0.0) ** 3


def weights_at(samples: pd.DataFrame, t: float, log_q: float, *, edge: bool = True) -> Array:
    """Weights (n,) of samples with columns ``t, log_q, detected`` at a point, of mean 1 where they are not 0."""
    years = np.abs(samples["t"].to_numpy() - t)
    season = np.minimum(np.ceil(years) - years, years - np.floor(years))
    flow = samples["log_q"].to_numpy() - log_q
    seen = samples["detected"].to_numpy() == 1
    distance = min(t - samples.attrs["start"], samples.attrs["end"] - t)
    widths = np.array([2 * YEARS - distance if edge and distance < YEARS else YEARS, LOG_Q, SEASON])
    while True:
        weight = tricube(years, widths[0]) * tricube(flow, widths[1]) * tricube(season, min(widths[2], SEASON))
        used = weight > 0.0
        if used.sum() >= MIN_ROWS and (used & seen).sum() >= MIN_DETECTS:
            return weight / weight[used].mean()
        widths = widths * 1.1


def fit_at(samples: pd.DataFrame, t: float, log_q: float, *, edge: bool = True) -> Point:
    """Fit samples with columns ``t, log_q, detected`` and ends ``lower, upper`` of log concentration at a point."""
    weight = weights_at(samples, t, log_q, edge=edge)
    used = weight > 0.0
    rows = samples[used]
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "[0-9]+ weights are not whole numbers")  # they are no numbers of copies
        res = tg.fit(FORMULA, rows, family="gaussian", weights=weight[used])
    location = res.predict({"t": [t], "log_q": [log_q]}, what="latent", interval=None)
    return Point(float(np.asarray(location).ravel()[0]), float(res.params["sigma"]))


def read_samples(path: str) -> pd.DataFrame:
    """Samples of EGRET as `fit_at` takes them."""
    table = pd.read_csv(path, parse_dates=["date"])
    return as_samples(table["dec_year"], table["log_q"], table["conc_low"], table["conc_high"])


def as_samples(t: Array, log_q: Array, low: Array, high: Array) -> pd.DataFrame:
    """Samples (n,) as `fit_at` takes them: concentrations between two ends, the lower missing for non-detects."""
    low, high = np.asarray(low, dtype=float), np.asarray(high, dtype=float)
    lower = np.where(np.isnan(low), -np.inf, np.log(np.where(np.isnan(low), 1.0, low)))
    table = pd.DataFrame(
        {"t": t, "log_q": log_q, "lower": lower, "upper": np.log(high), "detected": lower == np.log(high)}
    )
    table.attrs |= {"start": table["t"].min(), "end": table["t"].max()}
    return table
