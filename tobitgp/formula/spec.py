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
    """What says, row by row, whether and how a value was censored.

    Attributes
    ----------
    expression : Expression
        Numbers, or the words of ``STATUS_WORDS``; text in quotes or a number is the same in every row.
    codes : str
        Key of ``CODES``.
    how : str
        The call up to this argument, as in ``"Surv(time, "``, for messages.
    """

    expression: Expression
    codes: Literal["event", "left", "nondetect", "status", "survival"]
    how: str

    @property
    def text(self) -> str:
        """The expression as written."""
        return self.expression.text


@dataclass(frozen=True, slots=True)
class ResponseSpec:
    """Left-hand side.

    Attributes
    ----------
    kind : {"value", "text", "surv", "interval"}
        A plain value; a column that turned out to hold text, with limits such as ``<0.5``; ``Surv`` with a code in
        each row; or two ends, the value in (value, upper].
    value : Expression
        The value, the time, or the lower end.
    flag : Flag or None
        Code of ``Surv``.
    upper : Expression or None
        Upper end, of every row or of those coded as interval.
    label : str
        The left-hand side as written.
    duration : str
        A column in it that turned out to hold durations, or a difference of two dates, so that it is in days.
    """

    kind: Literal["value", "text", "surv", "interval"]
    value: Expression
    flag: Flag | None = None
    upper: Expression | None = None
    label: str = ""
    duration: str = ""


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
    """One kernel of a process and the inputs it is of.

    Attributes
    ----------
    inputs : tuple of Expression
    kernel : str
        One of ``KERNEL_NAMES``.
    ard : bool
        A length-scale for each input, or one for all.
    period : float or None
        Of a periodic kernel, where it is known.
    """

    inputs: tuple[Expression, ...]
    kernel: str
    ard: bool
    period: float | None = None


@dataclass(frozen=True, slots=True)
class GPTerm:
    """One process: ``gp(...)``, a product with others, ``re(...)``, or one of these in another program's spelling.

    Attributes
    ----------
    factors : tuple of GPFactor
        Their kernels multiply; none for ``re(g)``, which is constant within a group.
    name : str
        Label in parameter names, ``gp(x)`` unless ``name=`` was given.
    by : Expression or None
        The column whose every level has a process of its own, with shared hyper-parameters.
    read_as : str
        The equivalent ``gp(...)`` spelling where the term was written as an alias, else empty; ``print(spec)`` says so.
    written : str
        The alias as written, else empty.
    note : str
        What of the alias has no counterpart in ``read_as``, else empty.
    """

    factors: tuple[GPFactor, ...]
    name: str
    by: Expression | None = None
    read_as: str = ""
    written: str = ""
    note: str = ""

    @property
    def inputs(self) -> tuple[Expression, ...]:
        """Inputs of all factors, in order."""
        return tuple(item for factor in self.factors for item in factor.inputs)


@dataclass(frozen=True, slots=True)
class MixtureTerm:
    """``mixture(...)``, which stands alone right of ``~``.

    Attributes
    ----------
    numbers : tuple of int
        Numbers of components to choose from, ascending; of a Dirichlet process the most components.
    process : bool
        A Dirichlet process, ``mixture("dp")``.
    start, end : int
        Where it stands in the formula.
    """

    numbers: tuple[int, ...]
    process: bool = False
    start: int = 0
    end: int = 0


@dataclass(frozen=True, slots=True)
class ModelSpec(LinearPart):
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
    truncation : TruncationSpec or None
    functions : tuple of (str, callable)
        A user's own functions that the formula may call.
    mixture : MixtureTerm or None
        In place of linear terms and processes.
    scale : ScaleSpec or None
        Of the noise scale, where it has a formula of its own.
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
    truncation: TruncationSpec | None = None
    functions: UserFunctions = ()
    mixture: MixtureTerm | None = None
    scale: ScaleSpec | None = None

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
    """The log noise scale as written, ``~ z``; ``print`` says in words what was understood.

    Attributes
    ----------
    formula : str
        The text, every white space a blank.
    linear : str
        Its terms in formulaic's grammar, with their ``1`` or ``0`` written out.
    offsets : tuple of Expression
    variables : tuple of Variable
        In the roles "linear" and "offset".
    plain : tuple of str or None
        The columns when the terms are nothing but bare columns, else None.
    codings : tuple of Expression
        First arguments of ``C(...)``.
    functions : tuple of (str, callable)
        A user's own functions that the formula may call.
    """

    part: ClassVar[str] = "noise scale"
    formula: str
    linear: str
    offsets: tuple[Expression, ...] = ()
    variables: tuple[Variable, ...] = ()
    plain: tuple[str, ...] | None = None
    codings: tuple[Expression, ...] = ()
    functions: UserFunctions = ()

    def __str__(self) -> str:
        return describe_scale(self)
