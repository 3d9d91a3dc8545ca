r"""Maximum likelihood of one sample: families of two parameters, moments, percentiles, and their limits.

A functional of the family is a + h(b) on the scale of the link, for a function h of the shape alone, so that its
profile likelihood is a maximum over b: (NDT6) to (NDT8) of the theory pages.

References
----------
.. [1] R. H. Shumway, R. S. Azari and M. Kayhanian, "Statistical approaches to estimating mean water quality
   concentrations with detection limits", Environmental Science & Technology 36 (2002), 3345-3353.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from scipy.special import gammainc, gammaincc, gammaln, ndtr, ndtri, poch

from tobitgp.api import fit
from tobitgp.distributions.gengamma import GenGammaNoise
from tobitgp.distributions.gumbel import Gumbel
from tobitgp.distributions.location_scale import LocationScale
from tobitgp.distributions.standard_noise import Distribution
from tobitgp.distributions.symmetric_noise import NormalNoise
from tobitgp.errors import DataError, NumericalError
from tobitgp.method_settings import read_choice
from tobitgp.nondetects.sample import Sample
from tobitgp.typing import Array

FamilyName = Literal["lognormal", "normal", "weibull", "gamma"]


@dataclass(frozen=True, slots=True)
class SampleFamily:
    """Distributions with location a of log y (or y), for any b, the log of the scale of log y (or of y)."""

    name: str
    fitted: str  # family of `tobitgp.fit`
    log: bool  # a is a location of log y
    noise: Distribution

    def link(self, y: Array) -> Array:
        """Log y, or y; (n,)."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.log(np.maximum(y, 0.0)) if self.log else y

    def inverse(self, t: float) -> float:
        """The value whose `link` is t."""
        with np.errstate(over="ignore"):
            return float(np.exp(t)) if self.log else float(t)

    def linked(self, a: float, b: float) -> LocationScale:
        """The distribution of t = link(y)."""
        return LocationScale(self.noise, np.asarray(a), np.exp(b))

    def log_likelihood(self, lower: Array, upper: Array, a: float, b: float) -> float:
        """Sum of log densities of t where the ends are equal and of log masses elsewhere; -inf where it is lost."""
        exact, t = lower == upper, self.linked(a, b)
        value = float(t.logpdf(upper[exact]).sum() + t.log_mass(lower[~exact], upper[~exact]).sum())
        return value if np.isfinite(value) else -np.inf

    def log_moment(self, order: float, b: float) -> float:
        """Log of the mean of a power of y if a is 0, for families of log y."""
        s = order * np.exp(b)
        return float(0.5 * s * s if self.noise.gaussian else gammaln(1.0 + s))

    def mean(self, b: float) -> float:
        """Link of the mean, less a."""
        return self.log_moment(1.0, b) if self.log else 0.0

    def quantile(self, p: float, b: float) -> float:
        """Link of a quantile, less a."""
        return float(self.linked(0.0, b).ppf(p))

    def sd(self, a: float, b: float) -> float:
        """Standard deviation of y."""
        if not self.log:
            return float(np.exp(b))
        square = self.log_moment(2.0, b) - 2.0 * self.mean(b)
        return self.inverse(a + self.mean(b)) * float(np.sqrt(np.expm1(square)))


class GammaSamples(SampleFamily):
    """Gamma distributions, with a the log of the scale and b the log of the shape; Q of their log times is its sd."""

    __slots__ = ()

    def linked(self, a: float, b: float) -> LocationScale:
        """The distribution of log y."""
        sd = np.exp(-0.5 * b)
        return LocationScale(GenGammaNoise(float(sd)), np.asarray(a + b), sd)

    def log_likelihood(self, lower: Array, upper: Array, a: float, b: float) -> float:
        """By incomplete gamma functions, which take a quarter of the time."""
        exact, k = lower == upper, np.exp(b)
        t = upper[exact] - a
        with np.errstate(divide="ignore", over="ignore"):
            low, high = np.exp(lower[~exact] - a), np.exp(upper[~exact] - a)
            from_left = np.log(gammainc(k, high) - gammainc(k, low))
            mass = np.where(low > k, np.log(gammaincc(k, low) - gammaincc(k, high)), from_left)
            value = float((k * t - np.exp(t) - gammaln(k)).sum() + mass.sum())
        return value if np.isfinite(value) else -np.inf

    def log_moment(self, order: float, b: float) -> float:
        """Log of the mean of a power of y where a is 0."""
        return float(np.log(poch(np.exp(b), order)))


