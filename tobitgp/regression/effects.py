r"""Marginal effects of a regression: how a prediction changes with a column of the data.

An effect is :math:`\sum_n \omega_n [Q(\eta_n^+, \tau_n^+) - Q(\eta_n^-, \tau_n^-)] / \mathrm{width}_n`, Q the
prediction asked for at two values of the column: a narrow step on either side for a slope, two levels for a contrast.
Its standard error is by the delta method. (REG14) and (REG15) of the theory pages.

References
----------
McDonald and Moffitt (1980), The uses of Tobit analysis, *Review of Economics and Statistics* 62, 318-321.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tobitgp.regression.conditional import inside_window, shown
from tobitgp.regression.covariance import known
from tobitgp.regression.delta import df_slope
from tobitgp.regression.scales import Predictor, Quantity
from tobitgp.typing import Array


@dataclass(frozen=True, slots=True)
class Side:
    """n rows with a column at one of its two values."""

    H: Array  # (n, p), designs of location and log scale
    W: Array  # (n, p), designs of location and log scale
    rows: Predictor


class Effect(NamedTuple):
    """An effect, its standard error and its derivatives."""

    value: float
    se: float
    gradient: Array  # (k,), of the value in the parameters


class Split(NamedTuple):
    """McDonald and Moffitt's parts of an effect on the observed mean, which add up to it."""

    intensive: float  # change of the mean between the limits, times the probability of lying there
    extensive: float  # the rest: change of that probability


def effect(
    high: Side,
    low: Side,
    width: Array,
    omega: Array,
    V: Array,
    quantity: Callable[[Predictor], Quantity],
    unidentified: Array | None = None,
) -> Effect:
    """Effect on one prediction.

    Shapes: width, omega (n,), V, unidentified (k, k).
    """
    share = omega / width
    above, below = quantity(high.rows), quantity(low.rows)
    value = float(share @ (above.value - below.value))
    gradient = _pull(share, above, high) - _pull(share, below, low)
    if len(V) > len(gradient):
        gradient = np.append(gradient, share @ (df_slope(quantity, high.rows) - df_slope(quantity, low.rows)))
    lost = 0.0 if unidentified is None else gradient @ unidentified @ gradient
    variance = known(np.asarray(gradient @ V @ gradient), np.asarray(lost))
    return Effect(value, float(np.sqrt(np.maximum(variance, 0.0))), gradient)


def split(high: Side, low: Side, width: Array, omega: Array, limits: tuple[Array, Array, Array, Array]) -> Split:
    """McDonald and Moffitt's parts of the effect on the observed mean.

    Shapes: limits (n,).
    """
    share = omega / width
    (mass, mean), (mass_low, mean_low) = inside_window(high.rows, *limits), inside_window(low.rows, *limits)
    intensive = float(share @ (0.5 * (mass + mass_low) * (mean - mean_low)))
    whole = float(share @ (shown(high.rows, *limits).value - shown(low.rows, *limits).value))
    return Split(intensive, whole - intensive)


def _pull(share: Array, at: Quantity, side: Side) -> Array:
    return np.concatenate([(share * at.d_eta) @ side.H, (share * at.d_tau) @ side.W])
