"""Fits without noise: exact rows are values of f, censored rows say beyond which limit or in which interval it is.

Exact rows condition the prior (kriging), and expectation propagation then takes the steps of the others under what is
left of it: (NF1) to (NF6) of the theory pages. Rows are met once for each place, a set of inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.linalg import qr, solve_triangular

from tobitgp.data.arrays import KindRows, RowKind
from tobitgp.engines import LocalPartitions
from tobitgp.errors import NumericalError
from tobitgp.inference import site_updates
from tobitgp.inference.evidence_ascent import EPFailure, EvidenceMaximum, climb
from tobitgp.inference.feature_layout import join_features, lay_out
from tobitgp.inference.feature_posterior import FeaturePosterior, Settled
from tobitgp.inference.fixed_point import find_posterior
from tobitgp.inference.method import Method
from tobitgp.inference.multistart import LOOSE
from tobitgp.inference.partitioned import PartitionedRows, RowPartition, Sites, examples
from tobitgp.inference.search import CAP, Search, near_enough, warn
from tobitgp.likelihoods.censoring_noise import Spread
from tobitgp.likelihoods.families import StepLikelihood
from tobitgp.likelihoods.row_terms import Likelihood
from tobitgp.numerics.singular_covariance import SingularCovariance
from tobitgp.priors.kernel_block import KernelBlock, KernelFeatures, all_inputs
from tobitgp.priors.prior import DenseBlock, Prior
from tobitgp.priors.structure import Block, BlockAt, Inputs, distinct, split_theta
from tobitgp.typing import Array, BoolArray, IntArray

MOST_PLACES = 1000
FINEST = 1e-12  # of the variance of a process: what its features may leave
SHORTER = (0.3, 0.1, 0.03, 0.01)  # times usual length-scales
LEAST_SD = 1e-8  # of a row given the others before it, in sds of its prior: the digits of an orthogonal factor
FAR = 10.0  # such sds
CLEAR = 100.0  # times what features leave, that values of f vary in any direction
_HALF_LOG_2PI = 0.5 * float(np.log(2.0 * np.pi))
_REMEDY = "Use a rougher kernel such as matern52, shorter length-scales, or fix sigma above 0"
_SINGULAR = (
    "The covariance matrix of the distinct inputs is singular to working precision, so that values without noise have "
    f"no density. {_REMEDY}"
)
_NO_MAXIMUM = (
    "Without noise the evidence of rows as smooth as the kernel rises until the covariance matrix of their inputs is "
    f"singular to working precision, where the search ended. {_REMEDY}."
)
_IMPOSSIBLE = f"The rows that are censored are impossible given the others. {_REMEDY}"
_NO_END = "Expectation propagation does not converge without noise. Fix sigma above 0"


class Places(NamedTuple):
    """Distinct inputs of rows, and what these together say of f there: its value, or between which ends it lies."""

    of_row: IntArray  # (n,)
    first: IntArray  # (N,), a row of each
    lower: Array  # (N,)
    upper: Array  # (N,)
    known: BoolArray  # (N,), whether f is

    @classmethod
    def of(cls, rows: Sequence[KindRows], inputs: Sequence[Inputs]) -> Places:
        """Of rows with the inputs of all blocks, in the same order."""
        lower, upper = (np.concatenate([getattr(kind, end) for kind in rows]) for end in ("lower", "upper"))
        at, of_row = distinct(Inputs(np.hstack([block.X for block in inputs])))
        N = len(at.X)
        first = np.full(N, len(of_row))
        np.minimum.at(first, of_row, np.arange(len(of_row)))
        ends = np.full(N, -np.inf), np.full(N, np.inf)
        np.maximum.at(ends[0], of_row, lower)
        np.minimum.at(ends[1], of_row, upper)
        known = np.bincount(of_row, weights=lower == upper, minlength=N) > 0.0
        return cls(of_row, first, *ends, known)

    def contradictions(self) -> list[IntArray]:
        """Rows of each place where no f, or none but a limit, agrees with all of them."""
        none = (self.lower > self.upper) | ((self.lower == self.upper) & ~self.known)
        return [np.flatnonzero(self.of_row == place) for place in np.flatnonzero(none)]


class Kriging(NamedTuple):
    """Weights ``w ~ N(0, I)`` given exact values of f: ``w = w0 + N u`` with ``u ~ N(0, I)``, (NF2)."""

    w0: Array  # (M,)
    N: Array  # (M, M - n), orthonormal
    log_density: float  # of the values
    z: Array  # (n,), ``R^-T y`` with ``A = R' Q'``
    inverse: Array  # (n, n), of R
    Q: Array  # (M, n), orthonormal

    @classmethod
    def on(cls, A: Array, d: Array, y: Array) -> Kriging:
        """On values y (n,) of ``A w``, where features leave variances d (n,)."""
        n, M = A.shape
        if not n:
            return cls(np.zeros(M), np.eye(M), 0.0, np.zeros(0), np.zeros((0, 0)), np.zeros((M, 0)))
        if n > M:
            raise NumericalError(_SINGULAR)
        Q, R = (np.asarray(part, dtype=np.float64) for part in qr(A.T, check_finite=False))
        size = np.abs(R.diagonal())
        if (size < LEAST_SD * _norms(A)).any() or not np.isfinite(R).all():
            raise NumericalError(_SINGULAR)
        inverse: Array = np.asarray(solve_triangular(R[:n], np.eye(n)), dtype=np.float64)
        # The least eigenvalue of A A' is more than this.
        if CLEAR * d.max() * np.square(inverse).sum() > 1.0:
            raise NumericalError(_SINGULAR)
        z = inverse.T @ y
        log_density = -0.5 * float(z @ z) - float(np.log(size).sum()) - n * _HALF_LOG_2PI
        return cls(Q[:, :n] @ z, Q[:, n:], log_density, z, inverse, Q[:, :n])


class Stepped(NamedTuple):
    """The posterior of u from places where f lies between ends, each in units of its sd given the exact ones."""

    at: BoolArray  # (N,), which places
    X: Array  # (m, k), their loadings
    unit: Array  # (m,)
    mean: Array  # (m,), of f given the exact ones
    posterior: FeaturePosterior
    sites: Sites  # of f / unit, about the mean

    @property
    def of_f(self) -> Sites:
        """Their sites."""
        precision = self.sites.lambda2 / self.unit**2
        return Sites(self.sites.lambda1 / self.unit + precision * self.mean, precision)


class Correlated(NamedTuple):
    """Places as the evidence depends on their covariance K: ``dF/dK = (alpha alpha' - R) / 2``, (NF5)."""

    alpha: Array  # (N,)
    R: Array  # (N, N), ``(K + Lambda^-1)^-1``


@dataclass(frozen=True, slots=True)
class NoiseFreeEnd:
    """Results of rows without noise, in addition to the posterior, kept while a fit lasts."""

    effective: float  # number of parameters
    nats_left: ClassVar = 0.0

    def bound(self, likelihood: Likelihood, sigma: float) -> float:
        """No normal distribution has a finite divergence, or stays on one side of a limit."""
        return -np.inf


@dataclass(frozen=True, slots=True)
class Solved:
    """The fixed point at given parameters."""

    places: Places
    A: Array  # (N, M)
    exact: Kriging
    stepped: Stepped | None  # of the places where f is left to vary

    @classmethod
    def of(cls, part: RowPartition, blocks: Sequence[BlockAt], method: Method, *, warm: bool) -> Solved:
        """From the sites of the rows where ``warm``."""
        places = Places.of(part.rows, part.inputs)
        _, loadings, d = join_features(lay_out(blocks), blocks, [at.rows(places.first) for at in part.inputs])
        A, known = loadings.common, places.known
        exact = Kriging.on(A[known], d[known], places.lower[known])
        if known.all():
            return cls(places, A, exact, None)
        at = ~known
        at[at] = _undecided(A[at], d[at], exact, places.lower[at], places.upper[at])
        if not at.any():
            return cls(places, A, exact, None)
        X, mean = A[at] @ exact.N, A[at] @ exact.w0
        unit = _norms(X)
        X /= unit[:, None]
        lower, upper = ((end[at] - mean) / unit for end in (places.lower, places.upper))
        two_sided = np.isfinite(lower) & np.isfinite(upper)
        order = np.argsort(two_sided, kind="stable")
        rows = tuple(_kind(lower[some], upper[some]) for some in (~two_sided, two_sided) if some.any())
        start = None
        if warm and part.sites is not None:
            f = part.sites.lambda1[places.first[at]], part.sites.lambda2[places.first[at]]
            start = Sites((unit * (f[0] - f[1] * mean))[order], (unit**2 * f[1])[order])
        own = RowPartition(rows, (Inputs(X[order]),), start)
        data = PartitionedRows(LocalPartitions([own]), examples(rows), len(X), float(len(X)), start is not None)
        found = find_posterior(data, [DenseBlock(X[order])], np.zeros(1), method, StepLikelihood())
        (_, sites) = found.rows.collect(site_updates.final_sites)[0]
        back = np.argsort(order)
        return cls(places, A, exact, Stepped(at, X, unit, mean, found, Sites(sites[0][back], sites[1][back])))

    @property
    def weights(self) -> tuple[Array, SingularCovariance]:
        """Mean (M,) and covariance of the weights, (NF4)."""
        if self.stepped is None:
            return self.exact.w0, SingularCovariance.of(self.exact.N.T)
        found = self.stepped.posterior
        root = found.factor.whiten(np.asfortranarray(self.exact.N.T))
        return self.exact.w0 + self.exact.N @ found.w, SingularCovariance.of(root)

    @property
    def sites(self) -> Sites:
        """Sites of the rows: each row has the site of its place, with infinite precision where f is known."""
        known = self.places.known
        lambda1, lambda2 = np.where(known, self.places.lower, 0.0), np.where(known, np.inf, 0.0)
        if self.stepped is not None:
            f, at = self.stepped.of_f, self.stepped.at
            lambda1[at], lambda2[at] = f.lambda1, f.lambda2
        return Sites(lambda1[self.places.of_row], lambda2[self.places.of_row])

    @property
    def effective(self) -> float:
        """``tr(V Lambda)``, each value of f as one."""
        fixed = float(self.places.known.sum())
        if self.stepped is None:
            return fixed
        X, sites = self.stepped.X, self.stepped.sites
        half = self.stepped.posterior.factor.whiten(np.asfortranarray(X.T))
        return fixed + float(sites.lambda2 @ np.square(half).sum(axis=0))

    @property
    def cavities(self) -> tuple[Array, Array]:
        """Mean and variance (N,) of f in each place given all others, (NF6)."""
        (alpha, R), known = self.correlated, self.places.known
        mean, variance = self.A @ self.exact.w0, np.square(_norms(self.A @ self.exact.N))
        variance[known] = 1.0 / R.diagonal()[known]
        mean[known] = self.places.lower[known] - alpha[known] * variance[known]
        if self.stepped is not None:
            at, X, unit, centre, found, sites = self.stepped
            v = np.square(found.factor.whiten(np.asfortranarray(X.T))).sum(axis=0)
            variance[at] = unit**2 * v / (1.0 - sites.lambda2 * v)
            mean[at] = centre + unit * (X @ found.w) - variance[at] * alpha[at]
        return mean, variance

    @property
    def correlated(self) -> Correlated:
        """Alpha and R of all places."""
        known, (_, _, _, z, inverse, Q) = self.places.known, self.exact
        alpha, out = np.zeros(len(known)), np.zeros((len(known), len(known)))
        alpha_known, R_known = inverse @ z, inverse @ inverse.T
        if self.stepped is not None:
            at, X, unit, _, found, sites = self.stepped
            half = np.sqrt(np.maximum(sites.lambda2, 0.0))
            U = half[:, None] * X
            W = half[:, None] * np.linalg.solve(np.eye(len(X)) + U @ U.T, np.diag(half)) / np.outer(unit, unit)
            alpha[at] = (sites.lambda1 - sites.lambda2 * (X @ found.w)) / unit
            G = self.A[at] @ Q @ inverse.T  # K_CE K_EE^-1
            out[np.ix_(at, at)] = W
            out[np.ix_(known, at)] = -G.T @ W
            out[np.ix_(at, known)] = -W @ G
            alpha_known, R_known = alpha_known - G.T @ alpha[at], R_known + G.T @ W @ G
        alpha[known], out[np.ix_(known, known)] = alpha_known, R_known
        return Correlated(alpha, out)


def _norms(A: Array) -> Array:
    return np.asarray(np.sqrt(np.square(A).sum(axis=1)))


def _undecided(A: Array, d: Array, exact: Kriging, lower: Array, upper: Array) -> BoolArray:
    """Which of some places, (m,), the exact values leave undetermined; an error if they contradict the limits there."""
    mean, least = A @ exact.w0, np.maximum(LEAST_SD * _norms(A), np.sqrt(CLEAR * d))
    decided = _norms(A @ exact.N) < least
    inside = (lower < mean - FAR * least) & (mean + FAR * least < upper)
    if (decided & ~inside).any():
        raise NumericalError(_IMPOSSIBLE)
    return ~decided


def _kind(lower: Array, upper: Array) -> KindRows:
    """Rows between ends of which all are finite, or one of each row."""
    left = np.isneginf(lower)
    limit, one_sided = np.where(left, upper, lower), not np.isfinite(upper - lower).any()
    sign = np.where(left, -1.0, 1.0) if one_sided else np.zeros(len(lower))
    kind: RowKind = "one-sided" if one_sided else "interval"
    return KindRows(kind, lower, upper, limit, sign, np.ones(len(lower)), upper - lower)


@dataclass(frozen=True, slots=True)
class NoiseFree:
    """The fixed point without noise, for a search."""

    blocks: Sequence[Block]
    from_flat: ClassVar[bool] = False

    def settle(
        self, data: PartitionedRows, theta: Array, method: Method, likelihood: Likelihood, slopes: bool, windows: bool
    ) -> Settled:
        """Exact rows first, and the sites of the others under what these leave."""
        assert isinstance(data.partitions, LocalPartitions)
        part: RowPartition = data.partitions.items[0]
        parts = split_theta(self.blocks, theta)
        at = tuple(block.at(own) for block, own in zip(self.blocks, parts, strict=True))
        found = Solved.of(part, at, method, warm=data.warm)
        evidence, iterations, residual, converged = found.exact.log_density, 0, 0.0, True
        if found.stepped is not None:
            p = found.stepped.posterior
            evidence += p.evidence
            iterations, residual, converged = p.iterations, p.residual, p.converged
        if not np.isfinite(evidence):
            raise NumericalError(_IMPOSSIBLE)
        gradient = None
        if slopes:
            gradient = _gradient(found, at, [inputs.rows(found.places.first) for inputs in part.inputs], len(theta))
        there = data.starting(LocalPartitions([RowPartition(part.rows, part.inputs, found.sites, part.before)]))
        ended = evidence, iterations, residual, converged
        made = partial(_completed, there, theta, at, method, likelihood, found, ended)
        return Settled(theta, *ended, found.A.shape[1], gradient, there, made)


def _gradient(found: Solved, blocks: Sequence[BlockAt], inputs: Sequence[Inputs], k: int) -> Array:
    """By (NF5); zero in the noise."""
    alpha, R = found.correlated
    G, out = 0.5 * (np.outer(alpha, alpha) - R), []
    for block, at in zip(blocks, inputs, strict=True):
        if isinstance(block, KernelFeatures):
            K, own = block.covariance.value(at.X, at.X, block.parameters), block.variance * G
            slopes = block.covariance.contract(at.X, at.X, block.parameters, K, own)
            out += [2.0 * float(np.einsum("nm,nm->", own, K)), *slopes]
    return np.concatenate([out, np.zeros(k - len(out))])


def _completed(
    data: PartitionedRows,
    theta: Array,
    blocks: tuple[BlockAt, ...],
    method: Method,
    likelihood: Likelihood,
    found: Solved,
    ended: tuple[float, int, float, bool],
) -> FeaturePosterior:
    layout = lay_out(blocks)
    setting = site_updates.Setting(blocks, layout, method, Spread(likelihood), 0.0)
    states = data.partitions.map(site_updates.arranged, setting, site_updates.NO_ROOM, True)
    end = NoiseFreeEnd(found.effective)
    w, factor = found.weights
    return FeaturePosterior(theta, blocks, layout, w, factor, *ended, states=states, pairs=end)


class NoiseFreeSearch(Search):
    """The stages of a fit without noise."""

    def run(self) -> EvidenceMaximum:
        """The maximum, by expectation propagation alone: no other method has a finite objective."""
        theta = np.where(np.isnan(self.parameters.start), self.parameters.prior_mean, self.parameters.start)
        try:
            maximum = self._find(theta)
        except EPFailure:
            raise NumericalError(_NO_END) from None
        except NumericalError as error:
            raise NumericalError(_IMPOSSIBLE if str(error) == _IMPOSSIBLE else _SINGULAR) from None
        if not near_enough(maximum):
            warn(_NO_MAXIMUM)
        return maximum

    def _search(self, theta: Array) -> tuple[Array, Array | None]:
        """Best of several starts; where the usual length-scales are too long for any, of shorter ones."""
        with suppress(NumericalError):
            return super()._search(theta)
        parameters = self.parameters
        scales = np.isnan(parameters.start) & (np.array(parameters.roles) == "lengthscale")
        for shorter in SHORTER:
            start = theta + np.log(shorter) * scales
            objective = self._objective("search", self.data, self.prior, start, np.zeros(self.data.n), CAP, LOOSE)
            with suppress(NumericalError):
                first = parameters.clip(start[parameters.free])
                free = climb(objective, first, tol=0.1, max_iter=self.settings.max_iter)
                self._log("search", objective, objective.value(free))
                return objective.theta(free), None
        raise NumericalError(_SINGULAR)

    def chosen(self, prior: Prior, theta: Array, precision: Array, data: PartitionedRows, cap: int) -> list[Block]:
        """A feature for each distinct input."""
        return prior.with_linear(
            [KernelBlock(gp.inputs, gp.covariance, all_inputs(gp.inputs.X), residual=FINEST) for gp in prior.gps]
        )

    def kept(self, blocks: Sequence[Block]) -> NoiseFree:
        """What finds the fixed point."""
        return NoiseFree(blocks)

    def _on_some_rows(self, stage: Callable[..., Any], *given: Any) -> Any:
        """A stage on a subset of the rows, by the same method."""
        return stage(*given)

    def _screen(self, maximum: EvidenceMaximum) -> EvidenceMaximum:
        """The maximum: a screening of residuals has no noise to compare them with."""
        return maximum
