r"""The predictive law of each training row without its own word, from the sites of a Gaussian posterior.

The cavity of row n is the posterior with one copy of its site taken out, and

.. math:: p(y_n | y_{-n}, \theta) \approx \int p(y_n | f_n)\, q_{-n}(f_n)\, df_n,

the normaliser that expectation propagation forms in each row: (EP1), (CHK2) and (CHK3) of the theory pages. It is exact
where the posterior is, as for Gaussian values without censoring. With sites of Laplace's method or of variational
inference the formula is the same, its cavity that of another approximation.

References
----------
.. [1] M. Opper and O. Winther, "Gaussian processes for classification: mean-field algorithms", Neural Computation 12
   (2000).
.. [2] A. Vehtari, T. Mononen, V. Tolvanen, T. Sivula and O. Winther, "Bayesian leave-one-out cross-validation
   approximations for Gaussian latent variable models", JMLR 17(103) (2016).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tobitgp.data.outcome import outcome
from tobitgp.diagnostics.draws import log_jacobian
from tobitgp.engines import map_independent, row_chunks, single_blas_thread
from tobitgp.inference.ep import cavity
from tobitgp.inference.method import Marginals
from tobitgp.inference.posterior import Posterior
from tobitgp.inference.site_updates import CHUNK_ROWS
from tobitgp.likelihoods.censoring_noise import Spread
from tobitgp.results.views import Parts
from tobitgp.typing import Array

_HEAVY = 100_000


class Predicted(NamedTuple):
    """Log predictive density or probability of n rows at J design points, of the response as written, (J, n) each.

    ``without`` is that of one copy of a row under the posterior without it, ``within`` that under the posterior.
    """

    without: Array
    within: Array


class LeftOut(NamedTuple):
    """Rows left out, averaged over the design points, (n,) each."""

    elpd: Array  # (n,), log predictive density of each row without it
    within: Array  # (n,), that with it
    share: Array  # (n,)


def predict_left_out(parts: Parts) -> Predicted:
    """Rows without their own word at every design point, in the order of the data."""
    problem, fitted = parts.gp.problem, parts.fitted
    J = len(fitted.points)
    work = problem.n * J * max(fitted.n_features, 1)
    with single_blas_thread():
        found = map_independent(lambda point: _at_point(parts, point), fitted.points, heavy=work > _HEAVY)
    without, within = np.empty((J, problem.n)), np.empty((J, problem.n))
    known = outcome(parts.rows.response, log_time=parts.family.log_time)
    shift = log_jacobian(known, log_time=parts.family.log_time) - np.where(
        known.exact, np.log(problem.units.scale), 0.0
    )
    for j, pair in enumerate(found):
        without[j, problem.order], within[j, problem.order] = pair
    return Predicted(without + shift, within + shift)


def _at_point(parts: Parts, point: Posterior) -> tuple[Array, Array]:
    """In the order of the problem, standardised."""
    problem, inputs = parts.gp.problem, parts.gp.prior.inputs
    likelihood = Spread(parts.family.likelihood.over(problem.rows).at(point.theta))
    without, within, start = np.empty(problem.n), np.empty(problem.n), 0
    for kind in problem.rows:
        for span in row_chunks(start, start + len(kind), CHUNK_ROWS):
            rows = kind[slice(span.start - start, span.stop - start)]
            A, d = point.features([at.rows(span) for at in inputs])
            lambda1, lambda2 = point.sites.lambda1[span], point.sites.lambda2[span]
            q = Marginals(A.times(point.w), point.factor.variance(A), d, lambda1, lambda2)
            _, v_c, mu_c = cavity(q, rows.weight)
            without[span] = likelihood.tilted(rows, mu_c, v_c + d, point.sigma).log_Z
            within[span] = likelihood.tilted(rows, q.m, q.v_p + d, point.sigma).log_Z
        start += len(kind)
    return without, within


def average_left_out(weight: Array, predicted: Predicted) -> LeftOut:
    r"""Average over design points as the hyper-parameters are known without the row.

    The posterior without row n weights point j by :math:`w_{jn} \propto w_j / p(y_n | y_{-n}, \theta_j)`, so that,
    (PRE9) of the theory pages,

    .. math:: p(y_n | y_{-n}) = \sum_j w_{jn}\, p(y_n | y_{-n}, \theta_j)
              = 1 \Big/ \sum_j \frac{w_j}{p(y_n | y_{-n}, \theta_j)}.

    ``share`` is :math:`1 / \sum_j w_{jn}^2 / w_j`, the effective sample size of the new weights relative to the old.

    Shapes: weight (J,).
    """
    with np.errstate(divide="ignore"):
        log_weight = np.log(weight)[:, None]
    raised = log_weight - predicted.without
    total = np.logaddexp.reduce(raised, axis=0)
    share = np.exp(-np.logaddexp.reduce(2.0 * (raised - total) - log_weight, axis=0))
    return LeftOut(-total, np.logaddexp.reduce(log_weight + predicted.within, axis=0), np.minimum(share, 1.0))
