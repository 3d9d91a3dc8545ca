"""Arguments of metrics, checked and converted to arrays of one length."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from tobitgp.errors import DataError, SpecError
from tobitgp.typing import Array, BoolArray

_OPEN = "an open end must be -inf or inf"
_CODES = "causes must be whole numbers (0: censored), text ('censored') or categories (the first: censored)"

_TIED = {"half": 0.5, "zero": 0.0}  # what a pair of equal scores counts


class RightCensored(NamedTuple):
    """Right-censored times of n rows."""

    time: Array  # (n,), 0 or more
    event: BoolArray  # (n,), of any cause
    entry: Array  # (n,), entry time of each row, ``-inf`` if it was followed from the beginning
    weight: Array  # (n,), frequency weights
    case: BoolArray  # (n,), whether it was an event of the requested cause

    @property
    def other(self) -> BoolArray:
        """Whether each row had an event of another cause."""
        return self.event & ~self.case

    def rows(self, at: BoolArray) -> RightCensored:
        """Some of the rows."""
        return RightCensored(self.time[at], self.event[at], self.entry[at], self.weight[at], self.case[at])


def read_column(name: str, values: Any, n: int | None = None, *, infinite: bool = False, missing: str = "") -> Array:
    """One number per row, (n,)."""
    column = _flat(name, values)
    if n is not None and len(column) != n:
        raise DataError(f"{name} has {len(column)} rows, but must have {n}.")
    if not len(column):
        raise DataError(f"{name} is empty. Give at least one row.")
    absent = column.isna().to_numpy(dtype=bool)
    _refuse(absent, f"{name} is missing in", missing)
    numbers = pd.api.types.is_numeric_dtype(column.dtype) and not pd.api.types.is_bool_dtype(column.dtype)
    if column.dtype == object:
        numbers = all(isinstance(v, (int, float, np.number)) and not isinstance(v, bool) for v in column)
    if not numbers or pd.api.types.is_complex_dtype(column.dtype):
        raise DataError(f"{name} holds {column.iloc[0]!r}: values must be numbers.")
    out = column.to_numpy(dtype=np.float64, copy=True)
    if not infinite:
        _refuse(np.isinf(out), f"{name} is infinite in")
    return out


def read_event(event: Any, n: int, name: str = "event", more: str = "") -> BoolArray:
    """Whether each row's time is that of its event; True for all where ``event`` is None."""
    if event is None:
        return np.ones(n, dtype=bool)
    column = _flat(name, event)
    objects = column.dtype == object
    truths = all(isinstance(v, (bool, np.bool_)) for v in column) if objects else pd.api.types.is_bool_dtype(column)
    values = read_column(name, column.astype(float) if truths and not column.isna().any() else column, n)
    rule = "1 or True means an event, 0 or False a censored row"
    _refuse((values != 0.0) & (values != 1.0), f"{name} is neither 0 nor 1 in", rule + more)
    return values == 1.0


def read_causes(event: Any, n: int, cause: Any, name: str = "event") -> tuple[BoolArray, BoolArray]:
    """Whether each row had an event of any cause, and of the requested cause; both are the same if that is None."""
    if cause is None:
        seen = read_event(event, n, name, "; if there are several causes, choose one with cause=")
        return seen, seen
    if not pd.api.types.is_scalar(cause):
        raise SpecError(f"cause={cause!r}: must be one of the causes.")
    column = _flat(name, event).infer_objects()
    if len(column) != n:
        raise DataError(f"{name} has {len(column)} rows, but must have {n}.")
    _refuse(column.isna().to_numpy(dtype=bool), f"{name} is missing in")
    if isinstance(column.dtype, pd.CategoricalDtype):
        censored = column.cat.categories[0]
    elif pd.api.types.is_numeric_dtype(column.dtype):
        censored, codes = 0, column.to_numpy(dtype=np.float64)
        _refuse((codes < 0.0) | (codes % 1.0 != 0.0), f"{name} is not the code of a cause in", _CODES)
    else:
        censored = "censored"
        if not (column == censored).any():
            raise DataError(f"{name} holds {column.iloc[0]!r} and never 'censored': {_CODES}.")
    seen, case = (column != censored).to_numpy(dtype=bool), (column == cause).to_numpy(dtype=bool)
    if not (case & seen).any():
        held = ", ".join(map(repr, pd.unique(column[seen])[:10].tolist()))
        raise DataError(f"cause={cause!r}: no row has such an event. Choose one of {held or 'no cause'}.")
    return seen, case


def read_survival(name: str, rows: Any, entry: Any = None, weights: Any = None, cause: Any = None) -> RightCensored:
    """Right-censored times: a pair of time and event, or scikit-survival's structured array of event and time."""
    fields = getattr(getattr(rows, "dtype", None), "names", None)
    if fields and len(fields) == 2:
        rows = tuple(rows[f] for f in sorted(fields, key=lambda f: "fiub".find(rows.dtype[f].kind)))
    if not isinstance(rows, (tuple, list)) or len(rows) != 2 or any(pd.api.types.is_scalar(part) for part in rows):
        raise SpecError(f'{name}= must be a pair of time and event, e.g. {name}=(df["time"], df["event"]).')
    given = {"entry": entry, "weights": weights}
    check_order(**{f"{name}[0]": rows[0], f"{name}[1]": rows[1]}, **{f"{k} of {name}": v for k, v in given.items()})
    time = read_column(f"The time of {name}", rows[0])
    _refuse(time < 0.0, f"The time of {name} is negative in")
    event, case = read_causes(rows[1], len(time), cause, f"The event of {name}")
    start = read_entry(entry, time, f"Entry of {name}")
    return RightCensored(time, event, start, read_weights(weights, len(time), f"Weights of {name}"), case)


