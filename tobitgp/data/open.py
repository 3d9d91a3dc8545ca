"""What may be given as data, and how it is read: in memory as it is, all else in pieces."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pandas as pd

from tobitgp.data.parquet import is_path, parquet_source
from tobitgp.data.sources import Source, dask_source, find_client, frame_source, is_dask
from tobitgp.data.table import kind_of
from tobitgp.errors import DataError


def open_source(data: Any, engine: Any = None) -> Source | None:
    """The pieces of data that are not worked on as a whole."""
    client = find_client(engine, data)
    if is_path(data):
        return parquet_source(data, client)
    if is_dask(data):
        return dask_source(data, client)
    if not isinstance(data, pd.DataFrame | Mapping):
        allowed = "a DataFrame of pandas or dask, a dict of columns, or the path of Parquet files"
        raise DataError(f"Data are {allowed}, not {kind_of(data)}")
    return None if client is None else frame_source(data, client)
