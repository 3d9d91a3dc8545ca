"""Ratios of hazards or odds that are the same at all times, and pairs of rows of which they are."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

from tobitgp.errors import SpecError
from tobitgp.results.parameter_estimates import Linear
from tobitgp.results.rows import Asked
from tobitgp.results.words import HAZARD, ODDS
from tobitgp.typing import Array, BoolArray


class Contrasts(NamedTuple):
    """Differences of f in k pairs of rows."""

    columns: Array  # (k, p), differences of the linear columns
    offset: Array  # (k,), differences of the offset
    rows: Asked | None = None  # where processes differ 2 k rows, the second of each pair k after the first
    same: BoolArray | None = None  # (k,), whether these are equal


class Compared(NamedTuple):
    """Contrasts and what they are called."""

    labels: list[str]
    contrasts: Contrasts


class RatioKind(NamedTuple):
    """The ratio that is constant over time: its column in tables, and the sign of differences of f in its log."""

    name: str
    sign: float


def family_ratio(parts: Any) -> RatioKind:
    """The ratio that a shift of log time changes by the same factor at all times."""
    if parts.spec.mixture is not None:
        raise SpecError("A mixture has no columns with hazard ratios.")
    family, noise = parts.family, parts.family.distribution
    if not (family.log_time and (noise.exponential_hazard or noise.proportional_odds)):
        raise SpecError(
            f"family={family.name!r} has no hazard ratio that is the same at all times. Use "
            "predict_hazard(...) for two rows to get both hazards over time, or family='ph' to model the ratio."
        )
    if parts.state.scale is not None or parts.state.var_weight is not None:
        raise SpecError(
            "Here sigma differs from row to row, so that hazards cross and no ratio is the same at all times. "
            "Use predict_hazard(...) for two rows to get both hazards over time."
        )
    return RatioKind(HAZARD, -1.0) if noise.exponential_hazard else RatioKind(ODDS, 1.0)


def scaled(differences: Linear, factor: Array) -> Linear:
    """Differences times a factor (J,) at each design point."""
    covariance = [x * x * V for x, V in zip(factor, differences.covariance, strict=True)]
    return replace(differences, mean=factor[:, None] * differences.mean, covariance=covariance)
