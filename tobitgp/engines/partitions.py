"""Functions over partitions of rows, in this process or on a dask cluster, and arrays beyond a limit of memory.

Functions that are mapped are pure and defined at the top of a module: a partition that is lost with its machine is made
again from those before it. What is collected is brought here in the order of the partitions: small things only.
"""

from __future__ import annotations

import dataclasses
import os
import shutil
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from tobitgp.engines.tall_matrices import is_mapped
from tobitgp.engines.threads import hold_threads, map_independent, single_blas_thread
from tobitgp.engines.worker_memory import keep_pages
from tobitgp.errors import ClusterError, TobitGPError


@dataclass(frozen=True, slots=True)
class LocalPartitions:
    """Partitions in the memory of this process, worked on in threads where there are several."""

    items: Sequence[Any]

    def __len__(self) -> int:
        return len(self.items)

    def map(self, function: Callable[..., Any], *args: Any) -> LocalPartitions:
        """``function(partition, *args)`` of every partition."""
        return LocalPartitions(self.collect(function, *args))

    def collect(self, function: Callable[..., Any], *args: Any) -> list[Any]:
        """``function(partition, *args)`` of every partition, in their order."""
        return map_independent(lambda partition: function(partition, *args), self.items, heavy=len(self.items) > 1)

    def fold(self, join: Callable[..., Any], function: Callable[..., Any], *args: Any) -> Any:
        """``join`` of the list of ``function(partition, *args)``."""
        return join(self.collect(function, *args))

    def space(self, most: int) -> int:
        """Bytes that all partitions may keep together, at most so many on a machine."""
        return most

    def at(self, places: Sequence[int]) -> LocalPartitions:
        """Some of them, in the order given."""
        return LocalPartitions([self.items[i] for i in places])


_SMALL = 10_000  # bytes of arguments that may travel with every task
_JOINED = 8  # values that one task joins
_SHARE = 4  # of the memory of a worker, one part in so many may be kept


