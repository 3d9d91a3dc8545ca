"""Fits of one process on arrays, without formula or data frame."""

import numpy as np

from support.problems import GAUSSIAN, product
from tobitgp.inference import EPUpdates
from tobitgp.inference.fitted import Task
from tobitgp.inference.hyperparameters import Parameters, default_prior
from tobitgp.inference.partition_fit import fit_gp
from tobitgp.inference.search_settings import Settings
from tobitgp.priors.kernel_block import GPPrior
from tobitgp.priors.prior import Prior
from tobitgp.priors.structure import Inputs

ROLES = ("sd", "lengthscale", "sigma")


def parameters(fixed=None, start=None, flat=()):
    """Parameters of a one-input process: roles with values to fix or start at, and roles without prior."""
    fixed, start = fixed or {}, start or {}
    defaults = np.array([default_prior(role, 1) for role in ROLES])
    first = np.array([np.log({**start, **fixed}.get(role, np.nan)) for role in ROLES])
    spread = np.where([role in flat for role in ROLES], np.inf, defaults[:, 1])
    free = np.array([role not in fixed for role in ROLES])
    return Parameters(ROLES, ROLES, np.ones(3), defaults[:, 0], spread, free, first)


def fit(problem, chosen=None, method=None, kernel="rbf", inducing="auto", on_step=None, **options):
    prior = Prior(None, (GPPrior(Inputs(problem.X[0]), product((kernel, problem.X[0].shape[1])), inducing),))
    return fit_gp(
        Task(problem, prior, chosen or parameters(), GAUSSIAN), method or EPUpdates(), Settings(**options), on_step
    )
