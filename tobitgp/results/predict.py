"""Predictions of a fitted Gaussian process in any rows: rows -> mixture of normals -> a scale -> columns of a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from tobitgp.data.shapes import Design
from tobitgp.distributions.base import Distribution
from tobitgp.engines import map_independent, row_chunks, single_blas_thread
from tobitgp.errors import SpecError
from tobitgp.inference.fitted import FittedGP
from tobitgp.inference.model import GPModel
from tobitgp.prior.block import Inputs
from tobitgp.results.normals import Mixture
from tobitgp.results.rows import Limits
from tobitgp.results.scales import SCALES, Scale
from tobitgp.typing import Array

MIN_CHUNK, MAX_CHUNK = 128, 1024
HEAVY = 100_000
WHATS = (*SCALES, "conditional", "quantile", "prob", "terms")
_NUMBER = (float, int, np.floating, np.integer)


def predict_rows(
    fitted: FittedGP,
    model: GPModel,
    design: Design,
    scales: Sequence[Scale],
    *,
    limits: Callable[[], Limits],
    level: float | None,
    se: bool,
    skip: frozenset[int] = frozenset(),
) -> list[dict[str, Array]]:
    """Predict in the rows of a design, a chunk at a time.

    Gives (n,).
    """
    n = len(design.H)
    known_limits = limits() if any(scale.needs_limits for scale in scales) else None
    inputs, known, laws = model.inputs(design), model.known_mean(design), noise_laws(fitted, model)
    noiseless = all(scale is SCALES["latent"] for scale in scales)

    def chunk(rows: slice) -> list[dict[str, Array]]:
        mean, sd, sigma = moments(fitted, inputs, known, rows, model.problem.units.scale, skip)
        spread = None if design.spread is None or noiseless else design.spread[rows]
        q = Mixture(fitted.weights, mean, sd, sigma, model.family.log_time, laws=laws, spread=spread)
        if known_limits is not None:
            q = replace(q, **known_limits.rows(rows)._asdict())
        if q.spread is None:
            return [statistics(scale, q, level, se) for scale in scales]
        return [_of_each_noise(scale, q, level, se) for scale in scales]

    size = min(max(n // 8, MIN_CHUNK), MAX_CHUNK)
    work = n * len(fitted.points) * max(fitted.n_features, 1)
    with single_blas_thread():
        parts = map_independent(chunk, row_chunks(0, n, size), heavy=work > HEAVY)
    if not parts:
        names = ["mean", "se", "lower", "upper"][: 4 if level is not None else 2 if se else 1]
        return [{name: np.empty(0) for name in names} for _ in scales]
    return [{name: np.concatenate([p[k][name] for p in parts]) for name in parts[0][k]} for k in range(len(scales))]


def _of_each_noise(scale: Scale, q: Mixture, level: float | None, se: bool) -> dict[str, Array]:
    """Statistics of rows whose noise differs."""
    out: dict[str, Array] = {}
    for rows, part in q.of_one_noise():
        for name, values in statistics(scale, part, level, se).items():
            out.setdefault(name, np.empty(q.mean.shape[1]))[rows] = values
    return out


def moments(
    fitted: FittedGP,
    inputs: Sequence[Inputs],
    known: Array,
    rows: slice,
    scale: float,
    skip: frozenset[int] = frozenset(),
) -> tuple[Array, Array, Array]:
    """Mean and sd of f (J, n) in some rows, (PRE1), and the noise (J,), at every design point, in the user's units.

    Shapes: known (N,).
    """
    here = [at.rows(rows) for at in inputs]
    J, n = len(fitted.points), len(known[rows])
    mean, sd = np.empty((J, n)), np.empty((J, n))
    for j, point in enumerate(fitted.points):
        A, d = point.features(here, skip)
        mean[j], sd[j] = A.times(point.w), np.sqrt(point.factor.variance(A) + d)
    sigma = np.array([point.sigma for point in fitted.points])
    return known[rows] + scale * mean, scale * sd, scale * sigma


def noise_laws(fitted: FittedGP, model: GPModel) -> tuple[Distribution, ...]:
    """Distribution of the noise at every design point."""
    return tuple(model.family.law_at(point.theta) for point in fitted.points)


def statistics(scale: Scale, q: Mixture, level: float | None, se: bool) -> dict[str, Array]:
    """Columns of a table: ``mean``, with ``se`` or ``level`` also ``se``, with ``level`` the ends of the interval."""
    mean = scale.point(q)
    out = {"mean": mean}
    if se or level is not None:
        out["se"] = scale.sd(q)
    if level is not None:
        tail = 0.5 * (1.0 - level)
        out["lower"] = np.minimum(scale.quantile(q, tail), mean)
        out["upper"] = np.maximum(scale.quantile(q, 1.0 - tail), mean)
    return out


def check_what(what: str | None, offered: Sequence[str] = WHATS, of: str = "") -> str:
    """Name of a scale; the first that is offered for None."""
    if what is None:
        return offered[0]
    if not isinstance(what, str) or what not in offered:
        raise SpecError(f"what={what!r} is not offered{of}; choose one of {', '.join(map(repr, offered))}.")
    return what


def check_level(interval: Any) -> float | None:
    """Probability of an interval, or None."""
    if interval is None:
        return None
    if isinstance(interval, (bool, np.bool_)) or not isinstance(interval, _NUMBER) or not 0 < interval < 1:
        raise SpecError(f"interval={interval!r}: a probability strictly between 0 and 1 is needed, as interval=0.95.")
    return float(interval)


def check_flag(name: str, value: Any) -> bool:
    """A yes or no."""
    if not isinstance(value, (bool, np.bool_, int)) or value not in (0, 1):
        raise SpecError(f"{name}={value!r}: True or False is needed.")
    return bool(value)


def check_alpha(alpha: Any) -> float:
    """Probability left out of an interval."""
    if isinstance(alpha, (bool, np.bool_)) or not isinstance(alpha, _NUMBER) or not 0 < alpha < 1:
        raise SpecError(f"alpha={alpha!r}: a probability strictly between 0 and 1 is needed, as alpha=0.05.")
    return float(alpha)
