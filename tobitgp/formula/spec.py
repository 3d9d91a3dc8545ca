"""What a formula says, as frozen data without a data set or numbers, and its description in words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from tobitgp.formula.functions import UserFunctions

Role = Literal["response", "event", "bound", "limit", "window", "linear", "gp", "by", "re", "offset"]
ROLES: tuple[Role, ...] = ("response", "event", "bound", "limit", "window", "linear", "gp", "by", "re", "offset")
INPUT_ROLES: tuple[Role, ...] = ("linear", "gp", "by", "re", "offset")

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
class Expression:
    """A part of the formula that passed the whitelist."""

    text: str  # as written, backticks kept
    start: int  # offset of the first character in the whole formula, for carets
    functions: UserFunctions = ()  # a user's own functions, which it may call

    @property
    def label(self) -> str:
        """Text for a label: blanks squeezed, a bare column without its backticks."""
        text = " ".join(self.text.split())
        bare = text.startswith("`") and text.count("`") == 2 and text.endswith("`")
        return self.text.strip("`") if bare else text


@dataclass(frozen=True, slots=True)
class Variable:
    """A column that the model uses."""

    name: str  # name of the column, without backticks
    start: int  # offset of its first use in this role
    role: Role
    date: bool = False  # whether it stands in ``decimal_year(...)``, where dates belong
    beside: str = ""  # the other column of a difference, ``b - a``, in which both may be dates; empty elsewhere


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

    kind: Literal["value", "text", "surv", "interval"]  # a plain value, text such as ``<0.5``, ``Surv`` or two ends
    value: Expression  # the value, the time, or the lower end
    flag: Flag | None = None  # code of ``Surv``
    upper: Expression | None = None  # upper end, of every row or of those coded as interval
    label: str = ""  # the left-hand side as written
    duration: str = ""  # a column in it that turned out to hold durations


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
    ard: bool  # a length-scale for each input, or one for all
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


def default_label(
    inputs: tuple[Expression, ...], by: Expression | None, period: Expression | None = None, kernel: str = ""
) -> str:
    """Label of a process that was given none, blanks and backticks apart as it is written."""
    options = [f"by={by.label}"] if by is not None else []
    options += [f"period={period.label}"] if period is not None else []
    options += [f'kernel="{kernel}"'] if kernel else []
    return f"gp({', '.join([*(item.label for item in inputs), *options])})"


@dataclass(frozen=True, slots=True)
class MixtureTerm:
    """``mixture(...)``, which stands alone right of ``~``."""

    numbers: tuple[int, ...]  # numbers of components to choose from, ascending
    process: bool = False  # a Dirichlet process, ``mixture("dp")``
    start: int = 0  # where it stands in the formula
    end: int = 0  # where it stands in the formula


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearPart:
    """What a model and its noise scale share: linear terms in formulaic's grammar, and offsets."""

    part: ClassVar[str] = "linear part"  # what the linear terms make up, for messages
    formula: str  # the text, every white space a blank
    linear: (
        str  # linear terms in formulaic's grammar, with their ``1`` or ``0`` written out; ``"0"`` when there are none
    )
    offsets: tuple[Expression, ...] = ()
    variables: tuple[Variable, ...] = ()  # every column that is used, with its role
    plain: tuple[str, ...] | None = None  # the columns of the linear terms when these are nothing but bare columns
    codings: tuple[Expression, ...] = ()  # first arguments of ``C(...)`` in the linear terms
    functions: UserFunctions = ()  # a user's own functions that the formula may call

    @property
    def intercept(self) -> bool:
        """Whether the linear terms have an intercept."""
        return self.linear.split(" ", 1)[0] == "1"

    def names(self, *roles: str) -> tuple[str, ...]:
        """Columns used in any of these roles, in order of appearance; without roles, all."""
        return tuple(dict.fromkeys(v.name for v in self.variables if not roles or v.role in roles))


@dataclass(frozen=True, slots=True, kw_only=True)
class ScaleSpec(LinearPart):
    """The log noise scale as written, ``~ z``; ``print`` says in words what was understood."""

    part: ClassVar[str] = "noise scale"

    def __str__(self) -> str:
        return "\n".join([self.formula.strip(), *_linear_lines("log(sigma)", self), *_function_lines(self)])


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSpec(LinearPart):
    """A model as written; ``print`` says in words what was understood."""

    response: ResponseSpec
    censoring: CensoringSpec | None = None
    truncation: TruncationSpec | None = None
    gps: tuple[GPTerm, ...] = ()
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
        return _describe(self)


def _describe(spec: ModelSpec) -> str:
    """Say what a model consists of, one line for each part."""
    lines = [spec.written, f"  response   {_response(spec)}", f"  censoring  {_censoring(spec)}"]
    if spec.truncation is not None:
        lines.append(f"  truncation {_truncation(spec)}")
    if spec.mixture is not None:
        return "\n".join([*lines, f"  mixture    {_mixture(spec.mixture)}"])
    lines += _linear_lines("linear", spec) + _function_lines(spec)
    lines += [f"  process    {_process(term)}" for term in spec.gps]
    if spec.scale is not None:
        lines += _linear_lines("log(sigma)", spec.scale)
    return "\n".join(lines)


