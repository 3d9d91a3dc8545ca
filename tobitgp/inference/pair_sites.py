"""Expectation propagation on rows that tell of two latents each, f and h = log of the noise scale: (HET3) to (HET7).

Sites are Gaussian in both, ``exp(lambda1'u - u' Lambda2 u / 2)`` with full 2 x 2 precisions, which may be indefinite: a
large residual says that f is off or that the noise is wide. Along the axes of a precision a row is two rows that tell
of one sum of features each, so that all else is as with one latent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from tobitgp.data.arrays import KindRows
from tobitgp.errors import NumericalError, SpecError
from tobitgp.inference.feature_layout import Layout, block_features, block_slopes, lay_out, place_columns
from tobitgp.inference.feature_posterior import FeatureWeights
from tobitgp.inference.partitioned import RowPartition, Sites
from tobitgp.likelihoods.row_terms import Likelihood
from tobitgp.likelihoods.two_latents import expected_pair, noise_slopes, tilted_once
from tobitgp.numerics.arrow import Loadings, Slope, factorise, identity, inner_products
from tobitgp.numerics.linear_algebra import History, mixed, normal_equations, remember, weights
from tobitgp.priors.structure import BlockAt, Features, Inputs
from tobitgp.typing import Array

# Negative precisions leave h wider than its prior; so many times its variance is a step astray, with nodes without end.
WIDEST = 4.0
MOST_SD = 3.0  # of log sigma before the data: noise that differs by factors of thousands
EXACT, CENSORED = 2.0, 0.5  # precision of h that a row's site starts with: Fisher's information of an exact row


class PairGaussian(NamedTuple):
    """Posterior of the weights, and of f and h in the rows."""

    q: FeatureWeights
    mean: Array  # (n, 2)
    V: Array  # (n, 2, 2), in what the features span
    whitened: tuple[Slope, Slope]


@dataclass(frozen=True, slots=True)
class PairRows:
    """Rows with their features at given parameters."""

    rows: tuple[KindRows, ...]  # of one kind each
    inputs: tuple[Inputs, ...]
    blocks: tuple[BlockAt, ...]
    layout: Layout
    noise: frozenset[int]  # blocks of h
    parts: tuple[Features, ...]  # of each block
    A: tuple[Loadings, Loadings]  # of f and of h
    d: Array  # (n, 2), residual variances
    weight: Array  # (n,)
    prior: Array  # (n,), variance of h before the data, but for its residual

    @classmethod
    def of(
        cls, part: RowPartition, blocks: tuple[BlockAt, ...], noise: frozenset[int], *, windows: bool, slopes: bool
    ) -> PairRows:
        """At fixed blocks; untruncated without windows."""
        rows = part.rows if windows else tuple(replace(rows, window=None) for rows in part.rows)
        parts = tuple(block_features(b, at, slopes=slopes) for b, at in zip(blocks, part.inputs, strict=True))
        layout, n = lay_out(blocks), len(part)
        if layout.has_sparse:
            raise SpecError("A process in sigma= is not supported with crossed groupings of so many levels.")
        d = np.zeros((n, 2))
        for t, own in enumerate(parts):
            d[:, int(t in noise)] += own.d
        weight = np.concatenate([r.weight for r in rows])
        both = [
            place_columns(layout, part.inputs, [p.A * ((t in noise) == of_h) for t, p in enumerate(parts)])
            for of_h in (False, True)
        ]
        of_h = [np.einsum("nm,nm->n", own.A, own.A) for t, own in enumerate(parts) if t in noise]
        A, prior = (both[0], both[1]), np.sum(of_h, axis=0)
        if prior.max(initial=0.0) > MOST_SD**2:
            raise NumericalError(f"Log sigma has a standard deviation above {MOST_SD:g}.")
        return cls(rows, part.inputs, blocks, layout, noise, parts, A, d, weight, prior)

    def along(self, f: Array, h: Array) -> Loadings:
        """Loadings of ``f_n f + h_n h``; f, h (n,)."""
        sides = f[:, None], h[:, None]
        return place_columns(
            self.layout, self.inputs, [p.A * sides[int(t in self.noise)] for t, p in enumerate(self.parts)]
        )

    def posterior(self, sites: Sites) -> PairGaussian:
        """By (HET3)."""
        if not (np.isfinite(sites.lambda1).all() and np.isfinite(sites.lambda2).all()):
            raise NumericalError("The sites of the rows are not finite.")
        values, axes = np.linalg.eigh(sites.lambda2)
        grams = [self.along(*axes[:, :, k].T).gram(values[:, k]) for k in (0, 1)]
        unit = identity(self.layout.p, self.layout.m, self.layout.size)
        factor = factorise(tuple(sum(same) for same in zip(unit, *grams, strict=True)))
        w = factor.solve(self.A[0].adjoint(sites.lambda1[:, 0]) + self.A[1].adjoint(sites.lambda1[:, 1]))
        V = np.empty((len(self.d), 2, 2))
        (V[:, 0, 0], of_f), (V[:, 1, 1], of_h) = (factor.begin(A) for A in self.A)
        V[:, 0, 1] = V[:, 1, 0] = inner_products(of_f, of_h)
        return PairGaussian(FeatureWeights(w, factor), np.column_stack([A.times(w) for A in self.A]), V, (of_f, of_h))

    @property
    def start(self) -> Sites:
        """Flat in f, and what rows tell of h before anything is known."""
        return start_sites(self.rows, np.zeros((2, len(self.d))))


def start_sites(rows: Sequence[KindRows], of_f: Array) -> Sites:
    """Sites of f, natural parameters (2, n), beside what rows tell of h."""
    told = np.concatenate([r.weight * (EXACT if r.kind == "exact" else CENSORED) for r in rows])
    lambda2 = np.zeros((len(told), 2, 2))
    lambda2[:, 0, 0], lambda2[:, 1, 1] = of_f[1], told
    return Sites(np.column_stack([of_f[0], np.zeros(len(told))]), lambda2)


class PairUpdate(NamedTuple):
    """Sites that match the tilted moments, and the evidence part D (n,) of each row."""

    sites: Sites
    D: Array


def inverse(V: Array) -> Array:
    """Of symmetric matrices (n, 2, 2)."""
    det = V[:, 0, 0] * V[:, 1, 1] - V[:, 0, 1] ** 2
    out = np.empty_like(V)
    out[:, 0, 0], out[:, 1, 1] = V[:, 1, 1] / det, V[:, 0, 0] / det
    out[:, 0, 1] = out[:, 1, 0] = -V[:, 0, 1] / det
    return out


def times(A: Array, x: Array) -> Array:
    """Matrices (n, 2, 2) times vectors (n, 2)."""
    return np.einsum("nij,nj->ni", A, x)


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


def by_kind(rows: Sequence[KindRows], *arrays: Array) -> list[tuple[Any, ...]]:
    """Rows of each kind with their share of arrays (n, ...)."""
    spans = [slice(a, b) for a, b in pairwise(np.cumsum([0, *map(len, rows)]).tolist())]
    return [(r, *(array[span] for array in arrays)) for r, span in zip(rows, spans, strict=True) if len(r)]


def update(data: PairRows, p: PairGaussian, sites: Sites, likelihood: Likelihood, sigma: float) -> PairUpdate:
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


def floored(sites: Sites, mean: Array) -> Sites:
    """Sites with eigenvalues of at least 0 that keep their slope at the posterior mean."""
    values, vectors = np.linalg.eigh(sites.lambda2)
    lambda2 = (vectors * np.maximum(values, 0.0)[:, None, :]) @ vectors.transpose(0, 2, 1)
    return Sites(sites.lambda1 + times(lambda2 - sites.lambda2, mean), lambda2)


@dataclass(frozen=True, slots=True)
class PairEnd:
    """Where an iteration ended, with its rows."""

    data: PairRows
    p: PairGaussian
    sites: Sites
    D: float
    iterations: int
    residual: float
    converged: bool

    @property
    def evidence(self) -> float:
        """Log evidence, as (SIT6)."""
        return self.D - 0.5 * self.p.q.quadratic - 0.5 * self.p.q.log_det

    @property
    def nats_left(self) -> float:
        """What the features leave out, as (FEA8)."""
        told = np.maximum(np.einsum("nii->ni", self.sites.lambda2), 0.0)
        return 0.5 * float(np.sum(told * self.data.d))

    @property
    def effective(self) -> float:
        """Effective number of parameters, ``tr(V Lambda)``."""
        return float(np.sum(self.p.V * self.sites.lambda2))

    def bound(self, likelihood: Likelihood, sigma: float) -> float:
        """Lower bound of the evidence, as (SIT7)."""
        V = self.p.V + np.eye(2) * self.data.d[:, None, :]
        found = [expected_pair(likelihood, sigma, *args) for args in by_kind(self.data.rows, self.p.mean, V)]
        expected = float(self.data.weight @ np.concatenate(found))
        return expected - 0.5 * (self.p.q.quadratic + self.p.q.log_det - self.effective)


STEP, SHORTEN, SHORTEST, LENGTHEN = 0.5, 0.6, 0.05, 1.15
REGULAR = 0.1  # residual below which the past tells of the next steps
ROUGH = 1e-2  # residual to which floored sites lead near
TRIES = 20
STALLED, GAIN = 20, 0.8  # sweeps in which the residual must fall to this share of its least


def iterate(
    data: PairRows, sites: Sites, likelihood: Likelihood, sigma: float, *, tol: float, most: int, floor: bool
) -> PairEnd:
    """Damped and accelerated steps; a step after which a row has no cavity, or no posterior is left, is shortened."""
    rho, last, least, earlier = STEP, np.inf, np.inf, [np.inf] * STALLED
    p, found = _visit(data, sites, likelihood, sigma)
    unit = np.sqrt(np.maximum(np.einsum("nii->ni", p.V), 1e-12))
    history: History | None = None
    for iteration in range(1, most + 1):
        wanted = floored(found.sites, p.mean) if floor else found.sites
        step = Sites(wanted.lambda1 - sites.lambda1, wanted.lambda2 - sites.lambda2)
        gap = residual(step, p)
        stalled = min(gap, least) > GAIN * earlier[-STALLED]
        if gap < tol or iteration == most or stalled:
            return PairEnd(data, p, sites, float(found.D.sum()), iteration, gap, gap < tol)
        rho = max(SHORTEN * rho, SHORTEST) if gap > last else min(LENGTHEN * rho, 1.0)
        history = remember(history, flat(sites, unit), flat(step, unit))
        regular = gap < min(least, REGULAR) and len(history.dX) > 0
        last, least = gap, min(gap, least)
        earlier.append(least)
        if regular:
            trial = unflat(mixed(history, weights(*normal_equations(history)), 1.0), unit)
            trial = floored(trial, p.mean) if floor else trial
        else:
            history, trial = remember(None, history.point, history.step), sites.plus(step, rho)
        for _ in range(TRIES):
            try:
                p, found = _visit(data, trial, likelihood, sigma)
                break
            except NumericalError:
                rho *= SHORTEN
                history, trial = None, sites.plus(step, rho)
        else:
            raise NumericalError("The sites of the rows leave no posterior.")
        sites = trial
    raise AssertionError("unreachable")


def _visit(data: PairRows, sites: Sites, likelihood: Likelihood, sigma: float) -> tuple[PairGaussian, PairUpdate]:
    p = data.posterior(sites)
    try:
        return p, update(data, p, sites, likelihood, sigma)
    except np.linalg.LinAlgError:
        raise NumericalError("The site of a row has no end.") from None


def residual(step: Sites, p: PairGaussian) -> float:
    """Root mean square of site changes in units of the posterior's standard deviations."""
    sd = np.sqrt(np.maximum(np.einsum("nii->ni", p.V), 0.0))
    first = (step.lambda1 - times(step.lambda2, p.mean)) * sd
    second = step.lambda2 * sd[:, :, None] * sd[:, None, :]
    return float(np.sqrt((np.square(first).sum() + np.square(second).sum()) / max(len(sd), 1)))


