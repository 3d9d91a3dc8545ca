"""A fit of any kind in a file: what it was made of and found, without its training rows."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from tobitgp.errors import DataError, SpecError
from tobitgp.storage.archive import write_archive
from tobitgp.storage.classes import fit_codec
from tobitgp.storage.codec import Surroundings

FORMAT, VERSION = "tobitgp fit", 3


def write_fit(parts: Any, path: str | os.PathLike[str]) -> None:
    """Write what a fit of any kind was made of and found; see :meth:`tobitgp.GPResults.save`."""
    place = _path(path)
    arrays = list[np.ndarray[Any, Any]]()
    fit = fit_codec().encode(parts.without_rows(), arrays, Surroundings())
    document = {"format": FORMAT, "version": VERSION, "written_by": f"tobitgp {_version()}", "fit": fit}
    try:
        if place.is_dir():
            raise DataError(f"{place} is a folder. Give the name of a file in it, e.g. fit.tgp.")
        if not place.absolute().parent.is_dir():
            raise DataError(f"{place} cannot be written: there is no folder {place.parent}.")
        write_archive(place, document, arrays)
    except OSError as error:
        raise DataError(f"{place} cannot be written: {error.strerror or error}.") from error


def _path(path: Any) -> Path:
    if not isinstance(path, (str, os.PathLike)) or isinstance(os.fspath(path), bytes) or not os.fspath(path):
        raise SpecError(f"{path!r:.200} is not the name of a file. Give a text or a path.")
    if "\0" in os.fspath(path):
        raise SpecError(f"{os.fspath(path)!r:.200}: a name of a file must not contain a null character.")
    return Path(path)


def _version() -> str:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("tobitgp")
    except PackageNotFoundError:
        return "(not installed)"
