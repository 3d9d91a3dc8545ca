"""Chunks of rows, and independent partitions of work on threads."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from typing import Any, TypeVar

import numpy as np
from threadpoolctl import ThreadpoolController


def row_chunks(start: int, stop: int, size: int) -> list[slice]:
    """Cut ``start:stop`` into consecutive slices of at most ``size`` rows."""
    return [slice(i, min(i + size, stop)) for i in range(start, stop, size)]


def add_up(parts: Iterable[Sequence[Any]]) -> list[Any]:
    """Add numbers, arrays or tuples of these, position by position, in the order they come; [] where nothing comes."""
    total: list[Any] = []
    for part in parts:
        if len(part):
            total = [_sum(a, b) for a, b in zip(total, part, strict=True)] if total else list(part)
    return total


def _sum(a: Any, b: Any) -> Any:
    return tuple(map(_sum, a, b)) if isinstance(a, tuple) else a + b


Item = TypeVar("Item")
Result = TypeVar("Result")

_here = threading.local()


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(_processors(), "tobitgp", _mark)


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _mark() -> None:
    _here.in_pool = True


class _Hold:
    """BLAS at one thread for as long as any thread of this process needs it there.

    The number of BLAS threads belongs to the process: the first block that is entered remembers it, and the last block
    that is left restores it, in any order. If BLAS uses OpenMP, each thread has its own number.
    """

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.count = 0
        self.before: list[tuple[Any, int]] = []

    def __enter__(self) -> None:
        holds = getattr(_here, "holds", 0)
        with self.lock:
            if self.count == 0:
                self.before = _limit(own=False)
            if holds == 0:
                _here.before = _limit(own=True)
            self.count += 1
            _here.holds = holds + 1

    def __exit__(self, *_: object) -> None:
        with self.lock:
            self.count -= 1
            _here.holds -= 1
            if _here.holds == 0:
                _restore(_here.before)
            if self.count == 0:
                _restore(self.before)

    def forked(self) -> None:
        """Forget the threads that did not survive a fork, whatever they were in the middle of."""
        self.lock = threading.Lock()
        self.count = getattr(_here, "holds", 0)
        if self.count == 0:
            _restore(self.before)


def _limit(*, own: bool) -> list[tuple[Any, int]]:
    """Set the libraries whose number belongs to the thread, or to the process, to 1; those set, and their numbers."""
    changed = []
    for library in _controller().lib_controllers:
        belongs_to_thread = library.internal_api == "openblas" and library.threading_layer == "openmp"
        if library.user_api == "blas" and belongs_to_thread == own and (library.get_num_threads() or 1) > 1:
            changed.append((library, library.get_num_threads()))
    for library, _ in changed:
        _set_threads(library, 1)
    return changed


def _restore(before: list[tuple[Any, int]]) -> None:
    """Restore the numbers of the libraries, except those that other code has set since."""
    while before:
        library, number = before.pop()
        if library.get_num_threads() == 1:
            _set_threads(library, number)


def _set_threads(library: Any, number: int) -> None:
    library.set_num_threads(number)
    # threadpoolctl 3.8 heeds one thread only until that says it is done, and ours may leave in any order.
    if hasattr(library, "clear_controlling_thread"):
        library.clear_controlling_thread()


_hold = _Hold()


def _forked() -> None:
    _pool.cache_clear()
    _hold.forked()


if hasattr(os, "register_at_fork"):  # threads do not survive a fork
    os.register_at_fork(after_in_child=_forked)


def single_blas_thread() -> AbstractContextManager[None]:
    """Hold BLAS to one thread: its own cost more than they bring at the sizes of a pass; holds may nest and overlap."""
    return _hold


@contextmanager
def hold_threads() -> Iterator[None]:
    """Run calls of ``map_independent`` from this thread sequentially, because other work fills the cores."""
    before = getattr(_here, "in_pool", False)
    _here.in_pool = True
    try:
        yield
    finally:
        _here.in_pool = before


def map_independent(function: Callable[[Item], Result], items: Sequence[Item], *, heavy: bool) -> list[Result]:
    """``[function(i) for i in items]``, in threads where each call is heavy enough to pay for them.

    Calls made from such a thread run one after the other: the cores are taken. What numpy is to say of overflow is as
    in the thread that calls.
    """
    if not heavy or min(_processors(), len(items)) < 2 or getattr(_here, "in_pool", False):
        return [function(item) for item in items]
    state = np.geterr()

    def call(item: Item) -> Result:
        with np.errstate(**state):
            return function(item)

    return list(_pool().map(call, items))
