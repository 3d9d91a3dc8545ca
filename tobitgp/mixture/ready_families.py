"""Exponential families that are ready for mixtures: of times, counts and shares.

References
----------
Miller (1980), Bayesian analysis of the two-parameter gamma distribution, *Technometrics* 22, 65-69, whose conjugate
prior is that of ``"gamma"``. Banerjee and Bhattacharyya (1979), Bayesian results for the inverse Gaussian distribution,
*Technometrics* 21, 247-251.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from numbers import Real
from typing import Any

import numpy as np
from scipy.special import digamma, gammainc, gammaincc, gammaln, i0e, i1e, log_expit, log_ndtr

from tobitgp.errors import SpecError
from tobitgp.mixture.conjugate_posterior import Inner, InnerFunction
from tobitgp.mixture.exponential_family import NaturalFamily
from tobitgp.numerics.jets import Jet, log_bessel
from tobitgp.numerics.unimodal import Domain
from tobitgp.typing import Array


def ExponentialFamily(
    name: str,
    *,
    statistic: Callable[[Array], Any],
    log_partition: Callable[..., Any],
    natural: Sequence[tuple[float, float]],
    log_base: Callable[[Array], Array] | None = None,
    support: tuple[float, float] = (-np.inf, np.inf),
    discrete: bool = False,
    parameters: Mapping[str, Callable[..., Any]] | None = None,
    units: Mapping[str, float] | None = None,
    prior: Mapping[str, float] | None = None,
    collapsed: tuple[InnerFunction, Domain] | None = None,
) -> NaturalFamily:
    r"""A family of components, :math:`f(y|\eta) = h(y) \exp(\eta \cdot T(y) - A(\eta))`, given as ``family=``.

    Truncated and censored statistics, moments, tails, quantiles, the conjugate prior and everything else follow from
    these functions, by quadrature or, for counts, by sums.

    Parameters
    ----------
    name : str
        What the family is called in summaries.
    statistic : callable
        T: values (n,), in the units of the response, to one array (n,), or to a tuple of two.
    log_partition : callable
        A, of the natural parameters: one argument or two, in functions of numpy and scipy.special for which
        derivatives are known.
    natural : sequence of (float, float)
        Between what each natural parameter lies, pure numbers if the statistic has no unit; one or two of them.
    log_base : callable, optional
        log h: values (n,) to (n,); 0 by default.
    support : (float, float)
        Between what values lie, in the units of the response; the least and the largest count of a discrete family.
    discrete : bool
        Whether values are whole numbers.
    parameters : mapping of str to callable, optional
        Parameters that users read, as functions of the natural ones; the natural ones by default.
    units : mapping of str to int, optional
        Powers of the unit of the response that these parameters have, where the family of ``c y`` is the same one for
        every c > 0: -1 for a rate. Fits are then the same in all units.
    prior : mapping of str to float, optional
        Conjugate prior, :math:`\propto \exp(\eta \cdot \xi - \nu A(\eta))`: ``"xi"`` (or ``"xi1"`` and ``"xi2"``)
        and ``"nu"``. With ``units`` it is that of the response in units near its median. The default is worth a tenth
        of a row; ``"nu"`` is a number of rows.
    collapsed : tuple, optional
        Of a family of two natural parameters, what is left of the conjugate density where one is integrated out in
        closed form; see the families in ``tobitgp/mixture/ready_families.py``.

    Returns
    -------
    NaturalFamily
        Pass it as ``family=`` of a mixture.

    Raises
    ------
    SpecError
        If functions and arguments do not fit together, or probabilities do not sum to 1.

    References
    ----------
    .. [1] M. Kohjima, T. Matsubayashi and H. Toda, "Variational Bayes for mixture models with censored data",
       ECML PKDD 2019, eqs. 3, 9 and 37-45.

    Examples
    --------
    >>> import numpy as np
    >>> import tobitgp as tg
    >>> rayleigh = tg.ExponentialFamily(
    ...     "rayleigh",
    ...     statistic=lambda y: y**2,
    ...     log_partition=lambda eta: -np.log(-2.0 * eta),
    ...     natural=[(-np.inf, 0.0)],
    ...     log_base=np.log,
    ...     support=(0.0, np.inf),
    ...     parameters={"scale": lambda eta: np.sqrt(-0.5 / eta)},
    ...     units={"scale": 1},
    ... )
    >>> speed = np.random.default_rng(1).rayleigh(3.0, 200)
    >>> res = tg.fit("speed ~ mixture(1) | censor(upper=5)", {"speed": np.minimum(speed, 5.0)}, family=rayleigh)
    >>> res.params.round(2).to_dict()
    {'weight[1]': 1.0, 'scale[1]': 3.02}
    """
    return NaturalFamily(
        name,
        statistic=statistic,
        log_partition=log_partition,
        natural=natural,
        log_base=log_base,
        support=support,
        discrete=discrete,
        parameters=parameters,
        units=units,
        prior=prior,
        collapsed=collapsed,
    )


_ABOVE_0, _BELOW_0, _ANY = (0.0, np.inf), (-np.inf, 0.0), (-np.inf, np.inf)
_LOG_2PI = float(np.log(2.0 * np.pi))
_WEAK = 0.1  # rows that a prior is worth
_KEPT = 0.01  # of a normal tail, that a difference from it has to leave


def _gamma_given_shape(u: Array, xi: Array, nu: Array) -> Inner:
    """The rate is gamma given the shape."""
    shape, (first, second), n = np.exp(u), xi[:, :, None], nu[:, None]
    a = n * shape + 1.0
    log_rate = digamma(a) - np.log(second)
    log_w = first * shape - n * gammaln(shape) + gammaln(a) - a * np.log(second) + u
    return Inner(log_w, (shape, -a / second), gammaln(shape) - shape * log_rate)


def _gamma_tails(eta: Array, y: Array) -> tuple[Array, Array]:
    """Incomplete gamma functions."""
    shape, x = np.broadcast_to(eta[0], y.shape), -eta[1] * y
    return np.log(gammainc(shape, x)), np.log(gammaincc(shape, x))


GAMMA = NaturalFamily(
    "gamma",
    statistic=lambda y: (np.log(y), y),
    log_partition=lambda a, b: gammaln(a) - a * np.log(-b),
    natural=[_ABOVE_0, _BELOW_0],
    log_base=lambda y: -np.log(y),
    support=_ABOVE_0,
    parameters={"shape": lambda a, b: a, "rate": lambda a, b: -b},
    units={"rate": -1},
    collapsed=(_gamma_given_shape, Domain(*_ABOVE_0)),
    log_tails=_gamma_tails,
)


def _shape_given_mean(u: Array, xi: Array, nu: Array) -> Inner:
    """The shape is gamma given the inverse of the mean."""
    inverse, (first, second), n = np.exp(u), xi[:, :, None], nu[:, None]
    a = 0.5 * n + 2.0
    half = 0.5 * (first * inverse**2 - 2.0 * n * inverse + second)
    shape, log_shape = a / half, digamma(a) - np.log(half)
    log_w = 2.0 * u - np.log(2.0) + gammaln(a) - a * np.log(half)
    return Inner(log_w, (-0.5 * inverse**2 * shape, -0.5 * shape), -inverse * shape - 0.5 * log_shape)


def _inverse_gaussian_tails(eta: Array, y: Array) -> tuple[Array, Array]:
    """Tails from two normal tails."""
    share, twice, root = np.sqrt(eta[0] / eta[1]) * y, 4.0 * np.sqrt(eta[0] * eta[1]), np.sqrt(-2.0 * eta[1] / y)
    near, far = root * (share - 1.0), twice + log_ndtr(-root * (share + 1.0))
    rest = -np.expm1(far - log_ndtr(-near))
    return np.logaddexp(log_ndtr(near), far), log_ndtr(-near) + np.log(np.where(rest > _KEPT, rest, np.nan))


INVERSE_GAUSSIAN = NaturalFamily(
    "inverse_gaussian",
    statistic=lambda y: (y, 1.0 / y),
    log_partition=lambda a, b: -2.0 * np.sqrt(a * b) - 0.5 * np.log(-2.0 * b),
    natural=[_BELOW_0, _BELOW_0],
    log_base=lambda y: -0.5 * _LOG_2PI - 1.5 * np.log(y),
    support=_ABOVE_0,
    parameters={"mean": lambda a, b: np.sqrt(b / a), "shape": lambda a, b: -2.0 * b},
    units={"mean": 1, "shape": 1},
    collapsed=(_shape_given_mean, Domain(*_ABOVE_0)),
    log_tails=_inverse_gaussian_tails,
)


def _log_circle(a: Any, b: Any) -> Any:
    """Log of the integral of ``exp(a cos y + b sin y)`` around the circle."""
    s = np.square(a) + np.square(b)
    r = None if isinstance(s, Jet) else np.sqrt(s)
    return _LOG_2PI + (log_bessel(s) if r is None else r + np.log(i0e(r)))


def _direction_given_concentration(u: Array, xi: Array, nu: Array) -> Inner:
    """The direction is von Mises given the concentration."""
    size = np.hypot(*xi)
    unit, concentration = xi / np.maximum(size, np.finfo(np.float64).tiny), np.exp(u)
    at, A = concentration * size[:, None], _LOG_2PI + concentration + np.log(i0e(concentration))
    mean = concentration * i1e(at) / i0e(at)
    log_w = _LOG_2PI + at + np.log(i0e(at)) + 2.0 * u - nu[:, None] * A
    return Inner(log_w, (mean * unit[0][:, None], mean * unit[1][:, None]), A)


VON_MISES = NaturalFamily(
    "von_mises",
    statistic=lambda y: (np.cos(y), np.sin(y)),
    log_partition=_log_circle,
    natural=[_ANY, _ANY],
    support=(-np.pi, np.pi),
    parameters={
        "location": lambda a, b: np.arctan2(b, a),
        "concentration": lambda a, b: np.sqrt(np.square(a) + np.square(b)),
    },
    collapsed=(_direction_given_concentration, Domain(*_ABOVE_0)),
)


def _probability(eta: Any) -> Any:
    return np.exp(log_expit(eta))


def _successes(name: str, trials: int) -> NaturalFamily:
    """Binomial counts; the default prior of the probability is uniform."""
    return NaturalFamily(
        name,
        statistic=lambda y: y,
        log_partition=lambda eta: -float(trials) * log_expit(-eta),
        natural=[_ANY],
        log_base=lambda y: gammaln(trials + 1.0) - gammaln(y + 1.0) - gammaln(trials - y + 1.0),
        support=(0, trials),
        discrete=True,
        parameters={"probability": _probability},
        prior={"xi": 1.0, "nu": 2.0 / trials},
    )


def _failures(name: str, size: float) -> NaturalFamily:
    """Negative binomial counts; the default prior of the probability of one more is nearly uniform."""
    reported = (
        {"probability": lambda eta: -np.expm1(eta)}
        if name == "geometric"
        else {"mean": lambda eta: size / np.expm1(-eta)}
    )
    return NaturalFamily(
        name,
        statistic=lambda y: y,
        log_partition=lambda eta: -float(size) * np.log(-np.expm1(eta)),
        natural=[_BELOW_0],
        log_base=lambda y: gammaln(y + size) - gammaln(size) - gammaln(y + 1.0),
        support=_ABOVE_0,
        discrete=True,
        parameters=reported,
        prior={"xi": 1.0, "nu": _WEAK / size},
    )


BERNOULLI, GEOMETRIC = _successes("bernoulli", 1), _failures("geometric", 1.0)
READY = {each.name: each for each in (GAMMA, INVERSE_GAUSSIAN, VON_MISES, GEOMETRIC, BERNOULLI)}


def ready_family(name: str) -> NaturalFamily:
    """The family of a name."""
    return READY[name]


for _name, _family in READY.items():
    _family.made(ready_family, _name)


def Binomial(trials: int) -> NaturalFamily:
    """Binomial components, counts of successes among as many trials in every row, given as ``family=tg.Binomial(10)``.

    Parameters
    ----------
    trials : int
        Number of trials of a row.

    Returns
    -------
    NaturalFamily
        Its parameter is ``probability``; the default prior of it is uniform.

    Raises
    ------
    SpecError
        If ``trials`` is not a whole number of at least 1.

    References
    ----------
    Kohjima, Matsubayashi and Toda (2019), Variational Bayes for mixture models with censored data, ECML PKDD, eq. 3.

    Examples
    --------
    >>> import tobitgp as tg
    >>> data = {"heads": [1, 2, 9, 8, 1, 10, 2, 9]}
    >>> tg.fit("heads ~ mixture(2)", data, family=tg.Binomial(10)).params.round(2).to_dict()
    {'weight[1]': 0.5, 'weight[2]': 0.5, 'probability[1]': 0.16, 'probability[2]': 0.89}
    """
    if isinstance(trials, bool) or not isinstance(trials, (int, np.integer)) or trials < 1:
        raise SpecError(f"Binomial(trials={trials!r}): trials must be a whole number of at least 1.")
    return _successes(f"binomial({trials})", int(trials)).made(Binomial, int(trials))


def NegativeBinomial(size: float) -> NaturalFamily:
    """Negative binomial components of a known size, given as ``family=tg.NegativeBinomial(2)``.

    Counts vary more than Poisson's: with mean m they have the variance ``m + m^2 / size``.

    Parameters
    ----------
    size : float
        Size, a positive, pure number; 1 is ``family="geometric"``.

    Returns
    -------
    NaturalFamily
        Its parameter is the ``mean``.

    Raises
    ------
    SpecError
        If ``size`` is not a positive number.

    References
    ----------
    Kohjima, Matsubayashi and Toda (2019), Variational Bayes for mixture models with censored data, ECML PKDD, eq. 3.

    Examples
    --------
    >>> import numpy as np
    >>> import tobitgp as tg
    >>> visits = np.random.default_rng(1).negative_binomial(2, 0.2, 300)
    >>> data = {"visits": np.minimum(visits, 15)}
    >>> res = tg.fit("visits ~ mixture(1) | censor(upper=15)", data, family=tg.NegativeBinomial(2))
    >>> res.params.round(2).to_dict()
    {'weight[1]': 1.0, 'mean[1]': 8.02}
    """
    number = _positive("NegativeBinomial(size", size)
    return _failures(f"negative_binomial({number:g})", number).made(NegativeBinomial, number)


def Pareto(scale: float) -> NaturalFamily:
    """Pareto components above a known least value, given as ``family=tg.Pareto(1.0)``.

    Parameters
    ----------
    scale : float
        Least value, positive, in the units of the response.

    Returns
    -------
    NaturalFamily
        Its parameter is the ``shape``: the probability of more than y is ``(scale / y)^shape``.

    Raises
    ------
    SpecError
        If ``scale`` is not a positive number.

    References
    ----------
    Kohjima, Matsubayashi and Toda (2019), Variational Bayes for mixture models with censored data, ECML PKDD, eq. 3.

    Examples
    --------
    >>> import numpy as np
    >>> import tobitgp as tg
    >>> loss = 1.0 + np.random.default_rng(1).pareto(2.0, 300)
    >>> data = {"loss": np.minimum(loss, 3.0)}
    >>> tg.fit("loss ~ mixture(1) | censor(upper=3)", data, family=tg.Pareto(1.0)).params.round(2).to_dict()
    {'weight[1]': 1.0, 'shape[1]': 2.0}
    """
    least = _positive("Pareto(scale", scale)
    return NaturalFamily(
        f"pareto({least:g})",
        statistic=lambda y: np.log(y / least),
        log_partition=lambda eta: -np.log(-eta),
        natural=[_BELOW_0],
        log_base=lambda y: -np.log(y),
        support=(least, np.inf),
        parameters={"shape": lambda eta: -eta},
    ).made(Pareto, least)


def _positive(what: str, value: Any) -> float:
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Real) or not 0.0 < float(value) < np.inf:
        raise SpecError(f"{what}={value!r}): must be a positive number.")
    return float(value)


WITH_NUMBER: dict[str, Callable[[Any], NaturalFamily]] = {
    "binomial": Binomial,
    "negative_binomial": NegativeBinomial,
    "pareto": Pareto,
}
