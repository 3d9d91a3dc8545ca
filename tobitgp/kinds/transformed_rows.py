"""Rows of a response after Box and Cox's transformation."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from tobitgp.data.arrays import CensoredResponse
from tobitgp.data.outcome import refuse_rows
from tobitgp.data.prepare import TrainingData
from tobitgp.distributions.power_normal import TINY, transform
from tobitgp.typing import Array

LEAST_POWER = 0.05  # of rows that are 0, which no response of power 0 is


def above_zero(response: CensoredResponse, labels: npt.NDArray[np.object_]) -> CensoredResponse:
    """Rows with their zeros, which are left-censored there, at the smallest number; others are positive.

    A lower end of 0 gives no information: the response may be 0.
    """
    exact = response.lower == response.upper
    remedy = "Write | censor(0) if zeros mean values at or below 0. Drop or shift negative values."
    what = "family='boxcox' requires positive responses"
    refuse_rows((response.upper < 0.0) | exact & (response.lower <= 0.0), what, response.upper, labels, remedy)
    lower, entry = (np.where(end > 0.0, end, -np.inf) for end in (response.lower, response.entry))
    return replace(response, lower=lower, upper=np.maximum(response.upper, TINY), entry=entry)


def holds_zeros(response: CensoredResponse) -> bool:
    """Whether some rows are 0."""
    return bool((response.upper <= TINY).any())


def transformed(training: TrainingData, power: float, log_unit: float = 0.0) -> TrainingData:
    """Rows whose response, limits and windows are transformed, in some unit: (BC1)."""
    return replace(training, response=transformed_response(training.response, power, log_unit))


def transformed_response(response: CensoredResponse, power: float, log_unit: float = 0.0) -> CensoredResponse:
    """A positive response with its limits after the transformation."""
    names = ("lower", "upper", "limit_lower", "limit_upper", "entry", "exit")
    ends: dict[str, Any] = {
        name: transformed_values(getattr(response, name), power, log_unit, lowest=name == "upper") for name in names
    }
    return replace(response, **ends)


def transformed_values(y: Array, power: float, log_unit: float = 0.0, *, lowest: bool = False) -> Array:
    """Ends on the transformed scale: from 0 on nothing is known, but of what is 0 that it lies below."""
    with np.errstate(divide="ignore", invalid="ignore"):
        z = transform(np.log(np.where(y > TINY, y, 0.0)) - log_unit, power)
    none = np.isnan(y) if lowest else ~(y > 0.0) | np.isnan(y)
    return np.where(np.isposinf(y), np.inf, np.where(none, np.where(np.isnan(y), y, -np.inf), z))


def row_jacobians(response: CensoredResponse, power: float, log_unit: float = 0.0) -> Array:
    """Logarithms (n,) of the derivatives of the transformation in exact rows, 0 in others: (BC2)."""
    exact = response.lower == response.upper
    log_y = np.log(np.where(exact, response.lower, 1.0))
    return np.where(exact, (power - 1.0) * log_y - power * log_unit, 0.0)


def log_jacobian(response: CensoredResponse, power: float, log_unit: float = 0.0) -> float:
    """Log Jacobian: log likelihood of the response minus that of the transformed rows, (BC2)."""
    return float(response.weight @ row_jacobians(response, power, log_unit))
