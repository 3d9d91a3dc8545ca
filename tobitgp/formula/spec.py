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
class Variable:
    """A column that the model uses.

    Attributes
    ----------
    name : str
        Name of the column, without backticks.
    start : int
        Offset of its first use in this role.
    role : {"response", "event", "limit", "linear", "gp", "offset"}
        A column used in several roles is listed once for each.
    """

    name: str
    start: int
    role: Literal["response", "event", "limit", "linear", "gp", "offset"]


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
    """A whole model as written; ``print`` says in words what was understood.

    Attributes
    ----------
    formula : str
        The text, every white space a blank.
    response : ResponseSpec
    censoring : CensoringSpec or None
    linear : str
        Linear part in formulaic's grammar, with its ``1`` or ``0`` written out; ``"0"`` when there is none.
    offsets : tuple of Expression
    gps : tuple of GPTerm
    variables : tuple of Variable
        Every column the model uses, with its role.
    plain : tuple of str or None
        The columns of the linear part when it holds nothing but bare columns, else None.
    codings : tuple of Expression
        First arguments of ``C(...)`` in the linear part.
    """

    formula: str
    response: ResponseSpec
    censoring: CensoringSpec | None
    linear: str
    offsets: tuple[Expression, ...]
    gps: tuple[GPTerm, ...]
    variables: tuple[Variable, ...] = ()
    plain: tuple[str, ...] | None = None
    codings: tuple[Expression, ...] = ()

    @property
    def intercept(self) -> bool:
        """Whether the linear part has an intercept."""
        return self.linear.split(" ", 1)[0] == "1"

    def names(self, *roles: str) -> tuple[str, ...]:
        """Columns used in any of these roles, in order of appearance; without roles, all."""
        return tuple(dict.fromkeys(v.name for v in self.variables if not roles or v.role in roles))

    def __str__(self) -> str:
        lines = [self.formula.strip(), *_response_words(self), f"  linear     {_linear_words(self)}"]
        lines += [f"  offset     {offset.text}, coefficient 1" for offset in self.offsets]
        lines += [f"  process    {_gp_words(term)}" for term in self.gps]
        return "\n".join(lines)


def _response_words(spec: ModelSpec) -> list[str]:
    response, censoring = spec.response, spec.censoring
    lines = [f"  response   {response.value.text}"]
    event = response.event or (censoring.event if censoring else None)
    if event is not None:
        lines.append(f"  censoring  right-censored at {response.value.text} where {event.text} is 0")
    elif censoring is None:
        lines.append("  censoring  none")
    else:
        value, lower, upper = response.value.text, censoring.lower, censoring.upper
        below, above = f"{value} <= {lower.text}" if lower else "", f"{value} >= {upper.text}" if upper else ""
        sides = [
            "no lower limit" if lower is None or lower.text == "-inf" else f"{below} is left-censored there",
            "no upper limit" if upper is None or upper.text == "inf" else f"{above} is right-censored there",
        ]
        lines.append(f"  censoring  {'; '.join(sides)}")
    return lines


def _linear_words(spec: ModelSpec) -> str:
    terms = spec.linear.partition(" ")[2].removeprefix("+ ")
    intercept = "intercept" if spec.intercept else "no intercept"
    return f"{intercept}, {terms}" if terms else intercept


def _gp_words(term: GPTerm) -> str:
    inputs = ", ".join(item.text for item in term.inputs)
    scales = "one length-scale"
    if len(term.inputs) > 1:
        scales = "a length-scale for each input" if term.ard else "one length-scale for all inputs"
    return f"{term.name}: zero-mean Gaussian process over {inputs}, kernel {term.kernel}, {scales}"
