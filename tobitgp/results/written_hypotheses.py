"""Linear hypotheses as they are written, in text or as matrices: matrices, values and names."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np

from tobitgp.errors import SpecError
from tobitgp.typing import Array


def read_constraints(columns: Sequence[str], hypotheses: Any) -> tuple[Array, Array, list[str]]:
    """Matrix (k, p), values (k,) and names of linear hypotheses."""
    coefficient = coefficient_pattern(columns)
    if isinstance(hypotheses, str):
        parts = _split(hypotheses, coefficient)
    elif isinstance(hypotheses, (list, tuple)) and hypotheses and all(isinstance(h, str) for h in hypotheses):
        parts = list(hypotheses)
    else:
        return _read_matrix(columns, hypotheses)
    from formulaic.utils.constraints import LinearConstraints

    names = [f"_b{j}_" for j in range(len(columns))]
    R, null = np.zeros((len(parts), len(columns))), np.zeros(len(parts))
    for k, text in enumerate(parts):
        try:
            read = LinearConstraints.from_spec(_aliased(text, coefficient, columns), variable_names=names)
            R[k], null[k] = np.asarray(read.constraint_matrix[0]), float(read.constraint_values[0])
        except Exception as error:
            listed = ", ".join(map(repr, columns)) or "none"
            raise SpecError(
                f"The hypothesis {text!r} cannot be read. Write it like 'x = 0' or 'x - 2*z = 1'. "
                f"This model has the coefficients {listed}."
            ) from error
    return R, null, [text.strip() for text in parts]


def _read_matrix(columns: Sequence[str], hypotheses: Any) -> tuple[Array, Array, list[str]]:
    pair = isinstance(hypotheses, tuple) and len(hypotheses) == 2
    matrix, values = hypotheses if pair else (hypotheses, 0.0)
    try:
        R = np.atleast_2d(np.asarray(matrix, dtype=float))
        null = np.broadcast_to(np.asarray(values, dtype=float), len(R)).copy()
    except (TypeError, ValueError):
        R, null = np.empty((0, 0)), np.empty(0)
    known = R.ndim == 2 and R.shape[1] == len(columns) and len(R) > 0
    if not (known and np.isfinite(R).all() and np.isfinite(null).all()):
        raise SpecError(
            f"Hypotheses must be text such as 'x = 0, z = 1', a finite matrix with {len(columns)} columns "
            f"({', '.join(columns)}), or a pair of such a matrix and values."
        )
    return R, null, [f"c{k}" for k in range(len(R))]


def _split(text: str, coefficient: re.Pattern[str]) -> list[str]:
    """Cut at commas outside of names and brackets."""
    named = {at for match in coefficient.finditer(text) for at in range(*match.span())}
    out, depth = [""], 0
    for at, character in enumerate(text):
        if at not in named:
            depth += (character in "([") - (character in ")]")
        if character == "," and depth == 0 and at not in named:
            out.append("")
        else:
            out[-1] += character
    return out


def coefficient_pattern(columns: Sequence[str]) -> re.Pattern[str]:
    """Pattern of the names of coefficients, the longest first: plain, in backticks, or with columns in backticks."""
    plain = [plain_name(name) for name in columns]
    patterns = []
    for name in sorted(columns, key=len, reverse=True):
        patterns.append(f"`{re.escape(name)}`")
        if not _is_number(name):
            words = re.findall(r"\w+|\W", plain_name(name)) if plain.count(plain_name(name)) == 1 else []
            quoted = "".join(f"`?{word}`?" if re.match(r"\w", word) else re.escape(word) for word in words)
            either = "|".join(filter(None, [re.escape(name), quoted]))
            patterns.append(rf"(?<![\w.])(?:{either})(?![\w.\[(])")
    return re.compile("|".join(patterns) or r"(?!)")


def plain_name(name: str) -> str:
    """The name without backticks."""
    return name.replace("`", "")


def _is_number(name: str) -> bool:
    try:
        float(name)
    except ValueError:
        return False
    return True


def _aliased(text: str, coefficient: re.Pattern[str], columns: Sequence[str]) -> str:
    """Text that formulaic reads, with every coefficient under a plain name."""
    places = {plain_name(name): j for j, name in enumerate(columns)}
    places |= {written: j for j, name in enumerate(columns) for written in (f"`{name}`", name)}
    text = coefficient.sub(lambda found: f"_b{places.get(found[0], places.get(plain_name(found[0])))}_", text)
    return re.sub(r"=\s*-", "= 0 - ", text)  # formulaic knows no sign after "="
