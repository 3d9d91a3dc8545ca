"""Files that are written as a whole or not at all."""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

_LEFT = 3600.0  # seconds after which a temporary file is considered abandoned
_SHOWN = 60  # characters of a name, which leave space below 255 bytes


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """Open a temporary file next to the target; it replaces the target once everything is written."""
    target = Path(os.path.realpath(path))
    if target.exists() and not target.is_file():
        raise OSError("this is not an ordinary file")
    temporary = _temporary(target)
    try:
        with temporary.open("xb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        with contextlib.suppress(OSError):
            shutil.copymode(target, temporary)
        os.replace(temporary, target)
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()


def ordinary(path: Path) -> bool:
    """Whether a path is a regular file, a folder, or does not exist; a device or a pipe is not ordinary."""
    return path.is_file() or path.is_dir() or not path.exists()


def _temporary(target: Path) -> Path:
    """A temporary name next to a target: always the same, so that killed processes leave at most one file.

    If another process is writing the same target, the name is a random one.
    """
    usual = hashlib.sha256(os.fsencode(target.name)).hexdigest()[:8]
    place = target.with_name(f".{target.name[:_SHOWN]}.{usual}.tmp")
    with contextlib.suppress(FileNotFoundError):
        if time.time() - place.lstat().st_mtime < _LEFT:
            return target.with_name(f".{target.name[:_SHOWN]}.{secrets.token_hex(4)}.tmp")
        place.unlink()
    return place
