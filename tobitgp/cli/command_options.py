"""Subcommands with their help, and texts of their options as values: pairs of a name and a value, calls."""

from __future__ import annotations

import argparse
import ast
from collections.abc import Mapping, Sequence
from typing import Any

from tobitgp.errors import SpecError
from tobitgp.likelihoods.families import BoxCox, GenGamma, Student
from tobitgp.mixture import Binomial, NegativeBinomial, Pareto
from tobitgp.results.hazards.cells import PH

FAMILIES_WITH_SETTINGS: dict[str, Any] = {
    each.__name__: each for each in (Student, GenGamma, BoxCox, PH, Binomial, NegativeBinomial, Pareto)
}

_EXAMPLES = {"--family": "Student(df=4)", "--method": "EP(damping=0.5)"}


def add_command(commands: Any, name: str, description: str, *examples: str) -> argparse.ArgumentParser:
    """Add a subcommand; the description begins with a small letter and has no full stop, as in the list of commands."""
    listed = "\n".join(f"  tobitgp {name} {example}".rstrip() for example in examples)
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=description,
        description=f"{description[0].upper()}{description[1:]}.",
        epilog=f"example{'s' * (len(examples) > 1)}:\n{listed}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    return parser


def read_value(option: str, text: str | None, classes: Mapping[str, Any]) -> Any:
    """A name as it is, and a call as the value that it makes."""
    if text is None or "(" not in text:
        return text
    listed, example = ", ".join(classes), _EXAMPLES[option]
    try:
        call = ast.parse(text.strip(), mode="eval").body
        assert isinstance(call, ast.Call)
        name = ast.unparse(call.func).removeprefix("tg.")
        arguments = [ast.literal_eval(each) for each in call.args]
        settings = {str(each.arg): ast.literal_eval(each.value) for each in call.keywords}
    except (AssertionError, SyntaxError, ValueError):
        raise SpecError(f"{option} {text}: must be a name, or a call with numbers or texts, e.g. {example}.") from None
    if name not in classes:
        raise SpecError(f"{option} {text}: {name} is not supported with settings. Choose one of {listed}.")
    try:
        return classes[name](*arguments, **settings)
    except TypeError as error:
        words = str(error).partition("() ")[2] or str(error)
        raise SpecError(f"{option} {text}: {words}.") from None


def by_name(option: str, pairs: Sequence[str]) -> dict[str, str]:
    """Texts by name of ``NAME=TEXT``."""
    out: dict[str, str] = {}
    for pair in pairs:
        name, equals, text = pair.partition("=")
        if not (name and equals and text):
            raise SpecError(f"{option} {pair}: must have the form NAME=VALUE.")
        if name in out:
            raise SpecError(f"{option} {pair}: {name} is given twice. Leave one out.")
        out[name] = text
    return out


def numbers(option: str, pairs: Sequence[str]) -> dict[str, float]:
    """Numbers by name of ``NAME=NUMBER``; names of parameters may have a sign of equality."""
    out: dict[str, float] = {}
    for pair in pairs:
        name, _, value = pair.rpartition("=")
        if name in out:
            raise SpecError(f"{option} {pair}: {name} is given twice. Leave one out.")
        try:
            out[name] = float(value)
        except ValueError:
            raise SpecError(f"{option} {pair}: must have the form NAME=NUMBER, e.g. {option} sigma=0.4.") from None
    return out


def read_inducing(text: str) -> str | int | None:
    """A number of inducing inputs, ``auto``, or none."""
    if text in ("auto", "none"):
        return None if text == "none" else text
    if text.isdigit() and int(text) > 0:
        return int(text)
    raise SpecError(f"--inducing {text}: must be auto, none, or a whole number of at least 1.")
