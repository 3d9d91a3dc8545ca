"""Standard errors and intervals of predictions by the delta method."""

from __future__ import annotations

import numpy as np
from scipy.special import expit, ndtri

from tobitgp.regression.scales import Link, Quantity
from tobitgp.typing import Array


def delta_se(quantity: Quantity, H: Array, W: Array, V: Array) -> Array:
    r"""Standard errors :math:`\sqrt{g' V g}` with :math:`g = (g_\eta h, g_\tau w)` in each row.

    Parameters
    ----------
    quantity : Quantity
    H, W : (n, p), (n, q) array
        Designs of location and log scale.
    V : (k, k) array
        Covariance of coefficients and scale coefficients, k >= p + q; further parameters are taken as known.

    Returns
    -------
    (n,) array
        NaN where the value is not finite.

    Examples
    --------
    >>> row = Quantity(np.array([2.0]), np.array([1.0]), np.array([3.0]), "identity")
    >>> delta_se(row, np.ones((1, 1)), np.ones((1, 1)), np.diag([16.0, 1.0]))
    array([5.])
    """
    p, k = H.shape[1], H.shape[1] + W.shape[1]
    x, t = quantity.d_eta, quantity.d_tau
    first = np.einsum("ij,ij->i", H @ V[:p, :p], H)
    cross = np.einsum("ij,ij->i", H @ V[:p, p:k], W)
    second = np.einsum("ij,ij->i", W @ V[p:k, p:k], W)
    return np.asarray(np.sqrt(np.maximum(x * x * first + 2.0 * x * t * cross + t * t * second, 0.0)))


def interval(value: Array, se: Array, level: float, link: Link) -> tuple[Array, Array]:
    """Ends of an interval, symmetric on the scale of the link.

    Parameters
    ----------
    value, se : (n,) array
    level : float
    link : {"identity", "log", "logit"}

    Returns
    -------
    lower, upper : (n,) array

    Examples
    --------
    >>> ends = interval(np.array([0.5]), np.array([0.1]), 0.95, "logit")
    >>> print(*(end.round(4) for end in ends))
    [0.3135] [0.6865]
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
