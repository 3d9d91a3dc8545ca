"""CPU seconds of questions about proportional hazards: ``python -m benchmarks.hazard_answers [ROWS]``.

Rows have late entry and three covariates, all different. The first three columns are fits of one event, the last two of
two causes.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

import tobitgp as tg

AT = [1.5, 3.0, 5.0]
FITS = {
    "gp": ("event", "ph"),
    "piecewise": ("event", tg.PH("piecewise")),
    "spline": ("event", tg.PH("spline")),
    "causes, gp": ("cause", "ph"),
    "causes, spline": ("cause", tg.PH("spline")),
}


def rows(n: int, seed: int = 0) -> pd.DataFrame:
    """Times with late entry, and the cause of each event."""
    rng = np.random.default_rng(seed)
    x, age, group = rng.normal(size=n), rng.uniform(40.0, 80.0, n), rng.integers(0, 2, n)
    entry = rng.uniform(0.0, 1.0, n)
    rate = np.exp(0.5 * x + 0.02 * (age - 60.0) + 0.4 * group) / 5.0
    event = (entry**1.3 + rng.exponential(size=n) / rate) ** (1.0 / 1.3)
    stop = entry + rng.uniform(0.5, 8.0, n)
    seen = (event <= stop).astype(int)
    cause = seen * (1 + (rng.uniform(size=n) < 0.4))
    made = {"entry": entry, "time": np.minimum(event, stop), "event": seen, "cause": cause}
    return pd.DataFrame(made | {"x": x, "age": age, "group": group})


def questions(res: Any, data: pd.DataFrame, *, causes: bool) -> dict[str, Callable[[], Any]]:
    """Questions by their names in the table."""
    lived = np.linspace(1.0, 2.0, len(data))
    groups = {"group": [0, 1]}
    found: dict[str, Callable[[], Any]] = {
        "restricted means": lambda: res.predict_restricted_mean(t=4.0),
        "restricted means, bands": lambda: res.predict_restricted_mean(t=4.0, interval=0.9),
        "restricted means, after 1": lambda: res.predict_restricted_mean(t=3.0, conditional_after=1.0),
        "restricted means, after own times": lambda: res.predict_restricted_mean(data, t=3.0, conditional_after=lived),
        "survival, 100 rows, all times, bands": lambda: res.predict_survival_function(
            data.head(100), data["time"].tolist(), interval=0.9
        ),
        "medians": lambda: res.predict_median(),
        "standardise, survival": lambda: res.standardise(groups, what="survival", times=AT, rng=1),
        "standardise, restricted means": lambda: res.standardise(groups, what="rmst", times=AT, rng=1),
        "standardise, median": lambda: res.standardise(groups, what="median", rng=1),
        "plot_survival(by=)": lambda: res.plot_survival(by="group"),
        "plot_hazard()": lambda: res.plot_hazard(),
        "check()": lambda: res.check(rng=1),
    }
    if causes:
        found |= {
            "incidence": lambda: res.predict_cumulative_incidence(times=AT),
            "incidence, bands": lambda: res.predict_cumulative_incidence(times=AT, interval=0.9),
            "standardise, incidence": lambda: res.standardise(groups, what="risk", cause=1, times=AT, rng=1),
            "plot_cumulative_incidence(by=)": lambda: res.plot_cumulative_incidence(by="group"),
        }
    return found


def main(n: int = 300) -> pd.DataFrame:
    """CPU seconds of every question, a column for each fit."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    data, table = rows(n), {}
    plt.subplots()
    for name, (column, family) in FITS.items():
        res = tg.fit(f"Surv(entry, time, {column}) ~ x + age + group", data, family=family)
        table[name] = {}
        for question, ask in questions(res, data, causes=column == "cause").items():
            begin = time.process_time()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                ask()
            table[name][question] = time.process_time() - begin
            plt.close("all")
    return pd.DataFrame(table)


if __name__ == "__main__":
    print(main(*map(int, sys.argv[1:])).to_string(float_format=lambda value: f"{value:.2f}", na_rep=""))