def read_both(
    train: Any, test: Any, entry: Any, weights: Any, cause: Any = None
) -> tuple[RightCensored, RightCensored]:
    """Training and test rows, with pairs of their entries and weights."""
    for name, pair in (("entry", entry), ("weights", weights)):
        if pair is not None and not (isinstance(pair, tuple) and len(pair) == 2):
            raise SpecError(f"{name}= must be a pair (a, b), for the rows of train and of test; None for none.")
    of_entry, of_weights = entry or (None, None), weights or (None, None)
    return (
        read_survival("train", train, of_entry[0], of_weights[0], cause),
        read_survival("test", test, of_entry[1], of_weights[1], cause),
    )


def read_entry(entry: Any, end: Array, name: str = "entry") -> Array:
    """Entry time of each row, before its end; -inf for all if ``entry`` is None."""
    if entry is None:
        return np.full(len(end), -np.inf)
    start = read_column(name, entry, len(end), infinite=True)
    _refuse(start >= end, f"{name} is not before the end of", "a row must enter before its time")
    return start


def read_weights(weights: Any, n: int, name: str = "weights") -> Array:
    """Frequency weights, 1 for all where ``weights`` is None."""
    if weights is None:
        return np.ones(n)
    w = read_column(name, weights, n)
    if (w < 0.0).any() or not w.any():
        least = f"{w.min():g} is below 0" if (w < 0.0).any() else "all are 0"
        raise DataError(f"{name}: {least}. Frequency weights must be 0 or more.")
    return w


def read_ties(ties: Any) -> float:
    """What a pair of equal scores counts."""
    if ties not in _TIED:
        raise SpecError(f"ties={ties!r}: must be one of {', '.join(map(repr, _TIED))}.")
    return _TIED[ties]


def read_bounds(time: Any, event: Any, lower: Any, upper: Any, n: int, name: str = "time") -> tuple[Array, Array]:
    """Ends of the intervals that contain each row, (n,) each, from any of three specifications."""
    limited = lower is not None or upper is not None
    if time is None and (not limited or event is not None):
        raise SpecError(f"{name}=None requires the ends of the intervals, lower= and upper=, without event=.")
    if event is not None and limited:
        raise SpecError("event= cannot be combined with lower= or upper=. Specify the censoring by one of the two.")
    low, high = _end("lower", lower, -np.inf, n), _end("upper", upper, np.inf, n)
    if time is None:
        _refuse((low > high) | (low == np.inf) | (high == -np.inf), "lower and upper enclose nothing in")
        return low, high
    y = read_column(name, time, n)
    _refuse(low >= high, "the limit lower is not below upper in", f"with {name}=None they are the ends of intervals")
    if event is not None:
        return y, np.where(read_event(event, n), y, np.inf)
    under, over = y <= low, y >= high
    return np.where(under, -np.inf, np.where(over, high, y)), np.where(under, low, np.where(over, np.inf, y))


def check_order(**columns: Any) -> None:
    """Raise an error for Series that hold the same row labels in different orders: rows are matched by position."""
    labelled = [(name, c) for name, c in columns.items() if isinstance(c, (pd.Series, pd.DataFrame))]
    for name, column in labelled[1:]:
        first, other = labelled[0][1].index, column.index
        unique = len(first) == len(other) and first.is_unique and other.is_unique
        if unique and not first.equals(other) and bool(first.isin(other).all()):
            raise DataError(
                f"{labelled[0][0]} and {name} hold the same row labels in different orders, but rows are matched by "
                "position. Reorder one of them."
            )


def _flat(name: str, values: Any) -> pd.Series[Any]:
    """A Series of the values, one per row."""
    if isinstance(values, pd.DataFrame) and values.shape[1] == 1:
        values = values.iloc[:, 0]
    if not isinstance(values, (pd.Series, pd.api.extensions.ExtensionArray)):
        try:
            values = np.asarray(values)
        except ValueError:
            raise DataError(f"{name}: must have one number per row.") from None
        values = values[:, 0] if values.ndim == 2 and values.shape[1] == 1 else values
        if values.ndim != 1:
            raise DataError(f"{name} has shape {values.shape}: must have one number per row.")
    return pd.Series(values).reset_index(drop=True)


def _end(name: str, values: Any, open_end: float, n: int) -> Array:
    """One end a row; None is open everywhere and a number the same everywhere."""
    if values is None:
        return np.full(n, open_end)
    return read_column(
        name, np.full(n, values) if pd.api.types.is_scalar(values) else values, n, infinite=True, missing=_OPEN
    )


def _refuse(bad: BoolArray, what: str, rule: str = "") -> None:
    """Raise with the first bad row."""
    if bad.any():
        more = f" and {bad.sum() - 1} more" if bad.sum() > 1 else ""
        raise DataError(
            f"{what} row {int(np.argmax(bad))}{more} (of {len(bad)}, counted from 0){': ' + rule if rule else ''}."
        )
