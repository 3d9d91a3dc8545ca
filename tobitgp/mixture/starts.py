"""Where ascents start: k-means++ on imputed values, random responsibilities, and optima with a component moved.

References
----------
Ueda, Nakano, Ghahramani and Hinton (2000), SMEM algorithm for mixture models, *Neural Computation* 12, 2109-2128, and
Verbeek, Vlassis and Kröse (2003), Efficient greedy learning of Gaussian mixture models, *Neural Computation* 15,
469-485, whose new components stand for parts of the rows too.
"""

from __future__ import annotations

import numpy as np

from tobitgp.mixture.family import Family, Sums
from tobitgp.mixture.inside import draw_inside
from tobitgp.mixture.model import Model, State
from tobitgp.mixture.passes import probabilities, sums_given
from tobitgp.mixture.predictive import Predictive
from tobitgp.mixture.rows import Rows, Units, Working, subset
from tobitgp.numerics.censored_normal import known_range, telling_ends
from tobitgp.typing import Array, IntArray

_MOST_ROWS = 10_000
_RANDOM_EVERY = 5
_SURE = 0.9
_LLOYD = 3
_SHARES = (0.1, 0.5)  # of the rows, that a moved component takes
_ELSEWHERE = 0.01  # its share of all other rows, so that it does not close in on a few values
_EVENLY = (0.7548776662466927, 0.5698402909980532)  # steps whose multiples, modulo 1, fill the square


def starts(model: Model, working: Working, k: int, number: int, rng: np.random.Generator) -> list[State]:
    """Some states, four of five from k-means++, the others from random responsibilities."""
    some = subset(working, _MOST_ROWS)
    out = []
    for i in range(number if k > 1 else 1):
        rows = imputed(model.family, some, rng)
        if i % _RANDOM_EVERY == _RANDOM_EVERY - 1:
            r = rng.dirichlet(np.ones(k), size=len(rows)).T
        else:
            r = _smooth(nearest_centre(model.family.spread(rows.upper), rows.weight, k, rng), k)
        out.append(_state(model, rows, r, model.family.reference(k)))
    return out


def moved(model: Model, working: Working, state: State, number: int, rng: np.random.Generator) -> list[State]:
    """States beside an optimum: in each one component left its rows for some that lie next to each other.

    Components by turns take from 10 to 50% of the rows, in the order of values drawn from the fitted distribution given
    what is known of them; the others share the rest as before. So one may come to lie inside another, where starts that
    cut the rows into neighbouring groups do not lead.
    """
    theta, log_weight, _ = model.view(state)
    k, some = len(log_weight), subset(working, _MOST_ROWS)
    rows = _drawn(model.family, some, theta, log_weight, rng)
    now = np.concatenate([probabilities(part, model.family, theta, log_weight) for part in some.parts], axis=1)
    order = np.argsort(rows.upper)
    rank = np.empty(len(order))
    rank[order] = np.cumsum(rows.weight[order]) / rows.weight.sum()
    u, v = (rng.random((2, 1)) + np.outer(_EVENLY, np.arange(number))) % 1.0
    shares, out = _SHARES[0] ** (1.0 - u) * _SHARES[1] ** u, []
    for i, (share, at) in enumerate(zip(shares, 0.5 * shares + v * (1.0 - shares), strict=True)):
        taken = np.abs(rank - at) < 0.5 * share
        to = np.where(taken, _SURE, _ELSEWHERE)
        r = np.delete(now, i % k, axis=0)
        r *= (1.0 - to) / np.maximum(r.sum(axis=0), np.finfo(np.float64).tiny)
        out.append(_state(model, rows, np.insert(r, i % k, to, axis=0), theta))
    return [one for one in out if np.isfinite(one.components).all()]


def _state(model: Model, rows: Rows, r: Array, theta: Array) -> State:
    """The state to which responsibilities (k, n) of exact rows lead."""
    with np.errstate(all="ignore"):
        return model.first(theta, Sums(*sums_given(rows, r, model.family, theta)))


def _drawn(family: Family, working: Working, theta: Array, log_weight: Array, rng: np.random.Generator) -> Rows:
    """One exact row for each, a value drawn from a fitted distribution standing for what is censored."""
    lower, upper, weight = (
        np.concatenate([getattr(part, name) for part in working.parts]) for name in ("lower", "upper", "weight")
    )
    share = np.exp(log_weight - log_weight.max())
    predictive = Predictive(share / share.sum(), family.point_law(theta, Units()))
    with np.errstate(all="ignore"):
        if family.logarithm:
            y = np.where(lower == upper, upper, np.log(draw_inside(predictive, np.exp(lower), np.exp(upper), rng)))
        else:
            y = draw_inside(predictive, lower, upper, rng)
    return Rows("exact", y, y, np.zeros_like(y), weight)


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
    """Centres drawn by k-means++, then moved a few times; the number of the nearest for each value, (n,)."""
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
