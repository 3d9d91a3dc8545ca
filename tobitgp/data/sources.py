"""Where the rows of a fit come from: pieces of a table, in memory, in files or on a cluster."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import pandas as pd

from tobitgp.engines import DaskPieces, LocalPieces, Pieces
from tobitgp.errors import DataError, SpecError

ROWS = 2**18  # of a piece, about


class Loader(Protocol):
    """One piece of a table."""

    @property
    def number(self) -> int:
        """Its place among the pieces."""
        ...

    @property
    def place(self) -> str:
        """Its name in messages; empty where row labels say enough."""
        ...

    def load(self) -> pd.DataFrame:
        """Its rows, with the columns asked for."""
        ...


@dataclass(frozen=True, slots=True)
class Given:
    """A piece in memory."""

    number: int
    frame: pd.DataFrame
    place: str = ""

    def load(self) -> pd.DataFrame:
        """The frame itself."""
        return self.frame


@dataclass(frozen=True, slots=True)
class Delayed:
    """A partition of a dask DataFrame that is computed here, when it is asked for."""

    number: int
    partition: Any
    place: str

    def load(self) -> pd.DataFrame:
        """Compute it."""
        frame: pd.DataFrame = self.partition.compute(scheduler="synchronous")
        return frame


@dataclass(frozen=True, slots=True)
class Source:
    """A table in pieces."""

    columns: tuple[Any, ...]  # their names
    choose: Callable[[Sequence[str]], Pieces]  # column names -> Pieces of Loader
    here: bool = True  # whether the pieces are worked on in this process


def is_dask(data: Any) -> bool:
    """Whether data are a dask DataFrame; dask is not loaded for that."""
    module = type(data).__module__.partition(".")[0]
    return module in ("dask", "dask_expr") and hasattr(data, "to_delayed") and hasattr(data, "columns")


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
        raise SpecError(f"engine={type(engine).__name__}: None, or a client of dask, distributed.Client(), is needed.")
    if engine.asynchronous:
        raise SpecError("engine= is an asynchronous client, which a fit cannot wait for; use distributed.Client().")
    if engine.status != "running":
        raise SpecError(f"engine= is a client that is {engine.status}; use one that is connected to its cluster.")
    return engine


def dask_source(data: Any, client: Any) -> Source:
    """Partitions of a dask DataFrame: on the workers of a client, or computed here one after the other."""

    def choose(names: Sequence[str]) -> Pieces:
        partitions = data[list(names)].to_delayed()
        if client is None:
            return LocalPieces([Delayed(i, item, f"partition {i}") for i, item in enumerate(partitions)])
        futures = client.compute(partitions)
        given = [client.submit(Given, i, item, f"partition {i}", pure=False) for i, item in enumerate(futures)]
        return DaskPieces(client, given)

    columns = list(data.columns)
    twice = next((name for name in columns if columns.count(name) > 1), None)
    if twice is not None:
        raise DataError(f"The data have several columns named {twice!r}; rename all but one")
    return Source(tuple(columns), choose, client is None)


def frame_source(data: Any, client: Any) -> Source:
    """A DataFrame or dict of columns in memory, cut into pieces that are sent to the workers of a client."""

    def choose(names: Sequence[str]) -> Pieces:
        frame = data[list(names)] if isinstance(data, pd.DataFrame) else pd.DataFrame({n: data[n] for n in names})
        threads = max(1, sum(client.nthreads().values()))
        size = max(1, min(ROWS, -(-len(frame) // threads)))
        cuts = [frame.iloc[start : start + size] for start in range(0, max(len(frame), 1), size)]
        return DaskPieces.from_values(client, [Given(i, cut) for i, cut in enumerate(cuts)])

    return Source(tuple(data.columns if isinstance(data, pd.DataFrame) else data), choose, here=False)
