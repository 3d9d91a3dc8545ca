"""Which rows of the data are used, and what is known of their response: counted where the rows are."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from tobitgp.data.response import Censored, read_response, unknown_rows, warn_beyond
from tobitgp.data.shapes import CensoredResponse
from tobitgp.data.slips import refuse_unknown_limits
from tobitgp.data.table import RowNames, Table
from tobitgp.errors import DataError, user_level
from tobitgp.formula.spec import ModelSpec
from tobitgp.typing import Array, BoolArray

SIDES = {"exact": 0, "left": -1, "right": 1, "interval": 2}


@dataclass(frozen=True, slots=True)
class Complete:
    """Which rows are complete."""

    n: int  # rows of the data
    weightless: int  # rows of weight 0, which may miss anything
    incomplete: RowNames  # rows that count, and miss something
    missing: dict[str, int]  # for each column

    def merge(self, other: Complete) -> Complete:
        """Of both sets of rows."""
        return Complete(
            self.n + other.n,
            self.weightless + other.weightless,
            self.incomplete.merge(other.incomplete),
            {name: count + other.missing[name] for name, count in self.missing.items()},
        )

    @property
    def words(self) -> str:
        """What is missing."""
        listed = ", ".join(f"{name} ({count})" for name, count in self.missing.items() if count)
        return f"missing values in {listed or 'no column'}"

    @property
    def _why_none(self) -> str:
        if self.weightless == self.n:
            return f"all {self.n} have weight 0"
        return self.words + (f", and {self.weightless} rows of weight 0" if self.weightless else "")

    def judge(self, missing: Literal["drop", "raise"]) -> None:
        """Say which rows are left out."""
        count, counted = self.incomplete.count, self.n - self.weightless
        if count and missing == "raise":
            raise DataError(f"{self.words}; first in {self.incomplete}")
        if count == counted:
            raise DataError(f"No row is left: {self._why_none}")
        if count:
            dropped = f"{count} of {self.n} rows {'is' if count == 1 else 'are'} dropped"
            warnings.warn(f"{dropped}: {self.words}", UserWarning, stacklevel=user_level())


class Counted(NamedTuple):
    """Rows of each kind, left out or not, and those beyond their limits."""

    kinds: dict[str, int]  # rows that are ``exact``, ``left``, ``right`` and ``interval`` censored
    used: int  # rows that are not left out
    beyond: RowNames
    open: RowNames  # rows that say nothing of a time: it is positive

    def merge(self, other: Counted) -> Counted:
        """Of both sets of rows."""
        kinds = {name: count + other.kinds[name] for name, count in self.kinds.items()}
        return Counted(kinds, self.used + other.used, self.beyond.merge(other.beyond), self.open.merge(other.open))

    def inside(self, place: str) -> Counted:
        """The same, rows named as those of a piece."""
        return self._replace(beyond=self.beyond.inside(place), open=self.open.inside(place))

    def judge(self, missing: Literal["drop", "raise"]) -> None:
        """Say which values were taken for others, and which rows are left out."""
        warn_beyond(self.beyond)
        n = sum(self.kinds.values())
        count = self.open.count
        says = f"{count} row{' says' if count == 1 else 's say'} nothing of a positive response ({self.open})"
        why = "the lower end is not above 0, and the upper one is open"
        if count and missing == "raise":
            raise DataError(f"{says}: {why}")
        if count and not n:
            raise DataError(f"No row is left: {says}; {why}")
        if not self.used:
            raise DataError(f"No row is left: all {n} are censored, and censored='drop' leaves them out")
        if count:
            dropped = "it is dropped" if count == 1 else "they are dropped"
            warnings.warn(f"{says}, and {dropped}: {why}", UserWarning, stacklevel=user_level())


def complete_rows(spec: ModelSpec, inputs: Sequence[str], table: Table, weight: Array) -> tuple[BoolArray, Complete]:
    """Rows of positive weight in which something is known of the response, and no input or code is missing.

    Shapes: weight (n,); gives kept (n,).
    """
    counted = weight > 0
    unknown = unknown_rows(spec, table)
    uncoded = table.missing(spec.names("event"))
    refuse_unknown_limits(spec, table, counted & unknown & ~uncoded)
    incomplete = counted & (unknown | uncoded | table.missing(inputs))
    names = dict.fromkeys((*spec.names("response", "event"), *inputs))
    missing = {repr(name): int((table.columns[name].missing & counted).sum()) for name in names}
    if spec.response.kind == "interval":
        missing = {f"both ends of {spec.response.label}": int((unknown & counted).sum()), **missing}
    found = Complete(table.n, int((~counted).sum()), table.name_rows(incomplete), missing)
    return counted & ~incomplete, found


def known_response(
    spec: ModelSpec, table: Table, weight: Array, censored: Censored, *, log_time: bool = False
) -> tuple[CensoredResponse, BoolArray, Counted]:
    """What is known of the response in complete rows, and which of them are used.

    Shapes: weight (n,); gives used (n,).
    """
    response, kind, beyond = read_response(spec, table, weight, censored=censored)
    says = ~((kind == 1) & (response.lower <= 0.0)) if log_time else np.ones(table.n, dtype=bool)
    used = says & (kind == 0) if censored == "drop" else says
    kinds = {name: int((kind[says] == side).sum()) for name, side in SIDES.items()}
    counted = Counted(kinds, int(used.sum()), table.name_rows(beyond & says), table.name_rows(~says))
    return response if used.all() else response.rows(used), used, counted
