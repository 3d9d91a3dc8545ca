"""Parquet files as a table in pieces, none of it read before it is asked for."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pandas as pd

from tobitgp.data.sources import ROWS, Source
from tobitgp.engines import DaskPieces, LocalPieces, Pieces
from tobitgp.errors import DataError

SUFFIXES = (".parquet", ".pq")
_NO_PYARROW = "Parquet needs the package pyarrow; install it by: pip install 'tobitgp[parquet]'"


@dataclass(frozen=True, slots=True)
class RowGroups:
    """Some row groups of a file; rows are labelled by their positions in it."""

    path: str
    groups: tuple[int, ...]  # consecutive
    start: int  # position in the file of their first row
    rows: int
    columns: tuple[str, ...] = ()  # to be read
    number: int = 0  # place among all pieces

    @property
    def place(self) -> str:
        """Name of the file."""
        return Path(self.path).name

    def load(self) -> pd.DataFrame:
        """Read them."""
        columns = list(self.columns)
        with _opened(self.path) as file:
            table = file.read_row_groups(list(self.groups), columns=columns, use_threads=False)
            frame = _to_pandas(table).reset_index(drop=True)
        frame.index = pd.RangeIndex(self.start, self.start + len(frame))
        return frame[columns]


def is_path(data: Any) -> bool:
    """Whether data are named by a path."""
    return isinstance(data, str | os.PathLike)


def parquet_source(path: Any, client: Any) -> Source:
    """Files that a path, a pattern or a folder names: read here, or by the workers of a client."""
    files = find_files(path)
    opened = [_open(file) for file in files]
    columns = opened[0].columns
    for name, item in zip(files, opened, strict=True):
        _check_same(files[0], columns, name, item.columns)

    def choose(names: Sequence[str]) -> Pieces:
        parts = [part for item in opened for part in _gather(item.groups)]
        pieces = [replace(part, columns=tuple(names), number=i) for i, part in enumerate(parts)]
        return LocalPieces(pieces) if client is None else DaskPieces.from_values(client, pieces)

    return Source(columns, choose, client is None)


def find_files(path: Any) -> list[str]:
    """Parquet files that a path, a pattern or a folder names, sorted."""
    text = os.path.expanduser(os.fspath(path))
    if "://" in text:
        raise DataError(f"{text!r} is no path in the file system; give dask.dataframe.read_parquet({text!r}) as data")
    if os.path.isdir(text):
        found = sorted(str(file) for file in Path(text).rglob("*") if _is_data(file.relative_to(text)))
        if not found:
            raise DataError(f"The folder {text!r} holds no Parquet file (none ends in {' or '.join(SUFFIXES)})")
        return found
    if os.path.isfile(text):
        found = [text]
    else:
        found = sorted(file for file in glob.glob(text, recursive=True) if os.path.isfile(file))
    if not found:
        what = "No file matches" if glob.has_magic(text) else "There is no file or folder"
        raise DataError(f"{what} {text!r}")
    return found


@dataclass(frozen=True, slots=True)
class _Opened:
    columns: tuple[str, ...]
    groups: tuple[RowGroups, ...]


def _is_data(file: Path) -> bool:
    return file.suffix.lower() in SUFFIXES and not any(part.startswith(("_", ".")) for part in file.parts)


def _open(path: str) -> _Opened:
    """Columns and row groups of a file."""
    with _opened(path) as file:
        names, metadata, about = file.schema_arrow.names, file.metadata, file.schema_arrow.pandas_metadata or {}
        sizes = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
    index = {name for name in about.get("index_columns", []) if isinstance(name, str)}
    groups, start = [], 0
    for i, rows in enumerate(sizes):
        groups.append(RowGroups(path, (i,), start, rows))
        start += rows
    return _Opened(tuple(name for name in names if name not in index), tuple(groups or [RowGroups(path, (), 0, 0)]))


@contextmanager
def _opened(path: str) -> Iterator[Any]:
    """A file, and errors that name it."""
    try:
        from pyarrow.parquet import ParquetFile
    except ImportError:
        raise DataError(f"{path!r} cannot be read: {_NO_PYARROW}.") from None
    try:
        with ParquetFile(path) as file:
            yield file
    except (OSError, ValueError) as error:  # pyarrow's own errors are kinds of these
        raise DataError(f"{path!r} cannot be read as Parquet: {error}") from None


def _to_pandas(table: Any) -> pd.DataFrame:
    """Columns as pandas has them, but what pandas would keep as objects: decimals, and truth values with gaps."""
    import pyarrow as pa

    for i, field in enumerate(table.schema):
        if pa.types.is_decimal(field.type):
            table = table.set_column(i, field.name, table.column(i).cast(pa.float64()))
    frame: pd.DataFrame = table.to_pandas(use_threads=False, types_mapper={pa.bool_(): pd.BooleanDtype()}.get)
    return frame


def _check_same(first: str, columns: Sequence[str], other: str, its: Sequence[str]) -> None:
    for having, names, lacking, others in ((first, columns, other, its), (other, its, first, columns)):
        odd = [name for name in names if name not in others]
        if odd:
            raise DataError(f"The files have different columns: {having!r} has {odd[0]!r}, which {lacking!r} lacks")


def _gather(parts: Sequence[RowGroups]) -> list[RowGroups]:
    """Row groups of a file, put together until a piece has its rows."""
    out: list[RowGroups] = []
    for part in parts:
        if out and out[-1].rows + part.rows <= ROWS:
            last = out[-1]
            out[-1] = RowGroups(last.path, (*last.groups, *part.groups), last.start, last.rows + part.rows)
        else:
            out.append(part)
    return out
