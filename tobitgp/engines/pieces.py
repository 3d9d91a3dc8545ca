"""An ordered collection of things that may live elsewhere: what a computation over many rows is written against."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from tobitgp.engines.threads import map_independent


class Pieces(Protocol):
    """Pieces that are never brought together.

    Functions that are mapped are pure and defined at the top of a module: a piece that is lost with its machine is made
    again from those before it.
    """

    def __len__(self) -> int: ...

    def map(self, function: Callable[..., Any], *args: Any) -> Pieces:
        """``function(piece, *args)`` of every piece, kept where the piece is."""
        ...

    def collect(self, function: Callable[..., Any], *args: Any) -> list[Any]:
        """``function(piece, *args)`` of every piece, brought here in the order of the pieces; small things only."""
        ...

    def at(self, places: Sequence[int]) -> Pieces:
        """Some of them."""
        ...


@dataclass(frozen=True, slots=True)
class LocalPieces:
    """Pieces in the memory of this process, worked on in threads where there are several."""

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
