"""``python -m benchmarks.batches [rows]``: fit a process by passes over all rows, and by batches of rows.

The program writes the surface of P5 to Parquet files of at most 1,000,000 rows in a temporary folder, and fits it by
variational inference. Each fit has a separate process. The program prints seconds, processor seconds, peak resident
memory, and how far the log posterior density is below that of the first fit.
"""

from __future__ import annotations

import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import tobitgp as tg
from benchmarks.commands import rows_given
from benchmarks.partitions import SURFACE_ROWS, peak_memory
from benchmarks.problems import surface

METHODS: tuple[dict[str, int], ...] = ({}, {"batch": 5000}, {"batch": 1000}, {"batch": 1000, "epochs": 3})


def fit(folder: str, formula: str, settings: dict[str, int]) -> tuple[float, float, float, float]:
    """Return seconds, processor seconds, peak memory in MB, and the log posterior density."""
    start, used = time.perf_counter(), time.process_time()
    res = tg.fit(formula, folder, method=tg.VI(hyper="maximize", **settings))
    seconds, used = time.perf_counter() - start, time.process_time() - used
    return seconds, used, peak_memory(), float(res.fit_history["log_posterior"].iloc[-1])


def main(rows: int) -> None:
    """Write, fit, print."""
    with tempfile.TemporaryDirectory() as folder:
        files = max(rows // SURFACE_ROWS, 1)
        for i in range(files):
            draw = surface(rows // files)(i)
            draw.train.to_parquet(Path(folder) / f"{i:03d}.parquet", index=False)
        best = None
        for settings in METHODS:
            with ProcessPoolExecutor(1, get_context("spawn")) as pool:
                seconds, used, peak, value = pool.submit(fit, folder, draw.formula, settings).result()
            best = value if best is None else best
            cost = f"{seconds:.0f} s, {used:.0f} processor seconds, peak memory {peak:.0f} MB"
            print(f"{rows:,} rows, {settings or 'all rows'}: {cost}, {best - value:.2f} nats below", flush=True)


if __name__ == "__main__":
    main(rows_given("benchmarks.batches", __doc__, 1_000_000))
