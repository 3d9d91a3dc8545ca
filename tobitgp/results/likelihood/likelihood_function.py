"""The log likelihood of a fit as a function of its parameters."""

from __future__ import annotations

from typing import Any

import numpy as np

from tobitgp.data.linear_columns import level_columns
from tobitgp.diagnostics.training_draws import training_rows
from tobitgp.errors import SpecError
from tobitgp.kinds.likelihood import LikelihoodParts, uncentred
from tobitgp.typing import Array


def log_likelihood_at(parts: LikelihoodParts, params: Any) -> float:
    """Log likelihood of the training rows at parameters (k,) as they are reported."""
    training = training_rows(parts, "model.loglike()")
    change = _moved(parts, np.asarray(params, dtype=np.float64))
    (rows,) = parts.drawn_in_training(slice(None), change[:, None])
    seen = training.response
    values = np.asarray(rows.log_likelihood(seen.lower, seen.upper, *parts.windows(seen))).reshape(-1)
    return float(seen.weight @ values)


def _moved(parts: LikelihoodParts, params: Array) -> Array:
    """Change (k,) of the parameters of the maximum that gives those that are reported."""
    p, names = len(parts.columns), parts.names
    if params.shape != (len(names),):
        raise SpecError(f"params= has the shape {params.shape}. It must have {len(names)} numbers: {', '.join(names)}.")
    positive = np.concatenate([np.zeros(p, dtype=np.bool_), parts.positive])
    if not np.isfinite(params).all() or (params[positive] <= 0.0).any():
        raise SpecError("params= must be finite, and positive for sigma and other positive parameters.")
    theta = np.where(positive, np.log(np.where(positive, params, 1.0)), params)
    change = theta - uncentred(parts, parts.maximum.parameters)
    change[np.flatnonzero(level_columns(parts.state.linear))] += parts.centre @ change[:p]
    return np.asarray(change)
