"""Incidence, and areas below survival, from the hazards of all causes by quadrature: (CR2) and (CR3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from tobitgp.engines import row_chunks
from tobitgp.results.survival import Times
from tobitgp.typing import Array, IntArray

Curves = Callable[[Array], tuple[Array, Array]]  # times (q,) -> hazards and cumulative hazards (K, n, q, ...)
_POINTS, _FEW = 12, 4  # of a panel, and of one that is narrow
EARLY = 1e-9  # cumulative hazard of all causes up to which it stands for incidence
_TOLERANCE, _HALVINGS = 1e-9, 6
_DECADES = 60


@dataclass(frozen=True, slots=True)
class Rule:
    """Nodes of an integral over time."""

    times: Array  # (q,), the first is that from which on it is integrated
    weights: Array  # (q,), zero of the first
    upto: IntArray  # (m,), last node before each time that is asked about, -1 of those before the first


def make_rule(first: float, times: Array, breaks: Array, width: float) -> Rule:
    """Gauss-Legendre panels of log time between times (m,), and breaks where hazards may jump, of at most a width."""
    last = float(times.max())
    knots = np.unique(np.concatenate([[first], times[times > first], breaks[(breaks > first) & (breaks < last)]]))
    nodes, weights = [np.array([first])], [np.zeros(1)]
    for low, high in pairwise(np.log(knots).tolist()):
        panels = max(int(np.ceil((high - low) / width)), 1)
        x, w = np.polynomial.legendre.leggauss(_POINTS if high - low > 0.25 * width else _FEW)
        half = 0.5 * (high - low) / panels
        middle = low + half * (2.0 * np.arange(panels) + 1.0)
        nodes.append(np.exp(middle[:, None] + half * x).ravel())
        weights.append(np.tile(half * w, panels))
    at = np.concatenate(nodes)
    return Rule(at, np.concatenate(weights) * at, np.searchsorted(at, times, side="right") - 1)


def integrate(rule: Rule, curves: Curves, nodes: int | None = None, *, area: bool = False) -> Array:
    """Incidence (K, n, m, ...) by hazards at the nodes, at some of these at a time; or the ``area`` below survival."""
    out, total = None, np.zeros(())
    for part in row_chunks(0, len(rule.times), nodes or len(rule.times)):
        hazard, cumulative = curves(rule.times[part])
        # Nodes are on the third axis; where draws follow, weights must reach over these.
        weights = rule.weights[part].reshape(-1, *[1] * (hazard.ndim - 3))
        with np.errstate(invalid="ignore", over="ignore"):
            alive = np.exp(-cumulative.sum(axis=0))
            steps = np.where(weights > 0.0, alive[None] if area else hazard * alive, 0.0) * weights
        if part.start == 0:
            steps[:, :, 0] = rule.times[0] if area else cumulative[:, :, 0]
        sums = total + np.cumsum(steps, axis=2)
        total = sums[:, :, -1:]
        if out is None:
            out = np.zeros((*sums.shape[:2], len(rule.upto), *sums.shape[3:]))
        here = (rule.upto >= part.start) & (rule.upto < part.stop)
        found = sums[:, :, rule.upto[here] - part.start]
        out[:, :, here] = found if area else np.minimum(found, 1.0)
    assert out is not None
    return out


def start_of(curves: Curves, times: Array, early: float = EARLY) -> float:
    """A time before all that are asked about up to which next to nothing happens."""
    positive = times[times > 0.0]
    tried = float(positive.min()) * 10.0 ** -np.arange(_DECADES + 1.0)
    small = (curves(tried)[1].sum(axis=0) <= early).all(axis=0)
    return float(tried[np.argmax(small) if small.any() else -1])


def find_rule(curves: Curves, first: float, times: Array, breaks: Array) -> Rule:
    """Nodes for times (m,), one of them positive: panels are halved until the incidence at rows' hazards stays."""
    width = 1.0
    rule = make_rule(first, times, breaks, width)
    found, moved = integrate(rule, curves), np.inf
    for _ in range(_HALVINGS):
        width, before, last = 0.5 * width, found, moved
        rule = make_rule(first, times, breaks, width)
        found = integrate(rule, curves)
        moved = float((np.abs(found - before) / np.maximum(found, 1e-300)).max(initial=0.0))
        # What no longer falls is not the rule's, but that of hazards which are drawn.
        if moved <= _TOLERANCE or moved > 0.25 * last:
            break
    return rule


def predictive(causes: Sequence[Times], after: Array | None) -> Curves:
    """Hazards of new rows, counted from times survived: parameters are averaged over, of each cause by itself."""

    def curves(times: Array) -> tuple[Array, Array]:
        hazard, cumulative = zip(*(cause.rates(times, after) for cause in causes), strict=True)
        return np.stack(hazard), np.stack(cumulative)

    return curves
