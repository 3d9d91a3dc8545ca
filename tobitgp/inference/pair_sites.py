"""The fixed point for rows that inform two latents each, f and h = log of the noise scale: (HET3) to (HET7).

Sites are Gaussian in both, ``exp(lambda1'u - u' Lambda2 u / 2)`` with full 2 x 2 precisions, which may be indefinite: a
large residual indicates that f is wrong or that the noise is wide. Along the axes of its precision, a row is equivalent
to two rows that inform one sum of features each, so that all else is as with one latent.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal, NamedTuple

import numpy as np

from tobitgp.data.arrays import KindRows
from tobitgp.errors import NumericalError, SpecError
from tobitgp.inference.feature_layout import Layout, block_features, block_slopes, lay_out, place_columns
from tobitgp.inference.feature_posterior import FeatureWeights
from tobitgp.inference.fixed_point import slack
from tobitgp.inference.method import Method
from tobitgp.inference.partitioned import RowPartition, Sites
from tobitgp.likelihoods.row_terms import Likelihood
from tobitgp.likelihoods.two_latents import expected_pair
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
        """Sites that are flat in f, with the information of rows about h before anything is known."""
        return start_sites(self.rows, np.zeros((2, len(self.d))))


def start_sites(rows: Sequence[KindRows], of_f: Array) -> Sites:
    """Sites from those of f, natural parameters (2, n), and the information of rows about h."""
    told = np.concatenate([r.weight * (EXACT if r.kind == "exact" else CENSORED) for r in rows])
    lambda2 = np.zeros((len(told), 2, 2))
    lambda2[:, 0, 0], lambda2[:, 1, 1] = of_f[1], told
    return Sites(np.column_stack([of_f[0], np.zeros(len(told))]), lambda2)


class PairUpdate(NamedTuple):
    """Sites that match the tilted moments, and the evidence part D (n,) of each row."""

    sites: Sites
    D: Array


class PairSlopes(NamedTuple):
    """Derivatives of the evidence at a fixed point, but for those by which it moves with alpha."""

    g_d: Array  # (n, 2), in the residual variances
    e: Array  # (K, n), in the noise parameters but log sigma
    # Laplace's u (n, 2), the derivative of the log-determinant in the mode, and what its moves add to e, (K, n, 2).
    implicit: tuple[Array, Array] | None = None


@dataclass(frozen=True, slots=True)
class PairRule:
    """How a method updates rows that inform both latents, and their derivatives."""

    update: Callable[[PairRows, PairGaussian, Sites, Likelihood, float], PairUpdate]
    slopes: Callable[[PairEnd, Likelihood, float, bool], PairSlopes]
    ascends: Literal["joint", "bound"] | None = None  # as `Traits`
    view: Callable[[Likelihood, Method], Likelihood] = lambda likelihood, method: likelihood

    def merit(self, p: PairGaussian, D: Array) -> float:
        """What no step may lose."""
        if self.ascends is None:
            return -np.inf
        joint = float(D.sum()) - 0.5 * p.q.quadratic
        return joint - 0.5 * p.q.log_det if self.ascends == "bound" else joint


def times(A: Array, x: Array) -> Array:
    """Matrices (n, 2, 2) times vectors (n, 2)."""
    return np.einsum("nij,nj->ni", A, x)


def by_kind(rows: Sequence[KindRows], *arrays: Array) -> list[tuple[Any, ...]]:
    """Rows of each kind with their share of arrays (n, ...)."""
    spans = [slice(a, b) for a, b in pairwise(np.cumsum([0, *map(len, rows)]).tolist())]
    return [(r, *(array[span] for array in arrays)) for r, span in zip(rows, spans, strict=True) if len(r)]


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
        found = [expected_pair(likelihood, sigma, *args).value for args in by_kind(self.data.rows, self.p.mean, V)]
        expected = float(self.data.weight @ np.concatenate(found))
        return expected - 0.5 * (self.p.q.quadratic + self.p.q.log_det - self.effective)


NEAR = 1e-4  # residual at which what ascends may end where rounding lets it rise no further
STEP, SHORTEN, SHORTEST, LENGTHEN = 0.5, 0.6, 0.05, 1.15
REGULAR = 0.1  # residual below which the past tells of the next steps
TRIES = 20
STALLED, GAIN = 20, 0.8  # sweeps in which the residual must fall to this share of its least


def iterate(
    data: PairRows,
    sites: Sites,
    rule: PairRule,
    likelihood: Likelihood,
    sigma: float,
    *,
    tol: float,
    most: int,
    floor: bool = False,
) -> PairEnd:
    """Damped and accelerated steps; one is shortened if it leaves no posterior, a row without cavity, or less merit."""
    rho, last, least, earlier = STEP, np.inf, np.inf, [np.inf] * STALLED
    p, found = _visit(data, sites, rule, likelihood, sigma)
    unit = np.sqrt(np.maximum(np.einsum("nii->ni", p.V), 1e-12))
    history: History | None = None
    for iteration in range(1, most + 1):
        wanted = floored(found.sites, p.mean) if floor else found.sites
        step = Sites(wanted.lambda1 - sites.lambda1, wanted.lambda2 - sites.lambda2)
        gap, merit = residual(step, p), rule.merit(p, found.D)
        here = PairEnd(data, p, sites, float(found.D.sum()), iteration, gap, gap < tol)
        stalled = min(gap, least) > GAIN * earlier[-STALLED]
        if gap < tol or iteration == most or stalled:
            return here
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
            with suppress(NumericalError):
                there, then = _visit(data, trial, rule, likelihood, sigma)
                if rule.merit(there, then.D) >= merit - slack(merit):
                    break
            rho *= SHORTEN
            history, trial = None, sites.plus(step, rho)
        else:
            if rule.ascends is None:
                raise NumericalError("The sites of the rows leave no posterior.")
            return replace(here, converged=gap < NEAR)
        p, found, sites = there, then, trial
    raise AssertionError("unreachable")


def _visit(
    data: PairRows, sites: Sites, rule: PairRule, likelihood: Likelihood, sigma: float
) -> tuple[PairGaussian, PairUpdate]:
    p = data.posterior(sites)
    try:
        return p, rule.update(data, p, sites, likelihood, sigma)
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


def gradient(end: PairEnd, rule: PairRule, likelihood: Likelihood, sigma: float, extra: int) -> Array:
    """Derivatives (k,) of the log evidence at a fixed point, (HET2), (HET7); ``extra`` noise parameters are free."""
    data, p, L2, w = end.data, end.p, end.sites.lambda2, end.p.q.w
    alpha = end.sites.lambda1 - times(L2, p.mean)
    smooth = [p.q.factor.smooth(A, whitened) for A, whitened in zip(data.A, p.whitened, strict=True)]
    s = rule.slopes(end, likelihood, sigma, extra > 0)
    moves, e, by_noise = [(alpha, w)], alpha, s.e.sum(axis=1)
    if s.implicit is not None:
        u, e_m = s.implicit
        q = p.q.factor.solve(data.A[0].adjoint(u[:, 0]) + data.A[1].adjoint(u[:, 1]))
        moved = np.column_stack([A.times(q) for A in data.A])
        back = u - times(L2, moved)
        moves, e, by_noise = (
            [*moves, (alpha, q), (back, w)],
            alpha + back,
            by_noise + np.einsum("jni,ni->j", e_m, moved),
        )
    of_latent = []
    for k in (0, 1):
        G = _combined(smooth[0], smooth[1], -L2[:, k, :1], -L2[:, k, 1:])
        for a, b in moves:
            data.A[k].add_slope(G, a[:, k], b)
        of_latent.append(list(block_slopes(data.layout, data.inputs, data.blocks, G)))
    out = []
    for t, (block, at, part) in enumerate(zip(data.blocks, data.inputs, data.parts, strict=True)):
        k = int(t in data.noise)
        out.append(block.finish(block.backward(at.X, part, of_latent[k][t], s.g_d[:, k])))
    scales = [r.scales[:, 1:] for r in data.rows if r.scales is not None]
    if scales:
        out.append(np.concatenate(scales).T @ e[:, 1])
    return np.concatenate([*out, by_noise, [e[:, 1].sum()]])


def _combined(a: Slope, b: Slope, by_a: Array, by_b: Array) -> Slope:
    """Multiples, (n, 1) each, of what is held of the same rows."""
    own = None if a.own is None or b.own is None else by_a * a.own + by_b * b.own
    return Slope(by_a * a.common + by_b * b.common, own)
