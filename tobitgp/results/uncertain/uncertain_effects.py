"""Marginal effects of a process over a measured input, linearised in the weights of its features."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tobitgp.results.counterfactuals import STEP, Change, ChangedRows
from tobitgp.results.effect_questions import ROUNDING, Effect, EffectRequest, inside
from tobitgp.results.uncertain.uncertain_draws import measured_nodes
from tobitgp.results.uncertain.uncertain_parts import UncertainParts
from tobitgp.typing import Array


def measured_effect(parts: UncertainParts, change: Change, rows: ChangedRows, asked: EffectRequest) -> Effect:
    """See :func:`tobitgp.results.process.process_effects.process_effect`; inputs are averaged over in every row."""
    share = rows.weight * change.multiplier(by_share=asked.by_share) / change.width
    question, q = asked.question(False, rows), parts.processes.posterior
    value, size, gradient = 0.0, 0.0, np.zeros(q.w.shape[1])
    ends: list[tuple[Array, Array]] = []
    unit = parts.scale * float(parts.processes.scales.sd[0])
    for sign, design in ((1.0, change.high), (-1.0, change.low)):
        nodes, at = measured_nodes(parts, design), parts.rows_at(design)
        number, (_, x) = asked.of_all(question, nodes), at.nodes()
        value += sign * float(number @ share)
        size = max(size, float(np.abs(number) @ np.abs(share)))
        for j, x_j in enumerate(x):
            h = STEP * float(np.hypot(nodes.sd[j], nodes.sigma[j]).max())
            moves = (np.where(np.arange(len(x))[:, None] == j, move, 0.0) for move in (h, -h))
            up, down = (asked.of_all(question, replace(nodes, mean=nodes.mean + move)) for move in moves)
            gradient += sign * unit * (at.features(x_j)[0].T @ (share * (up - down) / (2.0 * h)))
        if asked.split:
            mass, mean = inside(nodes, rows.limits, 1)
            ends.append((mass[0], mean[0]))
    intensive = np.full(1, np.nan)
    if asked.split:
        (mass, mean), (mass_low, mean_low) = ends
        intensive = np.array([(0.5 * (mass + mass_low) * (mean - mean_low)) @ share])
    variance = np.array([gradient @ q.B_inverse[0] @ gradient])
    return Effect(np.array([value]), variance, intensive, np.ones(1), rounding=ROUNDING * size)
