"""Confidence limits of a mean, tolerance limits, and probabilities of exceeding a standard."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from tobitgp.errors import DataError, SpecError
from tobitgp.method_settings import read_choice
from tobitgp.nondetects.means import IntervalMethod, Of, TailRule, mean_limits, read_options, skewness_note
from tobitgp.nondetects.sample import Sample, clopper_pearson, read_values
from tobitgp.nondetects.sample_likelihood import FamilyName, MaximumLikelihood, family_of, maximise
from tobitgp.nondetects.sample_results import Limit, limit_of, percent
from tobitgp.results.predict import check_probability

COUNTED_AS_DETECTS = "Non-detects count as if detected: kept for agreement with other programs."


def upper_confidence_limit(
    y: Any,
    censored: Any = None,
    method: IntervalMethod | None = None,
    *,
    of: Of | None = None,
    confidence: float = 0.95,
    family: FamilyName = "lognormal",
    km_tail: TailRule = "efron",
    bootstrap: int = 2000,
    rng: int | np.random.Generator | None = None,
) -> Limit:
    """Upper confidence limit of the mean, one-sided.

    Parameters
    ----------
    y : array-like of float or str, (n,)
        Detects and the limits of non-detects, in any units, or text such as ``"<0.5"``.
    censored : sequence of bool, (n,), optional
        1 or True for non-detects.
    method : {"bca", "profile", "cox", "delta", "land", "km-t", "km-chebyshev"}, optional
        The default for Kaplan-Meier and ROS means is ``"bca"``, the bias-corrected and accelerated bootstrap. The
        default for maximum likelihood is ``"profile"``, the profile likelihood. ``"cox"`` is a normal limit of the log
        of a log-normal mean, ``"delta"`` of the mean itself. ``"land"`` is exact for complete log-normal samples.
        ``"km-t"`` is the Student-t limit of the Kaplan-Meier mean. ``"km-chebyshev"`` is valid for every distribution.
    of : {"km", "ros", "mle"}, optional
        Estimate of the mean; by default the one that the method requires, and ``"km"`` for ``"bca"``.
    confidence : float
        Confidence level, a probability.
    family : {"lognormal", "normal", "weibull", "gamma"}
        Distribution fitted by maximum likelihood.
    km_tail : {"efron", "smallest_detect"}
        Where the Kaplan-Meier mean places the mass below the smallest detect: at the smallest limit, or at the smallest
        detect.
    bootstrap : int
        Number of resamples, at least 200.
    rng : int or numpy Generator, optional
        Generator or seed of the resamples; by default a fixed seed.

    Returns
    -------
    Limit
        Upper limit in the units of y, with the mean, the Monte Carlo error and the number of resamples drawn again.

    Raises
    ------
    DataError
        If there are fewer than two distinct detects (three for ``"bca"``), or values are not positive where they must
        be.
    SpecError
        If ``"land"`` is used with non-detects, ``"bca"`` with more than 5,000 rows, or ``method`` and ``of`` cannot be
        combined; also if values are right-censored or lie in intervals.

    References
    ----------
    .. [1] A. Singh, A. K. Singh and R. J. Iaci, *Estimation of the Exposure Point Concentration Term Using a Gamma
       Distribution*, EPA/600/R-02/084, 2002.
    .. [2] B. Efron, "Better bootstrap confidence intervals", JASA 82 (1987), 171-185.
    .. [3] C. E. Land, "Confidence intervals for linear functions of the normal mean and variance", Annals of
       Mathematical Statistics 42 (1971), 1187-1205.

    Examples
    --------
    >>> import tobitgp as tg
    >>> y = ["<1", "0.7", "1.7", "<2", "3.2", "0.5", "2.8", "0.9"]
    >>> tg.nondetects.upper_confidence_limit(y, method="profile").summary_frame()[["estimate", "upper", "n"]].round(3)
       estimate  upper  n
    y     1.434  2.765  8
    """
    level = check_probability("confidence", confidence)
    options = read_options(of, method, family, km_tail, bootstrap, rng)
    sample = read_values(y, censored)
    found = mean_limits(sample, options, (level,))
    skew = skewness_note(sample) if options.method in ("bca", "km-t") and options.of != "mle" else ()
    tail = {"mle": f" ({family})", "km": f" ({km_tail} tail)"}.get(options.of, "")
    return limit_of(
        sample,
        title=f"Upper {percent(level)} confidence limit of the mean",
        method="land" if options.method == "land" else f"{options.method} of {options.of}{tail}",
        estimate=found.estimate,
        lower=-np.inf,
        upper=found.limits[0],
        confidence=level,
        monte_carlo_error=found.error[0],
        redrawn=found.redrawn,
        notes=(*found.notes, *skew),
    )


def tolerance_limit(
    y: Any,
    censored: Any = None,
    coverage: float = 0.9,
    confidence: float = 0.95,
    *,
    side: Literal["upper", "lower"] = "upper",
    family: FamilyName = "lognormal",
    method: Literal["profile", "delta", "exact_complete", "nonparametric"] = "profile",
) -> Limit:
    """Limit below (above) which a share of the distribution lies: a confidence limit of a percentile.

    Parameters
    ----------
    y, censored
        As in :func:`tobitgp.nondetects.upper_confidence_limit`.
    coverage : float
        Share of the distribution, a probability.
    confidence : float
        Confidence level, a probability.
    side : {"upper", "lower"}
        Whether the share is below the limit (``"upper"``) or above it.
    family : {"lognormal", "normal", "weibull", "gamma"}
        Distribution of y; not used by ``"nonparametric"``.
    method : {"profile", "delta", "exact_complete", "nonparametric"}
        ``"profile"`` is the profile likelihood of the percentile. ``"delta"`` is normal on its log scale (with
        ``family="normal"``, on its own scale). ``"exact_complete"`` uses the factor of complete samples, as if
        non-detects had been detected. ``"nonparametric"`` is an order statistic.

    Returns
    -------
    Limit
        Tolerance limit in the units of y, with the estimated percentile.

    Raises
    ------
    DataError
        If there are fewer than two distinct detects; for ``"nonparametric"``, if there are too few rows, or the order
        statistic is not a detect above every limit.
    SpecError
        If a probability is outside (0, 1), or the family of ``"exact_complete"`` is neither lognormal nor normal.

    References
    ----------
    .. [1] K. Krishnamoorthy and T. Mathew, *Statistical Tolerance Regions*, Wiley, 2009.
    .. [2] W. Q. Meeker, G. J. Hahn and L. A. Escobar, *Statistical Intervals*, Wiley, 2017.

    Examples
    --------
    >>> import tobitgp as tg
    >>> y = ["<1", "0.7", "1.7", "<2", "3.2", "0.5", "2.8", "0.9"]
    >>> round(tg.nondetects.tolerance_limit(y, coverage=0.9).upper, 3)
    6.162
    """
    share, level = check_probability("coverage", coverage), check_probability("confidence", confidence)
    read_choice("side", side, ("upper", "lower"))
    read_choice("method", method, ("profile", "delta", "exact_complete", "nonparametric"))
    sample, upper = read_values(y, censored), side == "upper"
    p, at = (share, level) if upper else (1.0 - share, 1.0 - level)
    notes: tuple[str, ...] = ()
    if method == "nonparametric":
        sample.check_left("method='nonparametric'")
        estimate = float(np.quantile(sample.values, p, method="inverted_cdf"))
        limit = _order_statistic(sample, share, level, upper)
    else:
        found = maximise(sample, family)
        estimate, offset = found.percentile(p), found.of_percentile(p)
        if method == "exact_complete":
            limit, notes = exact_complete(found, p, at), (COUNTED_AS_DETECTS,)
        else:
            limit = (found.profile_limit if method == "profile" else found.link_limit)(offset, at)
    return limit_of(
        sample,
        title=f"{side.capitalize()} {percent(level)} confidence limit of percentile {100.0 * p:.6g}",
        method=method if method == "nonparametric" else f"{method} ({family})",
        estimate=estimate,
        lower=-np.inf if upper else limit,
        upper=limit if upper else np.inf,
        confidence=level,
        notes=notes if sample.censored.any() else (),
    )


def exact_complete(found: MaximumLikelihood, p: float, confidence: float) -> float:
    """The factor of a complete normal sample, from the noncentral t distribution, with the censored estimates."""
    from scipy.stats import nct

    if not found.family.noise.gaussian:
        raise SpecError(f"method='exact_complete' is of 'lognormal' and 'normal', not of {found.family.name!r}.")
    n = len(found.upper)
    factor = float(nct.ppf(confidence, n - 1, np.sqrt(n) * found.of_percentile(p)(0.0))) / float(np.sqrt(n))
    return found.family.inverse(found.a + factor * found.unbiased_scale())


def _order_statistic(sample: Sample, share: float, confidence: float, upper: bool) -> float:
    """The order statistic with the share below (above) it at the confidence level, for any distribution."""
    from scipy.stats import binom

    n = len(sample)
    rank = int(binom.ppf(confidence, n, share)) + 1
    if rank > n:
        least = int(np.ceil(np.log1p(-confidence) / np.log(share)))
        raise DataError(
            f"{n} rows are too few for a nonparametric limit of {percent(share)} with {percent(confidence)} "
            f"confidence. There must be at least {least}, of which it is the {'largest' if upper else 'smallest'}."
        )
    order = np.lexsort((~sample.censored, sample.values))
    row = order[rank - 1] if upper else order[n - rank]
    if sample.censored[row] or sample.values[row] < sample.limits.max(initial=-np.inf):
        raise DataError(
            f"The nonparametric limit would be value {rank if upper else n + 1 - rank} in order of {sample.name!r}, "
            f"and is known only if that is a detect above every limit, of which the highest is {sample.limits[-1]:g}."
        )
    return float(sample.values[row])


def exceedance(
    y: Any,
    standard: float,
    censored: Any = None,
    *,
    confidence: float = 0.95,
    family: FamilyName = "lognormal",
    method: Literal["mle", "binomial"] = "mle",
) -> Limit:
    """Probability of exceeding a standard, with two-sided confidence limits.

    Parameters
    ----------
    y : array-like of float or str, (n,)
        Detects and the limits of non-detects, in any units, or text such as ``"<0.5"``.
    standard : float
        The standard, in the units of y.
    censored : sequence of bool, (n,), optional
        1 or True for non-detects.
    confidence : float
        Confidence level, a probability.
    family : {"lognormal", "normal", "weibull", "gamma"}
        Distribution of y for ``"mle"``.
    method : {"mle", "binomial"}
        ``"mle"`` uses the fitted distribution, with limits by the delta method on the probit scale. ``"binomial"``
        counts the values above the standard, with exact Clopper-Pearson limits; the standard must be at or above every
        detection limit.

    Returns
    -------
    Limit
        Estimate, lower and upper limit, all probabilities.

    Raises
    ------
    DataError
        If a detection limit is above the standard for ``"binomial"``, or there are fewer than two distinct detects for
        ``"mle"``.
    SpecError
        If the confidence is outside (0, 1), the standard is not a number or is not positive where it must be, or the
        family or method is unknown.

    References
    ----------
    .. [1] C. J. Clopper and E. S. Pearson, "The use of confidence or fiducial limits illustrated in the case of the
       binomial", Biometrika 26 (1934), 404-413.

    Examples
    --------
    >>> import tobitgp as tg
    >>> y = ["<1", "0.7", "1.7", "<2", "3.2", "0.5", "2.8", "0.9"]
    >>> share = tg.nondetects.exceedance(y, 2.5, method="binomial")
    >>> share.estimate, round(share.lower, 3), round(share.upper, 3)
    (0.25, 0.032, 0.651)
    """
    level = check_probability("confidence", confidence)
    read_choice("method", method, ("mle", "binomial"))
    known = isinstance(standard, (int, float, np.number)) and not isinstance(standard, bool) and np.isfinite(standard)
    if not known or (standard <= 0.0 and method == "mle" and family_of(family).log):
        raise SpecError(f"standard={standard!r}: must be a number, above 0 with family={family!r}.")
    sample = read_values(y, censored)
    if method == "binomial":
        sample.check_left("method='binomial'")
        highest = sample.limits.max(initial=-np.inf)
        if highest > standard:
            raise DataError(
                f"standard={standard:g} is below the detection limit {highest:g}, so the number of "
                "exceedances is unknown. Use method='mle', which fits a distribution."
            )
        above = int((sample.detects > standard).sum())
        found = (above / len(sample), *clopper_pearson(above, len(sample), level))
    else:
        found = maximise(sample, family).exceedance(standard, level)
    return limit_of(
        sample,
        title=f"{percent(level)} limits of the probability of more than {standard:g}",
        method=method if method == "binomial" else f"mle ({family})",
        estimate=found[0],
        lower=found[1],
        upper=found[2],
        confidence=level,
    )
