r"""Sites of the training rows under the labels of the data.

Gaussian sites of the training rows with their cavities, (SIT11) of the theory pages.

The likelihood of a copy of row n is replaced by :math:`\tilde Z_n N(f_n; \tilde\mu_n, \tilde\sigma_n^2)`, which is
equation 9 of Groot and Lucas (2012). The cavity is the posterior of :math:`f_n` without that site.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from tobitgp.data.arrays import CensoredResponse, KindRows
from tobitgp.data.training_summary import NO_ROWS
from tobitgp.engines import row_chunks, single_blas_thread
from tobitgp.errors import SpecError
from tobitgp.inference.feature_posterior import FeaturePosterior
from tobitgp.inference.method import Marginals, Method, cavity
from tobitgp.inference.site_updates import CHUNK_ROWS
from tobitgp.kinds.process import ProcessParts, ScaledFit
from tobitgp.kinds.rows_left_out import noise_free_cavities
from tobitgp.likelihoods.censoring_noise import Spread, with_side_noises
from tobitgp.likelihoods.row_terms import Likelihood
from tobitgp.results.fit import Fit
from tobitgp.results.rows import ask
from tobitgp.results.why_not import unavailable
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
            if parts.noise_free and kind.kind == "exact":
                found.append(np.stack([rows.limit, *np.zeros((4, len(rows)))]))
                continue
            q = Marginals(*point.marginals([at.rows(span) for at in inputs]), sites.lambda1, sites.lambda2)
            found.append(_sites_of_chunk(likelihood, method, rows, q, point.sigma))
        start += len(kind)
    out = np.concatenate(found, axis=1)
    if parts.noise_free:
        out[3:] = noise_free_cavities(parts, point)
    return out


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


def sites(results: Fit) -> pd.DataFrame:
    r"""Gaussian sites of the training rows at the maximum, and the cavity of each, a DataFrame with a row for each.

    The posterior replaces the likelihood of a row by :math:`\tilde Z N(f; \tilde\mu, \tilde\sigma^2)`. The columns
    ``mean, variance, log_z`` are :math:`\tilde\mu, \tilde\sigma^2, \log \tilde Z`. ``cavity_mean`` and
    ``cavity_variance`` are those of f in the row under the posterior without this site. All are on the scale of f
    in the units of the response (of its logarithm for log-time families, after the power for ``boxcox``); ``log_z``
    is in nats. The index is that of the data; rows that were left out are NaN. A row with the weight c has c such
    sites, and the cavity leaves out one of them.

    Uncensored rows with normal noise have their likelihood N(f; y, sigma^2) as site. Noise that is not log-concave may
    give a negative variance; ``log_z`` is then NaN.

    Raises
    ------
    SpecError
        If the fit holds no training rows.
    UnavailableError
        If ``sigma=`` has a process, where sites are of f and log sigma together.

    References
    ----------
    P. Groot and P. Lucas, "Gaussian process regression with censored data using expectation propagation", PGM 2012,
    eq. 9. (SIT11) of the theory pages.

    Examples
    --------
    >>> import tobitgp as tg
    >>> data = tg.datasets.load("tobin")
    >>> res = tg.fit("durable ~ age | censor(0)", data, method=tg.EP(hyper="maximize"))
    >>> res.sites.loc[:1].round(2)
        mean  variance  log_z  cavity_mean  cavity_variance
    0 -11.54    102.91   3.18        -4.15            12.79
    1   0.70     45.22   0.00        -4.14             4.92
    """
    scaled = results.parts.reported
    if scaled.fit.fitted.points[0].noise:
        raise unavailable(results, "res.sites", "sites")
    if results.parts.training is None:
        raise SpecError(f"{NO_ROWS}, and sites belong to training rows.")
    return ask(results.parts).table(row_sites(scaled, results.parts.rows.response))
