"""The levels of processes that linear columns hold as well: found once a fit has ended, as (FEA10) has them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from tobitgp.engines import add_up
from tobitgp.inference.passes import level_sums
from tobitgp.inference.posterior import NO_LEVEL, Posterior
from tobitgp.inference.prior import Prior
from tobitgp.typing import Array

_SPANNED = 1e-9  # of the squared length of an indicator


def with_levels(posterior: Posterior, prior: Prior) -> Posterior:
    """The posterior with the levels of processes, and how the linear columns hold them, while its rows are at hand."""
    levels = [NO_LEVEL] * len(posterior.blocks)
    blocks = sorted(prior.with_levels)
    if prior.linear is not None and blocks:
        p = prior.linear.X.shape[1]
        gram, *sums = add_up(posterior.rows.collect(level_sums, blocks, p))
        for t, total in zip(blocks, sums, strict=True):
            levels[t] = _level(gram, total[:, :p], total[:, p:-1], total[:, -1])
    return replace(posterior, levels=tuple(levels))


def _level(gram: Array, linear: Array, own: Array, weight: Array) -> tuple[Array, Array]:
    """Mean features (L, m) over the rows of each level, and the weights (L, p) whose columns add up to its indicator.

    Both are zero where no linear columns do: that level is the process's own.
    """
    size = np.sqrt(np.where(np.diag(gram) > 0.0, np.diag(gram), 1.0))
    scaled = gram / size / size[:, None] + np.diag(np.where(np.diag(gram) > 0.0, 0.0, 1.0))  # 0: a fixed coefficient
    share = np.linalg.solve(scaled, (linear / size).T).T / size
    held = weight - np.einsum("lp,lp->l", share, linear) <= _SPANNED * weight
    mean = own / np.where(weight > 0.0, weight, 1.0)[:, None]
    return (np.where(held[:, None], mean, 0.0), np.where(held[:, None], share, 0.0)) if held.any() else NO_LEVEL
