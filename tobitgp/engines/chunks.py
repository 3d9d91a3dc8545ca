"""Sums over chunks of rows in one process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

Chunk = TypeVar("Chunk")


def row_chunks(start: int, stop: int, size: int) -> list[slice]:
    """Cut ``start:stop`` into consecutive slices of at most ``size`` rows.

    Examples
    --------
    >>> row_chunks(2, 7, 3)
    [slice(2, 5, None), slice(5, 7, None)]
    """
    return [slice(i, min(i + size, stop)) for i in range(start, stop, size)]


def add_up(function: Callable[[Chunk], Sequence[Any]], chunks: Iterable[Chunk]) -> list[Any] | None:
    """Apply ``function`` to every chunk and add the results, position by position.

    Parameters
    ----------
    function : callable
        Takes a chunk, returns a sequence of numbers or arrays; what it returns is additive over rows.
    chunks : iterable

    Returns
    -------
    list or None
        The sums; None when there is no chunk.

    Examples
    --------
    >>> add_up(lambda rows: (sum(rows), len(rows)), [[1, 2], [3]])
    [6, 3]
    """
    sums: list[Any] | None = None
    for chunk in chunks:
        parts = function(chunk)
        sums = list(parts) if sums is None else [a + b for a, b in zip(sums, parts, strict=True)]
    return sums
