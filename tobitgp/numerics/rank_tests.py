r"""Tests of whether groups of right-censored times have one hazard, or one cumulative incidence of a cause.

The scores of k groups are sums over distinct times of what was seen in a group less what the group would have of the
events if all were alike. Rows may enter late in tests of hazards. Groups are compared within strata.

References
----------
.. [1] T. R. Fleming and D. P. Harrington, *Counting Processes and Survival Analysis*, Wiley, 1991, chapter 7.
.. [2] R. J. Gray, "A class of K-sample tests for comparing the cumulative incidence of a competing risk", *Annals of
   Statistics* 16 (1988), 1141-1154.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import chdtrc

from tobitgp.typing import Array, BoolArray, IntArray

_ROUNDING = 1e-12  # of eigenvalues of a correlation matrix


class RankScores(NamedTuple):
    """RankScores of groups and what they are made of."""

    observed: Array  # (k,), weighted events
    expected: Array  # (k,), of them if all groups were alike
    covariance: Array  # (k, k), of observed - expected

    def __add__(self, other: tuple[Array, ...]) -> RankScores:  # type: ignore[override]
        """RankScores of two strata together."""
        return RankScores(*(a + b for a, b in zip(self, other, strict=True)))

    @property
    def statistic(self) -> tuple[float, int, float]:
        """Chi-squared, its degrees of freedom, the rank of the covariance, and p; NaN if the rank is 0."""
        sd = np.sqrt(np.maximum(np.diag(self.covariance), 0.0))
        there = np.flatnonzero(sd > 0.0)
        sd = sd[there]
        values, axes = np.linalg.eigh(self.covariance[np.ix_(there, there)] / np.outer(sd, sd))
        inside = values > _ROUNDING
        df = int(inside.sum())
        if not df:
            return 0.0, 0, np.nan
        score = axes[:, inside].T @ ((self.observed - self.expected)[there] / sd)
        chi2 = float(np.sum(score**2 / values[inside]))
        return chi2, df, float(chdtrc(df, chi2))

    def trend(self, dose: Array) -> tuple[float, int, float]:
        """Chi-squared of a hazard that rises or falls along numbers of the groups, (k,)."""
        dose = dose - dose.mean()
        score, variance = float(dose @ (self.observed - self.expected)), float(dose @ self.covariance @ dose)
        if not variance > 0.0:
            return 0.0, 0, np.nan
        chi2 = score**2 / variance
        return chi2, 1, float(chdtrc(1, chi2))


class TimesOfGroups(NamedTuple):
    """Times with the groups that are compared, (n,) each."""

    time: Array
    code: IntArray  # of the event: 0 of a censored row, 1 of the one compared, higher of competing ones
    weight: Array
    entry: Array  # -inf where a row was at risk from the start
    group: IntArray

    def take(self, rows: BoolArray) -> TimesOfGroups:
        """Some of the rows."""
        time, code, weight, entry, group = self
        return TimesOfGroups(time[rows], code[rows], weight[rows], entry[rows], group[rows])


Weighting = Callable[[Array, Array], Array]  # weights (m,) of times from rows at risk and events there, (m,) each


def fleming_harrington(rho: float = 0.0, gamma: float = 0.0) -> Weighting:
    r"""Weights :math:`S(t-)^\rho \{1 - S(t-)\}^\gamma`; all the same without powers."""

    def weights(at_risk: Array, events: Array) -> Array:
        survival = np.append(1.0, np.cumprod(1.0 - events / at_risk))[:-1]
        return np.asarray(survival**rho * (1.0 - survival) ** gamma)

    return weights


def gehan(at_risk: Array, events: Array) -> Array:
    """Numbers of rows at risk."""
    return at_risk


def tarone_ware(at_risk: Array, events: Array) -> Array:
    """Roots of numbers of rows at risk."""
    return np.asarray(np.sqrt(at_risk))


def prentice(at_risk: Array, events: Array) -> Array:
    """Prentice's estimate of survival."""
    return np.asarray(np.cumprod(1.0 - events / (at_risk + 1.0)))


_SAME = fleming_harrington()


def log_rank(rows: TimesOfGroups, k: int, stratum: IntArray, weighting: Weighting = _SAME) -> RankScores:
    """RankScores of the log-rank test, or with other weights of times of another of its family, (NPT5)."""
    return _sum([_log_rank(part, k, weighting) for part in _strata(rows, stratum)], k)


def gray(rows: TimesOfGroups, k: int, stratum: IntArray, rho: float = 0.0) -> RankScores:
    r"""RankScores of Gray's tests of the incidence of cause 1, with weights :math:`\{1 - F(t-)\}^\rho`, (NPT7)."""
    return _sum([_gray(part, k, rho) for part in _strata(rows, stratum)], k)


