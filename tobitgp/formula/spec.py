"""What a formula says, as frozen data without a data set or numbers, and its description in words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal, get_args

from tobitgp.formula.functions import UserFunctions

Role = Literal["response", "event", "bound", "limit", "window", "linear", "gp", "by", "re", "offset", "slope", "se"]
ROLES: tuple[Role, ...] = get_args(Role)
INPUT_ROLES = ROLES[5:]

CensoringKind = Literal[-1, 0, 1, 2]
ResponseKind = Literal["value", "text", "surv", "interval"]

# What a row's code means: -1 left-censored, 0 exact, 1 right-censored, 2 between two ends.
CODES: dict[str, dict[float, CensoringKind]] = {
    "event": {0: 1, 1: 0},
    "left": {0: -1, 1: 0},
    "nondetect": {0: 0, 1: -1},
    "status": {-1: -1, 0: 0, 1: 1, 2: 2},
    "survival": {0: 1, 1: 0, 2: -1, 3: 2},
}
STATUS_WORDS: dict[str, CensoringKind] = {"left": -1, "none": 0, "right": 1, "interval": 2}


def squeezed(text: str) -> str:
    """Text with one blank for every run of white space, names in backticks as they are."""
    return re.sub(r"(`[^`]*`)|\s+", lambda match: match[1] or " ", text).strip()


@dataclass(frozen=True, slots=True)
class Expression:
    """A part of the formula that passed the whitelist."""

    text: str  # as written, backticks kept
    start: int  # offset of the first character in the whole formula, for carets
    functions: UserFunctions = ()  # a user's own functions, which it may call

    @property
    def label(self) -> str:
        """Text for a label: blanks squeezed, a bare column without its backticks."""
        text = squeezed(self.text)
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

    kind: ResponseKind  # a plain value, text such as ``<0.5``, ``Surv`` or two ends
    value: Expression  # the value, the time, or the lower end
    flag: Flag | None = None  # code of ``Surv`` or ``Cen``
    upper: Expression | None = None  # upper end, of every row or of those coded as interval
    label: str = ""  # the left-hand side as written
    duration: str = ""  # a column in it that turned out to hold durations


@dataclass(frozen=True, slots=True)
class CensoringSpec:
    """The ``censor(...)`` part: limits, or a flag; beside a status ``upper`` is the upper end of interval rows."""

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

    @property
    def slope(self) -> bool:
        """Whether it makes a slope of a column, which has no length-scale."""
        return self.kernel == "linear" and len(self.inputs) == 1


APPROXIMATIONS = ("auto", "low_rank", "dense", "markov", "vecchia")


@dataclass(frozen=True, slots=True, kw_only=True)
class LinearPart:
    """What a model and its noise scale share: linear terms in formulaic's grammar, and offsets."""

    part: ClassVar[str] = "linear part"  # what the linear terms make up, for messages
    formula: str  # the text, every white space a blank
    linear: str  # linear terms in formulaic's grammar, their ``1`` or ``0`` written out; ``"0"`` when there are none
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
class EffectsPart(LinearPart):
    """The columns of a random effect, ``1 + z`` in ``(1 + z | g)``."""

    part: ClassVar[str] = "random effects"


@dataclass(frozen=True, slots=True)
class GPTerm:
    """One process: ``gp(...)``, a product with others, ``re(...)``, or one of these in another program's spelling."""

    factors: tuple[GPFactor, ...]  # their kernels multiply; none for ``re(g)``, which is constant within a group
    name: str  # label in parameter names, ``gp(x)`` unless ``name=`` was given
    by: Expression | None = None  # the column whose every level has a process of its own, with shared hyper-parameters
    read_as: str = ""  # the equivalent ``gp(...)`` spelling where the term was written as an alias, else empty
    written: str = ""  # the alias as written, else empty
    note: str = ""  # what of the alias has no counterpart in ``read_as``, else empty
    approximation: str = "auto"  # one of ``APPROXIMATIONS``
    neighbours: int | None = None  # of each place in Vecchia's prior, where ``neighbours=`` was given
    effects: EffectsPart | None = None  # columns whose coefficients differ between groups, where these are not just 1
    correlated: bool = True  # whether these coefficients are
    crossed: tuple[Expression, ...] = ()  # columns that make up ``by`` where it is ``a:b``
    cor: bool = False  # whether the curves of the levels of ``by`` are correlated, each with an sd of its own
    line: bool = False  # a linear effect of its input beside the curve
    se: Expression | None = None  # standard error with which its input was measured, a column or a number
    # Whether levels of the linear part take up any function of its inputs: asked where rows are read, and not stored.
    held: bool = field(default=False, compare=False)

    @property
    def inputs(self) -> tuple[Expression, ...]:
        """Inputs of all factors, in order."""
        return tuple(item for factor in self.factors for item in factor.inputs)

    @property
    def group(self) -> str | None:
        """Name of the column of its groups."""
        return None if self.by is None else self.by.text.strip("`")


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
class ScaleSpec(LinearPart):
    """The log noise scale as written, ``~ z + gp(x)``; ``print`` says in words what was understood."""

    part: ClassVar[str] = "noise scale"
    argument: ClassVar[str] = "sigma"  # of ``fit``
    of: ClassVar[str] = "log(sigma)"  # what is linear in the terms
    known: ClassVar[str] = "'~ 1' for one scale, fixed={'sigma': 1} for known"
    gps: tuple[GPTerm, ...] = ()  # their names begin with ``sigma: ``

    def __str__(self) -> str:
        lines = [self.formula.strip(), *_linear_lines(self.of, self), *_function_lines(self)]
        return "\n".join([*lines, *_process_lines(self.gps)])


