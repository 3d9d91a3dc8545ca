"""Location and scale of the rows, taken away inside so that units do not matter."""

from __future__ import annotations

import numpy as np

from tobitgp.mixture.rows import Raw, Scaled, Units, to_working
from tobitgp.typing import Array


def choose_units(family: Scaled, raw: Raw) -> Units:
    """Location and scale of the rows, limits and midpoints standing for what is censored.

    Returns
    -------
    Units
        Mean and standard deviation, of logarithms where those are modelled; the median of times.
    """
    if family.free_of == "nothing" or not len(raw.lower):
        return Units()
    values, weight = crude_values(family, raw)
    if family.free_of == "scale":
        order = np.argsort(values)
        middle = values[order][np.searchsorted(np.cumsum(weight[order]), 0.5 * weight.sum())]
        return Units(float(middle), 1.0) if family.logarithm else Units(0.0, float(middle) if middle > 0.0 else 1.0)
    centre = float(np.average(values, weights=weight))
    spread = float(np.sqrt(np.average((values - centre) ** 2, weights=weight)))
    return Units(centre, spread if spread > 1e-12 * abs(centre) else 1.0)


def crude_values(family: Scaled, raw: Raw) -> tuple[Array, Array]:
    """One value a row, (n,), on the scale of Units, and the rows' weights.

    Limits far beyond everything else say little, and are drawn in.
    """
    lower, upper, _ = to_working(family, raw, Units())
    two_sided = np.isfinite(lower) & np.isfinite(upper)
    values = np.where(two_sided, 0.5 * lower + 0.5 * upper, np.where(np.isfinite(lower), lower, upper))
    inside = values[two_sided]
    if len(inside) > 1 and inside.max() > inside.min():
        span = inside.max() - inside.min()
        values = np.clip(values, inside.min() - span, inside.max() + span)
    return values, raw.weight
