"""What a formula says, as frozen data: no data set, no numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from tobitgp.formula.functions import UserFunctions
from tobitgp.formula.pieces import INPUT_ROLES as INPUT_ROLES
from tobitgp.formula.pieces import Expression as Expression
from tobitgp.formula.pieces import LinearPart as LinearPart
from tobitgp.formula.pieces import Role as Role
from tobitgp.formula.pieces import Variable as Variable
from tobitgp.formula.words import describe, describe_scale

Kind = Literal[-1, 0, 1, 2]

# What a row's code means: -1 left-censored, 0 exact, 1 right-censored, 2 between two ends.
CODES: dict[str, dict[float, Kind]] = {
    "event": {0: 1, 1: 0},
    "left": {0: -1, 1: 0},
    "nondetect": {0: 0, 1: -1},
    "status": {-1: -1, 0: 0, 1: 1, 2: 2},
    "survival": {0: 1, 1: 0, 2: -1, 3: 2},
}
STATUS_WORDS: dict[str, Kind] = {"left": -1, "none": 0, "right": 1, "interval": 2}


@dataclass(frozen=True, slots=True)
class Flag:
    """What says, row by row, whether and how a value was censored."""

    expression: Expression  # numbers, or the words of ``STATUS_WORDS``
    codes: Literal["event", "left", "nondetect", "status", "survival"]  # key of ``CODES``
    how: str  # the call up to this argument, as in ``"Surv(time, "``, for messages

    @property
    def text(self) -> str:
        """The expression as written."""
        return self.expression.text


@dataclass(frozen=True, slots=True)
class ResponseSpec:
    """Left-hand side."""

    kind: Literal["value", "text", "surv", "interval"]  # A plain value
    value: Expression  # the value, the time, or the lower end
    flag: Flag | None = None  # code of ``Surv``
    upper: Expression | None = None  # upper end, of every row or of those coded as interval
    label: str = ""  # the left-hand side as written
    duration: str = ""  # A column in it that turned out to hold durations


@dataclass(frozen=True, slots=True)
class CensoringSpec:
    """The ``censor(...)`` part: limits, or a flag; ``upper`` beside a status is the upper end of interval rows."""

    lower: Expression | None = None
    upper: Expression | None = None
    flag: Flag | None = None
    start: int = 0


@dataclass(frozen=True, slots=True)
class TruncationSpec:
    """The window outside which a row could not have been seen: ``truncate(...)``, or the entry of ``Surv``."""

    lower: Expression | None = None
    upper: Expression | None = None


@dataclass(frozen=True, slots=True)
class GPFactor:
    """One kernel of a process and the inputs it is of."""

    inputs: tuple[Expression, ...]
    kernel: str  # one of ``KERNEL_NAMES``
    ard: bool  # A length-scale for each input, or one for all
    period: float | None = None  # of a periodic kernel, where it is known


@dataclass(frozen=True, slots=True)
class GPTerm:
    """One process: ``gp(...)``, a product with others, ``re(...)``, or one of these in another program's spelling."""

    factors: tuple[GPFactor, ...]  # their kernels multiply; none for ``re(g)``, which is constant within a group
    name: str  # label in parameter names, ``gp(x)`` unless ``name=`` was given
    by: Expression | None = None  # the column whose every level has a process of its own, with shared hyper-parameters
    read_as: str = ""  # the equivalent ``gp(...)`` spelling where the term was written as an alias, else empty
    written: str = ""  # the alias as written, else empty
    note: str = ""  # what of the alias has no counterpart in ``read_as``, else empty

    @property
    def inputs(self) -> tuple[Expression, ...]:
        """Inputs of all factors, in order."""
        return tuple(item for factor in self.factors for item in factor.inputs)


@dataclass(frozen=True, slots=True)
class MixtureTerm:
    """``mixture(...)``, which stands alone right of ``~``."""

    numbers: tuple[int, ...]  # numbers of components to choose from, ascending
    process: bool = False  # A Dirichlet process, ``mixture("dp")``
    start: int = 0  # where it stands in the formula
    end: int = 0  # where it stands in the formula


@dataclass(frozen=True, slots=True)
class ModelSpec(LinearPart):
    """A whole model as written; ``print`` says in words what was understood."""

    formula: str  # the text, every white space a blank
    response: ResponseSpec
    censoring: CensoringSpec | None
    linear: str  # linear part in formulaic's grammar, with its ``1`` or ``0`` written out; ``"0"`` when there is none
    offsets: tuple[Expression, ...]
    gps: tuple[GPTerm, ...]
    variables: tuple[Variable, ...] = ()  # every column the model uses, with its role
    plain: tuple[str, ...] | None = None  # the columns of the linear part when it holds nothing but bare columns
    codings: tuple[Expression, ...] = ()  # first arguments of ``C(...)`` in the linear part
    truncation: TruncationSpec | None = None
    functions: UserFunctions = ()  # A user's own functions that the formula may call
    mixture: MixtureTerm | None = None  # in place of linear terms and processes
    scale: ScaleSpec | None = None  # of the noise scale, where it has a formula of its own

    @property
    def written(self) -> str:
        """What was written, in a line: the formula, and that of the noise scale where there is one."""
        formula = self.formula.strip()
        return formula if self.scale is None else f"{formula}, sigma={self.scale.formula.strip()!r}"

    @property
    def flag(self) -> Flag | None:
        """What says how each row was censored, wherever it was written; None with limits or ends."""
        return self.response.flag or (self.censoring.flag if self.censoring else None)

    @property
    def upper_end(self) -> Expression | None:
        """Upper end of the rows that are known to lie between two."""
        if self.response.upper is not None or self.censoring is None or self.censoring.flag is None:
            return self.response.upper
        return self.censoring.upper

    def __str__(self) -> str:
        return describe(self)


@dataclass(frozen=True, slots=True)
class ScaleSpec(LinearPart):
    """The log noise scale as written, ``~ z``; ``print`` says in words what was understood."""

    part: ClassVar[str] = "noise scale"
    formula: str  # the text, every white space a blank
    linear: str  # its terms in formulaic's grammar, with their ``1`` or ``0`` written out
    offsets: tuple[Expression, ...] = ()
    variables: tuple[Variable, ...] = ()  # in the roles "linear" and "offset"
    plain: tuple[str, ...] | None = None  # the columns when the terms are nothing but bare columns, else None
    codings: tuple[Expression, ...] = ()  # first arguments of ``C(...)``
    functions: UserFunctions = ()  # A user's own functions that the formula may call

    def __str__(self) -> str:
        return describe_scale(self)
