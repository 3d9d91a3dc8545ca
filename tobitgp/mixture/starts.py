"""Where ascents start: standardised rows, k-means++ on imputed values, random responsibilities, and moved components.

References
----------
Verbeek, Vlassis and Kröse (2003), Efficient greedy learning of Gaussian mixture models, *Neural Computation* 15,
469-485, whose new components take parts of the rows too.
Hughes and Sudderth (2013), Memoized online variational inference for Dirichlet process mixture models, NIPS, whose
deletion of components is tried here on all rows at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from tobitgp.errors import DataError
from tobitgp.mixture.arranged_rows import arrange, subset, to_working
from tobitgp.mixture.coordinate_ascent import Ascended, Stop, chunks_of, climb, probabilities, sums_given
from tobitgp.mixture.evidence_bound import Bayes, MixtureState, Points, PosteriorModel
from tobitgp.mixture.family import MixtureFamily, Sums
from tobitgp.mixture.mixture_rows import MixtureRows, MixtureUnits, Raw, WorkingRows
from tobitgp.mixture.predictive import Predictive, draw_between
from tobitgp.numerics.normal_functions import known_range, telling_ends
from tobitgp.typing import Array, BoolArray, IntArray

_HELD = 1e-3  # expected rows of a component that is worth a trial
_UNIT_ROWS, _UNIT_PASSES, _UNIT_FLOOR, _UNIT_GAIN = 5000, 200, 1e-3, 1e-5
_FARTHEST = 100.0
_LEAST, _LARGEST = 1e-153, 1e140  # whose squares are numbers still
_MOST_ROWS = 10_000
_RANDOM_EVERY = 5
_SURE = 0.9
_BESIDE = 1e-3  # share of what lies beyond a cut
_LLOYD = 3
_SHARES = (0.1, 0.5)  # of the rows, that a moved component takes
_FEWEST_SHARE = 0.02  # the same by maximum likelihood, which has no prior against few rows
_RUNS, _SHORTEST = (3, 5, 9, 16), 1e-6  # rows next to each other that a component may take
_ELSEWHERE = 0.01  # its share of all other rows, so that it does not close in on a few values
_EVENLY = (0.7548776662466927, 0.5698402909980532)  # steps whose multiples, modulo 1, fill the square


def choose_units(family: MixtureFamily, raw: Raw) -> MixtureUnits:
    """Location and scale of what is behind the rows: where some are censored, those of one component fitted to them."""
    if family.free_of == "nothing":
        return MixtureUnits()
    crude, exact = _crude_units(family, raw), raw.lower == raw.upper
    between = ~exact & np.isfinite(raw.lower) & np.isfinite(raw.upper)
    if not (between.any() or (exact.any() and not exact.all())):
        return crude
    model, working = Points(family, 1, _UNIT_FLOOR), subset(arrange(family, raw, crude), _UNIT_ROWS)
    start = starts(model, working, 1, 1, np.random.default_rng(0))[0]
    stop = Stop(_UNIT_GAIN * working.total, _UNIT_PASSES)
    with np.errstate(all="ignore"):
        theta = climb(model, chunks_of(working, 1), start, stop).state.components
    if family.free_of == "location and scale":
        shift, ratio = theta[0, 0], np.exp(theta[1, 0])
    else:
        middle = family.distribution(theta, MixtureUnits()).ppf(np.array([0.5]))[0, 0]
        shift, ratio = (np.log(middle), 1.0) if family.logarithm else (0.0, middle)
    if not (abs(shift) < _FARTHEST and 1.0 / _FARTHEST < ratio < _FARTHEST):
        return crude
    return MixtureUnits(float(crude.shift + crude.scale * shift), float(crude.scale * ratio))


def _crude_units(family: MixtureFamily, raw: Raw) -> MixtureUnits:
    """Location and scale of limits, midpoints and values."""
    values, weight = crude_values(family, raw), raw.weight
    if family.free_of == "scale":
        order = np.argsort(values)
        middle = values[order][np.searchsorted(np.cumsum(weight[order]), 0.5 * weight.sum())]
        with np.errstate(over="ignore"):
            _refuse_size(np.exp(middle) if family.logarithm else middle, 1.0 / _LARGEST)
        return (
            MixtureUnits(float(middle), 1.0)
            if family.logarithm
            else MixtureUnits(0.0, float(middle) if middle > 0.0 else 1.0)
        )
    _refuse_size(float(np.abs(values).max()), _LEAST)
    centre = float(np.average(values, weights=weight))
    sd = float(np.sqrt(np.average((values - centre) ** 2, weights=weight)))
    return MixtureUnits(centre, sd if sd > 1e-12 * abs(centre) else 1.0)


def _refuse_size(size: float, least: float) -> None:
    """Raise an error for responses whose square, or that of their inverse for rates, is not a finite number."""
    if size > _LARGEST or 0.0 < size < least:
        raise DataError(f"The size of the response is {size:.3g}. Express it in units in which it is nearer to 1.")


def crude_values(family: MixtureFamily, raw: Raw) -> Array:
    """One value a row, (n,), on the scale of Units, far limits drawn in."""
    lower, upper, _ = to_working(family, raw, MixtureUnits())
    bottom, top = known_range(lower, upper)
    lower, upper = telling_ends(lower, upper, bottom, top)
    values, (both, _, _) = _middles(lower, upper, 0.5 * bottom + 0.5 * top)
    inside = values[both]
    if len(inside) > 1 and inside.max() > inside.min():
        span = inside.max() - inside.min()
        values = np.clip(values, inside.min() - span, inside.max() + span)
    return values


def _middles(lower: Array, upper: Array, centre: float) -> tuple[Array, list[BoolArray]]:
    """Midpoints or limits of rows, or a centre; and which rows have both ends, a lower one, and an upper one."""
    low, high = np.isfinite(lower), np.isfinite(upper)
    kinds = [low & high, low & ~high, high & ~low]
    with np.errstate(invalid="ignore"):
        return np.select(kinds, [0.5 * lower + 0.5 * upper, lower, upper], centre), kinds


def starts(
    model: PosteriorModel, working: WorkingRows, k: int, number: int, rng: np.random.Generator
) -> list[MixtureState]:
    """Some states, four of five from k-means++, the others from random responsibilities."""
    some = subset(working, _MOST_ROWS)
    out = []
    for i in range(number if k > 1 else 1):
        rows = imputed(model.family, some, rng)
        if i % _RANDOM_EVERY == _RANDOM_EVERY - 1:
            r = rng.dirichlet(np.ones(k), size=len(rows)).T
        else:
            label = nearest_centre(model.family.evenly(rows.upper), rows.weight, k, rng)
            r = (1.0 - _SURE) / k + _SURE * (label == np.arange(k)[:, None])
        out.append(_state(model, rows, r, model.family.reference(k)))
    return out


def cut(model: PosteriorModel, working: WorkingRows, k: int, rng: np.random.Generator) -> list[MixtureState]:
    """States that give each component the rows between two cuts, at the widest gaps, at ranks, and evenly spread."""
    rows = imputed(model.family, subset(working, _MOST_ROWS), rng)
    values = model.family.evenly(rows.upper)
    distinct = np.unique(values)
    middles, gaps = 0.5 * (distinct[1:] + distinct[:-1]), np.diff(distinct)
    share = np.arange(1, k) / k
    order = np.argsort(values, kind="stable")
    rank = np.cumsum(rows.weight[order]) / rows.weight.sum()
    ends = (
        np.sort(middles[np.argsort(-gaps, kind="stable")[: k - 1]]),
        values[order][np.searchsorted(rank, share)],
        distinct[0] + share * (distinct[-1] - distinct[0]),
    )
    labels = (np.searchsorted(one, values) for one in ends)
    shares = (np.where(label == np.arange(k)[:, None], 1.0, _BESIDE) for label in labels)
    return [_state(model, rows, r, model.family.reference(k)) for r in shares]


def moved(
    model: PosteriorModel,
    working: WorkingRows,
    state: MixtureState,
    number: int,
    rng: np.random.Generator,
    *,
    crowded: bool = False,
) -> list[MixtureState]:
    """States near an optimum, in each of which one component in turn takes rows that are next to each other."""
    theta, log_weight, _ = model.view(state)
    k, some = len(log_weight), subset(working, _MOST_ROWS)
    rows = _drawn(model.family, some, theta, log_weight, rng)
    now = np.concatenate([probabilities(part, model.family, theta, log_weight) for part in some.parts], axis=1)
    order = np.argsort(rows.upper)
    rank = np.empty(len(order))
    rank[order] = np.cumsum(rows.weight[order]) / rows.weight.sum()
    u, v = (rng.random((2, 1)) + np.outer(_EVENLY, np.arange(number))) % 1.0
    fewest = _FEWEST_SHARE if isinstance(model, Points) else _SHARES[0]
    shares, out = fewest ** (1.0 - u) * _SHARES[1] ** u, []
    places = 0.5 * shares + v * (1.0 - shares)
    if crowded and model.family.support != "counts":
        runs = np.repeat(_crowded(model, rows, theta, log_weight, rank), k, axis=0)[:number]
        shares[: len(runs)], places[: len(runs)] = runs.T
    for i, (share, at) in enumerate(zip(shares, places, strict=True)):
        taken = np.abs(rank - at) < 0.5 * share
        to = np.where(taken, _SURE, _ELSEWHERE * min(share / _SHARES[0], 1.0) ** 2)
        r = np.delete(now, i % k, axis=0)
        r *= (1.0 - to) / np.maximum(r.sum(axis=0), np.finfo(np.float64).tiny)
        out.append(_state(model, rows, np.insert(r, i % k, to, axis=0), theta))
    return [one for one in out if np.isfinite(one.components).all()]


def _crowded(model: PosteriorModel, rows: MixtureRows, theta: Array, log_weight: Array, rank: Array) -> Array:
    """For each length, the two runs of rows (share, rank of the middle) that the mixture expects least."""
    order, found = np.argsort(rows.upper), []
    y, rank = rows.upper[order], rank[order]
    log_p = model.family.terms(replace(rows, lower=y, upper=y), theta).log_p
    density = np.exp(log_p + log_weight[:, None]).sum(axis=0)
    for m in (m for m in _RUNS if m < len(y)):
        expected = len(y) * np.maximum(y[m - 1 :] - y[: 1 - m], _SHORTEST) * density[m // 2 : len(y) - m + 1 + m // 2]
        gain = m * np.log(m / np.maximum(expected, _SHORTEST)) - m + expected
        for _ in range(2):
            first = int(np.argmax(gain))
            gain[max(first - m, 0) : first + m] = -np.inf
            ends = rank[[first, first + m - 1]]
            found.append((ends[1] - ends[0] + 1.0 / len(y), ends.mean()))
    return np.array(found).reshape(-1, 2)


def _state(model: PosteriorModel, rows: MixtureRows, r: Array, theta: Array) -> MixtureState:
    """The state to which responsibilities (k, n) of exact rows lead."""
    with np.errstate(all="ignore"):
        return model.first(theta, Sums(*sums_given(rows, r, model.family, theta)))


def _drawn(
    family: MixtureFamily, working: WorkingRows, theta: Array, log_weight: Array, rng: np.random.Generator
) -> MixtureRows:
    """One exact row for each, a value drawn from a fitted distribution standing for what is censored."""
    lower, upper, weight = working.joined()
    share = np.exp(log_weight - log_weight.max())
    predictive = Predictive(share / share.sum(), family.distribution(theta, MixtureUnits()))
    with np.errstate(all="ignore"):
        if family.logarithm:
            y = np.where(lower == upper, upper, np.log(draw_between(predictive, np.exp(lower), np.exp(upper), rng)))
        else:
            y = draw_between(predictive, lower, upper, rng)
    y = np.where(np.isfinite(y), y, _middles(lower, upper, 0.0)[0])  # shapes near 0 draw beyond all numbers
    y = family.drawn_in(y)
    return MixtureRows("exact", y, y, np.zeros_like(y), weight)


def imputed(family: MixtureFamily, working: WorkingRows, rng: np.random.Generator) -> MixtureRows:
    """One exact row for each, censored ones at random half a standard deviation beyond their limit in the mean."""
    lower, upper, weight = working.joined()
    y, (both, right, left) = _middles(*telling_ends(lower, upper, *known_range(lower, upper)), 0.0)
    sd = float(y[both].std()) if both.any() else 0.0
    away = (0.5 * sd if sd > 0.0 else 0.5) * rng.exponential(size=len(lower))
    y[right] += away[right]
    if family.support == "real" or family.logarithm:
        y[left] -= away[left]
    else:
        y[left] *= rng.random(int(left.sum()))
    y = family.drawn_in(y)
    return MixtureRows("exact", y, y, np.zeros_like(y), weight)


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


def drop_components(model: Bayes, chunks: Sequence[MixtureRows], best: Ascended, stop: Stop) -> Ascended:
    """Go on with components in the order of their size, which suits sticks, and without each where that is better."""
    best = _better(best, climb(model, chunks, _by_size(model, best), stop))
    smallest = np.flatnonzero(best.sums.counts > _HELD)
    smallest = smallest[np.argsort(best.sums.counts[smallest])]
    for j in smallest[:-1]:
        best = _better(best, climb(model, chunks, _without(model, best, int(j)), stop))
    return _better(best, climb(model, chunks, _by_size(model, best), stop))


def _by_size(model: Bayes, best: Ascended) -> MixtureState:
    order = np.argsort(-best.sums.counts, kind="stable")
    weights = model.weights.posterior(best.state.weights, best.sums.counts[order])
    return best.state.ordered(weights, order)


def _without(model: Bayes, best: Ascended, j: int) -> MixtureState:
    counts, statistics = best.sums.counts.copy(), best.sums.statistics.copy()
    counts[j] = statistics[:, j] = 0.0
    return model.improve(best.state, best.sums._replace(counts=counts, statistics=statistics))


def _better(one: Ascended, other: Ascended) -> Ascended:
    """The higher end, with the passes of both."""
    return replace(other if other.value > one.value else one, passes=one.passes + other.passes)