def _linear_lines(what: str, spec: LinearPart) -> list[str]:
    """The linear terms and the offsets."""
    lines = [f"  {what:<10} {_linear(spec)}"]
    return lines + [f"  offset     {offset.text}, coefficient 1" for offset in spec.offsets]


def _function_lines(spec: LinearPart) -> list[str]:
    """Functions of the user's own."""
    names = ", ".join(name for name, _ in spec.functions)
    return [f"  functions  {names}: given beside the formula"] if names else []


def _response(spec: ModelSpec) -> str:
    response = spec.response
    if response.kind == "interval":
        assert response.upper is not None
        return f"a value above {response.value.text} and up to {response.upper.text}"
    days = f" ({response.duration} in days)" if response.duration else ""
    return f"{response.value.text}{days}"


def _censoring(spec: ModelSpec) -> str:
    value, flag = spec.response.value.text, spec.flag
    if spec.response.kind == "interval":
        return "equal ends are exact, a missing or infinite end is open"
    if spec.response.kind == "text":
        return "in the text: <0.5 is left-censored there, >100 is right-censored there"
    if flag is not None:
        upper = spec.upper_end.text if spec.upper_end else "an end that is not given"
        code = flag.text
        between = f"between {value} and {upper}"
        return {
            "event": f"right-censored at {value} where {code} is 0",
            "left": f"left-censored at {value} where {code} is 0",
            "nondetect": f"left-censored at {value} where {code} is 1",
            "status": f"by {code}: left-censored at {value} (left, -1), exact (none, 0), right-censored (right, 1), "
            f"{between} (interval, 2)",
            "survival": f"by {code}: right-censored at {value} (0), exact (1), left-censored (2), {between} (3)",
        }[flag.codes]
    return "none" if spec.censoring is None else _limits(spec.censoring, value)


def _limits(censoring: CensoringSpec, value: str) -> str:
    lower, upper = censoring.lower, censoring.upper
    below, above = f"{value} <= {lower.text}" if lower else "", f"{value} >= {upper.text}" if upper else ""
    sides = [
        "no lower limit" if lower is None or lower.text == "-inf" else f"{below} is left-censored there",
        "no upper limit" if upper is None or upper.text == "inf" else f"{above} is right-censored there",
    ]
    return "; ".join(sides)


def _truncation(spec: ModelSpec) -> str:
    assert spec.truncation is not None
    value, lower, upper = spec.response.value.text, spec.truncation.lower, spec.truncation.upper
    sides = [f"{value} <= {lower.text}" if lower else "", f"{value} > {upper.text}" if upper else ""]
    return f"rows with {' or '.join(side for side in sides if side)} could not have been seen"


def _linear(spec: LinearPart) -> str:
    terms = spec.linear.partition(" ")[2].removeprefix("+ ")
    intercept = "intercept" if spec.intercept else "no intercept"
    return f"{intercept}, {terms}" if terms else intercept


def _mixture(term: MixtureTerm) -> str:
    numbers = ", ".join(map(str, term.numbers))
    if term.process:
        return f"Dirichlet process of at most {numbers} components"
    return (
        f"{numbers} components"
        if len(term.numbers) == 1
        else f"as many components, of {numbers}, as the evidence is highest for"
    )


def _process(term: GPTerm) -> str:
    """One process; what an alias was read as stands last."""
    group = term.by.text if term.by else ""
    if not term.factors:
        return f"{term.name}: random intercept of each {group}; groups that were not seen are predicted from the prior"
    slopes = [factor for factor in term.factors if _is_slope(factor)]
    kernels = [factor for factor in term.factors if not _is_slope(factor)]
    if not kernels:
        slopes, kernels = [], slopes
    inputs = ", ".join(dict.fromkeys(item.text for factor in kernels for item in factor.inputs))
    words = [f"zero-mean Gaussian process over {inputs}"]
    if slopes:
        slope = " times ".join(factor.inputs[0].text for factor in slopes)
        words = [f"slope of {slope} that varies along {inputs}, a zero-mean Gaussian process"]
    named = [f"{factor.kernel} over {_inputs(factor)}{_bracketed(_scales(factor))}" for factor in kernels]
    own = ", ".join([f"kernel {kernels[0].kernel}", *_scales(kernels[0])])
    words.append(f"product of the kernels {' and '.join(named)}" if len(kernels) > 1 else own)
    text = f"{term.name}: {', '.join(words)}"
    if group:
        text += f"; a curve for each level of {group}, hyper-parameters shared"
    if term.read_as:
        text += f"; {term.written} was read as {term.read_as}" + (f", {term.note}" if term.note else "")
    return text


def _is_slope(factor: GPFactor) -> bool:
    return factor.kernel == "linear" and len(factor.inputs) == 1


def _inputs(factor: GPFactor) -> str:
    return ", ".join(item.text for item in factor.inputs)


def _scales(factor: GPFactor) -> list[str]:
    """What a kernel has besides its height."""
    if _is_slope(factor):
        return []
    scales = "one length-scale"
    if len(factor.inputs) > 1:
        scales = "a length-scale for each input" if factor.ard else "one length-scale for all inputs"
    if factor.kernel != "periodic":
        return [scales]
    return ["estimated period" if factor.period is None else f"period {factor.period:g}", scales]


def _bracketed(words: list[str]) -> str:
    return f" ({', '.join(words)})" if words else ""
