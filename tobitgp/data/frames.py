"""Data in any kind of frame, read as pandas and returned in the same kind; values per row given separately."""

from __future__ import annotations

import difflib
import inspect
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np
import pandas as pd

from tobitgp.data.sources import arrow_to_pandas
from tobitgp.data.table import Column, Table, as_numbers, column_names, read_table
from tobitgp.errors import DataError
from tobitgp.formula.functions import nearest
from tobitgp.formula.linear_terms import mentions
from tobitgp.typing import Array, BoolArray, Frame, IntArray

P = ParamSpec("P")
T = TypeVar("T")
Texts = Sequence[str] | None  # what names columns; None for all of them

_FRAME = re.compile(r"(?<![\w.])Frame\b")
_WORD = re.compile(r"[^\W\d]\w*+(?!\s*\()")
_ALL = re.compile(r"(?<![\w.`])\.(?![\w.])")
_ANSWERED = ("polars", "pyarrow")  # the kinds that answers come in


def reads_frames(call: Callable[P, T]) -> Callable[P, T]:
    """Let arguments that are annotated as ``Frame`` be of any kind that narwhals reads.

    From lazy frames only those columns are collected that are mentioned by texts among the arguments, or by the
    ``_column_texts`` of the object whose method is called.
    """
    return _at_border(call, answers=False)


def answers_in_kind(call: Callable[P, T]) -> Callable[P, T]:
    """Do as :func:`reads_frames`, and return a table of as many rows in the same kind of frame."""
    return _at_border(call, answers=True)


def _at_border(call: Callable[P, T], *, answers: bool) -> Callable[P, T]:
    parameters = inspect.signature(call).parameters.values()
    places = {p.name: i for i, p in enumerate(parameters) if _FRAME.search(str(p.annotation))}

    @wraps(call)
    def checked(*args: P.args, **kwargs: P.kwargs) -> T:
        def texts() -> Texts:
            said = [*_words(args), *_words(kwargs.values())]
            if not args or isinstance(args[0], str | Mapping | list | tuple) or 0 in places.values():
                return said
            own = getattr(args[0], "_column_texts", None)
            return None if own is None else [*said, *own]

        positional, named, kind = list[Any](args), dict[str, Any](kwargs), ""
        for name, i in places.items():
            inside: Any = positional if i < len(positional) else named
            key: Any = i if i < len(positional) else name
            if key is name and name not in named:
                continue
            kind = kind or kind_of_answers(inside[key])
            inside[key] = read_frame(inside[key], texts)
        found = call(*positional, **named)
        return give_frame(found, kind) if answers and kind else found

    return checked


def read_frame(data: Frame, texts: Callable[[], Texts] = lambda: None) -> Any:
    """Read any frame as pandas, rows labelled 0, 1, ..., and repeat single values of a dict in every row.

    Frames of pandas and dask, and anything that is not a frame, are returned as they are.
    """
    if isinstance(data, Mapping):
        return _repeated(data)
    if data is None or isinstance(data, str | os.PathLike | pd.DataFrame) or _package(data) in _OWN:
        return data
    import narwhals as nw

    frame: Any = nw.from_native(data, pass_through=True)
    if not isinstance(frame, nw.DataFrame | nw.LazyFrame):
        return data
    try:
        if isinstance(frame, nw.LazyFrame):
            names = frame.collect_schema().names()
            lazily = frame.select(names if (said := texts()) is None else mentioned(names, said))
            frame = lazily.collect(backend="polars" if frame.implementation.is_polars() else "pandas")
        if frame.implementation.is_polars():  # whose own way to pandas needs pyarrow
            columns = {name: read_series(frame.get_column(name)) for name in frame.columns}
            return pd.DataFrame(columns, index=pd.RangeIndex(len(frame)))
        arrow = frame.implementation.is_pyarrow()
        table = arrow_to_pandas(frame.to_native()) if arrow else frame.to_pandas()
        return table.reset_index(drop=True)
    except Exception as error:  # of the library that the data are of
        raise DataError(f"The data, a {_package(data)} {type(data).__name__}, cannot be read: {error}") from error


_OWN = ("builtins", "collections", "numpy", "pandas", "dask", "dask_expr", "distributed")


def _package(data: Any) -> str:
    return type(data).__module__.partition(".")[0].lstrip("_")


def read_series(series: Any) -> pd.Series[Any]:
    """Read a column of polars: decimals as numbers, the levels of an Enum in their order, nulls as missing."""
    import narwhals as nw

    dtype = series.dtype
    if dtype == nw.Enum:
        return pd.Series(pd.Categorical(series.cast(nw.String).to_list(), categories=list(dtype.categories)))
    if dtype == nw.Decimal:
        series = series.cast(nw.Float64)
    elif dtype == nw.Boolean and series.null_count():
        return pd.Series(pd.array(series.to_list(), dtype="boolean"))
    elif not (dtype.is_numeric() or dtype.is_temporal() or dtype == nw.Boolean) or dtype == nw.Time:
        return pd.Series(series.to_list(), dtype=object)
    return pd.Series(series.to_numpy())


def plain_values(values: Any) -> Any:
    """A Series of pandas of one of polars or pyarrow; other values as they are."""
    package = _package(values)
    if package not in _ANSWERED:
        return values
    import narwhals as nw

    series: Any = nw.from_native(values, series_only=True, pass_through=True)
    if not isinstance(series, nw.Series):
        return values.to_pandas() if hasattr(values, "to_pandas") else values
    return read_series(series) if package == "polars" else arrow_to_pandas(series.to_frame().to_native()).iloc[:, 0]


