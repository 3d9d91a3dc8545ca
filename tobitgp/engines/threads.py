"""Threads: one for BLAS inside a pass, several over independent work."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import TypeVar

from threadpoolctl import ThreadpoolController

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


if hasattr(os, "register_at_fork"):  # threads do not survive a fork
    os.register_at_fork(after_in_child=_pool.cache_clear)


@contextmanager
def single_blas_thread() -> Iterator[None]:
    """Hold BLAS to one thread: its own threads cost more than they bring at the sizes of a pass."""
    with _controller().limit(limits=1, user_api="blas"):
        yield


@contextmanager
def hold_threads() -> Iterator[None]:
    """Let calls of ``map_independent`` from this thread run one after the other: somebody else fills the cores."""
    before = getattr(_here, "in_pool", False)
    _here.in_pool = True
    try:
        yield
    finally:
        _here.in_pool = before


def map_independent(function: Callable[[Item], Result], items: Sequence[Item], *, heavy: bool) -> list[Result]:
    """``[function(i) for i in items]``, in threads where each call is heavy enough to pay for them.

    Calls made from such a thread run one after the other: the cores are taken.

    Examples
    --------
    >>> map_independent(abs, [-1, 2], heavy=True)
    [1, 2]
    """
    if not heavy or min(_processors(), len(items)) < 2 or getattr(_here, "in_pool", False):
        return [function(item) for item in items]
    return list(_pool().map(function, items))
