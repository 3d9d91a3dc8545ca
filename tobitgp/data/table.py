"""Columns of a user's data, each typed once; the data themselves are never modified."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Number, Real
from typing import Any, Literal

import numpy as np
import pandas as pd

from tobitgp.data.arrays import join
from tobitgp.data.values import EPS, as_written, date_text, days_since_1970, plain_levels, precision_of
from tobitgp.errors import DataError
from tobitgp.formula.functions import DAY
from tobitgp.typing import Array, BoolArray, Frame, IntArray


def is_duration(series: pd.Series[Any]) -> bool:
    """Whether a column holds durations, of numpy, pandas, Arrow or Python."""
    code = getattr(series.dtype, "kind", "O")
    return code == "m" or (code == "O" and pd.api.types.infer_dtype(series) in ("timedelta", "timedelta64"))


def days_long(durations: pd.Series[Any]) -> Array:
    """Durations in days, NaN where missing."""
    known = durations.where(durations.notna(), None) if durations.dtype == object else durations
    days: Array = known.to_numpy(dtype="timedelta64[us]") / np.timedelta64(1, "D")
    return days


def in_days(frame: pd.DataFrame) -> pd.DataFrame:
    """The same columns, durations in days."""
    durations = {str(name): days_long(frame[name]) for name in frame if is_duration(frame[name])}
    return frame.assign(**durations) if durations else frame


def without_unit(values: Any) -> Any:
    """The same values, durations in days."""
    shape = np.shape(values)
    series = pd.Series(np.ravel(np.asarray(values)))
    return days_long(series).reshape(shape) if is_duration(series) else values


def iso_date(days: float) -> str:
    """ISO text of a moment in days since 1970, to the millisecond, in UTC."""
    moment = np.datetime64(0, "ms") + np.timedelta64(round(days * (DAY // 1000)), "ms")
    return str(pd.Timestamp(moment).tz_localize("UTC").isoformat())


MAX_ROWS_NAMED = 5


@dataclass(frozen=True, slots=True)
class RowNames:
    """Some rows, by the labels of the first of them."""

    count: int
    labels: tuple[str, ...]  # at most five

    def merge(self, other: RowNames) -> RowNames:
        """These and other rows."""
        return RowNames(self.count + other.count, (*self.labels, *other.labels)[:MAX_ROWS_NAMED])

    def inside(self, place: str) -> RowNames:
        """The same, their labels with the partition they are in, where it has a name."""
        return RowNames(self.count, tuple(f"{label} of {place}" for label in self.labels)) if place else self

    def __str__(self) -> str:
        more = self.count - len(self.labels)
        text = f"row{'s' if len(self.labels) > 1 else ''} {', '.join(self.labels)}"
        return f"{text} and {more} more" if more else text


ColumnKind = Literal["number", "boolean", "date", "duration", "factor"]


@dataclass(frozen=True, slots=True)
class Column:
    """One column, as numbers or as a factor."""

    name: str
    values: Array | IntArray  # (n,), numbers, NaN where missing; for a factor the codes of its levels, NaN-free
    missing: BoolArray  # (n,)
    kind: ColumnKind = "number"  # dates are numbers too, of days since 1970, and so are durations, in days
    levels: tuple[Any, ...] | None = None  # levels of a factor, codes pointing into it and -1 where missing
    precision: float = EPS  # relative spacing of the numbers that the column can hold

    def take(self, rows: BoolArray) -> Column:
        """Keep some of the rows and all levels."""
        return replace(self, values=self.values[rows], missing=self.missing[rows])


@dataclass(frozen=True, slots=True)
class Table:
    """The columns a model uses, with the labels of their rows."""

    columns: dict[str, Column]
    index: pd.Index

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.index)

    def take(self, rows: BoolArray) -> Table:
        """Keep some of the rows."""
        if rows.all():
            return self
        return Table({name: column.take(rows) for name, column in self.columns.items()}, self.index[rows])

    def missing(self, names: Iterable[str]) -> BoolArray:
        """Rows in which one of these columns is missing, (n,)."""
        mask = np.zeros(self.n, dtype=bool)
        for name in names:
            mask |= self.columns[name].missing
        return mask

    def rows(self, mask: BoolArray) -> str:
        """Words for the rows of a mask, by their labels."""
        return str(self.name_rows(mask))

    def name_rows(self, mask: BoolArray) -> RowNames:
        """The rows of a mask, by their labels."""
        rows = np.flatnonzero(mask)
        labels = self.index[rows[:MAX_ROWS_NAMED]] if len(rows) else ()
        return RowNames(len(rows), tuple(str(label) for label in labels))


def column_names(data: Frame) -> list[Any]:
    """Names of the columns of a DataFrame or a dict of columns."""
    if isinstance(data, pd.DataFrame):
        return list(data.columns)
    if isinstance(data, Mapping):
        return list(data)
    raise DataError(f"The data must be a DataFrame or a dict of columns, not {kind_of(data)}.")


def kind_of(data: Any) -> str:
    """Type of an object with its package, for messages."""
    return f"{type(data).__module__.partition('.')[0]}.{type(data).__name__}".removeprefix("builtins.")


def read_table(data: Frame, names: Iterable[str]) -> Table:
    """Read the named columns."""
    column_names(data)
    if isinstance(data, pd.DataFrame):
        series = {name: data[name] for name in names}
        index = data.index
    else:
        series = {name: _as_series(name, data[name]) for name in names}
        index = _common_index(data, series)
    for name, column in series.items():
        if column.ndim != 1:
            raise DataError(f"The data have several columns named {name!r}. Rename all but one.")
    return Table({name: read_column(name, column, index) for name, column in series.items()}, index)


def read_column(name: str, series: pd.Series[Any], index: pd.Index) -> Column:
    """Type one column: numbers of any width as float64, dates and durations in days, text and categories as factors."""
    dtype: Any = series.dtype
    if isinstance(dtype, pd.CategoricalDtype):
        codes: IntArray = np.asarray(series.cat.codes, dtype=np.intp)
        return Column(name, codes, codes < 0, "factor", plain_levels(series.cat.categories))
    if isinstance(dtype, pd.SparseDtype):
        return read_column(name, pd.Series(np.asarray(series.array)), index)
    if isinstance(dtype, pd.IntervalDtype):
        return read_column(name, series.astype("category"), index)
    if isinstance(dtype, pd.PeriodDtype):
        remedy = "Convert it by .dt.to_timestamp(), and write decimal_year(...) of the dates in the formula"
        raise DataError(f"Column {name!r} holds periods ({dtype}). {remedy}.")
    code = "O" if pd.api.types.is_string_dtype(dtype) else getattr(dtype, "kind", "O")
    if code in "fiub":
        absent: dict[str, Any] = {} if isinstance(dtype, np.dtype) else {"na_value": np.nan}
        values = as_written(series.to_numpy(dtype=np.float64, **absent), dtype)
        return replace(_numbers(name, values, "boolean" if code == "b" else "number"), precision=precision_of(dtype))
    if code == "M":
        return read_dates(name, series)
    if code == "m":
        return _numbers(name, days_long(series), "duration")
    if code == "c":
        raise DataError(f"Column {name!r} holds complex numbers. Give real numbers.")
    if code != "O":
        raise DataError(f"Column {name!r} has the type {dtype}, which is neither numbers nor text.")
    return _read_objects(name, series, index)


def read_dates(name: str, series: pd.Series[Any]) -> Column:
    """Read dates in days; only ``decimal_year`` and differences of two may use them."""
    try:
        return _numbers(name, days_since_1970(series), "date")
    except (ValueError, TypeError, OverflowError) as error:
        raise DataError(f"Column {name!r} holds dates that cannot be read: {error}") from error


def _numbers(name: str, values: Array, kind: ColumnKind) -> Column:
    return Column(name, values, np.isnan(values), kind)


def _read_objects(name: str, series: pd.Series[Any], index: pd.Index) -> Column:
    """Read a column of Python objects, which must all be text."""
    missing = series.isna().to_numpy(dtype=bool)
    values = series.to_numpy(dtype=object)
    present = values[~missing]
    if len(present) == 0:
        return Column(name, np.full(len(values), np.nan), missing)
    if all(isinstance(value, str) for value in present):
        codes, levels = pd.factorize(values, sort=True)
        return Column(name, codes.astype(np.intp), missing, "factor", tuple(levels))
    if all(isinstance(value, datetime.date) for value in present):
        return read_dates(name, series)
    if is_duration(series):
        return _numbers(name, days_long(series), "duration")
    if all(isinstance(value, pd.Interval) for value in present):
        return read_column(name, series.astype("category"), index)
    raise _wrong_objects(name, values, missing, index)


def _wrong_objects(name: str, values: Any, missing: BoolArray, index: pd.Index) -> DataError:
    """Say what an object column holds and what to do about it."""
    present = values[~missing]
    types = sorted({type(value).__name__ for value in present})
    if any(hasattr(value, "year") for value in present):
        return DataError(f"Column {name!r} holds {', '.join(types)} mixed; make all of it dates by pd.to_datetime.")
    if "str" in types:
        others = ", ".join(kind for kind in types if kind != "str")
        rows = Table({}, index).rows(np.array([isinstance(value, str) for value in values]))
        mixed = f"text and {others} mixed, with text in {rows}"
        return DataError(f"Column {name!r} holds {mixed}. Make it all numbers or all text.")
    numbers = all(isinstance(value, Number) for value in present)
    remedy = f"Convert it: df[{name!r}] = pd.to_numeric(df[{name!r}])" if numbers else "Give numbers or text"
    return DataError(f"Column {name!r} has the type object and holds {', '.join(types)}. {remedy}.")


def _as_series(name: str, values: Any) -> pd.Series[Any]:
    """One entry of a dict of columns."""
    if isinstance(values, pd.Series | pd.Index):
        return values.to_series() if isinstance(values, pd.Index) else values
    if isinstance(values, str) or not hasattr(values, "__len__"):
        raise DataError(f"Column {name!r} is a single value. Give one value for each row.")
    if isinstance(values, pd.api.extensions.ExtensionArray):
        return pd.Series(values, copy=False)
    if not isinstance(values, np.ndarray):
        return pd.Series(list(values))
    if values.ndim != 1:
        raise DataError(f"Column {name!r} has {values.ndim} dimensions. Give one value for each row.")
    return pd.Series(values.astype(object) if values.dtype.kind == "U" else values, copy=False)


def _common_index(data: Mapping[str, Any], series: Mapping[str, pd.Series[Any]]) -> pd.Index:
    """Row labels of a dict of columns: those of its Series if they agree, else 0, 1, ..."""
    lengths = {name: len(column) for name, column in series.items()}
    if len(set(lengths.values())) > 1:
        listed = ", ".join(f"{name!r} {length}" for name, length in lengths.items())
        raise DataError(f"The columns have unequal lengths: {listed}.")
    labelled = [data[name].index for name in series if isinstance(data[name], pd.Series)]
    if any(not index.equals(labelled[0]) for index in labelled):
        raise DataError("The columns are Series with unequal indices. Combine them in one DataFrame first.")
    if labelled or lengths:
        return labelled[0] if labelled else pd.RangeIndex(next(iter(lengths.values())))
    name, first = next(iter(data.items()), ("", ()))
    return first.index if isinstance(first, pd.Series) else pd.RangeIndex(len(_as_series(name, first)))


def join_tables(tables: Sequence[Table]) -> Table:
    """Rows of tables with the same columns and levels, after one another."""
    if len(tables) == 1:
        return tables[0]
    columns = {name: join([table.columns[name] for table in tables]) for name in tables[0].columns}
    return Table(columns, pd.Index(np.concatenate([np.asarray(table.index, dtype=object) for table in tables])))


def holds_numbers(levels: Sequence[Any] | None) -> bool:
    """Whether the levels of a factor are numbers or truth values, some of them at least."""
    return bool(levels) and all(isinstance(level, Real) for level in levels or ())


def as_numbers(column: Column) -> Column:
    """A factor whose levels are numbers as a column of these, any other column as it is."""
    if not holds_numbers(column.levels):
        return column
    levels = column.levels or ()
    values = np.array([*levels, np.nan], dtype=np.float64)[column.values.astype(np.intp)]
    kind = "boolean" if all(isinstance(level, bool) for level in levels) else "number"
    return Column(column.name, values, column.missing, kind)  # type: ignore[arg-type]


def like_training(column: Column, levels: tuple[Any, ...] | None) -> Column:
    """A column of new rows as a factor where it was one in training, of numbers or dates, and the other way round."""
    if levels is None:
        return as_numbers(column)
    if column.levels is not None or not (column.kind == "date" or holds_numbers(levels)):
        return column
    seen, codes = np.unique(column.values[~column.missing], return_inverse=True)
    values = np.full(len(column.missing), -1, dtype=np.intp)
    values[~column.missing] = codes
    found = tuple(map(date_text, seen)) if column.kind == "date" else plain_levels(seen.tolist())
    return replace(column, values=values, kind="factor", levels=found)
