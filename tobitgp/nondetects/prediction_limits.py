"""Prediction limits of new values, from a sample with non-detects."""

from __future__ import annotations

from typing import Any, Literal, NamedTuple

import numpy as np
from scipy.special import ndtr, stdtrit

from tobitgp.errors import SpecError
from tobitgp.method_settings import read_choice
from tobitgp.nondetects.limits import COUNTED_AS_DETECTS
from tobitgp.nondetects.resampling import MANY, draw_limits, few_detects, fit_many
from tobitgp.nondetects.sample import Sample, read_values
from tobitgp.nondetects.sample_likelihood import FamilyName, MaximumLikelihood, maximise
from tobitgp.nondetects.sample_results import Limit, limit_of, percent, read_count, read_resamples
from tobitgp.numerics.sampling import generator, open_uniform
from tobitgp.results.predict import check_probability
from tobitgp.typing import Array


def prediction_limit(
    y: Any,
    censored: Any = None,
    k: int = 1,
    mean_of: int = 1,
    confidence: float = 0.95,
    *,
    side: Literal["upper", "lower", "two-sided"] = "upper",
    family: FamilyName = "lognormal",
    method: Literal["predictive", "exact_complete"] = "predictive",
    bootstrap: int = 2000,
    rng: int | np.random.Generator | None = None,
) -> Limit:
    """Limit that all of k new values, or means of new values, satisfy with a given probability.

    Parameters
    ----------
    y, censored
        As in :func:`tobitgp.nondetects.upper_confidence_limit`.
    k : int
        Number of new values, or of new means, all of which satisfy the limit.
    mean_of : int
        Number of new values in each mean, which is geometric for the log-normal family; 1 for single values.
    confidence : float
        Confidence level, a probability.
    side : {"upper", "lower", "two-sided"}
        Two-sided limits are two one-sided limits with half the error probability each.
    family : {"lognormal", "normal", "weibull"}
        Distribution of y; means of several values require one of the first two.
    method : {"predictive", "exact_complete"}
        ``"predictive"`` is a parametric bootstrap of the distance of a new value from the estimates, (NDT10) and
        (NDT11) of the theory pages. It draws samples under the detection limits of this sample, so that non-detects
        count as censored. The limit of a detect is drawn from the limits that are not above it. For more than 5,000
        rows the estimates are drawn from a normal distribution. ``"exact_complete"`` is Student's t limit for complete
        samples.
    bootstrap, rng
        As in :func:`tobitgp.nondetects.upper_confidence_limit`.

    Returns
    -------
    Limit
        Prediction limit in the units of y, with the estimated median and the Monte Carlo error.

    Raises
    ------
    DataError
        If there are fewer than two distinct detects, or values are not positive where they must be.
    SpecError
        If a count is not a whole number, values are right-censored or lie in intervals, or the family is not available.

    References
    ----------
    .. [1] J. F. Lawless and M. Fredette, "Frequentist prediction intervals and predictive distributions", Biometrika
       92 (2005), 529-542.
    .. [2] S. P. Millard, *EnvStats: An R Package for Environmental Statistics*, Springer, 2013.

    Examples
    --------
    >>> import tobitgp as tg
    >>> y = ["<1", "0.7", "1.7", "<2", "3.2", "0.5", "2.8", "0.9"]
    >>> round(tg.nondetects.prediction_limit(y, method="exact_complete").upper, 3)
    4.597
    """
    level = check_probability("confidence", confidence)
    for name, value in (("k", k), ("mean_of", mean_of)):
        read_count(value, name)
    read_choice("side", side, ("upper", "lower", "two-sided"))
    read_choice("method", method, ("predictive", "exact_complete"))
    if family == "gamma":
        raise SpecError("family='gamma' has no prediction limits: 'lognormal', 'normal' or 'weibull'.")
    sample = read_values(y, censored)
    sample.check_left("A prediction limit")
    found = maximise(sample, family)
    if not found.family.noise.gaussian and (mean_of > 1 or method == "exact_complete"):
        raise SpecError(f"family={family!r} has limits of single values by method='predictive' only.")
    each = 0.5 + 0.5 * level if side == "two-sided" else level
    ends, redrawn = np.array([-np.inf, np.inf]), 0
    error = 0.0
    notes: tuple[str, ...] = ()
    if method == "predictive":
        simulated = simulate(sample, found, read_resamples(bootstrap), rng)
        redrawn = simulated.redrawn
    for at, sign in ((0, -1.0), (1, 1.0)):
        if side == ("upper", "lower")[at]:
            continue
        if method == "predictive":
            ends[at], error = predictive(found, simulated, each, k, mean_of, sign)
        else:
            ends[at] = exact_prediction(found, each, k, mean_of, sign)
            notes = (COUNTED_AS_DETECTS,) if sample.censored.any() else ()
    new = f"mean{'s' * (k > 1)} of {mean_of} new values" if mean_of > 1 else f"new value{'s' * (k > 1)}"
    return limit_of(
        sample,
        title=f"{side.capitalize()} {percent(level)} prediction limit of {k} {new}",
        method=f"{method} ({family})",
        estimate=found.percentile(0.5),
        lower=float(ends[0]),
        upper=float(ends[1]),
        confidence=level,
        monte_carlo_error=error,
        redrawn=redrawn,
        notes=notes,
    )


