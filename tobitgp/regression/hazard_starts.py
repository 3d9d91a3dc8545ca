"""Where searches for parametric baselines begin: constant hazards, maxima of nested models, and other histories."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np

from tobitgp.distributions.baselines import GompertzBaseline, SplineBaseline
from tobitgp.engines import least_squares, pick_columns
from tobitgp.regression.hazard_likelihood import HazardModel, follow_up, known_times
from tobitgp.typing import Array, BoolArray

FIRST_TAU, LEAST_TAU = -1.0, -12.0  # logarithms of the variance of frailties
_TAUS = (-3.0, 1.0)
_TURNS = (-3.0, -1.0, 1.0, 3.0)  # of log hazards over the follow-up
_BEFORE = (0.03, 1.0, 30.0)  # cumulative hazards at the first entry, in those of the follow-up
_RISE = 0.1  # least slope of a first spline
_GRID, _LONG = 40, 10.0

Embedding = Callable[[Array], Array]


def is_concave(model: HazardModel) -> bool:
    """Whether the log likelihood has one maximum at most.

    Without windows it is concave in splines and shapes; hazards that are powers or exponentials of time are log-linear
    in parameters, whenever a row entered, so that those of exact and right-censored rows are concave.
    """
    seen, baseline = model.seen, model.baseline
    if model.group is not None or np.isfinite(seen.exit).any():
        return False
    one_sided = bool((seen.exact | np.isposinf(seen.upper)).all())
    if isinstance(baseline, GompertzBaseline):
        return one_sided
    late = bool(np.isfinite(seen.entry).any())
    return not late or (one_sided and model.given_entry and baseline.size == 1)


def constant(model: HazardModel) -> tuple[HazardModel, Array]:
    """The model with s as it starts, and parameters (k,) near its maximum."""
    (p, _, L), known = model.sizes, model.known.copy()
    shape = np.repeat(model.baseline.start, L)
    own = slice(p, p + len(shape))
    known[own] = np.where(np.isnan(known[own]), shape, known[own])
    if isinstance(model.baseline, SplineBaseline) and np.isnan(model.known[p : p + L]).all():
        least = model.baseline.lowest(list(known[own].reshape(-1, L)))[1].min(axis=0)
        known[p : p + L] += np.maximum(_RISE - least, 0.0)
    parameters = np.where(np.isnan(known), 0.0, known)
    parameters[p + len(shape) :] = np.where(np.isnan(known[p + len(shape) :]), FIRST_TAU, known[p + len(shape) :])
    free = np.isnan(known[:p])
    levels = pick_columns(model.H, model.levels) @ (_level(model) + rise(model, parameters))
    goal = levels - model.offset - model.H @ parameters[:p]
    parameters[:p][free] = least_squares(pick_columns(model.H, free), goal)
    return replace(model, known=known), parameters


def rise(model: HazardModel, parameters: Array) -> Array:
    """What the baseline at parameters (k,) adds to levels, for the same hazards at the times of the rows, (levels,)."""
    times, c = known_times(model.seen).mean(), model.split(parameters)[1]
    return np.broadcast_to(times - model.baseline.at(np.full(c.shape[1], times), list(c))[0], len(model.levels))


def _level(model: HazardModel) -> float:
    """Logarithm of events over the time at risk."""
    seen = model.seen
    event = np.isfinite(seen.upper)
    end = np.where(seen.exact | ~event, seen.lower, seen.upper)
    time = np.where(np.isfinite(end), np.exp(end) * -np.expm1(np.minimum(seen.entry - end, 0.0)), 0.0)
    return float(np.log(seen.weight @ event) - np.log(seen.weight @ time))


def nested(model: HazardModel) -> Iterator[tuple[HazardModel, Embedding]]:
    """Smaller models, with what makes parameters of theirs those of this one."""
    (p, m, L), known = model.sizes, model.known
    beta, c, rest = model.split(known)
    others = np.isnan(beta)
    others[model.levels] = False
    if others.any():
        yield replace(model, known=np.concatenate([np.where(others, 0.0, beta), known[p:]])), lambda at: at
    if L > 1 and np.isnan(c).all():
        few = np.concatenate([beta, c[:, 0], rest])
        yield (
            replace(model, known=few, alike=True),
            lambda at: np.concatenate([at[:p], np.repeat(at[p : p + m], L), at[p + m :]]),
        )
    if model.group is not None and np.isnan(rest).all():
        yield replace(model, known=known[:-1], group=None), lambda at: np.append(at, LEAST_TAU)
    if isinstance(model.baseline, SplineBaseline):
        for step in (k for k in range(2, m + 1) if m % k == 0 and _is_prime(k)):
            kept = np.zeros(m, dtype=np.bool_)
            kept[::step] = True
            if np.isnan(c[~kept]).all():
                yield _with_fewer_knots(model, step, kept)


def _with_fewer_knots(model: HazardModel, step: int, kept: BoolArray) -> tuple[HazardModel, Embedding]:
    (p, m, L), (beta, c, rest) = model.sizes, model.split(model.known)
    assert isinstance(model.baseline, SplineBaseline)
    small = SplineBaseline(model.baseline.knots[::step])

    def embed(at: Array) -> Array:
        out, size = np.zeros((m, L)), small.size * L
        out[kept] = at[p : p + size].reshape(-1, L)
        return np.concatenate([at[:p], out.ravel(), at[p + size :]])

    return replace(model, baseline=small, known=np.concatenate([beta, c[kept].ravel(), rest])), embed


def _is_prime(k: int) -> bool:
    return all(k % j for j in range(2, k))


def elsewhere(model: HazardModel, parameters: Array) -> Iterator[Array]:
    """Other parameters (k,) than those of a constant hazard: frailties, slopes, histories before the first entry."""
    _, c, rest = (np.isnan(part) for part in model.split(model.known))
    if len(rest) and rest.all():
        yield from (np.append(parameters[:-1], tau) for tau in _TAUS)
    if not c.all():
        return
    if isinstance(model.baseline, GompertzBaseline):
        middle = float(np.exp(known_times(model.seen)).mean())
        for shape in np.array(_TURNS) / follow_up(model.seen):
            yield _moved(model, parameters, np.array([shape]), -shape * middle)
    elif np.isfinite(model.seen.entry).any():
        yield from (_moved(model, parameters, c, by) for c, by in _histories(model))


def _moved(model: HazardModel, parameters: Array, c: Array, by: float) -> Array:
    """Parameters with a baseline (m,) for all strata, and a level moved by a number."""
    out, (p, m, L) = parameters.copy(), model.sizes
    out[model.levels] += by
    out[p : p + m * L] = np.repeat(c, L)
    return out


def _histories(model: HazardModel) -> Iterator[tuple[Array, float]]:
    """Baselines of constant hazards after several cumulative hazards at the first entry.

    Each with what it adds to the level of a constant hazard.
    """
    seen, baseline = model.seen, model.baseline
    first, times = float(np.exp(seen.entry.min())), known_times(seen)
    last = float(times.max())
    v = np.linspace(max(float(times.min()), last - _LONG), last, _GRID)
    passed = np.clip((np.exp(v) - first) / (np.exp(last) - first), 1e-9, 1.0)
    level = _level(model)
    total = np.exp(level) * (np.exp(last) - first)
    values = baseline.basis(v)[0] if isinstance(baseline, SplineBaseline) else [v]
    for before in _BEFORE:
        z = model.noise.inverse_log_sf(-total * (before + passed))
        own, *c = np.linalg.lstsq(np.column_stack([np.ones(_GRID), *values]), z, rcond=None)[0]
        slope, straight = np.polyfit(v, z, 1)
        if isinstance(baseline, SplineBaseline) and baseline.lowest(c)[1].min() <= 0.0:
            own, c = straight, [slope, *[0.0] * (len(c) - 1)]
        yield np.log(c) if baseline.positive else np.array(c), own - level
