"""Predictions of a fitted Gaussian process in any rows: rows -> mixture of normals -> a scale -> columns of a table."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tobitgp.data.shapes import Design
from tobitgp.engines import map_independent, row_chunks, single_blas_thread
from tobitgp.errors import SpecError
from tobitgp.inference.fit import FittedGP
from tobitgp.inference.model import GPModel
from tobitgp.inference.posterior import Posterior, join_features, mean_variance
from tobitgp.results.mixture import Mixture
from tobitgp.results.scales import SCALES, Scale
from tobitgp.typing import Array

MIN_CHUNK, MAX_CHUNK = 128, 1024
HEAVY = 100_000
_NUMBER = (float, int, np.floating, np.integer)

Limits = tuple[Array, Array]


def predict_rows(
    fitted: FittedGP,
    model: GPModel,
    design: Design,
    *,
    what: str,
    limits: Callable[[], Limits],
    level: float | None,
    se: bool,
) -> dict[str, Array]:
    """Predict in the rows of a design, a chunk at a time.

    Parameters
    ----------
    fitted : FittedGP
    model : GPModel
    design : Design
        Of n rows.
    what : str
        A key of ``SCALES``.
    limits : callable
        Gives the limits of the instrument, (n,) each; called only where the scale needs them.
    level : float or None
        Probability of the interval.
    se : bool

    Returns
    -------
    dict of (n,) arrays
        ``mean``; with ``se`` or ``level`` also ``se``; with ``level`` also ``lower`` and ``upper``, which hold the mean
        between them: an end that a very skew quantity puts on the wrong side of its mean is moved to the mean.
    """
    scale = SCALES[what]
    n = len(design.H)
    lower, upper = limits() if scale.needs_limits else (None, None)
    inputs, known = model.inputs(design), model.known_mean(design)

    def chunk(rows: slice) -> list[Array]:
        mean, sd, sigma = moments(fitted, inputs, known, rows, model.problem.units.scale)
        ends = (None, None) if lower is None or upper is None else (lower[rows], upper[rows])
        return _statistics(scale, Mixture(fitted.weights, mean, sd, sigma, model.family.log_time, *ends), level, se)

    size = min(max(n // 8, MIN_CHUNK), MAX_CHUNK)
    work = n * len(fitted.points) * max(fitted.n_features, 1)
    with single_blas_thread():
        parts = map_independent(chunk, row_chunks(0, n, size), heavy=work > HEAVY)
    names = ["mean", "se", "lower", "upper"][: 4 if level is not None else 2 if se else 1]
    if not parts:
        return {name: np.empty(0) for name in names}
    return {name: np.concatenate(columns) for name, columns in zip(names, zip(*parts, strict=True), strict=True)}


def moments(
    fitted: FittedGP, inputs: Sequence[Array], known: Array, rows: slice, scale: float
) -> tuple[Array, Array, Array]:
    """Mean and sd of f (J, n) in some rows, and the noise (J,), at every design point, in the user's units.

    Parameters
    ----------
    fitted : FittedGP
    inputs : sequence of (N, d_t) arrays
        Standardised inputs of each block.
    known : (N,) array
        What is added to the standardised f.
    rows : slice
        The n rows to do.
    scale : float
        Of the response.
    """
    here = [X[rows] for X in inputs]
    J, n = len(fitted.points), len(known[rows])
    mean, sd = np.empty((J, n)), np.empty((J, n))
    for j, point in enumerate(fitted.points):
        mean[j], variance = _moments_at(point, here)
        sd[j] = np.sqrt(variance)
    sigma = np.array([point.sigma for point in fitted.points])
    return known[rows] + scale * mean, scale * sd, scale * sigma


def _moments_at(point: Posterior, inputs: Sequence[Array]) -> tuple[Array, Array]:
    """Mean and variance of the standardised f, (n,) each."""
    _, A, d = join_features(point.blocks, inputs)
    m, v_p = mean_variance(A, point.w, point.L_B)
    return m, v_p + d


def _statistics(scale: Scale, q: Mixture, level: float | None, se: bool) -> list[Array]:
    mean = scale.point(q)
    out = [mean]
    if se or level is not None:
        out.append(scale.sd(q))
    if level is not None:
        tail = 0.5 * (1.0 - level)
        out.append(np.minimum(scale.quantile(q, tail), mean))
        out.append(np.maximum(scale.quantile(q, 1.0 - tail), mean))
    return out


def check_what(what: str | None) -> str:
    """Name of a scale; ``"latent"`` for None.

    Raises
    ------
    SpecError
        Listing the scales.

    Examples
    --------
    >>> check_what(None)
    'latent'
    """
    if what is None:
        return "latent"
    if not isinstance(what, str) or what not in SCALES:
        raise SpecError(f"what={what!r} is not offered; choose one of {', '.join(map(repr, SCALES))}.")
    return what


def check_level(interval: Any) -> float | None:
    """Probability of an interval, or None.

    Raises
    ------
    SpecError
        If it is no number strictly between 0 and 1.

    Examples
    --------
    >>> check_level(0.95)
    0.95
    """
    if interval is None:
        return None
    if isinstance(interval, (bool, np.bool_)) or not isinstance(interval, _NUMBER) or not 0 < interval < 1:
        raise SpecError(f"interval={interval!r}: a probability strictly between 0 and 1 is needed, as interval=0.95.")
    return float(interval)


def check_alpha(alpha: Any) -> float:
    """Probability left out of an interval.

    Raises
    ------
    SpecError
        If it is no number strictly between 0 and 1.
    """
    if isinstance(alpha, (bool, np.bool_)) or not isinstance(alpha, _NUMBER) or not 0 < alpha < 1:
        raise SpecError(f"alpha={alpha!r}: a probability strictly between 0 and 1 is needed, as alpha=0.05.")
    return float(alpha)
