"""What the rows of a posterior say, brought together: row by row where they lie in this process, or summed."""

from __future__ import annotations

import numpy as np

from tobitgp.engines import LocalPieces
from tobitgp.inference.partitioned import Sites
from tobitgp.inference.posterior import NO_SITES, Posterior
from tobitgp.inference.site_updates import final_moments, final_sites, unexplained
from tobitgp.typing import Array

COARSE = 1.0  # nats that basis functions may leave without a warning
Pairs = list[tuple[tuple[int, ...], tuple[Array, Array]]]


def sites_of(posterior: Posterior) -> Sites:
    """Sites in the problem's order; none of rows that lie elsewhere."""
    if not isinstance(posterior.rows, LocalPieces):
        return NO_SITES
    return Sites(*_in_order(posterior.rows.collect(final_sites)))


def precisions_of(posterior: Posterior) -> Array:
    """Site precisions (n,) in the problem's order, none of them negative."""
    return np.maximum(sites_of(posterior).lambda2, 0.0)


def nats_left(posterior: Posterior) -> float:
    """``1/2 sum lambda2 d`` over the rows whose sites hold information, wherever they lie."""
    return sum(posterior.rows.collect(unexplained))


def moments_of(posterior: Posterior) -> tuple[Array, Array]:
    """Mean and variance (n,) of f in the rows, in the problem's order."""
    return _in_order(posterior.rows.collect(final_moments, posterior.q))


def _in_order(parts: Pairs) -> tuple[Array, Array]:
    """Values of all rows in the order of kinds, from those of each part with its number of rows of every kind."""
    first, second = (_join([(sizes, pair[i]) for sizes, pair in parts]) for i in (0, 1))
    return first, second


def _join(parts: list[tuple[tuple[int, ...], Array]]) -> Array:
    cuts = [np.split(values, np.cumsum(sizes)[:-1]) for sizes, values in parts]
    return np.concatenate([kind for kinds in zip(*cuts, strict=True) for kind in kinds])
