"""Predictions with the names of statsmodels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.data.frames import answers_in_kind, reads_frames
from tobitgp.data.sources import is_dask
from tobitgp.errors import SpecError
from tobitgp.numerics.sampling import random_points
from tobitgp.posterior.questions import QUESTIONS
from tobitgp.results.fit import Fit
from tobitgp.results.not_finite import NEVER, warn_of_bands, warn_of_rows
from tobitgp.results.predict import (
    _log_normal,
    check_alpha,
    check_level,
    check_what,
    new_rows,
    predict_lazily,
    prediction_table,
    read_questions,
)
from tobitgp.results.rows import Asked, ask, row_contents
from tobitgp.results.terms import find_terms
from tobitgp.typing import Array, Frame


@dataclass(frozen=True, slots=True, repr=False)
class PredictionResults:
    """Mean of y* in rows, its uncertainty, and where new values would lie; (PRE2) and (PRE3) of the theory pages.

    All on the scale of the response.

    Attributes
    ----------
    predict : callable
        That of the results.
    new : DataFrame or dict of columns, or None
        Rows that are predicted; None for those of the training data.
    exclude : str or sequence of str
        Terms that are set to zero.
    """

    predict: Callable[..., Any]
    new: Frame | None
    exclude: Any

    @property
    def predicted_mean(self) -> pd.Series[float]:
        """``predict(what="uncensored")``: a Series by row, on the scale of the response."""
        return pd.Series(self._mean()["estimate"], name="predicted_mean")

    @property
    def se_mean(self) -> pd.Series[float]:
        """Standard deviation of the mean of y*: a Series by row, on the scale of the response."""
        return pd.Series(self._mean()["se"], name="se_mean")

    def _mean(self, level: float | None = None) -> pd.DataFrame:
        return pd.DataFrame(self.predict(self.new, "uncensored", interval=level, se=True, exclude=self.exclude))

    def conf_int(self, obs: bool = False, alpha: float = 0.05) -> pd.DataFrame:
        """Intervals of probability ``1 - alpha`` for the mean, or with ``obs`` for a new y*.

        A row for each row of the data, columns 0 and 1, on the scale of the response.
        """
        kind = "obs" if obs else "mean"
        table = self.summary_frame(alpha)[[f"{kind}_ci_lower", f"{kind}_ci_upper"]]
        return table.set_axis([0, 1], axis=1)

    def summary_frame(self, alpha: float = 0.05) -> pd.DataFrame:
        """Columns ``mean, mean_se, mean_ci_lower, mean_ci_upper, obs_ci_lower, obs_ci_upper`` by row, in its units."""
        alpha = check_alpha(alpha)
        mean = self._mean(1.0 - alpha)
        obs = self.predict(self.new, "quantile", q=[0.5 * alpha, 1.0 - 0.5 * alpha], exclude=self.exclude)
        names = ["mean", "mean_se", "mean_ci_lower", "mean_ci_upper", "obs_ci_lower", "obs_ci_upper"]
        return pd.concat([mean, obs], axis=1).set_axis(names, axis=1)

    def __repr__(self) -> str:
        return repr(self.summary_frame())

    def _repr_html_(self) -> str:
        return str(self.summary_frame().to_html(float_format="{:.4g}".format, max_rows=60))


@answers_in_kind
def predict(
    results: Fit,
    new: Frame | None = None,
    what: str | None = None,
    *,
    interval: float | None = None,
    se: bool = False,
    q: float | Sequence[float] | None = None,
    below: float | Sequence[float] | None = None,
    above: float | Sequence[float] | None = None,
    exclude: str | Sequence[str] = (),
    exog: Frame | None = None,
) -> pd.Series[float] | pd.DataFrame:
    r"""Predict a quantity of the response's distribution in new rows, or in the training rows.

    =============  =====================================  ==========================================
    ``what``       value                                  quantity that ``se`` and ``interval`` are of
    =============  =====================================  ==========================================
    "latent"       :math:`E f`                            f
    "median"       median of a new y*                     that of y* given :math:`f, \sigma`
    "uncensored"   :math:`E y^*`                          :math:`E[y^* | f, \sigma]`
    "observed"     :math:`E y`, clipped, in the window    :math:`E[y | f, \sigma]`
    "conditional"  :math:`E y^*`, given what was seen     that given :math:`f, \sigma` too
    "quantile"     quantile of a new y* of order ``q``    that of y* given :math:`f, \sigma`
    "prob"         :math:`P(y^* < below)`, or above       that given :math:`f, \sigma`
    "sigma"        scale of the noise in the row          the same
    "terms"        mean of each term of f                 the term
    =============  =====================================  ==========================================

    A term is a summand of f. In a model with an intercept, a process is centred at its average over the training rows,
    and the term ``Intercept`` includes this average; ``params["Intercept"]`` is the coefficient of the model as
    written.

    For processes, predictions average over f, the noise and the hyper-parameters. For regressions, they are evaluated
    at the estimates, and f is the linear predictor. Mixtures have no ``"latent"`` and ``"terms"``; ``"component"``
    gives the probability of each component given the observation, in columns 1 to K. All rows of a mixture have the
    same distribution. For log-time families ``"latent"``, ``"sigma"`` and ``"terms"`` are on the log scale, all others
    on the scale of the response. The value of ``"sigma"`` is the exponential of its mean logarithm; standard errors and
    intervals are computed on the log scale. ``"conditional"`` is the response itself if it is uncensored. Otherwise it
    is the mean of y* truncated to its limits and its window, under the posterior without the row itself (for new rows,
    given their columns of response, censoring and window). ``"observed"`` is the response as recorded: y* clipped at
    the limits and, for a model with ``truncate()``, given that it lies in its window. Means are infinite or NaN where
    the noise has none.

    Parameters
    ----------
    new : DataFrame or dict of columns, optional
        Any table that :func:`tobitgp.fit` accepts; a single value in a dict applies to every row. It must have the
        columns on the right-hand side of the formula, for ``"observed"`` also those of the limits and the window, and
        for ``"conditional"`` those of the response; by default the training data. For a dask DataFrame the result is a
        lazy dask table.
    what : str, optional
        A row of the table; by default ``"median"``, for a mixture ``"uncensored"``.
    interval : float, optional
        Probability of an equal-tailed interval for the predicted quantity, e.g. 0.95. This is not a prediction interval
        for a new observation; use ``what="quantile"`` for that. For processes, limits are posterior quantiles. For
        other fits, they are normal on the scale of the quantity: on the log scale for positive predictions of log-time
        families, on the logit scale for probabilities.
    se : bool
        Return the posterior standard deviation of the quantity, or its standard error by the delta method.
    q : float or list of float, optional
        Orders of quantiles, between 0 and 1.
    below, above : float or list of float, optional
        Limits on the scale of the response; one of the two.
    exclude : str or list of str
        Terms to set to zero, e.g. ``"gp(x)"``, ``"z"`` or ``"offset"``; new data need no columns that only they use.
    exog : DataFrame or dict of columns, optional
        ``new`` under the name of statsmodels.

    Returns
    -------
    Series or DataFrame
        A polars or pyarrow table if ``new`` is one, without an index; otherwise pandas. A Series named after ``what``,
        or columns ``estimate, se[, lower, upper]``; the index of the data, NaN in rows with missing inputs and in
        training rows that were dropped. A list in ``q``, ``below`` or ``above`` gives a column for each value, with
        ``se`` or ``interval`` columns ``(value, statistic)``. ``"terms"`` always gives columns ``(term, statistic)``,
        whose estimates, ``Intercept`` and ``offset`` among them, add up to ``"latent"``.

    Raises
    ------
    SpecError
        For an unknown ``what``, an interval outside (0, 1), arguments that cannot be combined with it, or unknown
        limits.
    DataError, UnseenLevelError
        If the new data cannot be used.

    Warns
    -----
    ApproximationWarning
        If values, standard errors or interval ends are not finite, e.g. means of distributions without a mean.

    References
    ----------
    Of processes (PRE1) to (PRE7) of the theory pages, the posterior without the row itself being the cavity (EP1) and
    levels of terms those of (FEA10). Of regressions the table of scales above (REG12), (REG12) and (REG13), errors
    from (REG8). Of mixtures Kohjima, Matsubayashi and Toda (2019), Variational Bayes for mixture models with censored
    data, ECML PKDD, eqs. 34 and 46-47, and (MIX16).

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("durable ~ age | censor(0)", tg.datasets.load("tobin"), method="ep", fixed={"sigma": 5.0})
    >>> res.predict({"age": [30.0, 60.0]}, what="observed", interval=0.95).round(2)
       estimate    se  lower  upper
    0      2.91  2.04   0.28   7.91
    1      0.94  0.83   0.07   3.17
    >>> res.predict({"age": [30.0, 60.0]}, what="quantile", q=[0.1, 0.9]).round(2)
         0.1   0.9
    0  -6.94  8.72
    1 -10.93  3.82
    """
    options: dict[str, Any] = {"interval": interval, "se": se, "q": q, "below": below, "above": above}
    options["exclude"] = exclude
    new = new_rows(new, exog)
    if is_dask(new):
        return predict_lazily(results._without_rows, new, {"what": what, **options})
    return results._predict(new, what, **options)


@reads_frames
def get_prediction(
    results: Fit, new: Frame | None = None, *, exclude: str | Sequence[str] = (), exog: Frame | None = None
) -> PredictionResults:
    """Mean of y*, its interval, and an interval for a new y*, in the columns of statsmodels.

    See the theory pages: (PRE2) and (PRE3) for processes, (REG8) for regressions and (LR2) for mixtures.

    Parameters
    ----------
    new, exclude, exog
        As for :meth:`predict`.

    Returns
    -------
    PredictionResults
        With ``summary_frame(alpha)``, ``conf_int(obs, alpha)``, ``predicted_mean`` and ``se_mean``.

    Raises
    ------
    SpecError
        If the fit holds no training rows and ``new`` is not given, or for cure models and proportional hazards, whose
        times have no mean.
    DataError, UnseenLevelError
        If the new data cannot be used; both when numbers are requested.

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("durable ~ age | censor(0)", tg.datasets.load("tobin"), fixed={"sigma": 5.0})
    >>> res.get_prediction({"age": [30.0]}).summary_frame().round(2).T
                       0
    mean            0.88
    mean_se         3.49
    mean_ci_lower  -5.97
    mean_ci_upper   7.72
    obs_ci_lower   -8.92
    obs_ci_upper   10.68
    """
    if results._no_mean:
        raise SpecError(f"get_prediction() predicts means, and {results._no_mean}. Use predict(interval=) for medians.")
    return PredictionResults(partial(predict, results), new_rows(new, exog), exclude)


def residuals(
    results: Fit, kind: str = "quantile", *, rng: int | np.random.Generator | None = None
) -> pd.Series[float]:
    """Residuals of the training rows, censored ones included.

    ``"quantile"``: normal scores of the predictive distribution at the response; for a censored row, at a random point
    of the distribution between its limits. ``"response"``: the response (for a censored row, its conditional mean)
    minus ``predict(what="uncensored")``. ``"pearson"``, not for mixtures: the same divided by the predictive standard
    deviation (for a regression, that of the noise), on the log scale for log-time families; NaN if the noise has no
    variance. ``"cox_snell"``: minus the log of the predictive probability of a larger response; for left- and
    interval-censored rows, its conditional expectation. ``"martingale"``: the number of events (0 for right-censored
    rows) minus the Cox-Snell residual. ``"deviance"``: for a regression, signed roots of deviances as in survreg; for
    other fits, martingale residuals transformed to be nearly normal. For truncated rows, distributions are conditional
    on the window.

    Parameters
    ----------
    kind : {"quantile", "response", "pearson", "deviance", "cox_snell", "martingale"}
        ``"response"`` is in the units of the response; the others are dimensionless.
    rng : int or numpy Generator, optional
        For the random part, which depends on the content of a row and not on its position. None gives the same result
        every time.

    Returns
    -------
    Series
        A row for each row of the training data, NaN where it was dropped.

    Raises
    ------
    SpecError
        For an unknown ``kind``, or if the fit holds no training rows.

    Warns
    -----
    ApproximationWarning
        If residuals are not finite, e.g. ``"response"`` if there is no mean.

    References
    ----------
    .. [1] P. K. Dunn and G. K. Smyth, "Randomized quantile residuals", JCGS 5 (1996).
    .. [2] D. R. Cox and E. J. Snell, "A general definition of residuals", JRSS B 30 (1968).
    .. [3] T. M. Therneau, P. M. Grambsch and T. R. Fleming, "Martingale-based residuals for survival models",
       Biometrika 77 (1990).

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("durable ~ age | censor(0)", tg.datasets.load("tobin"))
    >>> res.residuals("deviance").head(2).round(2)
    0   -0.76
    1    0.59
    Name: deviance, dtype: float64
    """
    return residual_series(results, kind, rng)


_NO_MEAN = "the response has no mean there, or one above the largest number; use kind='quantile', which needs none"


def residual_series(results: Fit, kind: str, rng: int | np.random.Generator | None) -> pd.Series[float]:
    """Residuals with the index of the training data; see `tobitgp.results.prediction.residuals`."""
    own = results._residuals
    offered = ("quantile", *own, "cox_snell", "martingale")
    if not isinstance(kind, str) or kind not in offered:
        raise SpecError(f"kind={kind!r} is not supported; choose one of {', '.join(map(repr, offered))}.")
    asked = ask(results.parts)
    if kind in own:
        with np.errstate(invalid="ignore", over="ignore"):  # of means beyond the largest number
            values = own[kind](asked)
    elif kind == "quantile":
        values = quantile_residuals(results, asked, rng)
    else:
        values = getattr(results._tails(asked), kind)()
    warn_of_rows(values, asked, f"kind={kind!r}", _NO_MEAN if kind == "response" else "")
    return pd.Series(asked.spread(values), index=asked.index, name=kind)


def quantile_residuals(results: Fit, asked: Asked, rng: int | np.random.Generator | None) -> Array:
    """Residuals of the training rows used, (n,); random points depend on the content of a row, not on its position."""
    tails = results._tails(asked)
    predicted = tails.quantile(np.full(len(tails.lower), 0.5))
    uniform = np.empty(len(tails.lower))
    uniform[row_contents(results.parts, predicted).order] = random_points(rng, len(uniform))
    return tails.quantile(uniform)


def predict_table(
    results: Fit,
    new: Frame | None,
    what: str | None,
    *,
    interval: float | None,
    se: bool,
    q: Any = None,
    below: Any = None,
    above: Any = None,
    exclude: Any = (),
) -> pd.Series[float] | pd.DataFrame:
    """Predictions with the index of the data; see `tobitgp.results.prediction.predict`."""
    parts, positive = results.parts, results.parts.family.log_time
    what, level = check_what(what, results._whats, results._whats_of), check_level(interval)
    bands = bool(se) or interval is not None
    asks, listed = read_questions(what, q, below, above)
    if what in results._own_questions:
        if len(exclude):
            raise SpecError(f"what={what!r} is not affected by terms of the response. Leave exclude= out.")
        asks = {what: lambda positive, asked: results._own_questions[what]()}
    if what == "terms":
        asked = ask(parts, new, exclude, terms=True)
        left_out, latent = {term.name for term in find_terms(parts, exclude)}, QUESTIONS["latent"](positive)
        known = {name: posterior for name, posterior in results._terms(asked).items() if name not in left_out}
        found = {name: posterior.statistics(latent, level, se=bool(se)) for name, posterior in known.items()}
        return prediction_table(what, asked, found, listed=True, bands=True, of="term").astype(np.float64)
    if what == "sigma":
        if len(exclude):
            raise SpecError(
                "what='sigma' is the scale of the noise, which exclude= does not change. Leave exclude= out."
            )
        asked = ask(parts, new)
        scale = _log_normal(*results._log_noise(asked), level)
        return prediction_table(what, asked, {what: scale}, listed=False, bands=bands)
    if what == "conditional":
        if len(exclude):
            raise SpecError(
                "what='conditional' conditions on the observed response with all terms. Leave exclude= out."
            )
        table = results._conditional(new, level, se=bool(se))
        return table if bands else table["estimate"].rename(what)
    asked = ask(parts, new, exclude, instead="what='uncensored'")
    columns = results._answer(asked, [make(positive, asked) for make in asks.values()], level, se=bool(se))
    for column in () if results._no_mean or results._defective else columns:
        warn_of_rows(next(iter(column.values())), asked, f"what={what!r}")
    for column in columns if results._never and what in ("median", "quantile") else ():
        warn_of_rows(next(iter(column.values())), asked, f"what={what!r}", NEVER)
    warn_of_bands(results, f"what={what!r}", columns if bands else [], asked, of_times=what != "latent")
    return prediction_table(what, asked, dict(zip(asks, columns, strict=True)), listed=listed, bands=bands)


def location(results: Fit) -> Array:
    """Predictions of the training rows, (n,), which increase with the response."""
    return predict(results, None, "latent").to_numpy()[results.parts.rows.kept]
