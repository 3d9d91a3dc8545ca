"""Weights of the pairs of rows whose order is known, by how their scores compare; (MET1) of the theory pages."""

from __future__ import annotations

import numpy as np

from tobitgp.numerics.nonparametric import mass_below
from tobitgp.typing import Array, IntArray


def later_masses(
    lower: Array, upper: Array, score: Array, weight: Array, entry: Array | None = None
) -> tuple[Array, Array, Array]:
    """For each row, the weight of the rows known to be later whose score is higher, equal and less, (n,) each."""
    # A row is known to be later than another if it begins where the other ends, or after; two exact rows at the same
    # time are not ordered. A row that entered when the other had ended is not compared with it.
    if entry is None or np.isneginf(entry).all():
        return _beyond(*_keys(lower, upper), score, weight)
    lower = np.maximum(lower, entry)
    every = _beyond(*_keys(lower, upper), score, weight)
    # Whoever entered later lives later, too: a row that begins as one censored to the right at its entry.
    n = len(lower)
    begin, end = _keys(np.append(entry, lower), np.append(np.full(n, np.inf), upper))
    late = _beyond(begin[:n], end[n:], score, weight)
    rounding = 1e-12 * weight.sum()
    higher, equal, less = (np.where(a - b > rounding, a - b, 0.0) for a, b in zip(every, late, strict=True))
    return higher, equal, less


def _beyond(begin: IntArray, end: IntArray, score: Array, weight: Array) -> tuple[Array, Array, Array]:
    """For each row, the weight of those that begin beyond its end, by how their scores compare."""
    order = np.argsort(-begin, kind="stable")
    first = len(begin) - np.searchsorted(begin[order[::-1]], end, side="right")
    rank = np.unique(score, return_inverse=True)[1]
    n = len(rank)
    mass = mass_below(rank[order], weight[order], np.tile(first, 2), np.concatenate([rank, rank + 1]))
    all_later = np.concatenate([[0.0], np.cumsum(weight[order])])[first]
    less, at_most = mass[:n], mass[n:]
    return all_later - at_most, at_most - less, less


def tied_mass(lower: Array, upper: Array, weight: Array, time_weight: Array | float = 1.0) -> float:
    """Number of pairs of exact rows at the same time; a row of weight w is w rows, and less than one has no pair."""
    exact = lower == upper
    at, w = np.unique(lower[exact], return_inverse=True)[1], weight[exact]
    together = np.bincount(at, weights=w)
    factor = np.broadcast_to(time_weight, len(exact))[exact]
    return float(0.5 * (factor * w) @ (together[at] - np.minimum(w, 1.0)))


def _keys(lower: Array, upper: Array) -> tuple[IntArray, IntArray]:
    """Whole numbers for both ends, such that one row is later if its begin exceeds the other's end."""
    # At one time come first the ends of intervals, then exact rows, then the begins of intervals.
    n = len(lower)
    at = np.unique(np.concatenate([lower, upper]), return_inverse=True)[1]
    exact = lower == upper
    return 3 * at[:n] + np.where(exact, 1, 2), 3 * at[n:] + exact