def flat(sites: Sites, unit: Array) -> Array:
    """Natural parameters (5 n,) in such units (n, 2)."""
    L = sites.lambda2 * unit[:, :, None] * unit[:, None, :]
    return np.concatenate([(sites.lambda1 * unit).ravel(), L[:, 0, 0], L[:, 0, 1], L[:, 1, 1]])


def unflat(values: Array, unit: Array) -> Sites:
    """The sites of :func:`flat`."""
    n = len(unit)
    ff, fh, hh = values[2 * n :].reshape(3, n)
    L = np.stack([ff, fh, fh, hh], axis=1).reshape(n, 2, 2) / (unit[:, :, None] * unit[:, None, :])
    return Sites(values[: 2 * n].reshape(n, 2) / unit, L)


def gradient(end: PairEnd, likelihood: Likelihood, sigma: float, extra: int) -> Array:
    """Derivatives (k,) of the log evidence at a fixed point, (HET2) and (HET7); ``extra`` noise parameters are free."""
    data, p, sites = end.data, end.p, end.sites
    c = cavities(p.mean, p.V, sites, data.weight)
    alpha, L2 = c.alpha * data.weight[:, None], sites.lambda2
    smooth = [p.q.factor.smooth(A, whitened) for A, whitened in zip(data.A, p.whitened, strict=True)]
    # D2 of (HET5) from the site of a copy.
    D2 = -np.linalg.inv(np.eye(2) + c.site @ c.V) @ c.site
    g_d = 0.5 * data.weight[:, None] * (c.alpha**2 + np.einsum("nii->ni", D2))
    of_latent = []
    for k in (0, 1):
        G = _combined(smooth[0], smooth[1], -L2[:, k, :1], -L2[:, k, 1:])
        data.A[k].add_slope(G, alpha[:, k], p.q.w)
        of_latent.append(list(block_slopes(data.layout, data.inputs, data.blocks, G)))
    out = []
    for t, (block, at, part) in enumerate(zip(data.blocks, data.inputs, data.parts, strict=True)):
        k = int(t in data.noise)
        out.append(block.finish(block.backward(at.X, part, of_latent[k][t], g_d[:, k])))
    scales = [r.scales[:, 1:] for r in data.rows if r.scales is not None]
    if scales:
        out.append(np.concatenate(scales).T @ alpha[:, 1])
    if extra:
        V = c.V.copy()
        V[:, 1, 1] += data.d[:, 1]
        found = [noise_slopes(likelihood, sigma, *args)[:-1] for args in by_kind(data.rows, c.mean, V, data.d[:, 0])]
        out.append(np.concatenate(found, axis=1) @ data.weight)
    return np.concatenate([*out, [alpha[:, 1].sum()]])


def _combined(a: Slope, b: Slope, by_a: Array, by_b: Array) -> Slope:
    """Multiples, (n, 1) each, of what is held of the same rows."""
    own = None if a.own is None or b.own is None else by_a * a.own + by_b * b.own
    return Slope(by_a * a.common + by_b * b.common, own)
