"""One thread for BLAS while anybody needs it, and the number from before when nobody does."""

import os
import threading
from types import SimpleNamespace

import numpy as np
import pytest
from support.processes import environment, run_python

from tobitgp.engines import threads

START = """
import os, random, sys, threading, time
from concurrent.futures import ThreadPoolExecutor
from threadpoolctl import threadpool_info
from tobitgp.engines import single_blas_thread

def blas():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}

if blas() != {2}:
    print("no BLAS of two threads here")
    sys.exit(77)
"""
OVERLAPS = """
def hold(seed):
    chance = random.Random(seed)
    for _ in range(20):
        try:
            with single_blas_thread(), single_blas_thread():
                seen.append(blas())
                time.sleep(0.002 * chance.random())
                if chance.random() < 0.3:
                    raise KeyError
        except KeyError:
            pass
seen = []
for _ in range(5):
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(hold, range(16)))
    assert blas() == {2}, blas()
assert len(seen) == 1600 and all(found == {1} for found in seen), seen
"""
OTHER = """
entered, leave = threading.Event(), threading.Event()
def hold():
    with single_blas_thread():
        entered.set()
        leave.wait()
other = threading.Thread(target=hold)
"""
FIRST_IN_FIRST_OUT = """
with single_blas_thread():
    other.start()
    entered.wait()
assert blas() == {1}, "the second still holds it"
leave.set()
other.join()
assert blas() == {2}
"""
SET_BY_ANOTHER = """
from threadpoolctl import threadpool_limits
with threadpool_limits(1):
    other.start()
    entered.wait()
assert blas() == {2}
leave.set()
other.join()
assert blas() == {2}, "the number found was no longer that of the process"
"""
FORKS = """
def child(expected):
    number = os.fork()
    if number == 0:
        code = 1
        try:
            found = blas()
            with single_blas_thread():
                inside = blas()
            code = int((found, inside, blas()) != (expected, {1}, expected))
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(number, 0)[1])

other.start()
entered.wait()
assert child({2}) == 0, "the thread that held it is not in the child"
with single_blas_thread():
    assert child({1}) == 0, "the child is where its parent stood"
leave.set()
other.join()
assert blas() == {2}
"""


def run(script):
    done = run_python("-c", START + script, env=environment(OPENBLAS_NUM_THREADS="2"), timeout=60)
    if done.returncode == 77:
        pytest.skip(done.stdout)
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_blas_has_its_threads_back_after_the_last_hold():
    run(OTHER + SET_BY_ANOTHER + OTHER + FIRST_IN_FIRST_OUT + OVERLAPS)


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forks")
def test_a_fork_keeps_only_the_holds_of_its_own_thread():
    run(OTHER + FORKS)


class Library(threading.local):
    """A BLAS over OpenMP, each thread of which has a number of its own."""

    user_api, internal_api, threading_layer, number = "blas", "openblas", "openmp", 4

    def get_num_threads(self):
        return self.number

    def set_num_threads(self, number):
        self.number = number


def test_numbers_that_belong_to_threads_are_restored_in_each(monkeypatch):
    library = Library()
    monkeypatch.setattr(threads, "_controller", lambda: SimpleNamespace(lib_controllers=[library]))
    monkeypatch.setattr(threads, "_here", threading.local())
    seen = []

    def hold():
        with threads.single_blas_thread():
            seen.append(library.number)
            barrier.wait(10)
        seen.append(library.number)

    barrier = threading.Barrier(2)
    other = threading.Thread(target=hold)
    other.start()
    hold()
    other.join()
    assert sorted(seen) == [1, 1, 4, 4]


def test_threads_are_as_quiet_about_overflow_as_their_caller(monkeypatch):
    monkeypatch.setattr(threads, "_processors", lambda: 2)
    with np.errstate(over="ignore"):
        assert threads.map_independent(np.exp, [1e3, 2e3], heavy=True) == [np.inf, np.inf]
