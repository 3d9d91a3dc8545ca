"""Functions over the partitions of rows, in this process or on a dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from tobitgp.engines.threads import hold_threads, map_independent, single_blas_thread
from tobitgp.errors import TobitGPError


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


_SMALL = 10_000  # bytes of arguments that may travel with every task


class DaskPieces:
    """Pieces held as futures of a ``distributed.Client``, worked on where they are.

    Whatever a task needs is the result of another task, or stands in its own description, so that the scheduler makes
    again what is lost with a worker; that is why nothing is scattered. Futures are released with the object.
    """

    __slots__ = ("_client", "_futures")

    def __init__(self, client: Any, futures: Sequence[Any]):
        self._client, self._futures = client, tuple(futures)

    @classmethod
    def from_values(cls, client: Any, values: Sequence[Any]) -> DaskPieces:
        """Pieces sent from here, each the result of a task of its own."""
        return cls(client, [client.submit(_identity, value, pure=False, key=_key("give")) for value in values])

    def __len__(self) -> int:
        return len(self._futures)

    def map(self, function: Callable[..., Any], *args: Any) -> DaskPieces:
        """``function(piece, *args)`` of every piece, kept on the workers.

        What the function raises is raised where the pieces are collected.
        """
        return DaskPieces(self._client, self._submit(function, args))

    def collect(self, function: Callable[..., Any], *args: Any) -> list[Any]:
        """``function(piece, *args)`` of every piece, in their order."""
        found = list(self._client.gather(self._submit(function, args)))
        for item in found:
            if isinstance(item, _Failure):
                raise item.error
        return found

    def at(self, places: Sequence[int]) -> DaskPieces:
        """Some of them, in the order given."""
        return DaskPieces(self._client, [self._futures[i] for i in places])

    def _submit(self, function: Callable[..., Any], args: tuple[Any, ...]) -> list[Any]:
        name = getattr(function, "__name__", "call")
        sent: Any = args
        if _size(args) > _SMALL:
            sent = self._client.submit(_identity, args, pure=False, key=_key("arguments"))
        return [
            self._client.submit(_call, function, piece, sent, pure=False, key=_key(name)) for piece in self._futures
        ]


def _identity(value: Any) -> Any:
    return value


@dataclass(frozen=True, slots=True)
class _Failure:
    """An error raised on purpose, which is a result: the cluster's log has no use for it."""

    error: TobitGPError


def _call(function: Callable[..., Any], piece: Any, args: tuple[Any, ...]) -> Any:
    """Run on a worker, whose threads are the cluster's to give out."""
    if isinstance(piece, _Failure):
        return piece
    with single_blas_thread(), hold_threads():
        try:
            return function(piece, *args)
        except TobitGPError as error:
            return _Failure(error.with_traceback(None))


def _key(name: str) -> str:
    from uuid import uuid4

    return f"tobitgp-{name.strip('_')}-{uuid4().hex}"


def _size(args: tuple[Any, ...]) -> int:
    """Bytes of arguments once pickled."""
    from distributed.protocol.pickle import dumps

    return len(dumps(args))
