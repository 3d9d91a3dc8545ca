"""The response of the training rows in columns as the formula names them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from tobitgp.data.arrays import CensoredResponse
from tobitgp.formula.linear_terms import mentions
from tobitgp.formula.spec import CODES, Expression, ModelSpec
from tobitgp.typing import IntArray

_INTERVAL = 2  # among the kinds of ``CODES``


def response_columns(parts: Any) -> dict[str, Any]:
    """Columns (n,) of the rows used: values or limits, ends of intervals, entries, and codes of events or censoring."""
    found = _of_spec(parts.spec, parts.rows.response)
    if not hasattr(parts, "fits"):
        return found
    del found[parts.spec.response.flag.expression.label]  # whether it is the first of several causes
    causes = np.array([parts.censored, *parts.fits], dtype=object)[parts.seen.code]
    return {**found, parts.column: pd.Series(causes).infer_objects().to_numpy()}


def _of_spec(spec: ModelSpec, seen: CensoredResponse) -> dict[str, Any]:
    """The columns of one response."""
    response, kind = spec.response, _kinds(seen)
    found: dict[Expression | None, Any] = {}
    if response.kind == "surv" and spec.truncation is not None:
        found[spec.truncation.lower] = seen.entry
    if response.kind == "interval":
        found |= {response.value: seen.lower, response.upper: seen.upper}
    else:
        found[response.value] = np.where(kind < 0, seen.upper, seen.lower)
        found[spec.upper_end] = np.where(kind == _INTERVAL, seen.upper, np.nan)
    if spec.flag is not None:
        code = {of: code for code, of in CODES[spec.flag.codes].items()}
        found[spec.flag.expression] = np.array([code[k] for k in kind.tolist()], dtype=np.intp)
    columns = [variable.name for variable in spec.variables]
    named = {of.label: values for of, values in found.items() if of is not None}
    return {name: values for name, values in named.items() if any(mentions(name, column) for column in columns)}


def _kinds(seen: CensoredResponse) -> IntArray:
    """How each row is censored, as the kinds of ``CODES`` have it."""
    exact, below, above = seen.lower == seen.upper, np.isneginf(seen.lower), np.isposinf(seen.upper)
    return np.select([exact, below, above], [0, -1, 1], _INTERVAL).astype(np.intp)
