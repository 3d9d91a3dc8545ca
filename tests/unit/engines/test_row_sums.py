"""Chunks and threads."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import threadpool_info

from tobitgp.engines import LocalPartitions, add_up, map_independent, row_chunks, single_blas_thread


@given(start=st.integers(0, 50), length=st.integers(0, 50), size=st.integers(1, 60))
def test_chunks_cover_the_rows_once(start, length, size):
    chunks = row_chunks(start, start + length, size)
    assert [i for chunk in chunks for i in range(chunk.start, chunk.stop)] == list(range(start, start + length))
    assert all(chunk.stop - chunk.start <= size for chunk in chunks)


@pytest.mark.parametrize("size", [1, 3, 10])
def test_sums_do_not_depend_on_the_chunks(size):
    A = np.arange(20.0).reshape(10, 2)
    got = add_up((A[rows].sum(), A[rows].T @ A[rows]) for rows in row_chunks(0, 10, size))
    assert got[0] == A.sum()
    np.testing.assert_array_equal(got[1], A.T @ A)


def test_nothing_to_add_is_nothing():
    assert add_up([]) == []
    assert add_up([[], (1.0, 2), ()]) == [1.0, 2]


def test_first_sums_are_not_overwritten():
    first = np.ones(3)
    add_up([(first,), (np.ones(3),)])
    np.testing.assert_array_equal(first, np.ones(3))


@pytest.mark.parametrize("heavy", [False, True])
def test_independent_results_keep_their_order(heavy):
    assert map_independent(lambda i: i * i, list(range(20)), heavy=heavy) == [i * i for i in range(20)]
    assert map_independent(abs, [], heavy=heavy) == []


@pytest.mark.parametrize("heavy", [False, True])
def test_threads_do_not_wait_for_themselves(heavy):
    def inner(i):
        return map_independent(lambda j: (i, j), list(range(5)), heavy=heavy)

    assert map_independent(inner, list(range(5)), heavy=heavy) == [[(i, j) for j in range(5)] for i in range(5)]


@pytest.mark.parametrize("heavy", [False, True])
def test_errors_come_through(heavy):
    with pytest.raises(ZeroDivisionError):
        map_independent(lambda i: 1 // i, [1, 0], heavy=heavy)


def test_blas_is_held_to_one_thread():
    with single_blas_thread():
        assert {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"} <= {1}


def test_partitions_are_mapped_and_collected_in_order():
    partitions = LocalPartitions([np.arange(3.0), np.arange(5.0), np.empty(0)])
    doubled = partitions.map(np.multiply, 2.0)
    assert doubled.collect(np.sum) == [6.0, 20.0, 0.0]
    assert len(doubled) == 3
    assert partitions.collect(len) == [3, 5, 0]
