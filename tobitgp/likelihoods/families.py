"""The noise families a user may name, and the closed forms of Gaussian noise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np

from tobitgp.data.arrays import KindRows
from tobitgp.distributions.gengamma import GenGammaNoise
from tobitgp.distributions.gumbel import Gumbel
from tobitgp.distributions.power_normal import POWERS, PowerNoise
from tobitgp.distributions.row_models import RowModel
from tobitgp.distributions.standard_noise import Distribution
from tobitgp.distributions.symmetric_noise import Logistic, NormalNoise, StudentNoise
from tobitgp.errors import SpecError
from tobitgp.formula.functions import nearest
from tobitgp.likelihoods.custom_noise import CustomNoise as CustomNoise
from tobitgp.likelihoods.custom_noise import FunctionNoise
from tobitgp.likelihoods.noise import NoiseLikelihood
from tobitgp.likelihoods.row_terms import Expected, Likelihood, Point, Terms, Tilted
from tobitgp.numerics.normal_functions import fourth, log_cdf, mills, third
from tobitgp.numerics.truncated_moments import expected_interval, expected_one_sided, interval
from tobitgp.typing import Array

TRUNCATED = NoiseLikelihood(NormalNoise())
_HALF_LOG_2PI = 0.5 * float(np.log(2.0 * np.pi))


class GaussianNoise(Likelihood):
    """``y = f + sigma eps`` seen exactly, from one side, or inside an interval.

    With ``S^2 = sigma^2 + var`` the tilted normaliser (ROW10) of a Gaussian f is the likelihood at ``S``, so ``tilted``
    and ``point`` (ROW5) to (ROW9) share their scalars; derivatives in log sigma (ROW11) follow from the heat equation
    ``d p / d sigma^2 = 1/2 d^2 p / df^2``: (ROW4) to (ROW15) of the theory pages (Groot and Lucas 2012, section 2.3.2
    and supplement, with corrections). Truncated rows have no such forms and are left to quadrature. Of others sigma may
    differ from row to row, (n,).
    """

    def is_conjugate(self, rows: KindRows) -> bool:
        """Exact rows that are not truncated."""
        return rows.kind == "exact" and rows.window is None

    def tilted(self, rows: KindRows, mean: Array, var: Array, sigma: float | Array) -> Tilted:
        """In closed form, (ROW10)."""
        if rows.window is not None:
            return TRUNCATED.tilted(rows, mean, var, float(sigma))
        return _smoothed(rows, mean, np.sqrt(sigma * sigma + var))

    def newton(self, rows: KindRows, f: Array, sigma: float | Array) -> Tilted:
        if rows.window is not None:
            return TRUNCATED.newton(rows, f, float(sigma))
        return _smoothed(rows, f, np.full_like(f, sigma))

    def terms(self, rows: KindRows, f: Array, sigma: float | Array) -> Terms:
        return TRUNCATED.terms(rows, f, sigma)

    def tilted_slope(
        self, rows: KindRows, mean: Array, var: Array, sigma: float | Array, d1: Array, d2: Array
    ) -> Array:
        """By ``sigma^2 (d2 + d1^2)``, (ROW11)."""
        if rows.window is not None:
            return TRUNCATED.tilted_slope(rows, mean, var, float(sigma), d1, d2)
        return (sigma * sigma * (d2 + d1 * d1))[None]

    def point(self, rows: KindRows, f: Array, sigma: float | Array) -> Point:
        """In closed form, (ROW5) to (ROW9)."""
        if rows.window is not None:
            return TRUNCATED.point(rows, f, float(sigma))
        s2 = sigma * sigma
        if rows.kind == "one-sided":
            z = (f - rows.limit) * rows.sign / sigma
            h, delta = mills(z)
            log_p = log_cdf(z)
            d1, d2 = rows.sign * h / sigma, -h * delta / s2
            d3 = rows.sign * third(z, h, delta) / (s2 * sigma)
            d4 = fourth(z, h, delta) / (s2 * s2)
        elif rows.kind == "exact":
            z = (rows.limit - f) / sigma
            log_p = -_HALF_LOG_2PI - np.log(sigma) - 0.5 * z * z
            d1, d2 = z / sigma, np.full_like(z, -1.0 / s2)
            d3 = d4 = np.zeros_like(z)
        else:
            x = interval((rows.lower - f) / sigma, (rows.upper - f) / sigma, rows.width / sigma)
            log_p = x.log_mass
            d1, d2 = x.mean / sigma, -x.complement / s2
            d3, d4 = x.third / (s2 * sigma), x.fourth / (s2 * s2)
        return Point(
            log_p,
            d1,
            d2,
            d3,
            (s2 * (d2 + d1 * d1))[None],
            (s2 * (d3 + 2.0 * d1 * d2))[None],
            (s2 * (d4 + 2.0 * d2 * d2 + 2.0 * d1 * d3))[None],
        )

    def expected(
        self, rows: KindRows, mean: Array, var: Array, sigma: float | Array, *, slopes: bool = True
    ) -> Expected:
        """In one dimension, (ROW13) to (ROW15)."""
        if rows.window is not None:
            return TRUNCATED.expected(rows, mean, var, float(sigma), slopes=slopes)
        s2 = sigma * sigma
        if rows.kind == "one-sided":
            a, t = (mean - rows.limit) * rows.sign / sigma, np.sqrt(var) / sigma
            F, G, H = expected_one_sided(a, t)
            return Expected(F, rows.sign * G / sigma, -H / s2, (t * t * H - a * G)[None])
        if rows.kind == "exact":
            z = (rows.limit - mean) / sigma
            square = z * z + var / s2
            value = -_HALF_LOG_2PI - np.log(sigma) - 0.5 * square
            return Expected(value, z / sigma, np.full_like(z, -1.0 / s2), (square - 1.0)[None])
        t = np.sqrt(var) / sigma
        F, G, H, Q = expected_interval((rows.lower - mean) / sigma, (rows.upper - mean) / sigma, t, rows.width / sigma)
        return Expected(F, G / sigma, -H / s2, (Q - H)[None])


class StepLikelihood(Likelihood):
    """Without noise: f itself lies on one side of a limit, or inside an interval, (NF3) of the theory pages."""

    def tilted(self, rows: KindRows, mean: Array, var: Array, sigma: float) -> Tilted:
        """(ROW10) at the standard deviation of f alone."""
        return _smoothed(rows, mean, np.sqrt(var))


def _smoothed(rows: KindRows, mean: Array, S: Array) -> Tilted:
    """Log probability of what is known when the value is N(mean, S^2) (ROW10), with derivatives in the mean."""
    if rows.kind == "one-sided":
        z = (mean - rows.limit) * rows.sign / S
        h, delta = mills(z)
        return Tilted(log_cdf(z), rows.sign * h / S, -h * delta / (S * S))
    if rows.kind == "exact":
        z = (rows.limit - mean) / S
        return Tilted(-_HALF_LOG_2PI - np.log(S) - 0.5 * z * z, z / S, -1.0 / (S * S))
    x = interval((rows.lower - mean) / S, (rows.upper - mean) / S, rows.width / S)
    return Tilted(x.log_mass, x.mean / S, -x.complement / (S * S))


def log_density_exact(y: Array, mean: Array, var: Array) -> Array:
    """Log normal density of exact values, (n,)."""
    z = y - mean
    return -_HALF_LOG_2PI - 0.5 * np.log(var) - 0.5 * z * z / var


# Names in R's survreg, lifelines and brms, in small letters.
_ELSEWHERE = {
    "normal": "gaussian",
    "tobit": "gaussian",
    "t": "student",
    "student_t": "student",
    "extreme": "gumbel",
    "loggaussian": "lognormal",
    "generalized_gamma": "gengamma",
    "generalizedgamma": "gengamma",
    "bcg": "boxcox",
    "box-cox": "boxcox",
    "zero_censored_power_transformed_normal": "boxcox",
    "gompertz": "tg.PH('gompertz')",
    "weibullph": "tg.PH('weibull')",
    "spline": "tg.PH('spline')",
}

_SELECTION = (
    "sample selection has a second equation. Use R's sampleSelection, Stata's heckman or Heckit of py4etrics in Python"
)
_HURDLE = (
    "two models together: statsmodels' Probit of y > 0, and the rows where it is by family='lognormal', or by y ~ x | "
    "truncate(0) (Cragg's); R's mhurdle has both with correlated noise"
)
_BINARY = "a response of two values or of ranks is statsmodels' Probit, Logit and OrderedModel"
# Models of econometrics that are not the noise of one equation, and where to find them.
_NOT_HERE = {
    **dict.fromkeys(("heckman", "heckit", "selection", "tobit2"), _SELECTION),
    **dict.fromkeys(("hurdle", "double_hurdle", "cragg", "craggit", "twopart", "two_part", "tpm"), _HURDLE),
    **dict.fromkeys(("probit", "logit", "binomial", "ordinal"), _BINARY),
    **dict.fromkeys(("clad", "powell", "quantile"), "Powell's estimator is R's quantreg::crq(method='Powell')"),
    "ivtobit": "the residuals of a first regression as a column are Smith and Blundell's control function",
}


@dataclass(frozen=True, slots=True)
class Family:
    """A row of the registry."""

    name: str
    distribution: Distribution  # of the noise of the response, or of its logarithm
    log_time: bool = False  # the response is positive and modelled on the log scale
    known_sigma: float | None = None  # noise scale where the family fixes it; None where it is estimated
    estimate_shape: bool = False  # the shape of the distribution is estimated
    rows: RowModel | None = None  # what the parameters of rows make, of a family that is no location and scale

    def distribution_at(self, theta: Array) -> Distribution:
        """The noise at a process model's parameters, which end with the shape, where it is estimated, and log sigma."""
        return self.distribution.at_coordinate(float(theta[-2])) if self.estimate_shape else self.distribution

    @property
    def likelihood(self) -> Likelihood:
        """The likelihood under a Gaussian process."""
        return (
            GaussianNoise() if self.distribution.gaussian else NoiseLikelihood(self.distribution, self.estimate_shape)
        )