SAMPLE_FAMILIES = {
    "lognormal": SampleFamily("lognormal", "lognormal", True, NormalNoise()),
    "normal": SampleFamily("normal", "gaussian", False, NormalNoise()),
    "weibull": SampleFamily("weibull", "weibull", True, Gumbel()),
    "gamma": GammaSamples("gamma", "gengamma", True, Gumbel()),
}


def family_of(name: str) -> SampleFamily:
    """The family of a name."""
    read_choice("family", name, SAMPLE_FAMILIES)
    return SAMPLE_FAMILIES[name]


Offset = Callable[[float], float]  # of b: link of a functional, less a
_STEP = 1e-5
_REACH = 6.0  # of the logarithm of the shape from its estimate, in a profile
_DOUBLINGS = 40


@dataclass(frozen=True, slots=True)
class MaximumLikelihood:
    """A family at its maximum, for one sample."""

    family: SampleFamily
    lower: Array  # (n,), ends of what is known of each row, on the scale of the link
    upper: Array  # (n,)
    a: float
    b: float
    covariance: Array  # (2, 2), of a and b
    llf: float  # log likelihood, of detects as densities of y
    jacobian: float = field(repr=False)  # log density of y less that of its link, over the detects

    @property
    def mean(self) -> float:
        """Of y."""
        return self.value(self.family.mean)

    @property
    def sd(self) -> float:
        """Of y."""
        return self.family.sd(self.a, self.b)

    def percentile(self, p: float) -> float:
        """Of y."""
        return self.value(self.of_percentile(p))

    def of_percentile(self, p: float) -> Offset:
        """The functional whose value is a percentile."""
        return lambda b: self.family.quantile(p, b)

    def value(self, offset: Offset) -> float:
        """A functional at the maximum, in the units of y."""
        return self.family.inverse(self.a + offset(self.b))

    def se(self, offset: Offset) -> float:
        """Standard error of a functional on the scale of the link, by the delta method."""
        gradient = np.array([1.0, (offset(self.b + _STEP) - offset(self.b - _STEP)) / (2.0 * _STEP)])
        return float(np.sqrt(gradient @ self.covariance @ gradient))

    def link_limit(self, offset: Offset, confidence: float) -> float:
        """One-sided limit, normal on the scale of the link; Cox's limit for a log-normal mean."""
        return self.family.inverse(self.a + offset(self.b) + float(ndtri(confidence)) * self.se(offset))

    def delta_limit(self, offset: Offset, confidence: float) -> float:
        """One-sided limit, normal in the units of y."""
        value = self.value(offset)
        slope = value if self.family.log else 1.0
        return value + float(ndtri(confidence)) * slope * self.se(offset)

    def profile_limit(self, offset: Offset, confidence: float) -> float:
        """One-sided limit by the profile likelihood; 0 or infinite (in the link) where it does not fall enough."""
        from scipy.optimize import brentq

        z = float(ndtri(confidence))
        centre, step = self.a + offset(self.b), z * self.se(offset)

        def above(v: float) -> float:
            return self._profile(v, offset) - (self.llf - 0.5 * z * z)

        if z == 0.0:
            return self.family.inverse(centre)
        if not above(centre) > 0.0:
            raise NumericalError("The likelihood is lost to rounding: the detects hardly differ from each other.")
        near, far = centre, centre + step
        for _ in range(_DOUBLINGS):
            if above(far) < 0.0:
                return self.family.inverse(brentq(above, near, far, xtol=1e-10 * max(1.0, abs(far)), rtol=1e-12))
            near, far = far, far + 2.0 * (far - near)
        return self.family.inverse(np.copysign(np.inf, z))

    def _profile(self, v: float, offset: Offset) -> float:
        """Maximum of the log likelihood over b when the functional is v."""
        from scipy.optimize import minimize_scalar

        found = minimize_scalar(
            lambda b: -self.log_likelihood(v - offset(b), b),
            bounds=(self.b - _REACH, self.b + _REACH),
            method="bounded",
            options={"xatol": 1e-7},
        )
        return -float(found.fun)

    def log_likelihood(self, a: float, b: float) -> float:
        """Log likelihood at other parameters; -inf where it is lost."""
        return self.family.log_likelihood(self.lower, self.upper, a, b) + self.jacobian

    def unbiased_scale(self) -> float:
        """The scale; for a complete sample with n - 1 instead of n."""
        n = len(self.upper)
        complete = bool((self.lower == self.upper).all())
        return float(np.exp(self.b)) * float(np.sqrt(n / (n - 1.0)) if complete else 1.0)

    def exceedance(self, standard: float, confidence: float) -> tuple[float, float, float]:
        """Probability of exceeding a standard, and its two-sided limits by the delta method on the probit scale."""
        t = float(self.family.link(np.array([standard]))[0])

        def probit(a: float, b: float) -> float:
            return -float(ndtri(np.exp(self.family.linked(a, b).logsf(np.asarray(t)))))

        at = probit(self.a, self.b)
        if not np.isfinite(at):
            raise DataError(
                f"standard={standard:g} lies so far from the sample that the fitted {self.family.name} distribution "
                "has all of its probability on one side."
            )
        gradient = np.array(
            [
                (probit(self.a + da, self.b + db) - probit(self.a - da, self.b - db)) / (2.0 * _STEP)
                for da, db in ((_STEP, 0.0), (0.0, _STEP))
            ]
        )
        reach = float(ndtri(0.5 + 0.5 * confidence)) * float(np.sqrt(gradient @ self.covariance @ gradient))
        estimate, low, high = (float(ndtr(-at - move)) for move in (0.0, reach, -reach))
        return estimate, low, high


