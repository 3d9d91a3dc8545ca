"""Where ascents start: k-means++ on imputed values, and random responsibilities."""

from __future__ import annotations

import numpy as np

from tobitgp.mixture.family import Family, Sums
from tobitgp.mixture.model import Model, State
from tobitgp.mixture.passes import sums_given
from tobitgp.mixture.rows import Rows, Working, subset
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
    two_sided = [0.5 * (part.lower + part.upper) for part in working.parts if part.kind in ("exact", "interval")]
    known = np.concatenate([np.zeros(0), *two_sided])
    beyond = 0.5 * float(known.std()) if len(known) > 1 and known.std() > 0.0 else 0.5
    values, weights = [], []
    for part in working.parts:
        away = beyond * rng.exponential(size=len(part))
        if part.kind == "exact":
            values.append(part.upper)
        elif part.kind == "interval":
            values.append(part.lower + 0.5 * part.width)
        elif part.kind == "right":
            values.append(part.lower + away)
        elif family.support == "real" or family.logarithm:
            values.append(part.upper - away)
        else:
            values.append(part.upper * rng.random(len(part)))
        weights.append(part.weight)
    y = np.concatenate(values)
    return Rows("exact", y, y, np.zeros_like(y), np.concatenate(weights))


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
