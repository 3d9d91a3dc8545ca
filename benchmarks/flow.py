"""``python -m benchmarks.flow``: how often intervals of flow-normalised annual means cover the truth, as a CSV file.

Surfaces are smooth curves of time, season and log discharge with an interaction, drawn anew for each data set;
600 samples of 20 years, 30% of them below one detection limit. Discharge is an autoregression about a yearly cycle.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

import tobitgp as tg
from benchmarks.commands import command
from tobitgp.formula.functions import decimal_years
from tobitgp.typing import Array

SAMPLES, CENSORED, SIGMA = 600, 0.3, 0.3
START, END = "1991-01-01", "2010-12-31"
YEAR = "decimal_year(date)"
FORMULA = (
    f"c ~ gp({YEAR}, name='trend') + gp(log(q), name='flow') + gp({YEAR}, period=1, name='season') "
    f"+ gp(log(q), {YEAR}, name='interaction') | censor(limit)"
)
PRIORS = {"lengthscale(trend)": tg.LogNormal(6.0, 0.4), f"lengthscale(interaction)[{YEAR}]": tg.LogNormal(10.0, 0.4)}
Surface = Callable[[Array, Array], Array]


def draw_daily(rng: np.random.Generator) -> pd.DataFrame:
    """Daily discharge."""
    dates = pd.date_range(START, END)
    t = decimal_years((dates - pd.Timestamp(0)).days)
    shock = rng.normal(scale=0.25, size=len(dates))
    flow = np.empty(len(dates))
    flow[0] = shock[0]
    for k in range(1, len(dates)):
        flow[k] = 0.95 * flow[k - 1] + shock[k]
    return pd.DataFrame({"date": dates, "t": t, "q": np.exp(1.0 + 0.6 * np.cos(2 * np.pi * t) + flow)})


def draw_surface(rng: np.random.Generator) -> Surface:
    """Expected log concentration by time and log discharge."""
    a, b, c = rng.normal(size=3)
    phase, turn = rng.uniform(0, 2 * np.pi, 2)

    def f(t: Array, log_q: Array) -> Array:
        s = (t - 2001.0) / 10.0
        trend = 0.2 * a * s + 0.15 * np.sin(1.5 * np.pi * s + turn)
        season = 0.3 * np.cos(2 * np.pi * t + phase) + 0.1 * np.cos(4 * np.pi * t)
        flow = 0.15 * b * (log_q - 1.0) - 0.3 * np.tanh(log_q - 1.5)
        return np.asarray(trend + season + flow + 0.08 * c * s * (log_q - 1.0))

    return f


def truth(daily: pd.DataFrame, f: Surface) -> pd.Series[float]:
    """Flow-normalised annual means by the definition, day by day."""
    day = daily["date"].dt.strftime("%m%d").replace("0229", "0228")
    pools = {key: np.log(rows.to_numpy()) for key, rows in daily.groupby(day)["q"]}
    C = [np.exp(f(t, pools[key]) + SIGMA**2 / 2).mean() for t, key in zip(daily["t"], day, strict=True)]
    return pd.Series(C, index=daily["date"].dt.year).groupby(level=0).mean()


def simulate(seed: int) -> pd.DataFrame:
    """Truth and intervals of the years of one data set."""
    rng = np.random.default_rng([seed, 57])
    daily, f = draw_daily(rng), draw_surface(rng)
    samples = daily.iloc[np.sort(rng.choice(len(daily), SAMPLES, replace=False))].copy()
    y = f(samples["t"].to_numpy(), np.log(samples["q"].to_numpy())) + SIGMA * rng.normal(size=SAMPLES)
    limit = float(np.exp(np.quantile(y, CENSORED)))
    samples = samples.assign(c=np.maximum(np.exp(y), limit), limit=limit)
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        res = tg.fit(FORMULA, samples, family="lognormal", priors=PRIORS)
        found = tg.flow_normalise(res, daily, interval=0.95, contrasts=[(1993, 2008)])
    known = truth(daily, f)
    table = found.table.assign(truth=known, seed=seed, seconds=time.process_time() - began)
    change = found.contrasts.iloc[0]
    held = change["lower"] <= known[2008] - known[1993] <= change["upper"]
    return table.assign(change_covered=held).reset_index()


def main(arguments: Sequence[str] | None = None) -> None:
    """Write a row for each year of each data set."""
    parser = command("benchmarks.flow", __doc__)
    parser.add_argument("--sets", type=int, default=20, help="simulated rivers; 20 by default")
    parser.add_argument(
        "--out", type=Path, default=Path("flow_coverage.csv"), help="CSV file; flow_coverage.csv by default"
    )
    asked = parser.parse_args(arguments)
    made: list[pd.DataFrame] = []
    for seed in range(asked.sets):
        made.append(simulate(seed))
        table = pd.concat(made)
        table.to_csv(asked.out, index=False, float_format="%.5g")
        covered = table["truth"].between(table["lower"], table["upper"])
        print(
            f"{seed}: coverage {covered.mean():.3f} of {len(table)} years, {table['seconds'].iloc[-1]:.0f} s",
            flush=True,
        )


if __name__ == "__main__":
    main()
