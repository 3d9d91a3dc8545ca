"""How far apart neighbouring inputs are: what the rows can show of short length-scales where they are dense."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from tobitgp.priors.kernel_block import GPPrior
from tobitgp.typing import Array, IntArray

FEW_DISTINCT = 4
NEIGHBOUR = 3  # of the distinct inputs in the same group
ORDERS = (0.1, 0.5, 0.9)  # of quantiles over rows
LENGTHS = 0.5  # distances to that neighbour in the shortest length-scale that is looked for
STARTS = 2.0  # distances to it in the length-scales from which a search starts
UNEVEN = 0.5  # distance to that neighbour, as a share of that of even inputs, below which half of the rows are dense
_ASKED, _ASKED_OF_MANY, _MANY = 4000, 500, 3  # rows, the fewer beside more inputs than that
_DIGITS = 9


class Spacing(NamedTuple):
    """Distances of neighbours among some inputs."""

    third: Array  # (3,), quantiles over rows of the distance to the third distinct neighbour
    least: float  # the least positive distance
    even: float  # distance to the third neighbour, were the inputs spread evenly over their range

    @property
    def shortest(self) -> float:
        """The shortest length-scale that rows can show where they are dense."""
        return max(LENGTHS * float(self.third[0]), self.least)

    @property
    def uneven(self) -> bool:
        """Whether half of the rows have neighbours much nearer than the range tells."""
        return bool(self.third[1] < UNEVEN * self.even)


def spacing(X: Array, code: IntArray | None = None) -> Spacing | None:
    """Distances of neighbours among inputs (n, d), in groups (n,) where there are any; None of fewer than four."""
    n, d = X.shape
    extent = np.ptp(X, axis=0) if n else np.zeros(d)
    apart = np.zeros(n) if code is None else (1.0 + 2.0 * float(extent.sum())) * code
    points, counts = np.unique(np.column_stack([X, apart]).round(_DIGITS), axis=0, return_counts=True)
    if len(points) < FEW_DISTINCT:
        return None
    most = _ASKED if d <= _MANY else _ASKED_OF_MANY
    asked = np.linspace(0, len(points) - 1, min(len(points), most)).astype(np.intp)
    from scipy.spatial import cKDTree

    found = np.asarray(cKDTree(points).query(points[asked], k=NEIGHBOUR + 1)[0])
    third = np.quantile(np.repeat(found[:, NEIGHBOUR], counts[asked]), ORDERS)
    sides = extent[extent > 0.0]
    per_group = max(len(points) / (1 if code is None else len(np.unique(code))), 1.0)
    even = (
        NEIGHBOUR / 2.0 * float(np.exp(np.log(sides).mean())) * per_group ** (-1.0 / len(sides)) if len(sides) else 0.0
    )
    return Spacing(third, float(found[:, 1].min()), even)


def spacing_of(gp: GPPrior) -> Spacing | None:
    """That of the inputs of a process with a single kernel that has length-scales; None of another."""
    factors = gp.covariance.factors
    if len(factors) != 1 or not factors[0].n_scales:
        return None
    return spacing(gp.inputs.X, gp.inputs.code)


def is_uneven(gp: GPPrior) -> bool:
    """Whether the inputs of a process are dense in places."""
    found = spacing_of(gp)
    return found is not None and found.uneven


def log_scales(gps: Sequence[GPPrior], size: int) -> list[Array]:
    """Log length-scales to start from where inputs are uneven, (size,) among all parameters, NaN elsewhere."""
    spread = [spacing_of(gp) for gp in gps]
    if not any(found is not None and found.uneven for found in spread):
        return []
    out = np.full((len(ORDERS), size), np.nan)
    first = 0
    for gp, found in zip(gps, spread, strict=True):
        if found is not None and found.uneven:
            factor, at = gp.covariance.places[0]
            start = first + 1 + at.start
            out[:, start : start + factor.n_scales] = np.log(STARTS * found.third)[:, None]
        first += gp.n_parameters
    return list(out)
