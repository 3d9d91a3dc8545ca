"""The bound of a mixture, shared out among its rows."""

from __future__ import annotations

import numpy as np

from tobitgp.engines import row_chunks
from tobitgp.mixture.arranged_rows import arrange, log_factors, read_rows, windows_of
from tobitgp.mixture.coordinate_ascent import log_normalisers
from tobitgp.mixture.fitted_mixture import Mixture
from tobitgp.mixture.unseen_values import log_seen_share
from tobitgp.typing import Array

_CHUNK = 8192


def bound_of_rows(
    mixture: Mixture, lower: Array, upper: Array, weight: Array, window: tuple[Array, Array] | None = None
) -> Array:
    """Shares (n,) of the training rows in the bound, each with its part of the divergences by weight; (SVB6)."""
    family, units, out = mixture.model.family, mixture.units, np.zeros(len(lower))
    raw = read_rows(family, lower, upper, weight, window=window)
    theta, log_weight, penalty = mixture.model.view(mixture.state)
    parts = arrange(family, raw, units, collapse=False, ties=mixture.model.adapts).parts
    of_row = np.empty(len(raw.lower))
    for part, at in zip(parts, filter(len, raw.of_kinds()), strict=True):
        for rows in row_chunks(0, len(part), _CHUNK):
            of_row[at[rows]] = log_normalisers(part[rows], family, theta, log_weight)
        if part.kind == "exact":
            of_row[at] += log_factors(family, raw.lower[at], units)
    windows = windows_of(family, raw, units, collapse=False)
    if windows is not None:
        there = np.isfinite(raw.entry) | np.isfinite(raw.exit)
        with np.errstate(all="ignore"):
            of_row[there] -= log_seen_share(windows, family.terms, theta, log_weight)
    out[raw.position] = raw.weight * (of_row - penalty / raw.weight.sum())
    return out
