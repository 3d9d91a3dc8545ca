"""Kaplan and Meier's estimate of survival."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

from tobitgp.typing import Array, BoolArray


def kaplan_meier(time: Array, seen: BoolArray, weight: Array, entry: Array | None = None) -> tuple[Array, Array]:
    r"""Survival from right-censored times, :math:`S(t) = \prod_{s \le t} (1 - d_s / n_s)`.

    Shapes: time, seen, weight, entry (n,); gives times, survival (m,). Kaplan and Meier (1958), Nonparametric
    estimation from incomplete observations, *JASA* 53, 457-481.
    """
    times, events, at_risk = risk_sets(time, seen, weight, entry)
    return times, np.asarray(np.cumprod(1.0 - events / at_risk), dtype=np.float64)


def risk_sets(time: Array, seen: BoolArray, weight: Array, entry: Array | None = None) -> tuple[Array, Array, Array]:
    """Distinct times, ascending, with the weight of the events at each and of the rows at risk just before, (m,) each.

    A row is at risk later than its entry and up to its time.
    """
    times, at = np.unique(time, return_inverse=True)
    events, leaving = (np.asarray(np.bincount(at, weights=w), dtype=np.float64) for w in (weight * seen, weight))
    at_risk = np.cumsum(leaving[::-1])[::-1]
    if entry is not None:
        first = np.searchsorted(times, entry, side="right")
        late = np.cumsum(np.bincount(first, weights=weight, minlength=len(times) + 1)[::-1])[::-1]
        # Rounding of the difference must not leave fewer than those who leave.
        at_risk = np.maximum(at_risk - late[1:], leaving)
    return times, events, at_risk


def km_interval(events: Array, at_risk: Array, level: float = 0.95) -> tuple[Array, Array]:
    """Ends of Greenwood's intervals of survival after each time (m,), on the scale of log(-log).

    Where survival is 0 or 1 both ends are.
    """
    survival = np.cumprod(1.0 - events / at_risk)
    with np.errstate(divide="ignore", invalid="ignore"):
        error = np.sqrt(np.cumsum(events / (at_risk * (at_risk - events)))) / np.log(survival)
        reach = np.exp(float(ndtri(0.5 * (1.0 + level))) * np.abs(error))
        lower, upper = survival**reach, survival ** (1.0 / reach)
    inner = (survival > 0.0) & (survival < 1.0)
    return np.where(inner, lower, survival), np.where(inner, upper, survival)
