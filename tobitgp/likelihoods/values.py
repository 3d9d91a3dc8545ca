"""Log likelihood of rows, each at many locations and scales; values alone, for draws from a posterior."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from tobitgp.data.outcome import Outcome
from tobitgp.distributions.base import Distribution
from tobitgp.likelihoods.rows import KINDS, Kind, Terms, kind_of, mass_terms, row_terms
from tobitgp.typing import Array


def log_likelihoods(law: Distribution, known: Outcome, f: Array, tau: Array) -> Array:
    """Log likelihood of one copy of each row: a density where the value is known, a probability elsewhere.

    That of a truncated row is conditional on its window. On log time the density is that of the logarithm.

    Shapes: f (n, S); gives (n, S).
    """
    tau = np.broadcast_to(tau, f.shape)
    codes = kind_of(known.lower, known.upper)
    out = np.empty(f.shape)
    for code in np.unique(codes):
        at = np.flatnonzero(codes == code)
        ends = (known.lower[at], known.upper[at], known.width[at])
        out[at] = _values(law, KINDS[code], *ends, f[at], tau[at])
    seen = np.flatnonzero(np.isfinite(known.entry) | np.isfinite(known.exit))
    if len(seen):
        ends = (known.entry[seen], known.exit[seen], known.span[seen])
        out[seen] -= _flat(partial(mass_terms, law), *ends, f[seen], tau[seen])
    return out


def _values(law: Distribution, kind: Kind, lower: Array, upper: Array, width: Array, f: Array, tau: Array) -> Array:
    if kind == "interval":
        return _flat(partial(row_terms, law, kind), lower, upper, width, f, tau)
    if kind == "open":
        return np.zeros(f.shape)
    end = upper if kind == "left" else lower
    z = (end[:, None] - f) * np.exp(-tau)
    if kind == "exact":
        return law.log_density(z, 0)[0] - tau
    return law.log_cdf(z) if kind == "left" else law.log_sf(z)


def _flat(terms: Callable[..., Terms], lower: Array, upper: Array, width: Array, f: Array, tau: Array) -> Array:
    """Values of a function that takes one location a row."""
    repeated = (np.repeat(end, f.shape[1]) for end in (lower, upper, width))
    return terms(*repeated, f.ravel(), tau.ravel()).value.reshape(f.shape)
