"""``python -m benchmarks.partitions [rows]``: fit regressions, mixtures and processes to partitioned data.

The program writes two responses to Parquet files of 500,000 rows in a temporary folder: right-censored times with four
covariates and a factor, and times from two log-normal distributions. It fits the first by maximum likelihood and the
second as a mixture, each in a separate process. It prints seconds, peak resident memory and the largest error of a
parameter. Then a dask cluster of two workers fits the surface of P5 from files of 1,000,000 rows, and the program
prints seconds, RMSE and peak memory.
"""

from __future__ import annotations

import resource
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pandas as pd

import tobitgp as tg
from benchmarks.commands import rows_given
from benchmarks.problems import surface

if TYPE_CHECKING:
    from distributed import Client

REGRESSION = {"formula": "Surv(time, event) ~ x1 + x2 + x3 + x4 + g", "method": "mle"}
MIXTURE = {"formula": "Surv(wait, seen) ~ mixture(2)"}
MODELS = {"regression": REGRESSION, "mixture": MIXTURE}
TRUTH = {"Intercept": 1.0, "x1": 0.5, "x2": -0.3, "x3": 0.2, "x4": 0.0, "g[T.b]": 0.4, "g[T.c]": -0.2, "sigma": 0.6}
TRUTH |= {"weight[1]": 0.3, "weight[2]": 0.7, "mean[1]": 0.0, "mean[2]": 2.0, "sd[1]": 0.6, "sd[2]": 0.6}
FILE_ROWS, SURFACE_ROWS = 500_000, 1_000_000


def write(folder: Path, rows: int) -> None:
    """Write log-normal times, with covariates and from two components, censored at exponential ones."""
    for i, start in enumerate(range(0, rows, FILE_ROWS)):
        rng, n = np.random.default_rng(i), min(FILE_ROWS, rows - start)
        data = {f"x{j}": rng.normal(size=n) for j in range(1, 5)}
        g = rng.choice(["a", "b", "c"], n)
        mean = 1.0 + sum(TRUTH[name] * x for name, x in data.items()) + 0.4 * (g == "b") - 0.2 * (g == "c")
        time_, end = np.exp(mean + 0.6 * rng.normal(size=n)), rng.exponential(8.0, n)
        frame = pd.DataFrame({**data, "g": g, "time": np.minimum(time_, end), "event": (time_ <= end).astype(int)})
        wait = np.exp(np.where(rng.random(n) < 0.3, 0.0, 2.0) + 0.6 * rng.normal(size=n))
        end = rng.exponential(30.0, n)
        frame = frame.assign(wait=np.minimum(wait, end), seen=(wait <= end).astype(int))
        frame.to_parquet(folder / f"{i:03d}.parquet", index=False, row_group_size=FILE_ROWS // 4)


def fit(folder: str, model: str) -> tuple[float, float, float]:
    """Return seconds, peak memory in MB, and the largest error of a parameter in standard errors."""
    start = time.perf_counter()
    res = tg.fit(data=folder, family="lognormal", **MODELS[model])
    seconds = time.perf_counter() - start
    return seconds, peak_memory(), max(abs(res.params[name] - TRUTH[name]) / res.bse[name] for name in res.bse.index)


class Surface(NamedTuple):
    """Wall and processor seconds, RMSE of f, and peak memory in MB, first of this process and then of the workers."""

    seconds: float
    cpu: float
    rmse: float
    peaks: list[float]

    def __str__(self) -> str:
        own, *others = (f"{peak:.0f} MB" for peak in self.peaks)
        cost = f"{self.seconds:.0f} s, {self.cpu:.0f} processor seconds, RMSE {self.rmse:.4f}"
        return f"{cost}, peak memory {own} here, {' and '.join(others)} in the workers"


def fit_surface(folder: Path, rows: int) -> Surface:
    """Write a surface and fit it on a cluster of two workers."""
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    files = max(rows // SURFACE_ROWS, 2)
    for i in range(files):
        draw = surface(rows // files)(i)
        draw.train.to_parquet(folder / f"{i:03d}.parquet", index=False)
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster, Client(cluster) as client:
        busy, start = _processor_seconds(client), time.perf_counter()
        res = tg.fit(draw.formula, dd.read_parquet(folder))
        seconds, cpu = time.perf_counter() - start, _processor_seconds(client) - busy
        peaks = [peak_memory(), *client.run(peak_memory).values()]
    error = np.sqrt(np.mean((np.asarray(res.predict(draw.test)) - draw.truth) ** 2))
    return Surface(seconds, cpu, float(error), peaks)


def _processor_seconds(client: Client) -> float:
    return time.process_time() + sum(client.run(time.process_time).values())


def peak_memory() -> float:
    """Peak resident memory of this process, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main(rows: int) -> None:
    """Write, fit, print."""
    with tempfile.TemporaryDirectory() as folder:
        write(Path(folder), rows)
        for model in MODELS:
            with ProcessPoolExecutor(1, get_context("spawn")) as pool:
                seconds, peak, error = pool.submit(fit, folder, model).result()
            cost = f"{seconds:.0f} s, peak memory {peak:.0f} MB"
            print(f"{model}, {rows:,} rows: {cost}, largest error {error:.1f} standard errors", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        print(f"process, {rows:,} rows: {fit_surface(Path(folder), rows)}", flush=True)


if __name__ == "__main__":
    main(rows_given("benchmarks.partitions", __doc__, 10_000_000))
