"""Joint quantities of causes with independent posteriors: draws, leave-one-out, averages over rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from tobitgp.diagnostics.elpd import Elpd, collect
from tobitgp.diagnostics.k_hat import KHat
from tobitgp.diagnostics.training_draws import CHUNK, Draws
from tobitgp.distributions.event_times import First
from tobitgp.distributions.step_averages import averaged_step_median
from tobitgp.engines import row_chunks, single_blas_thread
from tobitgp.errors import SpecError
from tobitgp.numerics.roots import where_it_ends
from tobitgp.results.averages import Averages, DrawnAverages, Estimated, Population, Sought
from tobitgp.results.competing.competing_parts import CompetingParts
from tobitgp.results.competing.first_times import FirstTimes, TimeRule, integrate
from tobitgp.typing import Array, BoolArray

_CELLS = 2_000_000  # rows times draws, times nodes of integrals, that are held at once
_EARLY = 1e-3  # cumulative hazard from which on incidences of draws are integrated, to half its square
_WIDTH = 2.0  # of panels of their log time
MEDIAN, MEDIANS = "median", "medians"  # of averaged survival, and averages of those of rows
MOVE = 1e-3  # of the estimates along each direction, in standard deviations
_FURTHEST = 1e6  # times the longest median, beyond which none is sought

Under = Callable[[First, Array], Array]


@dataclass(frozen=True, slots=True)
class CauseDraws(Draws):
    """Draws of the parameters of all causes, drawn separately for each cause."""

    parts: CompetingParts
    causes: tuple[Draws, ...]
    among: tuple[BoolArray, ...]  # which rows of each cause are those of all

    @property
    def size(self) -> int:
        """S."""
        return self.causes[0].size

    def parameters(self) -> Array:
        """Those of a cause after those of another."""
        return np.hstack([draws.parameters() for draws in self.causes])

    def log_likelihoods(self) -> Iterator[tuple[slice, Array]]:
        """Log densities of times and causes, sums over the causes: (CR1)."""
        yield from self._together([draws.log_likelihoods() for draws in self.causes], np.add)

    def responses(self) -> Iterator[tuple[slice, Array]]:
        """Times of the first event."""
        yield from self._together([draws.responses() for draws in self.causes], np.minimum)

    def _together(self, found: Sequence[Iterator[tuple[slice, Array]]], of: np.ufunc) -> Iterator[tuple[slice, Array]]:
        start = 0
        every = [_in_step(each, among) for each, among in zip(found, self.among, strict=True)]
        for values in zip(*every, strict=True):
            yield slice(start, start + len(values[0])), of.reduce(values)
            start += len(values[0])


def _in_step(found: Iterator[tuple[slice, Array]], among: BoolArray) -> Iterator[Array]:
    """Numbers of some of the rows in chunks of one size, from chunks of any size."""
    held = None
    for rows, values in found:
        here = values[among[rows]]
        held = here if held is None else np.concatenate([held, here])
        while len(held) >= CHUNK:
            yield held[:CHUNK]
            held = held[CHUNK:]
    if held is not None and len(held):
        yield held


def joint_elpd(found: dict[Any, Elpd], parts: CompetingParts) -> Elpd:
    """Elpd of times and causes: sums over the causes, whose posteriors are independent without a row as with it."""
    every, kept = list(found.values()), parts.rows.kept
    tables = [each.pointwise[kept] for each in every]
    observed = None
    if parts.of_subjects:
        told = np.stack([table["weight"].notna() for table in tables])
        if (told != told[0]).any() or (told.sum() != sum(len(each.trusted) for each in every)):
            raise SpecError(
                "loo() and waic() sum over the rows of a subject, but these rows differ between causes. Drop "
                "the rows in which a cause has missing values, and fit again."
            )
        observed = np.flatnonzero(told[0])
        tables = [table[told[0]] for table in tables]
    elpd, p = (np.sum([table[name].to_numpy() for table in tables], axis=0) for name in ("elpd", "p"))
    good = np.logical_and.reduce(
        [each.trusted.to_numpy()[parts.among(cause) if observed is None else ...] for cause, each in found.items()]
    )
    worst = {"k": np.max, "share": np.min}
    extra = {
        name: of([table[name].to_numpy() for table in tables], axis=0)
        for name, of in worst.items()
        if all(name in table for table in tables)
    }
    remedy = next((f"{cause}: {each.remedy}" for cause, each in found.items() if each.n_bad), every[0].remedy)
    kind = ", ".join(dict.fromkeys(each.kind for each in every))
    draws = max((each.draws for each in every if each.draws is not None), default=None)
    return collect(type(every[0]), kind, parts, elpd, p, extra, good, remedy, draws, observed)


def joint_k_hat(found: Sequence[KHat]) -> KHat:
    """k-hat of products of independent weights: the heaviest tail, and the product of the effective shares of draws."""
    worst = max(found, key=lambda each: each.k)
    return KHat(worst.k, worst.draws, float(np.prod([each.efficiency for each in found])), worst.remedy, worst.exact)


def cause_averages(results: Any, times: FirstTimes, population: Population, sought: Sought) -> Averages:
    """Averages of the first event, or of the incidence of a cause: (STD1) to (STD4).

    By maximum likelihood they are those at the estimates, with the delta method in the parameters of all causes where
    these are estimates of one likelihood, or the covariance of draws. Each draw has one set of parameters in all rows.
    """
    if sought.what == "mean":
        raise SpecError(
            "what='mean' of the first event of several causes depends on the tails of all causes. Use "
            "what='rmst', which does not."
        )
    after = None if sought.after is None else np.full(len(times.which), sought.after)
    start, last = sought.after or 0.0, times.furthest(after)
    if not sought.what.startswith(MEDIAN):
        last = start + float(sought.times.max())
        times.warn_beyond(last)
    rule = None
    if (sought.what == "rmst" or sought.cause is not None) and (sought.times > 0.0).any():
        rule = times.rule(sought.times, after, early=_EARLY, width=_WIDTH)
    under = partial(_under_settings, population, sought, rule, last)
    moved = None if population.resampled or not results._estimated else results._moved(population.frame, times)
    with single_blas_thread(), np.errstate(all="ignore"):
        values = None if moved else np.concatenate(list(_drawn(results, population, times, rule, last, under)), axis=2)
        if values is not None and not results._estimated:
            return DrawnAverages(values)
        share = population.weight / population.weight.sum()
        if sought.what == MEDIAN:
            estimate = _median_at_estimates(times, population, share, start)
        else:
            every = _at_estimates(times, after, sought).reshape(population.settings, len(share), -1)
            estimate = np.einsum("n,anm->am", share, every)
        if values is None:
            ends = [np.split(under(known, share[:, None]), 2, axis=2) for known in moved or ()]
            away = np.concatenate([(high - low) / (2.0 * MOVE) for high, low in ends], axis=2)
        else:
            away = (values - values.mean(axis=2, keepdims=True)) / np.sqrt(values.shape[2])
    return Estimated(sought, estimate, np.einsum("ams,bms->mab", away, away))


def _drawn(
    results: Any, population: Population, times: FirstTimes, rule: TimeRule | None, last: float, under: Under
) -> Iterator[Array]:
    """Averages (A, m, s) of draws, some at a time."""
    integrated = rule is not None and not times.stepwise
    cells = len(times.which) * (len(rule.times) * len(times.causes) if integrated and rule else 1)
    for part in row_chunks(0, population.draws, max(_CELLS // cells, 1)):
        drawn = results._first(population.frame, times, part.stop - part.start, last, population.rng)
        share = np.repeat(population.weight[:, None], part.stop - part.start, axis=1)
        if population.resampled:
            share = population.rng.standard_gamma(share)
        yield under(drawn, share / share.sum(axis=0))


def _under_settings(
    population: Population, sought: Sought, rule: TimeRule | None, last: float, known: First, share: Array
) -> Array:
    """Averages (A, m, s) under every setting."""
    settings = [known.take(population.rows(setting)) for setting in range(population.settings)]
    return np.stack([_average(each, share, sought, rule, last) for each in settings])


def _average(known: First, share: Array, sought: Sought, rule: TimeRule | None, last: float) -> Array:
    """Averages (m, s) of draws of n rows with shares (n, s)."""
    start = np.full((1, 1), sought.after or 0.0)
    if sought.what == MEDIANS:
        return np.asarray((share * known.remaining(0.5, start)).sum(axis=0))[None]
    if sought.what == MEDIAN:
        return _median(known, share, start, last)[None]
    beside = known.take(np.s_[:, None])
    if sought.what == "rmst" or sought.cause is not None:
        if rule is None:
            return np.zeros((len(sought.times), known.shape[-1]))
        if known.stepwise:
            return _stepwise_average(known, share, sought)
        of = beside.rates
        found = integrate(
            rule, lambda t: of(start[..., None] + t[:, None], start[..., None]), area=sought.cause is None
        )
        return np.asarray((share[:, None] * found[sought.cause or 0]).sum(axis=0))
    H = beside.rates(start[..., None] + sought.times[:, None], start[..., None])[1].sum(axis=0)
    alive = (share[:, None] * np.exp(-H)).sum(axis=0)
    return np.asarray(1.0 - alive if sought.what == "risk" else alive)


def _stepwise_average(known: First, share: Array, sought: Sought) -> Array:
    """`_average` of hazards that are constant between jumps, some rows at a time."""
    out, size = 0.0, max(_CELLS // (len(known.causes) * len(sought.times) * known.shape[-1]), 1)
    for rows in row_chunks(0, len(share), size):
        found = known.take(rows).step_integrals(sought.times, sought.after or 0.0, area=sought.cause is None)
        out = out + np.einsum("ns,nms->ms", share[rows], found[sought.cause or 0])
    return np.asarray(out)


def _median(known: First, share: Array, start: Array, last: float) -> Array:
    """Times (s,) after ``start`` at which averaged survival is one half; infinite where it does not fall so far."""
    if known.stepwise:
        return averaged_step_median(known, share, float(start[0, 0]), last)
    ends, alive = known.remaining(0.5, start), np.where(start > 0.0, known.logsf(start), 0.0)

    def above(left: Array) -> BoolArray:
        return np.asarray((share * np.exp(known.logsf(start + left) - alive)).sum(axis=0) > 0.5)

    longest = np.where(np.isfinite(ends), ends, 0.0).max(axis=0)
    high = np.minimum(np.where(np.isfinite(ends).all(axis=0), longest, _FURTHEST * longest), last - start[0])
    low = np.minimum(ends.min(axis=0), high)
    return np.where(above(high * (1.0 + 1e-12)), np.inf, where_it_ends(above, low, high))


def _at_estimates(times: FirstTimes, after: Array | None, sought: Sought) -> Array:
    """Predictions (A n, m) of the rows."""
    grid = sought.times
    if sought.what == MEDIANS:
        return times.percentile(0.5, after)[:, None]
    if sought.cause is not None:
        return times.incidence(grid, after, None)["mean"][sought.cause]
    if sought.what == "rmst":
        areas = [
            times.clipped(t, None)["mean"] if after is None else times.remaining_area(t, after) for t in grid.tolist()
        ]
        return np.stack(areas, axis=1)
    alive = times.curve("survival", grid, after, None)["mean"]
    return 1.0 - alive if sought.what == "risk" else alive


def _median_at_estimates(times: FirstTimes, population: Population, share: Array, start: float) -> Array:
    """Medians (A, 1) of averaged survival at the estimates."""
    begin = np.full(len(times.which), start)
    ends = times.percentiles((0.5,), begin)[:, 0].reshape(population.settings, -1)
    furthest = times.furthest(begin)
    alive = times.survive(begin[:, None])

    def above(left: Array) -> BoolArray:
        moved = begin[:, None] + np.repeat(left, len(share), axis=0)
        survival = np.exp(times.survive(moved) - alive).reshape(population.settings, -1)
        return np.asarray(survival @ share > 0.5)[:, None]

    longest = np.where(np.isfinite(ends), ends, 0.0).max(axis=1)
    high = np.minimum(np.where(np.isfinite(ends).all(axis=1), longest, _FURTHEST * longest), furthest - start)[:, None]
    low = np.minimum(ends.min(axis=1)[:, None], high)
    return np.where(above(high * (1.0 + 1e-12)), np.inf, where_it_ends(above, low, high))
