"""The log hazard of rows but for processes of time: its terms and their posterior, and effects of columns."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.engines import row_chunks
from tobitgp.errors import ApproximationWarning, SpecError, user_level
from tobitgp.formula.hazard_formula import BAND
from tobitgp.kinds.likelihood import sum_estimates, term_estimates
from tobitgp.kinds.process_nodes import nodes_of, term_nodes
from tobitgp.posterior.estimates import Estimates
from tobitgp.posterior.nodes import Nodes
from tobitgp.results.averages import AT_TIMES
from tobitgp.results.counterfactuals import Change, ChangedRows
from tobitgp.results.effect_questions import Effect, EffectRequest
from tobitgp.results.hazards.cell_times import HazardTimes
from tobitgp.results.hazards.cells import cell_frame
from tobitgp.results.hazards.hazard_parts import HazardParts, locations_of
from tobitgp.results.likelihood.likelihood_averages import likelihood_effect
from tobitgp.results.likelihood.likelihood_draws import JointEstimates
from tobitgp.results.predict import check_what
from tobitgp.results.process.process_draws import JointProcess
from tobitgp.results.process.process_effects import CHUNK, process_effect
from tobitgp.results.rows import Asked, ask
from tobitgp.results.terms import model_terms
from tobitgp.typing import Array

_EFFECTS = ("latent", "median", "quantile", "prob", *AT_TIMES)


def without_time(parts: HazardParts, frame: pd.DataFrame, excluded: Any = ()) -> Asked:
    """Rows as cells of the first band, where processes of time are zero: those of the baseline and of coefficients."""
    names = [excluded] if isinstance(excluded, str) else list(excluded)
    cells = cell_frame(frame, np.zeros(len(frame), dtype=np.intp), parts.cuts, parts.written.stratum)
    of_time = [term.name for term in model_terms(parts.cells) if term.name in parts.written.of_time]
    return ask(parts.cells, cells, [*names, *of_time], terms=True)


def location_of_rows(parts: HazardParts, asked: Asked) -> Nodes | Estimates:
    """The log hazard without processes of time, in the first band for a piecewise baseline, (n,)."""
    cells = without_time(parts, asked.frame, asked.excluded)
    if not parts.cells.estimated:
        return _negative(nodes_of(parts.cells, cells.design, cells.skip))
    return _negative(sum_estimates(parts.cells, cells.design.H, cells.design.offset))


def terms_of_rows(parts: HazardParts, asked: Asked) -> dict[str, Nodes | Estimates]:
    """Effects of every term of it, by its name."""
    cells = without_time(parts, asked.frame, asked.excluded)
    found = dict[str, Nodes | Estimates]()
    if parts.cells.estimated:
        found |= term_estimates(parts.cells, cells.design)
    else:
        found |= term_nodes(parts.cells, cells.design, cells.skip)
    names = {name: parts.written.baseline if name == f"C({BAND})" else name for name in found}
    return {names[name]: _negative(known) for name, known in found.items() if name not in parts.written.of_time}


def _negative(known: Nodes | Estimates) -> Nodes | Estimates:
    """Minus the location, on its own scale: the location of cells is minus the log hazard."""
    if isinstance(known, Estimates):
        return replace(known, x=tuple(-x for x in known.x))
    return replace(known, mean=-known.mean, log=False)


def moments_of_rows(parts: HazardParts, asked: Asked) -> tuple[Array, Array]:
    """Mean (n,) and covariance (n, n) of the same in rows together."""
    cells = without_time(parts, asked.frame, asked.excluded)
    joint = JointEstimates(parts.cells) if parts.cells.estimated else JointProcess(parts.cells)
    mean, covariance = joint.moments(cells)
    return -mean, covariance


def drawn_locations(parts: HazardParts, asked: Asked, draws: int, seed: int) -> Array:
    """Draws (n, draws) of the same."""
    return -locations_of(parts.cells, without_time(parts, asked.frame, asked.excluded), draws, seed)


def effect_on_rows(parts: HazardParts, change: Change, rows: ChangedRows, asked: EffectRequest) -> Effect:
    """Effect of a column on the log hazard, or by draws on a number of the distribution of times."""
    check_what(asked.what, _EFFECTS, " by marginal effects of proportional hazards")
    if asked.what == "latent":
        return _on_log_hazard(parts, change, rows, asked)
    question = asked.question(True, rows)
    times = HazardTimes.of_rows(parts, pd.concat(change.frames), ())
    known, n = times.drawn(times.furthest(None) if question.response else asked.value), len(rows.weight)
    value, drawn, at_time = 0.0, np.zeros(1), asked.what in ("prob", *AT_TIMES)
    latest = asked.value if at_time else 0.0
    share = rows.weight * change.multiplier(by_share=asked.by_share) / change.width
    for span in row_chunks(0, n, CHUNK):
        of_rows, every = question.take(span), np.arange(n)[span]
        for sign, at in ((1.0, every), (-1.0, n + every)):
            part = known.take(at)
            with np.errstate(invalid="ignore"):  # of times that are infinite
                found = part.value(of_rows)
                value += sign * float(share[span] @ asked.scaled(found))
                drawn = drawn + sign * (share[span] @ asked.scaled(part.numbers(of_rows)))
            latest = latest if at_time else max(latest, float(found[np.isfinite(found)].max(initial=0.0)))
    times.warn_beyond(latest)
    if np.isfinite(value) and not np.isfinite(drawn).all():
        warnings.warn(
            f"The effect of {change.variable} on what={asked.what!r} has no standard error, because some times "
            f"are infinite under draws of the hazards. Use "
            "what='survival' with times=.",
            ApproximationWarning,
            stacklevel=user_level(),
        )
    with np.errstate(invalid="ignore"):
        return Effect(np.array([value]), np.array([np.var(drawn)]), np.array([np.nan]), np.ones(1))


def _on_log_hazard(parts: HazardParts, change: Change, rows: ChangedRows, asked: EffectRequest) -> Effect:
    """By the cells at both values, in the other order: their location is minus the log hazard."""
    if change.variable in parts.written.changing:
        raise SpecError(
            f"The coefficient of {change.variable} changes over time. Use plot() to draw it, or what='survival' "
            f"with times= for its effect."
        )
    low, high = (without_time(parts, frame).design for frame in change.frames)
    swapped = replace(change, high=high, low=low)
    if parts.cells.estimated:
        return likelihood_effect(parts.cells, swapped, rows, asked, averaged=False)
    return process_effect(parts.cells, swapped, rows, asked)
