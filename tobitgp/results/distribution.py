"""Quantiles and probabilities of the response before censoring, as scales of prediction."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import log_ndtr

from tobitgp.errors import SpecError
from tobitgp.results import predictive
from tobitgp.results.noisy import log_tail_variance
from tobitgp.results.normals import Mixture, average, total_sd
from tobitgp.results.predictive import probability_quantile
from tobitgp.results.scales import SCALES, Scale, shifted_quantile, shifted_sd
from tobitgp.typing import Array

_LONGEST = 80
_NUMBER = (float, int, np.floating, np.integer)


def quantile_scale(p: float) -> Scale:
    r"""Quantile of y* of order ``p``.

    The prediction is the quantile of a new y*, of the mixture with the noise in it. What is uncertain is the quantile
    given f and the noise, :math:`f + \sigma F^{-1}(p)` with F the cdf of its law, or its exponential for log-time
    families.
    """

    def point(q: Mixture) -> Array:
        return predictive_quantile(q, p)

    def sd(q: Mixture) -> Array:
        return shifted_sd(q, predictive.noise_quantiles(q, p))

    def quantile(q: Mixture, tail: float) -> Array:
        return shifted_quantile(q, predictive.noise_quantiles(q, p), tail)

    return Scale(point, sd, quantile)


def probability_scale(limit: float, *, above: bool) -> Scale:
    r"""Probability that y* lies below, or above, a limit on the scale of the response.

    The prediction is :math:`E\,F((limit - f) / \sigma)`, F the cdf of the noise: the probability for a new y*; what is
    uncertain is the probability given f and the noise. Both are formed from the smaller tail, on the log scale. Its
    quantiles are those of the mixture of normals inside F.
    """

    def point(q: Mixture) -> Array:
        out = _average(q, limit, upper=above)
        late = out > 0.5
        if late.any():
            out[late] = 1.0 - _average(q.take(late), limit, upper=not above)
        return out

    def sd(q: Mixture) -> Array:
        high = _average(q, limit, upper=True) < 0.5
        out = np.empty(len(high))
        for upper, rows in ((True, high), (False, ~high)):
            if rows.any():
                out[rows] = _tail_sd(q.take(rows), limit, upper=upper)
        return out

    def quantile(q: Mixture, tail: float) -> Array:
        z = (_latent_limit(q, limit) - q.mean) / q.sigma[:, None]
        return probability_quantile(q.laws, tail, q.weight, z, q.sd / q.sigma[:, None], upper=above)

    return Scale(point, sd, quantile)


def _average(q: Mixture, limit: float, *, upper: bool) -> Array:
    return average(q.weight, np.exp(_log_tails(q, limit, upper=upper)))


def _log_tails(q: Mixture, limit: float, *, upper: bool) -> Array:
    """Log probability in every component that a new y* lies above a limit, or at most there, (J, n)."""
    gap, noise = _latent_limit(q, limit) - q.mean, q.sigma[:, None]
    if q.normal:
        return np.asarray(log_ndtr((-1.0 if upper else 1.0) * gap / np.hypot(q.sd, noise)))
    rows = zip(q.laws, gap / noise, q.sd / noise, strict=True)
    return np.stack([predictive.log_tail(*row, upper=upper) for row in rows])


def _tail_sd(q: Mixture, limit: float, *, upper: bool) -> Array:
    """Standard deviation (n,) of the probability given f and the noise."""
    log_mean = _log_tails(q, limit, upper=upper)
    z, t = (_latent_limit(q, limit) - q.mean) / q.sigma[:, None], q.sd / q.sigma[:, None]
    rows = zip(q.laws, z, t, log_mean, strict=True)
    log_variance = np.stack([log_tail_variance(*row, upper=upper) for row in rows])
    top = np.maximum(np.maximum(log_mean, 0.5 * log_variance).max(axis=0), -1e300)
    with np.errstate(under="ignore"):
        return np.exp(top) * total_sd(q.weight, np.exp(log_mean - top), np.exp(log_variance - 2.0 * top))


def predictive_quantile(q: Mixture, p: float) -> Array:
    """Quantile of order ``p`` of a new y*, (n,)."""
    return q.response(predictive.quantile(q, p))


def choose_scales(what: str, q: Any, below: Any, above: Any) -> tuple[dict[float | str, Scale], bool]:
    """Scales that a prediction asks for, by the label of their column, and whether it gave a list."""
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
        shown = repr(given)
        shown = f"<{type(given).__name__}>" if "\n" in shown or len(shown) > _LONGEST else shown
        raise SpecError(f"{name}={shown}: a finite number, or a list of different ones, is needed.")
    return [float(v) for v in values]


def _latent_limit(q: Mixture, limit: float) -> float:
    if not q.log_time:
        return limit
    return float(np.log(limit)) if limit > 0.0 else -np.inf
