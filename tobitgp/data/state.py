"""What was learned from the training rows, to be replayed on new ones."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tobitgp.data.beside import read_weights
from tobitgp.data.checks import check_dates, check_inputs, require_columns
from tobitgp.data.ends import open_far
from tobitgp.data.inputs import check_slopes, process_inputs
from tobitgp.data.levels import Level, find_groups, group_levels, unseen_error
from tobitgp.data.linear import LinearState
from tobitgp.data.parts import PartState, fit_part, scale_design
from tobitgp.data.response import read_limits
from tobitgp.data.shapes import Design, Groups
from tobitgp.data.table import Column, Table, column_names, read_table
from tobitgp.data.window import read_window
from tobitgp.errors import DataError, SpecError
from tobitgp.formula.spec import INPUT_ROLES as INPUT_ROLES
from tobitgp.formula.spec import LinearPart, ModelSpec, Role, ScaleSpec
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
    scale : PartState or None
        Of the noise scale, where it has a formula; its factors are among ``levels``.
    var_weight : (str, float) or None
        Column of the variance weights, empty where they were given as an array, and their mean, which is a row's
        whose noise is that of sigma.
    """

    spec: ModelSpec
    levels: dict[str, tuple[Any, ...] | None]
    coded: tuple[Array, ...]
    linear: LinearState
    group_levels: tuple[tuple[Level, ...] | None, ...]
    scale: PartState | None = None
    var_weight: tuple[str, float] | None = None

    @property
    def parts(self) -> tuple[PartState, ...]:
        """The linear part, and that of the noise scale where there is one."""
        linear = PartState(self.spec, self.coded, self.linear)
        return (linear,) if self.scale is None else (linear, self.scale)

    @property
    def input_names(self) -> tuple[str, ...]:
        """Columns that new data need."""
        return input_names(self.spec, None if self.scale is None else self.scale.spec)

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
        names, parts = self.input_names, self.parts
        require_columns(new_data, names)
        table = read_table(new_data, names)
        for part in parts:
            check_dates(part.spec, table, INPUT_ROLES)
        usable = ~table.missing(names)
        table = table.take(usable)
        check_inputs(names, table)
        groups = find_groups(self.spec, table, self.group_levels)
        return replace(self._build(table, groups), spread=self._spread(new_data, usable)), usable

    def _spread(self, new_data: Frame, usable: BoolArray) -> Array | None:
        """Noise of rows in units of sigma, where the data hold their weights; of others it is sigma."""
        name, mean = self.var_weight or ("", 1.0)
        if not name or name not in column_names(new_data):
            return None
        return np.sqrt(mean / read_weights(name, new_data, len(usable), "var_weights")[usable])

    def build(self, table: Table) -> Design:
        """Build the same covariates of other training rows.

        Parameters
        ----------
        table : Table
            Inputs of rows without missing values, no level among them that the state has not.

        Returns
        -------
        Design
        """
        return self._build(table, find_groups(self.spec, table, self.group_levels))

    def _build(self, table: Table, groups: tuple[Groups | None, ...]) -> Design:
        parts = self.parts
        numeric = dict.fromkeys(name for part in parts for name in part.spec.names(*NUMERIC_ROLES))
        table = self.recode(Table({name: table.columns[name] for name in numeric}, table.index))
        H = tuple(part.replay(table) for part in parts)
        return _assemble(self.spec, table, parts, H, groups)

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
        return open_far(*read_limits(self.spec, self._ends(new_data, usable, "limit", "limits")))

    def window(self, new_data: Frame, usable: BoolArray | None = None) -> tuple[Array, Array]:
        """Window outside which rows of new data could not be seen, read as :meth:`limits` reads theirs.

        Raises
        ------
        SpecError
            If its ends are columns that the new data lack.
        DataError
            If an end is missing.
        """
        return open_far(*read_window(self.spec, self._ends(new_data, usable, "window", "ends of the window")))

    def _ends(self, new_data: Frame, usable: BoolArray | None, role: Role, what: str) -> Table:
        """Columns of the new data that a role of the response names."""
        names = self.spec.names(role)
        known = set(column_names(new_data))
        lacking = [name for name in names if name not in known]
        if lacking:
            listed = ", ".join(repr(name) for name in lacking)
            raise SpecError(f"The {what} of this model are columns of the data; the new data lack {listed}")
        table = read_table(new_data, names)
        check_dates(self.spec, table, (role,))
        return table if usable is None else table.take(usable)

    def recode(self, table: Table) -> Table:
        """A table of inputs with the levels of the training data.

        Raises
        ------
        UnseenLevelError
            If a factor has a level that the training data had not.
        DataError
            If a column held numbers in training and holds text now, or the reverse.
        """
        return Table({name: self._recode(column, table) for name, column in table.columns.items()}, table.index)

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


def input_names(spec: ModelSpec, scale: LinearPart | None = None) -> tuple[str, ...]:
    """Columns right of ``~`` in the formula of a model, and in that of its noise scale."""
    own = () if scale is None else scale.names()
    return tuple(dict.fromkeys((*spec.names(*INPUT_ROLES), *own)))


def fit_design(spec: ModelSpec, table: Table, scale: ScaleSpec | None = None) -> tuple[Design, DesignState]:
    """Build the covariates of the training rows and remember how.

    Parameters
    ----------
    spec : ModelSpec
    table : Table
        Without missing values.
    scale : ScaleSpec, optional
        Of the noise scale.

    Returns
    -------
    design : Design
    state : DesignState
    """
    names = input_names(spec, scale)
    table = Table({name: _used_levels(table.columns[name]) for name in names}, table.index)
    check_inputs(names, table)
    H, parts = zip(*(fit_part(item, table) for item in (spec, scale) if item is not None), strict=True)
    levels = {name: column.levels for name, column in table.columns.items()}
    groups = group_levels(spec, table)
    design = _assemble(spec, table, parts, H, find_groups(spec, table, groups))
    check_slopes(spec, design.X)
    state = DesignState(spec, levels, parts[0].coded, parts[0].linear, groups, parts[1] if scale is not None else None)
    return design, state


def _assemble(
    spec: ModelSpec,
    table: Table,
    parts: tuple[PartState, ...],
    H: tuple[Array, ...],
    groups: tuple[Groups | None, ...],
) -> Design:
    """Covariates from the columns of the linear part, and of the noise scale where there is one."""
    X = tuple(process_inputs(term, table) for term in spec.gps)
    scale = scale_design(parts[1], H[1], table) if len(parts) > 1 else None
    return Design(H[0], parts[0].linear.columns, X, parts[0].offset(table), groups, scale)


def _used_levels(column: Column) -> Column:
    """Take from a factor the levels that do not occur."""
    if column.levels is None:
        return column
    used, codes = np.unique(column.values.astype(np.intp), return_inverse=True)
    return Column(column.name, codes.astype(np.intp), column.missing, tuple(column.levels[i] for i in used))
