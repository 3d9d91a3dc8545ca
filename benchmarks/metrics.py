"""``python -m benchmarks.metrics``: time metrics of tobitgp, lifelines and scikit-survival.

The values of the three packages are the same.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

import tobitgp as tg
from benchmarks.commands import command
from benchmarks.mixtures.tables import Row, show
from tobitgp.numerics.nonparametric import turnbull

SIZES = (1_000, 10_000, 100_000)
PAIRWISE = 10_000
TIMES = np.linspace(0.1, 1.5, 20)
Jobs = dict[str, Callable[[], object]]


def main(arguments: Sequence[str] | None = None) -> None:
    """Time each metric on samples of some sizes."""
    parser = command("benchmarks.metrics", __doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=SIZES, help="sizes of samples; 1e3 to 1e5 by default")
    parser.add_argument("--repeats", type=int, default=5, help="timings of which medians are shown; 5 by default")
    parser.add_argument("--out", type=Path, help="folder for a CSV file")
    options = parser.parse_args(arguments)
    rows = [row for n in options.rows for row in table(n, options.repeats)]
    show("Metrics, medians of seconds", rows, options.out, "metrics")


def table(n: int, repeats: int) -> list[Row]:
    """A row for each metric and library; a peer's difference is that from the row of tobitgp above it."""
    rows: list[Row] = []
    for metric, jobs in _jobs(n).items():
        ours: np.ndarray | None = None
        for name, job in jobs.items():
            seconds, value = _timed(job, repeats)
            ours = value if ours is None else ours
            apart = f"{np.abs(value - ours).max():.0e}" if name != "tobitgp" else ""
            rows.append({"rows": n, "metric": metric, "library": name, "seconds": f"{seconds:.4f}", "apart": apart})
    return rows


def _timed(job: Callable[[], object], repeats: int) -> tuple[float, np.ndarray]:
    clocks, value = [], np.asarray(job(), dtype=float)
    for _ in range(repeats):
        began = time.perf_counter()
        job()
        clocks.append(time.perf_counter() - began)
    return statistics.median(clocks), value


def _jobs(n: int) -> dict[str, Jobs]:
    """Right-censored rows (about 60% events), a score, and curves that follow it; rows in intervals."""
    rng = np.random.default_rng(n)
    x = rng.normal(size=n)
    y, limit = np.exp(0.5 * x) * rng.exponential(1.0, n), rng.exponential(1.5, n)
    time_, event = np.minimum(y, limit), y <= limit
    survival = np.exp(-TIMES[:, None] * np.exp(-0.5 * x))
    frame = pd.DataFrame(survival, index=TIMES)
    rows = time_, event
    low, high = np.floor(5.0 * y) / 5.0, np.where(rng.random(n) < 0.3, np.inf, np.ceil(5.0 * y) / 5.0)
    m = tg.metrics
    jobs: dict[str, Jobs] = {
        "concordance_index": {"tobitgp": lambda: m.concordance_index(time_, x, event)},
        "concordance_index, intervals": {"tobitgp": lambda: m.concordance_index(None, x, lower=low, upper=high)},
        "concordance_ipcw": {"tobitgp": lambda: m.concordance_ipcw(rows, rows, x, tau=1.5)},
        "integrated_brier_score": {"tobitgp": lambda: m.integrated_brier_score(rows, rows, frame)},
        "cumulative_dynamic_auc": {"tobitgp": lambda: m.cumulative_dynamic_auc(rows, rows, x, TIMES).auc},
        "turnbull": {"tobitgp": lambda: turnbull(low, high, np.ones(n)).log_likelihood},
    }
    _add_lifelines(jobs, time_, x, event)
    _add_scikit_survival(jobs, time_, x, event, survival)
    return jobs


def _add_lifelines(jobs: dict[str, Jobs], time_: np.ndarray, x: np.ndarray, event: np.ndarray) -> None:
    from lifelines.utils import concordance_index

    jobs["concordance_index"]["lifelines"] = lambda: concordance_index(time_, x, event)


def _add_scikit_survival(
    jobs: dict[str, Jobs], time_: np.ndarray, x: np.ndarray, event: np.ndarray, survival: np.ndarray
) -> None:
    """Its rows, where it is installed; its concordance makes a table of all pairs."""
    try:
        import sksurv.metrics as sk
        from sksurv.util import Surv
    except ImportError:
        return
    rows = Surv.from_arrays(event, time_)
    name = "scikit-survival"
    if len(time_) <= PAIRWISE:
        jobs["concordance_index"][name] = lambda: sk.concordance_index_censored(event, time_, -x)[0]
        jobs["concordance_ipcw"][name] = lambda: sk.concordance_index_ipcw(rows, rows, -x, tau=1.5)[0]
    jobs["integrated_brier_score"][name] = lambda: sk.integrated_brier_score(rows, rows, survival.T, TIMES)
    jobs["cumulative_dynamic_auc"][name] = lambda: sk.cumulative_dynamic_auc(rows, rows, -x, TIMES)[0]


if __name__ == "__main__":
    main()
