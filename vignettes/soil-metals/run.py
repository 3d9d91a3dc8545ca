"""Compute the tables of this page from soils of Colorado: `python vignettes/soil-metals/run.py`.

The script writes them next to itself, in about 20 minutes. `tg.datasets.fetch` downloads the data. All seeds are
fixed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.special import log_ndtr, logsumexp

import tobitgp as tg

sys.path.insert(0, str(Path(__file__).parents[1]))

from papers import write  # in the folder above

UNITS = {  # of the last digit that the laboratory reports, mg/kg
    "antimony": 0.01,
    "arsenic": 1,
    "bismuth": 0.01,
    "cadmium": 0.1,
    "copper": 0.1,
    "indium": 0.01,
    "lead": 0.1,
    "zinc": 1,
}
NAMES = list(UNITS)
RAISED, MISSING = 0.3, 0.1  # quantile that is the raised limit, share of values that are hidden whatever they are
SAMPLES = {80: 12, 240: 4}  # samples of the survey without common rows, by their size
DRAWS = 100

LEFT = f"mvbind({', '.join(f'log({name})' for name in NAMES)})"
CENSOR = f"censor({', '.join(f'log({name}_limit)' for name in NAMES)})"


def survey() -> pd.DataFrame:
    """Return the elements and their limits. Where an element was detected, its limit is half of the value."""
    data = tg.datasets.fetch("colorado_soils")
    for name in NAMES:
        below = data.get(f"{name}_censored", 0) == 1
        data[f"{name}_limit"] = np.where(below, data[name], data[name] / 2)
    return data


@cache
def whole(dimensions: int) -> Any:
    """Fit all soils."""
    method = tg.VI(bound="local", inducing=40, n_starts=4)
    return tg.fit(f"{LEFT} ~ gp(latent({dimensions})) | {CENSOR}", survey(), method=method, rng=1)


# -- the map ----------------------------------------------------------------------------------------------------------


def map_rows() -> Iterator[dict[str, Any]]:
    """Yield a row for each soil: its coordinates, and the number of elements that were not detected."""
    data, found = survey(), whole(2).latent()
    absent = sum((data[name] <= data[f"{name}_limit"]).astype(int) for name in NAMES)
    for number, (_, row) in zip(absent, found.iterrows(), strict=True):
        yield {"first": row[1, "estimate"], "second": row[2, "estimate"], "not_detected": number}


def cells() -> Iterator[dict[str, Any]]:
    """Yield means of the coordinates in cells of half a degree by half a degree."""
    data, found = survey(), whole(2).latent()
    places = {name: np.floor(2 * data[name]) / 2 + 0.25 for name in ("lon", "lat")}
    table = pd.DataFrame({**places, "first": found[1, "estimate"], "second": found[2, "estimate"], "soils": 1})
    means = table.groupby(["lat", "lon"]).agg({"first": "mean", "second": "mean", "soils": "sum"})
    yield from means.reset_index().to_dict("records")


def profiles() -> Iterator[dict[str, Any]]:
    """Yield a row for each element: its correlations with the coordinates, and the noise share of its variance."""
    data, res = survey(), whole(2)
    imputed, found = res.impute(), res.latent()
    for name in NAMES:
        y = imputed[f"log({name})"]
        level, first, second = (np.asarray(y), *(np.asarray(found[q, "estimate"]) for q in (1, 2)))
        yield {
            "element": name,
            "not_detected": int((data[name] <= data[f"{name}_limit"]).sum()),
            "correlation_1": np.corrcoef(level, first)[0, 1],
            "correlation_2": np.corrcoef(level, second)[0, 1],
            "noise_share": res.params[f"sigma[log({name})]"] ** 2 / level.var(),
        }


def relevance() -> Iterator[dict[str, Any]]:
    """Yield a row for each dimension of fits with one to four dimensions, with the bound."""
    for dimensions in (1, 2, 3, 4):
        res = whole(dimensions)
        for dimension, row in res.relevance().iterrows():
            yield {"dimensions": dimensions, "bound": res.elbo, "dimension": dimension, **row}


# -- values that are held out -----------------------------------------------------------------------------------------


class Predicted:
    """Mixtures of C normal distributions on the log scale for n rows, (C, n), truncated above at limits (n,)."""

    def __init__(self, weight: Any, mean: Any, sd: Any, limit: Any = np.inf):
        log_weight = np.log(weight) + log_ndtr((limit - mean) / sd)
        self.log_total = logsumexp(log_weight, axis=0)
        self.share, self.mean, self.sd, self.limit = np.exp(log_weight - self.log_total), mean, sd, limit

    def log_probability(self, lower: Any, upper: Any) -> Any:
        """Return the log probability of an interval below the limits."""
        low, high = ((np.minimum(end, self.limit) - self.mean) / self.sd for end in (lower, upper))
        outside = log_ndtr((self.limit - self.mean) / self.sd)
        flip = low > 0  # the shorter tail has the digits
        a, b = np.where(flip, -high, low), np.where(flip, -low, high)
        inside = log_ndtr(b) + np.log1p(-np.exp(np.minimum(log_ndtr(a) - log_ndtr(b), -1e-12)))
        return logsumexp(inside - outside, b=self.share, axis=0)

    def expectation(self) -> Any:
        """Return the expectation of the value, given that it is below the limit."""
        z = (self.limit - self.mean) / self.sd
        ratio = np.exp(-0.5 * z**2 - log_ndtr(z)) / np.sqrt(2 * np.pi)
        return np.sum(self.share * (self.mean - self.sd * ratio), axis=0)

    def cdf(self, value: Any) -> Any:
        """Return the distribution function at values below the limits."""
        z, end = (value - self.mean) / self.sd, (self.limit - self.mean) / self.sd
        return np.sum(self.share * np.exp(log_ndtr(z) - log_ndtr(end)), axis=0)


def of_coordinates(data: pd.DataFrame, name: str, res: Any) -> Any:
    """Predict an element from the other elements of the row with latent coordinates."""
    y = res[f"log({name})"].get_distribution(data.assign(**{name: np.nan}))
    return np.ones((1, 1)), np.asarray(y.mean())[None], np.asarray(y.std())[None]


def of_normals(data: pd.DataFrame, name: str, res: Any) -> Any:
    """Predict an element from the other elements with normal vectors; unknown elements are drawn."""
    own, others = NAMES.index(name), [j for j, other in enumerate(NAMES) if other != name]
    drawn = res.sample(data.assign(**{name: np.nan}), DRAWS, what="conditional", rng=1)[..., others]
    covariances = res.covariances.to_numpy().reshape(-1, len(NAMES), len(NAMES))
    log_weight, mean, sd = [], [], []
    for weight, m, V in zip(res.weights, res.means.to_numpy(), covariances, strict=True):
        L = np.linalg.cholesky(V[np.ix_(others, others)])
        a = np.linalg.solve(L, V[others, own])
        z = np.linalg.solve(L, (drawn - m[others]).reshape(-1, len(others)).T)
        log_weight.append(np.log(weight) - np.log(np.diag(L)).sum() - 0.5 * (z**2).sum(axis=0))
        mean.append(m[own] + a @ z)
        sd.append(np.full(z.shape[1], np.sqrt(V[own, own] - a @ a)))
    share = np.exp(np.array(log_weight) - logsumexp(log_weight, axis=0)) / DRAWS
    return tuple(np.reshape(each, (-1, len(data))) for each in (share, mean, sd))


def of_one_element(data: pd.DataFrame, name: str, fits: Any) -> Any:
    """Predict an element without the others."""
    found = fits[name].params
    return np.ones((1, 1)), np.full((1, len(data)), found["Intercept"]), np.full((1, len(data)), found["sigma"])


def of_regression(data: pd.DataFrame, name: str, filled: pd.DataFrame) -> Any:
    """Predict an element by linear regression on the others; a missing element is replaced by its mean."""
    H = np.column_stack([np.ones(len(data)), filled.drop(columns=name).fillna(filled.mean())])
    known = filled[name].notna().to_numpy()
    beta, *_ = np.linalg.lstsq(H[known], filled.loc[known, name])
    sd = np.sqrt(np.sum((filled.loc[known, name] - H[known] @ beta) ** 2) / (known.sum() - H.shape[1]))
    return np.ones((1, 1)), (H @ beta)[None], np.full((1, len(data)), sd)


def latent(dimensions: int) -> Callable[[pd.DataFrame], Any]:
    """Return a function that fits latent coordinates, with the function that predicts an element."""
    formula = f"{LEFT} ~ gp(latent({dimensions})) | {CENSOR}"
    return lambda data: (of_coordinates, tg.fit(formula, data, rng=1))


def normal(components: int) -> Callable[[pd.DataFrame], Any]:
    """Return a function that fits a mixture, with the function that predicts an element."""
    formula = f"{LEFT} ~ mixture({components}) | {CENSOR}"
    return lambda data: (of_normals, tg.fit(formula, data, method=tg.EMCM(n_init=3), rng=1))


def alone(data: pd.DataFrame) -> Any:
    """Fit each element alone."""
    known = {name: data[data[name].notna()] for name in NAMES}
    return of_one_element, {
        name: tg.fit(f"log({name}) ~ 1 | censor(log({name}_limit))", rows) for name, rows in known.items()
    }


def halves(data: pd.DataFrame) -> Any:
    """Return logarithms in which values below a limit are half of it."""
    below = {name: data[name] <= data[f"{name}_limit"] for name in NAMES}
    return of_regression, pd.DataFrame({name: np.log(data[name].mask(below[name], data[name] / 2)) for name in NAMES})


METHODS: dict[str, Callable[..., Any]] = {
    "latent(1)": latent(1),
    "latent(2)": latent(2),
    "latent(3)": latent(3),
    "mixture(1)": normal(1),
    "mixture(2)": normal(2),
    "each alone": alone,
    "regression on halves": halves,
}
FEWEST_ROWS = {"mixture(2)": 200}  # a component has 44 parameters


def sample(data: pd.DataFrame, rows: Any, rng: np.random.Generator) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return a sample with raised limits and a tenth of its values missing, and the same rows unchanged."""
    truth = data.iloc[rows].reset_index(drop=True)
    seen = truth.copy()
    for name, unit in UNITS.items():
        limit = data[name].quantile(RAISED) + unit / 2
        seen[name] = np.maximum(truth[name], limit).mask(rng.random(len(truth)) < MISSING)
        seen[f"{name}_limit"] = limit
    return seen, truth


