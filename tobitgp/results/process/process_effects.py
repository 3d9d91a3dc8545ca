"""Marginal effects of processes: (REG14) and (REG15) of the theory pages, linearised in f at every design point."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from tobitgp.data.arrays import Design
from tobitgp.engines import row_chunks
from tobitgp.inference.rows_together import Summed, variance_of_sum
from tobitgp.kinds.process import Process, ProcessParts
from tobitgp.kinds.process_nodes import nodes_of
from tobitgp.posterior.nodes import Nodes
from tobitgp.posterior.questions import Question
from tobitgp.results.counterfactuals import STEP, Change, ChangedRows, rows_at
from tobitgp.results.effect_questions import ROUNDING, Effect, EffectRequest, by_point, inside
from tobitgp.typing import Array

CHUNK = 2048
_ON_ONE_SCALE = ("latent", "sigma")


class _EffectOfRows(NamedTuple):
    """What is added up of some rows at each of J design points of a fit."""

    value: Array  # (J,)
    size: float  # of what is added up
    summed: list[Summed]


def process_effect(parts: Process, change: Change, rows: ChangedRows, asked: EffectRequest) -> Effect:
    """The variance is that of the effect linearised in f, its gradient averaged over f."""
    alone = asked.what in _ON_ONE_SCALE
    fits = (parts.reported,) if alone else parts.scaled
    weight = np.concatenate([scaled.weight * scaled.fit.fitted.weights for scaled in fits])
    points = [point for scaled in fits for point in scaled.fit.fitted.points]
    share, J, whole = rows.weight * change.multiplier(by_share=asked.by_share) / change.width, len(points), 0.0
    size, value, intensive = 0.0, np.zeros(J), np.full(J, 0.0 if asked.split else np.nan)
    slopes: list[list[Summed]] = [[] for _ in points]
    of_rows = asked.question(parts.family.log_time, rows)
    for span in row_chunks(0, len(share), CHUNK):
        question, inside_ends = of_rows.take(span), []
        for sign, design in ((1.0, change.high), (-1.0, change.low)):
            part = design.rows(span)
            latent = [nodes_of(scaled.fit, part) for scaled in fits]
            each = [scaled.nodes(nodes) for scaled, nodes in zip(fits, latent, strict=True)]
            found = [
                _at_points(scaled.fit, nodes, part, question, asked, sign * share[span])
                for scaled, nodes in zip(fits, each, strict=True)
            ]
            value += np.concatenate([one.value for one in found])
            size += max(one.size for one in found)
            for own, summed in zip(slopes, (one for part in found for one in part.summed), strict=True):
                own.append(summed)
            if not asked.averages:
                joined = each[0] if alone else parts.joined(latent)
                whole += sign * float(asked.of_all(question, joined) @ share[span])
            if asked.split:
                sizes = [len(scaled.fit.fitted.points) for scaled in fits]
                ends = [inside(one, rows.limits.rows(span), J) for one, J in zip(each, sizes, strict=True)]
                inside_ends.append([np.concatenate(values) for values in zip(*ends, strict=True)])
        if asked.split:
            (mass, mean), (mass_low, mean_low) = inside_ends
            intensive += (0.5 * (mass + mass_low) * (mean - mean_low)) @ share[span]
    variance = np.array([variance_of_sum(point, own) for point, own in zip(points, slopes, strict=True)])
    if not asked.averages:
        value += whole - float(weight @ value)
    return Effect(value, variance, intensive, weight, rounding=ROUNDING * size)


def _at_points(
    fit: ProcessParts, nodes: Nodes, design: Design, question: Question, asked: EffectRequest, share: Array
) -> _EffectOfRows:
    """The number in rows, and its derivatives in f and log sigma, by their ``share`` (n,)."""
    points, unit, inputs = fit.fitted.points, fit.gp.problem.units.scale, fit.gp.inputs(design)
    J = len(points)
    h = STEP * by_point(nodes, np.hypot(nodes.sd, nodes.sigma), J)
    step = np.repeat(h, len(nodes.mean) // J, axis=0)
    up, down = (asked.of_points(question, replace(nodes, mean=nodes.mean + move), J) for move in (step, -step))
    slope, of_noise = share * (up - down) / (2.0 * h), np.zeros((J, 0))
    if points[0].noise:
        sides = (replace(nodes, sigma=nodes.sigma * np.exp(t)) for t in (STEP, -STEP))
        up, down = (asked.of_points(question, moved, J) for moved in sides)
        of_noise = share * (up - down) / (2.0 * STEP)
    summed = [Summed(inputs, unit * slope[j], of_noise[j]) for j in range(J)]
    number = asked.of_points(question, nodes, J)
    return _EffectOfRows(number @ share, float((np.abs(number) @ np.abs(share)).max()), summed)


def scale_at_means(parts: ProcessParts) -> float:
    """Noise scale of a process at the means of numbers and the most frequent levels of factors."""
    nodes = nodes_of(parts, parts.state.replay(rows_at(parts, "mean", need_limits=False).frame)[0])
    return float(np.exp(nodes.weight @ (np.log(nodes.sigma) + 0.0 * nodes.mean))[0])
