"""Figures of survival and hazards over time. matplotlib is loaded when one is drawn."""

from __future__ import annotations

from typing import Any

import pandas as pd

from tobitgp.data.frames import reads_frames
from tobitgp.data.table import kind_of
from tobitgp.data.training_summary import NO_ROWS
from tobitgp.errors import SpecError
from tobitgp.results.curves import is_time
from tobitgp.results.fit import Fit
from tobitgp.results.survival import read_times
from tobitgp.typing import Frame


@reads_frames
def plot_survival(
    results: Fit,
    ax: Any = None,
    *,
    df: Frame | None = None,
    times: Any = None,
    interval: float | None = 0.95,
    center: str = "median",
    by: str | pd.Series[Any] | None = None,
    at_risk: bool = False,
) -> Any:
    """Draw survival over time.

    With ``by`` or ``at_risk``, the figure shows the weighted average of the fit over the rows of each group as a line,
    and the nonparametric estimate of the same rows as steps: the Kaplan-Meier estimate [1]_, with its 95% band for up
    to four groups, or the Turnbull estimate if some rows are interval-censored. The log-rank test of the groups is
    printed above, unless rows are interval-censored. If all rows entered late, both are survival after
    the first entry.

    Without ``df``, the figure shows the curve of a mixture with its band, or the weighted average over all training
    rows, and the Kaplan-Meier estimate if rows are right-censored (with its 95% band if they entered late, since few
    are at risk early). With ``df``, it shows a curve and its band for each row.

    Parameters
    ----------
    ax : matplotlib axes, optional
        Axes to draw on; new axes by default.
    df : DataFrame or dict of columns, optional
        Up to eight rows.
    times : list of float, optional
        On the scale of the response; by default up to the last time seen.
    interval : float or None
        Probability of the bands.
    center : {"median", "mean"}
        The curve drawn with a band: the median of the curves of the band, or the predictive mean, which may lie outside
        the band. Without ``interval``, the predictive mean.
    by : str or Series of str, optional
        Up to eight groups of the training rows: a column of the formula, or a label for each row of the data, aligned
        by the index.
    at_risk : bool
        Print the number of rows at risk in each group just before each tick, below the axis.

    Returns
    -------
    matplotlib axes

    Raises
    ------
    SpecError
        If ``center`` has another value, ``ax`` is not a matplotlib axes object, there are more than eight rows or
        groups, ``by`` is not a column of the formula, or the fit holds no training rows and no ``df`` is given.

    References
    ----------
    .. [1] E. L. Kaplan and P. Meier (1958), Nonparametric estimation from incomplete observations, *JASA* 53, 457-481.

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
    results: Fit,
    ax: Any = None,
    *,
    df: Frame | None = None,
    times: Any = None,
    interval: float | None = 0.95,
    center: str = "median",
) -> Any:
    """Draw the hazard over time.

    Without ``df``, the figure shows the curve of a mixture with its band, or the average over all training rows,
    weighted by their weights and their survival to each time. With ``df``, it shows a curve and its band for each row.

    Parameters
    ----------
    ax, df, times, interval, center
        As for :meth:`plot_survival`.

    Returns
    -------
    matplotlib axes

    Raises
    ------
    SpecError
        As for :meth:`plot_survival`, and if the response is not a time: neither ``Surv(...)`` nor positive by its
        family.

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
        raise SpecError(f"plot_hazard() requires times, and {results.model.endog_names} may be negative; {remedy}.")
    return _plot("hazard", results, ax, times, df=df, interval=interval, center=center)


def _plot(of: str, results: Fit, ax: Any, times: Any, **options: Any) -> Any:
    """Axes with curves, and what is known about the training rows where they are held."""
    from tobitgp.report.plots import plot_over_time

    grid, seen = None if times is None else read_times(times), None
    if results.parts.training is not None:
        seen = (*results._training_ends(), results.parts.rows.response.entry)
    return plot_over_time(of, results, seen, ax, times=grid, **options)


def _plot_groups(results: Fit, ax: Any, times: Any, df: Any, by: Any, *, at_risk: bool) -> Any:
    """Axes with the average curve of each group over the steps of its rows."""
    from tobitgp.report.plots import plot_averages

    if df is not None or results.parts.spec.mixture is not None:
        other = "df=" if df is not None else "a mixture, which has no columns"
        raise SpecError(
            f"by= and at_risk= draw groups of training rows, and cannot be combined with {other}. Leave them out."
        )
    if results.parts.training is None:
        raise SpecError(f"{NO_ROWS}, so that there are no groups to draw.")
    seen = (*results._training_ends(), results.parts.rows.response.entry)
    grid, labels = None if times is None else read_times(times), None if by is None else group_labels(results, by)
    return plot_averages(results, seen, ax, times=grid, labels=labels, at_risk=at_risk)


def group_labels(results: Fit, by: Any) -> pd.Series[Any]:
    """A label for each training row, under the name of the labels."""
    covariates, rows = results.model.data.frame, results.parts.rows.labels
    if isinstance(by, pd.Series):
        if not by.index.is_unique or not pd.Index(rows).isin(by.index).all():
            raise SpecError("by= must be a Series whose index has each row of the training data exactly once.")
        return by.loc[rows].rename(str(by.name or "by"))
    if not isinstance(by, str):
        raise SpecError(f"by= must be the name of a column or a Series with the index of the data, not {kind_of(by)}.")
    assert covariates is not None
    if by not in covariates.columns:
        has = ", ".join(map(repr, covariates.columns)) or "no column"
        raise SpecError(
            f"by={by!r} is not a column of the formula, which has {has}. Give other groups as a Series, by=data[...]."
        )
    return covariates[by]
