"""What is given beside the formula or a question, a value for each row: weights, clusters, a Series."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.data.factors import as_numbers
from tobitgp.data.frames import plain_values
from tobitgp.data.table import Column, Table, column_names, read_table
from tobitgp.errors import DataError
from tobitgp.formula.functions import nearest
from tobitgp.typing import Array, BoolArray, Frame, IntArray

LEAST_WEIGHT = 1e-100
_WRONG = {"factor": "text", "date": "dates", "duration": "durations"}
_MEANT = {
    "weights": "a weight counts how many rows like this one were seen; 0 leaves one out",
    "var_weights": "the noise variance of a row is sigma^2 / w, infinite at 0; leave a row out by weights= of 0",
}


def read_weights(weights: Any, data: Frame, n: int, what: str = "weights", *, gaps: bool = False) -> Array:
    """Weights of all rows, frequencies unless told otherwise, some missing where gaps may be; (n,) each."""
    if weights is None:
        return np.ones(n)
    column, table = _read(what, weights, data, n)
    if column.kind in _WRONG:
        raise DataError(f"The {what} {column.name!r} hold {_WRONG[column.kind]}")
    values = np.asarray(column.values, dtype=np.float64)
    wrong = ~(np.isfinite(values) & (values >= 0)) & ~(gaps & np.isnan(values))
    if wrong.any():
        raise DataError(f"The {what} {column.name!r} are negative, missing or infinite in {table.rows(wrong)}")
    tiny = (values > 0 if what == "weights" else True) & (values < LEAST_WEIGHT)
    if tiny.any():
        raise DataError(
            f"The {what} {column.name!r} are less than {LEAST_WEIGHT:g} in {table.rows(tiny)}: " + _MEANT[what]
        )
    return values


def read_clusters(groups: Any, data: Frame, kept: BoolArray) -> IntArray:
    """Cluster of each row that is used, for ``cov_type="cluster"``; groups, kept (n_data,); gives (n,)."""
    column, table = _read("groups", groups, data, len(kept))
    lacking = column.missing & kept
    if lacking.any():
        remedy = "every row that is used needs one"
        raise DataError(f"The groups {column.name!r} are missing in {table.rows(lacking)}; {remedy}")
    return np.unique(column.values[kept], return_inverse=True)[1].astype(np.intp)


def _read(what: str, given: Any, data: Frame, n: int) -> tuple[Column, Table]:
    """A column by name, a Series that finds its rows by the labels of the data, or an array in their order."""
    name, given = what, plain_values(given)
    if isinstance(given, str):
        name = given
        if name not in set(column_names(data)):
            raise DataError(f"The data have no column {name!r} for the {what}{nearest(name, column_names(data))}")
        given = data[name]
    elif isinstance(given, pd.Series) and _labelled(data):
        given = by_label(f"The {what}", what, given, read_table(data, []).index)
    table = read_table({name: given}, [name])
    if table.n != n:
        raise DataError(f"The {what} have {table.n} values for {n} rows")
    return as_numbers(table.columns[name]), table


def _labelled(data: Frame) -> bool:
    """Whether the rows of data have labels, as those of a DataFrame and of a dict of Series."""
    return isinstance(data, pd.DataFrame) or isinstance(next(iter(data.values()), None), pd.Series)


def aligned(columns: Mapping[str, Any]) -> dict[str, Any]:
    """Arrays and Series of one length, the Series in the order of the labels of the first."""
    series = {name: values for name, values in columns.items() if isinstance(values, pd.Series)}
    first = next(iter(series), "")
    other = next((name for name, values in series.items() if not values.index.equals(series[first].index)), "")
    if not other or len({len(values) for values in series.values()}) > 1:
        return dict(columns)
    plain = [name for name, values in columns.items() if name not in series and values is not None]
    if plain:
        raise DataError(
            f"{first} and {other} are Series whose labels differ in their order, and {plain[0]} has no labels; give "
            f"all of them as columns of one table, or as arrays by .to_numpy()"
        )
    index = series[first].index
    return {
        name: by_label(f"The values of {name}", name, columns[name], index) if name in series else None
        for name in columns
    }


def by_label(what: str, name: str, given: pd.Series[Any], index: pd.Index) -> pd.Series[Any]:
    """Values of a Series in the order of the rows' labels."""
    if given.index.equals(index):
        return given
    if len(given) != len(index):
        raise DataError(f"{what} have {len(given)} values for {len(index)} rows")
    remedy = f"give them the index of the data, or as an array in the order of its rows by {name}.to_numpy()"
    strange = given.index[~given.index.isin(index)]
    if len(strange):
        raise DataError(f"{what} are a Series with labels that the data have not, such as {strange[0]}; {remedy}")
    if not (given.index.is_unique and index.is_unique):
        twice = given.index[given.index.duplicated()].append(index[index.duplicated()])[0]
        raise DataError(f"{what} are a Series whose labels do not tell the rows apart: {twice} is twice; {remedy}")
    return given.reindex(index)
