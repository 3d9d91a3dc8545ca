"""Censoring that was probably written otherwise than it was meant: what the likely slip is, and what to write."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence

import numpy as np

from tobitgp.data.evaluate import bare_column, evaluate
from tobitgp.data.flags import read_flag
from tobitgp.data.table import Table
from tobitgp.errors import DataError, user_level
from tobitgp.formula.spec import Expression, ModelSpec
from tobitgp.typing import Array, BoolArray

_NONE_CENSORED = (
    "No row is censored: no value lies at or beyond its limit in censor(...), which is then without effect. A row is "
    "censored where the response stands at its limit, on the scale of the response as written; where non-detects are "
    "marked by another column write censor(nondetect=flag) with the limit in the response, and where rows beyond the "
    "limit are not in the data at all write truncate(...)"
)


def warn_unmet_limits(counts: Mapping[str, int], limits: Sequence[Array | float]) -> None:
    """Warn where training rows have limits, and none is censored."""
    if not any(counts[kind] for kind in ("left", "right", "interval")) and any(np.isfinite(x).any() for x in limits):
        warnings.warn(_NONE_CENSORED, UserWarning, stacklevel=user_level())


def flag_for_limit(what: str, text: str, side: str) -> str:
    """Say of a limit that it looks like a flag, and how that is written."""
    lower = side == "lower"
    flag = (
        f"censor(nondetect={text}), 1 below its limit" if lower else f"censor(event={text}), 1 where the value was seen"
    )
    return f"{what}, as a flag of rows would; limits are values of the response. A flag is written {flag}"


def refuse_misread_limits(spec: ModelSpec, table: Table) -> None:
    """Refuse limits of training rows that look like a flag, or like those of the response before its transformation."""
    if spec.response.kind != "value" or spec.flag is not None or spec.censoring is None:
        return
    y = evaluate(spec.response.value, table)
    for side, limit in (("lower", spec.censoring.lower), ("upper", spec.censoring.upper)):
        if limit is not None:
            values = evaluate(limit, table)
            _refuse_flag(limit, side, values, y, table)
            _refuse_other_scale(spec, limit, values, y, table)


def _refuse_flag(limit: Expression, side: str, values: Array, y: Array, table: Table) -> None:
    """Limits of 0 and 1 are believed where values stand at them, and none beyond."""
    if bare_column(limit, table) is None or set(np.unique(values)) != {0.0, 1.0}:
        return
    beyond = y < values if side == "lower" else y > values
    if beyond.any() or not (y == values).any():
        what = f"The {side} limit {limit.text} holds only 0 and 1"
        rest = f"; where they are limits indeed, write 0 + {limit.text}"
        raise DataError(flag_for_limit(what, limit.text, side) + rest)


def _refuse_other_scale(spec: ModelSpec, limit: Expression, values: Array, y: Array, table: Table) -> None:
    """Values stand at their limits before the response is transformed, and none after it."""
    names, text = spec.names("response"), spec.response.value.text
    if len(names) != 1 or bare_column(spec.response.value, table) is not None or (y == values).any():
        return
    at = table.columns[names[0]].values == values
    if at.any():
        there = re.sub(rf"(?<!\w){re.escape(names[0])}(?!\w)", limit.text, text)
        raise DataError(
            f"{names[0]} equals its limit {limit.text} in {table.rows(at)}, and {text} nowhere does: the limits of "
            f"{text} are on its own scale, censor({there})"
        )


def refuse_unknown_limits(spec: ModelSpec, table: Table, unknown: BoolArray) -> None:
    """Refuse rows that are said to lie below a detection limit, and hold none."""
    if spec.flag is None or spec.flag.codes == "event" or not unknown.any():
        return
    below = unknown.copy()
    below[unknown] = read_flag(spec.flag, spec, table.take(unknown)) == -1
    if below.any():
        where = f"{spec.response.value.text} is missing in {table.rows(below)}"
        raise DataError(
            f"{where}, which {spec.flag.how}{spec.flag.text}) says are below a detection limit. Such rows carry "
            "information: put the limit there, or leave them out"
        )
