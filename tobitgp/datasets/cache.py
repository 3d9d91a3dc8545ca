"""The folder that keeps downloaded tables: what lies there is checked, what does not is fetched whole or not at all."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import zlib
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path

from tobitgp.datasets.downloads import Source
from tobitgp.errors import DataError
from tobitgp.files import whole_file

TIMEOUT = 30.0


def read_tables(name: str, source: Source) -> list[bytes]:
    """Read the tables of a data set, unpacked and checked, from the cache if they are there."""
    folder = cache_folder()
    kept = {file: _read_kept(folder / file, digest) for file, digest in source.tables.items()}
    found = [table for table in kept.values() if table is not None]
    if len(found) == len(kept):
        return found

    raw = _read_installed(source)
    downloaded = raw is None
    if raw is None:
        _check_needs(name, source, folder)
        raw = [_download(name, url, source, folder) for url in source.urls]
    files = _make_tables(name, raw, source)
    if downloaded:
        _store({file: content for file, content in files.items() if kept[file] is None}, name, folder)
    return [_unpack(file, content) for file, content in files.items()]


def cache_folder() -> Path:
    """Folder of the tables: what ``TOBITGP_DATA`` names, else the user's cache."""
    named = os.environ.get("TOBITGP_DATA")
    if named:
        return Path(named).expanduser()
    import pooch

    return Path(pooch.os_cache("tobitgp"))


def _read_kept(path: Path, expected: str) -> bytes | None:
    try:
        found = _unpack(path.name, path.read_bytes())
    except FileNotFoundError:
        return None
    except OSError as error:
        raise DataError(f"{str(path)!r} cannot be read: {error.strerror or error}.") from None
    if _digest(found) != expected:
        raise DataError(
            f"{str(path)!r} is not the file that belongs there: its table has SHA-256 {_digest(found)}, expected is "
            f"{expected}. Delete it, and fetch() gets it anew."
        )
    return found


def _read_installed(source: Source) -> list[bytes] | None:
    """Give the published file as another package has it; its version may have another one."""
    if source.installed is None:
        return None
    package, _, inside = source.installed.partition("/")
    spec = find_spec(package)
    for folder in [] if spec is None else list(spec.submodule_search_locations or ()):
        path = Path(folder) / inside
        if path.is_file() and _digest(content := path.read_bytes()) == source.raw_sha256:
            return [content]
    return None


def _check_needs(name: str, source: Source, folder: Path) -> None:
    if source.needs is not None and find_spec(source.needs) is None:
        raise DataError(
            f"Data set {name!r} is not in {str(folder)!r}, and {source.urls[0]} gives it in a format that the package "
            f"{source.needs} reads: pip install {source.needs}, then fetch it again. Without that, copy "
            f"{' and '.join(source.tables)} there from a machine on which fetch({name!r}) has run."
        )


def _download(name: str, url: str, source: Source, folder: Path) -> bytes:
    import pooch

    buffer = io.BytesIO()
    try:
        pooch.HTTPDownloader(timeout=TIMEOUT)(url, buffer, None)
    except OSError as error:
        status = getattr(getattr(error, "response", None), "status_code", None)
        reason = type(error).__name__ if status is None else f"HTTP status {status}"
        raise DataError(
            f"Data set {name!r} is not in {str(folder)!r} and cannot be downloaded from {url} ({reason}). Without a "
            f"network, copy {' and '.join(source.tables)} there from a machine on which fetch({name!r}) has run, or "
            "name the folder that has it in the environment variable TOBITGP_DATA."
        ) from None
    return buffer.getvalue()


def _make_tables(name: str, raw: Sequence[bytes], source: Source) -> dict[str, bytes]:
    """Tidy what was downloaded, and see that it gives the tables expected."""
    place = source.urls[0]
    if any(content[:200].lstrip().lower().startswith((b"<!doctype", b"<html")) for content in raw):
        raise DataError(
            f"What {place} gives is not data set {name!r} but a web page, as networks give that want a login; nothing "
            "was stored."
        )
    if source.raw_sha256 is not None and _digest(raw[0]) != source.raw_sha256:
        raise _changed(name, place, _digest(raw[0]), source.raw_sha256)
    try:
        files = dict(zip(source.tables, source.tidy(raw), strict=True))
    except Exception as error:  # whatever a stranger's bytes make the parsers do
        raise DataError(
            f"What {place} gives is not data set {name!r} ({type(error).__name__}: {error}); nothing was stored."
        ) from error
    for file, expected in source.tables.items():
        found = _digest(_unpack(file, files[file]))
        if found != expected:
            raise _changed(name, place, found, expected)
    return files


def _changed(name: str, place: str, found: str, expected: str) -> DataError:
    return DataError(
        f"Data set {name!r} has changed at its source, {place}: SHA-256 {found}, expected is {expected}. Nothing was "
        "stored."
    )


def _store(files: dict[str, bytes], name: str, folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for file, content in files.items():
            with whole_file(folder / file) as place:
                place.write(content)
    except OSError as error:
        raise DataError(
            f"Data set {name!r} cannot be stored in {str(folder)!r}: {error.strerror or error}. Name a folder that "
            "can be written in the environment variable TOBITGP_DATA."
        ) from None


def _unpack(file: str, content: bytes) -> bytes:
    """A damaged archive stays as it is, and fails the check of its content."""
    if not file.endswith(".gz"):
        return content
    try:
        return gzip.decompress(content)
    except (OSError, EOFError, zlib.error):
        return content


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