@dataclass(frozen=True, slots=True, kw_only=True)
class CureSpec(ScaleSpec):
    """The logit of the cured fraction as written, ``~ trt``; it takes the position of the usual noise scale."""

    part: ClassVar[str] = "cured fraction"
    argument: ClassVar[str] = "cure"
    of: ClassVar[str] = "logit(cured)"
    known: ClassVar[str] = "'~ 1' for one fraction"


@dataclass(frozen=True, slots=True, kw_only=True)
class ParameterSpec(ScaleSpec):
    """A formula of another parameter of the rows as written, ``~ z``: an entry of ``formulas=``."""

    part: ClassVar[str] = "parameter"
    argument: ClassVar[str] = "formulas"
    of: ClassVar[str] = "the parameter"
    known: ClassVar[str] = "'~ 1' for one value"
    parameter: str = ""  # its name
    label: str = ""  # what is linear in the terms, ``log(shape)``


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelSpec(LinearPart):
    """A model as written; ``print`` says in words what was understood."""

    response: ResponseSpec
    censoring: CensoringSpec | None = None
    truncation: TruncationSpec | None = None
    gps: tuple[GPTerm, ...] = ()
    mixture: MixtureTerm | None = None  # in place of linear terms and processes
    scale: ScaleSpec | None = None  # of the noise scale, where it has a formula of its own, or of the cured fraction
    formulas: tuple[ParameterSpec, ...] = ()  # of other parameters of the rows

    @property
    def processes(self) -> tuple[GPTerm, ...]:
        """Those of the mean, then those of the noise scale."""
        return self.gps if self.scale is None else (*self.gps, *self.scale.gps)

    @property
    def written(self) -> str:
        """What was written, in a line: the formula, and those of other parameters of the rows."""
        return self.written_as(self.formula)

    def written_as(self, formula: str) -> str:
        """The same with the formula of the call, where that of the rows is another."""
        formula = formula.strip()
        if self.formulas:
            given = ", ".join(f"{each.parameter!r}: {each.formula.strip()!r}" for each in self.formulas)
            return f"{formula}, formulas={{{given}}}"
        return formula if self.scale is None else f"{formula}, {self.scale.argument}={self.scale.formula.strip()!r}"

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

    @property
    def limit(self) -> Expression | None:
        """Limit of the non-detects that a flag, or text such as ``ND``, distinguishes from values."""
        told = self.response.kind == "text" or self.flag is not None
        return self.censoring.lower if told and self.censoring is not None else None

    def __str__(self) -> str:
        lines = [self.written, f"  response   {_response(self)}", f"  censoring  {_censoring(self)}"]
        if self.truncation is not None:
            lines.append(f"  truncation {_truncation(self.response.value.text, self.truncation)}")
        if self.mixture is not None:
            return "\n".join([*lines, f"  mixture    {_mixture(self.mixture)}"])
        lines += [*_linear_lines("linear", self), *_function_lines(self)]
        lines += _process_lines(self.gps)
        if self.scale is not None:
            lines += [*_linear_lines(self.scale.of, self.scale), *_process_lines(self.scale.gps)]
        for each in self.formulas:
            lines += _linear_lines(each.label, each)
        return "\n".join(lines)


def _linear_lines(what: str, spec: LinearPart) -> list[str]:
    """The linear terms and the offsets."""
    terms = spec.linear.partition(" ")[2].removeprefix("+ ")
    words = ["intercept" if spec.intercept else "no intercept", *([terms] if terms else [])]
    offsets = [f"  offset     {offset.text}, coefficient 1" for offset in spec.offsets]
    return [f"  {what:<10} {', '.join(words)}", *offsets]


def _process_lines(terms: Sequence[GPTerm]) -> list[str]:
    """The processes."""
    return [f"  process    {_process(term)}" for term in terms]


def _function_lines(spec: LinearPart) -> list[str]:
    """Functions of the user's own."""
    names = ", ".join(name for name, _ in spec.functions)
    return [f"  functions  {names}: passed by functions="] if names else []


