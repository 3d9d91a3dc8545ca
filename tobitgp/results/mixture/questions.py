"""Draws of rows from a fitted mixture, and its figures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from tobitgp.errors import SpecError
from tobitgp.numerics.draws import generator
from tobitgp.results.mixture.draws import draw_rows
from tobitgp.results.mixture.parts import covariance_of, training_ends
from tobitgp.results.rows import ask
from tobitgp.results.trust.posterior_draws import read_draws
from tobitgp.typing import Frame

_NO_ORDER = "A mixture predicts the same for every row, so that there is no order to score."


if TYPE_CHECKING:
    from tobitgp.results.mixture.results import MixtureResults

DRAWN = ("uncensored", "observed", "conditional")


def sample(
    results: MixtureResults,
    new: Frame | None = None,
    draws: int = 100,
    *,
    what: str = "uncensored",
    rng: int | np.random.Generator | None = None,
) -> pd.DataFrame:
    """Draw rows, all of a draw together: uncertainty about the parameters is in every draw.

    A draw takes the parameters first, with the covariance of ``cov_params()``: weights from beta distributions,
    rates of counts from gamma ones, all else from normal ones on unbounded scales. ``predictive.rvs`` draws single
    values from the exact predictive distribution. Of components that are not needed ``cov_params()`` is a first
    approximation, so that draws vary a little more than the predictive distribution; fewer components mend that.

    Parameters
    ----------
    new : DataFrame or dict of columns, optional
        By default the training data.
    draws : int
        How many.
    what : {"uncensored", "observed", "conditional"}
        New responses, or responses clipped at the limits. ``"conditional"``: what the rows' own responses may have
        been, as multiple imputation needs them: a value that was seen, and for a censored row its component given
        what is known, then a value of that component there; new rows need the columns of response and censoring.
    rng : int or numpy Generator, optional
        None is deterministic.

    Returns
    -------
    DataFrame
        A row for each row of the data, a column for each draw.

    Raises
    ------
    SpecError
        For another ``what``, more draws than can be held, limits that are unknown, lacking columns of what was
        seen, or parameters that the rows do not determine.
    DataError
        If what was seen of new rows is impossible under the family.

    References
    ----------
    (LR2) and (LR6) of the theory pages.

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("Surv(time, event) ~ mixture(2)", tg.datasets.load("lung"), family="weibull")
    >>> res.sample(draws=400, rng=1).shape
    (228, 400)
    >>> times = res.sample({"time": [200, 200], "event": [1, 0]}, draws=400, what="conditional", rng=1)
    >>> print((times.loc[0] == 200).all(), (times.loc[1] > 200).all())
    True True
    """
    if not isinstance(what, str) or what not in DRAWN:
        raise SpecError(f"what={what!r} is not drawn of a mixture; choose one of {', '.join(map(repr, DRAWN))}.")
    asked = ask(results._parts, new)
    size = read_draws(draws, rows=len(asked.index))
    limits = asked.limits() if what == "observed" else None
    ends = None
    if what == "conditional":
        from tobitgp.results.mixture.predict import ends_of_rows

        lower, upper, known = ends_of_rows(results._parts, new, asked)
        asked, ends = asked.among(known), (lower, upper)
    stream = generator(rng)
    y = draw_rows(
        results._parts.fit, covariance_of(results._with_covariance), int(asked.usable.sum()), size, stream, ends
    )
    if limits is not None:
        y = np.clip(y, limits[0][:, None], limits[1][:, None])
    return pd.DataFrame(asked.spread(y), index=asked.index, columns=pd.RangeIndex(size, name="draw"))


def plot_components(results: MixtureResults, ax: Any = None) -> Any:
    """The mixture and its components over the data.

    Parameters
    ----------
    ax : matplotlib axes, optional
        To draw on; new ones without.

    Returns
    -------
    matplotlib axes

    Raises
    ------
    SpecError
        If ``ax`` is no matplotlib axes, or the fit holds no training rows.

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("Surv(time, event) ~ mixture(2)", tg.datasets.load("lung"), family="weibull")
    >>> ax = res.plot_components()
    >>> len(ax.get_legend_handles_labels()[1])
    5
    """
    from tobitgp.report.mixture_plots import plot_components

    return plot_components(results, training_ends(results._parts), ax)


def plot_evidence(results: MixtureResults, ax: Any = None) -> Any:
    """Evidence of the numbers of components tried, or of one number the ascent of its bound.

    Parameters
    ----------
    ax : matplotlib axes, optional
        To draw on; new ones without.

    Returns
    -------
    matplotlib axes

    Raises
    ------
    SpecError
        If ``ax`` is no matplotlib axes.

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("Surv(time, event) ~ mixture(2)", tg.datasets.load("lung"), family="weibull")
    >>> ax = res.plot_evidence()
    >>> ax.get_xlabel()
    'accepted pass of the last ascent'
    """
    from tobitgp.report.mixture_plots import plot_mixture_evidence

    return plot_mixture_evidence(results, ax)


def plot_residuals(results: MixtureResults, ax: Any = None) -> Any:
    """Quantile residuals against normal quantiles, with a 95% envelope.

    Parameters
    ----------
    ax : matplotlib axes, optional
        To draw on; new ones without.

    Returns
    -------
    matplotlib axes

    Raises
    ------
    SpecError
        If ``ax`` is no matplotlib axes, or the fit holds no training rows.

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("Surv(time, event) ~ mixture(2)", tg.datasets.load("lung"), family="weibull")
    >>> ax = res.plot_residuals()
    >>> ax.get_xlabel()
    'normal quantile'
    """
    from tobitgp.report.mixture_plots import plot_scores

    return plot_scores(results, ax)
