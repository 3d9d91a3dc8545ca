"""Curves of survival and hazard over time, in lifelines' words."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from tobitgp.data.frames import reads_frames
from tobitgp.data.table import kind_of
from tobitgp.data.training_summary import NO_ROWS
from tobitgp.errors import ApproximationWarning, SpecError, user_level
from tobitgp.results.paths import PARTS, along_paths
from tobitgp.results.predict import check_level
from tobitgp.results.survival import STATISTICS, read_times, refuse_dask, rows_of
from tobitgp.typing import Array, Frame

if TYPE_CHECKING:
    from tobitgp.results.results import Results

Excluded = str | Sequence[str]
_NET = (
    "This is net survival, of one cause as if the others did not occur: one minus it is no probability of an event, "
    "which predict_cumulative_incidence() of all causes has."
)
_AVERAGED = 1_000_000  # rows times times that an average holds at once


def warn_net(results: Results) -> None:
    """Say of one of several causes that its survival is net."""
    if results._of_cause:
        warnings.warn(_NET, ApproximationWarning, stacklevel=user_level())


@reads_frames
def predict_survival_function(
    results: Results,
    df: Frame | None = None,
    times: Any = None,
    *,
    conditional_after: Any = None,
    interval: float | None = None,
    exclude: Excluded = (),
    id: str | None = None,
) -> pd.DataFrame:
    r"""Probability that the response before censoring lies above each time: (SUR1) and (SUR3) of the theory pages.

    Of a process and a mixture that of the predictive distribution, in which f, the noise and the hyper-parameters are
    integrated over their posterior; of a regression that at the estimates. Rows that entered late are given the
    distribution of those who enter at once.

    Parameters
    ----------
    df : DataFrame or dict of columns, optional
        By default the training data; of a mixture, whose rows are all the same, one row called 0.
    times : list of float, optional
        On the scale of the response; the distinct training durations by default.
    conditional_after : float, or one for each row (a Series by its labels), optional
        Time survived already, on the scale of the response, a; ``times`` are then remaining times, and survival
        is :math:`S(a + t) / S(a)`.
    interval : float, optional
        Probability of pointwise bands, which say how well the curve given the parameters is known. Of a process
        they hold posterior quantiles of :math:`S(t | f, \sigma)`, or of its ratio, (SUR8) and (SUR10); else they are
        normal in the logit, by the delta method (SUR7).
    exclude : str or list of str
        Terms to set to zero.
    id : str, optional
        The column that names the subject of each row, whose rows (start, stop] follow each other with covariates that
        change, for a curve of each subject: of ``family="ph"`` by the sum of hazards, of regressions of log time by
        the accelerated time, from time 0 on. ``df`` has the columns of start and stop of the formula's
        ``Surv(start, stop, event)``; the last stop may be infinite. The path is taken as given: where it says that the
        subject lives, as a blood value that is measured as long as it does (an internal covariate), this is no
        probability of survival.

    Returns
    -------
    DataFrame
        Probabilities: times in the index, a column for each row, NaN where inputs are missing; with ``interval``
        the columns are ``(row, mean|median|lower|upper)``. The mean is that of a new response; the median has the
        band around it, and the mean may lie outside. With ``id`` a column for each subject, NaN before its first
        start and after its last stop; from a later start on survival is given that of this.

    Raises
    ------
    SpecError
        For times that are no finite numbers, an interval outside (0, 1), a dask DataFrame, or lacking training rows;
        with ``id`` for fits of another kind, and ``conditional_after``.
    DataError, UnseenLevelError
        If the rows cannot be used.

    Warns
    -----
    ApproximationWarning
        If these are results of one of several causes, whose survival is net survival.

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
    results: Results,
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
        As of :meth:`predict_survival_function`.

    Returns
    -------
    DataFrame
        In no units, with the index and the columns of :meth:`predict_survival_function`.

    Raises
    ------
    SpecError, DataError, UnseenLevelError
        As of :meth:`predict_survival_function`.

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
    results: Results,
    df: Frame | None = None,
    times: Any = None,
    *,
    conditional_after: Any = None,
    interval: float | None = None,
    exclude: Excluded = (),
    id: str | None = None,
) -> pd.DataFrame:
    """Hazard :math:`p(t) / S(t)` of the response before censoring, density over survival: (SUR2) of the theory pages.

    That of a new response whose parameters are uncertain weights them by survival, so that at late times it may lie
    below the band of the hazard given the parameters, in which every draw of them counts the same at all times. Bands
    by the delta method are normal in its logarithm.

    Parameters
    ----------
    df, times, conditional_after, interval, exclude, id
        As of :meth:`predict_survival_function`.

    Returns
    -------
    DataFrame
        Per unit of time, with the index and the columns of :meth:`predict_survival_function`.

    Raises
    ------
    SpecError, DataError, UnseenLevelError
        As of :meth:`predict_survival_function`.

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


@reads_frames
def plot_survival(
    results: Results,
    ax: Any = None,
    *,
    df: Frame | None = None,
    times: Any = None,
    interval: float | None = 0.95,
    center: str = "median",
    by: str | pd.Series[Any] | None = None,
    at_risk: bool = False,
) -> Any:
    """Survival over time.

    With ``by`` or ``at_risk`` the average of the fit over the rows of each group, by their weights, as a line over the
    steps of the same rows: Kaplan and Meier's estimate [1]_, of up to four groups with its 95% band, or Turnbull's
    where some rows are intervals. The log-rank test of the groups stands above, unless rows are intervals or entered
    late. Where all rows entered late both are survival after the first entry.

    Without ``df`` that of a mixture with its band, or the average over all training rows by their weights, beside
    Kaplan and Meier's estimate where rows are right-censored (with its 95% band where they entered late, since few
    are at risk early); with ``df`` a curve and its band for each row.

    Parameters
    ----------
    ax : matplotlib axes, optional
        To draw on; new ones without.
    df : DataFrame or dict of columns, optional
        Up to eight rows.
    times : list of float, optional
        On the scale of the response; by default up to the last time seen.
    interval : float or None
        Probability of the bands.
    center : {"median", "mean"}
        The curve drawn with a band: that of the band's own quantities, or the predictive one, which may leave the
        band. Without ``interval`` the predictive one.
    by : str or Series of str, optional
        Up to eight groups of the training rows: a column of the formula, or a label for each row of the data, found by
        the index.
    at_risk : bool
        Write below the axis the number of rows of each group that are at risk just before each tick.

    Returns
    -------
    matplotlib axes

    Raises
    ------
    SpecError
        If ``center`` is another word, ``ax`` is no matplotlib axes, there are more than eight rows or groups, ``by``
        is no column of the formula, or the fit holds no training rows and no ``df`` is given.

    References
    ----------
    .. [1] Kaplan and Meier (1958), Nonparametric estimation from incomplete observations, *JASA* 53, 457-481.

    Examples
    --------
    >>> import tobitgp as tg
    >>> lung = tg.datasets.load("lung")
    >>> res = tg.fit("Surv(time, event) ~ age + sex", lung, family="weibull")
    >>> ax = res.plot_survival(df=lung.head(2))
    >>> len(ax.lines), ax.get_ylabel()
    (2, 'survival')
    >>> res.plot_survival(by="sex", at_risk=True).get_title(loc="left")
    'log-rank chi2(1) = 10.33, p = 0.0013'
    """
    if by is not None or at_risk:
        return _plot_groups(results, ax, times, df, by, at_risk=at_risk)
    return _plot("survival", results, ax, times, df=df, interval=interval, center=center)


@reads_frames
def plot_hazard(
    results: Results,
    ax: Any = None,
    *,
    df: Frame | None = None,
    times: Any = None,
    interval: float | None = 0.95,
    center: str = "median",
) -> Any:
    """Hazard over time.

    Without ``df`` that of a mixture with its band, or the average over all training rows by their weights and
    their survival to each time; with ``df`` a curve and its band for each row.

    Parameters
    ----------
    ax, df, times, interval, center
        As of :meth:`plot_survival`.

    Returns
    -------
    matplotlib axes

    Raises
    ------
    SpecError
        As of :meth:`plot_survival`, and if the response is no time: neither ``Surv(...)`` nor positive by its family.

    Examples
    --------
    >>> import tobitgp as tg
    >>> lung = tg.datasets.load("lung")
    >>> res = tg.fit("Surv(time, event) ~ age + sex", lung, family="weibull")
    >>> ax = res.plot_hazard(df=lung.head(2))
    >>> len(ax.lines), ax.get_ylabel()
    (2, 'hazard')
    """
    if not is_time(results):
        remedy = "write Surv(time, event), or use a family of positive times"
        raise SpecError(f"plot_hazard() is of times, and {results.model.endog_names} may be negative; {remedy}.")
    return _plot("hazard", results, ax, times, df=df, interval=interval, center=center)


def is_time(results: Results) -> bool:
    """Whether the response is a time: by ``Surv(...)``, or by a family of positive values, that of components too."""
    family: Any = results.parts.family
    positive = family.log_time if results.parts.spec.mixture is None else family.support != "real"
    return bool(positive or results.parts.spec.response.kind == "surv")


def _plot(of: str, results: Results, ax: Any, times: Any, **options: Any) -> Any:
    """Axes with curves, and what is known of the training rows where they are held."""
    from tobitgp.report.plots import plot_over_time

    grid, seen = None if times is None else read_times(times), None
    if results.parts.training is not None:
        seen = (*results._training_ends(), results.parts.rows.response.entry)
    return plot_over_time(of, results, seen, ax, times=grid, **options)


def _plot_groups(results: Results, ax: Any, times: Any, df: Any, by: Any, *, at_risk: bool) -> Any:
    """Axes with the average curve of each group over the steps of its rows."""
    from tobitgp.report.plots import plot_averages

    if df is not None or results.parts.spec.mixture is not None:
        other = "df=" if df is not None else "a mixture, which has no columns"
        raise SpecError(f"by= and at_risk= draw groups of training rows; they do not go with {other}.")
    if results.parts.training is None:
        raise SpecError(f"{NO_ROWS}, so that there are no groups to draw.")
    seen = (*results._training_ends(), results.parts.rows.response.entry)
    grid, labels = None if times is None else read_times(times), None if by is None else group_labels(results, by)
    return plot_averages(results, seen, ax, times=grid, labels=labels, at_risk=at_risk)


def group_labels(results: Results, by: Any) -> pd.Series[Any]:
    """A label for each training row, under the name of the labels."""
    covariates, rows = results.model.data.frame, results.parts.rows.labels
    if isinstance(by, pd.Series):
        if not by.index.is_unique or not pd.Index(rows).isin(by.index).all():
            raise SpecError("by= is a Series whose index has not each row of the training data once.")
        return by.loc[rows].rename(str(by.name or "by"))
    if not isinstance(by, str):
        raise SpecError(f"by= takes the name of a column, or a Series with the index of the data, not {kind_of(by)}.")
    assert covariates is not None
    if by not in covariates.columns:
        has = ", ".join(map(repr, covariates.columns)) or "no column"
        raise SpecError(
            f"by={by!r} is no column of the formula, which has {has}; other groups are given as a Series, by=data[...]."
        )
    return covariates[by]


def _curve(
    results: Results, of: str, df: Frame | None, times: Any, after: Any, interval: float | None, exclude: Any, id: Any
) -> pd.DataFrame:
    """A curve over time for each row, or each subject, with a level its band."""
    refuse_dask(df, f"predict_{of}{'_function' * (of == 'survival')}", 'predict(what="prob", above=[...])')
    grid, level = read_grid(results, times), check_level(interval)
    if id is not None:
        if after is not None:
            raise SpecError("conditional_after= does not go with id=: divide the curve by its value at that time.")
        index, usable, made = along_paths(results, of, df, grid, id, level, exclude)
    else:
        rows = rows_of(results, df, exclude, bands=level is not None)
        index, usable, made = rows.index, rows.usable, rows.times.curve(of, grid, rows.after(after), level)
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


def read_grid(results: Results, times: Any) -> Array:
    """Times that are asked about, the distinct training durations by default."""
    if times is not None:
        return read_times(times)
    if results.parts.training is None:
        raise SpecError(f"{NO_ROWS}: give times=...")
    ends = np.concatenate(results._training_ends()[:2])
    return np.unique(ends[np.isfinite(ends)])


def average_curve(results: Results, of: str, grid: Array, groups: Array | None = None, *, after: float = 0.0) -> Array:
    """A curve of ``CURVES``, averaged over the training rows by their weights, hazards by survival too.

    With ``after`` it is that of those who survived so long; the grid starts there or later.

    Shapes: grid (m,), groups (G, n), whether a row belongs to each; gives (G, m), or (m,) without groups.
    """
    if results._of_subjects:
        raise SpecError(PARTS)
    known, weight = rows_of(results, None).times, results.parts.rows.response.weight
    share, since = weight if groups is None else weight * groups, np.full(len(weight), after) if after else None
    out = [np.zeros((*share.shape[:-1], 0))]
    # A few times of all rows in one go, since rows are not all alike.
    each = max(_AVERAGED // len(weight), 1)
    for times in np.array_split(grid, -(-len(grid) // each)):
        if of == "survival":
            out.append(share @ known.curve(of, times - after, since, None)["mean"] / share.sum(axis=-1, keepdims=True))
            continue
        hazard, cumulative = known.rates(times - after, since)
        alive = np.exp(-cumulative)
        with np.errstate(invalid="ignore"):  # NaN where no one is left
            out.append((share @ (alive * (hazard if of == "hazard" else cumulative))) / (share @ alive))
    return np.concatenate(out, axis=-1)
