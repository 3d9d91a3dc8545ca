"""Draws of rows together, and the joint distribution of f in them, as they are requested."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.data.frames import answers_in_kind, reads_frames
from tobitgp.data.outcome import check_response
from tobitgp.diagnostics.training_draws import read_draws, training_rows
from tobitgp.errors import ApproximationWarning, SpecError, user_level
from tobitgp.numerics.sampling import generator
from tobitgp.results.fit import Fit
from tobitgp.results.joint import DRAWN, Posterior
from tobitgp.results.rows import Asked, Limits, ask, limits_of, response_of_rows
from tobitgp.typing import Array, Frame


@answers_in_kind
def sample(
    results: Fit,
    new: Frame | None = None,
    draws: int = 100,
    *,
    what: str = "uncensored",
    exclude: str | Sequence[str] = (),
    rng: int | np.random.Generator | None = None,
) -> pd.DataFrame:
    """Draw responses in rows jointly, with the uncertainty of the parameters.

    A draw first takes parameters: for a process from its posterior, for a regression from the normal distribution of
    its estimates. New responses add noise of the family. For a mixture, parameters are drawn with the covariance of
    ``cov_params()``: weights from beta distributions, rates of counts from gamma distributions, all others from normal
    distributions on unbounded scales. This is an approximation if some components are superfluous: draws then vary a
    little more than ``predictive.rvs``, which draws single values from the exact predictive distribution.

    Parameters
    ----------
    new
        As for :meth:`predict`.
    draws : int
        Number of draws.
    what : {"uncensored", "latent", "observed", "conditional"}
        New responses y*, f (not for a mixture), or responses inside the window, clipped at the limits.
        ``"conditional"`` draws the uncensored values of the rows given their observations, as for multiple imputation:
        observed values are kept, and for a censored row f is drawn, then y* given f between its limits. For a process
        the rows must be those of the fit; each has the distribution whose mean is ``predict(what="conditional")``, and
        rows are correlated as in the posterior of f. For other fits, ``new`` may have the columns of response,
        censoring and window.
    exclude : str or list of str
        Terms to set to zero; none with ``"conditional"``.
    rng : int or numpy Generator, optional
        None gives the same result every time.

    Returns
    -------
    DataFrame
        A row for each row of the data, a column for each draw.

    Raises
    ------
    SpecError
        For an unknown ``what``, more draws than fit in memory, unknown limits, a regression without a maximum,
        parameters of a mixture that the rows do not determine, or ``"conditional"`` with ``exclude``, without responses
        of the new rows, or for new rows of a process.
    DataError, UnseenLevelError
        If the new data cannot be used, or the observation of a row is impossible under the family.

    Warns
    -----
    ApproximationWarning
        If draws are infinite, except for cured rows.

    References
    ----------
    (PRE1) of the theory pages at points drawn by (HYP6) for processes, with (PRE8) for ``"conditional"``; the
    covariance (REG8) for regressions; (LR2) and (LR6) for mixtures.

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("durable ~ age | censor(0)", tg.datasets.load("tobin"), fixed={"sigma": 5.0})
    >>> res.sample(what="conditional", draws=2, rng=1).head(3).round(1)  # the second was seen, at 0.7
    draw    0    1
    0    -1.5 -4.7
    1     0.7  0.7
    2    -1.8 -4.0
    """
    offered = results._drawn
    if not isinstance(what, str) or what not in offered:
        of = "" if offered is DRAWN else " for this kind of fit"
        raise SpecError(
            f"what={what!r} is not supported by sample(){of}; choose one of {', '.join(map(repr, offered))}."
        )
    asked, y = results._sample(new, draws, what, exclude, rng)
    if np.isinf(y).any() and not results._never:
        warnings.warn(
            "Some draws are infinite: survival does not fall far enough within the times of known hazard, or "
            "the value exceeds the largest number.",
            ApproximationWarning,
            stacklevel=user_level(),
        )
    return pd.DataFrame(asked.spread(y), index=asked.index, columns=pd.RangeIndex(y.shape[1], name="draw"))


def draw_rows(
    results: Fit, new: Frame | None, draws: int, what: str, exclude: Any, rng: int | np.random.Generator | None
) -> tuple[Asked, Array]:
    """Rows that can be drawn, and draws (n, draws) of them together, of a process or a regression."""
    if what == "conditional" and results._joint.of_training_rows:
        training_rows(results.parts, "sample(what='conditional')")
        if new is not None:
            raise SpecError(
                "what='conditional' draws the rows of the fit only. Leave out new=, or include the new rows in "
                "the data of the fit. predict(new, 'conditional') gives their means."
            )
    asked = ask(results.parts, new, exclude)
    size = read_draws(draws, rows=len(asked.index))
    limits, known, window = None, None, None
    if what == "observed":
        shown = asked.limits()
        limits, window = (shown.lower, shown.upper), _window(shown)
    if what == "conditional":
        if len(exclude):
            raise SpecError(
                "what='conditional' conditions on the observed response with all terms. Leave exclude= out."
            )
        asked, seen = response_of_rows(results.parts, new, asked)
        check_response(seen, log_time=results.parts.family.log_time, labels=asked.labels.to_numpy())
        known = limits = seen.within_window
    stream = generator(rng)
    y = results._joint.draw(asked, size, noise=what != "latent", rng=stream, known=known, window=window)
    return asked, y if limits is None else np.clip(y, limits[0][:, None], limits[1][:, None])


def draw_inside(results: Fit, draws: int, rng: int | np.random.Generator | None) -> Array:
    """New responses (n, draws) of the training rows inside their windows, before censoring."""
    window = _window(limits_of(results.parts.rows.response))
    return results._joint.draw(ask(results.parts), draws, noise=True, rng=generator(rng), window=window)


def _window(shown: Limits) -> tuple[Array, Array] | None:
    """Ends of the windows, where some row has one."""
    there = np.isfinite(shown.entry) | np.isfinite(shown.exit)
    return (shown.entry, shown.exit) if there.any() else None


@reads_frames
def posterior(results: Fit, new: Frame | None = None, *, exclude: str | Sequence[str] = ()) -> Posterior:
    """Joint mean and covariance of f in all rows: (PRE1) and (PRE2) of the theory pages; (REG8) for a regression.

    Parameters
    ----------
    new, exclude
        As for :meth:`predict`.

    Returns
    -------
    mean : Series, (n,)
        ``predict(what="latent")``: on the scale of the response, or of its logarithm for log-time families.
    covariance : DataFrame, (n, n)
        In squared units of the mean; its diagonal is the square of ``predict(se=True)["se"]``. NaN in rows that
        cannot be predicted.

    Raises
    ------
    SpecError
        If the fit holds no training rows and ``new`` is not given.
    DataError, UnseenLevelError
        If the new data cannot be used.

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("durable ~ age | censor(0)", tg.datasets.load("tobin"), fixed={"sigma": 5.0})
    >>> mean, covariance = res.posterior({"age": [30.0, 60.0]})
    >>> covariance.round(2)
           0     1
    0  12.20 -6.26
    1  -6.26  7.95
    """
    asked = ask(results.parts, new, exclude)
    mean, V = results._joint.moments(asked)
    covariance = np.full((len(asked.usable),) * 2, np.nan)
    covariance[np.ix_(asked.usable, asked.usable)] = V
    index = asked.index
    return Posterior(
        pd.Series(asked.spread(mean), index=index, name="latent"),
        pd.DataFrame(covariance, index=index, columns=index),
    )
