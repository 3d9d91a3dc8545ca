"""Times of the first event of any cause, and incidences by quadrature: (CR1) to (CR5) of the theory pages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise

import numpy as np

from tobitgp.distributions.event_times import First
from tobitgp.engines import row_chunks, single_blas_thread
from tobitgp.numerics.roots import area as area_below
from tobitgp.numerics.sampling import draw_quantiles
from tobitgp.posterior.estimates import Sampled
from tobitgp.posterior.questions import Question, quantile, remaining
from tobitgp.results.survival import STATISTICS, Times
from tobitgp.typing import Array, IntArray

HazardCurves = Callable[[Array], tuple[Array, Array]]  # times (q,) -> hazards and cumulative hazards (K, n, q, ...)
# Nodes and weights of a panel, and of one that is narrow.
_PANEL, _NARROW = (np.polynomial.legendre.leggauss(points) for points in (12, 4))
EARLY = 1e-9  # cumulative hazard of all causes up to which it stands for incidence
_TOLERANCE, _HALVINGS = 1e-9, 6
_DECADES = 60


@dataclass(frozen=True, slots=True)
class TimeRule:
    """Nodes of an integral over time."""

    times: Array  # (q,), the first is that from which on it is integrated
    weights: Array  # (q,), zero of the first
    upto: IntArray  # (m,), last node before each requested time, -1 of those before the first


def make_rule(first: float, times: Array, breaks: Array, width: float) -> TimeRule:
    """Gauss-Legendre panels of log time between times (m,), and breaks where hazards jump or bend, of some width."""
    last = float(times.max())
    knots = np.unique(np.concatenate([[first], times[times > first], breaks[(breaks > first) & (breaks < last)]]))
    nodes, weights = [np.array([first])], [np.zeros(1)]
    for low, high in pairwise(np.log(knots).tolist()):
        panels = max(int(np.ceil((high - low) / width)), 1)
        x, w = _PANEL if high - low > 0.25 * width else _NARROW
        half = 0.5 * (high - low) / panels
        middle = low + half * (2.0 * np.arange(panels) + 1.0)
        nodes.append(np.exp(middle[:, None] + half * x).ravel())
        weights.append(np.tile(half * w, panels))
    at = np.concatenate(nodes)
    return TimeRule(at, np.concatenate(weights) * at, np.searchsorted(at, times, side="right") - 1)


def integrate(rule: TimeRule, curves: HazardCurves, nodes: int | None = None, *, area: bool = False) -> Array:
    """Incidence (K, n, m, ...) by hazards at the nodes, at some of these at a time; or the ``area`` below survival."""
    out, total = None, np.zeros(())
    for part in row_chunks(0, len(rule.times), nodes or len(rule.times)):
        hazard, cumulative = curves(rule.times[part])
        # Nodes are on the third axis; where draws follow, weights must reach over these.
        weights = rule.weights[part].reshape(-1, *[1] * (hazard.ndim - 3))
        with np.errstate(invalid="ignore", over="ignore"):
            alive = np.exp(-cumulative.sum(axis=0))
            steps = np.where(weights > 0.0, alive[None] if area else hazard * alive, 0.0) * weights
        if part.start == 0:
            steps[:, :, 0] = rule.times[0] if area else cumulative[:, :, 0]
        sums = total + np.cumsum(steps, axis=2)
        total = sums[:, :, -1:]
        if out is None:
            out = np.zeros((*sums.shape[:2], len(rule.upto), *sums.shape[3:]))
        here = (rule.upto >= part.start) & (rule.upto < part.stop)
        found = sums[:, :, rule.upto[here] - part.start]
        out[:, :, here] = found if area else np.minimum(found, 1.0)
    assert out is not None
    return out


def start_of(curves: HazardCurves, times: Array, early: float = EARLY) -> float:
    """A time before all requested times, up to which next to nothing happens."""
    positive = times[times > 0.0]
    tried = float(positive.min()) * 10.0 ** -np.arange(_DECADES + 1.0)
    small = (curves(tried)[1].sum(axis=0) <= early).all(axis=0)
    return float(tried[np.argmax(small) if small.any() else -1])


def find_rule(curves: HazardCurves, first: float, times: Array, breaks: Array) -> TimeRule:
    """Nodes for times (m,), one of them positive: panels are halved until the incidence at rows' hazards stays."""
    width = 1.0
    rule = make_rule(first, times, breaks, width)
    found, moved = integrate(rule, curves), np.inf
    for _ in range(_HALVINGS):
        width, before, last = 0.5 * width, found, moved
        rule = make_rule(first, times, breaks, width)
        found = integrate(rule, curves)
        moved = float((np.abs(found - before) / np.maximum(found, 1e-300)).max(initial=0.0))
        # What no longer falls is not the rule's, but that of hazards which are drawn.
        if moved <= _TOLERANCE or moved > 0.25 * last:
            break
    return rule


