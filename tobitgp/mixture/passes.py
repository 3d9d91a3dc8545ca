"""A pass over the rows: responsibilities, and the sums that updates need, chunk by chunk.

Arrays are (K, rows of a chunk), small enough to stay in cache; nothing of that shape outlives its chunk.
(MIX4) and (EM2) of the theory pages.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from tobitgp.engines import add_up, row_chunks
from tobitgp.mixture.family import Family, Sums, Terms
from tobitgp.mixture.rows import Rows, Working
from tobitgp.typing import Array

CHUNK_ENTRIES = 24_576


def chunks_of(working: Working, k: int) -> list[Rows]:
    """Views of the rows in pieces of one kind."""
    size = max(256, CHUNK_ENTRIES // k)
    return [part[at] for part in working.parts for at in row_chunks(0, len(part), size)]


def sum_over(
    chunks: Iterable[Rows],
    family: Family,
    theta: Array,
    log_weight: Array,
    assign: np.random.Generator | None = None,
) -> Sums:
    """Sums of a pass.

    Shapes: theta (D, K), log_weight (K,).
    """

    def one(rows: Rows) -> tuple[float, Array, Array]:
        terms = family.terms(rows, theta)
        log_norm, r = _responsibilities(terms.log_p, log_weight)
        if assign is not None:
            r = _drawn(r, assign)
        r *= rows.weight
        return float(log_norm @ rows.weight), r.sum(axis=1), _statistics(terms, r)

    with np.errstate(all="ignore"):
        sums = add_up(map(one, chunks))
    k = len(log_weight)
    return Sums(*sums) if sums else Sums(0.0, np.zeros(k), np.zeros((0, k)))


def sums_given(rows: Rows, r: Array, family: Family, theta: Array) -> Sums:
    """Sums at given responsibilities (K, n) in place of the model's own."""
    r = r * rows.weight
    return Sums(np.nan, r.sum(axis=1), _statistics(family.terms(rows, theta), r))


def probabilities(rows: Rows, family: Family, theta: Array, log_weight: Array) -> Array:
    """Responsibilities (K, n) of some rows."""
    with np.errstate(all="ignore"):
        return _responsibilities(family.terms(rows, theta).log_p, log_weight)[1]


def _responsibilities(log_p: Array, log_weight: Array) -> tuple[Array, Array]:
    """Log normalisers (n,) and responsibilities (K, n), in place of the log densities."""
    gamma = log_p
    gamma += log_weight[:, None]
    top = gamma.max(axis=0)
    gamma -= top
    np.exp(gamma, out=gamma)
    total = gamma.sum(axis=0)
    gamma /= total
    return top + np.log(total), gamma


def _drawn(r: Array, rng: np.random.Generator) -> Array:
    which = (np.cumsum(r, axis=0) < rng.random(r.shape[1])).sum(axis=0)
    drawn = np.zeros_like(r)
    drawn[np.minimum(which, len(r) - 1), np.arange(r.shape[1])] = 1.0
    return drawn


def _statistics(terms: Terms, r: Array) -> Array:
    return np.stack([r @ t if t.ndim == 1 else np.einsum("kn,kn->k", r, t) for t in terms.statistics])
