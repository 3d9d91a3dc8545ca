"""Known coefficients become offsets."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tobitgp.typing import Array, BoolArray


@dataclass(frozen=True, slots=True)
class Designs:
    """Designs split into what is estimated and what is known."""

    H: Array  # (n, p), columns whose coefficients are estimated
    W: Array  # (n, p), columns whose coefficients are estimated
    offset: Array  # (n,), the rest, known coefficients included
    tau_offset: Array  # (n,), the rest, known coefficients included
    coefficients: Array  # of all columns; NaN where they are estimated
    gamma: Array  # of all columns; NaN where they are estimated
    free_H: BoolArray  # where they are estimated
    free_W: BoolArray  # where they are estimated


def split(
    H: Array, W: Array, offset: Array, tau_offset: Array, coefficients: Array | None, gamma: Array | None
) -> Designs:
    """Move known coefficients, those that are not NaN, into the offsets."""
    beta = np.full(H.shape[1], np.nan) if coefficients is None else np.array(coefficients, dtype=np.float64)
    known = np.full(W.shape[1], np.nan) if gamma is None else np.array(gamma, dtype=np.float64)
    free_H, free_W = np.isnan(beta), np.isnan(known)
    if not free_H.all():
        offset = offset + H[:, ~free_H] @ beta[~free_H]
        H = H[:, free_H]
    if not free_W.all():
        tau_offset = tau_offset + W[:, ~free_W] @ known[~free_W]
        W = W[:, free_W]
    return Designs(H, W, offset, tau_offset, beta, known, free_H, free_W)
