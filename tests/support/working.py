"""The standardised problem of a regression on rows in memory."""

import numpy as np
from scipy.linalg import block_diag

from tobitgp.distributions.symmetric_noise import NormalNoise, StudentNoise
from tobitgp.engines import LocalPartitions
from tobitgp.regression.newton import evaluate
from tobitgp.regression.working import split, standardise


def standardised(outcome, H, W, free_shape=False):
    nothing = np.zeros(len(outcome))
    shape_range = StudentNoise.coordinate_range() if free_shape else None
    return standardise(LocalPartitions([(outcome, split(H, W, nothing, nothing, None, None))]), shape_range=shape_range)


def information(outcome, H, fit):
    """Minus the Hessian (k, k) of the log likelihood under normal noise of one sigma, in the units of the columns."""
    at = standardised(outcome, H, np.ones((len(outcome), 1)))
    A = block_diag(at.scale * (at.inverse_R @ np.eye(at.p)), at.inverse_V)
    shift = np.append(at.inverse_R @ at.shift, 0.0)
    state = evaluate(at, NormalNoise(), np.linalg.solve(A, np.append(fit.coefficients, fit.gamma) - shift))
    B = np.linalg.inv(A)
    return -B.T @ state.hessian.dense() @ B