class _Rows(Distribution):
    """Placeholder for the noise if the parameters of rows are not a location and a scale."""

    name = "rows"


def family_of_rows(name: str, rows: RowModel) -> Family:
    """A family whose rows have their own parameter model, all by maximum likelihood."""
    return Family(name, _Rows(), log_time=rows.log, rows=rows)


def _check_shape(what: str, value: Any, low: float, high: float, more: str = "") -> None:
    """Raise an error for a known shape out of its range, ``more`` being the advice for what lies above it."""
    number = isinstance(value, Real) and not isinstance(value, bool | np.bool_)
    if not number or not low <= float(value) <= high:
        raise SpecError(f"{what} must be a number from {low:g} to {high:g}.{more if number and value > high else ''}")


FEWEST_DF, MOST_DF = 0.2, 1e10


@dataclass(frozen=True, slots=True)
class Student:
    """Student's t noise with known degrees of freedom, given as ``family=tg.Student(df=4)``.

    ``family="student"`` estimates them. Its density is in the table of (REG1) of the theory pages.

    Parameters
    ----------
    df : float
        Degrees of freedom, from 0.2 to 1e10.

    Raises
    ------
    SpecError
        If ``df`` is not such a number.

    Examples
    --------
    >>> Student(df=4)
    Student(df=4)
    """

    df: float

    def __post_init__(self) -> None:
        more = " For more, use family='gaussian'."
        _check_shape(f"Student(df={self.df!r}): the degrees of freedom", self.df, FEWEST_DF, MOST_DF, more)