def _strata(rows: TimesOfGroups, stratum: IntArray) -> list[TimesOfGroups]:
    return [rows.take(stratum == level) for level in np.unique(stratum[rows.code > 0])]


def _sum(scores: list[RankScores], k: int) -> RankScores:
    total = RankScores(np.zeros(k), np.zeros(k), np.zeros((k, k)))
    for each in scores:
        total += each
    return total


def _counts(rows: TimesOfGroups, k: int, times: Array) -> tuple[Array, Array, Array]:
    """Events of the cause compared, of the others, and rows at risk, (m, k) at the distinct times of events."""
    m, at = len(times), np.searchsorted(times, rows.time)
    first, second = np.zeros((m, k)), np.zeros((m, k))
    for events, chosen in ((first, rows.code == 1), (second, rows.code > 1)):
        np.add.at(events, (at[chosen], rows.group[chosen]), rows.weight[chosen])
    # A row is at risk at the times in (entry, time].
    change = np.zeros((m + 1, k))
    np.add.at(change, (np.searchsorted(times, rows.entry, side="right"), rows.group), rows.weight)
    np.add.at(change, (np.searchsorted(times, rows.time, side="right"), rows.group), -rows.weight)
    # Rounding of sums of weights must not leave fewer than have an event.
    return first, second, np.maximum(np.cumsum(change, axis=0)[:m], first + second)


def _log_rank(rows: TimesOfGroups, k: int, weighting: Weighting) -> RankScores:
    times = np.unique(rows.time[rows.code > 0])
    events, _, at_risk = _counts(rows, k, times)
    d, n = events.sum(axis=1), at_risk.sum(axis=1)
    height = weighting(n, d)
    share = at_risk / n[:, None]
    spread = height**2 * np.where(n > 1.0, d * (n - d) / np.maximum(n - 1.0, 1e-300), 0.0)
    # Rows add up to 0. Formed so, the variance of a group that was never at risk with another is free of rounding.
    covariance = -(spread[:, None] * share).T @ share
    np.fill_diagonal(covariance, 0.0)
    np.fill_diagonal(covariance, -covariance.sum(axis=1))
    return RankScores(height @ events, (height * d) @ share, covariance)


def _gray(rows: TimesOfGroups, k: int, rho: float) -> RankScores:
    times = np.unique(rows.time[rows.code > 0])
    first, second, n = _counts(rows, k, times)
    there = n > 0.0
    n = np.where(there, n, 1.0)
    survival = np.cumprod(1.0 - (first + second) / n, axis=0)
    before = np.vstack([np.ones(k), survival[:-1]])
    grown = before * first / n
    own = np.cumsum(grown, axis=0) - grown  # incidence in each group before each time
    with np.errstate(divide="ignore", invalid="ignore"):
        open_ = np.where(there, n / before, 0.0)  # weight of the rows without cause 1, had nothing else ended them
        d, total = first.sum(axis=1), open_.sum(axis=1, keepdims=True)
        step = np.where(d > 0.0, d / total[:, 0], 0.0)
        at_risk = open_ * (1.0 - own)
        share = np.nan_to_num(at_risk / at_risk.sum(axis=1, keepdims=True))
        F = np.cumsum(step)
        height, hazard = (1.0 - F + step) ** rho, np.where(d > 0.0, step / (1.0 - F + step), 0.0)
        lasting = survival > 0.0
        lost = np.where(lasting, (1.0 - F)[:, None] / survival, 0.0)
        # Variances of the increments of incidence, with the correction for ties of the hypergeometric distribution.
        of_case = np.where(there, before * step[:, None] / n, 0.0) * _tied(d[:, None], total * before)
        of_other = np.where(lasting, (before / n) ** 2 * second, 0.0) * _tied(second, n)
    direct = height[:, None, None] * open_[:, :, None] * (np.eye(k) - (open_ / total)[:, None, :])
    later = np.cumsum((direct * hazard[:, None, None])[::-1], axis=0)[::-1] - direct * hazard[:, None, None]
    by_case = direct + np.where(lasting, 1.0 - lost, 1.0)[:, None, :] * later
    by_other = lost[:, None, :] * later
    covariance = sum(
        np.einsum("tir,tjr,tr->ij", by, by, variance) for by, variance in ((by_case, of_case), (by_other, of_other))
    )
    return RankScores(height @ first, (height * d) @ share, np.asarray(covariance))


def _tied(events: Array, n: Array) -> Array:
    return np.where(events > 1.0, 1.0 - (events - 1.0) / (n - 1.0), 1.0)
