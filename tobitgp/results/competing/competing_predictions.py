"""Incidence of causes and survival of all, for rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from tobitgp.data.frames import reads_frames
from tobitgp.data.linear_columns import INTERCEPT
from tobitgp.data.training_summary import NO_ROWS
from tobitgp.engines import row_chunks, single_blas_thread
from tobitgp.errors import SpecError
from tobitgp.numerics.sampling import generator
from tobitgp.results.competing.competing_draws import DrawnDistributions, draw_cause
from tobitgp.results.competing.incidence import Curves, find_rule, integrate, predictive, start_of
from tobitgp.results.hazards.cell_times import HazardTimes
from tobitgp.results.predict import check_level
from tobitgp.results.rows import Labelled, ask
from tobitgp.results.survival import STATISTICS, TimeRows, Times, read_times, refuse_dask
from tobitgp.results.terms import find_terms, model_terms
from tobitgp.typing import Array, Frame, IntArray

if TYPE_CHECKING:
    from tobitgp.results.competing.competing_results import CompetingRisksResults

DRAWS = 2000
_TRIED = 8  # rows on which the quadrature is tried
_CELLS = 2_000_000  # rows times times (times draws) that are held at once


@dataclass(frozen=True, slots=True)
class CauseRows(Labelled):
    """Rows that a question is about, n of which can be used by the fits of all causes."""

    causes: tuple[Times, ...]  # of the usable rows
    after: Array | None  # (n,), times survived
    excluded: tuple[list[str], ...]  # terms of the model of each cause that are left out

    @classmethod
    def of(cls, results: CompetingRisksResults, df: Frame | None, after: Any, exclude: Any = ()) -> CauseRows:
        """Rows of new data, or of the training data."""
        if df is None and results.parts.seen is None:
            raise SpecError(f"{NO_ROWS}: give df=...")
        fits, excluded = list(results.parts.fits.values()), _excluded(results, exclude)
        rows = [fit._time_rows(df, names, bands=False) for fit, names in zip(fits, excluded, strict=True)]
        usable = np.logical_and.reduce([row.usable for row in rows])
        causes = tuple(replace(row.times, which=row.times.which[usable[row.usable]]) for row in rows)
        survived = TimeRows(rows[0].index, usable, causes[0]).after(after)
        if survived is not None and (survived < 0.0).any():
            raise SpecError("conditional_after= takes times that were survived; none is negative.")
        return cls(rows[0].index, usable, causes, survived, excluded)

    @property
    def begin(self) -> Array:
        """Times survived, 0 where none are given, (n,)."""
        return np.zeros(len(self.causes[0].which)) if self.after is None else self.after

    def last(self, times: Array) -> float:
        """The last time of any row."""
        return float(times.max() + self.begin.max(initial=0.0))

    def breaks(self, times: Array) -> Array:
        """Times, counted from those survived, at which hazards may jump."""
        cuts = [cause.cuts(self.last(times)) for cause in self.causes if isinstance(cause, HazardTimes)]
        return np.unique(np.concatenate([np.zeros(0), *cuts])[:, None] - np.unique(self.begin))

    def scale(self, span: slice, times: Array) -> tuple[float, IntArray]:
        """A time before which next to nothing happens in some rows, and a few of these from low to high hazards."""
        curves, at = self.curves(span), np.arange(len(self.begin))[span]
        order = np.argsort(curves(times.max(keepdims=True))[1].sum(axis=0)[:, 0], kind="stable")
        few = order[np.unique(np.linspace(0, len(order) - 1, _TRIED).astype(np.intp))]
        return start_of(curves, times), at[few]

    def curves(self, span: slice | IntArray) -> Curves:
        """Predictive hazards of some of the rows."""
        part = [replace(cause, which=cause.which[span]) for cause in self.causes]
        return predictive(part, None if self.after is None else self.after[span])

    def drawn(self, results: CompetingRisksResults, df: Frame | None, times: Array) -> list[DrawnDistributions]:
        """Draws of the hazards of all causes, whose parameters are independent."""
        rng, last, out = generator(None), self.last(times), []
        for fit, cause, names in zip(results.parts.fits.values(), self.causes, self.excluded, strict=True):
            asked = ask(fit.parts, df, names)
            out.append(draw_cause(fit.parts, asked.among(self.usable[asked.usable]), cause, last, DRAWS, rng))
        return out


def _excluded(results: CompetingRisksResults, exclude: Any) -> tuple[list[str], ...]:
    """Terms to leave out of the model of each cause, of those that it has; one that none has is refused."""
    fits = [fit.parts for fit in results.parts.fits.values()]
    names = [exclude] if isinstance(exclude, str) or not isinstance(exclude, Sequence) else list(exclude)
    known = [{term.name for term in model_terms(parts)} - {INTERCEPT} for parts in fits]
    for name in names:
        if not any(name in terms for terms in known):
            find_terms(max(fits, key=lambda parts: len(model_terms(parts))), [name])
    return tuple([name for name in names if name in terms] for terms in known)


@reads_frames
def predict_cumulative_incidence(
    results: CompetingRisksResults,
    df: Frame | None = None,
    times: Any = None,
    cause: Any = None,
    interval: float | None = None,
    conditional_after: Any = None,
    *,
    exclude: str | Sequence[str] = (),
) -> pd.DataFrame:
    r"""Cumulative incidence :math:`F_k(t)`: probability of an event of cause k by time t, beside the other causes.

    With survival of all causes together, :meth:`predict_survival_function`, incidences of all causes add up to one.

    Parameters
    ----------
    df : DataFrame or dict of columns, optional
        By default the training data.
    times : list of float, optional
        On the scale of the response; the distinct training durations by default.
    cause : optional
        One of ``causes``; all without.
    interval : float, optional
        Probability of pointwise bands: quantiles of :math:`F_k(t)` over 2000 draws of the parameters, those of each
        cause independent of the others'.
    conditional_after : float, or one for each row (a Series by its labels), optional
        Time survived already without any event, s, on the scale of the response; ``times`` are then remaining times,
        and the incidence is :math:`\{F_k(s + t) - F_k(s)\} / S(s)`.
    exclude : str or list of str
        Terms that are left out of the models of all causes that have them, as ``"re(hospital)"``.

    Returns
    -------
    DataFrame
        Probabilities: times in the index, columns ``(cause, row)``, of one cause ``row``, NaN where inputs are missing;
        with ``interval`` also the level ``mean|median|lower|upper``. Of a regression the mean is that at the
        estimates; of processes the posterior mean, by the predictive hazards of each cause.

    Raises
    ------
    SpecError
        For times that are no finite numbers, an unknown cause or term, an interval outside (0, 1), a dask DataFrame, or
        lacking training rows.
    DataError, UnseenLevelError
        If the rows cannot be used.

    References
    ----------
    (CR2) to (CR5) of the theory pages.

    Examples
    --------
    >>> import tobitgp as tg
    >>> lung = tg.datasets.load("lung").assign(cause=lambda d: d["event"] * (1 + (d["age"] > 65)))
    >>> res = tg.fit("Surv(time, cause) ~ sex", lung, family="weibull")
    >>> res.predict_cumulative_incidence(lung.head(1), [100, 365]).round(3)
    cause      1      2
    row        0      0
    100.0  0.079  0.090
    365.0  0.328  0.311
    """
    refuse_dask(df, "predict_cumulative_incidence", "rows in memory, df.compute()")
    grid, level = _read_grid(results, times), check_level(interval)
    chosen = list(results.causes) if cause is None else [results._check_cause(cause)]
    rows = CauseRows.of(results, df, conditional_after, exclude)
    found = incidences(results, df, rows, grid, level)
    tables = {}
    for one in chosen:
        k = results.causes.index(one)
        tables[one] = _table(rows, {name: of[k] for name, of in found.items()}, grid)
    if cause is not None:
        return tables[cause]
    return pd.concat(tables, axis=1, names=["cause", "row", "statistic"][: 2 + (level is not None)])


@reads_frames
def predict_survival_function(
    results: CompetingRisksResults,
    df: Frame | None = None,
    times: Any = None,
    *,
    conditional_after: Any = None,
    interval: float | None = None,
    exclude: str | Sequence[str] = (),
) -> pd.DataFrame:
    r"""Probability of no event of any cause by each time: the product of the net survivals of all causes.

    Parameters
    ----------
    df, times, conditional_after, interval, exclude
        As of :meth:`predict_cumulative_incidence`.

    Returns
    -------
    DataFrame
        Probabilities: times in the index, a column for each row, NaN where inputs are missing; with ``interval`` the
        columns are ``(row, mean|median|lower|upper)``.

    Raises
    ------
    SpecError, DataError, UnseenLevelError
        As of :meth:`predict_cumulative_incidence`.

    References
    ----------
    (CR1) of the theory pages.

    Examples
    --------
    >>> import tobitgp as tg
    >>> lung = tg.datasets.load("lung").assign(cause=lambda d: d["event"] * (1 + (d["age"] > 65)))
    >>> res = tg.fit("Surv(time, cause) ~ sex", lung, family="weibull")
    >>> res.predict_survival_function(lung.head(1), [100, 365]).round(3)
               0
    100.0  0.831
    365.0  0.361
    """
    refuse_dask(df, "predict_survival_function", "rows in memory, df.compute()")
    grid, level = _read_grid(results, times), check_level(interval)
    rows = CauseRows.of(results, df, conditional_after, exclude)
    each = [cause.curve("survival", grid, rows.after, None)["mean"] for cause in rows.causes]
    found = {"mean": np.prod(each, axis=0)}
    if level is not None:
        drawn, made = rows.drawn(results, df, grid), []
        for span in row_chunks(0, len(rows.begin), max(_CELLS // (DRAWS * len(grid)), 1)):
            H = sum(draws.at(grid, rows.begin, span)[1] for draws in drawn)
            made.append(_quantiles(np.exp(-np.asarray(H)), level))
        found |= _joined(made, STATISTICS[1:], np.zeros((0, len(grid))))
    return _table(rows, found, grid)


def incidences(
    results: CompetingRisksResults, df: Frame | None, rows: CauseRows, grid: Array, level: float | None
) -> dict[str, Array]:
    """Incidence (K, n, m) of the usable rows: ``mean``, with a level all of ``STATISTICS``."""
    K, n, m = len(rows.causes), len(rows.begin), len(grid)
    names = STATISTICS[:1] if level is None else STATISTICS
    if not (grid > 0.0).any():
        return dict.fromkeys(names, np.zeros((K, n, m)))
    breaks, made = rows.breaks(grid), []
    drawn = None if level is None else rows.drawn(results, df, grid)
    with single_blas_thread():
        for span in row_chunks(0, n, 1 if drawn else max(_CELLS // (4 * (m + len(breaks)) + 600), 1)):
            first, typical = rows.scale(span, grid)
            rule = find_rule(rows.curves(typical), first, grid, breaks)
            made.append({"mean": integrate(rule, rows.curves(span), max(_CELLS // (K * (span.stop - span.start)), 1))})
            if drawn is not None and level is not None:
                drawn_here = partial(_drawn_curves, drawn, rows.begin, span)
                made[-1] |= _quantiles(integrate(rule, drawn_here, max(_CELLS // (K * DRAWS), 1)), level)
    return _joined(made, names, np.zeros((K, 0, m)))


def _drawn_curves(drawn: Sequence[DrawnDistributions], begin: Array, span: slice, times: Array) -> tuple[Array, Array]:
    """Draws of hazards and cumulative hazards of some rows, (K, n, q, S) each."""
    hazard, cumulative = zip(*(each.at(times, begin, span) for each in drawn), strict=True)
    return np.stack(hazard), np.stack(cumulative)


def _quantiles(values: Array, level: float) -> dict[str, Array]:
    """``median``, ``lower`` and ``upper`` over the draws on the last axis."""
    tail = 0.5 - 0.5 * level
    return dict(zip(STATISTICS[1:], np.quantile(values, [0.5, tail, 1.0 - tail], axis=-1), strict=True))


def _joined(made: list[dict[str, Array]], names: Sequence[str], empty: Array) -> dict[str, Array]:
    """Statistics of chunks of rows together, beside an array without rows."""
    return {name: np.concatenate([empty, *(one[name] for one in made)], axis=-2) for name in names}


def _read_grid(results: CompetingRisksResults, times: Any) -> Array:
    """Times that are asked about, the distinct training durations by default."""
    if times is not None:
        return read_times(times)
    if results.parts.seen is None:
        raise SpecError(f"{NO_ROWS}: give times=...")
    return np.unique(results.parts.seen.time)


def _table(rows: CauseRows, found: dict[str, Array], grid: Array) -> pd.DataFrame:
    """Curves (n, m) of rows as columns."""
    names, header = list(found), rows.index
    if len(names) > 1:
        labels = rows.index.to_flat_index().repeat(len(names))
        header = pd.MultiIndex.from_arrays([labels, names * len(rows.index)], names=["row", "statistic"])
    values = np.stack([rows.spread(found[name]) for name in names], axis=1)
    return pd.DataFrame(values.reshape(-1, len(grid)).T, index=pd.Index(grid), columns=header)
