"""Sums over rows, chunk by chunk."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any


def row_chunks(start: int, stop: int, size: int) -> list[slice]:
    """Cut ``start:stop`` into consecutive slices of at most ``size`` rows."""
    return [slice(i, min(i + size, stop)) for i in range(start, stop, size)]


def add_up(parts: Iterable[Sequence[Any]]) -> list[Any]:
    """Add numbers or arrays, position by position, in the order they come; an empty list where nothing comes."""
    total: list[Any] = []
    for part in parts:
        if len(part):
            total = [a + b for a, b in zip(total, part, strict=True)] if total else list(part)
    return total
