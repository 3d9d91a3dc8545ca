"""Random numbers, importance sampling and weights.

Importance weights with a heavy right tail are averaged with little error where their largest are replaced by expected
order statistics of a generalised Pareto distribution fitted to them,

.. math:: P(X > x) = (1 + k x / s)^{-1/k},

and its shape k says how far the average is to be trusted: the weights have 1/k moments. (CHK5)
and (CHK6) of the theory pages.

References
----------
.. [1] A. Vehtari, D. Simpson, A. Gelman, Y. Yao and J. Gabry, "Pareto smoothed importance sampling", JMLR 25 (2024).
.. [2] J. Zhang and M. A. Stephens, "A new and efficient estimation method for the generalized Pareto distribution",
   Technometrics 51 (2009).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from scipy.special import boxcox1p

from tobitgp.errors import SpecError
from tobitgp.typing import Array, IntArray

_OWN = 0x746F6269  # no child that a user spawns
_LEAST = 2.0**-54  # half of the least step between uniform numbers


def draw_quantiles(draws: Array, orders: Sequence[float], rising: Callable[[Array], Array] | None = None) -> Array:
    """Quantiles (k, ...) of draws (..., S), or of a rising function of them, infinite next to infinite draws."""
    # A sort of short rows is several times as fast as the partition of np.quantile, and gives the same numbers.
    known, last = np.sort(draws, axis=-1), np.shape(draws)[-1] - 1
    places = np.multiply(orders, last)
    first = np.floor(places).astype(np.intp)
    share = (places - first).reshape(-1, *[1] * (known.ndim - 1))
    low, high, above = (
        np.moveaxis(known[..., at] if rising is None else rising(known[..., at]), -1, 0)
        for at in (first, np.minimum(first + 1, last), np.ceil(places).astype(np.intp))
    )
    with np.errstate(invalid="ignore"):
        step = high - low
        between = np.where(share < 0.5, low + step * share, high - step * (1.0 - share))
    if np.isnan(between).any():
        between = np.where(np.isnan(between), np.where(np.isinf(above), above, low), between)
    return np.where(np.isnan(known[..., -1]), np.nan, between)


def generator(rng: int | np.random.Generator | None) -> np.random.Generator:
    """A Generator as it is, ``default_rng`` of a seed, or for None a fixed stream that no seed gives."""
    # With the numbers of a seed a user may have made the very data, and draws that repeat them show patterns that no
    # model has.
    if isinstance(rng, np.random.Generator):
        return rng
    if rng is None:
        return np.random.default_rng(np.random.SeedSequence(0, spawn_key=(_OWN,)))
    if isinstance(rng, bool) or not isinstance(rng, (int, np.integer)) or rng < 0:
        raise SpecError(f"rng={rng!r}: must be None, a whole number of at least 0, or a numpy Generator.")
    return np.random.default_rng(int(rng))


def random_points(rng: int | np.random.Generator | None, n: int) -> Array:
    """Uniform numbers (n,) for randomised residuals; of a seed none that ``default_rng(seed)`` draws."""
    stream = rng if isinstance(rng, np.random.Generator) else generator(rng).spawn(1)[0]
    return stream.uniform(size=n)


def open_uniform(stream: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Uniform numbers strictly between 0 and 1, whose quantiles are finite under every distribution."""
    return np.maximum(stream.random(shape), _LEAST)


_CONSTANT = 1e-10
_FEWEST = 5
_TINY = float(np.log(np.finfo(np.float64).tiny))
_CHUNK = 128


class SmoothedWeights(NamedTuple):
    """Normalised log weights (n, S), and shapes k (n,): ``-inf`` of equal weights, ``inf`` of a tail too short."""

    log_weight: Array
    k: Array


def tail_length(draws: int) -> int:
    """How many of the largest weights are smoothed: at most a fifth, and about three times the root of their number."""
    return int(np.ceil(min(draws / 5.0, 3.0 * draws**0.5)))