def maximise(sample: Sample, family: str = "lognormal") -> MaximumLikelihood:
    """Fit a family to a sample by the package's regression on an intercept; gamma by its own likelihood."""
    kind = family_of(family)
    if kind.log:
        sample.check_positive(f"family={family!r}")
    sample.check_detects()
    lower, upper = kind.link(sample.lower), kind.link(sample.upper)
    jacobian = -float(upper[lower == upper].sum()) if kind.log else 0.0
    a, b, covariance = _gamma(kind, lower, upper) if kind.name == "gamma" else _regression(kind, sample)
    llf = kind.log_likelihood(lower, upper, a, b) + jacobian
    return MaximumLikelihood(kind, lower, upper, a, b, covariance, llf, jacobian)


def _regression(family: SampleFamily, sample: Sample) -> tuple[float, float, Array]:
    """Estimates and their covariance, sigma on the log scale."""
    data = {"lower": sample.lower, "upper": sample.upper}
    if family.log:
        data["lower"] = np.where(sample.lower <= 0.0, -np.inf, sample.lower)
    res: Any = fit("interval(lower, upper) ~ 1", data, family=family.fitted, method="mle")
    (a, sigma), units = res.params, np.array([1.0, 1.0 / res.params["sigma"]])
    return float(a), float(np.log(sigma)), np.asarray(res.cov_params()) * np.outer(units, units)


def _gamma(family: SampleFamily, lower: Array, upper: Array) -> tuple[float, float, Array]:
    """The package has gamma times only as a curve within the generalised gamma ones, so here by Nelder and Mead."""
    from scipy.optimize import minimize
    from statsmodels.tools.numdiff import approx_hess

    def loss(x: Array) -> float:
        # The mean and the shape are less correlated than the scale and the shape.
        return -family.log_likelihood(lower, upper, x[0] - x[1], x[1])

    seen = np.exp(upper[lower == upper])
    start = np.array([np.log(seen.mean()), 2.0 * np.log(seen.mean() / seen.std())])
    found = minimize(loss, start, method="Nelder-Mead", options={"xatol": 1e-8, "fatol": 1e-11, "maxiter": 1000})
    change = np.array([[1.0, -1.0], [0.0, 1.0]])
    covariance = change @ np.linalg.inv(approx_hess(found.x, loss)) @ change.T
    return float(found.x[0] - found.x[1]), float(found.x[1]), covariance
