"""The evidence at given hyper-parameters, and its gradient."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tobitgp.data.problem import Problem
from tobitgp.engines import single_blas_thread
from tobitgp.inference.fit import as_asked, begin_search, named_suspects
from tobitgp.inference.fitted import Settings
from tobitgp.inference.gradient import evidence_gradient
from tobitgp.inference.method import Method
from tobitgp.inference.parameters import Parameters
from tobitgp.inference.parts import Whole
from tobitgp.inference.prior import Prior
from tobitgp.likelihoods.base import Likelihood
from tobitgp.typing import Array


class Evaluated(NamedTuple):
    """Evidence in the user's units, its derivatives (k,) in the values of all hyper-parameters, None unless asked for.

    ``method`` is the one that made it: variational inference where expectation propagation did not settle.
    """

    value: float
    gradient: Array | None
    method: Method
    converged: bool


def evaluate(
    problem: Problem,
    prior: Prior,
    parameters: Parameters,
    method: Method,
    likelihood: Likelihood,
    settings: Settings,
    whole: Whole | None = None,
    *,
    gradient: bool,
) -> Evaluated:
    """Evaluate the evidence where all hyper-parameters are known; arguments as of :func:`tobitgp.inference.fit.fit_gp`.

    Derivatives are those at fixed inducing inputs.
    """
    assert not parameters.n_free
    with single_blas_thread(), np.errstate(all="ignore"):
        search = begin_search(problem, prior, parameters, method, likelihood, settings, None, whole)
        with named_suspects(parameters, problem.weight, search.whole.weight):
            objective, maximum = search.run()
            posterior = as_asked(search, objective, objective.posterior(maximum.free))
        slopes = None
        if gradient:
            slopes = evidence_gradient(posterior, search.last) / parameters.values(posterior.theta)
        value = posterior.evidence + search.problem.units.log_jacobian
        return Evaluated(value, slopes, search.last, posterior.converged)
