"""What covariates have to be before anything is made of them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tobitgp.data.evaluate import finite
from tobitgp.data.table import Table, column_names
from tobitgp.errors import DataError
from tobitgp.formula.functions import nearest
from tobitgp.formula.spec import LinearPart
from tobitgp.formula.terms import spelled
from tobitgp.typing import Frame

_LARGEST, _SMALLEST = 1e70, 1e-70  # a coefficient is a ratio of two sizes, its variance the square of that


def check_inputs(names: Iterable[str], table: Table) -> None:
    """Refuse infinite inputs."""
    for name in names:
        column = table.columns[name]
        if column.kind == "number":
            finite(np.asarray(column.values, dtype=np.float64), table, f"Column {name!r}")


def check_size(what: str, size: float) -> None:
    """Refuse sizes from which variances of coefficients may leave the range of floating-point numbers; 0 passes."""
    if size > _LARGEST or 0.0 < size < _SMALLEST:
        raise DataError(f"The size of {what} is {size:.3g}; express it in units in which it is nearer to 1")


def check_dates(spec: LinearPart, table: Table, roles: tuple[str, ...] = ()) -> None:
    """Refuse dates outside ``decimal_year`` and differences of two dates, and anything but dates inside."""
    for variable in spec.variables:
        if roles and variable.role not in roles:
            continue
        column = table.columns[variable.name]
        beside = table.columns.get(variable.beside)
        if column.dates == variable.date or column.missing.all() or (beside is not None and beside.dates):
            continue
        name = spelled(variable.name)
        if column.dates and variable.role in ("by", "re"):
            remedy = f"make text of it: df[{variable.name!r}] = df[{variable.name!r}].astype(str)"
            raise DataError(f"Column {variable.name!r} holds dates, which make no groups; {remedy}")
        if column.dates:
            other = f", or make dates of {variable.beside!r} too" if variable.beside else ""
            raise DataError(f"Column {variable.name!r} holds dates; write decimal_year({name}) in the formula{other}")
        remedy = f"make dates of it by pd.to_datetime(df[{variable.name!r}]), or write {name} alone"
        what = "numbers" if column.levels is None else "text"
        raise DataError(f"decimal_year({name}) takes dates, and column {variable.name!r} holds {what}; {remedy}")


def require_columns(data: Frame, names: Iterable[str]) -> None:
    """Refuse new data that lack a column."""
    present = column_names(data)
    known = set(present)
    lacking = [name for name in names if name not in known]
    if lacking:
        listed = ", ".join(repr(name) for name in lacking)
        raise DataError(
            f"The new data lack the column{'s' * (len(lacking) > 1)} {listed}{nearest(lacking[0], present)}"
        )
