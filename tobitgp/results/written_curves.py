"""Curves of more rows than memory holds, written to a Parquet file some thousand rows at a time."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.data.frames import reads_frames
from tobitgp.data.sources import SUFFIXES, is_dask
from tobitgp.engines import row_chunks
from tobitgp.errors import DataError, SpecError
from tobitgp.files import whole_file
from tobitgp.posterior.questions import CURVES
from tobitgp.results.curves import Excluded, read_grid, rows_of
from tobitgp.results.fit import Fit
from tobitgp.results.predict import check_level
from tobitgp.results.survival import TimeRows
from tobitgp.typing import Array, Frame

_LINES = 1_000_000  # of a row group


@reads_frames
def write_curves(
    results: Fit,
    path: str | os.PathLike[str],
    df: Frame | None = None,
    times: Any = None,
    *,
    curve: str = "survival",
    conditional_after: Any = None,
    interval: float | None = None,
    exclude: Excluded = (),
) -> None:
    """Write curves, (SUR1) to (SUR3) of the theory pages, to a Parquet file in bounded memory.

    The file has a record for each row and time, in the order of the rows: ``row``, the label of the row (``row_0``,
    ``row_1``, ... where labels have several levels), ``time``, on the scale of the response, and ``mean``, with
    ``interval`` also ``median``, ``lower`` and ``upper``, as in :meth:`predict_survival_function`. It is written
    completely or not at all, and replaces an existing file.

    Parameters
    ----------
    path : str or path
        Name of the file, which ends in ``.parquet`` or ``.pq``.
    df : DataFrame, dict of columns or dask DataFrame, optional
        For dask, one partition is in memory at a time. By default the training data.
    times
        As for :meth:`predict_survival_function`.
    curve : {"survival", "cumulative_hazard", "hazard"}
        Probabilities, dimensionless numbers, or rates per unit of time.
    conditional_after : float, optional
        Time that all rows have survived so far, on the scale of the response.
    interval, exclude
        As for :meth:`predict_survival_function`.

    Raises
    ------
    SpecError
        For an unknown curve, a file that cannot be written, more than one time in ``conditional_after``, a missing
        package pyarrow, and as for :meth:`predict_survival_function`.
    DataError, UnseenLevelError
        If the rows cannot be used, or their labels are of several kinds.

    Examples
    --------
    >>> import tempfile, pathlib, pandas as pd
    >>> import tobitgp as tg
    >>> lung = tg.datasets.load("lung")
    >>> res = tg.fit("Surv(time, event) ~ age + sex", lung, family="weibull")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder) / "curves.parquet"
    ...     res.write_curves(path, lung.head(2), [100, 365])
    ...     pd.read_parquet(path).round(3)
       row   time   mean
    0    0  100.0  0.803
    1    0  365.0  0.295
    2    1  100.0  0.820
    3    1  365.0  0.331
    """
    if curve not in CURVES:
        raise SpecError(f"curve={curve!r} is not supported; choose one of {', '.join(map(repr, CURVES))}.")
    if np.ndim(conditional_after):
        raise SpecError("write_curves() requires one time for all rows in conditional_after=.")
    grid, level, target = read_grid(results, times), check_level(interval), _read_path(path)
    try:
        import pyarrow as pa
        from pyarrow.parquet import ParquetWriter
    except ImportError:
        raise SpecError(
            f"path={str(path)!r}: Parquet requires the package pyarrow. Install it with pip install 'tobitgp[parquet]'."
        ) from None
    size, writer = max(_LINES // len(grid), 1), None
    try:
        with whole_file(target) as file:
            try:
                for part in _parts(df, size):
                    known = rows_of(results, part, exclude, bands=level is not None)
                    for span in row_chunks(0, max(len(known.index), 1), size):
                        rows = known.some(span)
                        made = rows.times.curve(curve, grid, rows.after(conditional_after), level)
                        lines, schema = _lines(rows, grid, made), writer and writer.schema
                        table = pa.Table.from_pandas(lines, schema, preserve_index=False)
                        writer = writer or ParquetWriter(file, table.schema)
                        writer.write_table(table)
            finally:
                if writer is not None:
                    writer.close()
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        raise DataError(
            "The labels of the rows are both numbers and text, which a Parquet column cannot store. Use "
            "df.reset_index(drop=True), or text for all labels."
        ) from None
    except (OSError, pa.ArrowException) as error:
        raise SpecError(f"path={str(path)!r}: {error}") from None


def _read_path(path: Any) -> Path:
    """Where to write."""
    if not isinstance(path, (str, os.PathLike)) or not str(path).lower().endswith(SUFFIXES):
        raise SpecError(f"path={path!r}: path must be the name of a file that ends in {' or '.join(SUFFIXES)}.")
    return Path(path)


def _parts(df: Any, size: int) -> Iterator[Frame | None]:
    """Some of the rows at a time, one part at least."""
    if df is None:
        yield None
    elif is_dask(df):
        for k in range(df.npartitions):
            yield from _parts(df.get_partition(k).compute(), size)
    else:
        frame = df if isinstance(df, pd.DataFrame) else pd.DataFrame(dict(df))
        yield from (frame.iloc[rows] for rows in row_chunks(0, max(len(frame), 1), size))


def _lines(rows: TimeRows, grid: Array, made: dict[str, Array]) -> pd.DataFrame:
    """A line for each row and time."""
    levels = rows.index.nlevels
    names = ["row"] if levels == 1 else [f"row_{k}" for k in range(levels)]
    lines = rows.index.repeat(len(grid)).to_frame(index=False).set_axis(names, axis=1)
    lines["time"] = np.tile(grid, len(rows.index))
    return lines.assign(**{name: rows.spread(values).ravel() for name, values in made.items()})
