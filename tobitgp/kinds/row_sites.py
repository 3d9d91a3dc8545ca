r"""Gaussian sites of the training rows with their cavities, (SIT11) of the theory pages.

The likelihood of a copy of row n is replaced by :math:`\tilde Z_n N(f_n; \tilde\mu_n, \tilde\sigma_n^2)`, which is
equation 9 of Groot and Lucas (2012). The cavity is the posterior of :math:`f_n` without that site.
"""

from __future__ import annotations

import numpy as np

from tobitgp.data.arrays import CensoredResponse, KindRows
from tobitgp.engines import row_chunks, single_blas_thread
from tobitgp.inference.feature_posterior import FeaturePosterior
from tobitgp.inference.method import Marginals, Method, cavity
from tobitgp.inference.site_updates import CHUNK_ROWS
from tobitgp.kinds.process import ProcessParts, ScaledFit
from tobitgp.likelihoods.censoring_noise import Spread, with_side_noises
from tobitgp.likelihoods.row_terms import Likelihood
from tobitgp.typing import Array

COLUMNS = ("mean", "variance", "log_z", "cavity_mean", "cavity_variance")


def row_sites(scaled: ScaledFit, response: CensoredResponse) -> dict[str, Array]:
    """Sites of one copy of each training row at the maximum, (n,) each, in the order and the units of the data."""
    parts, unit = scaled.fit, scaled.fit.gp.problem.units.scale
    found = np.empty((len(COLUMNS), len(response.lower)))
    with single_blas_thread():
        found[:, parts.gp.problem.order] = _standardised(parts, parts.fitted.points[0], parts.fitted.method)
    known = parts.gp.known_mean(parts.rows.design)
    mean, variance, log_Z, mu_c, v_c = found
    log_Z = log_Z + scaled.log_jacobian(response) + np.where(response.lower == response.upper, 0.0, np.log(unit))
    values = known + unit * mean, unit**2 * variance, log_Z, known + unit * mu_c, unit**2 * v_c
    return dict(zip(COLUMNS, values, strict=True))


def _standardised(parts: ProcessParts, point: FeaturePosterior, method: Method) -> Array:
    """The same (5, n) on the standardised scale, in the order of the problem."""
    problem, inputs, start = parts.gp.problem, parts.gp.prior.inputs, 0
    noise = with_side_noises(parts.family.likelihood, parts.fitted.parameters.roles)
    likelihood = Spread(method.view(noise.over(problem.rows).at(point.theta)))
    found = []
    for kind in parts.gp.rows_at(point.theta):
        for span in row_chunks(start, start + len(kind), CHUNK_ROWS):
            rows = kind[slice(span.start - start, span.stop - start)]
            sites = point.sites.rows(span)
            q = Marginals(*point.marginals([at.rows(span) for at in inputs]), sites.lambda1, sites.lambda2)
            found.append(_sites_of_chunk(likelihood, method, rows, q, point.sigma))
        start += len(kind)
    return np.concatenate(found, axis=1)


def _sites_of_chunk(likelihood: Likelihood, method: Method, rows: KindRows, q: Marginals, sigma: float) -> Array:
    """By (SIT11), of rows of one kind."""
    if likelihood.is_conjugate(rows):
        D = method.exact_part(rows, q.m, q.d, sigma)
    else:
        D = method.update(likelihood, rows, q, sigma).D
    _, v_c, mu_c = cavity(q, rows.weight)
    residual = method.exact_variance(q.d, 0.0)  # what the method takes as noise
    with np.errstate(divide="ignore", invalid="ignore"):
        width, mean = rows.weight / q.lambda2, q.lambda1 / q.lambda2
        log_Z = (D + 0.5 * q.lambda2 * (mean - q.m) ** 2) / rows.weight + 0.5 * np.log(2.0 * np.pi * width)
    return np.stack([mean, width - residual, log_Z, mu_c, v_c + residual])
