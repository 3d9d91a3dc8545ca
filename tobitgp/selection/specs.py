"""Which models are meant: formulas, or values of arguments of a fit.

Splines of folds end where those of all rows do, so that no row left out lies beyond them.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.api import fit
from tobitgp.data.columns import evaluate
from tobitgp.data.linear_columns import SPLINES
from tobitgp.data.table import read_table
from tobitgp.errors import FormulaError, SpecError
from tobitgp.formula import parse_formula
from tobitgp.formula.functions import NamedFunctions, read_functions
from tobitgp.formula.spec import Expression
from tobitgp.formula.syntax import Token, names_in, read_expression, tokenize
from tobitgp.method_spelling import MOVED, with_moved_settings
from tobitgp.options import argument_meant
from tobitgp.results.compare import distinct

ARGUMENTS = tuple(name for name in inspect.signature(fit).parameters if name not in ("data", "progress"))
_LONGEST = 40
_FORMULAS = (
    " To vary the formula, give a dict of formulas, e.g. "
    "{'rbf': \"y ~ gp(x)\", 'rough': \"y ~ gp(x, kernel='matern12')\"}."
)


@dataclass(frozen=True, slots=True)
class Candidate:
    """One model to fit."""

    name: str
    options: dict[str, Any]  # arguments of ``tobitgp.fit``, the formula among them


def read_specs(specs: Any, given: Mapping[str, Any]) -> list[Candidate]:
    """Models that are to be fitted."""
    if isinstance(specs, str) and _numbers(specs):
        specs = [specs]
    check_arguments(given, "select()")
    if isinstance(specs, Mapping) and specs and not all(_is_formula(value) for value in specs.values()):
        candidates = _grid(specs, given)
    else:
        candidates = _formulas(specs, given)
    candidates = [replace(c, options=with_moved_settings(c.options, c.options["formula"])) for c in candidates]
    one = len(candidates) == 1
    return _own_streams([each for candidate in candidates for each in _each_number(candidate, alone=one)])


def _formulas(specs: Any, given: Mapping[str, Any]) -> list[Candidate]:
    if isinstance(specs, str) or not isinstance(specs, Mapping | Sequence):
        raise SpecError("specs= must be a list or dict of formulas, or a dict {argument: [values]} for tg.fit.")
    if not specs:
        raise SpecError("specs= is empty. Give at least one formula.")
    if "formula" in given:
        raise SpecError(
            "formula= requires a dict {argument: [values]}, but specs= contains formulas. Leave formula= out."
        )
    formulas = list(specs.values()) if isinstance(specs, Mapping) else list(specs)
    wrong = [value for value in formulas if not isinstance(value, str)]
    if wrong:
        raise SpecError(f"A list of specs= must contain formulas, not {wrong[0]!r}.")
    names = map(str, specs) if isinstance(specs, Mapping) else distinct(value.strip() for value in formulas)
    return [Candidate(name, {**given, "formula": text}) for name, text in zip(names, formulas, strict=True)]


def _numbers(formula: Any) -> dict[int, str]:
    """Formulas by number of components, of one that names a range of them; empty for others."""
    try:
        term = parse_formula(formula).mixture if isinstance(formula, str) and "mixture" in formula else None
    except FormulaError:  # whoever reads it together with the data says what is wrong
        return {}
    if term is None or len(term.numbers) < 2:
        return {}
    return {k: f"{formula[: term.start]}mixture({k}){formula[term.end :]}" for k in term.numbers}


def _each_number(candidate: Candidate, *, alone: bool) -> list[Candidate]:
    """A candidate for each number of components."""
    numbers = _numbers(candidate.options.get("formula"))
    names = {k: f"mixture({k})" if alone else f"{candidate.name}: mixture({k})" for k in numbers}
    return [Candidate(names[k], {**candidate.options, "formula": text}) for k, text in numbers.items()] or [candidate]


def _grid(specs: Mapping[str, Any], given: Mapping[str, Any]) -> list[Candidate]:
    check_arguments(specs, "select()", _FORMULAS)
    twice = [name for name in specs if name in given]
    if twice:
        raise SpecError(f"{twice[0]}= is given both in the specs and as an argument. Give it once.")
    if "formula" not in specs and "formula" not in given:
        raise SpecError('A dict {argument: [values]} requires formula=, e.g. select({...}, data, formula="y ~ x").')
    values = {name: list(v) if isinstance(v, list | tuple) else [v] for name, v in specs.items()}
    empty = [name for name, listed in values.items() if not listed]
    if empty:
        raise SpecError(f"{empty[0]!r} has no values. List at least one.")
    varied = [name for name, listed in values.items() if len(listed) > 1] or list(values)
    labels = {name: _labels(name, values[name]) for name in varied}
    names, options = [], []
    for at in product(*(range(len(listed)) for listed in values.values())):
        chosen = dict(zip(values, at, strict=True))
        names.append(", ".join(labels[name][chosen[name]] for name in varied))
        options.append({**given, **{name: values[name][i] for name, i in chosen.items()}})
    return [Candidate(name, option) for name, option in zip(distinct(names), options, strict=True)]


def _labels(name: str, values: list[Any]) -> list[str]:
    """Short words for the values of an argument; a formula is its own."""
    if name == "formula":
        return [str(value).strip() for value in values]
    words = [value if isinstance(value, str) else repr(value) for value in values]
    return [
        f"{name}={word if len(word) <= _LONGEST and word.isprintable() else f'#{i}'}" for i, word in enumerate(words, 1)
    ]


def check_arguments(names: Mapping[str, Any], caller: str, more: str = "") -> None:
    """Raise an error for anything that is not an argument of ``tobitgp.fit``."""
    for name in names:
        if name not in ARGUMENTS and name not in MOVED:
            hint = argument_meant(str(name), ARGUMENTS)
            raise SpecError(f"{name!r} is not an argument that {caller} can pass to tg.fit{hint or '.' + more}")


def _own_streams(candidates: list[Candidate]) -> list[Candidate]:
    """Give each model a separate seed if they share a generator, so that their order does not matter."""
    rngs = [candidate.options.get("rng") for candidate in candidates]
    return [
        replace(c, options={**c.options, "rng": int(rng.integers(2**32))})
        if isinstance(rng, np.random.Generator)
        else c
        for c, rng in zip(candidates, rngs, strict=True)
    ]


def _is_formula(value: Any) -> bool:
    return isinstance(value, str) and "~" in value


_ENDS = ("lower_bound", "upper_bound", "extrapolation")


def with_ends(formula: str, rows: pd.DataFrame, functions: NamedFunctions) -> str:
    """The formula, with the range of some rows for splines that specify no range."""
    own = read_functions(functions)
    text, done = "", 0
    for call in _splines(tokenize(formula)):
        if any(token.text in _ENDS for token in call):
            continue
        commas = [k for k, token in enumerate(call) if token.text == "," and _depth(call[:k]) == 0]
        x = Expression(formula[call[0].start : call[commas[0] - 1 if commas else -1].end], 0, own)
        names = {node.id for node in names_in(read_expression(x.text, own).tree)} & set(rows.columns)
        values = evaluate(x, read_table(rows, names))
        ends = f", lower_bound={float(values.min())!r}, upper_bound={float(values.max())!r}"
        text, done = text + formula[done : call[-1].end] + ends, call[-1].end
    return text + formula[done:]


def _splines(tokens: tuple[Token, ...]) -> Iterator[tuple[Token, ...]]:
    """The text in the brackets of every call of a spline."""
    for k, token in enumerate(tokens):
        if token.text in SPLINES and tokens[k + 1 : k + 2] and tokens[k + 1].role == "call":
            end = next(j for j in range(k + 2, len(tokens) + 1) if _depth(tokens[k + 1 : j]) == 0)
            yield tokens[k + 2 : end - 1]


def _depth(tokens: tuple[Token, ...]) -> int:
    """Number of brackets that are open after some tokens."""
    return sum((token.text in ("(", "[")) - (token.text in (")", "]")) for token in tokens)
