"""Where ascents start: k-means++ on imputed values, and random responsibilities."""

from __future__ import annotations

import numpy as np

from tobitgp.mixture.family import Family, Sums
from tobitgp.mixture.model import Model, State
from tobitgp.mixture.passes import sums_given
from tobitgp.mixture.rows import Rows, Working, subset
from tobitgp.numerics.brackets import known_range, telling_ends
from tobitgp.typing import Array, IntArray

_MOST_ROWS = 10_000
_RANDOM_EVERY = 5
_SURE = 0.9
_LLOYD = 3


def starts(model: Model, working: Working, k: int, number: int, rng: np.random.Generator) -> list[State]:
    """Some states, four of five from k-means++, the others from random responsibilities.

    Parameters
    ----------
    model : Model
    working : Working
    k : int
    number : int
        How many; one suffices for k = 1.
    rng : Generator

    Returns
    -------
    list of State
    """
    some = subset(working, _MOST_ROWS)
    out = []
    for i in range(number if k > 1 else 1):
        rows = imputed(model.family, some, rng)
        if i % _RANDOM_EVERY == _RANDOM_EVERY - 1:
            r = rng.dirichlet(np.ones(k), size=len(rows)).T
        else:
            r = _smooth(nearest_centre(model.family.spread(rows.upper), rows.weight, k, rng), k)
        theta = model.family.reference(k)
        with np.errstate(all="ignore"):
            sums = sums_given(rows, r, model.family, theta)
            out.append(model.first(theta, Sums(*sums)))
    return out


def imputed(family: Family, working: Working, rng: np.random.Generator) -> Rows:
    """One exact row for each, a plausible value standing for what is censored.

    Half a standard deviation beyond a limit in the mean, at random; the middle of an interval.
    """
    lower, upper, width, weight = (
        np.concatenate([getattr(part, name) for part in working.parts])
        for name in ("lower", "upper", "width", "weight")
    )
    lower, upper = telling_ends(lower, upper, *known_range(lower, upper))
    low, high = np.isfinite(lower), np.isfinite(upper)
    both = low & high
    known = 0.5 * (lower[both] + upper[both])
    beyond = 0.5 * float(known.std()) if len(known) > 1 and known.std() > 0.0 else 0.5
    away = beyond * rng.exponential(size=len(lower))
    y = np.zeros(len(lower))  # the centre, of rows that say nothing
    y[both] = lower[both] + 0.5 * width[both]
    right, left = low & ~high, high & ~low
    y[right] = lower[right] + away[right]
    unbounded = family.support == "real" or family.logarithm
    y[left] = upper[left] - away[left] if unbounded else upper[left] * rng.random(int(left.sum()))
    return Rows("exact", y, y, np.zeros_like(y), weight)


def nearest_centre(values: Array, weight: Array, k: int, rng: np.random.Generator) -> IntArray:
    """Centres drawn by k-means++, then moved a few times; the number of the nearest for each value, (n,).

    Examples
    --------
    >>> values = np.array([0.0, 0.1, 9.0, 9.1])
    >>> label = nearest_centre(values, np.ones(4), 2, np.random.default_rng(0))
    >>> print(label[0] == label[1], label[2] == label[3], label[0] == label[2])
    True True False
    """
    centres = values[[rng.choice(len(values), p=weight / weight.sum())]]
    square = (values - centres[0]) ** 2
    while len(centres) < k:
        chance = weight * square
        total = chance.sum()
        chosen = rng.choice(len(values), p=chance / total) if total > 0.0 else rng.integers(len(values))
        centres = np.append(centres, values[chosen])
        square = np.minimum(square, (values - values[chosen]) ** 2)
    for _ in range(_LLOYD):
        centres = np.sort(centres)
        label = np.searchsorted(0.5 * (centres[1:] + centres[:-1]), values)
        size = np.bincount(label, weights=weight, minlength=k)
        sums = np.bincount(label, weights=weight * values, minlength=k)
        centres = np.where(size > 0.0, sums / np.maximum(size, 1e-300), centres)
    return label


def _smooth(label: IntArray, k: int) -> Array:
    r = np.full((k, len(label)), (1.0 - _SURE) / k)
    r[label, np.arange(len(label))] += _SURE
    return r
