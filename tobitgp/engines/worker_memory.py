"""Memory of a worker of a cluster: pages that are freed within a task stay with the process until the task ends.

Dask starts workers with a small ``MALLOC_TRIM_THRESHOLD_``, so that glibc gives freed memory back at once. Passes over
rows allocate and free a few megabytes again and again, and would spend half of their time on these pages.
"""

from __future__ import annotations

import ctypes
import os
import threading
from contextlib import AbstractContextManager
from functools import cache
from typing import Any

_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # of glibc's malloc.h
_TRIM, _MMAP = 2**28, 2**25  # within a task
_DEFAULT_MMAP = 2**17


class _PageHold:
    """Freed pages stay for as long as any thread of this process needs it."""

    def __init__(self) -> None:
        self.lock, self.count = threading.Lock(), 0

    def __enter__(self) -> None:
        with self.lock:
            if self.count == 0:
                _set(_TRIM, _MMAP)
            self.count += 1

    def __exit__(self, *_: object) -> None:
        with self.lock:
            self.count -= 1
            if self.count == 0:
                trim, mmap = os.environ.get("MALLOC_TRIM_THRESHOLD_"), os.environ.get("MALLOC_MMAP_THRESHOLD_")
                _set(int(trim or 0), int(mmap or _DEFAULT_MMAP))


_hold = _PageHold()


def keep_pages() -> AbstractContextManager[None]:
    """Keep pages that are freed; does nothing where the process has glibc's own thresholds, which adapt."""
    return _hold


@cache
def _glibc() -> Any:
    """The C library of this process, None where it is not glibc or the thresholds are not given."""
    if "MALLOC_TRIM_THRESHOLD_" not in os.environ:
        return None
    try:
        library = ctypes.CDLL(None)
    except (OSError, TypeError):  # no C library of this process, as on Windows
        return None
    return library if hasattr(library, "mallopt") else None


def _set(trim: int, mmap: int) -> None:
    if _glibc() is not None:
        _glibc().mallopt(_M_TRIM_THRESHOLD, trim)
        _glibc().mallopt(_M_MMAP_THRESHOLD, mmap)
