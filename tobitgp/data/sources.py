"""Where the rows of a fit come from: data in memory, Parquet files, or partitions on a cluster."""

from __future__ import annotations

import glob
import os
import reprlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.data.table import kind_of
from tobitgp.engines import DaskPartitions, LocalPartitions, Partitions
from tobitgp.errors import DataError, SpecError
from tobitgp.typing import Frame

ROWS = 2**18  # of a partition, about


@dataclass(frozen=True, slots=True)
class InMemory:
    """A partition in memory."""

    number: int
    frame: Frame
    place: str = ""

    def load(self) -> Frame:
        """The frame itself."""
        return self.frame


@dataclass(frozen=True, slots=True)
class Delayed:
    """A partition of a dask DataFrame that is computed in this process, on demand."""

    number: int
    partition: Any
    place: str

    def load(self) -> pd.DataFrame:
        """Compute it."""
        frame: pd.DataFrame = self.partition.compute(scheduler="synchronous")
        return frame


@dataclass(frozen=True, slots=True)
class PartitionedSource:
    """A partitioned table."""

    columns: tuple[Any, ...]  # their names
    choose: Callable[[Sequence[str]], Partitions]  # column names -> Partitions of Loader
    here: bool = True  # whether the partitions are worked on in this process


def is_dask(data: Any) -> bool:
    """Whether data are a dask DataFrame; dask is not loaded for that."""
    module = type(data).__module__.partition(".")[0]
    return module in ("dask", "dask_expr") and hasattr(data, "to_delayed") and hasattr(data, "columns")


def refuse_partitioned(data: Any, what: str, engine: Any = None) -> None:
    """Raise an error for files, dask DataFrames and clusters, because ``what`` requires rows in memory."""
    if engine is not None or isinstance(data, str | os.PathLike) or is_dask(data):
        raise SpecError(f"{what} in memory: give a DataFrame or a dict of columns, and no engine=.")


def find_client(engine: Any, data: Any) -> Any:
    """The client of a cluster to work on, None to work here."""
    distributed = sys.modules.get("distributed")
    if engine is None:
        if distributed is None or not is_dask(data):
            return None
        try:
            engine = distributed.get_client()
        except ValueError:
            return None
    if distributed is None or not isinstance(engine, distributed.Client):
        shown = reprlib.repr(engine)
        raise SpecError(f"engine={shown}: must be a client of dask. Pass distributed.Client(address of the scheduler).")
    if engine.asynchronous:
        raise SpecError("engine= is an asynchronous client, which a fit cannot wait for. Use distributed.Client().")
    if engine.status != "running":
        raise SpecError(f"engine= is a client that is {engine.status}. Use one that is connected to its cluster.")
    return engine


def dask_source(data: Any, client: Any) -> PartitionedSource:
    """Partitions of a dask DataFrame: on the workers of a client, or computed here one after the other."""

    def choose(names: Sequence[str]) -> Partitions:
        partitions = data[list(names)].to_delayed()
        if client is None:
            return LocalPartitions([Delayed(i, item, f"partition {i}") for i, item in enumerate(partitions)])
        futures = client.compute(partitions)
        given = [client.submit(InMemory, i, item, f"partition {i}", pure=False) for i, item in enumerate(futures)]
        return DaskPartitions(client, given)

    columns = list(data.columns)
    twice = next((name for name in columns if columns.count(name) > 1), None)
    if twice is not None:
        raise DataError(f"The data have several columns named {twice!r}. Rename all but one.")
    return PartitionedSource(tuple(columns), choose, client is None)


