"""``python -m benchmarks.cluster [rows]``: measure what a fit on a cluster costs, and project it to larger clusters.

The program fits the surface of P5 on a dask cluster of one worker of one thread. It prints the calls, processor seconds
and messages of each function that visits rows, and bytes by formula and as measured. Then it simulates larger fits. In
each round, all workers compute and the slowest decides. Some workers and some rounds are slow. Some workers are lost,
and others compute their partitions again.
"""

from __future__ import annotations

import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import tobitgp as tg
from benchmarks.commands import rows_given
from benchmarks.problems import surface
from tobitgp.engines import DaskPartitions, partitions

PARTS = 4  # partitions of a worker
NETWORK = 1.25e9  # bytes per second that the caller sends and receives: 10 Gbit/s
SLOW, SLOWER = 0.05, 2.0  # share of workers that are slow throughout, and how many times as long they take
PAUSE, LONGER = 0.01, 3.0  # share of rounds of a worker that are slow, and how many times as long they take
LIFE = 100 * 3600.0  # mean seconds until a worker is lost
RESTART = 30.0  # seconds until the scheduler knows that it is
DRAWS = 400
SIZES = ((10**7, 2), (10**8, 10), (10**9, 100), (10**9, 400))  # rows, workers of one thread
TRIVIAL = 1000  # tasks that do nothing, by which the cost of a task is measured


@dataclass
class Round:
    """All calls of one function on partitions."""

    waits: bool  # whether the caller waits for its values
    calls: int = 0
    sent: list[int] = field(default_factory=list)  # bytes of arguments, for each call
    received: list[int] = field(default_factory=list)  # bytes of each value of a partition
    features: list[int] = field(default_factory=list)  # M, for each visit
    cpu: float = 0.0  # seconds of all partitions and calls


@contextmanager
def metered(client: Any) -> Iterator[dict[str, Round]]:
    """Count the messages between this process and the workers of a client, and the work of the workers."""
    rounds: dict[str, Round] = {}
    submit, gather = DaskPartitions._submit, DaskPartitions._gather
    of_key: dict[str, Round] = {}

    def submitted(self: Any, run: Any, function: Any, args: Any) -> Any:
        round_ = rounds.setdefault(named(function), Round(run is partitions._call))
        round_.calls += 1
        round_.sent.append(partitions._size(args))
        if named(function) == "visit":
            round_.features.append(len(args[0].w))
        futures = submit(self, run, function, args)
        of_key.update((future.key, round_) for future in futures)
        return futures

    def gathered(self: Any, futures: Any) -> Any:
        found = gather(self, futures)
        for future, value in zip(futures, found, strict=True):
            if future.key in of_key:
                of_key[future.key].received.append(partitions._size((value,)))
        return found

    client.run(watch_calls)
    DaskPartitions._submit, DaskPartitions._gather = submitted, gathered
    try:
        yield rounds
    finally:
        DaskPartitions._submit, DaskPartitions._gather = submit, gather
        for used in client.run(seconds_of_calls).values():
            for name, seconds in used.items():
                if name in rounds:
                    rounds[name].cpu += seconds


def named(function: Any) -> str:
    """The name of a function, or its class."""
    return getattr(function, "__name__", type(function).__name__)


USED: dict[str, float] = defaultdict(float)  # on a worker: processor seconds of each function


def watch_calls() -> None:
    """Run on a worker: note the processor seconds of calls from now on."""
    from benchmarks import cluster

    call = partitions._call

    def _call(function: Any, partition: Any, args: Any) -> Any:
        start = time.thread_time()
        try:
            return call(function, partition, args)
        finally:
            cluster.USED[named(function)] += time.thread_time() - start

    partitions._call = _call


def seconds_of_calls() -> dict[str, float]:
    """Run on a worker: return the noted seconds."""
    from benchmarks import cluster

    return dict(cluster.USED)


def sent_by_formula(M: int, d: int) -> dict[str, int]:
    """Bytes of the arrays in the messages of a process of d inputs, with M features of which 1 is linear."""
    m = M - 1
    return {
        "visit, to each worker": 12 * M**2 + 20 * M,
        "begin, to each worker": 4 * m**2 + 4 * m + 8 * d * m + 8 * d,
        "site_sums, from each partition": 8 * M**2 + 8 * M,
    }


def held_by_formula(d: int, p: int, M: int, share: float) -> float:
    """Bytes for each row that a worker keeps between evaluations, of which a share of rows is censored."""
    data, parts, sites = 7 + d + p + 1, 6 + d + p, 2 + 2
    return 8.0 * (data + parts + sites + share * (M + 1))


def state_by_formula(share: float) -> float:
    """Bytes for each row of a state of the iteration, at most: sites, two steps, and 8 differences remembered."""
    return 8.0 * (6 + 2 * 2 * (1 + 8) * share)


def held_bytes(dask_worker: Any) -> int:
    """Run on a worker: return the bytes of all arrays in its results. Shared arrays count once."""
    sizes: dict[int, int] = {}
    for key in list(dask_worker.data):
        value = dask_worker.data[key]
        partitions._note_sizes(value.value if isinstance(value, partitions._Held) else value, sizes)
    return sum(sizes.values())


