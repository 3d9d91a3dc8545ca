"""Coefficients of hazards whose posterior is skewed, as where few events tell of a level, beside Cox's likelihood."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import chdtri

from tobitgp.data.absorbed import as_dense
from tobitgp.results.hazards.cells import at_risk
from tobitgp.results.hazards.partial import maximise, risk_sets_of
from tobitgp.results.hazards.proportionality import strata_of, tested_columns
from tobitgp.typing import Array

if TYPE_CHECKING:
    from tobitgp.results.hazards.hazard_results import HazardResults

_AWAY = 0.15  # errors between the mean of a posterior and the maximum of the partial likelihood
_SKEWED = 1.2  # between the distances of the limits from it
_WIDENINGS, _HALVINGS = 5, 30  # of the search of a limit, in errors


def skewed_coefficients(results: HazardResults) -> dict[str, Array]:
    """Of coefficients of a posterior whose mean is not where Cox's partial likelihood is highest, for its skewness.

    By name the maximum and the 95% limits of its profile, either of which may be infinite. Processes and random effects
    are held at the fit's.
    """
    parts = results.parts
    columns = tested_columns(parts, parts.written)
    if parts.training is None or parts.estimated or parts.written.varying or not columns:
        return {}
    X, risk = as_dense(parts.training.design.H)[:, columns], at_risk(parts.training.response)
    sets, log_hazard = risk_sets_of(risk, strata_of(parts, parts.written, len(X))), -results._location()
    names = [parts.state.linear.columns[i] for i in columns]
    if not set(names) <= set(results.params.index):  # means of cells, which the fit has as differences
        return {}
    mean, error = results.params[names].to_numpy(), results.bse[names].to_numpy()
    at, out = maximise(X - X.mean(axis=0), sets, log_hazard), {}
    for j in np.flatnonzero((error > 0.0) & (np.abs(at.change) > _AWAY * error)):
        others = np.delete(X, j, axis=1)
        others = others - others.mean(axis=0)

        def lost(change: float, j: int = int(j), others: Array = others) -> float:
            moved = maximise(others, sets, log_hazard + X[:, j] * change)
            return 2.0 * (at.value - moved.value) - float(chdtri(1, 0.05))

        lower, upper = (_limit(lost, float(at.change[j]), side * float(error[j])) for side in (-1.0, 1.0))
        top = next((end for end in (lower, upper) if np.isinf(end)), at.change[j])  # flat as far as it was followed
        below, above = (abs(end - at.change[j]) for end in (lower, upper))
        if max(below, above) > _SKEWED * min(below, above):
            out[names[j]] = mean[j] + np.array([top, lower, upper])
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


def skewed_note(few: Mapping[str, Array]) -> list[str]:
    """What the likelihood says of coefficients whose posterior is skewed."""
    if not few:
        return []
    ratios = {name: np.exp(values) for name, values in few.items()}
    listed = "; ".join(f"{name} {top:.3g} ({lower:.3g}, {upper:.3g})" for name, (top, lower, upper) in ratios.items())
    return [
        "Where few events tell of a coefficient its posterior is skewed, and the mean lies away from where the "
        "likelihood is highest. Hazard ratio at the maximum of Cox's partial likelihood, with 95% limits by its "
        f"profile: {listed}."
    ]
