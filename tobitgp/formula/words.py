"""What was understood of a formula, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tobitgp.formula.spec import CensoringSpec, GPFactor, GPTerm, LinearPart, MixtureTerm, ModelSpec, ScaleSpec


def describe(spec: ModelSpec) -> str:
    """Say what a model consists of, one line a piece."""
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


def describe_scale(spec: ScaleSpec) -> str:
    """Say what the log noise scale consists of, one line a piece."""
    return "\n".join([spec.formula.strip(), *_linear_lines("log(sigma)", spec), *_function_lines(spec)])


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
    pieces = [f"zero-mean Gaussian process over {inputs}"]
    if slopes:
        slope = " times ".join(factor.inputs[0].text for factor in slopes)
        pieces = [f"slope of {slope} that varies along {inputs}, a zero-mean Gaussian process"]
    named = [f"{factor.kernel} over {_inputs(factor)}{_bracketed(_scales(factor))}" for factor in kernels]
    own = ", ".join([f"kernel {kernels[0].kernel}", *_scales(kernels[0])])
    pieces.append(f"product of the kernels {' and '.join(named)}" if len(kernels) > 1 else own)
    text = f"{term.name}: {', '.join(pieces)}"
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
