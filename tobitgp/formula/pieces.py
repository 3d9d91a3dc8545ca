"""The smallest pieces of a specification, and what a model and its noise scale share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from tobitgp.formula.functions import UserFunctions

Role = Literal["response", "event", "bound", "limit", "window", "linear", "gp", "by", "re", "offset"]
INPUT_ROLES: tuple[Role, ...] = ("linear", "gp", "by", "re", "offset")


@dataclass(frozen=True, slots=True)
class Expression:
    """A piece of formula text that passed the whitelist."""

    text: str  # as written, backticks kept
    start: int  # offset of the first character in the whole formula, for carets
    functions: UserFunctions = ()  # A user's own functions, which it may call


@dataclass(frozen=True, slots=True)
class Variable:
    """A column that the model uses."""

    name: str  # name of the column, without backticks
    start: int  # offset of its first use in this role
    role: Role
    date: bool = False  # whether it stands in ``decimal_year(...)``, where dates belong
    beside: str = ""  # the other column of a difference, ``b - a``, in which both may be dates; empty elsewhere


class LinearPart:
    """What a model and its noise scale share: linear terms in formulaic's grammar, and offsets."""

    __slots__ = ()
    part: ClassVar[str] = "linear part"  # what the linear terms make up, for messages
    formula: str  # as in `ModelSpec`
    linear: str  # as in `ModelSpec`
    offsets: tuple[Expression, ...]  # as in `ModelSpec`
    variables: tuple[Variable, ...]  # as in `ModelSpec`
    plain: tuple[str, ...] | None  # as in `ModelSpec`
    codings: tuple[Expression, ...]  # as in `ModelSpec`
    functions: UserFunctions  # as in `ModelSpec`

    @property
    def intercept(self) -> bool:
        """Whether the linear terms have an intercept."""
        return self.linear.split(" ", 1)[0] == "1"

    def names(self, *roles: str) -> tuple[str, ...]:
        """Columns used in any of these roles, in order of appearance; without roles, all."""
        return tuple(dict.fromkeys(v.name for v in self.variables if not roles or v.role in roles))
