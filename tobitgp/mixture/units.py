"""Location and scale of the rows, taken away inside so that units do not matter."""

from __future__ import annotations

import numpy as np

from tobitgp.errors import DataError
from tobitgp.mixture.ascent import Stop, climb
from tobitgp.mixture.family import Family
from tobitgp.mixture.model import Points
from tobitgp.mixture.passes import chunks_of
from tobitgp.mixture.rows import Raw, Units, arrange, subset, to_working
from tobitgp.mixture.starts import starts
from tobitgp.numerics.censored_normal import known_range, telling_ends
from tobitgp.typing import Array

_ROWS, _PASSES, _FLOOR, _GAIN = 5000, 200, 1e-6, 1e-5
_FARTHEST = 100.0
_LEAST, _LARGEST = 1e-153, 1e140  # whose squares are numbers still


def choose_units(family: Family, raw: Raw) -> Units:
    """Location and scale of what is behind the rows.

    Mean and standard deviation, of logarithms where those are modelled, or the median of times. Where rows are censored
    they are those of one component fitted by maximum likelihood, since limits alone lie too close together; if that
    leads far away, limits and midpoints stand for what is censored after all.
    """
    if family.free_of == "nothing":
        return Units()
    crude = _crude_units(family, raw)
    if not ((raw.lower != raw.upper) & np.isfinite(raw.lower + raw.upper)).any() and not (
        (raw.lower == raw.upper).any() and (raw.lower != raw.upper).any()
    ):
        return crude
    return _of_one_component(family, raw, crude)


def _of_one_component(family: Family, raw: Raw, crude: Units) -> Units:
    model, working = Points(family, 1, _FLOOR), subset(arrange(family, raw, crude), _ROWS)
    start = starts(model, working, 1, 1, np.random.default_rng(0))[0]
    with np.errstate(all="ignore"):
        theta = climb(model, chunks_of(working, 1), start, Stop(_GAIN * working.total, _PASSES)).state.components[:, 0]
    if family.free_of == "location and scale":
        shift, ratio = theta[0], np.exp(theta[1])
    else:
        middle = family.point_law(theta[:, None], Units()).quantile(np.array([0.5]))[0, 0]
        shift, ratio = (np.log(middle), 1.0) if family.logarithm else (0.0, middle)
    if not (abs(shift) < _FARTHEST and 1.0 / _FARTHEST < ratio < _FARTHEST):
        return crude
    return Units(float(crude.shift + crude.scale * shift), float(crude.scale * ratio))


def _crude_units(family: Family, raw: Raw) -> Units:
    """Location and scale of limits, midpoints and values."""
    values, weight = crude_values(family, raw)
    if family.free_of == "scale":
        order = np.argsort(values)
        middle = values[order][np.searchsorted(np.cumsum(weight[order]), 0.5 * weight.sum())]
        with np.errstate(over="ignore"):
            _refuse_size(np.exp(middle) if family.logarithm else middle, 1.0 / _LARGEST)
        return Units(float(middle), 1.0) if family.logarithm else Units(0.0, float(middle) if middle > 0.0 else 1.0)
    _refuse_size(float(np.abs(values).max()), _LEAST)
    centre = float(np.average(values, weights=weight))
    spread = float(np.sqrt(np.average((values - centre) ** 2, weights=weight)))
    return Units(centre, spread if spread > 1e-12 * abs(centre) else 1.0)


def _refuse_size(size: float, least: float) -> None:
    """Refuse responses of a size whose square, or that of whose inverse where rates are estimated, is no number."""
    if size > _LARGEST or 0.0 < size < least:
        raise DataError(f"The size of the response is {size:.3g}; express it in units in which it is nearer to 1.")


def crude_values(family: Family, raw: Raw) -> tuple[Array, Array]:
    """One value a row, (n,), on the scale of Units, and the rows' weights.

    Ends far beyond everything else say nothing; limits that stand alone and far are drawn in.
    """
    lower, upper, _ = to_working(family, raw, Units())
    bottom, top = known_range(lower, upper)
    lower, upper = telling_ends(lower, upper, bottom, top)
    low, high = np.isfinite(lower), np.isfinite(upper)
    values = np.where(low, lower, np.where(high, upper, 0.5 * bottom + 0.5 * top))
    both = low & high
    values[both] = 0.5 * lower[both] + 0.5 * upper[both]
    inside = values[both]
    if len(inside) > 1 and inside.max() > inside.min():
        span = inside.max() - inside.min()
        values = np.clip(values, inside.min() - span, inside.max() + span)
    return values, raw.weight
