r"""What a fitted regression predicts: quantities of :math:`y^* = \eta + \sigma Z`, or of its exponential.

Every quantity comes with its derivatives in the location eta and the log scale tau, from which the delta method makes
standard errors (`tobitgp.regression.delta`). With a = (l - eta) / sigma and b = (u - eta) / sigma, the response as an
instrument with limits shows it has mean :math:`l + \int_l^u P(y^* > y)\,dy`, whose derivatives are

.. math:: \partial_\eta = P(l < y^* < u), \quad \partial_\tau = \sigma\,E[Z; l < y^* < u],

and, on log time, :math:`E[y^*; l < y^* < u]` and :math:`\sigma\,E[Z y^*; l < y^* < u]`: (REG12) and (REG13) of the
theory pages.

References
----------
McDonald and Moffitt (1980), The uses of Tobit analysis, *Review of Economics and Statistics* 62, 318-321.
Kalbfleisch and Prentice (2002), *The Statistical Analysis of Failure Time Data*, 2nd ed., section 2.2.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from tobitgp.distributions.base import Distribution
from tobitgp.typing import Array, BoolArray

Link = Literal["identity", "log", "logit"]


@dataclass(frozen=True, slots=True)
class Predictor:
    """Distribution of the response in n rows."""

    eta: Array  # (n,), location and log scale, of the logarithm of the response on log time
    tau: Array  # (n,), location and log scale, of the logarithm of the response on log time
    law: Distribution
    log_time: bool = False

    @property
    def sigma(self) -> Array:
        """Scale, (n,)."""
        return np.exp(self.tau)

    def standardise(self, y: Array) -> Array:
        """Standardised values of the response, (n,); -inf where log time has no such value."""
        with np.errstate(divide="ignore", over="ignore"):
            return np.asarray(((np.log(np.maximum(y, 0.0)) if self.log_time else y) - self.eta) / self.sigma)


class Quantity(NamedTuple):
    """A prediction, (n,) each, with its derivatives and the scale on which its interval is formed."""

    value: Array  # (n,), derivatives are NaN where the value is not finite
    d_eta: Array  # (n,), derivatives are NaN where the value is not finite
    d_tau: Array  # (n,), derivatives are NaN where the value is not finite
    link: Link


def latent(rows: Predictor) -> Quantity:
    """Location eta."""
    return Quantity(rows.eta, np.ones_like(rows.eta), np.zeros_like(rows.eta), "identity")


def median(rows: Predictor) -> Quantity:
    """Median of y*."""
    return quantile(rows, 0.5)


def quantile(rows: Predictor, q: float) -> Quantity:
    """Quantile of y* of order q: ``eta + sigma z_q``, or its exponential."""
    step = rows.sigma * float(rows.law.ppf(np.array([q]))[0])
    if not rows.log_time:
        return Quantity(rows.eta + step, np.ones_like(step), step, "identity")
    with np.errstate(over="ignore"):
        return _finite(np.exp(rows.eta + step), 1.0, step, "log")


def uncensored(rows: Predictor) -> Quantity:
    r"""Mean of y*.

    On log time :math:`e^\eta M(\sigma)`: :math:`e^{\sigma^2/2}` for log-normal, :math:`\Gamma(1 + \sigma)` for Weibull,
    :math:`\pi\sigma / \sin \pi\sigma` for log-logistic times, infinite for sigma >= 1.
    """
    if not rows.log_time:
        shift = rows.sigma * rows.law.mean
        value = rows.eta + shift
        good = np.isfinite(value)
        return Quantity(value, np.where(good, 1.0, np.nan), np.where(good, shift, np.nan), "identity")
    s = rows.sigma
    with np.errstate(all="ignore"):
        factor, slope = rows.law.mgf(s)
        value = np.where(_no_mean(rows), np.inf, np.exp(rows.eta) * factor)
    return _finite(value, 1.0, slope, "log")


def observed(rows: Predictor, lower: Array, upper: Array) -> Quantity:
    """Mean of y* clipped at limits.

    Shapes: lower, upper (n,).
    """
    a, b = rows.standardise(lower), rows.standardise(upper)
    out = _observed_time(rows, a, b, lower, upper) if rows.log_time else _observed(rows, a, b, lower, upper)
    free = np.isneginf(a) & np.isposinf(b)
    if not free.any():
        return out
    whole = uncensored(rows)
    value, d_eta, d_tau = (np.where(free, x, y) for x, y in zip(whole[:3], out[:3], strict=True))
    return Quantity(value, d_eta, d_tau, whole.link)


def probability(rows: Predictor, limit: Array, *, above: bool) -> Quantity:
    """Probability that y* lies below or above a limit, with relative precision when it is small.

    Shapes: limit (n,).
    """
    z = np.clip(rows.standardise(limit), -1e100, 1e100)
    value = np.exp(rows.law.log_sf(z) if above else rows.law.log_cdf(z))
    with np.errstate(over="ignore", under="ignore"):
        rise = np.exp(rows.law.log_density(z, 0)[0]) * (1.0 if above else -1.0)
    return Quantity(value, rise / rows.sigma, z * rise, "logit")


def _finite(value: Array, d_eta: float, d_tau: Array, link: Link) -> Quantity:
    """A quantity whose logarithm has the derivatives given."""
    with np.errstate(invalid="ignore", over="ignore"):
        slope = np.where(np.isfinite(value), value, np.nan)
        return Quantity(value, d_eta * slope, d_tau * slope, link)


def _no_mean(rows: Predictor) -> BoolArray:
    """Rows of log time whose mean is infinite, (n,)."""
    return np.broadcast_to(rows.sigma >= rows.law.largest_tilt, rows.eta.shape)


def _observed(rows: Predictor, a: Array, b: Array, lower: Array, upper: Array) -> Quantity:
    """From the nearest finite limit, so that nothing cancels close to it."""
    inside, sigma, law = rows.law.between(a, b), rows.sigma, rows.law
    mass = np.exp(inside.log_mass)
    with np.errstate(invalid="ignore", over="ignore"):
        beyond = np.where(np.isfinite(b), (b - a) * np.exp(law.log_sf(b)), 0.0)
        from_lower = lower + sigma * (mass * (inside.centre - a + inside.drift) + beyond)
        from_upper = upper - sigma * mass * (b - inside.centre - inside.drift)
        value = np.where(np.isfinite(lower), from_lower, from_upper)
        slope = np.where(mass > 0.0, sigma * mass * inside.mean, 0.0)
    good = np.isfinite(value)
    return Quantity(
        np.clip(value, lower, upper), np.where(good, mass, np.nan), np.where(good, slope, np.nan), "identity"
    )


def _observed_time(rows: Predictor, a: Array, b: Array, lower: Array, upper: Array) -> Quantity:
    """Sum of three positive parts."""
    law, open_end = rows.law, np.isposinf(b) & _no_mean(rows)
    inside = law.between(a, np.where(open_end, 0.0 + np.maximum(a, 0.0) + 1.0, b), rows.sigma)
    with np.errstate(over="ignore", invalid="ignore"):
        part = np.exp(rows.eta + inside.log_mass)
        at_lower = np.where(np.isfinite(a), lower * np.exp(law.log_cdf(a)), 0.0)
        at_upper = np.where(np.isfinite(b), upper * np.exp(law.log_sf(b)), 0.0)
        value = np.clip(np.where(open_end, np.inf, at_lower + at_upper + part), np.maximum(lower, 0.0), upper)
        good = np.isfinite(value)
        slope = np.where(part > 0.0, rows.sigma * part * inside.mean, 0.0)
    return Quantity(value, np.where(good, part, np.nan), np.where(good, slope, np.nan), "log")


SCALES: dict[str, Callable[[Predictor], Quantity]] = {"latent": latent, "median": median, "uncensored": uncensored}