class Simulated(NamedTuple):
    """Estimates of samples from a fit: location and scale in the units of the fit's location and scale, (B,)."""

    a: Array
    s: Array
    redrawn: int


def simulate(sample: Sample, found: MaximumLikelihood, size: int, rng: Any) -> Simulated:
    """Draw samples of the fitted distribution under the limits of this one, and fit each.

    For very many rows, estimates are drawn from their normal distribution instead.
    """
    stream, noise = generator(rng), found.family.noise
    if len(sample) > MANY:
        moves = stream.multivariate_normal([0.0, 0.0], found.covariance, size=size)
        return Simulated(moves[:, 0] * np.exp(-found.b), np.exp(moves[:, 1]), 0)
    limits = (draw_limits(sample, size, stream, found.family.link) - found.a) * np.exp(-found.b)
    z = noise.ppf(open_uniform(stream, limits.shape))
    redrawn = 0
    while (few := few_detects(np.where(z < limits, np.nan, z))).any():
        redrawn += int(few.sum())
        z[few] = noise.ppf(open_uniform(stream, (int(few.sum()), z.shape[1])))
    return Simulated(*fit_many(noise, np.maximum(z, limits), z < limits), redrawn)


def exact_prediction(
    found: MaximumLikelihood, confidence: float, k: int = 1, mean_of: int = 1, sign: float = 1.0
) -> float:
    """Student's t limit of complete samples, with Bonferroni's correction, from the censored estimates."""
    n = len(found.upper)
    factor = float(stdtrit(n - 1, 1.0 - (1.0 - confidence) / k)) * float(np.sqrt(1.0 / mean_of + 1.0 / n))
    return found.family.inverse(found.a + sign * factor * found.unbiased_scale())


def predictive(
    found: MaximumLikelihood,
    simulated: Simulated,
    confidence: float,
    k: int = 1,
    mean_of: int = 1,
    sign: float = 1.0,
) -> tuple[float, float]:
    """The limit whose pivot keeps the confidence on average over samples, and its Monte Carlo error."""
    from scipy.optimize import brentq

    def kept(K: float) -> Array:
        ends = sign * (simulated.a + K * simulated.s) * np.sqrt(mean_of)
        if found.family.noise.gaussian:
            return np.asarray(ndtr(ends) ** k)
        log_p = found.family.noise.log_cdf(ends) if sign > 0.0 else found.family.noise.log_sf(-ends)
        return np.asarray(np.exp(k * log_p))

    far = 1.0
    while kept(sign * far).mean() < confidence:
        far *= 2.0
    K = sign * float(brentq(lambda x: kept(sign * x).mean() - confidence, -far, far, xtol=1e-10))
    slope = abs(kept(K + 1e-4).mean() - kept(K - 1e-4).mean()) / 2e-4
    s = float(np.exp(found.b))
    limit = found.family.inverse(found.a + K * s)
    error = kept(K).std() / np.sqrt(len(simulated.a)) / slope * s
    return limit, float(error) * (limit if found.family.log else 1.0)
