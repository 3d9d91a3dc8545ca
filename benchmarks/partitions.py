"""Maximum likelihood on rows that are never in memory together: ``python -m benchmarks.partitions [rows]``.

Writes right-censored times with four covariates and a factor to Parquet files of 500,000 rows in a temporary folder and
fits them in a process of its own; prints seconds, peak resident memory and the largest error of a coefficient.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pandas as pd

import tobitgp as tg

FORMULA = "Surv(time, event) ~ x1 + x2 + x3 + x4 + g"
TRUTH = {"Intercept": 1.0, "x1": 0.5, "x2": -0.3, "x3": 0.2, "x4": 0.0, "g[T.b]": 0.4, "g[T.c]": -0.2, "sigma": 0.6}
FILE_ROWS = 500_000


def write(folder: Path, rows: int) -> None:
    """Write log-normal times, censored at exponential ones."""
    for i, start in enumerate(range(0, rows, FILE_ROWS)):
        rng, n = np.random.default_rng(i), min(FILE_ROWS, rows - start)
        data = {f"x{j}": rng.normal(size=n) for j in range(1, 5)}
        g = rng.choice(["a", "b", "c"], n)
        mean = 1.0 + sum(TRUTH[name] * x for name, x in data.items()) + 0.4 * (g == "b") - 0.2 * (g == "c")
        time_, end = np.exp(mean + 0.6 * rng.normal(size=n)), rng.exponential(8.0, n)
        frame = pd.DataFrame({**data, "g": g, "time": np.minimum(time_, end), "event": (time_ <= end).astype(int)})
        frame.to_parquet(folder / f"{i:03d}.parquet", index=False, row_group_size=FILE_ROWS // 4)


def fit(folder: str) -> tuple[float, float, float]:
    """Seconds, peak memory in MB, and the largest error of a parameter in standard errors."""
    start = time.perf_counter()
    res = tg.fit(FORMULA, folder, family="lognormal", method="mle")
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return seconds, peak, max(abs(res.params[name] - TRUTH[name]) / res.bse[name] for name in res.bse.index)


def main(rows: int) -> None:
    """Write, fit, print."""
    with tempfile.TemporaryDirectory() as folder, ProcessPoolExecutor(1, get_context("spawn")) as pool:
        write(Path(folder), rows)
        seconds, peak, error = pool.submit(fit, folder).result()
    print(f"{rows:,} rows: {seconds:.0f} s, peak memory {peak:.0f} MB, largest error {error:.1f} standard errors")


if __name__ == "__main__":
    main(int(float(sys.argv[1])) if len(sys.argv) > 1 else 10_000_000)
