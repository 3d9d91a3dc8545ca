r"""Confidence limits of the mean of a sample with non-detects by every method, and its Kaplan-Meier estimate.

With the signs of the values reversed, non-detects are right-censored times [1]_, so that

.. math:: F(x) = \prod_{u > x} (1 - d_u / n_u)

over detected values u, with :math:`d_u` detects at u and :math:`n_u` values, detected or not, that are not above u:
(NDT1) to (NDT3) of the theory pages.

References
----------
.. [1] D. R. Helsel, *Statistics for Censored Environmental Data Using Minitab and R*, Wiley, 2012, chapter 6.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
from scipy.optimize import brentq
from scipy.special import logsumexp, stdtrit

from tobitgp.errors import ApproximationWarning, SpecError, user_level
from tobitgp.method_settings import read_choice
from tobitgp.nondetects.resampling import MANY, bca, fit_many
from tobitgp.nondetects.ros import ros_means, ros_of
from tobitgp.nondetects.sample import Sample
from tobitgp.nondetects.sample_likelihood import family_of, maximise
from tobitgp.nondetects.sample_results import read_resamples
from tobitgp.numerics.nonparametric import SurvivalSteps, risk_sets
from tobitgp.typing import Array, BoolArray, IntArray

TailRule = Literal["efron", "smallest_detect", "bounds"]
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class KaplanMeier:
    """Distribution function of a sample: steps at detected values, and what remains below the smallest of them."""

    values: Array  # (m,), distinct detected values, ascending
    cdf: Array  # (m,), F at each
    lower: Array  # (m,), ends of 95% intervals of F just below each, on the scale of log(-log)
    upper: Array  # (m,)
    mass_below: float  # F below the smallest detect
    smallest: float  # of all values, a limit where mass remains below the smallest detect
    n: int
    mean: float  # NaN if only its bounds are known
    bounds: tuple[float, float]  # of the mean, with the remaining mass at 0 and at the smallest detect
    sd: float
    se: float  # of the mean

    def quantile(self, p: float) -> float:
        """The least value with F at least p; NaN if that lies below the smallest limit."""
        if p <= self.mass_below + _ROUNDING:
            return np.nan
        return float(self.values[np.searchsorted(self.cdf, p - _ROUNDING)])

    def t_limit(self, confidence: float) -> float:
        """One-sided limit of the mean by Student's t, n - 1 degrees of freedom; below the mean if under one half."""
        return self.mean + float(stdtrit(self.n - 1, confidence)) * self.se


def kaplan_meier_of(sample: Sample, km_tail: TailRule = "efron") -> KaplanMeier:
    """Estimate F, and the moments under a convention for the mass below the smallest detect."""
    read_choice("km_tail", km_tail, get_args(TailRule))
    sample.check_left("Kaplan-Meier")
    if km_tail == "bounds":
        sample.check_positive("km_tail='bounds', whose lower bound is 0,")
    sets = risk_sets(-sample.values, ~sample.censored, np.ones(len(sample)))
    seen = (sets.events > 0.0)[::-1]
    u, before = -sets.times[::-1], sets.survival[::-1]
    cdf = np.append(before[1:], 1.0)[seen]
    mass = cdf - before[seen]
    values, below, smallest = u[seen], float(before[0]), float(u[0])
    at = smallest if km_tail == "efron" else float(values[0])
    mean = float(mass @ values + below * at)
    bounds = (float(mass @ values), float(mass @ values + below * values[0]))
    sd = float(np.sqrt(mass @ (values - mean) ** 2 + below * (at - mean) ** 2))
    se = standard_error(sets, -at)
    if km_tail == "bounds" and below > _ROUNDING:
        mean = sd = se = np.nan
    lower, upper = (end[::-1][seen] for end in sets.interval())
    return KaplanMeier(values, cdf, lower, upper, below, smallest, len(sample), mean, bounds, sd, se)


def standard_error(sets: SurvivalSteps, end: float) -> float:
    """Greenwood's standard error of the mean, with the factor m / (m - 1) of m events; areas up to ``end``."""
    widths = np.diff(np.minimum(np.append(sets.times, end), end))
    area = np.cumsum((widths * sets.survival)[::-1])[::-1]
    used = (sets.events > 0.0) & (area > 0.0)
    d, n = sets.events[used], sets.at_risk[used]
    m = sets.events.sum()
    with np.errstate(divide="ignore"):  # one detect has no standard error
        return float(np.sqrt(np.sum(area[used] ** 2 * d / (n * (n - d))) * m / (m - 1.0)))


def km_means(values: Array, censored: BoolArray, rows: IntArray, km_tail: TailRule) -> Array:
    """Means of samples that each row of ``rows``, indices (B, n), selects from one sample; (B,)."""
    u, code = np.unique(values, return_inverse=True)
    B, m = len(rows), len(u)
    at = (np.arange(B)[:, None] * m + code[rows]).ravel()
    counts = np.bincount(at, minlength=B * m).reshape(B, m)
    events = np.bincount(at, weights=~censored[rows].ravel(), minlength=B * m).reshape(B, m)
    at_risk = np.maximum(np.cumsum(counts, axis=1), 1)
    below = np.cumprod((1.0 - events / at_risk)[:, ::-1], axis=1)[:, ::-1]  # F just below each value
    mass = np.diff(below, axis=1, append=1.0)
    first = u[np.argmax((counts if km_tail == "efron" else events) > 0, axis=1)]
    return np.asarray(mass @ u + below[:, 0] * first)