def _response(spec: ModelSpec) -> str:
    response = spec.response
    if response.kind == "interval":
        assert response.upper is not None
        return f"a value above {response.value.text} and up to {response.upper.text}"
    return response.value.text + (f" ({response.duration} in days)" if response.duration else "")


def _censoring(spec: ModelSpec) -> str:
    value, flag = spec.response.value.text, spec.flag
    if spec.response.kind == "interval":
        return "equal ends are exact, a missing or infinite end is open"
    if spec.response.kind == "text":
        absent = f", ND is left-censored at {spec.limit.text}" if spec.limit else ""
        return f"in the text: <0.5 is left-censored there, >100 is right-censored there{absent}"
    if flag is not None:
        whatever = f", whatever {value} holds there" if spec.limit else ""
        code, between = flag.text, f"between {value} and {spec.upper_end.text if spec.upper_end else _NO_END}"
        return {
            "event": f"right-censored at {value} where {code} is 0",
            "left": f"left-censored at {value} where {code} is 0",
            "nondetect": f"left-censored at {spec.limit.text if spec.limit else value} where {code} is 1{whatever}",
            "status": f"by {code}: left-censored at {value} (left, -1), exact (none, 0), right-censored (right, 1), "
            f"{between} (interval, 2)",
            "survival": f"by {code}: right-censored at {value} (0), exact (1), left-censored (2), {between} (3)",
        }[flag.codes]
    if spec.censoring is None:
        return "none"
    lower, upper = spec.censoring.lower, spec.censoring.upper
    below = f"{value} <= {lower.text} is left-censored there" if lower and lower.text != "-inf" else "no lower limit"
    above = f"{value} >= {upper.text} is right-censored there" if upper and upper.text != "inf" else "no upper limit"
    return f"{below}; {above}"


_NO_END = "an end that is not given"


def _truncation(value: str, window: TruncationSpec) -> str:
    sides = [f"{value} {sign} {end.text}" for sign, end in (("<=", window.lower), (">", window.upper)) if end]
    return f"rows with {' or '.join(sides)} could not have been seen"


def _mixture(term: MixtureTerm) -> str:
    numbers = ", ".join(map(str, term.numbers))
    if term.process:
        return f"Dirichlet process of at most {numbers} components"
    if len(term.numbers) == 1:
        return f"{numbers} components"
    return f"as many components, of {numbers}, as the evidence is highest for"


def line_names(terms: Sequence[GPTerm]) -> dict[int, str]:
    """Names of the slopes of terms that include a line, by place."""
    return {t: f"slope({term.name})" for t, term in enumerate(terms) if term.line}


def _process(term: GPTerm) -> str:
    """Describe one process; the reading of an alias comes last."""
    group = term.by.text if term.by else ""
    if not term.factors:
        what = "random intercept"
        if term.effects is not None:
            how = ", correlated" if term.correlated else ", independent of each other"
            what = f"random coefficients of {term.effects.linear.removeprefix('0 + ')}{how},"
        return f"{term.name}: {what} of each {group}; groups that were not seen are predicted from the prior"
    kernels = [factor for factor in term.factors if not factor.slope] or list(term.factors)
    slopes = [factor.inputs[0].text for factor in term.factors if factor not in kernels]
    inputs = ", ".join(dict.fromkeys(item.text for factor in kernels for item in factor.inputs))
    beside = " and a linear effect of it" if term.line else ""
    text = f"{term.name}: zero-mean Gaussian process over {inputs}{beside}, "
    if slopes:
        slope = " times ".join(slopes)
        text = f"{term.name}: slope of {slope} that varies along {inputs}, a zero-mean Gaussian process, "
    if len(kernels) == 1:
        text += ", ".join([f"kernel {kernels[0].kernel}", *_scales(kernels[0])])
    else:
        text += f"product of the kernels {' and '.join(map(_kernel, kernels))}"
    if group:
        shared = "correlated, each with its own sd" if term.cor else "hyper-parameters shared"
        text += f"; a curve for each level of {group}, {shared}"
    if term.se is not None:
        text += f"; {inputs} was measured with the standard error {term.se.text}"
    if term.read_as:
        text += f"; {term.written} was read as {term.read_as}" + (f", {term.note}" if term.note else "")
    return text


def _kernel(factor: GPFactor) -> str:
    """One kernel of several."""
    scales = ", ".join(_scales(factor))
    text = f"{factor.kernel} over {', '.join(item.text for item in factor.inputs)}"
    return f"{text} ({scales})" if scales else text


def _scales(factor: GPFactor) -> list[str]:
    """What a kernel has besides its height."""
    if factor.slope:
        return []
    scales = "one length-scale"
    if len(factor.inputs) > 1:
        scales = "a length-scale for each input" if factor.ard else "one length-scale for all inputs"
    period = "estimated period" if factor.period is None else f"period {factor.period:g}"
    return [period, scales] if factor.kernel == "periodic" else [scales]
