"""Threads: one for BLAS inside a pass, several over independent evaluations."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import TypeVar

from threadpoolctl import ThreadpoolController

Item = TypeVar("Item")
Result = TypeVar("Result")


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


@contextmanager
def single_blas_thread() -> Iterator[None]:
    """Hold BLAS to one thread: its own threads cost more than they bring at the sizes of a pass."""
    with _controller().limit(limits=1, user_api="blas"):
        yield


def map_independent(function: Callable[[Item], Result], items: Sequence[Item], *, heavy: bool) -> list[Result]:
    """``[function(i) for i in items]``, in threads where each call is heavy enough to pay for them.

    Examples
    --------
    >>> map_independent(abs, [-1, 2], heavy=True)
    [1, 2]
    """
    workers = min(os.process_cpu_count() if hasattr(os, "process_cpu_count") else os.cpu_count() or 1, len(items))
    if not heavy or workers < 2:
        return [function(item) for item in items]
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(function, items))