def _repeated(data: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """A dict of columns in which single values are repeated in every row; one row if there are only such values."""
    if any(_package(values) in _ANSWERED for values in data.values()):
        data = {name: plain_values(values) for name, values in data.items()}
    single = {name for name, values in data.items() if isinstance(values, str) or not hasattr(values, "__len__")}
    if not single or any(data[name] is None for name in single):
        return data
    lengths = [len(values) for name, values in data.items() if name not in single]
    n = lengths[0] if lengths else 1
    return {name: [values] * n if name in single else values for name, values in data.items()}


def mentioned(names: Sequence[str], texts: Sequence[str]) -> list[str]:
    """Columns that texts mention, and those with names close to a word that is none, which errors propose."""
    text = " ".join(texts)
    if _ALL.search(text):
        return list(names)
    words = {word for word in _WORD.findall(text) if word not in names}
    close = {name for word in words for name in difflib.get_close_matches(word, names, n=3)}
    return [name for name in names if name in close or mentions(text, name) or name in texts]


def _words(values: Iterable[Any]) -> Iterator[str]:
    """All text among values, however deep in mappings and lists."""
    for value in values:
        if isinstance(value, str):
            yield value
        elif isinstance(value, Mapping):
            yield from _words([*value, *value.values()])
        elif isinstance(value, list | tuple):
            yield from _words(value)


def kind_of_answers(data: Frame) -> str:
    """The kind in which a table about these rows is given, empty for pandas."""
    package = "" if data is None else _package(data)
    return package if package in _ANSWERED else ""


def flat(table: pd.Series[Any] | pd.DataFrame) -> pd.DataFrame:
    """Predictions with one line of column names, which are text."""
    frame = table if isinstance(table, pd.DataFrame) else table.to_frame()
    names = ["_".join(map(str, name)) if isinstance(name, tuple) else str(name) for name in frame.columns]
    return frame.set_axis(names, axis=1)


def give_frame(table: Any, kind: str) -> Any:
    """A Series or DataFrame without its index in another kind, NaN as null."""
    import narwhals as nw

    columns = flat(table)
    arrays = {str(name): columns[name].to_numpy() for name in columns}
    frame = nw.from_dict(arrays, backend="polars" if kind == "polars" else "pyarrow")
    floats = [nw.col(name) for name, dtype in frame.schema.items() if dtype.is_float()]
    frame = frame.with_columns(nw.when(~column.is_nan()).then(column) for column in floats)
    return (frame.get_column(frame.columns[0]) if isinstance(table, pd.Series) else frame).to_native()


LEAST_WEIGHT = 1e-100
_WRONG = {"factor": "text", "date": "dates", "duration": "durations"}
_MEANT = {
    "weights": "a weight is a number of rows. Use 0 to leave a row out.",
    "var_weights": "the noise variance of a row is sigma^2 / w, infinite at 0. Leave a row out by weights= of 0.",
}


def read_weights(weights: Any, data: Frame, n: int, what: str = "weights", *, gaps: bool = False) -> Array:
    """Weights of all rows, by default frequencies, some missing where gaps are allowed; (n,) each."""
    if weights is None:
        return np.ones(n)
    column, table = _read(what, weights, data, n)
    if column.kind in _WRONG:
        raise DataError(f"The {what} {column.name!r} hold {_WRONG[column.kind]}. Give numbers.")
    values = np.asarray(column.values, dtype=np.float64)
    wrong = ~(np.isfinite(values) & (values >= 0)) & ~(gaps & np.isnan(values))
    if wrong.any():
        raise DataError(f"The {what} {column.name!r} are negative, missing or infinite in {table.rows(wrong)}.")
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
        remedy = "Every row that is used must have a group"
        raise DataError(f"The groups {column.name!r} are missing in {table.rows(lacking)}. {remedy}.")
    return np.unique(column.values[kept], return_inverse=True)[1].astype(np.intp)


def _read(what: str, given: Any, data: Frame, n: int) -> tuple[Column, Table]:
    """A column by name, a Series that finds its rows by the labels of the data, or an array in their order."""
    name, given = what, plain_values(given)
    if isinstance(given, str):
        name = given
        if name not in set(column_names(data)):
            raise DataError(
                f"The data have no column {name!r} for the {what}{nearest(name, column_names(data)) or '.'}"
            )
        given = data[name]
    elif isinstance(given, pd.Series) and _labelled(data):
        given = by_label(f"The {what}", what, given, read_table(data, []).index)
    table = read_table({name: given}, [name])
    if table.n != n:
        raise DataError(f"The {what} have {table.n} values for {n} rows. Give one per row.")
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
            f"{first} and {other} are Series whose labels differ in their order, and {plain[0]} has no labels. Give "
            "all of them as columns of one table, or as arrays by .to_numpy()."
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
        raise DataError(f"{what} have {len(given)} values for {len(index)} rows. Give one per row.")
    remedy = f"Give them the index of the data, or an array in the order of its rows by {name}.to_numpy()"
    strange = given.index[~given.index.isin(index)]
    if len(strange):
        raise DataError(f"{what} are a Series with labels that are not in the data, e.g. {strange[0]}. {remedy}.")
    if not (given.index.is_unique and index.is_unique):
        twice = given.index[given.index.duplicated()].append(index[index.duplicated()])[0]
        raise DataError(f"{what} are a Series with repeated labels: {twice} occurs twice. {remedy}.")
    return given.reindex(index)