_NODES = 400


def land_limit(m: float, s: float, n: int, confidence: float) -> float:
    r"""Land's exact limit of the log of a log-normal mean, of a complete sample; a lower one below one half.

    Given :math:`n (m - \theta)^2 + (n - 1) s^2`, with m and s of the logarithms and :math:`\theta = \mu + \sigma^2 / 2`
    the log of the mean, the distribution of m depends on :math:`\theta` alone: (NDT9) of the theory pages; C. E. Land,
    "Confidence intervals for linear functions of the normal mean and variance", Annals of Mathematical Statistics 42
    (1971), 1187-1205.
    """
    centre = m + 0.5 * s * s
    step = (s + s * s) / np.sqrt(n)
    low, high = centre - step, centre + step
    while _share_below(low, m, s, n) < 1.0 - confidence:
        low -= 2.0 * (high - low)
    while _share_below(high, m, s, n) > 1.0 - confidence:
        high += 2.0 * (high - low)
    return float(brentq(lambda theta: _share_below(theta, m, s, n) - (1.0 - confidence), low, high, xtol=1e-12))


def _share_below(theta: float, m: float, s: float, n: int) -> float:
    """Conditional probability of a smaller m than was observed, if theta is the log of the mean."""
    size = np.hypot(m - theta, s * np.sqrt((n - 1.0) / n))
    at = float(np.arcsin((m - theta) / size))
    below, above = (
        _log_integral(low, high, 0.5 * n * size, n) for low, high in ((-0.5 * np.pi, at), (at, 0.5 * np.pi))
    )
    return float(np.exp(below - np.logaddexp(below, above)))


def _log_integral(low: float, high: float, kappa: float, n: int) -> float:
    """Log of the integral of exp(-kappa sin(phi)) cos(phi)^(n - 2)."""
    x, w = _gauss_legendre()
    phi = 0.5 * (low + high) + 0.5 * (high - low) * x
    return float(logsumexp((n - 2.0) * np.log(np.cos(phi)) - kappa * np.sin(phi), b=0.5 * (high - low) * w))


@lru_cache(maxsize=1)
def _gauss_legendre() -> tuple[Array, Array]:
    return np.polynomial.legendre.leggauss(_NODES)


Of = Literal["km", "ros", "mle"]
IntervalMethod = Literal["bca", "profile", "cox", "delta", "land", "km-t", "km-chebyshev"]
METHODS: dict[str, tuple[str, ...]] = {
    "km": ("bca", "km-t", "km-chebyshev"),
    "ros": ("bca",),
    "mle": ("profile", "cox", "delta", "land", "bca"),
}
_UNSTABLE = 1.5


class MeanLimits(NamedTuple):
    """A mean and one-sided limits of it."""

    estimate: float
    limits: tuple[float, ...]
    error: tuple[float, ...]  # Monte Carlo standard error of each
    redrawn: int
    notes: tuple[str, ...]


class MeanOptions(NamedTuple):
    """How a mean is estimated and its limits are computed."""

    of: Of
    method: IntervalMethod
    family: str
    km_tail: TailRule
    bootstrap: int
    rng: Any


def read_options(of: Any, method: Any, family: str, km_tail: Any, bootstrap: Any, rng: Any) -> MeanOptions:
    """A method and the mean that it applies to, with their defaults; an error if they cannot be combined."""
    if method is not None:
        read_choice("method", method, get_args(IntervalMethod))
    if of is not None:
        read_choice("of", of, METHODS)
    if of is None:
        of = "km" if method is None else next(name for name, methods in METHODS.items() if method in methods)
    method = METHODS[of][0] if method is None else method
    if method not in METHODS[of]:
        raise SpecError(f"method={method!r} is not of of={of!r}, whose are {', '.join(map(repr, METHODS[of]))}.")
    family_of(family)
    if method in ("cox", "land") and family != "lognormal":
        raise SpecError(f"method={method!r} is of log-normal means; of family={family!r} use method='profile'.")
    if method == "bca" and of == "mle" and family == "gamma":
        raise SpecError("method='bca' is not available for family='gamma'; use method='profile'.")
    read_choice("km_tail", km_tail, get_args(TailRule))
    return MeanOptions(of, method, family, km_tail, read_resamples(bootstrap), rng)


