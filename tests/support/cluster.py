"""A small cluster on this machine."""

import subprocess
import sys
from contextlib import contextmanager


@contextmanager
def local_client(workers=2):
    """A client of worker processes on loopback, without a dashboard; their logs go nowhere."""
    import distributed

    with (
        distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            silence_logs=50,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        yield client


@contextmanager
def separate_cluster(folder, workers=2, patience=5):
    """A client, the process of its scheduler and those of its workers; all wait some seconds for a lost scheduler."""
    import distributed

    def start(*command):
        where = ["--scheduler-file", str(folder / "scheduler.json"), "--no-dashboard"]
        return subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.{command[0]}", *command[1:], *where],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    scheduler = start("dask_scheduler", "--host", "127.0.0.1", "--port", "0")
    options = ("--nthreads", "1", "--no-nanny", "--death-timeout", str(patience))
    others = [start("dask_worker", *options) for _ in range(workers)]
    try:
        with distributed.Client(scheduler_file=str(folder / "scheduler.json"), timeout=patience) as client:
            client.wait_for_workers(workers, timeout=60)
            yield client, scheduler, others
    finally:
        for process in (scheduler, *others):
            process.kill()
            process.wait()
