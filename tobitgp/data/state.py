"""What was learned from the training rows, to be replayed on new ones."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tobitgp.data.evaluate import bare_column, evaluate, finite
from tobitgp.data.inputs import check_slopes, process_inputs
from tobitgp.data.levels import Level, find_groups, group_levels, unseen_error
from tobitgp.data.linear import LinearState, fit_linear, replay_linear
from tobitgp.data.response import read_limits
from tobitgp.data.shapes import Design, Groups
from tobitgp.data.table import Column, Table, column_names, read_table
from tobitgp.errors import DataError, SpecError
from tobitgp.formula.functions import nearest
from tobitgp.formula.spec import INPUT_ROLES as INPUT_ROLES
from tobitgp.formula.spec import Expression, ModelSpec
from tobitgp.formula.terms import spelled
from tobitgp.typing import Array, BoolArray, Frame

NUMERIC_ROLES = ("linear", "gp", "offset")


@dataclass(frozen=True, slots=True)
class DesignState:
    """How the covariates of a model are made from data.

    Attributes
    ----------
    spec : ModelSpec
    levels : dict
        Levels of each factor among the inputs; None for a column of numbers.
    coded : tuple of arrays
        Values of each ``C(...)`` of numbers seen in training, in the order of ``spec.codings``; empty for factors.
    linear : LinearState
    group_levels : tuple of (tuple of str or number) or None
        Levels of the group of each process, in the order of ``spec.gps``; None for one without ``by=`` or ``re()``.
    """

    spec: ModelSpec
    levels: dict[str, tuple[Any, ...] | None]
    coded: tuple[Array, ...]
    linear: LinearState
    group_levels: tuple[tuple[Level, ...] | None, ...]

    def replay(self, new_data: Frame) -> tuple[Design, BoolArray]:
        """Build the same covariates on new data.

        Parameters
        ----------
        new_data : DataFrame or dict of columns
            With the columns right of ``~``; the response and the limits are not needed.

        Returns
        -------
        design : Design
            Of the usable rows alone.
        usable : (n_new,) array of bool
            False where an input is missing.

        Raises
        ------
        UnseenLevelError
            If a factor, or a ``by=`` column, has a level that the training data had not; ``re()`` takes any.
        DataError
            If a column is missing, of another type than in training, or not finite.
        """
        names = self.spec.names(*INPUT_ROLES)
        require_columns(new_data, names)
        table = read_table(new_data, names)
        check_dates(self.spec, table, INPUT_ROLES)
        usable = ~table.missing(names)
        table = table.take(usable)
        check_inputs(self.spec, table)
        groups = find_groups(self.spec, table, self.group_levels)
        numeric = self.spec.names(*NUMERIC_ROLES)
        table = Table({name: self._recode(table.columns[name], table) for name in numeric}, table.index)
        self._check_coded(table)
        return _assemble(self.spec, table, replay_linear(self.linear, self.spec, table), self.linear, groups), usable

    def limits(self, new_data: Frame, usable: BoolArray | None = None) -> tuple[Array, Array]:
        """Limits of the instrument on new data, for predictions on the observed scale.

        Parameters
        ----------
        new_data : DataFrame or dict of columns
            With the columns of the limits where they are columns; constants are replayed.
        usable : (n_new,) array of bool, optional
            Rows to do it for, as given by :meth:`replay`; all without.

        Returns
        -------
        lower, upper : (n,) array
            One entry for each row that is done; ``-inf`` and ``inf`` where there is no limit.

        Raises
        ------
        SpecError
            If the model does not know its limits, as with ``Surv``, or they are columns that the new data lack.
        DataError
            If a limit is missing, or lower limits are not below upper ones.
        """
        names = self.spec.names("limit")
        known = set(column_names(new_data))
        lacking = [name for name in names if name not in known]
        if lacking:
            listed = ", ".join(repr(name) for name in lacking)
            raise SpecError(f"The limits of this model are columns of the data; the new data lack {listed}")
        table = read_table(new_data, names)
        check_dates(self.spec, table, ("limit",))
        return read_limits(self.spec, table if usable is None else table.take(usable))

    def _recode(self, column: Column, table: Table) -> Column:
        """Give a column of new data the codes of the training levels."""
        levels = self.levels[column.name]
        if len(column.values) == 0:
            return Column(column.name, np.empty(0), column.missing, levels)
        if (levels is None) != (column.levels is None):
            was, now = ("numbers", "text") if levels is None else ("text", "numbers")
            raise DataError(f"Column {column.name!r} held {was} in training and holds {now} now")
        if levels is None or column.levels is None:
            return column
        position = {level: i for i, level in enumerate(levels)}
        codes = np.array([position.get(level, -1) for level in column.levels], dtype=np.intp)[
            column.values.astype(np.intp)
        ]
        if (codes < 0).any():
            unseen = dict.fromkeys(column.levels[i] for i in column.values[codes < 0].astype(np.intp))
            raise unseen_error(f"Column {column.name!r}", unseen, levels, table.rows(codes < 0))
        return Column(column.name, codes, column.missing, levels)

    def _check_coded(self, table: Table) -> None:
        for coding, seen in zip(self.spec.codings, self.coded, strict=True):
            if len(seen) == 0:
                continue
            values = evaluate(coding, table)
            unseen = ~np.isin(values, seen)
            if unseen.any():
                shown = dict.fromkeys(f"{value:g}" for value in values[unseen])
                levels = tuple(f"{value:g}" for value in seen)
                raise unseen_error(f"C({coding.text})", shown, levels, table.rows(unseen))


def fit_design(spec: ModelSpec, table: Table) -> tuple[Design, DesignState]:
    """Build the covariates of the training rows and remember how.

    Parameters
    ----------
    spec : ModelSpec
    table : Table
        Without missing values.

    Returns
    -------
    design : Design
    state : DesignState
    """
    names = spec.names(*INPUT_ROLES)
    table = Table({name: _used_levels(table.columns[name]) for name in names}, table.index)
    check_inputs(spec, table)
    coded = tuple(_coded_values(coding, table) for coding in spec.codings)
    H, linear = fit_linear(spec, table)
    levels = {name: column.levels for name, column in table.columns.items()}
    groups = group_levels(spec, table)
    design = _assemble(spec, table, H, linear, find_groups(spec, table, groups))
    check_slopes(spec, design.X)
    return design, DesignState(spec, levels, coded, linear, groups)


def check_inputs(spec: ModelSpec, table: Table) -> None:
    """Refuse infinite inputs."""
    for name in spec.names(*INPUT_ROLES):
        column = table.columns[name]
        if column.kind == "number":
            finite(np.asarray(column.values, dtype=np.float64), table, f"Column {name!r}")


def check_dates(spec: ModelSpec, table: Table, roles: tuple[str, ...] = ()) -> None:
    """Refuse dates outside ``decimal_year``, and anything but dates inside.

    Parameters
    ----------
    spec : ModelSpec
    table : Table
    roles : tuple of str
        Of the columns to check; all without.

    Raises
    ------
    DataError
        Naming the column.
    """
    for variable in spec.variables:
        if roles and variable.role not in roles:
            continue
        column = table.columns[variable.name]
        if column.dates == variable.date or column.missing.all():
            continue
        name = spelled(variable.name)
        if column.dates and variable.role in ("by", "re"):
            remedy = f"make text of it: df[{variable.name!r}] = df[{variable.name!r}].astype(str)"
            raise DataError(f"Column {variable.name!r} holds dates, which make no groups; {remedy}")
        if column.dates:
            raise DataError(f"Column {variable.name!r} holds dates; write decimal_year({name}) in the formula")
        remedy = f"make dates of it by pd.to_datetime(df[{variable.name!r}]), or write {name} alone"
        what = "numbers" if column.levels is None else "text"
        raise DataError(f"decimal_year({name}) takes dates, and column {variable.name!r} holds {what}; {remedy}")


def require_columns(data: Frame, names: Iterable[str]) -> None:
    """Refuse new data that lack a column.

    Raises
    ------
    DataError
        With the nearest names.
    """
    present = column_names(data)
    known = set(present)
    lacking = [name for name in names if name not in known]
    if lacking:
        listed = ", ".join(repr(name) for name in lacking)
        raise DataError(
            f"The new data lack the column{'s' * (len(lacking) > 1)} {listed}{nearest(lacking[0], present)}"
        )


def _assemble(
    spec: ModelSpec, table: Table, H: Array, linear: LinearState, groups: tuple[Groups | None, ...]
) -> Design:
    X = tuple(process_inputs(term, table) for term in spec.gps)
    offset = np.zeros(table.n)
    for item in spec.offsets:
        offset += finite(evaluate(item, table), table, f"offset({item.text})")
    return Design(H, linear.columns, X, offset, groups)


def _used_levels(column: Column) -> Column:
    """Take from a factor the levels that do not occur."""
    if column.levels is None:
        return column
    used, codes = np.unique(column.values.astype(np.intp), return_inverse=True)
    return Column(column.name, codes.astype(np.intp), column.missing, tuple(column.levels[i] for i in used))


def _coded_values(coding: Expression, table: Table) -> Array:
    """Distinct values of a ``C(...)`` of numbers; empty for a factor."""
    column = bare_column(coding, table)
    if column is not None and column.kind == "factor":
        return np.empty(0)
    return np.unique(evaluate(coding, table))
