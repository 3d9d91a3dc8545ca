"""Standard errors and intervals of predictions by the delta method; (SUR7) of the theory pages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.special import expit, ndtri

from tobitgp.numerics.differences import slope
from tobitgp.regression.covariance import known
from tobitgp.regression.scales import Link, Predictor, Quantity
from tobitgp.typing import Array

_STEP = 0.03  # of differences in log df


def df_slope(ask: Callable[[Predictor], Quantity], rows: Predictor) -> Array:
    """Derivative of a prediction in log df, by fourth-order differences.

    Gives (n,).
    """
    df = rows.law.shape
    return slope(lambda move: ask(replace(rows, law=rows.law.with_shape(df * float(np.exp(move))))).value, _STEP)


def delta_se(
    quantity: Quantity,
    H: Array,
    W: Array,
    V: Array,
    *,
    d_log_df: Array | None = None,
    unidentified: Array | None = None,
) -> Array:
    r"""Standard errors :math:`\sqrt{g' V g}` with :math:`g = (g_\eta h, g_\tau w)` in each row.

    Shapes: H, W (n, p), V, unidentified (k, k).
    """
    variance = _squares(quantity, H, W, V, d_log_df)
    if unidentified is not None and unidentified.any():
        variance = known(variance, _squares(quantity, H, W, unidentified, d_log_df))
    return np.asarray(np.sqrt(np.maximum(variance, 0.0)))


def _squares(quantity: Quantity, H: Array, W: Array, V: Array, d_log_df: Array | None) -> Array:
    """Quadratic forms g'Vg of the gradients, of the quantity's shape."""
    p, k = H.shape[1], H.shape[1] + W.shape[1]
    x, t = quantity.d_eta, quantity.d_tau
    each = (len(H), *[1] * (x.ndim - 1))
    first = np.einsum("ij,ij->i", H @ V[:p, :p], H).reshape(each)
    cross = np.einsum("ij,ij->i", H @ V[:p, p:k], W).reshape(each)
    second = np.einsum("ij,ij->i", W @ V[p:k, p:k], W).reshape(each)
    variance = x * x * first + 2.0 * x * t * cross + t * t * second
    if d_log_df is not None:
        with_df = x * (H @ V[:p, k]).reshape(each) + t * (W @ V[p:k, k]).reshape(each)
        variance = variance + d_log_df * (2.0 * with_df + d_log_df * V[k, k])
    return np.asarray(variance)


def interval(value: Array, se: Array, level: float, link: Link) -> tuple[Array, Array]:
    """Ends of an interval, symmetric on the scale of the link.

    Shapes: value, se (n,); gives lower, upper (n,).
    """
    z = float(ndtri(0.5 + 0.5 * level))
    if link == "identity":
        return value - z * se, value + z * se
    with np.errstate(all="ignore"):
        if link == "log":
            factor = np.exp(z * se / value)
            ends = value / factor, value * factor
        else:
            middle, reach = np.log(value) - np.log1p(-value), z * se / (value * (1.0 - value))
            ends = expit(middle - reach), expit(middle + reach)
        edge = (value == 0.0) | (np.isfinite(middle) == 0 if link == "logit" else np.isinf(value))
    return np.where(edge, value, ends[0]), np.where(edge, value, ends[1])
