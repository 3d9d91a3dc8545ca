"""Pieces keep the same laws here and on the workers of a cluster."""

import gc
import os
import time

import numpy as np
import pytest
from support.cluster import local_client
from threadpoolctl import threadpool_info

from tobitgp.engines import DaskPieces, LocalPieces
from tobitgp.errors import DataError, FormulaError

VALUES = [np.arange(3.0), np.arange(5.0), np.empty(0), np.ones(1)]


@pytest.fixture(scope="module")
def client():
    with local_client() as client:
        yield client


@pytest.fixture(params=["here", "cluster"])
def pieces(request):
    if request.param == "here":
        return LocalPieces(VALUES)
    return DaskPieces.from_values(request.getfixturevalue("client"), VALUES)


def refuse(piece, least):
    if len(piece) < least:
        raise DataError(f"only {len(piece)}")
    return piece


def refuse_formula(piece):
    raise FormulaError("no such column", "y ~ q", 4)


def blas_threads(piece):
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def process(piece):
    return os.getpid()


def test_maps_and_collects_in_order(pieces):
    doubled = pieces.map(np.multiply, 2.0).map(np.add, 1.0)
    assert len(doubled) == len(VALUES)
    assert doubled.collect(np.sum) == [9.0, 25.0, 0.0, 3.0]
    assert pieces.collect(len) == [3, 5, 0, 1]


def test_some_are_left_where_they_are(pieces):
    some = pieces.at([3, 0])
    assert (len(some), some.collect(len)) == (2, [1, 3])


def test_large_arguments_arrive(pieces):
    many = np.arange(50_000.0)
    assert pieces.map(lambda piece, values: values[: len(piece)], many).collect(np.sum) == [3.0, 10.0, 0.0, 0.0]


def test_errors_of_ours_come_as_themselves_the_first_piece_first(pieces):
    with pytest.raises(DataError, match="only 0") as caught:
        pieces.map(refuse, 2).map(np.multiply, 2.0).collect(np.sum)
    assert type(caught.value) is DataError
    with pytest.raises(FormulaError, match="no such column") as caught:
        pieces.collect(refuse_formula)
    assert caught.value.position == 4


def test_other_errors_come_through(pieces):
    with pytest.raises(ZeroDivisionError):
        pieces.collect(lambda piece: 1 // (len(piece) - 5))


def test_tasks_hold_blas_to_one_thread(client):
    pieces = DaskPieces.from_values(client, VALUES)
    assert all(found <= {1} for found in pieces.collect(blas_threads))


def test_nothing_is_left_on_the_cluster(client):
    before = set(client.futures)
    pieces = DaskPieces.from_values(client, VALUES).map(np.multiply, np.ones(1))
    assert len(pieces.collect(len)) == 4
    assert len(set(client.futures) - before) >= 4
    del pieces
    gc.collect()
    assert set(client.futures) <= before


@pytest.mark.slow
def test_a_lost_worker_is_replayed():
    with local_client() as client:
        pieces = DaskPieces.from_values(client, [np.arange(i + 1.0) for i in range(6)])
        doubled = pieces.map(np.multiply, 2.0).map(np.add, np.zeros(1) + np.arange(2000.0).sum())
        first = doubled.collect(np.sum)
        victims = set(doubled.collect(process))
        os.kill(victims.pop(), 9)
        time.sleep(0.5)
        assert doubled.collect(np.sum) == first
