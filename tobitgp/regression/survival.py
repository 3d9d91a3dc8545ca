r"""Survival of a fitted regression, with derivatives for the delta method.

With :math:`z = (y - \eta) / \sigma`, y the time or its logarithm, and h the hazard of the standardised law,

.. math:: H = -\log S(z), \quad \partial_\eta H = -h(z) / \sigma, \quad \partial_\tau H = -z\,h(z);

given survival of a start, H is what it has risen since: (SUR3) and (SUR6) of the theory pages. Everything is formed
from log S and h, which keep their precision where S underflows.

References
----------
Kalbfleisch and Prentice (2002), *The Statistical Analysis of Failure Time Data*, 2nd ed., section 2.2.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tobitgp.numerics.monotone_roots import rises_to
from tobitgp.regression.scales import Predictor, Quantity, quantile
from tobitgp.typing import Array

_FAR = 1e100
SOON = 1e-280  # stands for time 0, where a hazard is a limit
_NEVER = 1e50


def survival(rows: Predictor, end: Array, start: Array | None = None) -> Quantity:
    """Probability of surviving ``end``, given survival of ``start`` where one is given."""
    risen = cumulative_hazard(rows, end, start)
    alive = np.exp(-risen.value)
    return Quantity(alive, -alive * risen.d_eta, -alive * risen.d_tau, "logit")


def cumulative_hazard(rows: Predictor, end: Array, start: Array | None = None) -> Quantity:
    """Minus the logarithm of :func:`survival`; arguments as there."""
    value, d_eta, d_tau = _risen(rows, end)
    if start is not None:
        before = _risen(rows, start)
        value, d_eta, d_tau = np.maximum(value - before[0], 0.0), d_eta - before[1], d_tau - before[2]
    return Quantity(value, d_eta, d_tau, "log")


def hazard(rows: Predictor, end: Array, start: Array | None = None) -> Quantity:
    """Density over survival at ``end``, whatever the start; at time 0 of log time its limit."""
    time = np.maximum(end, SOON) if rows.log_time else end
    z = _standardise(rows, time)
    tail = rows.law.upper_tail(z)
    pace = 1.0 / (rows.sigma * time) if rows.log_time else 1.0 / rows.sigma
    with np.errstate(over="ignore", invalid="ignore"):
        value = -tail.d1 * pace
        d_eta, d_tau = tail.d2 * pace / rows.sigma, (z * tail.d2 + tail.d1) * pace
    if rows.log_time:
        value = hazard_at_zero(value, end)
        d_eta, d_tau = (np.where((value > 0.0) & np.isfinite(value), slope, 0.0) for slope in (d_eta, d_tau))
    return Quantity(value, d_eta, d_tau, "log")


def hazard_at_zero(value: Array, time: Array) -> Array:
    """Hazards of positive times: 0 before time 0, and there the limit that their value close by tells."""
    limit = np.where(value > _NEVER, np.inf, np.where(value < 1.0 / _NEVER, 0.0, value))
    return np.where(time < 0.0, 0.0, np.where(time == 0.0, limit, value))


def remaining(rows: Predictor, p: float, start: Array | None = None) -> Array:
    """Time at which survival falls to ``p``, or to ``p`` of what it is at ``start``, counted from there; (n,)."""
    if start is None:
        return quantile(rows, 1.0 - p).value
    goal = _risen(rows, start)[0] - np.log(p)

    def rise(y: Array) -> tuple[Array, Array]:
        z = np.clip((y - rows.eta) / rows.sigma, -_FAR, _FAR)
        tail = rows.law.upper_tail(z)
        return -tail.log_p, -tail.d1 / rows.sigma

    return since(rises_to(rise, goal, rows.eta, rows.sigma), start, log_time=rows.log_time)


def since(y: Array, start: Array, *, log_time: bool) -> Array:
    """Time from ``start`` to y, a time or its logarithm, never negative."""
    if not log_time:
        return np.maximum(y - start, 0.0)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        late = start * np.expm1(y - np.log(np.maximum(start, 0.0)))
        return np.maximum(np.where(start > 0.0, late, np.exp(y) - start), 0.0)


def _standardise(rows: Predictor, time: Array) -> Array:
    return np.clip(rows.standardise(time), -_FAR, _FAR)


def _risen(rows: Predictor, time: Array) -> tuple[Array, Array, Array]:
    """Cumulative hazard and its derivatives."""
    z = _standardise(rows, time)
    tail = rows.law.upper_tail(z)
    with np.errstate(over="ignore", under="ignore"):
        return -tail.log_p, tail.d1 / rows.sigma, z * tail.d1


CURVES: dict[str, Callable[[Predictor, Array, Array | None], Quantity]] = {
    "survival": survival,
    "cumulative_hazard": cumulative_hazard,
    "hazard": hazard,
}
