"""Survival as lifelines' fitters give it, of fits of every kind.

What users ask is read, and tables are made, here.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from tobitgp.data.row_arguments import by_label
from tobitgp.data.sources import is_dask
from tobitgp.data.training_summary import NO_ROWS
from tobitgp.engines import map_independent, row_chunks, single_blas_thread
from tobitgp.errors import SpecError
from tobitgp.numerics.roots import area
from tobitgp.posterior.estimates import Estimates
from tobitgp.posterior.nodes import Nodes
from tobitgp.posterior.questions import CURVES, observed
from tobitgp.results.predict import check_level
from tobitgp.typing import Array, BoolArray, Frame, IntArray

if TYPE_CHECKING:
    from tobitgp.results.results import Results

STATISTICS = ("mean", "median", "lower", "upper")
_NUMBER = (int, float, np.integer, np.floating)
_CELLS = 60_000  # of components, rows and times that a chunk works on
_MORE_CELLS = 3_000_000  # the same where tails are interpolated
_HEAVY = 20_000
_BREAKS = (0.999, 0.9, 0.6, 0.3, 0.1, 0.01, 1e-3, 1e-5)


@dataclass(frozen=True, slots=True)
class Times:
    """Times of n rows, on the scale of the response, of each of which a posterior is known."""

    posterior: Nodes | Estimates  # of the rows that differ
    which: IntArray  # (n,), the one that each row is like

    @classmethod
    def of(cls, posterior: Nodes | Estimates) -> Times:
        """Rows of a process that are alike are done once."""
        if isinstance(posterior, Estimates):
            return cls(posterior, np.arange(len(posterior.x[0])))
        values = [posterior.mean, posterior.sd, *([posterior.sigma] if posterior.sigma.shape[1] > 1 else [])]
        _, first, which = np.unique(np.vstack(values), axis=1, return_index=True, return_inverse=True)
        return cls(posterior.take(first), which.ravel())

    @property
    def discrete(self) -> bool:
        """Whether they are counts."""
        return False

    @property
    def positive(self) -> bool:
        """Whether locations are those of logarithms."""
        return bool(self.posterior.new.log)

    def curve(self, of: str, times: Array, after: Array | None, level: float | None) -> dict[str, Array]:
        """One of ``CURVES`` at m times, counted from ``after`` (n,): ``mean``, with a level all of ``STATISTICS``.

        Arrays are (n, m).
        """
        if after is None:
            rows, starts, back = np.arange(self._size), None, self.which
        else:
            pairs, back = np.unique(np.column_stack([self.which, after]), axis=0, return_inverse=True)
            rows, starts, back = pairs[:, 0].astype(np.intp), pairs[:, 1], back.ravel()

        def chunk(span: slice) -> dict[str, Array]:
            part = self.posterior.take(rows[span])
            start = None if starts is None else starts[span, None] + 0.0 * times
            end = np.broadcast_to(times, (len(rows[span]), len(times))) if start is None else start + times
            question = CURVES[of](self.positive, end, start)
            beside = part.spread_over(len(times))
            return {"mean": question.number(beside.new)} if level is None else beside.band(question, level)

        made = self._over(chunk, len(rows), len(times))
        return {name: values[back] for name, values in made.items()}

    def survive(self, times: Array) -> Array:
        """Log probability of surviving times (n, m) of each row."""

        def chunk(span: slice) -> dict[str, Array]:
            part = self.posterior.take(self.which[span]).spread_over(times.shape[1])
            return {"": part.new.logsf(times[span])}

        return self._over(chunk, len(times), times.shape[1])[""]

    def percentile(self, p: float, after: Array | None) -> Array:
        """Times after ``after`` at which survival falls to p, (n,)."""
        if after is None:
            return np.atleast_1d(self.posterior.new.ppf(1.0 - p))[self.which]
        with np.errstate(all="ignore"):
            return self.posterior.take(self.which).new.remaining(p, after)

    def mean(self) -> Array:
        """Mean times, (n,)."""
        return self.posterior.new.mean()[self.which]

    def clipped(self, t: float, level: float | None) -> dict[str, Array]:
        """Mean of times clipped at 0 and t, which is the area below survival up to there; columns as of a curve."""
        n = self._size
        free = np.full(n, np.inf)
        question = observed(self.positive, np.zeros(n), np.full(n, t), -free, free)
        posterior = self.posterior
        made = {"mean": posterior.value(question)} if level is None else posterior.band(question, level)
        return {name: values[self.which] for name, values in made.items()}

    @property
    def _size(self) -> int:
        """Number of rows that differ."""
        return self.posterior.mean.shape[1] if isinstance(self.posterior, Nodes) else len(self.posterior.x[0])

    def _over(self, chunk: Callable[[slice], dict[str, Array]], n: int, m: int) -> dict[str, Array]:
        """Join what is made of n rows a chunk at a time."""
        nodes = isinstance(self.posterior, Nodes)
        J = len(self.posterior.weight) if isinstance(self.posterior, Nodes) else 1
        cells = _CELLS if nodes and self.posterior.normal else _MORE_CELLS  # type: ignore[union-attr]

        def quiet(span: slice) -> dict[str, Array]:
            with np.errstate(all="ignore"):
                return chunk(span)

        spans = list(row_chunks(0, n, max(cells // max(J * m, 1), 1))) or [slice(0, 0)]
        with single_blas_thread():
            made = map_independent(quiet, spans, heavy=n * m * J > _HEAVY)
        return {name: np.concatenate([one[name] for one in made]) for name in made[0]}


@dataclass(frozen=True, slots=True)
class TimeRows:
    """Rows that a question is about, and their times."""

    index: pd.Index
    usable: BoolArray  # (n_data,)
    times: Times  # of the usable rows

    def after(self, given: Any) -> Array | None:
        """Times survived already in the usable rows."""
        every = read_after(given, self.index)
        return None if every is None else every[self.usable]

    def spread(self, values: Array) -> Array:
        """Values of the usable rows among all rows, NaN elsewhere."""
        if self.usable.all():
            return values
        out = np.full((len(self.usable), *values.shape[1:]), np.nan)
        out[self.usable] = values
        return out


def rows_of(results: Results, df: Frame | None, exclude: Any = (), *, bands: bool = False) -> TimeRows:
    """Rows that a question is about, those of the training data by default."""
    parts = results.parts
    if df is None and parts.training is None and parts.spec.mixture is None:
        raise SpecError(f"{NO_ROWS}: give df=...")
    return results._time_rows(df, exclude, bands=bands)


def curve_table(rows: TimeRows, of: str, grid: Array, conditional_after: Any, interval: float | None) -> pd.DataFrame:
    """A curve over time for each row.

    Shapes: grid (m,), conditional_after (n_data,).
    """
    level = check_level(interval)
    made = rows.times.curve(of, grid, rows.after(conditional_after), level)
    names = ["mean"] if level is None else list(STATISTICS)
    values = np.stack([rows.spread(made[name]) for name in names], axis=1).reshape(-1, len(grid)).T
    if level is None:
        header: pd.Index = rows.index
    else:
        labels = rows.index.repeat(len(names))
        header = pd.MultiIndex.from_arrays([labels, names * len(rows.index)], names=["row", "statistic"])
    return pd.DataFrame(values, index=pd.Index(grid), columns=header)


def percentile_series(rows: TimeRows, p: Any, conditional_after: Any) -> pd.Series[float]:
    """Times at which survival falls to ``p``, one for each row, counted from ``conditional_after``."""
    if isinstance(p, bool) or not isinstance(p, _NUMBER) or not 0.0 < p < 1.0:
        raise SpecError(f"p={p!r}: a probability of survival strictly between 0 and 1 is needed, as p=0.5.")
    values = rows.times.percentile(float(p), rows.after(conditional_after))
    return pd.Series(rows.spread(values), index=rows.index, name=float(p))


def restricted_table(
    rows: TimeRows, t: Any, conditional_after: Any, interval: float | None
) -> pd.Series[float] | pd.DataFrame:
    """Area below survival up to ``t``, for each row and each of the times."""
    level, listed = check_level(interval), np.ndim(t) > 0
    times = read_times(t, "t")
    if (times <= 0.0).any():
        raise SpecError(f"t={t!r}: a positive time, or a list of them, is needed, as t=365.")
    after = rows.after(conditional_after)
    if level is not None and after is not None:
        raise SpecError("interval= does not go with conditional_after= in predict_restricted_mean().")
    known = rows.times
    made = [known.clipped(time, level) if after is None else {"mean": left_area(known, time, after)} for time in times]
    tables = [pd.DataFrame({n: rows.spread(v) for n, v in one.items()}, index=rows.index) for one in made]
    if level is not None:
        return pd.concat(tables, axis=1, keys=list(times), names=["time", "statistic"]) if listed else tables[0]
    together = pd.DataFrame({time: table["mean"] for time, table in zip(times, tables, strict=True)}, index=rows.index)
    return together if listed else together[times[0]].rename(float(times[0]))


def left_area(times: Times, t: float, after: Array | None) -> Array:
    """Area below survival for a time t from ``after`` on, given survival of that, (n,); (SUR5) of the theory pages."""
    with np.errstate(invalid="ignore"):
        knots = [np.clip(times.percentile(p, after), 0.0, t) for p in _BREAKS]
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


def read_after(conditional_after: Any, index: pd.Index) -> Array | None:
    """Times survived already, one for each row; a Series finds its rows by their labels."""
    if conditional_after is None:
        return None
    n = len(index)
    try:
        values = np.asarray(conditional_after, dtype=np.float64)
    except (TypeError, ValueError):
        values = np.array([np.nan])
    if values.ndim > 1 or (values.ndim == 1 and len(values) != n) or not np.isfinite(values).all():
        raise SpecError(f"conditional_after= takes one finite number, or one for each of the {n} rows.")
    if isinstance(conditional_after, pd.Series):
        matched = by_label("The times of conditional_after=", "conditional_after", conditional_after, index)
        values = matched.to_numpy(dtype=np.float64)
    return np.array(np.broadcast_to(values, n))


def read_times(times: Any, name: str = "times") -> Array:
    """A list of finite times, one at least."""
    try:
        grid = np.atleast_1d(np.asarray(times, dtype=np.float64))
    except (TypeError, ValueError):
        grid = np.full((1, 1), np.nan)
    if grid.ndim != 1 or not len(grid) or not np.isfinite(grid).all():
        raise SpecError(f"{name}= takes a list of finite numbers, as {name}=[10, 20, 50].")
    return grid


def seen_times(lower: Array, upper: Array) -> Array:
    """Distinct finite ends of rows, ascending."""
    ends = np.concatenate([lower, upper])
    return np.unique(ends[np.isfinite(ends)])


def refuse_dask(df: Any, what: str, instead: str) -> None:
    """Say what is lazy instead."""
    if is_dask(df):
        raise SpecError(f"{what}() takes rows in memory: use {instead}, which is lazy, or df.compute().")
