"""Partitions keep the same distributions here and on the workers of a cluster."""

import gc
import os
import sys
import time

import dask
import numpy as np
import pytest
from support.cluster import local_client
from threadpoolctl import threadpool_info

from tobitgp.engines import DaskPartitions, LocalPartitions
from tobitgp.engines.partitions import _Held
from tobitgp.errors import ClusterError, DataError, FormulaError

VALUES = [np.arange(3.0), np.arange(5.0), np.empty(0), np.ones(1)]


@pytest.fixture(scope="module")
def client():
    with local_client() as client:
        yield client


@pytest.fixture(params=["here", "cluster"])
def partitions(request):
    if request.param == "here":
        return LocalPartitions(VALUES)
    return DaskPartitions.from_values(request.getfixturevalue("client"), VALUES)


def refuse(partition, least):
    if len(partition) < least:
        raise DataError(f"only {len(partition)}")
    return partition


def refuse_formula(partition):
    raise FormulaError("no such column", "y ~ q", 4)


def join_texts(texts):
    return "".join(texts)


def end_worker(partition):
    os._exit(1)


def blas_threads(partition):
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def process(partition):
    return os.getpid()


def test_maps_and_collects_in_order(partitions):
    doubled = partitions.map(np.multiply, 2.0).map(np.add, 1.0)
    assert len(doubled) == len(VALUES)
    assert doubled.collect(np.sum) == [9.0, 25.0, 0.0, 3.0]
    assert partitions.collect(len) == [3, 5, 0, 1]


def test_some_are_left_where_they_are(partitions):
    some = partitions.at([3, 0])
    assert (len(some), some.collect(len)) == (2, [1, 3])


def test_large_arguments_arrive(partitions):
    many = np.arange(50_000.0)
    assert partitions.map(lambda partition, values: values[: len(partition)], many).collect(np.sum) == [
        3.0,
        10.0,
        0.0,
        0.0,
    ]


def test_errors_of_ours_come_as_themselves_the_first_partition_first(partitions):
    with pytest.raises(DataError, match="only 0") as caught:
        partitions.map(refuse, 2).map(np.multiply, 2.0).collect(np.sum)
    assert type(caught.value) is DataError
    with pytest.raises(FormulaError, match="no such column") as caught:
        partitions.collect(refuse_formula)
    assert caught.value.position == 4


def test_other_errors_come_through(partitions):
    with pytest.raises(ZeroDivisionError):
        partitions.collect(lambda partition: 1 // (len(partition) - 5))


def test_tasks_hold_blas_to_one_thread(client):
    partitions = DaskPartitions.from_values(client, VALUES)
    assert all(found <= {1} for found in partitions.collect(blas_threads))


@pytest.mark.parametrize("n", [1, 8, 9, 70])
def test_values_are_joined_a_few_at_a_time(client, n):
    partitions = DaskPartitions.from_values(client, list(range(n)))
    assert partitions.fold(join_texts, str) == LocalPartitions(list(range(n))).fold(join_texts, str)
    assert LocalPartitions(list(range(n))).fold(join_texts, str) == "".join(map(str, range(n)))
    with pytest.raises(DataError, match="only 0"):
        DaskPartitions.from_values(client, [np.empty(0)] * n).fold(join_texts, refuse, 1)


def test_space_is_of_all_workers_and_a_share_of_their_memory(partitions, client):
    limits = [worker["memory_limit"] for worker in client.scheduler_info()["workers"].values()]
    assert partitions.space(1000) == (1000 if isinstance(partitions, LocalPartitions) else 2000)
    assert DaskPartitions(client, ()).space(2**60) == sum(limit // 4 for limit in limits)


def test_arrays_that_are_shared_are_counted_once():
    whole = np.zeros(1000)
    assert sys.getsizeof(_Held({"all": whole, "some": (whole[:10], whole[5:])})) - 8000 < 100
    assert 16_000 <= sys.getsizeof(_Held([whole, whole.copy()])) < 16_100


@pytest.mark.slow
def test_a_task_that_ends_its_worker_is_named():
    with dask.config.set({"distributed.scheduler.allowed-failures": 0}), local_client() as client:
        partitions = DaskPartitions.from_values(client, VALUES)
        with pytest.raises(ClusterError, match="ended several workers"):
            partitions.collect(end_worker)


@pytest.mark.slow
def test_nothing_is_left_on_the_cluster(client):
    before = set(client.futures)
    partitions = DaskPartitions.from_values(client, VALUES).map(np.multiply, np.ones(1))
    assert len(partitions.collect(len)) == 4
    assert len(set(client.futures) - before) >= 4
    del partitions
    gc.collect()
    assert set(client.futures) <= before


@pytest.mark.slow
def test_a_lost_worker_is_replayed():
    with local_client() as client:
        partitions = DaskPartitions.from_values(client, [np.arange(i + 1.0) for i in range(6)])
        doubled = partitions.map(np.multiply, 2.0).map(np.add, np.zeros(1) + np.arange(2000.0).sum())
        first = doubled.collect(np.sum)
        victims = set(doubled.collect(process))
        os.kill(victims.pop(), 9)
        time.sleep(0.5)
        assert doubled.collect(np.sum) == first
