"""Limits of the instrument beside the rows, for what needs them on exact rows too."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tobitgp.data.problem import Instrument, Problem
from tobitgp.data.shapes import CensoredResponse
from tobitgp.errors import SpecError
from tobitgp.typing import Array


def with_limits(problem: Problem, response: CensoredResponse, known_mean: Array) -> Problem:
    """The problem with the limits of every row, standardised as its ends are.

    Shapes: known_mean (n,).
    """
    if any(rows.window is not None or rows.kind == "interval" for rows in problem.rows):
        raise SpecError(f"{_NEED}; it has no formula for rows that are truncated or known to an interval.")
    if np.isnan(response.limit_lower).any() or np.isnan(response.limit_upper).any():
        raise SpecError(f"{_NEED}, and here they are unknown; write them as censor(lower, upper).")
    ends = []
    for limit in (response.limit_lower, response.limit_upper):
        with np.errstate(divide="ignore"):
            end = np.log(np.maximum(limit, 0.0)) if problem.units.log_time else limit
        ends.append(((end - known_mean) / problem.units.scale)[problem.order])
    out, start = [], 0
    for rows in problem.rows:
        span = slice(start, start + len(rows))
        out.append(replace(rows, instrument=Instrument(ends[0][span], ends[1][span])))
        start += len(rows)
    return replace(problem, rows=tuple(out))


_NEED = "bound='karlova' takes the limits of the instrument in every row"
