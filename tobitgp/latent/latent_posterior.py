r"""The posterior of the processes by the likelihoods of censored values themselves: (LAT13).

The search replaces these likelihoods by parabolas with the curvature of an observed value, which makes the posterior
too narrow below a limit. Given its parameters, the best normal posterior has the expected slopes and curvatures.
"""

from __future__ import annotations

import numpy as np

from tobitgp.latent.collapsed_bound import (
    ProcessPosterior,
    ResponseEnds,
    ResponseScales,
    RowTerms,
    row_terms,
    symmetric,
)
from tobitgp.latent.psi_statistics import PsiStatistics
from tobitgp.numerics.quadrature import gauss_hermite
from tobitgp.typing import Array

_ORDER, _STEPS, _TOLERANCE = 20, 200, 1e-9
_HALF = 0.5  # of a step, where whole ones go back and forth


def expected_terms(responses: ResponseEnds, scales: ResponseScales, f: Array, var: Array) -> RowTerms:
    """Means of the terms of rows over normal f with such moments, (n, D)."""
    value, mean, complement = (term.copy() for term in row_terms(responses, scales, f))
    value -= np.where(responses.seen, 0.5 * np.square(scales.sd / scales.sigma) * var, 0.0)
    censored = responses.known & ~responses.seen
    if not censored.any():
        return RowTerms(value, mean, complement)
    rows, columns = np.nonzero(censored)
    nodes, weights = gauss_hermite(_ORDER)
    at = f[censored][:, None] + np.sqrt(var[censored])[:, None] * nodes
    ends = ResponseEnds(*(np.repeat(end[censored][:, None], _ORDER, axis=1) for end in responses))
    own = ResponseScales(*(each[columns][:, None] for each in scales))
    for whole, term in zip((value, mean, complement), row_terms(ends, own, at), strict=True):
        whole[rows, columns] = term @ weights
    return RowTerms(value, mean, complement)


def exact_posterior(
    psi: PsiStatistics, responses: ResponseEnds, scales: ResponseScales, start: ProcessPosterior
) -> ProcessPosterior:
    """The best normal posterior of the processes, from a start."""
    q, last, share = start, np.inf, 1.0
    half = np.linalg.inv(q.factor)
    A = psi.psi1 @ half.T
    pull, curvature = _sites(psi, responses, scales, q)
    for _ in range(_STEPS):
        Phi = half @ psi.inducing.matrix(curvature.T @ psi.psi2) @ half.T
        B_inverse = symmetric(np.linalg.inv(np.eye(len(half)) + symmetric(Phi)))
        w = np.einsum("dmk,dk->dm", B_inverse, (A.T @ pull).T)
        gap, q = float(np.abs(w - q.w).max()), ProcessPosterior(w, B_inverse, q.factor)
        if gap < _TOLERANCE:
            break
        share, last = (share if gap < last else max(_HALF * share, 0.05)), gap
        new_pull, new_curvature = _sites(psi, responses, scales, q)
        pull, curvature = pull + share * (new_pull - pull), curvature + share * (new_curvature - curvature)
    return q


def _sites(
    psi: PsiStatistics, responses: ResponseEnds, scales: ResponseScales, q: ProcessPosterior
) -> tuple[Array, Array]:
    """Natural parameters (n, D) of the normal functions of f that the likelihoods are in effect."""
    f, var = q.moments(psi)
    terms, slope = expected_terms(responses, scales, f, var), scales.sd / scales.sigma
    curvature = slope * slope * terms.complement
    return slope * terms.mean + curvature * f, curvature