@dataclass(frozen=True, slots=True)
class GenGamma:
    """Prentice's generalised gamma distribution of times with a known shape, given as ``family=tg.GenGamma(Q=1)``.

    ``family="gengamma"`` estimates it. Q = 0 is the log-normal, Q = 1 the Weibull, Q = -1 the inverse Weibull
    distribution, and Q = sigma the gamma distribution: (GEN1) of the theory pages.

    Parameters
    ----------
    Q : float
        Shape, from -10 to 10, without a unit.

    Raises
    ------
    SpecError
        If ``Q`` is not such a number.

    References
    ----------
    Prentice (1974), A log gamma model and its maximum likelihood estimation, *Biometrika* 61, 539-544.

    Examples
    --------
    >>> import tobitgp as tg
    >>> lung = tg.datasets.load("lung")
    >>> weibull = tg.fit("Surv(time, event) ~ age", lung, family="weibull")
    >>> bool(abs(tg.fit("Surv(time, event) ~ age", lung, family=tg.GenGamma(Q=1)).llf - weibull.llf) < 1e-8)
    True
    """

    Q: float

    def __post_init__(self) -> None:
        _check_shape(f"GenGamma(Q={self.Q!r}): Q", self.Q, *GenGammaNoise.shape_range)


@dataclass(frozen=True, slots=True)
class BoxCox:
    r"""Positive responses that are normal after a known power transformation, given as ``family=tg.BoxCox(power=0.5)``.

    ``family="boxcox"`` estimates the power. :math:`(y^\lambda - 1) / \lambda` is normal, the logarithm of y for a power
    of 0: (BC1) of the theory pages.

    Parameters
    ----------
    power : float
        Power, from -3 to 3, without a unit.

    Raises
    ------
    SpecError
        If ``power`` is not such a number.

    References
    ----------
    Box and Cox (1964), An analysis of transformations, *JRSS B* 26, 211-252.

    Examples
    --------
    >>> import tobitgp as tg
    >>> lung = tg.datasets.load("lung")
    >>> normal = tg.fit("Surv(time, event) ~ age", lung, family="lognormal")
    >>> bool(abs(tg.fit("Surv(time, event) ~ age", lung, family=tg.BoxCox(power=0)).llf - normal.llf) < 1e-8)
    True
    """

    power: float

    def __post_init__(self) -> None:
        _check_shape(f"BoxCox(power={self.power!r}): the power", self.power, *POWERS)