class DaskPartitions:
    """Partitions held as futures of a ``distributed.Client``, worked on where they are.

    Inputs of a task are results of other tasks, or given in its description, so that the scheduler makes
    again what is lost with a worker; that is why nothing is scattered. Futures are released with the object.
    """

    __slots__ = ("_client", "_futures")

    def __init__(self, client: Any, futures: Sequence[Any]):
        self._client, self._futures = client, tuple(futures)

    @classmethod
    def from_values(cls, client: Any, values: Sequence[Any]) -> DaskPartitions:
        """Partitions sent from here, each the result of a separate task."""
        return cls(client, [client.submit(_identity, value, pure=False, key=_key("give")) for value in values])

    def __len__(self) -> int:
        return len(self._futures)

    def map(self, function: Callable[..., Any], *args: Any) -> DaskPartitions:
        """``function(partition, *args)`` of every partition, kept on the workers; errors are raised by ``collect``."""
        return DaskPartitions(self._client, self._submit(_hold, function, args))

    def collect(self, function: Callable[..., Any], *args: Any) -> list[Any]:
        """``function(partition, *args)`` of every partition, in their order."""
        return self._gather(self._submit(_call, function, args))

    def fold(self, join: Callable[..., Any], function: Callable[..., Any], *args: Any) -> Any:
        """``join`` of the list of ``function(partition, *args)``, a few at a time on the workers.

        Values that grow with the rows of a partition, but not with their number, are not all sent here.
        """
        futures = self._submit(_call, function, args)
        while len(futures) > _JOINED:
            several = [futures[i : i + _JOINED] for i in range(0, len(futures), _JOINED)]
            with _connected(self._client):
                futures = [self._client.submit(_join, join, few, pure=False, key=_key("join")) for few in several]
        return join(self._gather(futures))

    def space(self, most: int) -> int:
        """Bytes that all partitions may keep together, at most so many on a worker, and a share of its memory."""
        with _connected(self._client):
            limits = self._client.run_on_scheduler(_memory_limits)
        return sum(min(most, limit // _SHARE) if limit else most for limit in limits)

    def at(self, places: Sequence[int]) -> DaskPartitions:
        """Some of them, in the order given."""
        return DaskPartitions(self._client, [self._futures[i] for i in places])

    def _gather(self, futures: list[Any]) -> list[Any]:
        with _connected(self._client):
            found = list(self._client.gather(futures))
        for item in found:
            if isinstance(item, _Failure):
                raise item.error
        return found

    def _submit(self, run: Callable[..., Any], function: Callable[..., Any], args: tuple[Any, ...]) -> list[Any]:
        name = getattr(function, "__name__", "call")
        sent: Any = args
        with _connected(self._client):
            if _size(args) > _SMALL:
                sent = self._client.submit(_identity, args, pure=False, key=_key("arguments"))
            return [
                self._client.submit(run, function, partition, sent, pure=False, key=_key(name))
                for partition in self._futures
            ]


Partitions = LocalPartitions | DaskPartitions


@contextmanager
def _connected(client: Any) -> Iterator[None]:
    """Say in plain words that the cluster is lost, or that its workers are."""
    from concurrent.futures import CancelledError

    from distributed import KilledWorker

    try:
        yield
    except KilledWorker as error:
        raise ClusterError(
            "A task ended several workers of the dask cluster one after the other, probably for lack of memory. "
            "Use workers with more memory, or smaller partitions."
        ) from error
    except Exception as error:
        if client.status == "running" and not isinstance(error, CancelledError):
            raise
        raise ClusterError(
            "The connection to the dask cluster is lost: its scheduler does not answer. Start a cluster, and fit again "
            "with its client."
        ) from error


def _memory_limits(dask_scheduler: Any) -> list[int]:
    """Run on the scheduler: the memory that each worker may use; 0 where there is no limit."""
    return [int(worker.memory_limit or 0) for worker in dask_scheduler.workers.values()]


def _identity(value: Any) -> Any:
    return value


def _join(join: Callable[..., Any], found: list[Any]) -> Any:
    """Run on a worker; the first failure stands for all."""
    return next((item for item in found if isinstance(item, _Failure)), None) or join(found)


@dataclass(frozen=True, slots=True)
class _Failure:
    """An error raised on purpose, which is a result: the cluster's log has no use for it."""

    error: TobitGPError


@dataclass(frozen=True, slots=True)
class _Held:
    """What stays with a worker, which says how large it is: one that seems small is sent about."""

    value: Any

    def __sizeof__(self) -> int:
        sizes: dict[int, int] = {}
        _note_sizes(self.value, sizes)
        return sum(sizes.values())


def _note_sizes(value: Any, sizes: dict[int, int]) -> None:
    """Note the bytes of all arrays in a value, by their identity: memory that several share counts once."""
    if isinstance(value, np.ndarray):
        while isinstance(value.base, np.ndarray):
            value = value.base
        sizes[id(value)] = int(value.nbytes)
    elif isinstance(value, dict):
        for item in value.values():
            _note_sizes(item, sizes)
    elif isinstance(value, tuple | list):
        for item in value:
            _note_sizes(item, sizes)
    else:
        for name in _fields(value.__class__):
            _note_sizes(getattr(value, name), sizes)


@cache
def _fields(kind: Any) -> tuple[str, ...]:
    """Names of the fields of a dataclass, none of another class."""
    return tuple(field.name for field in dataclasses.fields(kind)) if dataclasses.is_dataclass(kind) else ()


def _hold(function: Callable[..., Any], partition: Any, args: tuple[Any, ...]) -> Any:
    """Run on a worker, the result to stay there."""
    found = _call(function, partition, args)
    return found if isinstance(found, _Failure) else _Held(found)


def _call(function: Callable[..., Any], partition: Any, args: tuple[Any, ...]) -> Any:
    """Run on a worker, whose threads are the cluster's to give out."""
    if isinstance(partition, _Failure):
        return partition
    partition = partition.value if isinstance(partition, _Held) else partition
    with single_blas_thread(), hold_threads(), keep_pages():
        try:
            return function(partition, *args)
        except TobitGPError as error:
            return _Failure(error.with_traceback(None))


def _key(name: str) -> str:
    from uuid import uuid4

    return f"tobitgp-{name.strip('_')}-{uuid4().hex}"


def _size(args: tuple[Any, ...]) -> int:
    """Bytes of arguments once pickled."""
    from distributed.protocol.pickle import dumps

    return len(dumps(args))


LIMIT = 2**30
_ALIGN = 64


class Store:
    """Keeps arrays in memory up to a limit, and beyond that in files that are deleted with the store."""

    def __init__(self, limit: int | None = None):
        self._limit = LIMIT if limit is None else limit
        self._held: dict[str, int] = {}
        self.folder: Path | None = None  # where the files are; None before there are any
        self._files = 0
        self.closed = False  # whether what was kept is gone
        self._lock = threading.Lock()

    def keep(self, stage: str, value: Any) -> Any:
        """The value, its arrays mapped read-only from a file where memory is used up."""
        arrays: dict[int, Any] = {}

        def note(array: Any) -> Any:
            if array.dtype != object and array.size and not is_mapped(array):
                arrays[id(array)] = array
            return array

        _with_arrays(value, note)
        size = sum(array.nbytes for array in arrays.values())
        with self._lock:
            if sum(self._held.values()) + size <= self._limit:
                self._held[stage] = self._held.get(stage, 0) + size
                return value
            path = self._next_file(stage)
        mapped = _write(path, arrays)
        return _with_arrays(value, lambda array: mapped.get(id(array), array))

    def join(self, stage: str, arrays: Sequence[Any]) -> Any:
        """Arrays after one another, in a file where memory is used up."""
        size = sum(array.nbytes for array in arrays)
        with self._lock:
            if not size or sum(self._held.values()) + size <= self._limit:
                self._held[stage] = self._held.get(stage, 0) + size
                return np.concatenate(arrays)
            path = self._next_file(stage)
        with path.open("wb") as file:
            for array in arrays:
                file.write(np.ascontiguousarray(array).data)
        return np.asarray(_map(path)).view(arrays[0].dtype).reshape(-1, *arrays[0].shape[1:])

    def forget(self, stage: str) -> None:
        """Remove the files of a stage; what was kept in it is not to be used any more."""
        with self._lock:
            self._held.pop(stage, None)
            if self.folder is not None:
                shutil.rmtree(self.folder / stage, ignore_errors=True)

    def close(self) -> None:
        """Remove all files; what was kept is not to be used any more."""
        self.closed = True
        if self.folder is not None:
            shutil.rmtree(self.folder, ignore_errors=True)

    def _next_file(self, stage: str) -> Path:
        if self.folder is None:
            self.folder = Path(tempfile.mkdtemp(prefix="tobitgp-"))
            weakref.finalize(self, shutil.rmtree, self.folder, ignore_errors=True)
        (self.folder / stage).mkdir(exist_ok=True)
        self._files += 1
        return self.folder / stage / f"{self._files}.bin"


def _write(path: Path, arrays: dict[int, Any]) -> dict[int, Any]:
    """Write all arrays into one file, and map it once: every mapping holds a file open."""
    starts, end = {}, 0
    with path.open("wb") as file:
        for key, array in arrays.items():
            file.write(b"\0" * (-end % _ALIGN))
            starts[key] = end + -end % _ALIGN
            file.write(np.ascontiguousarray(array.T if _by_columns(array) else array).data)
            end = starts[key] + array.nbytes
    mapped = _map(path)
    return {
        key: np.asarray(mapped[starts[key] : starts[key] + array.nbytes])
        .view(array.dtype)
        .reshape(array.shape, order="F" if _by_columns(array) else "C")
        for key, array in arrays.items()
    }


def _by_columns(array: Any) -> bool:
    """Whether the columns of an array are in one piece each, which decides how sums over rows are rounded."""
    return bool(array.flags.f_contiguous and not array.flags.c_contiguous)


def _map(path: Path) -> Any:
    """The bytes of a file, read-only."""
    mapped = np.memmap(path, mode="r")
    if os.name == "posix":  # a name is not needed any more, and a process that is killed leaves nothing behind
        path.unlink()
    return mapped


def _with_arrays(value: Any, change: Callable[[Any], Any]) -> Any:
    """The value with its arrays changed."""
    if isinstance(value, np.ndarray):
        return change(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = dataclasses.fields(value)
        return type(value)(**{field.name: _with_arrays(getattr(value, field.name), change) for field in fields})
    if isinstance(value, dict):
        return {key: _with_arrays(item, change) for key, item in value.items()}
    if isinstance(value, tuple | list):
        items = [_with_arrays(item, change) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return value
