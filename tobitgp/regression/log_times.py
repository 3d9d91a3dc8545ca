"""Log likelihoods of log times with a location, a scale and a shape, exact or right-censored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tobitgp.distributions.base import Distribution
from tobitgp.likelihoods.base import Kind, row_terms
from tobitgp.regression.newton import SHAPE_STEP, shape_differences
from tobitgp.regression.predictors import Local
from tobitgp.typing import Array


def local_terms(noise: Distribution, kind: Kind, log_time: Array, at: Sequence[Array]) -> Local:
    """Log density or survival at locations, log scales and, where it is estimated, shapes, (m,) each."""
    (eta, tau, *shape), r, width = at, len(at), np.zeros_like(log_time)

    def terms(step: float) -> Any:
        moved = noise.at_coordinate(float(shape[0].flat[0]) + step * SHAPE_STEP) if shape and len(eta) else noise
        return row_terms(moved, kind, log_time, log_time, width, eta, tau)

    here = terms(0.0)
    slope, bend = np.zeros((len(log_time), r)), np.zeros((len(log_time), r, r))
    slope[:, 0], slope[:, 1] = here.eta, here.tau
    bend[:, 0, 0], bend[:, 0, 1], bend[:, 1, 1] = here.eta_eta, here.eta_tau, here.tau_tau
    if shape:
        found = shape_differences([terms(-2.0), terms(-1.0), here, terms(1.0), terms(2.0)])
        slope[:, 2], bend[:, 2, 2], bend[:, 0, 2], bend[:, 1, 2] = found
    return Local(here.value, slope, bend + np.swapaxes(np.triu(bend, 1), 1, 2))
