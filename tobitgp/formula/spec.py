"""What a formula says, as frozen data: no data set, no numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Expression:
    """A piece of formula text that passed the whitelist.

    Attributes
    ----------
    text : str
        As written, backticks kept.
    start : int
        Offset of the first character in the whole formula, for carets.
    """

    text: str
    start: int


@dataclass(frozen=True, slots=True)
class ResponseSpec:
    """Left-hand side: a plain value, or ``Surv(time, event)``."""

    kind: Literal["value", "surv"]
    value: Expression
    event: Expression | None = None


@dataclass(frozen=True, slots=True)
class CensoringSpec:
    """The ``censor(...)`` part: limits, or an event indicator."""

    lower: Expression | None = None
    upper: Expression | None = None
    event: Expression | None = None


@dataclass(frozen=True, slots=True)
class GPTerm:
    """One ``gp(...)`` term; ``name`` is its label in parameter names, ``gp(x)`` unless ``name=`` was given."""

    inputs: tuple[Expression, ...]
    kernel: str
    ard: bool
    name: str


@dataclass(frozen=True, slots=True)
class ModelSpec:
    """A whole model as written.

    Attributes
    ----------
    formula : str
        The text.
    response : ResponseSpec
    censoring : CensoringSpec or None
    linear : str
        Linear part in formulaic's grammar, with its ``1`` or ``0`` written out; ``"0"`` when there is none.
    offsets : tuple of Expression
    gps : tuple of GPTerm
    """

    formula: str
    response: ResponseSpec
    censoring: CensoringSpec | None
    linear: str
    offsets: tuple[Expression, ...]
    gps: tuple[GPTerm, ...]
