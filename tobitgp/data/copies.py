"""Weights that do not say what frequencies say."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd

from tobitgp.data.shapes import CensoredResponse, Design
from tobitgp.errors import BoundaryWarning, user_level
from tobitgp.typing import Array

_SHARE = 0.5


def warn_copies(design: Design, response: CensoredResponse, effective: float) -> None:
    """Warn where a process goes through exact copies, beside which nothing speaks for noise.

    It does where its effective parameters are more than half as many as the distinct inputs.
    """
    if not any(X.shape[1] for X in design.X):
        return
    exact = response.lower == response.upper
    codes = [g.code[:, None] for g in design.groups if g is not None]
    inputs = pd.DataFrame(np.hstack([design.H, *design.X, *codes]))[exact]
    y, weight = response.lower[exact], response.weight[exact]
    if not len(y) or not ((weight > 1.0).any() or inputs.duplicated().any()):
        return
    place = inputs.groupby(list(inputs.columns), sort=False, dropna=False).ngroup().to_numpy()
    copies = np.bincount(place, weights=weight)[place]
    repeated = float(weight[copies > 1.0].sum() / weight.sum())
    values = len(np.unique(np.column_stack([place, y]), axis=0))
    if values == place.max() + 1 and repeated > _SHARE and effective > _SHARE * values:
        warnings.warn(
            f"{100.0 * repeated:.0f}% of the exact rows are copies (repeated rows, or weights above 1) whose response "
            "is the same at the same inputs, and no two others share their inputs: copies agree without noise, and "
            "the curve goes through them. If weights stand for precision, give them as var_weights=; if rows were "
            "written twice, take one of each.",
            BoundaryWarning,
            stacklevel=user_level(),
        )


def warn_fractions(weight: Array) -> None:
    """Warn of weights that are no whole numbers, and so no frequencies."""
    broken = weight != np.round(weight)
    if broken.any():
        warnings.warn(
            f"{broken.sum()} weights are not whole numbers, as {weight[broken][0]:g}: weights= are frequencies, and "
            f"standard errors are those of {weight.sum():g} rows. Weights of precision (noise variance sigma^2 / w) "
            "are var_weights=; sampling weights go with method='mle' and cov_type='HC0'.",
            UserWarning,
            stacklevel=user_level(),
        )
