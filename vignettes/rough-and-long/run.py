"""The survey of this page, and its tables from 20,000 sites: `python vignettes/rough-and-long/run.py`.

`map.csv` and `fits.csv` are written beside this script: a few minutes on two cores. All seeds are fixed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import tobitgp as tg

sys.path.insert(0, str(Path(__file__).parents[1]))

from papers import write  # in the folder above

SITES, TOWNS, SIDE, CELLS = 20_000, 25, 100.0, 60
TRUTH = {"height": -0.01, "sd": 1.0, "lengthscale": 4.0, "sigma": 0.4}
THRESHOLD = 10.0  # micrograms a litre
FORMULA = "arsenic ~ height + gp(east, north, kernel='matern12', ard=False, name='field') | censor(limit)"
LOW_RANK = FORMULA.replace("ard=False", "ard=False, approximation='low_rank'")
PARAMETERS = {"height": "height", "sd": "sd(field)", "lengthscale": "lengthscale(field)", "sigma": "sigma"}


def exponential_field(
    places: np.ndarray, lengthscale: float, sd: float, rng: np.random.Generator, frequencies: int = 5000
) -> np.ndarray:
    """Draw a surface at places (n, 2) as waves with frequencies from the spectral density of the kernel."""
    cauchy = rng.normal(size=(frequencies, 2)) / np.abs(rng.normal(size=(frequencies, 1)))
    a, b = rng.normal(0, sd / np.sqrt(frequencies), size=(2, frequencies))
    phases = (some @ (cauchy.T / lengthscale) for some in np.array_split(places, 50))
    return np.concatenate([np.cos(phase) @ a + np.sin(phase) @ b for phase in phases])


def places_of_survey(rng: np.random.Generator) -> np.ndarray:
    """Draw places (n, 2), seven in ten around towns and the others anywhere. Places outside are reflected."""
    towns, widths = rng.uniform(5, SIDE - 5, (TOWNS, 2)), rng.uniform(1.5, 6, (TOWNS, 1))
    town = rng.integers(0, TOWNS, SITES)
    around = towns[town] + widths[town] * rng.normal(size=(SITES, 2))
    places = np.where(rng.uniform(size=(SITES, 1)) < 0.7, around, rng.uniform(0, SIDE, (SITES, 2)))
    return SIDE - np.abs(SIDE - np.abs(places))


def survey() -> tuple[pd.DataFrame, pd.DataFrame]:
    """Draw sites and the cells of a map. `f` is the true mean of the logarithm."""
    rng = np.random.default_rng(1)
    centres = (np.arange(CELLS) + 0.5) * SIDE / CELLS
    cells = np.stack(np.meshgrid(centres, centres), axis=-1).reshape(-1, 2)
    east, north = np.concatenate([places_of_survey(rng), cells]).T
    height = 100 + 60 * np.sin(east / 30) + 40 * np.cos(north / 25 + east / 60)
    field = exponential_field(np.column_stack([east, north]), TRUTH["lengthscale"], TRUTH["sd"], rng)
    f = 1 + TRUTH["height"] * (height - 100) + field
    both = pd.DataFrame({"east": east, "north": north, "height": height, "f": f})
    sites, cells = both.head(SITES).copy(), both.tail(-SITES).reset_index(drop=True)
    sites["limit"] = rng.choice([1.0, 2.0, 5.0], SITES, p=[0.4, 0.4, 0.2])
    arsenic = np.exp(sites["f"] + rng.normal(0, TRUTH["sigma"], SITES))
    return sites.assign(arsenic=np.maximum(arsenic, sites["limit"])), cells


def some_of(sites: pd.DataFrame) -> pd.DataFrame:
    """Return the sites that the page itself fits."""
    return sites.sample(3000, random_state=0)


def fit(sites: pd.DataFrame, formula: str = FORMULA) -> Any:
    """Fit with hyper-parameters at their maximum: an average over 29 points takes 29 times as long for a map."""
    return tg.fit(formula, sites, family="lognormal", method=tg.EP(hyper="maximize"))


def predicted(res: Any, cells: pd.DataFrame) -> pd.DataFrame:
    """The median in each cell with its interval, and the probability that a sample exceeds the threshold."""
    median = res.predict(cells, what="median", interval=0.95)[["estimate", "lower", "upper"]]
    return median.assign(above=res.predict(cells, what="prob", above=THRESHOLD))


@cache
def all_sites() -> Any:
    """Fit all sites."""
    return fit(survey()[0])


def map_rows() -> Iterator[dict[str, Any]]:
    """Yield a row for each cell, from the south-west eastwards."""
    yield from predicted(all_sites(), survey()[1]).to_dict("records")


def fits() -> Iterator[dict[str, Any]]:
    """Yield a row for each fit: estimates, and errors of the medians on the map."""
    sites, cells = survey()
    few = some_of(sites)
    yield {"sites": len(few), "process": "inducing inputs", **described(fit(few, LOW_RANK), cells)}
    yield {"sites": len(few), "process": "nearest neighbours", **described(fit(few), cells)}
    yield {"sites": len(sites), "process": "nearest neighbours", **described(all_sites(), cells)}


def described(res: Any, cells: pd.DataFrame) -> dict[str, float]:
    """Estimates with their standard errors, coverage and error of log medians."""
    table, median = res.summary_frame(), np.log(predicted(res, cells)[["estimate", "lower", "upper"]])
    covered = (median["lower"] < cells["f"]) & (cells["f"] < median["upper"])
    return {
        **{name: table.loc[row, "coef"] for name, row in PARAMETERS.items()},
        **{f"{name}_se": table.loc[row, "std err"] for name, row in PARAMETERS.items()},
        "coverage": covered.mean(),
        "rmse": np.sqrt(np.mean((median["estimate"] - cells["f"]) ** 2)),
    }


TABLES = {"map": map_rows, "fits": fits}

if __name__ == "__main__":
    write(TABLES, __file__, __doc__)
