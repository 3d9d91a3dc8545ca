r"""What windows kept from being seen: late entry and truncation of mixtures, (MIX26) to (MIX28) of the theory pages.

A row that could only be seen inside of a window stands for values that fell outside before one fell inside. Their
number is geometric. Given the parameters they are independent, so that they are latent variables like the components
and the values of censored rows.

References
----------
Dempster, Laird and Rubin (1977), Maximum likelihood from incomplete data via the EM algorithm, *Journal of the Royal
Statistical Society B* 39, 1-38, section 4.2. Lee and Scott (2012), EM algorithms for multivariate Gaussian mixture
models with truncated and censored data, *Computational Statistics & Data Analysis* 56, 2816-2829.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.special import logsumexp

from tobitgp.mixture.family import PlugInTerms
from tobitgp.mixture.mixture_rows import MixtureRowKind, MixtureRows
from tobitgp.typing import Array, BoolArray

_ROUNDING = 1e-15


def unseen_sums(
    windows: MixtureRows, terms_of: PlugInTerms, theta: Array, log_weight: Array
) -> tuple[float, Array, Array]:
    """What windows bring to the sums of a pass: of the objective, counts (K,) and statistics (S, K)."""
    log_seen = log_seen_share(windows, terms_of, theta, log_weight)
    log_norm, counts = -float(log_seen @ windows.weight), np.zeros(len(log_weight))
    statistics = np.zeros((0, len(log_weight)))
    sides: tuple[tuple[MixtureRowKind, Array], ...] = (("left", windows.lower), ("right", windows.upper))
    for kind, end in sides:
        at = np.flatnonzero(np.isfinite(end))
        if not len(at):
            continue
        terms = terms_of(_rows(kind, windows[at], end[at]), theta)
        r = np.exp(terms.log_p + log_weight[:, None] - log_seen[at]) * windows.weight[at]
        sums = np.stack([np.where(r > 0.0, r * one, 0.0).sum(axis=1) for one in terms.statistics])
        counts = counts + r.sum(axis=1)
        statistics = statistics + sums if len(statistics) else sums
    return log_norm, counts, statistics


def log_seen_share(windows: MixtureRows, terms_of: PlugInTerms, theta: Array, log_weight: Array) -> Array:
    """Logarithms (n,) of 1 - G in (MIX27), each from probabilities inside of the window."""
    entry, exit = np.isfinite(windows.lower), np.isfinite(windows.upper)
    log_inside = np.empty((len(log_weight), len(windows)))
    kinds: tuple[tuple[MixtureRowKind, BoolArray, Array], ...] = (
        ("right", entry & ~exit, windows.lower),
        ("left", exit & ~entry, windows.upper),
        ("interval", entry & exit, windows.lower),
    )
    for kind, which, end in kinds:
        at = np.flatnonzero(which)
        if len(at):
            log_inside[:, at] = terms_of(_rows(kind, windows[at], end[at]), theta).log_p
    rest = -np.expm1(min(float(logsumexp(log_weight)), 0.0))
    log_rest = np.log(rest) if rest > _ROUNDING else -np.inf
    return np.logaddexp(log_rest, logsumexp(log_inside + log_weight[:, None], axis=0))


def _rows(kind: MixtureRowKind, windows: MixtureRows, end: Array) -> MixtureRows:
    """Rows censored at an end of each window, or to the window itself."""
    if kind == "interval":
        return replace(windows, kind=kind)
    open_end, width = np.full_like(end, np.inf), np.full_like(end, np.inf)
    lower, upper = (-open_end, end) if kind == "left" else (end, open_end)
    return MixtureRows(kind, lower, upper, width, windows.weight)
