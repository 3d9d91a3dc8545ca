"""What a method computes for rows that inform f and log sigma: sites with 2 x 2 precisions, evidence, derivatives.

Expectation propagation matches moments, (HET4) to (HET6). Variational inference has the expected slopes and curvatures
of the log likelihood, (HET9) to (HET13), Laplace's method those at the mode, (HET14) and (HET15).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tobitgp.errors import NumericalError
from tobitgp.inference.compiled_rows import CompiledMoments
from tobitgp.inference.pair_sites import (
    WIDEST,
    PairEnd,
    PairGaussian,
    PairRows,
    PairRule,
    PairSlopes,
    PairUpdate,
    by_kind,
    times,
)
from tobitgp.inference.partitioned import Sites
from tobitgp.likelihoods.row_terms import Likelihood
from tobitgp.likelihoods.two_latents import (
    ExpectedPair,
    expected_pair,
    noise_slopes,
    point_in_shape,
    point_pair,
    third_pair,
    tilted_once,
)
from tobitgp.typing import Array


def inverse(V: Array) -> Array:
    """Of symmetric matrices (n, 2, 2)."""
    det = V[:, 0, 0] * V[:, 1, 1] - V[:, 0, 1] ** 2
    out = np.empty_like(V)
    out[:, 0, 0], out[:, 1, 1] = V[:, 1, 1] / det, V[:, 0, 0] / det
    out[:, 0, 1] = out[:, 1, 0] = -V[:, 0, 1] / det
    return out


class Cavity(NamedTuple):
    """The posterior of f and h without one copy of each row."""

    mean: Array  # (n, 2)
    V: Array  # (n, 2, 2)
    alpha: Array  # (n, 2), of one copy
    site: Array  # (n, 2, 2), of one copy


def cavities(mean: Array, V: Array, sites: Sites, weight: Array) -> Cavity:
    """By (HET6)."""
    site = sites.lambda2 / weight[:, None, None]
    alpha = (sites.lambda1 - times(sites.lambda2, mean)) / weight[:, None]
    # Not by the inverse of V, which is singular where h has no features: V (1 - site V)^-1.
    left = np.eye(2) - site @ V
    det = left[:, 0, 0] * left[:, 1, 1] - left[:, 0, 1] * left[:, 1, 0]
    adjugate = np.stack([left[:, 1, 1], -left[:, 0, 1], -left[:, 1, 0], left[:, 0, 0]], axis=1).reshape(-1, 2, 2)
    V_c = V @ (adjugate / det[:, None, None])
    V_c = 0.5 * (V_c + V_c.transpose(0, 2, 1))
    proper = (det > 0.0) & (V_c[:, 0, 0] >= 0.0) & (V_c[:, 1, 1] >= 0.0)
    if not (proper & (V_c[:, 0, 0] * V_c[:, 1, 1] >= V_c[:, 0, 1] ** 2 * (1.0 - 1e-9))).all():
        raise NumericalError("A cavity of a row has no distribution.")
    return Cavity(mean - times(V_c, alpha), V_c, alpha, site)


def match_moments(data: PairRows, p: PairGaussian, sites: Sites, likelihood: Likelihood, sigma: float) -> PairUpdate:
    """The sites that expectation propagation wants, by (HET4) to (HET6)."""
    c = cavities(p.mean, p.V, sites, data.weight)
    if (c.V[:, 1, 1] > WIDEST * data.prior).any():
        raise NumericalError("The noise scale of a row is known worse than before the data.")
    V_d = c.V.copy()
    V_d[:, 1, 1] += data.d[:, 1]
    found = [tilted_once(likelihood, sigma, *args) for args in by_kind(data.rows, c.mean, V_d, data.d[:, 0])]
    log_Z, mean, C = (np.concatenate(part) for part in zip(*found, strict=True))
    inv = inverse(V_d)
    D1, D2 = times(inv, mean - c.mean), inv @ (C - V_d) @ inv
    both: Any = np.linalg.inv(np.eye(2) + D2 @ c.V)
    lambda2: Any = -both @ D2
    lambda1 = times(both, D1 - times(D2, c.mean))
    det = np.linalg.slogdet(np.eye(2) + c.site @ c.V)[1]
    D = data.weight * (log_Z + 0.5 * det + 0.5 * np.einsum("ni,ni->n", c.alpha, times(c.V, c.alpha)))
    weight = data.weight[:, None]
    return PairUpdate(Sites(weight * lambda1, weight[:, None] * 0.5 * (lambda2 + lambda2.transpose(0, 2, 1))), D)


def match_slopes(end: PairEnd, likelihood: Likelihood, sigma: float, shape: bool) -> PairSlopes:
    """By (HET7), of a cavity with the second derivatives D2 of (HET5) from the site of a copy."""
    data, weight = end.data, end.data.weight
    c = cavities(end.p.mean, end.p.V, end.sites, weight)
    D2 = -np.linalg.inv(np.eye(2) + c.site @ c.V) @ c.site
    e = np.zeros((0, len(weight)))
    if shape:
        V = c.V.copy()
        V[:, 1, 1] += data.d[:, 1]
        found = [noise_slopes(likelihood, sigma, *args)[:-1] for args in by_kind(data.rows, c.mean, V, data.d[:, 0])]
        e = weight * np.concatenate(found, axis=1)
    return PairSlopes(0.5 * weight[:, None] * (c.alpha**2 + np.einsum("nii->ni", D2)), e)


def _expected(data: PairRows, p: PairGaussian, likelihood: Likelihood, sigma: float, shape: bool) -> list[ExpectedPair]:
    V = p.V + np.eye(2) * data.d[:, None, :]
    return [expected_pair(likelihood, sigma, *args, noise=shape) for args in by_kind(data.rows, p.mean, V)]


def _sites(data: PairRows, mean: Array, slope: Array, bend: Array) -> Sites:
    """With the slope and the curvature of weighted rows at the mean."""
    lambda2 = -data.weight[:, None, None] * bend
    return Sites(data.weight[:, None] * slope + times(lambda2, mean), lambda2)


def expect(data: PairRows, p: PairGaussian, sites: Sites, likelihood: Likelihood, sigma: float) -> PairUpdate:
    """Natural-gradient targets (HET10), and D of the bound at the sites at hand (HET11)."""
    found = _expected(data, p, likelihood, sigma, False)
    value, slope, bend = (np.concatenate([each[i] for each in found]) for i in range(3))
    D = data.weight * value + 0.5 * np.einsum("nij,nij->n", sites.lambda2, p.V)
    return PairUpdate(_sites(data, p.mean, slope, bend), D)


def expected_slopes(end: PairEnd, likelihood: Likelihood, sigma: float, shape: bool) -> PairSlopes:
    """``g_d = -diag(Lambda) / 2``, and means of the slopes in a shape."""
    found = [each.noise[:-1] for each in _expected(end.data, end.p, likelihood, sigma, shape)] if shape else []
    e = end.data.weight * np.concatenate(found, axis=1) if shape else np.zeros((0, len(end.data.weight)))
    return PairSlopes(-0.5 * np.einsum("nii->ni", end.sites.lambda2), e)


def touch(data: PairRows, p: PairGaussian, sites: Sites, likelihood: Likelihood, sigma: float) -> PairUpdate:
    """Newton's targets: the slope and the curvature of the log likelihood at the mean; D is its value (HET14)."""
    found = [point_pair(likelihood, sigma, *args) for args in by_kind(data.rows, p.mean)]
    value, slope, bend = (np.concatenate(part) for part in zip(*found, strict=True))
    return PairUpdate(_sites(data, p.mean, slope, bend), data.weight * value)


def touching_slopes(end: PairEnd, likelihood: Likelihood, sigma: float, shape: bool) -> PairSlopes:
    """By (HET15)."""
    data, mean, V = end.data, end.p.mean, end.p.V
    found = [third_pair(likelihood, sigma, *args) for args in by_kind(data.rows, mean, V)]
    u, n = 0.5 * data.weight[:, None] * np.concatenate(found), len(data.weight)
    e, e_m = np.zeros((0, n)), np.zeros((0, n, 2))
    if shape:
        in_shape = [point_in_shape(likelihood, sigma, *args) for args in by_kind(data.rows, mean)]
        value, slope, bend = (np.concatenate(part) for part in zip(*in_shape, strict=True))
        e = (data.weight * (value + 0.5 * np.einsum("nij,nij->n", V, bend)))[None]
        e_m = (data.weight[:, None] * slope)[None]
    return PairSlopes(np.zeros_like(mean), e, (u, e_m))


RULES: dict[str, PairRule] = {
    "ep": PairRule(match_moments, match_slopes, view=CompiledMoments.of),
    "elbo": PairRule(expect, expected_slopes, "bound", CompiledMoments.of),
    "laplace": PairRule(touch, touching_slopes, "joint"),
}
