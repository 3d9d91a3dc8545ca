"""Compute the long tables of this folder: `python vignettes/basson-2023/run.py [table ...]`.

The tables are `example1`, `example2`, `starts`, `rows`, `series`, `curves` and `times`; each is written to the CSV file
of its name beside this script, and without a name all are: about ten minutes of one core. Draw number s of an example
is `tg.datasets.simulate_basson(example, rng=s)`; everything but the times is deterministic.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import statsmodels.api as sm

import tobitgp as tg

sys.path.insert(0, str(Path(__file__).parents[1]))

from papers import MAXIMISED, forrester, maximised, weak, write  # in the folder above

DRAWS, DRAWS_ROWS, DRAWS_STARTS = range(150), range(40), range(60)
STATIONS = 6
WATER = "El Niño"  # the series that is no station
SIDES = {1: ("sigma_lower",), 2: ("sigma_lower", "sigma_upper")}
FORMULA = {1: "y ~ 0 + gp(x, line=False) | censor(lower)", 2: "y ~ 0 + gp(x, line=False) | censor(lower, upper)"}
END = {1: 1.0, 2: 1.15}

LOCAL = tg.VI(bound="local")
AVERAGED = {"method": tg.EP(hyper="integrate")}  # under the priors of `weak`

Moments = tuple[np.ndarray, np.ndarray]


def fits(example: int) -> dict[str, dict]:
    """Return the options of each column of Tables 1 and 2."""
    no_side_noise = {name: 1e-6 for name in SIDES[example]}
    return {
        "LA": maximised(tg.Laplace()),
        "EP": MAXIMISED,
        "VT-GPR": maximised(tg.VI(bound="local", inducing=tg.Inducing(15))),
        "VT, no side noise": {"fixed": no_side_noise, **maximised(LOCAL)},
        "VI": maximised(tg.VI()),
        "EP averaged": AVERAGED,
        "VT averaged": {"method": tg.VI(bound="local", hyper="integrate")},
    }


def fitted(formula: str, data: pd.DataFrame, options: dict) -> Any:
    """Fit a model. Hyper-parameters that are averaged over have weak priors."""
    return tg.fit(formula, data, **options, **(weak(formula, data) if "priors" not in options else {}))


def moments(fit: Any, x: np.ndarray) -> Moments:
    """Mean and standard deviation of f."""
    frame = fit.predict({"x": x}, "latent", se=True)
    return frame["estimate"].to_numpy(), frame["se"].to_numpy()


def scores(f: np.ndarray, mean: np.ndarray, sd: np.ndarray, strata: dict[str, np.ndarray]) -> dict[str, float]:
    """Contribution of each stratum to the mean measures (their Eqs. 53 to 55), and coverage of its 99% band."""
    z = (f - mean) / sd
    losses = {"mse": (f - mean) ** 2, "mae": np.abs(f - mean), "mnll": 0.5 * np.log(2 * np.pi * sd**2) + 0.5 * z**2}
    row = {f"{name} {s}": loss[inside].sum() / f.size for s, inside in strata.items() for name, loss in losses.items()}
    return row | {f"cover {s}": np.mean(np.abs(z[inside]) < 2.5758) for s, inside in strata.items() if inside.any()}


def problem(example: int, draw: int) -> tuple[pd.DataFrame, np.ndarray, np.ndarray, dict[str, np.ndarray]]:
    """Data, a grid, the truth there and where it lies with respect to the limits."""
    data = tg.datasets.simulate_basson(example, rng=draw)
    x = np.linspace(0, END[example], 201)
    f = forrester(x)
    lower, upper = data["lower"].iloc[0], data["upper"].iloc[0]
    strata = {"low": f <= lower, "mid": (f > lower) & (f < upper), "high": f >= upper}
    return data, x, f, {name: strata[name] for name in (("low", "mid") if example == 1 else strata)}


def example_rows(example: int, draws: Iterable[int] = DRAWS) -> Iterator[dict]:
    """A row for each draw and method, and two that pair one method's mean with the other's standard deviation."""
    for draw in draws:
        data, x, f, strata = problem(example, draw)
        found: dict[str, Moments] = {}
        for name, options in fits(example).items():
            fit = fitted(FORMULA[example], data, options)
            found[name] = moments(fit, x)
            noise = {key: fit.hyperparameters.get(key) for key in ("sigma", *SIDES[example])}
            extra = {"evidence": fit.log_evidence, "converged": fit.converged, **noise}
            yield {"draw": draw, "method": name, **scores(f, *found[name], strata), **extra}
        for mean, sd in (("VT-GPR", "EP"), ("EP", "VT-GPR")):
            row = scores(f, found[mean][0], found[sd][1], strata)
            yield {"draw": draw, "method": f"mean of {mean}, sd of {sd}", **row}


def start_rows(draws: Iterable[int] = DRAWS_STARTS) -> Iterator[dict]:
    """Compare fits from eight starts with the default."""
    for example in (1, 2):
        for draw in draws:
            data = problem(example, draw)[0]
            for name in ("LA", "EP", "VT-GPR"):
                few, many = (tg.fit(FORMULA[example], data, **started(fits(example)[name], n)) for n in (None, 8))
                ends = {"sigma": few.hyperparameters["sigma"], "sigma of eight": many.hyperparameters["sigma"]}
                gain = many.log_evidence - few.log_evidence
                yield {"example": example, "draw": draw, "method": name, "gain": gain, **ends}


def started(options: dict[str, Any], n: int | None) -> dict[str, Any]:
    """Return these options with a number of starts."""
    return {**options, "method": replace(options["method"], n_starts=n)}


def own_noise_rows(draws: Iterable[int] = DRAWS_ROWS) -> Iterator[dict]:
    """Fit Example 1 with a separate side noise for each censored row, which the paper leaves to future work."""
    own = tg.VI(bound="local", side_noise="row")
    for draw in draws:
        data, x, f, strata = problem(1, draw)
        for name, method in (("one side noise", LOCAL), ("one for each row", own)):
            fit = tg.fit(FORMULA[1], data, **maximised(method))
            noise = [value for key, value in fit.hyperparameters.items() if key.startswith("sigma_lower")]
            row = scores(f, *moments(fit, x), strata)
            spread = {"smallest": min(noise), "largest": max(noise)}
            yield {"draw": draw, "method": name, **row, "evidence": fit.log_evidence, **spread}


def time_rows(repeats: int = 10) -> Iterator[dict]:
    """Seconds to fit Example 1 on more and more rows; methods take turns so that a busy machine is busy for all."""
    ways = {
        "GP": {"censored": "ignore", **MAXIMISED},
        "LA": maximised(tg.Laplace()),
        "EP": MAXIMISED,
        "VT-GPR": maximised(LOCAL),
        "VT-GPR, 15 moved": maximised(tg.VI(bound="local", inducing=tg.Inducing(15))),
        "EP averaged": AVERAGED,
    }
    for n in (250, 1000, 4000):
        for repeat in range(repeats):
            data = tg.datasets.simulate_groot_lucas(rng=repeat, n=n)
            priors = weak(FORMULA[1], data)
            for name, options in ways.items():
                start = time.perf_counter()
                fit = tg.fit(FORMULA[1], data, **priors | options)
                seconds = time.perf_counter() - start
                mean, sd = moments(fit, data["x"].to_numpy())
                row = scores(data["f"].to_numpy(), mean, sd, {"all": np.ones(n, bool)})
                yield {"n": n, "repeat": repeat, "method": name, "seconds": seconds, **row}


def window(so2: pd.DataFrame) -> pd.DataFrame:
    """The first 150 consecutive hours of one station with readings above the floor of 2; empty if there are none."""
    above = so2[so2["so2"] > 2]
    stretch = (above["hour_index"].diff() != 1).cumsum()
    return censored(above["so2"][stretch.map(stretch.value_counts()) >= 150].to_numpy(float)[:150])


def censored(value: np.ndarray) -> pd.DataFrame:
    """A series censored at its 10% and its 90% quantile, as the paper does; y is less the mean of what is reported."""
    inner = (value > np.quantile(value, 0.1)) & (value < np.quantile(value, 0.9)) if value.size else np.zeros(0)
    if inner.sum() < 100:  # no such stretch, or whole micrograms put half of it at a limit
        return pd.DataFrame()
    y_star = value - np.clip(value, *np.quantile(value, [0.1, 0.9])).mean()
    lower, upper = np.quantile(y_star, [0.1, 0.9])
    x = np.arange(float(value.size))
    return pd.DataFrame({"x": x, "y": np.clip(y_star, lower, upper), "lower": lower, "upper": upper, "f": y_star})


def all_series() -> dict[str, pd.DataFrame]:
    """150 hours of sulphur dioxide at each station, and the water."""
    so2 = tg.datasets.fetch("beijing_so2")
    found = {f"station {k}": window(so2[so2["station"] == k]) for k in range(STATIONS)}
    return {name: data for name, data in found.items() if not data.empty} | {WATER: water()}


def water() -> pd.DataFrame:
    """150 months of the temperature of the sea off Peru."""
    months = sm.datasets.elnino.load_pandas().data.drop(columns="YEAR").to_numpy().ravel()
    return censored(months[:150])


def series_models() -> dict[str, dict]:
    """Return the five models of Table 3 and variants of them."""
    noiseless = {"sigma_lower": 1e-6, "sigma_upper": 1e-6}
    return {
        "GP": {"censored": "ignore", **MAXIMISED},
        "GP, censored rows left out": {"censored": "drop", **MAXIMISED},
        "LA": maximised(tg.Laplace()),
        "EP": MAXIMISED,
        "VT-GPR": maximised(tg.VI(bound="local", inducing=tg.Inducing(35))),
        "VT, no side noise": {"fixed": noiseless, **maximised(LOCAL)},
        "EP averaged": AVERAGED,
        "EP, M = 35": maximised(tg.EP(inducing=tg.Inducing(35))),
        "VT-GPR, M free": maximised(LOCAL),
        **{f"VT-GPR, M = {m}": maximised(tg.VI(bound="local", inducing=tg.Inducing(m))) for m in (10, 20)},
    }


def series_rows() -> Iterator[dict]:
    """Table 3 on each series: errors at the 150 times against the values before censoring."""
    for series, data in all_series().items():
        for name, options in series_models().items():
            yield {"series": series, "model": name, **series_row(data, options)}


def series_row(data: pd.DataFrame, options: dict) -> dict:
    """Return the errors and the estimates of one model on one series."""
    f, everything = data["f"].to_numpy(), np.ones(len(data), bool)
    fit = fitted(FORMULA[2], data, options)
    mean, sd = moments(fit, data["x"].to_numpy())
    noise = {key: fit.hyperparameters.get(key) for key in ("lengthscale(gp(x))", "sigma", *SIDES[2])}
    of_values = scores(f, mean, np.hypot(sd, noise["sigma"]), {"y": everything})
    row = {**scores(f, mean, sd, {"f": everything}), "mnll y": of_values["mnll y"], "cover y": of_values["cover y"]}
    row["censored"] = int(((data["y"] <= data["lower"]) | (data["y"] >= data["upper"])).sum())
    return {**row, "evidence": fit.log_evidence, **noise}


def curve_rows() -> Iterator[dict]:
    """Yield the predictions of the five models for one station, where the maximum of VT-GPR discards both sides."""
    data = all_series()["station 1"]
    for name, options in list(series_models().items())[:5]:
        mean, sd = moments(tg.fit(FORMULA[2], data, **options), data["x"].to_numpy())
        data[f"{name} mean"], data[f"{name} sd"] = mean, sd
    yield from data.to_dict("records")


TABLES = {
    "example1": lambda: example_rows(1),
    "example2": lambda: example_rows(2),
    "starts": start_rows,
    "rows": own_noise_rows,
    "series": series_rows,
    "curves": curve_rows,
    "times": time_rows,
}

if __name__ == "__main__":
    write(TABLES, __file__, __doc__)