def scored(method: Callable[..., Any], seen: pd.DataFrame, truth: pd.DataFrame) -> pd.DataFrame:
    """Return log score, error and coverage for each value that is held out."""
    predict, fit = method(seen)
    parts = []
    for name, unit in UNITS.items():
        absent = truth[name] <= truth[f"{name}_limit"]
        missing, limit = seen[name].isna(), np.log(seen[f"{name}_limit"])
        y = Predicted(*predict(seen, name, fit), limit=limit.where(~missing, np.inf).to_numpy())
        lower, upper = truth[name] - unit / 2, truth[name] + unit / 2
        lower, upper = np.log(lower.mask(absent, 1e-9)), np.log(upper.mask(absent, truth[name]))
        u = y.cdf(np.log(truth[name].to_numpy()))
        kind = np.select([missing, seen[name] <= seen[f"{name}_limit"]], ["missing", "below the raised limit"], "")
        table = {
            "held_out": np.where((kind != "") & ~missing & absent, "not detected", kind),
            "log_score": y.log_probability(lower.to_numpy(), upper.to_numpy()),
            "error": (np.log(truth[name]) - y.expectation()).mask(absent),
            "error_of_half": (np.log(truth[name]) - limit + np.log(2)).mask(absent | missing),
            "inside": pd.Series((u > 0.025) & (u < 0.975), dtype=float).mask(absent),
        }
        parts.append(pd.DataFrame(table)[kind != ""])
    return pd.concat(parts)


