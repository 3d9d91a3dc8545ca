"""Quantiles and probabilities of the response before censoring, as scales of prediction."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import ndtr, ndtri, owens_t

from tobitgp.errors import SpecError
from tobitgp.results.mixture import Mixture, average, normal_quantile, total_sd
from tobitgp.results.scales import SCALES, Scale, latent_quantile, latent_sd
from tobitgp.typing import Array

_NUMBER = (float, int, np.floating, np.integer)


def quantile_scale(p: float) -> Scale:
    r"""Quantile of y* of order ``p``.

    The prediction is the quantile of a new y*, of the mixture with the noise in it. What is uncertain is the quantile
    given f and the noise, :math:`f + \sigma \Phi^{-1}(p)`, or its exponential for log-time families.

    Examples
    --------
    >>> q = Mixture(np.ones(1), np.zeros((1, 1)), np.full((1, 1), 3.0), np.array([4.0]))
    >>> scale = quantile_scale(0.975)
    >>> scale.point(q).round(3), scale.sd(q)
    (array([9.8]), array([3.]))
    """
    z = float(ndtri(p))

    def point(q: Mixture) -> Array:
        return predictive_quantile(q, p)

    def sd(q: Mixture) -> Array:
        shifted = _shift(q, z)
        if not q.log_time:
            return latent_sd(shifted)
        with np.errstate(over="ignore"):
            mean = np.exp(shifted.mean + 0.5 * q.sd * q.sd)
            return total_sd(q.weight, mean, mean * mean * np.expm1(q.sd * q.sd))

    def quantile(q: Mixture, tail: float) -> Array:
        return _response(q, latent_quantile(_shift(q, z), tail))

    return Scale(point, sd, quantile)


def probability_scale(limit: float, *, above: bool) -> Scale:
    r"""Probability that y* lies below, or above, a limit on the scale of the response.

    The prediction is :math:`E\,\Phi((limit - f) / \sigma)`, the probability for a new y*; what is uncertain is the
    probability given f and the noise. Its second moment is that of two normals of correlation
    :math:`v / (v + \sigma^2)`, by Owen's T; its quantiles are those of the mixture of normals inside
    :math:`\Phi`.

    Examples
    --------
    >>> q = Mixture(np.ones(1), np.zeros((1, 1)), np.full((1, 1), 3.0), np.array([4.0]))
    >>> probability_scale(5.0, above=False).point(q).round(4)
    array([0.8413])
    """
    sign = -1.0 if above else 1.0

    def standardised(q: Mixture, sd: Array) -> Array:
        return sign * (_latent_limit(q, limit) - q.mean) / sd

    def point(q: Mixture) -> Array:
        return average(q.weight, ndtr(standardised(q, np.hypot(q.sd, q.sigma[:, None]))))

    def sd(q: Mixture) -> Array:
        noise = q.sigma[:, None]
        total = np.hypot(q.sd, noise)
        z = standardised(q, total)
        mean, near = ndtr(z), -np.abs(np.clip(z, -40.0, 40.0))
        tail = ndtr(near)
        # (1 - rho) / (1 + rho), rho = sd^2 / total^2
        both = tail - 2.0 * owens_t(near, noise / np.sqrt(total * total + q.sd * q.sd))
        return total_sd(q.weight, mean, np.maximum(both - tail * tail, 0.0))

    def quantile(q: Mixture, tail: float) -> Array:
        noise = q.sigma[:, None]
        return np.asarray(ndtr(normal_quantile(tail, q.weight, standardised(q, noise), q.sd / noise)))

    return Scale(point, sd, quantile)


def predictive_quantile(q: Mixture, p: float) -> Array:
    """Quantile of order ``p`` of a new y*, (n,)."""
    return _response(q, normal_quantile(p, q.weight, q.mean, np.hypot(q.sd, q.sigma[:, None])))


def choose_scales(what: str, q: Any, below: Any, above: Any) -> tuple[dict[float | str, Scale], bool]:
    """Scales that a prediction asks for, by the label of their column, and whether it gave a list.

    Raises
    ------
    SpecError
        If ``q``, ``below`` or ``above`` is lacking, out of place, or no number that is allowed.

    Examples
    --------
    >>> scales, listed = choose_scales("quantile", [0.1, 0.9], None, None)
    >>> list(scales), listed
    ([0.1, 0.9], True)
    """
    given = [name for name, value in (("q", q), ("below", below), ("above", above)) if value is not None]
    allowed = {"quantile": ["q"], "prob": ["below", "above"]}.get(what, [])
    for name in given:
        if name not in allowed:
            home = "quantile" if name == "q" else "prob"
            raise SpecError(f"{name}= goes with what={home!r}, not with what={what!r}.")
    if what == "quantile":
        if q is None:
            raise SpecError("what='quantile' needs q=, a probability or a list of them, as q=[0.05, 0.95].")
        values = _numbers("q", q)
        if not all(0.0 < value < 1.0 for value in values):
            raise SpecError(f"q={q!r}: probabilities strictly between 0 and 1 are needed, as q=0.9.")
        return {value: quantile_scale(value) for value in values}, np.ndim(q) > 0
    if what == "prob":
        if len(given) != 1:
            raise SpecError(
                "what='prob' needs one of below= and above=, a number or a list of them; the probability of an "
                "interval is the difference of two that are below."
            )
        limit = below if above is None else above
        values = _numbers(given[0], limit)
        return {v: probability_scale(v, above=above is not None) for v in values}, np.ndim(limit) > 0
    return ({what: SCALES[what]} if what in SCALES else {}), False


def _numbers(name: str, given: Any) -> list[float]:
    """One number or a list of distinct ones."""
    values = list(given) if np.ndim(given) == 1 else [given]
    right = all(isinstance(v, _NUMBER) and not isinstance(v, (bool, np.bool_)) and np.isfinite(v) for v in values)
    if not values or not right or len(set(values)) < len(values):
        raise SpecError(f"{name}={given!r}: a finite number, or a list of different ones, is needed.")
    return [float(v) for v in values]


def _shift(q: Mixture, z: float) -> Mixture:
    """Mixture of ``f + z sigma``."""
    return Mixture(q.weight, q.mean + z * q.sigma[:, None], q.sd, q.sigma, q.log_time)


def _latent_limit(q: Mixture, limit: float) -> float:
    if not q.log_time:
        return limit
    return float(np.log(limit)) if limit > 0.0 else -np.inf


def _response(q: Mixture, f: Array) -> Array:
    with np.errstate(over="ignore"):
        return np.exp(f) if q.log_time else f
