"""Tables of parameters: intervals, covariances, summaries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.errors import SpecError
from tobitgp.results.fit import Fit
from tobitgp.results.not_finite import warn_of_intervals, warn_of_ratios
from tobitgp.results.parameter_estimates import CovKind
from tobitgp.results.predict import check_alpha, check_flag
from tobitgp.results.views import FRAME_COLUMNS, RATIO_COLUMNS
from tobitgp.typing import IntArray


def conf_int(
    results: Fit,
    alpha: float = 0.05,
    kind: CovKind | None = None,
    *,
    method: str = "wald",
    cols: Sequence[int] | None = None,
) -> pd.DataFrame:
    """Intervals of probability ``1 - alpha``.

    For coefficients of a regression: ``coef +- z se``; for coefficients with a prior: posterior quantiles. For
    hyper-parameters, sigma and df: ``exp(log value +- z se)``, with the standard error of the logarithm. For a mixture:
    from the posterior of each parameter. See (REG8), (PRE3), (HYP12), (LR6) and (LR7) of the theory pages.

    Parameters
    ----------
    alpha : float
        Significance level: intervals have probability ``1 - alpha``.
    kind
        As for :meth:`cov_params`.
    method : {"wald", "profile"}
        From standard errors, or, for a regression, by ``profile_interval()``, with a search for each end.
    cols : list of int, optional
        Positions of the parameters, by default all.

    Returns
    -------
    DataFrame
        A row for each parameter, columns 0 and 1, in the user's units, equal where it is fixed; NaN where the rows do
        not determine it.

    Raises
    ------
    SpecError
        If ``alpha`` does not lie between 0 and 1, for another ``kind`` or ``method``, for invalid positions, or if
        there is no profile.

    Warns
    -----
    ApproximationWarning
        If an end of an interval is not finite.

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("durable ~ age | censor(0)", tg.datasets.load("tobin"), fixed={"sigma": 5.0})
    >>> res.conf_int().round(2)
                   0      1
    Intercept -12.61  22.84
    age        -0.51   0.23
    sigma       5.00   5.00
    """
    alpha, (linear, rest) = check_alpha(alpha), results._estimates(kind)
    at, names = places(results, "cols", cols), results._names
    if method == "profile":
        wanted = [names[i] for i in at]
        return pd.DataFrame([results._profile(name, alpha) for name in wanted], index=wanted)
    if method != "wald":
        raise SpecError(f"method={method!r} is not supported; choose 'wald' or 'profile'.")
    found = pd.DataFrame(np.concatenate([linear.interval(alpha), rest.interval(alpha)]), index=names).iloc[at]
    warn_of_intervals(results, "conf_int()", found)
    return found


def places(results: Fit, argument: str, given: Any) -> IntArray:
    """Places among the parameters, all without any given; one place or several."""
    k = len(results._names)
    if given is None:
        return np.arange(k)
    at = np.atleast_1d(np.asarray(given))
    if at.ndim != 1 or at.dtype.kind not in "iu" or not len(at) or (at < -k).any() or (at >= k).any():
        raise SpecError(
            f"{argument}={given!r}: positions of parameters must be 0 to {k - 1}. Give one of these, or a list."
        )
    return at


def cov_params(
    results: Fit, kind: CovKind | None = None, *, r_matrix: Any = None, column: int | Sequence[int] | None = None
) -> Any:
    """Covariance of all parameters, of some, or of linear combinations.

    For a regression: the covariance of the estimates, with sigma and df by the delta method. For a posterior: the
    covariance of the linear coefficients and that of the hyper-parameters (delta method), without covariances between
    the two.

    Parameters
    ----------
    kind : {"linear_response", "vb"}, optional
        For a mixture: by linear response, which accounts for censoring (the default; for maximum likelihood the inverse
        of the observed information), or that of the variational posterior, which treats censored rows as observed.
    r_matrix : (k, p) array, optional
        Weights (dimensionless) of the p parameters in k combinations. The result is the covariance of these.
    column : int or list of int, optional
        Position of a parameter (gives its variance), or positions of several.

    Returns
    -------
    DataFrame, (k, k) array or float
        A row and a column for each parameter, in squares of the user's units; 0 where fixed, NaN where the rows do not
        determine a parameter. With ``r_matrix`` an array, with one ``column`` a number.

    Raises
    ------
    SpecError
        For an unknown ``kind``, a ``kind`` for a fit other than a mixture, both ``r_matrix`` and ``column``, weights of
        another shape, or invalid positions.

    References
    ----------
    Of the theory pages (REG8) for regressions; under a prior (FEA3), (PRE2), and (HYP12) or (HYP2); (LR2) for mixtures.
    Giordano, Broderick and Jordan (2018), Covariances, robustness, and variational Bayes, *JMLR* 19(51).

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("durable ~ age | censor(0)", tg.datasets.load("tobin"), fixed={"sigma": 5.0})
    >>> res.cov_params().round(2)
               Intercept   age  sigma
    Intercept      81.78 -1.70    0.0
    age            -1.70  0.04    0.0
    sigma           0.00  0.00    0.0
    """
    (linear, rest), names = results._estimates(kind), results._names
    p = len(names) - len(rest.value)
    covariance = np.zeros((len(names), len(names)))
    covariance[:p, :p] = linear.total_covariance()
    covariance[p:, p:] = rest.covariance()
    covariance[p:, :p] = rest.cross
    covariance[:p, p:] = covariance[p:, :p].T
    return covariance_of(results, pd.DataFrame(covariance, index=names, columns=names), r_matrix, column)


def covariance_of(results: Fit, covariance: pd.DataFrame, r_matrix: Any, column: Any) -> Any:
    """The part of a covariance (p, p) requested, or that of combinations."""
    if r_matrix is not None and column is not None:
        raise SpecError("cov_params() accepts r_matrix= or column=, not both.")
    if column is not None:
        at = places(results, "column", column)
        found = covariance.iloc[at, at]
        return float(found.to_numpy()[0, 0]) if np.ndim(column) == 0 else found
    if r_matrix is None:
        return covariance
    R = np.atleast_2d(np.asarray(r_matrix))
    if R.ndim != 2 or R.shape[1] != len(covariance) or R.dtype.kind not in "fiub" or not np.isfinite(R).all():
        raise SpecError(f"r_matrix= must be a finite matrix with {len(covariance)} columns, one for each parameter.")
    return R @ covariance.to_numpy() @ R.T


def summary_frame(results: Fit, alpha: float = 0.05, kind: CovKind | None = None) -> pd.DataFrame:
    """All parameters in one table.

    Parameters
    ----------
    alpha, kind
        As for :meth:`conf_int`.

    Returns
    -------
    DataFrame
        A row for each parameter, columns ``coef, std err, z, P>|z|, lower, upper``: in the user's units, except z and
        its tail probability, which are NaN for parameters that cannot be zero. For a regression with a log-time family
        also ``exp(coef)``, the factor by which a coefficient multiplies times, with its limits ``exp(coef) lower`` and
        ``exp(coef) upper``; NaN for parameters of the noise.

    Raises
    ------
    SpecError
        As for :meth:`conf_int`.

    Warns
    -----
    ApproximationWarning
        If ``exp(coef)`` or its ends are 0 or infinite, or an end of an interval is not finite.

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("durable ~ age | censor(0)", tg.datasets.load("tobin"), fixed={"sigma": 5.0})
    >>> res.summary_frame().round(2)
               coef  std err     z  P>|z|  lower  upper
    Intercept  5.12     9.04  0.57   0.57 -12.61  22.84
    age       -0.14     0.19 -0.74   0.46  -0.51   0.23
    sigma      5.00     0.00   NaN    NaN   5.00   5.00
    """
    frame: pd.DataFrame = results._parameter_frame(alpha, kind)
    warn_of_intervals(results, "summary_frame()", frame[["lower", "upper"]])
    warn_of_ratios(results, "summary_frame()", frame[[name for name in RATIO_COLUMNS if name in frame]])
    return frame


def parameter_frame(results: Fit, alpha: float = 0.05, kind: CovKind | None = None) -> pd.DataFrame:
    """The table of `summary_frame`."""
    alpha, (linear, rest) = check_alpha(alpha), results._estimates(kind)
    rows = [
        [linear.coefficients(), linear.errors(), linear.z_values(), linear.p_values(), *linear.interval(alpha).T],
        [rest.value, rest.errors(), rest.z_values(), rest.p_values(), *rest.interval(alpha).T],
    ]
    columns = [np.concatenate(pair) for pair in zip(*rows, strict=True)]
    frame = pd.DataFrame(dict(zip(FRAME_COLUMNS, columns, strict=True)), index=results._names)
    if results._has_ratios:
        coefficient = np.arange(len(frame)) < len(frame) - len(rest.value)
        with np.errstate(over="ignore"):
            for name, of in zip(RATIO_COLUMNS, ("coef", "lower", "upper"), strict=True):
                frame[name] = np.where(coefficient, np.exp(frame[of].to_numpy()), np.nan)
    return frame


def summary(
    results: Any,
    alpha: float = 0.05,
    kind: CovKind | None = None,
    *,
    hazard_ratios: bool = False,
    anova: bool = False,
    yname: str | None = None,
    xname: Sequence[str] | None = None,
    title: str | None = None,
    slim: bool = False,
    details: bool = False,
) -> Any:
    """Tables to read or to paste into a report.

    Parameters
    ----------
    alpha, kind
        As for :meth:`conf_int`.
    hazard_ratios : bool
        Add a table of ``hazard_ratios()``, for regressions and processes with log-time families.
    anova : bool
        Add a table of ``anova()``, a joint test of each term.
    yname : str, optional
        Name to print for the response.
    xname : list of str, optional
        Names to print for the parameters, in the order of ``params``, or for the coefficients alone. Rows that show
        another quantity keep their names.
    title : str, optional
        Title to print.
    slim : bool
        Leave out the notes.
    details : bool
        Add a table about the computation: other measures of evidence, iterations, basis functions, and degrees of
        freedom as statsmodels counts them.

    Returns
    -------
    statsmodels.iolib.summary.Summary
        Prints as text; ``as_html``, ``as_latex``, ``as_csv``. Tables with more than 40 rows show three levels of
        factors with more than ten; ``summary_frame()`` has all.

    Raises
    ------
    SpecError
        As for :meth:`conf_int`, where ``hazard_ratios`` are requested and there are none, or for too few or many names.

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("durable ~ age | censor(0)", tg.datasets.load("tobin"), method="ep", fixed={"sigma": 5.0})
    >>> print(res.summary().tables[2])
    ==============================================================================
    Coefficients        coef     std err         z    P>|z|      [0.025     0.975]
    ------------------------------------------------------------------------------
    Intercept         5.3443      9.1058     0.587    0.557    -12.5027    23.1913
    age              -0.1484      0.1920    -0.773    0.440     -0.5247     0.2280
    ==============================================================================
    """
    from tobitgp.results.summary import summarise
    from tobitgp.results.words import renamed

    alpha = check_alpha(alpha)
    tables = results._ratio_tables(alpha) if check_flag("hazard_ratios", hazard_ratios) else []
    results._testable(kind)
    words = renamed(results._words(alpha, kind), results, yname, xname, title)
    if check_flag("slim", slim):
        words = replace(words, notes=())
    found = summarise(results, words, alpha, tables, details=check_flag("details", details))
    return found.with_tests(results.anova()) if check_flag("anova", anova) else found
