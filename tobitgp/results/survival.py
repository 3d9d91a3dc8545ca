"""Times of rows of fits of every kind: their survival and other predictions, and the rows themselves."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.data.frames import by_label
from tobitgp.data.sources import is_dask
from tobitgp.data.table import without_unit
from tobitgp.distributions.response import RowDistributions
from tobitgp.engines import map_independent, row_chunks, single_blas_thread
from tobitgp.errors import SpecError
from tobitgp.numerics.roots import area
from tobitgp.posterior.estimates import Estimates, Sampled
from tobitgp.posterior.nodes import Nodes
from tobitgp.posterior.questions import CURVES, Question, observed, quantile, remaining
from tobitgp.results.rows import Labelled
from tobitgp.typing import Array, IntArray

STATISTICS = ("mean", "median", "lower", "upper")
_CELLS, _BAND_CELLS = 3_000_000, 50_000  # numbers that a chunk holds at once; passed over many times, in a cache
_SHARED = 10  # of these for each row and time, where all rows meet the same times
_ROOT = 200  # of these for each row, where it looks for a root
_AVERAGED = 1500  # of these for each row, where its number is averaged over f
_HEAVY = 20_000
_FEW = 1e-6  # survival p below which 1 - p keeps too few digits
_CERTAIN = 1e-20  # probability that vanishes relative to 1
_BREAKS = (0.999, 0.9, 0.6, 0.3, 0.1, 0.01, 1e-3, 1e-5)


@dataclass(frozen=True, slots=True)
class Times:
    """Times of n rows, on the scale of the response, of each of which a posterior is known."""

    posterior: Nodes | Estimates | Sampled  # of the rows that differ
    which: IntArray  # (n,), the one that each row is like

    @classmethod
    def of(cls, posterior: Nodes | Estimates | Sampled) -> Times:
        """Rows of a process that are alike are done once."""
        if isinstance(posterior, Estimates):
            return cls(posterior, np.arange(len(posterior.x[0])))
        if isinstance(posterior, Sampled):
            return cls(posterior, np.arange(len(posterior.rows)))
        values = [posterior.mean, posterior.sd, *([posterior.sigma] if posterior.sigma.shape[1] > 1 else [])]
        _, first, which = np.unique(np.vstack(values), axis=1, return_index=True, return_inverse=True)
        return cls(posterior.take(first), which.ravel())

    @property
    def discrete(self) -> bool:
        """Whether they are counts."""
        return False

    @property
    def stepwise(self) -> bool:
        """Whether draws of hazards are constant between jumps."""
        return False

    @property
    def positive(self) -> bool:
        """Whether locations are those of logarithms."""
        return bool(self.posterior.take(slice(0, 1)).new.log)

    @property
    def beginning(self) -> Array:
        """Values (n,) that all survive."""
        if self.positive or self.discrete:
            return np.full(len(self.which), -1.0 if self.discrete else 0.0)
        return np.atleast_1d(self.posterior.new.ppf(_CERTAIN))[self.which]

    def curve(self, of: str, times: Array, after: Array | None, level: float | None) -> dict[str, Array]:
        """One of ``CURVES`` at m times, counted from ``after`` (n,): ``mean``, with a level all of ``STATISTICS``.

        Arrays are (n, m).
        """
        rows, starts, back = self._differing(after)
        made = {"mean": self._mean_curve(of, times, rows, starts, after is not None)}
        if level is not None:
            made |= self._band_curve(of, times, rows, starts, after is not None, level)
        return {name: made.pop(name)[back] for name in list(made)}

    def _asking(self, of: str, times: Array, starts: Array, survived: bool) -> Callable[[slice], Question]:
        """The question of one of ``CURVES`` about some rows (k,) that differ."""

        def ask(span: slice) -> Question:
            start = starts[:1] if len(np.unique(starts)) == 1 else starts[span]
            return CURVES[of](self.positive, start + times, start if survived else None)

        return ask

    def _mean_curve(self, of: str, times: Array, rows: IntArray, starts: Array, survived: bool) -> Array:
        """Means (k, m) of `curve` in rows (k,) that differ, from their starts (k, 1) on."""
        shared, ask = len(np.unique(starts)) == 1, self._asking(of, times, starts, survived)

        def mean(span: slice) -> dict[str, Array]:
            part, question = self.posterior.take(rows[span]), ask(span)
            return {"": question.number(part.beside_shared_values if shared else part.beside_own_values(*question.at))}

        of_each = _SHARED if shared and not isinstance(self.posterior, Sampled) else self._components
        return self._over(mean, len(rows), of_each * len(times), _CELLS)[""]

    def _band_curve(
        self, of: str, times: Array, rows: IntArray, starts: Array, survived: bool, level: float
    ) -> dict[str, Array]:
        """The other ``STATISTICS`` of the same."""
        ask = self._asking(of, times, starts, survived)

        def band(span: slice) -> dict[str, Array]:
            return self.posterior.take(rows[span]).spread_over().band(ask(span), level)

        one_by_one = len(np.unique(starts)) == 1 and isinstance(self.posterior, Nodes)
        cells = _CELLS if isinstance(self.posterior, Sampled) else _BAND_CELLS
        return self._over(band, len(rows), self._components * (1 if one_by_one else len(times)), cells)

    def _differing(self, after: Array | None) -> tuple[IntArray, Array, IntArray]:
        """Rows (k,) and times survived (k, 1) that differ, and which of these each row is."""
        pairs = np.column_stack([self.which, np.zeros(len(self.which)) if after is None else after])
        pairs, back = np.unique(pairs, axis=0, return_inverse=True)
        return pairs[:, 0].astype(np.intp), pairs[:, 1:], back.ravel()

    def rates(self, times: Array, after: Array | None) -> tuple[Array, Array]:
        """Means of `curve`, hazards and cumulative hazards, (n, m) each."""
        hazard, cumulative = (self.curve(of, times, after, None)["mean"] for of in ("hazard", "cumulative_hazard"))
        return hazard, cumulative

    def alive(self, times: Array, after: Array | None) -> Array:
        """Means of survival (n, m), shaped like `rates`."""
        return self.curve("survival", times, after, None)["mean"]

    def averaged(self, of: str, times: Array, after: float, share: Array) -> Array:
        """A curve at m times after ``after``, averaged over rows by shares (n,) or (G, n), hazards by survival too."""
        since = np.full(len(self.which), after) if after else None
        if of == "survival":
            return np.asarray(share @ self.alive(times, since) / share.sum(axis=-1, keepdims=True))
        hazard, cumulative = self.rates(times, since)
        alive = np.exp(-cumulative)
        with np.errstate(invalid="ignore"):  # NaN where no one is left
            return np.asarray((share @ (alive * (hazard if of == "hazard" else cumulative))) / (share @ alive))

    def jumps(self, last: float) -> Array:
        """Times up to the last at which hazards or their derivatives may jump."""
        jumps: Array = self.posterior.take(slice(0, 1)).new.jumps
        return jumps[jumps <= last]

    def furthest(self, after: Array | None) -> float:
        """The last time at which hazards are known."""
        return np.inf

    @property
    def new(self) -> RowDistributions:
        """Distributions of a new response in the rows."""
        found: RowDistributions = self.posterior.take(self.which).new
        return found

    @property
    def as_known(self) -> RowDistributions:
        """Distributions of a new response, which is infinite where it comes after the last time that is known."""
        known = self.until(self.furthest(None))
        found: RowDistributions = known.posterior.take(known.which).new
        return found

    def until(self, last: float) -> Times:
        """With what is known up to a last time."""
        return self

    def survive(self, times: Array) -> Array:
        """Log probability of surviving times (n, m) of each row."""

        def chunk(span: slice) -> dict[str, Array]:
            part = self.posterior.take(self.which[span])
            return {"": part.beside_own_values(times[span]).logsf(times[span])}

        return self._over(chunk, len(times), self._components * times.shape[1], _CELLS)[""]

    def percentile(self, p: float, after: Array | None) -> Array:
        """Times after ``after`` at which survival falls to p, (n,)."""
        if after is None and p < _FEW:
            return self.beginning + self.percentiles((p,), self.beginning)[:, 0]
        if after is None:
            return np.atleast_1d(self.posterior.new.ppf(1.0 - p))[self.which]
        return self.percentiles((p,), after)[:, 0]

    def percentiles(self, orders: Sequence[float], after: Array, most: float | None = None) -> Array:
        """The same for several, (n, k), or ``most`` where they are later."""

        def chunk(span: slice) -> dict[str, Array]:
            found = self.posterior.take(self.which[span]).remaining(orders, after[span], most)
            return {"": found if most is None else np.fmin(found, most)}

        return self._over(chunk, len(after), self._held(_ROOT), _CELLS)[""]

    def order(self) -> Array:
        """Numbers (n,) by which rows are expected to live longer."""
        return self.percentile(0.5, None)

    def percentile_band(self, p: float, after: Array | None, level: float) -> dict[str, Array]:
        """``median``, ``lower`` and ``upper`` of `percentile` given the parameters, (n,) each."""
        if after is None and p < _FEW:
            found = self.percentile_band(p, self.beginning, level)
            return {name: self.beginning + values for name, values in found.items()}
        if after is None:
            found = self.posterior.band(quantile(self.positive, 1.0 - p), level)
            return {name: np.atleast_1d(values)[self.which] for name, values in found.items()}

        def chunk(span: slice) -> dict[str, Array]:
            return self.posterior.take(self.which[span]).band(remaining(p, after[span]), level)

        return self._over(chunk, len(after), self._held(_AVERAGED), _CELLS)

    def warn_beyond(self, last: float) -> None:
        """Warn that predictions up to the last time depend on times without data, where a fit has no form for them."""

    def warn_of_times(self, found: Mapping[str, Array], after: Array | None) -> None:
        """The same for numbers (n,) that are times, counted from ``after``."""
        values = np.stack(list(found.values())) + (0.0 if after is None else after)
        self.warn_beyond(float(values[np.isfinite(values)].max(initial=0.0)))

    def mean(self) -> Array:
        """Mean times, (n,)."""
        return self.posterior.new.mean()[self.which]

    def clipped(self, t: float, level: float | None) -> dict[str, Array]:
        """Mean of times clipped at 0 and t, which is the area below survival up to there; columns as of a curve."""

        def chunk(span: slice) -> dict[str, Array]:
            n, part = span.stop - span.start, self.posterior.take(span)
            free = np.full(n, np.inf)
            question = observed(self.positive, np.zeros(n), np.full(n, t), -free, free)
            return {"mean": part.value(question)} | ({} if level is None else part.band(question, level))

        made = self._over(chunk, self._size, _AVERAGED, _CELLS)
        return {name: values[self.which] for name, values in made.items()}

    def remaining_area(self, t: float, after: Array | None) -> Array:
        """Area below survival for a time t from ``after`` (n,) on, given survival of that, (n,)."""
        return left_area(self, t, after)

    @property
    def _size(self) -> int:
        """Number of rows that differ."""
        return int(self.which.max(initial=-1)) + 1

    @property
    def _components(self) -> int:
        """Numbers held for each row and time, where every component is worked on alone."""
        return len(self.posterior.weight) if isinstance(self.posterior, Nodes | Sampled) else 1

    def _held(self, each: int) -> int:
        """Numbers held for each row, of which a component takes so many, and a draw one."""
        return self._components * (1 if isinstance(self.posterior, Sampled) else each)

    def _over(self, chunk: Callable[[slice], dict[str, Array]], n: int, held: int, cells: int) -> dict[str, Array]:
        """Join what is made of n rows, a chunk at a time, in which each row holds some of so many cells."""

        def quiet(span: slice) -> dict[str, Array]:
            with np.errstate(all="ignore"):
                return chunk(span)

        spans = list(row_chunks(0, n, max(cells // max(held, 1), 1))) or [slice(0, 0)]
        with single_blas_thread():
            made = map_independent(quiet, spans, heavy=n * held > _HEAVY)
        return {name: np.concatenate([one[name] for one in made]) for name in made[0]}


@dataclass(frozen=True, slots=True)
class TimeRows(Labelled):
    """Rows that a question is about, and their times."""

    times: Times  # of the usable rows

    def some(self, span: slice) -> TimeRows:
        """Rows after one another."""
        usable = self.usable[span]
        first = int(self.usable[: span.start].sum())
        which = self.times.which[first : first + int(usable.sum())]
        return replace(self, index=self.index[span], usable=usable, times=replace(self.times, which=which))

    def after(self, given: Any) -> Array | None:
        """Times survived already in the usable rows."""
        if given is None:
            return None
        n = len(self.index)
        try:
            values = np.asarray(without_unit(given), dtype=np.float64)
        except (TypeError, ValueError):
            values = np.array([np.nan])
        if values.ndim > 1 or (values.ndim == 1 and len(values) != n) or not np.isfinite(values).all():
            raise SpecError(f"conditional_after= must be one finite number, or one for each of the {n} rows.")
        check_survived(values, positive=bool(n) and (self.times.positive or self.times.discrete))
        if isinstance(given, pd.Series):
            given = pd.Series(values, index=given.index)
            matched = by_label("The times of conditional_after=", "conditional_after", given, self.index)
            values = matched.to_numpy(dtype=np.float64)
        return np.array(np.broadcast_to(values, n))[self.usable]


def check_survived(after: Array, *, positive: bool) -> None:
    """Raise an error for times below 0 that were survived, of times that are not negative."""
    if positive and (after < 0.0).any():
        least = float(after.min())
        raise SpecError(f"conditional_after={least:g}: conditional_after must not be negative. Give 0 or more.")


def left_area(times: Times, t: float, after: Array | None) -> Array:
    """Area below survival for a time t from ``after`` on, given survival of that, (n,); (SUR5) of the theory pages."""
    with np.errstate(invalid="ignore"):
        if after is None:
            knots = [np.clip(times.percentile(p, None), 0.0, t) for p in _BREAKS]
        else:
            knots = list(np.clip(times.percentiles(_BREAKS, after, t), 0.0, t).T)
    start = np.zeros(len(knots[0])) if after is None else after
    if times.discrete:
        counts = np.floor(start)[:, None] + np.arange(int(t) + 2) - start[:, None]
        knots = list(np.clip(counts, 0.0, t).T)
    ends = np.zeros_like(start), np.full_like(start, t)
    breaks = np.stack([ends[0], *(np.nan_to_num(knot, nan=t) for knot in knots), ends[1]], axis=1)
    alive = 0.0 if after is None else times.survive(after[:, None])

    def survive(left: Array) -> Array:
        with np.errstate(invalid="ignore"):
            return np.exp(np.minimum(times.survive(start[:, None] + left) - alive, 0.0))

    return area(survive, breaks)


def read_times(times: Any, name: str = "times") -> Array:
    """A list of finite times, one at least; durations are days."""
    try:
        grid = np.atleast_1d(np.asarray(without_unit(times), dtype=np.float64))
    except (TypeError, ValueError):
        grid = np.full((1, 1), np.nan)
    if grid.ndim != 1 or not len(grid) or not np.isfinite(grid).all():
        raise SpecError(f"{name}= must be a list of finite numbers, e.g. {name}=[10, 20, 50].")
    return grid


def refuse_dask(df: Any, what: str, instead: str) -> None:
    """Name the lazy alternative."""
    if is_dask(df):
        raise SpecError(f"{what}() requires rows in memory. Use {instead}, which is lazy, or df.compute().")