BOXCOX = Family("boxcox", PowerNoise(), log_time=True, estimate_shape=True)


def is_boxcox(family: object) -> bool:
    """Whether a family is that of power transformations, which has separate models."""
    return isinstance(family, BoxCox) or family == BOXCOX.name


def read_power(power: float | None, fixed: Mapping[str, Any] | None) -> tuple[float | None, dict[str, Any] | None]:
    """The known power, from the family or from ``fixed``, and the rest of ``fixed``."""
    given = None if fixed is None else dict(fixed)
    if given is not None and "power" in given:
        if power is not None:
            raise SpecError("The power is given twice, by BoxCox(power=...) and by fixed=. Leave one of them out.")
        power = BoxCox(given.pop("power")).power
    return power, given


WITH_SHAPE: dict[str, type[Student | GenGamma]] = {"student": Student, "gengamma": GenGamma}

FAMILIES: dict[str, Family] = {
    row.name: row
    for row in (
        Family("gaussian", NormalNoise()),
        Family("student", StudentNoise(), estimate_shape=True),
        Family("logistic", Logistic()),
        Family("gumbel", Gumbel()),
        Family("lognormal", NormalNoise(), log_time=True),
        Family("loglogistic", Logistic(), log_time=True),
        Family("weibull", Gumbel(), log_time=True),
        Family("exponential", Gumbel(), log_time=True, known_sigma=1.0),
        Family("gengamma", GenGammaNoise(), log_time=True, estimate_shape=True),
    )
}


def resolve_family(family: object) -> Family:
    """The family that a name, or a value such as ``Student(df=4)``, stands for."""
    for name, known in WITH_SHAPE.items():
        if isinstance(family, known):
            return with_known_shape(FAMILIES[name], family)
    if isinstance(family, str) and family in FAMILIES:
        return FAMILIES[family]
    if isinstance(family, CustomNoise):
        return Family(family.name, FunctionNoise(family), log_time=family.positive)
    allowed = (
        f"Choose one of {', '.join(map(repr, FAMILIES))}, Student(df=4) or GenGamma(Q=1); "
        "in fit() also 'boxcox' (power transformation) or 'ph' (proportional hazards)"
    )
    close = ""
    if isinstance(family, str):
        small = family.lower()
        if small in _NOT_HERE:
            raise SpecError(f"family={family!r} is not available in tobitgp: {_NOT_HERE[small]}.")
        here = _ELSEWHERE.get(small, "")
        close = f"; it is called {here if '(' in here else repr(here)} here." if here else nearest(small, FAMILIES)
    raise SpecError(f"family={family!r} is not supported{close or '.'} {allowed}.")


def with_known_shape(family: Family, given: Any) -> Family:
    """A family whose shape is not estimated but that of ``Student(df=4)``, ``GenGamma(Q=1)`` or a number."""
    known, shape = WITH_SHAPE[family.name], family.distribution.shape_name
    assert shape is not None
    value = given if isinstance(given, known) else known(given)
    return replace(
        family, distribution=family.distribution.with_shape(float(getattr(value, shape))), estimate_shape=False
    )
