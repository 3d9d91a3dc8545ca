"""Coefficients of hazards whose posterior is skewed, as where few events tell of a level, beside Cox's likelihood."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from scipy.special import chdtri

from tobitgp.data.absorbed import as_dense
from tobitgp.results.hazards.cells import at_risk
from tobitgp.results.hazards.partial import maximise, risk_sets_of
from tobitgp.results.hazards.proportionality import strata_of, tested_columns
from tobitgp.typing import Array

if TYPE_CHECKING:
    from tobitgp.results.hazards.results import HazardResults

_SKEWED = 0.15  # errors between the mean of a posterior and the maximum of the partial likelihood
_WIDENINGS, _HALVINGS = 5, 30  # of the search of a limit, in errors


class PartialEstimate(NamedTuple):
    """A coefficient at the maximum of the partial likelihood, with limits by its profile; either may be infinite."""

    name: str
    maximum: float
    lower: float
    upper: float


def skewed_coefficients(results: HazardResults, alpha: float) -> list[PartialEstimate]:
    """Those of a posterior whose mean lies away from the maximum of Cox's partial likelihood.

    Processes and random effects are held at the fit's.
    """
    parts = results.parts
    columns = tested_columns(parts, parts.written)
    if parts.training is None or parts.estimated or parts.written.varying or not columns:
        return []
    X, risk = as_dense(parts.training.design.H)[:, columns], at_risk(parts.training.response)
    sets, log_hazard = risk_sets_of(risk, strata_of(parts, parts.written, len(X))), -results._location()
    names = [parts.state.linear.columns[i] for i in columns]
    mean, error = results.params[names].to_numpy(), results.bse[names].to_numpy()
    at = maximise(X - X.mean(axis=0), sets, log_hazard)
    out = []
    for j in np.flatnonzero((error > 0.0) & (np.abs(at.change) > _SKEWED * error)):
        others = np.delete(X, j, axis=1)
        others = others - others.mean(axis=0)

        def lost(change: float, j: int = int(j), others: Array = others) -> float:
            moved = maximise(others, sets, log_hazard + X[:, j] * change)
            return 2.0 * (at.value - moved.value) - float(chdtri(1, alpha))

        lower, upper = (_limit(lost, float(at.change[j]), side * float(error[j])) for side in (-1.0, 1.0))
        top = next((end for end in (lower, upper) if np.isinf(end)), at.change[j])  # flat as far as it was followed
        out.append(PartialEstimate(names[j], *(float(mean[j] + value) for value in (top, lower, upper))))
    return out


def _limit(lost: Callable[[float], float], start: float, step: float) -> float:
    """Where what is lost rises above 0, infinite where it does not."""
    inside = start
    for k in range(_WIDENINGS):
        outside = start + step * 2.0**k
        if lost(outside) > 0.0:
            break
        inside = outside
    else:
        return float(np.copysign(np.inf, step))
    for _ in range(_HALVINGS):
        middle = 0.5 * (inside + outside)
        inside, outside = (inside, middle) if lost(middle) > 0.0 else (middle, outside)
    return 0.5 * (inside + outside)


def skewed_note(results: HazardResults, alpha: float) -> list[str]:
    """What the likelihood says of coefficients whose posterior is skewed."""
    found = skewed_coefficients(results, alpha)
    if not found:
        return []
    listed = "; ".join(
        f"{name} {np.exp(top):.3g} ({np.exp(lower):.3g}, {np.exp(upper):.3g})" for name, top, lower, upper in found
    )
    return [
        "Where few events tell of a coefficient its posterior is skewed, and the mean lies away from where the "
        f"likelihood is highest. Hazard ratio at the maximum of Cox's partial likelihood, with "
        f"{100.0 * (1.0 - alpha):.4g}% limits by its profile: {listed}."
    ]
