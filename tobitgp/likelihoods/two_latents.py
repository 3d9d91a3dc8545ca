"""What a row says of f and of h, the logarithm of its noise scale, together: (HET4) of the theory pages.

Given h the likelihood is one of f alone, so that expectations over both are sums over nodes of h of what the likelihood
of one latent gives.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from tobitgp.data.arrays import KindRows
from tobitgp.distributions.standard_noise import Distribution
from tobitgp.likelihoods.censoring_noise import Spread
from tobitgp.likelihoods.row_terms import Likelihood, Terms
from tobitgp.numerics.quadrature import gauss_hermite
from tobitgp.numerics.roots import slope
from tobitgp.typing import Array, BoolArray

# The sd of h up to which Gauss and Hermite's rule of so many nodes serves rows that are not far off.
NARROW, NODES = 0.3, 12
REACH, LONGEST, STEP = 7.0, 0.45, 0.2  # of the trapezoid rule: reach and longest step in sds, longest step in h
MOST = 60.0  # sds more for rows far off
FARTHEST = 40.0  # values of h whose exponentials are told apart
LEAST = 1e-8  # variance of h below which it is as good as known
OUT = 1e5  # standardised value at which tails are compared
APART = 1e-3  # of differences, in units of the noise and of h
FAR = 3.0  # standard deviations off the mean from which a row says that its noise is wide


class Given(NamedTuple):
    """F given h at nodes of h, (n, k) but for ``variance``."""

    log_weight: Array  # (k,)
    h: Array
    mean: Array
    variance: Array  # (n,)

    @classmethod
    def of(cls, mean: Array, V: Array, rule: Rule) -> Given:
        """From the distribution of both, (n, 2) and (n, 2, 2)."""
        sd = np.sqrt(V[:, 1, 1])
        x, log_weight = rule
        along = np.divide(V[:, 0, 1], sd, out=np.zeros_like(sd), where=sd > 0.0)
        m = mean[:, :1] + along[:, None] * x
        return cls(log_weight, mean[:, 1:] + sd[:, None] * x, m, np.maximum(V[:, 0, 0] - along * along, 0.0))

    def rows(self, rows: KindRows) -> KindRows:
        """Every row once for each node, with the noise that it has there."""
        n, k = self.h.shape
        many = rows[np.repeat(np.arange(n), k)]
        h = np.clip(self.h.ravel(), -FARTHEST, FARTHEST)
        return replace(many, spread=np.exp(h) * (1.0 if many.spread is None else many.spread))

    def locations(self, d: Array | float) -> tuple[Array, Array]:
        """Means and variances (n k,) of f, with residual variances d (n,)."""
        return self.mean.ravel(), np.repeat(self.variance + d, self.h.shape[1])


Rule = tuple[Array, Array]  # standard normal nodes (k,) and log weights


def rule_for(sd: Array, more: float = 0.0, less: float = 0.0) -> Rule:
    """Nodes of h of such sds, (n,), with so many sds more above, and below where h is not narrow."""
    widest = float(sd.max(initial=0.0))
    if widest <= NARROW and not more:
        nodes, w = gauss_hermite(NODES)
        return nodes, np.log(w)
    step = min(LONGEST, STEP / max(widest, 1e-12))
    x: Array = np.arange(-REACH - less, REACH + more + step, step)
    return x, np.log(step) - 0.5 * x * x - 0.5 * np.log(2.0 * np.pi)


def rules_for(rows: KindRows, mean: Array, V: Array, d: Array, sigma: float) -> list[tuple[BoolArray, Rule]]:
    """Rows (n,) that share nodes of h, with these; far from where f is rows say that their noise is as wide."""
    sd, noise = np.sqrt(V[:, 1, 1]), rows.noise(sigma) * np.exp(mean[:, 1])
    away = np.maximum(np.maximum(rows.lower - mean[:, 0], mean[:, 0] - rows.upper), 0.0)
    away = away / np.sqrt(V[:, 0, 0] + d + np.square(noise))
    far = away > FAR
    found = [(~far, rule_for(sd[~far]))]
    if far.any():
        more = np.log(away[far].max()) / max(float(sd[far].min()), 1e-6)
        found.append((far, rule_for(sd[far], min(float(more), MOST))))
    return [(at, rule) for at, rule in found if at.any()]


class TiltedPair(NamedTuple):
    """Moments of f and h under the tilted distribution: log normaliser (n,), mean (n, 2), covariance (n, 2, 2)."""

    log_Z: Array
    mean: Array
    covariance: Array


class _Tilted(NamedTuple):
    """What the likelihood gives at nodes, (n, k) each but for ``log_Z``."""

    log_Z: Array  # (n,)
    share: Array
    d1: Array
    d2: Array


def _tilt(likelihood: Likelihood, rows: KindRows, at: Given, d: Array, sigma: float) -> _Tilted:
    found: Any = Spread(likelihood).tilted(at.rows(rows), *at.locations(d), sigma)
    log_Z, d1, d2 = (part.reshape(at.h.shape) for part in found)
    log_p = log_Z + at.log_weight
    total = np.logaddexp.reduce(log_p, axis=1)
    return _Tilted(total, np.exp(log_p - total[:, None]), d1, d2)


def tilted_pair(likelihood: Likelihood, sigma: float, rows: KindRows, mean: Array, V: Array, d: Array) -> TiltedPair:
    """Moments of u = (f, h), a priori N(mean, V) (n, 2) and (n, 2, 2); ``sigma exp(h)`` is the noise, d adds to f."""
    log_Z, mean_of, C = np.empty(len(rows)), np.empty_like(mean), np.empty_like(V)
    for here, rule in rules_for(rows, mean, V, d, sigma):
        at = Given.of(mean[here], V[here], rule)
        t, v = _tilt(likelihood, rows[np.flatnonzero(here)], at, d[here], sigma), at.variance[:, None]
        f = at.mean + v * t.d1
        mean_f, mean_h = (t.share * f).sum(axis=1), (t.share * at.h).sum(axis=1)
        left_f, left_h = f - mean_f[:, None], at.h - mean_h[:, None]
        log_Z[here], mean_of[here] = t.log_Z, np.column_stack([mean_f, mean_h])
        C[here, 0, 0] = (t.share * (v + v * v * t.d2 + left_f * left_f)).sum(axis=1)
        C[here, 0, 1] = C[here, 1, 0] = (t.share * left_f * left_h).sum(axis=1)
        C[here, 1, 1] = (t.share * left_h * left_h).sum(axis=1)
    return TiltedPair(log_Z, mean_of, C)


def tilted_once(likelihood: Likelihood, sigma: float, rows: KindRows, mean: Array, V: Array, d: Array) -> TiltedPair:
    """As `tilted_pair`, once for rows that are alike, as those of a group at one time are."""
    spread = [] if rows.spread is None else [rows.spread]
    numbers = np.column_stack([rows.lower, rows.upper, rows.width, *spread, mean, V.reshape(len(rows), -1), d])
    _, first, back = np.unique(numbers, axis=0, return_index=True, return_inverse=True)
    beside = any(of is not None for of in (rows.window, rows.instrument, rows.side))
    if beside or len(first) == len(rows):
        return tilted_pair(likelihood, sigma, rows, mean, V, d)
    found = tilted_pair(likelihood, sigma, rows[first], mean[first], V[first], d[first])
    return TiltedPair(*(part[back.ravel()] for part in found))


def noise_slopes(likelihood: Likelihood, sigma: float, rows: KindRows, mean: Array, V: Array, d: Array) -> Array:
    """Derivatives (K, n) of the log normaliser in the noise parameters."""
    found: list[tuple[BoolArray, Array]] = []
    for here, rule in rules_for(rows, mean, V, d, sigma):
        at, some = Given.of(mean[here], V[here], rule), rows[np.flatnonzero(here)]
        t = _tilt(likelihood, some, at, d[here], sigma)
        m, v = at.locations(d[here])
        slopes = Spread(likelihood).tilted_slope(at.rows(some), m, v, sigma, t.d1.ravel(), t.d2.ravel())
        found.append((here, np.einsum("nk,jnk->jn", t.share, slopes.reshape(len(slopes), *at.h.shape))))
    out = np.empty((len(found[0][1]), len(rows)))
    for here, value in found:
        out[:, here] = value
    return out


class ExpectedPair(NamedTuple):
    """Mean of the log likelihood, and of its first and second derivatives in u; slopes in noise parameters (K, n)."""

    value: Array  # (n,)
    slope: Array  # (n, 2)
    bend: Array  # (n, 2, 2)
    noise: Array


def expected_pair(
    likelihood: Likelihood, sigma: float, rows: KindRows, mean: Array, V: Array, *, noise: bool = False
) -> ExpectedPair:
    """By (HET12), under N(mean, V), (n, 2) and (n, 2, 2); slopes in the noise parameters on request."""
    if likelihood.is_conjugate(rows):
        return _expected_normal(rows, mean, V, rows.noise(sigma))
    V = V + np.diag([0.0, 1.0]) * np.maximum(LEAST - V[:, 1, 1], 0.0)[:, None, None]
    sd = np.sqrt(V[:, 1, 1])
    at = Given.of(mean, V, rule_for(sd, less=2.0 * float(sd.max(initial=0.0))))
    E = Spread(likelihood).expected(at.rows(rows), *at.locations(0.0), sigma, slopes=noise)
    weight, x = np.exp(at.log_weight), (at.h - mean[:, 1:]) / sd[:, None]

    def of(values: Array) -> tuple[Array, Array]:
        """Means (n,) of values at nodes, and their slopes in h, (E h - mean) / variance."""
        values = values.reshape(at.h.shape)
        return values @ weight, (values * x) @ weight / sd

    (d1, in_h), (s, s_in_h), bend = of(E.d1), of(E.s0[-1]), np.empty_like(V)
    along = V[:, 0, 1] / V[:, 1, 1]
    bend[:, 0, 0] = of(E.d2)[0]
    bend[:, 0, 1] = bend[:, 1, 0] = in_h - along * bend[:, 0, 0]
    bend[:, 1, 1] = s_in_h - along * bend[:, 0, 1]
    slopes = np.stack([of(each)[0] for each in E.s0])
    return ExpectedPair(of(E.value)[0], np.column_stack([d1, s]), bend, slopes)


def _expected_normal(rows: KindRows, mean: Array, V: Array, sigma: float | Array) -> ExpectedPair:
    """Expectations of values under normal noise, (HET13)."""
    P = np.exp(2.0 * (V[:, 1, 1] - mean[:, 1])) / np.square(sigma)
    r = rows.limit - mean[:, 0] + 2.0 * V[:, 0, 1]
    Q = r * r + V[:, 0, 0]
    first, bend = np.column_stack([P * r, P * Q - 1.0]), np.empty_like(V)
    bend[:, 0, 0], bend[:, 1, 1] = -P, -2.0 * P * Q
    bend[:, 0, 1] = bend[:, 1, 0] = -2.0 * P * r
    value = -0.5 * np.log(2.0 * np.pi) - np.log(sigma) - mean[:, 1] - 0.5 * P * Q
    return ExpectedPair(value, first, bend, first[None, :, 1])


def falls_like_a_power(noise: Distribution) -> bool:
    """Whether the log density does, as a mean over both latents needs: under others 1 / sigma is too large too often.

    No standard normal h has a mean of ``exp(exp(-h))``.
    """
    return bool((np.abs(noise.logpdf(np.array([-OUT, OUT]))) < OUT**5).all())


class PointPair(NamedTuple):
    """The log likelihood, and its first and second derivatives in u or what these are multiplied by."""

    value: Array  # (n,)
    slope: Array  # (n, 2)
    bend: Array  # (n, 2, 2)

    @classmethod
    def of(cls, terms: Terms) -> PointPair:
        """From derivatives in f and log sigma."""
        bend = np.stack([terms.eta_eta, terms.eta_tau, terms.eta_tau, terms.tau_tau], axis=1).reshape(-1, 2, 2)
        return cls(terms.value, np.column_stack([terms.eta, terms.tau]), bend)


def scale_at(rows: KindRows, u: Array, sigma: float) -> Array:
    """Noise of rows at u, (n, 2)."""
    return np.asarray(rows.noise(sigma) * np.exp(np.clip(u[:, 1], -FARTHEST, FARTHEST)))


def point_pair(likelihood: Likelihood, sigma: float, rows: KindRows, u: Array) -> PointPair:
    """At values u (n, 2) of both latents."""
    return PointPair.of(likelihood.terms(rows, u[:, 0], scale_at(rows, u, sigma)))


def point_in_shape(likelihood: Any, sigma: float, rows: KindRows, u: Array) -> PointPair:
    """Derivatives of `point_pair` in the shape of the noise."""
    return PointPair.of(likelihood.terms_in_shape(rows, u[:, 0], scale_at(rows, u, sigma)))


def third_pair(likelihood: Likelihood, sigma: float, rows: KindRows, u: Array, V: Array) -> Array:
    """Derivatives (n, 2) in u of the second derivatives, summed with weights V (n, 2, 2), by differences."""

    def summed(step: Array) -> Array:
        return np.asarray(np.einsum("nij,nij->n", point_pair(likelihood, sigma, rows, u + step).bend, V))

    unit = scale_at(rows, u, sigma)
    to_f, to_h = np.column_stack([unit, 0.0 * unit]), np.array([0.0, 1.0])
    in_f, in_h = slope(lambda x: summed(x * to_f), APART), slope(lambda x: summed(x * to_h), APART)
    return np.column_stack([in_f / unit, in_h])