@dataclass(frozen=True)
class Cost:
    """The measured cost of a fit."""

    rows: int
    rounds: dict[str, Round]
    caller: float  # processor seconds of the calling process and the scheduler
    task: float  # of these, for each task
    held: float  # bytes for each row that the worker holds between evaluations
    features: int  # M
    share: float  # of rows that are censored

    @property
    def of_row(self) -> float:
        """Processor seconds of all visits, for each row."""
        return sum(round_.cpu for round_ in self.rounds.values()) / self.rows

    @property
    def waits(self) -> int:
        """The number of rounds for which the caller waits."""
        return sum(round_.calls for round_ in self.rounds.values() if round_.waits)

    @property
    def tasks(self) -> int:
        """Tasks of each partition."""
        return sum(round_.calls for round_ in self.rounds.values())

    @property
    def received(self) -> int:
        """Bytes that come from each partition; cells are joined on the workers where there are many partitions."""
        return sum(sum(round_.received) for name, round_ in self.rounds.items() if name != "part_cells") // PARTS

    @property
    def alone(self) -> float:
        """Seconds of the caller apart from tasks."""
        return max(self.caller - self.task * self.tasks * PARTS, 0.0)


def measure(rows: int) -> Cost:
    """Fit the surface on a worker of one thread."""
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    held = []
    with tempfile.TemporaryDirectory() as folder:
        for i in range(PARTS):
            draw = surface(rows // PARTS)(i)
            draw.train.to_parquet(Path(folder) / f"{i}.parquet", index=False)
        share = float((draw.status != 0).mean())
        cluster = LocalCluster(n_workers=1, threads_per_worker=1, dashboard_address=None)
        with cluster, Client(cluster) as client:
            trivial = DaskPartitions.from_values(client, list(range(TRIVIAL)))
            trivial.collect(abs)
            start = time.process_time()
            trivial.collect(abs)
            task = (time.process_time() - start) / TRIVIAL
            del trivial

            def watch(stage: str, evaluations: int, value: float) -> None:
                if stage.startswith("fixed features"):
                    held.append(sum(client.run(held_bytes).values()))

            with metered(client) as rounds:
                start = time.process_time()
                tg.fit(draw.formula, dd.read_parquet(folder), progress=watch)
                caller = time.process_time() - start
    return Cost(rows, rounds, caller, task, min(held) / rows, max(rounds["visit"].features), share)


def simulate(cost: Cost, rows: int, workers: int, rng: np.random.Generator, *, slow: bool, lost: bool) -> float:
    """Return the seconds of a simulated fit, with slow workers and rounds, or with lost workers too."""
    share = rows / workers
    serial = cost.alone + PARTS * workers * (cost.tasks * cost.task + cost.received / NETWORK)
    times = np.full((cost.waits, workers), cost.of_row * share / cost.waits)
    if slow:
        times *= np.where(rng.random(workers) < SLOW, SLOWER, 1.0)
        times *= np.where(rng.random(times.shape) < PAUSE, LONGER, 1.0)
    rounds = times.max(axis=1)
    seconds = serial + rounds.sum()
    if lost:
        # Others make the partitions again up to now, and have more work from then on: together all their rounds.
        taken_over = -(-PARTS // (workers - 1)) / PARTS
        seconds += rng.poisson(workers * seconds / LIFE) * (RESTART + taken_over * rounds.sum())
    return float(seconds)


def project(cost: Cost) -> str:
    """Return the table of larger fits."""
    lines = [
        "| Rows | Workers | Equal workers | Slow workers and rounds | Lost workers too (95%) | Caller and scheduler |"
    ]
    lines.append("|---|---|---|---|---|---|")
    for rows, workers in SIZES:
        rng = np.random.default_rng(0)
        ideal = simulate(cost, rows, workers, rng, slow=False, lost=False)
        slow = [simulate(cost, rows, workers, rng, slow=True, lost=False) for _ in range(DRAWS)]
        lost = [simulate(cost, rows, workers, rng, slow=True, lost=True) for _ in range(DRAWS)]
        serial = ideal - cost.of_row * rows / workers
        found = f"{ideal:.0f} s | {np.median(slow):.0f} s | {np.median(lost):.0f} s ({np.quantile(lost, 0.95):.0f} s)"
        lines.append(f"| {rows:,} | {workers} | {found} | {serial:.0f} s |")
    return "\n".join(lines)


def describe(cost: Cost) -> str:
    """Return the measured costs as text."""
    M, lines = (
        cost.features,
        ["| function | calls | ns per row and call | bytes to each worker | bytes from a partition |"],
    )
    lines.append("|---|---|---|---|---|")
    for name, round_ in sorted(cost.rounds.items(), key=lambda item: -item[1].cpu):
        sent, received = max(round_.sent, default=0), max(round_.received, default=0)
        each = 1e9 * round_.cpu / round_.calls / cost.rows
        lines.append(f"| {name} | {round_.calls} | {each:.0f} | {sent:,} | {received:,} |")
    formulas = (f"{what} {bytes_:,} bytes" for what, bytes_ in sent_by_formula(M, 2).items())
    lines += ["", f"By formula, with M = {M}: {'; '.join(formulas)}."]
    by_formula = held_by_formula(2, 1, M, cost.share)
    state = state_by_formula(cost.share)
    lines.append(f"Held for each row: {cost.held:.0f} bytes, by formula {by_formula:.0f} and up to 2 of {state:.0f}.")
    lines.append(
        f"{cost.rows:,} rows: {1e6 * cost.of_row:.1f} microseconds per row in {cost.waits} rounds, {cost.tasks} tasks "
        f"and {cost.received:,} bytes per partition, {1e3 * cost.task:.2f} ms per task, {cost.alone:.1f} s alone."
    )
    return "\n".join(lines)


def main(rows: int) -> None:
    """Measure, project, print."""
    cost = measure(rows)
    print(describe(cost), project(cost), sep="\n\n", flush=True)


if __name__ == "__main__":
    main(rows_given("benchmarks.cluster", __doc__, 1_000_000))