def scores() -> Iterator[dict[str, Any]]:
    """Yield means over the held-out values of a sample, by method and by kind of value."""
    data = survey()
    for size, number in SAMPLES.items():
        rng = np.random.default_rng(size)
        for part, rows in enumerate(np.array_split(rng.permutation(len(data)), number)):
            seen, truth = sample(data, rows, rng)
            for name, method in METHODS.items():
                if size < FEWEST_ROWS.get(name, 0):
                    continue
                for why, table in scored(method, seen, truth).groupby("held_out"):
                    about = {"size": size, "sample": part + 1, "held_out": why, "values": len(table)}
                    yield {**about, "method": name, **summary(table["error"]), **means(table)}
                    if name == "each alone":
                        yield {**about, "method": "half the limit", **summary(table["error_of_half"])}


def summary(error: Any) -> dict[str, float]:
    """Return RMSE and mean absolute error on the log scale."""
    return {"rmse": np.sqrt((error**2).mean()), "mean_absolute": error.abs().mean()}


def means(table: pd.DataFrame) -> dict[str, float]:
    """Return the mean log score and the coverage of 95% intervals."""
    return {"log_score": table["log_score"].mean(), "coverage": table["inside"].mean()}


TABLES = {"map": map_rows, "cells": cells, "profiles": profiles, "relevance": relevance, "scores": scores}

if __name__ == "__main__":
    write(TABLES, __file__, __doc__)
