"""Ends of rows that say something of where values lie.

Mean and standard deviation of a normal sample of which some values are known only to lie beyond a limit.
"""

from __future__ import annotations

import numpy as np

from tobitgp.numerics.normal import log_cdf, mills
from tobitgp.typing import Array


def known_range(lower: Array, upper: Array) -> tuple[float, float]:
    """Smallest upper end and largest lower end: values are known to lie at or beyond both.

    Shapes: lower, upper (n,).
    """
    return (
        float(np.min(upper, initial=np.inf, where=np.isfinite(upper))),
        float(np.max(lower, initial=-np.inf, where=np.isfinite(lower))),
    )


def telling_ends(lower: Array, upper: Array, bottom: float, top: float) -> tuple[Array, Array]:
    """Ends with those that lie far beyond what is known taken for open, as where 9999 stands for infinity.

    Far is beyond the range by more than its length. What a row says by its other end stays.

    Shapes: lower, upper (n,); gives lower, upper (n,).
    """
    span = top - bottom
    if not 0.0 < span < np.inf:
        return lower, upper
    return np.where(lower < bottom - span, -np.inf, lower), np.where(upper > top + span, np.inf, upper)


_STEPS = 60
_SIGN = np.array([1.0, 1.0, -1.0, -1.0])
_PRIOR_SHARE = 1e-3  # of all rows, with mean 0 and sd 1: keeps the maximum finite where the data would not


def fit_censored_normal(share: Array, spread: float, limits: Array) -> tuple[float, float]:
    r"""Maximum-likelihood mean and sd, from exact values of mean 0 and known spread and rows beyond limits.

    (HYP8) of the theory pages. In Olsen's parameters, :math:`\gamma = 1/\sigma` and :math:`\delta = \mu/\sigma`, the
    log-likelihood is concave (R. J. Olsen, 1978, "Note on the uniqueness of the maximum likelihood estimator for the
    Tobit model", Econometrica 46).

    Shapes: share (5,), limits (4,).
    """
    at = np.array([0.0, 1.0])
    value, gradient, curvature = _log_likelihood(at, share, spread, limits)
    for _ in range(_STEPS):
        step = np.linalg.solve(curvature, gradient)
        gain = float(gradient @ step)
        size = 1.0 if step[1] > -0.5 * at[1] else -0.5 * at[1] / step[1]
        while size > 1e-10:
            there = _log_likelihood(at + size * step, share, spread, limits)
            if there[0] >= value + 1e-4 * size * gain:
                break
            size *= 0.5
        else:
            break
        at, (value, gradient, curvature) = at + size * step, there
        if gain < 1e-18:
            break
    return float(at[0] / at[1]), float(1.0 / at[1])


def _log_likelihood(at: Array, share: Array, spread: float, limits: Array) -> tuple[float, Array, Array]:
    """Value for a row, gradient (2,) and minus the second derivatives (2, 2) in delta and gamma."""
    delta, gamma = at
    z = _SIGN * (gamma * limits - delta)
    h, excess = mills(z)
    own = share[0] + _PRIOR_SHARE
    quadratic = np.diag([own, share[0] * spread * spread + _PRIOR_SHARE])
    of_z = np.stack([-_SIGN, _SIGN * limits])
    value = own * np.log(gamma) - 0.5 * at @ quadratic @ at + share[1:] @ log_cdf(z)
    gradient = -quadratic @ at + of_z @ (share[1:] * h)
    gradient[1] += own / gamma
    curvature = quadratic + (of_z * share[1:] * h * excess) @ of_z.T
    curvature[1, 1] += own / gamma**2
    return float(value), gradient, curvature