def mean_limits(sample: Sample, options: MeanOptions, confidences: tuple[float, ...]) -> MeanLimits:
    """The mean and its one-sided limits, upper ones for confidences above one half."""
    if options.method == "land" or (options.method == "cox" and not sample.censored.any()):
        return _complete(sample, options.method, confidences)
    if options.of == "km":
        return _kaplan_meier(sample, options, confidences)
    if options.method == "bca":
        estimate = ros_of(sample).mean if options.of == "ros" else maximise(sample, options.family).mean
        return _bootstrap(sample, options, confidences, estimate)
    found = maximise(sample, options.family)
    limit = {"profile": found.profile_limit, "cox": found.link_limit, "delta": found.delta_limit}[options.method]
    limits = tuple(limit(found.family.mean, confidence) for confidence in confidences)
    return MeanLimits(found.mean, limits, (0.0,) * len(limits), 0, ())


def _bootstrap(sample: Sample, options: MeanOptions, confidences: tuple[float, ...], estimate: float) -> MeanLimits:
    # Leaving one row out has to leave a sample that can be estimated.
    sample.check_left("The bootstrap (method='bca')")
    sample.check_detects(least=3)
    if len(sample) > MANY:
        raise SpecError(
            f"method='bca' takes each row away once, which {len(sample)} rows are too many for: at most {MANY}; the "
            "mean of so many is near normal, and method='km-t' or 'profile' takes any number."
        )
    if options.of == "mle":
        means = _likelihood_means(sample, options.family)
    elif options.of == "km":
        means = partial(km_means, sample.values, sample.censored, km_tail=options.km_tail)
    else:
        means = partial(ros_means, sample.values, sample.censored)
    found = bca(sample, means, confidences, options.bootstrap, options.rng)
    return MeanLimits(estimate, found.limits, found.error, found.redrawn, ())


def _likelihood_means(sample: Sample, name: str) -> Callable[[IntArray], Array]:
    family = family_of(name)
    t = family.link(sample.values)

    def means(rows: IntArray) -> Array:
        a, s = fit_many(family.noise, t[rows], sample.censored[rows])
        offset = np.array([family.mean(b) for b in np.log(s)])
        return np.exp(a + offset) if family.log else a

    return means


def _kaplan_meier(sample: Sample, options: MeanOptions, confidences: tuple[float, ...]) -> MeanLimits:
    if options.km_tail == "bounds":
        raise SpecError("km_tail='bounds' gives bounds of the mean and no limits: 'efron' or 'smallest_detect'.")
    sample.check_left("Kaplan-Meier")
    sample.check_detects()
    found = kaplan_meier_of(sample, options.km_tail)
    if options.method == "bca":
        return _bootstrap(sample, options, confidences, found.mean)
    if options.method == "km-t":
        limits = tuple(found.t_limit(confidence) for confidence in confidences)
        return MeanLimits(found.mean, limits, (0.0,) * len(limits), 0, ())
    limits = tuple(found.mean + chebyshev(confidence) * found.se for confidence in confidences)
    note = "Chebyshev's limit holds for every distribution, and so lies further out than need be."
    return MeanLimits(found.mean, limits, (0.0,) * len(limits), 0, (note,))


def chebyshev(confidence: float) -> float:
    """Number of standard errors in the one-sided inequality of Chebyshev and Cantelli."""
    alpha, side = (1.0 - confidence, 1.0) if confidence > 0.5 else (confidence, -1.0)
    return side * float(np.sqrt(1.0 / alpha - 1.0))


def _complete(sample: Sample, method: str, confidences: tuple[float, ...]) -> MeanLimits:
    """Land's exact limits, or Cox's with Student's t, of a sample without non-detects."""
    if sample.censored.any():
        raise SpecError(
            f"method='land' is exact for complete log-normal samples, and {int(sample.censored.sum())} of "
            f"{sample.name!r} are non-detects, for which it has no version: method='profile' or 'bca'."
        )
    sample.check_positive(f"method={method!r}")
    sample.check_detects()
    t = np.log(sample.values)
    n, m, s = len(t), float(t.mean()), float(t.std(ddof=1))
    if method == "land" and s > _UNSTABLE:
        warnings.warn(
            f"The logarithms have standard deviation {s:.3g}: beyond 1.5 Land's limits are unstable and may be "
            "far too high where the sample is not exactly log-normal.",
            ApproximationWarning,
            stacklevel=user_level(),
        )
    centre, se = m + 0.5 * s * s, float(np.sqrt(s**2 / n + 0.5 * s**4 / (n + 1.0)))
    logs = [
        land_limit(m, s, n, confidence) if method == "land" else centre + float(stdtrit(n - 1, confidence)) * se
        for confidence in confidences
    ]
    return MeanLimits(float(np.exp(centre)), tuple(float(np.exp(v)) for v in logs), (0.0,) * len(logs), 0, ())


def skewness_note(sample: Sample) -> tuple[str, ...]:
    """Note on limits of Kaplan-Meier and ROS means for samples that are skewed to the right."""
    if (sample.values <= 0.0).any():
        return ()
    s = float(np.exp(maximise(sample).b))
    if s <= 1.0:
        return ()
    return (
        f"The log-normal fit has s = {s:.2f} > 1: in samples so skew, upper limits of Kaplan-Meier and ROS means are "
        "too low, Student's above all; those of maximum likelihood by profile cover.",
    )
