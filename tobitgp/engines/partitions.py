"""Partitions of rows that may lie elsewhere, and how sums over their rows are computed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from tobitgp.engines.threads import map_independent


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


class Pieces(Protocol):
    """Partitions that are never brought together.

    Functions that are mapped are pure and defined at the top of a module: a piece that is lost with its machine is made
    again from those before it.
    """

    def __len__(self) -> int: ...

    def map(self, function: Callable[..., Any], *args: Any) -> Pieces:
        """``function(piece, *args)`` of every piece, kept where the piece is."""
        ...

    def collect(self, function: Callable[..., Any], *args: Any) -> list[Any]:
        """``function(piece, *args)`` of every piece, brought here in their order; small things only."""
        ...

    def at(self, places: Sequence[int]) -> Pieces:
        """Some of them."""
        ...


@dataclass(frozen=True, slots=True)
class LocalPieces:
    """Partitions in the memory of this process, worked on in threads where there are several."""

    items: Sequence[Any]

    def __len__(self) -> int:
        return len(self.items)

    def map(self, function: Callable[..., Any], *args: Any) -> LocalPieces:
        """``function(piece, *args)`` of every piece."""
        return LocalPieces(self.collect(function, *args))

    def collect(self, function: Callable[..., Any], *args: Any) -> list[Any]:
        """``function(piece, *args)`` of every piece, in their order."""
        return map_independent(lambda piece: function(piece, *args), self.items, heavy=len(self.items) > 1)

    def at(self, places: Sequence[int]) -> LocalPieces:
        """Some of them, in the order given."""
        return LocalPieces([self.items[i] for i in places])
