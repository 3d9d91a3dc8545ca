"""Whether a row does not fit the others, by what it owes to having been seen; (CHK16) of the theory pages."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.special import ndtr

from tobitgp.results.trust.findings import RawTest
from tobitgp.typing import Array

_HALVINGS = 60
_LARGE = 1.0  # nat


def influence(scores: Array, p: pd.Series[float], total: float) -> RawTest:
    """Largest leave-one-out residual of n rows, by Bonferroni's test of outliers.

    Shapes: scores (n,).
    """
    owed = np.asarray(p, dtype=np.float64)
    size = left_out_size(scores, owed)
    at, most = int(np.argmax(size)), int(np.argmax(owed))
    return RawTest(
        "influence",
        float(size[at]),
        float(min(2.0 * total * ndtr(-size[at]), 1.0)),
        bool(owed[at] > _LARGE),
        f"no row is out of line with the others (the most that one changes its own prediction by is {owed[most]:.2g} "
        f"nat: row {p.index[most]})",
        f"row {p.index[at]} is {size[at]:.1f} standard deviations from what the others predict, and changes its own "
        f"prediction by {owed[at]:.2g} nat",
        "Look at it.",
    )


def left_out_size(scores: Array, owed: Array) -> Array:
    r"""Size of the residuals against predictions without their row, (n,).

    In a Gaussian model a row of leverage h and leave-one-out residual t has the residual :math:`r^2 = t^2 (1 - h) / (1
    + h)` and adds :math:`r^2 h / (1 - h) - \log(1 - h^2) / 2` nats to its log predictive density: that gives h.
    """
    squares = np.square(scores)
    low, high = np.zeros(len(scores)), np.ones(len(scores))
    for _ in range(_HALVINGS):
        h = 0.5 * (low + high)
        above = squares * h / (1.0 - h) - 0.5 * np.log1p(-(h**2)) > owed
        low, high = np.where(above, low, h), np.where(above, h, high)
    return np.sqrt(squares * (1.0 + low) / (1.0 - low))
