r"""The standard logistic distribution.

By how much it passes a limit, with :math:`w = e^z` and p = w / (1 + w): :math:`\log(1 + e^{-z})`; tilted by s, the
incomplete beta function :math:`B(1 - s, s)\,I_{1-p}(1 - s, s)` for s < 1, and
:math:`w^{s+1} F(1, 1; s + 2; p) / ((s + 1)(1 + w))`, where z > -1 and s < 1 rather
:math:`[w^s p - B(1 + s, 1 - s)\,I_p(1 + s, 1 - s)] / s`.

References
----------
DLMF 8.17 and 15.6.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import betainc, betaincc, betaln, expit, hyp2f1, log_expit, logit

from tobitgp.distributions.standard_noise import Distribution, Tail
from tobitgp.typing import Array

_EARLY, _FACTORS = -1.0, 28
_LONG = 40.0


@dataclass(frozen=True, slots=True)
class Logistic(Distribution):
    """The standard logistic distribution, variance pi^2 / 3."""

    name: ClassVar[str] = "logistic"
    proportional_odds: ClassVar[bool] = True
    symmetric: ClassVar[bool] = True
    log_concave: ClassVar[bool] = True
    reach: ClassVar[float] = 1.0
    mode: ClassVar[float] = 0.0
    largest_tilt: ClassVar[float] = 1.0
    mean: ClassVar[float] = 0.0
    variance: ClassVar[float] = float(np.pi**2 / 3.0)

    def log_density(self, z: Array, order: int = 3) -> tuple[Array, ...]:
        size = np.abs(z)
        small = np.exp(-size)
        below, above = expit(z), expit(-z)
        density = below * above
        slope = -np.tanh(0.5 * z)
        values = (-size - 2.0 * np.log1p(small), slope, -2.0 * density, -2.0 * density * slope)
        return values[: order + 1]

    def lower_tail(self, z: Array) -> Tail:
        above = expit(-z)
        return Tail(self.log_cdf(z), above, -above * expit(z))

    def log_cdf(self, z: Array) -> Array:
        return np.asarray(log_expit(z), dtype=np.float64)

    def log_sf(self, z: Array) -> Array:
        return self.log_cdf(-z)

    def ppf(self, q: Array) -> Array:
        return np.asarray(logit(q), dtype=np.float64)

    def inverse_log_cdf(self, log_p: Array) -> Array:
        return np.asarray(log_p - np.log(-np.expm1(log_p)))

    def mgf(self, s: Array) -> tuple[Array, Array]:
        angle = np.pi * s
        return np.where(s < 1.0, 1.0 / np.sinc(s), np.inf), 1.0 - angle / np.tan(angle)

    def log_excess(self, z: Array, tilt: Array | None, *, above: bool) -> Array | None:
        return _log_excess_above(z, tilt) if above else _log_excess_below(z, tilt)


def _log_excess_above(z: Array, tilt: Array | None) -> Array:
    """``log A - log S``, S the survival function; infinite for a tilt of 1 or more."""
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


def _log_excess_below(z: Array, tilt: Array | None) -> Array:
    """``log B - log F``, F the cdf."""
    if tilt is None:
        return _log_excess_above(-z, None)
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