def frame_source(data: Any, client: Any) -> PartitionedSource:
    """A DataFrame or dict of columns in memory, cut into partitions that are sent to the workers of a client."""

    def choose(names: Sequence[str]) -> Partitions:
        frame = data[list(names)] if isinstance(data, pd.DataFrame) else pd.DataFrame({n: data[n] for n in names})
        threads = max(1, sum(client.nthreads().values()))
        size = max(1, min(ROWS, -(-len(frame) // threads)))
        cuts = [frame.iloc[start : start + size] for start in range(0, max(len(frame), 1), size)]
        return DaskPartitions.from_values(client, [InMemory(i, cut) for i, cut in enumerate(cuts)])

    return PartitionedSource(tuple(data.columns if isinstance(data, pd.DataFrame) else data), choose, here=False)


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
    number: int = 0  # place among all partitions

    @property
    def place(self) -> str:
        """Name of the file."""
        return Path(self.path).name

    def load(self) -> pd.DataFrame:
        """Read them."""
        columns = list(self.columns)
        with _opened(self.path) as file:
            table = file.read_row_groups(list(self.groups), columns=columns, use_threads=False)
            frame = arrow_to_pandas(table).reset_index(drop=True)
        frame.index = pd.RangeIndex(self.start, self.start + len(frame))
        return frame[columns]


Loader = InMemory | Delayed | RowGroups  # one partition of a table: its number, its name in messages, and load()


def parquet_source(path: Any, client: Any) -> PartitionedSource:
    """Files that a path, a pattern or a folder names: read here, or by the workers of a client."""
    files = find_files(path)
    opened = [_open(file) for file in files]
    columns, _ = opened[0]
    for name, (its, _) in zip(files, opened, strict=True):
        for having, names, lacking, others in ((files[0], columns, name, its), (name, its, files[0], columns)):
            odd = [name for name in names if name not in others]
            if odd:
                what = f"{having!r} has {odd[0]!r}, which {lacking!r} lacks"
                raise DataError(f"The files have different columns: {what}.")

    def choose(names: Sequence[str]) -> Partitions:
        parts = [part for _, groups in opened for part in groups]
        partitions = [replace(part, columns=tuple(names), number=i) for i, part in enumerate(parts)]
        return LocalPartitions(partitions) if client is None else DaskPartitions.from_values(client, partitions)

    return PartitionedSource(columns, choose, client is None)


def find_files(path: Any) -> list[str]:
    """Parquet files that a path, a pattern or a folder names, sorted."""
    text = os.path.expanduser(os.fspath(path))
    if "://" in text:
        raise DataError(
            f"{text!r} is not a path in the file system. Give dask.dataframe.read_parquet({text!r}) as data."
        )
    if os.path.isdir(text):
        found = sorted(str(file) for file in Path(text).rglob("*") if _is_data(file.relative_to(text)))
        if not found:
            raise DataError(f"The folder {text!r} holds no Parquet file (none ends in {' or '.join(SUFFIXES)}).")
        return found
    if os.path.isfile(text):
        found = [text]
    else:
        found = sorted(file for file in glob.glob(text, recursive=True) if os.path.isfile(file))
    if not found:
        what = "No file matches" if glob.has_magic(text) else "There is no file or folder"
        raise DataError(f"{what} {text!r}.")
    return found


def _is_data(file: Path) -> bool:
    return file.suffix.lower() in SUFFIXES and not any(part.startswith(("_", ".")) for part in file.parts)


def _open(path: str) -> tuple[tuple[str, ...], list[RowGroups]]:
    """Columns of a file, and its row groups, put together until a partition has its rows."""
    with _opened(path) as file:
        names, metadata, about = file.schema_arrow.names, file.metadata, file.schema_arrow.pandas_metadata or {}
        sizes = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
    index = {name for name in about.get("index_columns", []) if isinstance(name, str)}
    groups: list[RowGroups] = []
    for i, (rows, start) in enumerate(zip(sizes, np.cumsum([0, *sizes]).tolist(), strict=False)):
        last = groups[-1] if groups else None
        if last is not None and last.rows + rows <= ROWS:
            groups[-1] = replace(last, groups=(*last.groups, i), rows=last.rows + rows)
        else:
            groups.append(RowGroups(path, (i,), start, rows))
    return tuple(name for name in names if name not in index), groups or [RowGroups(path, (), 0, 0)]


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


def arrow_to_pandas(table: Any) -> pd.DataFrame:
    """Columns as pandas has them, but what pandas would keep as objects: decimals, and truth values with gaps."""
    import pyarrow as pa

    for i, field in enumerate(table.schema):
        if pa.types.is_decimal(field.type):
            table = table.set_column(i, field.name, table.column(i).cast(pa.float64()))
    frame: pd.DataFrame = table.to_pandas(use_threads=False, types_mapper={pa.bool_(): pd.BooleanDtype()}.get)
    return frame


def open_source(data: Any, engine: Any = None) -> PartitionedSource | None:
    """The partitions of data that are not worked on as a whole."""
    if isinstance(data, PartitionedSource):
        return data
    client = find_client(engine, data)
    if isinstance(data, str | os.PathLike):
        return parquet_source(data, client)
    if is_dask(data):
        return dask_source(data, client)
    if not isinstance(data, pd.DataFrame | Mapping):
        allowed = (
            "a DataFrame (pandas, polars, pyarrow, DuckDB, dask ...), a dict of columns, or the path of Parquet files"
        )
        raise DataError(f"The data must be {allowed}, not {kind_of(data)}.")
    return None if client is None else frame_source(data, client)
