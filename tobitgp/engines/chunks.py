"""Sums over rows, chunk by chunk."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any


def row_chunks(start: int, stop: int, size: int) -> list[slice]:
    """Cut ``start:stop`` into consecutive slices of at most ``size`` rows.

    Examples
    --------
    >>> row_chunks(2, 7, 3)
    [slice(2, 5, None), slice(5, 7, None)]
    """
    return [slice(i, min(i + size, stop)) for i in range(start, stop, size)]


def add_up(parts: Iterable[Sequence[Any]]) -> list[Any]:
    """Add numbers or arrays, position by position, in the order they come; an empty list where nothing comes.

    Examples
    --------
    >>> add_up((sum(rows), len(rows)) for rows in [[1, 2], [3]])
    [6, 3]

    A part without rows has no sums, and adds nothing.

    >>> add_up([[1, 2], [], [3, 4]])
    [4, 6]
    """
    total: list[Any] = []
    for part in parts:
        if len(part):
            total = [a + b for a, b in zip(total, part, strict=True)] if total else list(part)
    return total
