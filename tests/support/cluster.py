"""A small cluster on this machine."""

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
