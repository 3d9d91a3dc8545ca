"""Arrays beyond a limit of memory, kept in files and mapped."""

from __future__ import annotations

import dataclasses
import mmap
import os
import shutil
import tempfile
import threading
import weakref
from pathlib import Path
from typing import Any

import numpy as np

LIMIT = 2**30
_ALIGN = 64


class Store:
    """Keeps what is given to it: in memory up to a limit, its arrays in files beyond.

    The files lie in a temporary folder of their own, which goes with the store at the latest.
    """

    def __init__(self, limit: int | None = None):
        self._limit = LIMIT if limit is None else limit
        self._held: dict[str, int] = {}
        self._folder: Path | None = None
        self._files = 0
        self._closed = False
        self._lock = threading.Lock()

    @property
    def folder(self) -> Path | None:
        """Where the files are; None before there are any."""
        return self._folder

    @property
    def closed(self) -> bool:
        """Whether what was kept is gone."""
        return self._closed

    def keep(self, stage: str, value: Any) -> Any:
        """The value, its arrays mapped read-only from a file where memory is used up."""
        arrays = _arrays(value)
        size = sum(array.nbytes for array in arrays.values())
        with self._lock:
            if sum(self._held.values()) + size <= self._limit:
                self._held[stage] = self._held.get(stage, 0) + size
                return value
            path = self._next_file(stage)
        return _swap(value, _write(path, arrays))

    def forget(self, stage: str) -> None:
        """Remove the files of a stage; what was kept in it is not to be used any more."""
        with self._lock:
            self._held.pop(stage, None)
            if self._folder is not None:
                shutil.rmtree(self._folder / stage, ignore_errors=True)

    def close(self) -> None:
        """Remove all files; what was kept is not to be used any more."""
        self._closed = True
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def _next_file(self, stage: str) -> Path:
        if self._folder is None:
            self._folder = Path(tempfile.mkdtemp(prefix="tobitgp-"))
            weakref.finalize(self, shutil.rmtree, self._folder, ignore_errors=True)
        (self._folder / stage).mkdir(exist_ok=True)
        self._files += 1
        return self._folder / stage / f"{self._files}.bin"


def _arrays(value: Any) -> dict[int, Any]:
    """Arrays of numbers inside a value, by identity."""
    found: dict[int, Any] = {}
    stack = [value]
    while stack:
        item = stack.pop()
        if isinstance(item, np.ndarray):
            if item.dtype != object and item.size and not _is_mapped(item):
                found[id(item)] = item
        elif dataclasses.is_dataclass(item) and not isinstance(item, type):
            stack += [getattr(item, field.name) for field in dataclasses.fields(item)]
        elif isinstance(item, dict):
            stack += item.values()
        elif isinstance(item, tuple | list):
            stack += item
    return found


def _is_mapped(array: Any) -> bool:
    base = array
    while isinstance(base, np.ndarray):
        base = base.base
    return isinstance(base, mmap.mmap)


def _write(path: Path, arrays: dict[int, Any]) -> dict[int, Any]:
    """Write all arrays into one file, and map it once: every mapping holds a file open."""
    starts, end = {}, 0
    with path.open("wb") as file:
        for key, array in arrays.items():
            file.write(b"\0" * (-end % _ALIGN))
            starts[key] = end + -end % _ALIGN
            file.write(np.ascontiguousarray(array).data)
            end = starts[key] + array.nbytes
    mapped = np.memmap(path, mode="r")
    if os.name == "posix":  # a name is not needed any more, and a process that is killed leaves nothing behind
        path.unlink()
    return {
        key: np.asarray(mapped[starts[key] : starts[key] + array.nbytes]).view(array.dtype).reshape(array.shape)
        for key, array in arrays.items()
    }


def _swap(value: Any, mapped: dict[int, Any]) -> Any:
    """The value with its arrays exchanged."""
    if isinstance(value, np.ndarray):
        return mapped.get(id(value), value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: _swap(getattr(value, field.name), mapped) for field in dataclasses.fields(value)}
        return type(value)(**fields)
    if isinstance(value, dict):
        return {key: _swap(item, mapped) for key, item in value.items()}
    if isinstance(value, tuple | list):
        items = [_swap(item, mapped) for item in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    return value
