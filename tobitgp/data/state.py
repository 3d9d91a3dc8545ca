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
    """How the covariates of a model are made from data."""

    spec: ModelSpec
    levels: dict[str, tuple[Any, ...] | None]  # levels of each factor among the inputs; None for a column of numbers
    coded: tuple[Array, ...]  # values of each ``C(...)`` of numbers seen in training, in the order of ``spec.codings``
    linear: LinearState
    group_levels: tuple[tuple[Level, ...] | None, ...]  # levels of the group of each process
    scale: PartState | None = None  # of the noise scale, where it has a formula; its factors are among ``levels``
    var_weight: tuple[str, float] | None = None  # column of the variance weights

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

        Gives usable (n_new,).
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
        """Build the same covariates of other training rows."""
        return self._build(table, find_groups(self.spec, table, self.group_levels))

    def _build(self, table: Table, groups: tuple[Groups | None, ...]) -> Design:
        parts = self.parts
        numeric = dict.fromkeys(name for part in parts for name in part.spec.names(*NUMERIC_ROLES))
        table = self.recode(Table({name: table.columns[name] for name in numeric}, table.index))
        H = tuple(part.replay(table) for part in parts)
        return _assemble(self.spec, table, parts, H, groups)

    def limits(self, new_data: Frame, usable: BoolArray | None = None) -> tuple[Array, Array]:
        """Limits of the instrument on new data, for predictions on the observed scale.

        Shapes: usable (n_new,); gives lower, upper (n,).
        """
        return open_far(*read_limits(self.spec, self._ends(new_data, usable, "limit", "limits")))

    def window(self, new_data: Frame, usable: BoolArray | None = None) -> tuple[Array, Array]:
        """Window outside which rows of new data could not be seen, read as :meth:`limits` reads theirs."""
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
        """A table of inputs with the levels of the training data."""
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
    """Build the covariates of the training rows and remember how."""
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