def predictive(causes: Sequence[Times], after: Array | None) -> HazardCurves:
    """Hazards of new rows, counted from times survived: parameters are averaged over, of each cause alone."""

    def curves(times: Array) -> tuple[Array, Array]:
        hazard, cumulative = zip(*(cause.rates(times, after) for cause in causes), strict=True)
        return np.stack(hazard), np.stack(cumulative)

    return curves


DRAWS = 2000
_OF_QUESTION = ("estimate", "se", "lower", "upper")
_TRIED = 8  # rows on which the quadrature is tried
_CELLS = 2_000_000  # rows times times (times draws) that are held at once
_ROOT = 200  # of these for each row, where it looks for a root


@dataclass(frozen=True, slots=True)
class FirstTimes(Times):
    """Times of the first event of any cause in rows; given the covariates the causes are independent."""

    causes: tuple[Times, ...]  # of the same rows
    draw: Callable[[float], First]  # draws (n, S) of their distributions, for times up to a last one
    followed: float | None = None  # the last time that was seen

    @property
    def stepwise(self) -> bool:
        return all(cause.stepwise for cause in self.causes)

    @property
    def positive(self) -> bool:
        return True

    def curve(self, of: str, times: Array, after: Array | None, level: float | None) -> dict[str, Array]:
        """Quantiles of the curve over draws of the parameters."""
        begin = self._begin(after)
        each = [cause.curve(of, times, after, None)["mean"] for cause in self._each()]
        out = {"mean": np.prod(each, axis=0) if of == "survival" else np.sum(each, axis=0)}
        if level is not None:
            band = partial(self._of_curve, of, times, begin)
            out |= self._of_draws(band, self._last(times, begin), level, DRAWS * len(times), (len(times),))
        return out

    def rates(self, times: Array, after: Array | None) -> tuple[Array, Array]:
        """Sums over the causes."""
        hazard, cumulative = zip(*(cause.rates(times, after) for cause in self._each()), strict=True)
        return np.sum(hazard, axis=0), np.sum(cumulative, axis=0)

    def alive(self, times: Array, after: Array | None) -> Array:
        """Products over the causes."""
        return np.prod([cause.alive(times, after) for cause in self._each()], axis=0)

    def incidence(self, times: Array, after: Array | None, level: float | None) -> dict[str, Array]:
        """Probability (K, n, m) of an event of each cause by times: ``mean``, with a level all of ``STATISTICS``."""
        self.warn_beyond(float(times.max(initial=0.0) + self._begin(after).max(initial=0.0)))
        return self._integrals(times, after, level, area=False)

    def until(self, last: float) -> FirstTimes:
        if np.isinf(last):
            return self
        return replace(self, causes=tuple(cause.until(last) for cause in self.causes))

    def survive(self, times: Array) -> Array:
        return np.sum([cause.survive(times) for cause in self._each()], axis=0)

    def jumps(self, last: float) -> Array:
        return np.unique(np.concatenate([cause.jumps(last) for cause in self.causes]))

    def furthest(self, after: Array | None) -> float:
        return min(cause.furthest(after) for cause in self.causes)

    @property
    def new(self) -> First:
        return First(tuple(cause.new for cause in self._each()))

    @property
    def as_known(self) -> First:
        return self.until(self.furthest(None))._of_causes(slice(None))

    def known(self, last: float) -> Sampled:
        """Distributions of the first event under draws, and of a new response, up to a last time."""
        drawn, until = self.draw(last) if len(self.which) else None, self.until(last)

        def under_draws(rows: IntArray) -> First:
            assert drawn is not None
            return drawn.take(rows)

        return Sampled(under_draws, np.full(DRAWS, 1.0 / DRAWS), self.which, until._of_causes)

    def statistics(self, question: Question, level: float | None, *, se: bool) -> dict[str, Array]:
        """Statistics of a question about rows, (n,)."""
        if not len(self.which):
            asked = (True, se or level is not None, level is not None, level is not None)
            return {name: np.empty(0) for name, wanted in zip(_OF_QUESTION, asked, strict=True) if wanted}
        last = self.furthest(None) if question.response else float(np.max(question.at, initial=0.0))
        if not question.response:
            self.warn_beyond(last)
        found = self.known(last).statistics(question, level, se=se)
        if question.response:
            self.warn_of_times({name: values for name, values in found.items() if name != "se"}, None)
        return found

    def percentile(self, p: float, after: Array | None) -> Array:
        """Infinite where survival does not fall so far."""
        return self.percentiles((p,), self._begin(after))[:, 0]

    def percentiles(self, orders: Sequence[float], after: Array, most: float | None = None) -> Array:
        """Infinite where survival does not fall so far up to `furthest`."""
        furthest = self.furthest(after)
        until = self.until(furthest)

        def chunk(span: slice) -> dict[str, Array]:
            y, start = until._of_causes(self.which[span]), after[span]
            return {"": np.stack([y.remaining(p, start) for p in orders], axis=1)}

        found = self._over(chunk, len(after), _ROOT, _CELLS)[""]
        found = np.where(found + after[:, None] > furthest, np.inf, found)
        return found if most is None else np.fmin(found, most)

    def percentile_band(self, p: float, after: Array | None, level: float) -> dict[str, Array]:
        if not len(self.which):
            return dict.fromkeys(STATISTICS[1:], np.empty(0))
        begin = self._begin(after)
        question = quantile(True, 1.0 - p) if after is None else remaining(p, begin)
        return self.known(self.furthest(begin)).band(question, level)

    def order(self) -> Array:
        """By means up to the last time that was seen, since many medians may be infinite."""
        return Times.order(self) if self.followed is None else self.clipped(self.followed, None)["mean"]

    def mean(self) -> Array:
        return self.new.mean()

    def remaining_area(self, t: float, after: Array | None) -> Array:
        """Between jumps of stepwise hazards."""
        if after is None or not self.stepwise:
            return Times.remaining_area(self, t, after)
        start, jumps = after[:, None], self.jumps(float(after.max(initial=0.0)) + t)
        ends = np.append(jumps, np.inf) - start
        breaks = np.clip(np.concatenate([np.zeros_like(start), ends], axis=1), 0.0, t)
        risen = -self.survive(start)
        return area_below(lambda left: np.exp(np.minimum(self.survive(start + left) + risen, 0.0)), breaks)

    def clipped(self, t: float, level: float | None) -> dict[str, Array]:
        found = self._integrals(np.array([t]), None, level, area=True)
        return {name: values[0, :, 0] for name, values in found.items()}

    def warn_beyond(self, last: float) -> None:
        for cause in self.causes:
            cause.warn_beyond(last)

    def warn_of_times(self, found: Mapping[str, Array], after: Array | None) -> None:
        for cause in self.causes:
            cause.warn_of_times(found, after)

    # -- how these are computed ---------------------------------------------------------------------------------------

    def _each(self, span: slice = slice(None)) -> list[Times]:
        """Times of some of the rows, by cause."""
        return [replace(cause, which=cause.which[self.which[span]]) for cause in self.causes]

    def _of_causes(self, rows: IntArray | slice) -> First:
        """Distributions of a new response in some rows that differ, from the posterior of each cause."""
        return First(tuple(cause.posterior.take(cause.which[rows]).new for cause in self.causes))

    def _begin(self, after: Array | None) -> Array:
        """Times survived, 0 where none are given, (n,)."""
        return np.zeros(len(self.which)) if after is None else after

    def _last(self, times: Array, begin: Array) -> float:
        """The last time of any row."""
        return float(times.max() + begin.max(initial=0.0))

    def _of_curve(self, of: str, times: Array, begin: Array, drawn: First, span: slice) -> Array:
        """A curve of draws in some rows, (n, m, S)."""
        known, start = drawn.take((self.which[span], None)), begin[span, None, None]
        now = start + times[:, None]
        if of == "hazard":
            return np.exp(known.log_hazard(now))
        gap = known.rates(now, start)[1].sum(axis=0)
        return np.exp(-gap) if of == "survival" else gap

    def _of_draws(
        self,
        of: Callable[[First, slice], Array],
        last: float,
        level: float,
        held: int,
        shape: tuple[int, ...],
    ) -> dict[str, Array]:
        """Quantiles of what draws of some rows give, (n, ..., S), each row of which holds so many numbers."""
        n, made = len(self.which), []
        drawn = self.draw(last) if n else None
        for span in row_chunks(0, n, max(_CELLS // held, 1)):
            assert drawn is not None
            made.append(_quantiles(of(drawn, span), level))
        return {name: np.concatenate([np.zeros((0, *shape)), *(one[name] for one in made)]) for name in STATISTICS[1:]}

    def _integrals(self, times: Array, after: Array | None, level: float | None, *, area: bool) -> dict[str, Array]:
        """Incidences (K, n, m), or areas below survival (1, n, m), by one quadrature for means and draws."""
        begin, m, K = self._begin(after), len(times), 1 if area else len(self.causes)
        n, names = len(begin), STATISTICS[:1] if level is None else STATISTICS
        if not n or not (times > 0.0).any():
            return dict.fromkeys(names, np.zeros((K, n, m)))
        last = self._last(times, begin)
        jumps = self.jumps(last)[:, None]
        drawn, made = None if level is None else self.draw(last), []
        # Rows that begin at different times have other breaks; a rule with those of all costs every draw more nodes.
        alike = drawn is None or len(np.unique(begin)) == 1
        held = 4 * (m + jumps.size * len(np.unique(begin))) + 600
        with single_blas_thread():
            for span in row_chunks(0, n, max(_CELLS // held, 1) if alike else 1):
                first, rule_of = self._scale(span, times, after)
                rule = find_rule(rule_of, first, times, np.unique(jumps - np.unique(begin[span])))
                held_by_row = len(self.causes) * len(rule.times)
                for rows in row_chunks(span.start, span.stop, max(_CELLS // held_by_row, 1)):
                    made.append({"mean": integrate(rule, self._curves(rows, after), area=area)})
                    if drawn is not None and level is not None:
                        put = partial(self._drawn_integrals, drawn, rule, times, begin, area)
                        each = [_quantiles(put(row), level) for row in range(rows.start, rows.stop)]
                        made[-1] |= {name: np.concatenate([one[name] for one in each], axis=1) for name in each[0]}
        return {name: np.concatenate([one[name] for one in made], axis=1) for name in names}

    def _drawn_integrals(self, drawn: First, rule: TimeRule, times: Array, begin: Array, area: bool, row: int) -> Array:
        """Draws (K, 1, m, S) of the same in one row."""
        known = drawn.take(self.which[row : row + 1])
        if known.stepwise:
            return known.step_integrals(times, float(begin[row]), area=area)
        of = partial(_drawn_rates, known.beside(), begin[row : row + 1, None, None])
        return integrate(rule, of, max(_CELLS // (len(self.causes) * DRAWS), 1), area=area)

    def rule(self, times: Array, after: Array | None, *, early: float, width: float) -> TimeRule:
        """Nodes of integrals over time in all rows, from where cumulative hazards are as small as ``early``."""
        begin = self._begin(after)
        breaks = np.unique(self.jumps(self._last(times, begin))[:, None] - np.unique(begin))
        return make_rule(self._scale(slice(None), times, after, early)[0], times, breaks, width)

    def _curves(self, span: slice, after: Array | None) -> HazardCurves:
        """Predictive hazards of some of the rows."""
        return predictive(self._each(span), None if after is None else after[span])

    def _scale(
        self, span: slice, times: Array, after: Array | None, early: float = EARLY
    ) -> tuple[float, HazardCurves]:
        """A time before which next to nothing happens in some rows, and curves of a few from low to high hazards."""
        curves, at = self._curves(span, after), np.arange(len(self.which))[span]
        order = np.argsort(curves(times.max(keepdims=True))[1].sum(axis=0)[:, 0], kind="stable")
        few = at[order[np.unique(np.linspace(0, len(order) - 1, _TRIED).astype(np.intp))]]
        some = replace(self, which=self.which[few])
        return start_of(curves, times, early), some._curves(slice(None), None if after is None else after[few])


def _drawn_rates(known: First, begin: Array, times: Array) -> tuple[Array, Array]:
    """Draws of hazards and cumulative hazards of some rows, (K, n, q, S) each."""
    return known.rates(begin + times[:, None], begin)


def _quantiles(values: Array, level: float) -> dict[str, Array]:
    """``median``, ``lower`` and ``upper`` over the draws on the last axis."""
    tail = 0.5 - 0.5 * level
    ends = draw_quantiles(values, [0.5, tail, 1.0 - tail])
    return dict(zip(STATISTICS[1:], ends, strict=True))
