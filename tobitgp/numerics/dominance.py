"""How much weight of a sequence comes early and is small, for many questions at once."""

from __future__ import annotations

from typing import Any

import numpy as np

from tobitgp.typing import Array, IntArray


def mass_below(ranks: IntArray, weight: Array, first: IntArray, below: IntArray) -> Array:
    r"""Weight of the values below a bound among the first few of a sequence, :math:`\sum_{k < f,\, r_k < b} w_k`.

    The values are split by one binary digit at a time, the highest first, and keep their order within both halves (a
    wavelet matrix), so that a question visits one half of each split: n values and q questions cost :math:`(n + q) \log
    n`, in whole arrays.

    Shapes: ranks, weight (n,), first, below (q,); gives (q,). Claude, Navarro and Ordóñez (2015), The wavelet matrix,
    *Information Systems* 47, 15-32.
    """
    total = np.zeros(len(first))
    start, stop = np.zeros_like(first), first
    for bit in reversed(range(int(max(ranks.max(initial=0), below.max(initial=0))).bit_length())):
        small = (ranks >> bit) & 1 == 0
        count, mass = _sums(small.astype(np.intp)), _sums(weight * small)
        low, high = count[start], count[stop]
        over = (below >> bit) & 1 == 1
        total += np.where(over, mass[stop] - mass[start], 0.0)
        start = np.where(over, count[-1] + start - low, low)
        stop = np.where(over, count[-1] + stop - high, high)
        order = np.concatenate([np.flatnonzero(small), np.flatnonzero(~small)])
        ranks, weight = ranks[order], weight[order]
    return total


def _sums(values: Any) -> Any:
    """Sums of the first 0, 1, ..., n values."""
    out = np.zeros(len(values) + 1, dtype=values.dtype)
    np.cumsum(values, out=out[1:])
    return out
