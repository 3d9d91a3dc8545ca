r"""By how much noise of any law passes a limit, on average, in closed form.

For standardised noise Z and a tilt s (0 for responses on the scale of f, sigma for those on log time)

.. math:: A(z) = \int_z^\infty S(x) e^{sx}\,dx, \qquad B(z) = \int_{-\infty}^z F(x) e^{sx}\,dx.

With s = 0 they are :math:`E \max(Z - z, 0)` and :math:`E \max(z - Z, 0)`; with s > 0, times s, those of
:math:`e^{sZ}` and :math:`e^{sz}`. With :math:`w = e^z` and p = w / (1 + w),

* Student with df > 1: :math:`A(z) = f(z) (\nu + z^2) / (\nu - 1) - z S(z)`;
* logistic: :math:`\log(1 + e^{-z})`; tilted, the incomplete beta function
  :math:`B(1 - s, s)\,I_{1-p}(1 - s, s)` for s < 1, and :math:`w^{s+1} F(1, 1; s + 2; p) / ((s + 1)(1 + w))`, where
  z > -1 and s < 1 rather :math:`[w^s p - B(1 + s, 1 - s)\,I_p(1 + s, 1 - s)] / s`;
* Gumbel: :math:`E_1(w)` and :math:`\mathrm{Ein}(w)`; tilted, :math:`\Gamma(s, w)` and
  :math:`[w^s (1 - e^{-w}) - \gamma(s + 1, w)] / s`.

References
----------
DLMF 6.2, 8.2, 8.17 and 15.6.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.special import betainc, betaincc, betaln, exp1, expit, gammainc, gammaincc, gammaln, hyp2f1, log_expit

from tobitgp.likelihoods.laws import Gumbel, Law, Student
from tobitgp.typing import Array

Tilted = Callable[[Array, Array | None], Array]

_TERMS = 18
_FAR = 690.0
_EARLY, _FACTORS = -1.0, 28
_LONG = 40.0
_TINY = 1e-6
_CEILING = 700.0
_BEFORE = -40.0


def log_excess(law: Law, z: Array, tilt: Array | None, *, above: bool) -> Array | None:
    """``log A - log S`` or ``log B - log F``, (n,): infinite where the integral is, None without a closed form."""
    if law.name in _TABLE:
        return _TABLE[law.name][0 if above else 1](z, tilt)
    if isinstance(law, Student) and law.df > 1.0 and tilt is None:
        return student_above(z if above else -z, law)
    return None


def student_above(z: Array, law: Student) -> Array:
    """``log A - log S`` of Student's law with df > 1."""
    ratio = np.exp(law.log_density(z, 0)[0] - law.log_sf(z))
    with np.errstate(divide="ignore"):
        return np.log(np.maximum(ratio * (law.df + z * z) / (law.df - 1.0) - z, 0.0))


def logistic_above(z: Array, tilt: Array | None = None) -> Array:
    """``log A - log S`` of the logistic law, S its survival function; infinite for a tilt of 1 or more."""
    if tilt is None:
        short = np.minimum(z, _LONG)
        return np.where(z > _LONG, 0.0, np.log(-log_expit(short)) - log_expit(-short))
    z, tilt = np.broadcast_arrays(z, tilt)
    s = np.minimum(tilt, 1.0 - 1e-12)
    rest, right = np.empty_like(z), z > 0.0
    rest[right] = betainc(1.0 - s[right], s[right], expit(-z[right]))
    rest[~right] = betaincc(s[~right], 1.0 - s[~right], expit(z[~right]))
    near = betaln(1.0 - s, s) + np.log(np.maximum(rest, 1e-300)) - log_expit(-z)
    return np.where(tilt < 1.0, np.where(z < _LONG, near, s * z - np.log1p(-s)), np.inf)


def logistic_below(z: Array, tilt: Array | None = None) -> Array:
    """``log B - log F`` of the logistic law, F its cdf."""
    if tilt is None:
        return logistic_above(-z)
    log_cdf = log_expit(z)
    s = np.minimum(tilt, 1.0 - 1e-12)
    with np.errstate(over="ignore"):
        part = np.exp(betaln(1.0 + s, 1.0 - s) - s * z) * betainc(1.0 + s, 1.0 - s, expit(z))
        far = s * z + np.log(np.maximum(expit(z) - part, 1e-300) / s)
    lead = (tilt + 1.0) * z - np.log1p(tilt) + log_expit(-z)
    p, near = expit(np.minimum(z, _EARLY)), np.ones_like(z)
    for k in range(_FACTORS, 0, -1):
        near = 1.0 + near * p * (k / (tilt + 1.0 + k))
    out = np.where(z > _EARLY, far, lead + np.log(near))
    late = (z > _EARLY) & (tilt >= 1.0)
    if late.any():
        tilt, z, lead = (np.broadcast_to(x, late.shape)[late] for x in (tilt, z, lead))
        out[late] = lead + np.log(hyp2f1(1.0, 1.0, tilt + 2.0, expit(z)))
    return out - log_cdf


def gumbel_above(z: Array, tilt: Array | None = None) -> Array:
    """``log A - log S`` of the Gumbel law, S its survival function."""
    w = np.exp(np.minimum(z, _CEILING))
    s = 0.0 if tilt is None else tilt
    short = np.clip(w, 1e-300, _FAR)
    near = np.log(exp1(short)) if tilt is None else gammaln(tilt) + np.log(gammaincc(tilt, short))
    near = np.where((z < _BEFORE) & (s < 1.0), _gumbel_before(z, s), near)
    series, term = np.zeros_like(w), np.ones_like(w)
    for k in range(1, 6):
        term = term * (s - k) / np.maximum(w, _FAR)
        series = series + term
    return np.where(w < _FAR, near + short, (s - 1.0) * z + np.log1p(series))


def _gumbel_before(z: Array, s: Array | float) -> Array:
    """``log A`` where w, which may be no number there, is nothing beside 1."""
    with np.errstate(all="ignore"):
        tilted = (np.expm1(gammaln(1.0 + s)) - np.expm1(s * z)) / s
        return np.log(np.where(np.greater(s, 0.0), tilted, -z - np.euler_gamma))


def gumbel_below(z: Array, tilt: Array | None = None) -> Array:
    """``log B - log F`` of the Gumbel law, F its cdf."""
    w = np.exp(np.clip(z, -600.0, _CEILING))
    if tilt is None:
        small = np.minimum(w, 1.0)
        series, term = np.zeros_like(small), -np.ones_like(small)
        for k in range(1, _TERMS):
            term = -term * small / k
            series = series + term / (k * small)
        left = z + np.log(series)
        right = np.log(np.maximum(z, 0.0) + np.euler_gamma + exp1(np.maximum(w, 1.0)))
        return np.where(w < 1.0, left, right) - Gumbel().log_cdf(z)
    part = gammainc(tilt + 1.0, w)
    with np.errstate(divide="ignore", over="ignore"):
        gap = -np.expm1(-w) - np.exp(gammaln(tilt + 1.0) + np.log(part) - tilt * z)
        near = tilt * z - np.log(tilt) + np.log(np.maximum(gap, 1e-300))
    first = (tilt + 1.0) * z - np.log1p(tilt) - 0.5 * np.minimum(w, 1.0) * (tilt + 1.0) / (tilt + 2.0)
    return np.where(w < _TINY, first, near) - Gumbel().log_cdf(z)


_TABLE: dict[str, tuple[Tilted, Tilted]] = {
    "logistic": (logistic_above, logistic_below),
    "gumbel": (gumbel_above, gumbel_below),
}
