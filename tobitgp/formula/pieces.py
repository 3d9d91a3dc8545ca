"""The smallest pieces of a specification, and what a model and its noise scale share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from tobitgp.formula.functions import UserFunctions

Role = Literal["response", "event", "bound", "limit", "window", "linear", "gp", "by", "re", "offset"]
INPUT_ROLES: tuple[Role, ...] = ("linear", "gp", "by", "re", "offset")


@dataclass(frozen=True, slots=True)
class Expression:
    """A piece of formula text that passed the whitelist.

    Attributes
    ----------
    text : str
        As written, backticks kept.
    start : int
        Offset of the first character in the whole formula, for carets.
    functions : tuple of (str, callable)
        A user's own functions, which it may call.
    """

    text: str
    start: int
    functions: UserFunctions = ()


@dataclass(frozen=True, slots=True)
class Variable:
    """A column that the model uses.

    Attributes
    ----------
    name : str
        Name of the column, without backticks.
    start : int
        Offset of its first use in this role.
    role : {"response", "event", "bound", "limit", "window", "linear", "gp", "by", "re", "offset"}
        A column used in several roles is listed once for each. A ``"bound"`` is an end between which the value lies,
        a ``"limit"`` one of the instrument, a ``"window"`` one of truncation; ``"event"`` covers every code of a row.
        ``"gp"`` is an input of a process, ``"by"`` a column whose every level has a process of its own, ``"re"`` the
        groups of a random intercept.
    date : bool
        Whether it stands in ``decimal_year(...)``, where dates belong.
    beside : str
        The other column of a difference, ``b - a``, in which both may be dates; empty elsewhere.
    """

    name: str
    start: int
    role: Role
    date: bool = False
    beside: str = ""


class LinearPart:
    """What a model and its noise scale share: linear terms in formulaic's grammar, and offsets.

    Attributes
    ----------
    part : str
        What the linear terms make up, for messages.
    formula, linear, offsets, variables, plain, codings, functions
        As in `ModelSpec`.
    """

    __slots__ = ()
    part: ClassVar[str] = "linear part"
    formula: str
    linear: str
    offsets: tuple[Expression, ...]
    variables: tuple[Variable, ...]
    plain: tuple[str, ...] | None
    codings: tuple[Expression, ...]
    functions: UserFunctions

    @property
    def intercept(self) -> bool:
        """Whether the linear terms have an intercept."""
        return self.linear.split(" ", 1)[0] == "1"

    def names(self, *roles: str) -> tuple[str, ...]:
        """Columns used in any of these roles, in order of appearance; without roles, all."""
        return tuple(dict.fromkeys(v.name for v in self.variables if not roles or v.role in roles))
