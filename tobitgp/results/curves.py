"""Curves of survival and hazard over time, as in lifelines."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.data.columns import evaluate
from tobitgp.data.frames import reads_frames
from tobitgp.data.table import read_table
from tobitgp.data.training_summary import NO_ROWS
from tobitgp.errors import ApproximationWarning, DataError, SpecError, user_level
from tobitgp.regression.start_stop_likelihood import Histories
from tobitgp.results.fit import Fit
from tobitgp.results.hazards.cells import AtRisk
from tobitgp.results.not_finite import warn_of_bands
from tobitgp.results.paths import Paths, check_order, read_subjects, refuse_parts
from tobitgp.results.predict import check_level
from tobitgp.results.rows import ask
from tobitgp.results.survival import STATISTICS, TimeRows, read_times, refuse_dask
from tobitgp.typing import Array, BoolArray, Frame

Excluded = str | Sequence[str]
_NET = (
    "This is net survival: survival of one cause as if the others did not occur. One minus net survival is not "
    "the probability of an event. Use predict_cumulative_incidence() of all causes for that."
)
_AVERAGED = 1_000_000  # rows times times that an average holds at once


def warn_net(results: Fit) -> None:
    """Say of one of several causes that its survival is net."""
    if results._of_cause:
        warnings.warn(_NET, ApproximationWarning, stacklevel=user_level())


@reads_frames
def predict_survival_function(
    results: Fit,
    df: Frame | None = None,
    times: Any = None,
    *,
    conditional_after: Any = None,
    interval: float | None = None,
    exclude: Excluded = (),
    id: str | None = None,
) -> pd.DataFrame:
    r"""Probability that the response before censoring lies above each time: (SUR1) and (SUR3) of the theory pages.

    For processes and mixtures this is the predictive distribution, with f, the noise and the hyper-parameters
    integrated over their posterior; for regressions it is evaluated at the estimates. Late entry of a row is ignored.

    Parameters
    ----------
    df : DataFrame or dict of columns, optional
        By default the training data; for a mixture, whose rows are all the same, one row called 0.
    times : list of float, optional
        On the scale of the response; the distinct training durations by default.
    conditional_after : float, or one for each row (a Series by its labels), optional
        Time a survived so far, on the scale of the response; ``times`` are then remaining times, and survival is
        :math:`S(a + t) / S(a)`. With a posterior, numerator and denominator are posterior means, which gives the
        predictive probability for a new row that has survived a. ``standardise()`` gives the mean of the ratio instead.
    interval : float, optional
        Probability of pointwise bands for the curve given the parameters. For a process they are posterior quantiles of
        :math:`S(t | f, \sigma)`, or of its ratio, (SUR8) and (SUR10). Otherwise they are normal in the logit, by the
        delta method (SUR7).
    exclude : str or list of str
        Terms to set to zero.
    id : str, optional
        Column of subjects whose covariates change from row to row (start, stop], for one curve per subject.
        ``family="ph"`` sums hazards; regressions of log time use accelerated time from time 0 on. ``df`` must have the
        start and stop columns of ``Surv(start, stop, event)``; the last stop may be infinite. The path of covariates is
        treated as known. If it implies that the subject is alive (an internal covariate, such as a blood value), the
        curve is not a probability of survival.

    Returns
    -------
    DataFrame
        Probabilities: times in the index, a column for each row, NaN where inputs are missing; with ``interval`` the
        columns are ``(row, mean|median|lower|upper)``. The mean is that of a new response. The band surrounds the
        median, and the mean may lie outside it. With ``id`` there is a column for each subject, NaN before its first
        start and after its last stop; if the first start is above 0, survival is conditional on surviving to it.

    Raises
    ------
    SpecError
        For times that are not finite numbers, an interval outside (0, 1), a dask DataFrame, or missing training rows;
        with ``id``, for fits that do not support it and for ``conditional_after``.
    DataError, UnseenLevelError
        If the rows cannot be used.

    Warns
    -----
    ApproximationWarning
        For results of one of several causes, whose survival is net survival.

    Examples
    --------
    >>> import tobitgp as tg
    >>> lung = tg.datasets.load("lung")
    >>> res = tg.fit("Surv(time, event) ~ age + sex", lung, family="weibull")
    >>> res.predict_survival_function(lung.head(2), [100, 365], conditional_after=[0, 300]).round(3)
               0      1
    100.0  0.803  0.673
    365.0  0.295  0.202
    """
    warn_net(results)
    return _curve(results, "survival", df, times, conditional_after, interval, exclude, id)


@reads_frames
def predict_cumulative_hazard(
    results: Fit,
    df: Frame | None = None,
    times: Any = None,
    *,
    conditional_after: Any = None,
    interval: float | None = None,
    exclude: Excluded = (),
    id: str | None = None,
) -> pd.DataFrame:
    r"""Cumulative hazard :math:`\Lambda(t) = -\log S(t)` of the response before censoring, S its survival function.

    (SUR2) of the theory pages; with ``conditional_after`` a it is :math:`\Lambda(a + t) - \Lambda(a)`, (SUR3). Bands by
    the delta method are normal in its logarithm.

    Parameters
    ----------
    df, times, conditional_after, interval, exclude, id
        As for :meth:`predict_survival_function`.

    Returns
    -------
    DataFrame
        Dimensionless, with the index and the columns of :meth:`predict_survival_function`.

    Raises
    ------
    SpecError, DataError, UnseenLevelError
        As for :meth:`predict_survival_function`.

    Examples
    --------
    >>> import tobitgp as tg
    >>> lung = tg.datasets.load("lung")
    >>> res = tg.fit("Surv(time, event) ~ age + sex", lung, family="weibull")
    >>> res.predict_cumulative_hazard(lung.head(2), [100, 365]).round(3)
               0      1
    100.0  0.219  0.199
    365.0  1.220  1.107
    """
    return _curve(results, "cumulative_hazard", df, times, conditional_after, interval, exclude, id)


@reads_frames
def predict_hazard(
    results: Fit,
    df: Frame | None = None,
    times: Any = None,
    *,
    conditional_after: Any = None,
    interval: float | None = None,
    exclude: Excluded = (),
    id: str | None = None,
) -> pd.DataFrame:
    """Hazard :math:`p(t) / S(t)` of the response before censoring, density over survival: (SUR2) of the theory pages.

    The hazard of a new response averages over uncertain parameters with weights proportional to survival. At late times
    it may therefore lie below the band of the hazard given the parameters, in which all draws have equal weights. Bands
    by the delta method are normal in its logarithm.

    Parameters
    ----------
    df, times, conditional_after, interval, exclude, id
        As for :meth:`predict_survival_function`.

    Returns
    -------
    DataFrame
        Per unit of time, with the index and the columns of :meth:`predict_survival_function`.

    Raises
    ------
    SpecError, DataError, UnseenLevelError
        As for :meth:`predict_survival_function`.

    Examples
    --------
    >>> import tobitgp as tg
    >>> lung = tg.datasets.load("lung")
    >>> res = tg.fit("Surv(time, event) ~ age + sex", lung, family="weibull")
    >>> res.predict_hazard(lung.head(2), [100, 365], interval=0.95)[0].round(4)
    statistic    mean  median   lower   upper
    100.0      0.0029  0.0029  0.0022  0.0039
    365.0      0.0044  0.0044  0.0033  0.0059
    """
    return _curve(results, "hazard", df, times, conditional_after, interval, exclude, id)


def is_time(results: Fit) -> bool:
    """Whether the response is a time: by ``Surv(...)``, or by a family of positive values, that of components too."""
    family: Any = results.parts.family
    positive = family.log_time if results.parts.spec.mixture is None else family.support != "real"
    return bool(positive or results.parts.spec.response.kind == "surv")


def _curve(
    results: Fit, of: str, df: Frame | None, times: Any, after: Any, interval: float | None, exclude: Any, id: Any
) -> pd.DataFrame:
    """A curve over time for each row, or each subject, with a level its band."""
    question = f"predict_{of}{'_function' * (of == 'survival')}"
    refuse_dask(df, question, 'predict(what="prob", above=[...])')
    grid, level = read_grid(results, times), check_level(interval)
    if id is not None:
        if after is not None:
            raise SpecError(
                "conditional_after= cannot be combined with id=. Divide the curve by its value at that time."
            )
        index, usable, made = along_paths(results, of, df, grid, id, level, exclude)
    else:
        rows = rows_of(results, df, exclude, bands=level is not None)
        index, usable, made = rows.index, rows.usable, rows.times.curve(of, grid, rows.after(after), level)
        warn_of_bands(results, f"{question}()", [made] if level is not None else [], rows)
    names, header = ["mean"], index
    if level is not None:
        names = list(STATISTICS)
        labels = index.to_flat_index().repeat(len(names))
        of_what = "row" if id is None else id
        header = pd.MultiIndex.from_arrays([labels, names * len(index)], names=[of_what, "statistic"])
    values = np.full((len(index), len(names), len(grid)), np.nan)
    for k, name in enumerate(names):
        values[usable, k] = made.pop(name)
    return pd.DataFrame(values.reshape(-1, len(grid)).T, index=pd.Index(grid), columns=header)


def read_grid(results: Fit, times: Any) -> Array:
    """Times requested, the distinct training durations by default."""
    if times is not None:
        return read_times(times)
    if results.parts.training is None:
        raise SpecError(f"{NO_ROWS}: give times=...")
    ends = np.concatenate(results._training_ends()[:2])
    return np.unique(ends[np.isfinite(ends)])


def average_curve(results: Fit, of: str, grid: Array, groups: Array | None = None, *, after: float = 0.0) -> Array:
    """A curve of ``CURVES``, averaged over the training rows by their weights, hazards by survival too.

    With ``after`` it is that of those who survived so long; the grid starts there or later.

    Shapes: grid (m,), groups (G, n), whether a row belongs to each; gives (G, m), or (m,) without groups.
    """
    refuse_parts(results, "use predict_survival_function() or standardise() with df=")
    known, weight = rows_of(results, None).times, results.parts.rows.response.weight
    share = weight if groups is None else weight * groups
    # A few times of all rows in one go, since rows are not all alike.
    each = max(_AVERAGED // len(weight), 1)
    parts = np.array_split(grid - after, -(-len(grid) // each))
    return np.concatenate([known.averaged(of, times, after, share) for times in parts], axis=-1)


def rows_of(results: Fit, df: Frame | None, exclude: Any = (), *, bands: bool = False) -> TimeRows:
    """Rows that a question is about, those of the training data by default."""
    parts = results.parts
    if df is None and parts.training is None and parts.spec.mixture is None:
        raise SpecError(f"{NO_ROWS}: give df=...")
    return results._time_rows(df, exclude, bands=bands)


def warn_of_tail(results: Fit, times: Array) -> None:
    """Warn that an area depends on times that no one was followed to."""
    if results.parts.training is None or results._averages_warn:
        return
    ends = np.concatenate(results._training_ends()[:2])
    last = float(ends[np.isfinite(ends)].max())
    if times.max() > last:
        warnings.warn(
            f"The restricted mean up to {times.max():g} depends on the tail of the family beyond {last:g}, the last "
            f"observed time. Give a t= up to that.",
            ApproximationWarning,
            stacklevel=user_level(),
        )


def read_paths(
    results: Fit, df: Frame | None, times: Array, id: Any, exclude: Any, *, from_zero: bool
) -> tuple[Paths, pd.Index, BoolArray]:
    """Rows of new data as paths, with the names of all subjects and which of them have values in all rows."""
    if df is None:
        raise SpecError(
            "id= requires df= with the rows of the subjects and the start and stop columns of Surv(start, stop, event)."
        )
    parts, frame = results.parts, pd.DataFrame(df)
    subject, (start, stop) = read_subjects(id, frame), _read_ends(results, frame)
    asked = ask(parts, frame, exclude)
    code, names = pd.factorize(subject)
    known = asked.usable & ~np.isnan(start) & ~np.isnan(stop)
    whole = ~np.isin(np.arange(len(names)), code[~known])
    rows = whole[code]
    one = np.ones(rows.sum())
    risk = AtRisk(start[rows], stop[rows], np.zeros(rows.sum(), dtype=bool), one)
    late = risk.exit <= risk.entry
    if late.any():
        raise DataError(f"Row {frame.index[rows][late][0]} ends at {risk.exit[late][0]:g}, not after its start.")
    check_order(subject[rows], risk, frame.index[rows], from_zero=from_zero)
    histories = Histories.of(np.unique(code[rows], return_inverse=True)[1], risk.entry, risk.exit)
    own = frame[list(parts.state.input_names)][rows]
    return Paths(asked.among(rows[asked.usable]), own, histories, times, exclude), pd.Index(names, name=id), whole


def _read_ends(results: Fit, frame: pd.DataFrame) -> tuple[Array, Array]:
    """Start, from time 0 on, and stop of rows, NaN where they are missing."""
    spec = results.parts.spec
    if spec.response.kind != "surv" or spec.truncation is None:
        raise SpecError(
            f"id= requires a fit of Surv(start, stop, event), and this fit was written {spec.response.label}."
        )
    names = spec.names("window", "response")
    lacking = [name for name in names if name not in frame.columns]
    if lacking:
        raise SpecError(
            f"id= requires the start and stop of each row. The new data lack {', '.join(map(repr, lacking))}."
        )
    table = read_table(frame, names)
    start, stop = (evaluate(of, table) for of in (spec.truncation.lower, spec.response.value) if of is not None)
    return np.maximum(start, 0.0), stop


def along_paths(
    results: Fit, of: str, df: Frame | None, times: Array, id: Any, level: float | None, exclude: Any
) -> tuple[pd.Index, BoolArray, dict[str, Array]]:
    """One of ``CURVES`` of each subject, (m, T), NaN where its path says nothing; names of all and which are known."""
    paths, names, whole = read_paths(results, df, times, id, exclude, from_zero=results._from_zero)
    with np.errstate(all="ignore"):
        made = results._along(of, paths, level)
    unknown = paths.unknown()
    return names, whole, {name: np.where(unknown, np.nan, values) for name, values in made.items()}
