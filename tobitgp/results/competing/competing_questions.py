"""Scores, diagnostics and the figure of competing risks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tobitgp.data.frames import reads_frames
from tobitgp.data.training_summary import NO_ROWS
from tobitgp.diagnostics.residual_tests import Check
from tobitgp.errors import SpecError
from tobitgp.results.competing import competing_predictions
from tobitgp.results.survival import read_times

if TYPE_CHECKING:
    from tobitgp.formula.competing_risks import Cause
    from tobitgp.results.competing.competing_results import CompetingRisksResults
    from tobitgp.typing import Frame


@reads_frames
def score(results: CompetingRisksResults, df: Frame, cause: Cause | None = None, *, weights: Any = None) -> float:
    """Mean log likelihood of new rows: of their times and causes, or by the model of one cause.

    The sum over causes of the scores that their results have, each a mean over the rows of which it knows the
    covariates.

    Parameters
    ----------
    df : DataFrame or dict of columns
        With the columns of the model, times and causes included.
    cause : str or int, optional
        One of ``causes``, to whose model other causes are censoring; all without.
    weights : str, (n,) array or Series, optional
        Frequency weights of the rows, or the column that holds them.

    Returns
    -------
    float
        In nats a row.

    Raises
    ------
    SpecError
        For an unknown cause, lacking columns, or rows of which nothing is known.
    DataError
        If the rows or weights cannot be used.

    References
    ----------
    (CR1) and minus (MET12) of the theory pages.

    Examples
    --------
    >>> import tobitgp as tg
    >>> lung = tg.datasets.load("lung").assign(cause=lambda d: d["event"] * (1 + (d["age"] > 65)))
    >>> res = tg.fit("Surv(time, cause) ~ sex", lung[::2], family="weibull")
    >>> round(res.score(lung[1::2]), 2)
    -5.5
    """
    chosen = results.causes if cause is None else [results._check_cause(cause)]
    return float(sum(results[one].score(df, weights=weights) for one in chosen))


def concordance_index(results: CompetingRisksResults, cause: Cause, time: float | None = None) -> float:
    """Concordance of the incidence of a cause, as predicted for the training rows, with its events.

    Parameters
    ----------
    cause : str or int
        One of ``causes``.
    time : float, optional
        Time by which incidences are predicted, on the scale of the response; without the last event of the cause.

    Returns
    -------
    float
        A share of pairs: 0.5 is chance, 1 a perfect order.

    Raises
    ------
    SpecError
        For an unknown cause, a time that is no positive number, or lacking training rows.

    References
    ----------
    Wolbers, Koller, Witteman and Steyerberg (2009), Prognostic models with competing risks, *Epidemiology* 20,
    555-561; (MET2) of the theory pages.

    Examples
    --------
    >>> import tobitgp as tg
    >>> lung = tg.datasets.load("lung").assign(cause=lambda d: d["event"] * (1 + (d["age"] > 65)))
    >>> res = tg.fit("Surv(time, cause) ~ sex", lung, family="weibull")
    >>> round(res.concordance_index(2), 2)
    0.59
    """
    from tobitgp.metrics import concordance_index

    k, seen = 1 + results.causes.index(results._check_cause(cause)), results.parts.seen
    if seen is None:
        raise SpecError(f"{NO_ROWS}, whose order could be scored.")
    at = read_times(seen.time[seen.code == k].max() if time is None else time, "time")
    if len(at) > 1 or at[0] <= 0.0:
        raise SpecError(f"time={time!r}: one positive time is needed.")
    found = competing_predictions.incidences(
        results, None, competing_predictions.CauseRows.of(results, None, None), at, None
    )["mean"]
    how: dict[str, Any] = {"entry": seen.entry, "weights": seen.weight, "cause": k}
    return concordance_index(seen.time, -found[k - 1, :, 0], seen.code, **how)


def check(results: CompetingRisksResults, *, rng: int | np.random.Generator | None = None) -> Check:
    """Run the diagnostics of the model of every cause, and say in words what is wrong and what to try.

    Parameters
    ----------
    rng : int or numpy Generator, optional
        For the random points, and draws of the posterior; None is deterministic.

    Returns
    -------
    Check
        Prints in words; ``ok``, ``advice`` and ``table``. Names begin with the cause; p-values are adjusted within
        it.

    Raises
    ------
    SpecError
        If the fit holds no training rows.

    References
    ----------
    (CHK11) to (CHK16) of the theory pages; to the model of a cause events of the others are censoring.

    Examples
    --------
    >>> import tobitgp as tg
    >>> lung = tg.datasets.load("lung").assign(cause=lambda d: d["event"] * (1 + (d["age"] > 65)))
    >>> found = tg.fit("Surv(time, cause) ~ sex", lung, family="weibull").check()
    >>> found.table.loc["2: convergence", "verdict"]
    'good'
    """
    every = [(cause, fit.check(rng=rng).findings) for cause, fit in results.parts.fits.items()]
    return Check(tuple(one._replace(name=f"{cause}: {one.name}") for cause, found in every for one in found))


@reads_frames
def plot_cumulative_incidence(
    results: CompetingRisksResults,
    ax: Any = None,
    *,
    df: Frame | None = None,
    times: Any = None,
    interval: float | None = 0.95,
    by: Any = None,
) -> Any:
    """Cumulative incidence over time.

    Without ``df`` the average of the fit over the training rows by their weights, a line for each cause, beside the
    steps of Aalen and Johansen's estimate [1]_ of the same rows; with ``by`` both in each group, a panel for each
    cause. Where all rows entered late both are of what follows the first entry, soon after which few rows are at
    risk and steps are high. With ``df`` curves and bands of its
    rows, a panel for each cause.

    Parameters
    ----------
    ax : matplotlib axes, optional
        To draw on, where there is one panel; new ones without.
    df : DataFrame or dict of columns, optional
        Up to eight rows.
    times : list of float, optional
        On the scale of the response; by default up to the last time seen.
    interval : float or None
        Probability of the bands of ``df``.
    by : str or Series of str, optional
        Up to eight groups of the training rows: a column of the formula, or a label for each row of the data.

    Returns
    -------
    matplotlib axes, or an array of them, one for each cause

    Raises
    ------
    SpecError
        If ``ax`` is no matplotlib axes or takes several panels, there are more than eight rows or groups, ``by`` is
        no column of the formula or stands beside ``df``, or the fit holds no training rows and no ``df`` is given.

    References
    ----------
    .. [1] Aalen and Johansen (1978), An empirical transition matrix for non-homogeneous Markov chains based on
       censored observations, *Scandinavian Journal of Statistics* 5, 141-150.

    Examples
    --------
    >>> import tobitgp as tg
    >>> lung = tg.datasets.load("lung").assign(cause=lambda d: d["event"] * (1 + (d["age"] > 65)))
    >>> res = tg.fit("Surv(time, cause) ~ sex", lung, family="weibull")
    >>> ax = res.plot_cumulative_incidence()
    >>> ax.get_ylabel()
    'cumulative incidence'
    """
    from tobitgp.report.competing_summary import plot_incidence

    return plot_incidence(results, ax, df=df, times=times, interval=interval, by=by)
