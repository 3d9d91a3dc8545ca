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

_LEFT = 3600.0  # seconds after which what a process was writing is taken for left behind
_SHOWN = 60  # characters of a name, which leave space below 255 bytes


@contextlib.contextmanager
def whole_file(path: Path) -> Iterator[BinaryIO]:
    """Give a file beside its place, which is moved there once all is written."""
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
    """Whether a path leads to a file that has an end, or to a folder or nothing, of which the system says so itself."""
    return path.is_file() or path.is_dir() or not path.exists()


def _temporary(target: Path) -> Path:
    """A name beside a target: always the same, so that a process that was killed leaves no more than one file.

    Another one where somebody else is writing the same target now.
    """
    usual = hashlib.sha256(os.fsencode(target.name)).hexdigest()[:8]
    place = target.with_name(f".{target.name[:_SHOWN]}.{usual}.tmp")
    with contextlib.suppress(FileNotFoundError):
        if time.time() - place.lstat().st_mtime < _LEFT:
            return target.with_name(f".{target.name[:_SHOWN]}.{secrets.token_hex(4)}.tmp")
        place.unlink()
    return place
