"""Posteriors of small fits written out with dense matrices, for fits of linear columns and one process."""

import numpy as np


def at_its_average(res, H):
    """Mean and covariance of f where the process stands at its average over the training rows, linear columns H."""
    point, gp = res.parts.fitted.points[0], res.parts.gp
    scale = gp.problem.units.scale
    level = point.blocks[1].features(gp.inputs(res.parts.training.design)[1].X).A.mean(axis=0)
    A = np.column_stack([(H - gp.linear.centre) * gp.linear.sd / scale, np.tile(level, (len(H), 1))])
    S = np.linalg.inv(point.factor.L @ point.factor.L.T)
    return gp.problem.units.centre + scale * A @ point.w, scale**2 * A @ S @ A.T