def good_shape(draws: int) -> float:
    """The shape above which averages over so many draws are not to be trusted: Vehtari et al. (2024), section 3.2.4."""
    return min(1.0 - 1.0 / float(np.log10(max(draws, 2))), 0.7)


def smooth(log_ratio: Array) -> SmoothedWeights:
    """Smooth the largest of the importance weights in each row, (n, S)."""
    n, S = log_ratio.shape
    x = log_ratio - log_ratio.max(axis=1, keepdims=True)
    k = np.full(n, -np.inf)
    varies = np.flatnonzero(x.min(axis=1) < -_CONSTANT)
    for start in range(0, len(varies), _CHUNK):
        rows = varies[start : start + _CHUNK]
        k[rows] = _smooth_tails(x, rows, min(tail_length(S), S - 1))
    x -= np.log(np.exp(x).sum(axis=1, keepdims=True))
    return SmoothedWeights(x, k)


def _smooth_tails(x: Array, rows: IntArray, length: int) -> Array:
    """Put smoothed log weights into some rows of x, whose largest are 0; their shapes."""
    part = x[rows]
    order = np.argpartition(part, -length - 1, axis=1)[:, -length - 1 :]
    order = np.take_along_axis(order, np.take_along_axis(part, order, axis=1).argsort(axis=1), axis=1)
    top = np.take_along_axis(part, order, axis=1)
    cutoff = np.maximum(top[:, :1], _TINY)
    sizes = (top > cutoff).sum(axis=1)
    k = np.full(len(rows), np.inf)
    for size in np.unique(sizes[sizes >= _FEWEST]):
        at = np.flatnonzero(sizes == size)
        base = np.exp(cutoff[at])
        k[at], s = fit_pareto(np.exp(top[at, -size:]) - base)
        # Quantiles s {(1 - p)^-k - 1} / k.
        expected = base - s[:, None] * boxcox1p(-(np.arange(size) + 0.5) / size, -k[at, None])
        place = (rows[at][:, None], order[at, -size:])
        x[place] = np.minimum(np.log(expected), 0.0)
    return k


def fit_pareto(x: Array) -> tuple[Array, Array]:
    """Shapes k and scales s, (n,) each, of generalised Pareto distributions of rows of ascending values, (n, m)."""
    # The posterior mean of b = -k/s on a grid of quantiles of its prior, and k given that, drawn towards 1/2 with the
    # weight of ten values.
    m = x.shape[1]
    points = 30 + int(np.sqrt(m))
    quartile = np.maximum(x[:, int(m / 4 + 0.5) - 1], np.finfo(np.float64).tiny)
    grid = 1.0 - np.sqrt(points / (np.arange(points) + 0.5))
    b = grid / (3.0 * quartile[:, None]) + 1.0 / x[:, -1:]
    shape = np.stack([np.log1p(-column[:, None] * x).mean(axis=1) for column in b.T], axis=1)
    exponential = 1.0 / x.mean(axis=1, keepdims=True)  # the rate -b / k as b goes to 0
    rate = np.divide(-b, shape, out=np.broadcast_to(exponential, b.shape).copy(), where=shape != 0.0)
    log_likelihood = m * (np.log(rate) - shape - 1.0)
    weight = np.exp(log_likelihood - log_likelihood.max(axis=1, keepdims=True))
    centre = (weight * b).sum(axis=1) / weight.sum(axis=1)
    k = np.log1p(-centre[:, None] * x).mean(axis=1)
    return (m * k + 5.0) / (m + 10.0), -k / centre


HEAVY = 1e4  # weights that many times others, or 1, are named where a computation breaks down


def words_for_heavy(weight: Array) -> str | None:
    """What to say of weights (n,) where a computation broke down; None where they look innocent."""
    least, most = float(weight.min(initial=np.inf)), float(weight.max(initial=0.0))
    if most <= HEAVY * min(least, 1.0):
        return None
    apart = f"which go from {least:g} to {most:g}" if most > least else f"which are {most:g}"
    return f"the weights, {apart}: a weight counts how many rows like this one were seen"


Rng = int | np.random.Generator | None
