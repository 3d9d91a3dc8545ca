"""Markov chains of Gaussian states given sites, by cyclic reduction in mixed covariance and information form.

``z_i = Phi_i z_{i-1} + N(0, C_i)`` from ``z_0 = 0``, and ``f_i = h'z_i`` has a site of precision lambda2 and natural
mean lambda1. (MKV4) to (MKV11) of the theory pages: neither C nor a moment is ever inverted, so that small gaps lose no
digits. Arrays hold components first, (S, S, N) or (S, k, N) for k columns, N contiguous.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import NamedTuple

import numpy as np

from tobitgp.errors import NumericalError
from tobitgp.typing import Array, IntArray

FEW = 64  # elements at which halves give way to neighbours: few are added to make their number a multiple
CHUNK = 2**15  # numbers of a matrix held at once, few enough for the cache
COLUMNS = 2**18  # numbers of all columns carried at once

Transition = tuple[IntArray, Array, Array]  # knots (n,), and Phi and C (S, S, n) from there or to there


def product(A: Array, B: Array, out: Array | None = None) -> Array:
    """``A B``, (S, k, N), for A (S, S, N) and B (S, k, N)."""
    return np.einsum("ijn,jkn->ikn", A, B, out=out)


def transposed(A: Array) -> Array:
    """``A'``, (S, S, N)."""
    return A.swapaxes(0, 1)


def congruence(A: Array, B: Array, C: Array, out: Array | None = None) -> Array:
    """``A B' + C``, (S, S, N), where it is symmetric: one triangle is a copy of the other."""
    out = np.einsum("ijn,kjn->ikn", A, B, out=out)
    out += C
    for i in range(1, len(C)):
        out[i, :i] = out[:i, i]
    return out


def inverse_beside_identity(C: Array, J: Array) -> tuple[Array, Array]:
    """``(I + C J)^-1`` (S, S, N) and the determinants of ``I + C J`` (N,); up to S = 3 by cofactors.

    Raises
    ------
    NumericalError
        If a determinant is not positive, when negative precisions leave no posterior.
    """
    M = product(C, J)
    S = len(M)
    for i in range(S):
        M[i, i] += 1.0
    if S == 1:
        det = M[0, 0]
        adjugate = np.ones_like(M)
    elif S == 2:
        det = M[0, 0] * M[1, 1] - M[0, 1] * M[1, 0]
        adjugate = transposed(M)[::-1, ::-1].copy()
        np.negative(M[0, 1], out=adjugate[0, 1])
        np.negative(M[1, 0], out=adjugate[1, 0])
    elif S == 3:
        X = M.take([1, 2, 0, 1], axis=0).take([1, 2, 0, 1], axis=1)
        adjugate = transposed(X[:3, :3] * X[1:, 1:] - X[:3, 1:] * X[1:, :3])
        det = np.einsum("jn,jn->n", M[0], adjugate[:, 0])
    else:
        M = np.moveaxis(M, 2, 0)
        return np.ascontiguousarray(np.moveaxis(np.linalg.inv(M), 0, 2)), _positive(np.linalg.det(M))
    adjugate *= 1.0 / _positive(det)
    return adjugate, det


def _positive(x: Array) -> Array:
    if not (x > 0.0).all():
        raise NumericalError("Negative precisions of the sites outweigh the prior.")
    return x


class KnotPair(NamedTuple):
    """Where the pairs of one level are."""

    left: slice  # of its elements
    right: slice
    middle: slice  # of all knots, those at the ends of the left ones

    def split(self, x: Array) -> tuple[Array, Array]:
        """Left and right ones of elements (..., n); an odd one out gets one of zeros, as nothing follows it."""
        if x.shape[-1] % 2:
            x = np.concatenate([x, np.zeros((*x.shape[:-1], 1))], axis=-1)
        return x[..., self.left], x[..., self.right]


@dataclass(frozen=True, slots=True)
class Halving:
    """Places of n elements such that, at each level, left ones of pairs come before all right ones."""

    size: int  # N, of elements: some follow the last, so that this too is in the middle of a pair
    at: IntArray  # (n,), place of each element in turn
    pairs: tuple[KnotPair, ...]  # at each level, from the leaves


def halving(n: int) -> Halving:
    """Places of n elements: bits reversed, but for the last few, whose pairs are neighbours."""
    levels = (n // FEW).bit_length()
    few = n // 2**levels + 1
    size, rest, place = few << levels, np.arange(n), np.zeros(n, dtype=np.intp)
    for _ in range(levels):
        place = 2 * place + rest % 2
        rest //= 2
    pairs = []
    for h in [few << level for level in reversed(range(levels))]:
        pairs.append(KnotPair(slice(0, h), slice(h, 2 * h), slice(size - 2 * h, size - h)))
    for step in [1 << level for level in range((few - 1).bit_length())]:
        pairs.append(KnotPair(slice(0, None, 2), slice(1, None, 2), slice(size - few + step - 1, size, 2 * step)))
    return Halving(size, place * few + rest, tuple(pairs))


def cuts(n: int, numbers: int, most: int = CHUNK) -> Iterator[slice]:
    """A few of n elements at a time, which hold so many numbers each."""
    step = max(most // numbers, 1)
    return (slice(i, i + step) for i in range(0, n, step))


def read(x: Array, h: Sequence[int]) -> Array:
    """``h'x``, (..., N), the sum of some components of x (S, ..., N)."""
    return reduce(np.add, [x[i] for i in h])


class Site(NamedTuple):
    """A covariance given a site on ``h'z``."""

    c: Array  # the covariance with h'z, (S, N)
    k: Array  # 1 / (1 + lambda2 h'c), (N,)
    posterior: Array  # (S, S, N)

    @classmethod
    def of(cls, prior: Array, lambda2: Array, h: Sequence[int]) -> Site:
        """Take in sites of precisions ``lambda2`` (N,)."""
        c = read(prior, h)
        k = 1.0 / _positive(1.0 + lambda2 * read(c, h))
        posterior = prior - c[:, None] * (lambda2 * k * c)
        if len(h) == 1:  # where the difference would lose digits
            posterior[h[0]] = posterior[:, h[0]] = k * c
        return cls(c, k, posterior)


class Leaf(NamedTuple):
    """A transition with the site at its end, (MKV5)."""

    A: Array  # (S, S, N)
    C: Array  # (S, S, N)
    J: Array  # (S, S, N)
    kc: Array  # (S, N), of which b is a multiple
    kphi: Array  # (S, N), of which eta is
    k: Array  # (N,)

    @classmethod
    def of(cls, Phi: Array, C: Array, lambda2: Array, h: Sequence[int]) -> Leaf:
        """Join transitions (S, S, N) to sites of precisions ``lambda2`` (N,)."""
        site, phi = Site.of(C, lambda2, h), read(Phi, h)
        kphi = site.k * phi
        A = Phi - site.c[:, None] * (lambda2 * kphi)
        if len(h) == 1:
            A[h[0]] = kphi
        return cls(A, site.posterior, phi[:, None] * (lambda2 * kphi), site.k * site.c, kphi, site.k)


def _carried(X: Array, A: Array, J: Array, C: Array, out: Array | None = None) -> tuple[Array, Array]:
    """A moment X carried over an element, ``A (I + X J)^-1 X A' + C`` of (MKV8), and ``A (I + X J)^-1``."""
    gain = product(A, inverse_beside_identity(X, J)[0])
    return congruence(product(gain, X), A, C, out), gain


class ReducedChain(NamedTuple):
    """What columns meet at one level, for each of its pairs of elements 1 and 2."""

    pair: KnotPair
    A2_E: Array  # (S, S, N), as are all but the last two
    E_A1: Array
    C1: Array
    J2: Array
    P: Array  # filtered covariance at the left end
    forward: Array  # A_1 (I + P J_1)^-1
    G: Array  # backward information at the right end
    backward: Array  # A_2' (I + G C_2)^-1
    by_mu: Array  # (S, N), slopes of f in the middle in the filtered mean there
    by_g: Array  # (S, N), and in the backward information


@dataclass(frozen=True, slots=True)
class Chain:
    """Transitions in the places of ``halving``, zero for the elements added there."""

    Phi: Array  # (S, S, N)
    C: Array  # (S, S, N)
    h: tuple[int, ...]  # components of which f is the sum
    pairs: tuple[KnotPair, ...]

    def condition(self, lambda2: Array) -> ConditionedChain:
        """Condition on sites of precisions ``lambda2`` (N,): (MKV5) to (MKV8)."""
        S, _, N = self.C.shape
        A, C, J, kc, kphi = *np.empty((3, S, S, N)), *np.empty((2, S, N))
        log_det = 0.0
        for cut in cuts(N, S**2):
            leaf = Leaf.of(self.Phi[..., cut], self.C[..., cut], lambda2[cut], self.h)
            for whole, part in zip((A, C, J, kc, kphi), leaf, strict=False):
                whole[..., cut] = part
            log_det -= float(np.log(leaf.k).sum())
        up = []
        for pair in self.pairs:
            (A1, A2), (C1, C2), (J1, J2) = map(pair.split, (A, C, J))
            A, C, J, A2_E, E_A1 = np.empty((5, S, S, A1.shape[-1]))
            for cut in cuts(A1.shape[-1], S**2):
                a1, c1, j1, a2, c2, j2 = (X[..., cut] for X in (A1, C1, J1, A2, C2, J2))
                E, det = inverse_beside_identity(c1, j2)
                log_det += float(np.log(det).sum())
                left, right = product(a2, E, A2_E[..., cut]), product(E, a1, E_A1[..., cut])
                product(left, a1, A[..., cut])
                congruence(product(left, c1), a2, c2, C[..., cut])
                congruence(product(transposed(right), j2), transposed(a1), j1, J[..., cut])
            up.append((pair, A2_E, E_A1, A1, C1, J1, A2, C2, J2))
        P, G, variance = np.zeros((S, S, 1)), np.zeros((S, S, 1)), np.zeros(N)
        levels = []
        while up:
            pair, A2_E, E_A1, A1, C1, J1, A2, C2, J2 = up.pop()
            n = A1.shape[-1]
            P, G, (forward, backward) = P[..., :n], G[..., :n], np.empty((2, S, S, n))
            by_mu, by_g = np.empty((2, S, n))
            levels.append(ReducedChain(pair, A2_E, E_A1, C1, J2, P, forward, G, backward, by_mu, by_g))
            below_P, below_G = np.empty((2, S, S, 2 * n))
            below_P[..., pair.left], below_G[..., pair.right] = P, G
            middle_P, middle_G = below_P[..., pair.right], below_G[..., pair.left]
            for cut in cuts(n, S**2):
                a1, c1, j1, a2, c2, j2, p, g = (X[..., cut] for X in (A1, C1, J1, A2, C2, J2, P, G))
                p, forward[..., cut] = _carried(p, a1, j1, c1, middle_P[..., cut])
                g, backward[..., cut] = _carried(g, transposed(a2), c2, j2, middle_G[..., cut])
                by_mu[:, cut] = read(inverse_beside_identity(p, g)[0], self.h)
                np.einsum("jn,jin->in", by_mu[:, cut], p, out=by_g[:, cut])
            middle = variance[pair.middle]  # a last pair may be left over, which has no knot there
            middle[:] = read(by_g, self.h)[: len(middle)]
            P, G = below_P, below_G
        return ConditionedChain(self, lambda2, log_det, variance, tuple(levels), P[..., :N], G[..., :N], kc, kphi)

    def draw(self, draws: int, rng: np.random.Generator) -> Array:
        """Draws of f, (draws, N)."""
        S, _, N = self.C.shape
        chain, L = self.condition(np.zeros(N)), _factor(self.C)
        f = np.empty((draws, N))
        for some in cuts(draws, S * N, COLUMNS):
            steps = product(L, rng.standard_normal((S, len(f[some]), N)))
            f[some], *_ = chain.sweep(steps, np.zeros_like(steps))
        return f


def _factor(C: Array) -> Array:
    """Lower Cholesky factors (S, S, N) of covariances, zero where these are."""
    L = np.zeros_like(C)
    for j in range(len(C)):
        column = C[j:, j] - np.einsum("kn,ikn->in", L[j, :j], L[j:, :j])
        np.divide(column, np.sqrt(np.maximum(column[0], 0.0)), out=L[j:, j], where=column[0] > 0.0)
    return L


@dataclass(frozen=True, slots=True)
class ConditionedChain:
    """A chain given the precisions of sites."""

    chain: Chain
    lambda2: Array  # (N,)
    log_det: float  # log |I + K Lambda|, (MKV7)
    variance: Array  # diag V0, (N,)
    levels: tuple[ReducedChain, ...]  # from the root down
    P: Array  # (S, S, N), filtered covariance one element before
    G: Array  # (S, S, N), backward information, own site excluded
    kc: Array  # (S, N), of (MKV5)
    kphi: Array  # (S, N)

    def _met(self, at: slice | IntArray) -> tuple[Site, Array]:
        """Covariances with the own site of some knots taken in, and ``(I + P G)^-1`` of (MKV10)."""
        Phi = self.chain.Phi[..., at]
        predicted = congruence(product(Phi, self.P[..., at]), Phi, self.chain.C[..., at])
        site = Site.of(predicted, self.lambda2[at], self.chain.h)
        return site, inverse_beside_identity(site.posterior, self.G[..., at])[0]

    def sweep(self, b: Array, eta: Array) -> tuple[Array, Array, Array]:
        """Posterior means of f (k, N), from ``b`` and ``eta`` (S, k, N) of every element: (MKV6) and (MKV9).

        Also filtered means one element before, and the backward information of every knot, (S, k, N).
        """
        (S, k, N), up = b.shape, []
        for level in reversed(self.levels):
            (b1, b2), (eta1, eta2) = map(level.pair.split, (b, eta))
            up.append((b1, b2, eta1, eta2))
            b = product(level.A2_E, b1 + product(level.C1, eta2))
            b += b2
            eta = product(transposed(level.E_A1), eta2 - product(level.J2, b1))
            eta += eta1
        f, mu, g = np.zeros((k, N)), np.zeros((S, k, 1)), np.zeros((S, k, 1))
        for level in self.levels:
            b1, b2, eta1, eta2 = up.pop()
            n = b1.shape[-1]
            mu, g, (below_mu, below_g) = mu[..., :n], g[..., :n], np.empty((2, S, k, 2 * n))
            below_mu[..., level.pair.left], below_g[..., level.pair.right] = mu, g
            mu = product(level.forward, mu + product(level.P, eta1))
            mu += b1
            g = product(level.backward, g - product(level.G, b2))
            g += eta2
            below_mu[..., level.pair.right], below_g[..., level.pair.left] = mu, g
            middle = f[:, level.pair.middle]
            middle[:] = (product(level.by_mu[None], mu) + product(level.by_g[None], g))[0][:, : middle.shape[1]]
            mu, g = below_mu, below_g
        return f, mu[..., :N], g[..., :N]

    def _sweeps(self, lambda1: Array) -> Iterator[tuple[slice, Array, Array, Array]]:
        """``sweep`` for natural means (k, N), some of the columns at a time."""
        S, N = self.kc.shape
        for some in cuts(len(lambda1), S * N, COLUMNS):
            yield some, *self.sweep(self.kc[:, None] * lambda1[some], self.kphi[:, None] * lambda1[some])

    def solve(self, lambda1: Array) -> Array:
        """``V0 lambda1``, (k, N), for natural means (k, N)."""
        f = np.empty_like(lambda1)
        for some, values, _, _ in self._sweeps(lambda1):
            f[some] = values
        return f

    def weights(self, lambda1: Array, signs: Array) -> tuple[Array, Array]:
        """``X`` and ``W``, (S, S, N), of the gradient ``sum_n tr(X' dPhi) + 1/2 tr(W dC)``, (MKV11) column by column.

        The squares of columns count with their signs (k,).
        """
        S, _, N = self.P.shape
        h, Phi = self.chain.h, self.chain.Phi
        D, X, W = np.empty((S, S, N)), np.zeros((S, S, N)), np.empty((S, S, N))
        for cut in cuts(N, S**2):
            site, E = self._met(cut)
            lost = self.lambda2[cut] * site.k * np.einsum("ijn,jn->in", E, site.c)
            for i in h:
                E[:, i] -= lost
            D[..., cut] = E  # (I + P^- J^+)^-1
            R = product(self.G[..., cut], E)
            R[list(h)] += self.lambda2[cut] * read(E, h)
            np.negative(R, out=W[..., cut])
        for some, _, mu, g in self._sweeps(lambda1):
            for cut in cuts(N, S**2):
                ahead = product(Phi[..., cut], mu[..., cut])
                rho = g[..., cut] - product(self.G[..., cut], ahead)
                for i in h:
                    rho[i] += lambda1[some, cut] - self.lambda2[cut] * read(ahead, h)
                rho = product(transposed(D[..., cut]), rho)
                signed = signs[some, None] * rho
                X[..., cut] += np.einsum("ikn,jkn->ijn", signed, mu[..., cut])
                W[..., cut] += np.einsum("ikn,jkn->ijn", signed, rho)
        for cut in cuts(N, S**2):
            X[..., cut] += product(product(W[..., cut], Phi[..., cut]), self.P[..., cut])
        return X, W

    def smooth(self, lambda1: Array) -> SmoothedChain:
        """The part of the chain for natural means (k, N) that is required for states between the knots."""
        (S, N), k = self.kc.shape, len(lambda1)
        mu, g = np.empty((S, k, N)), np.empty((S, k, N))
        for some, _, ahead, back in self._sweeps(lambda1):
            mu[:, some], g[:, some] = ahead, back
        return SmoothedChain(replace(self, levels=()), lambda1, mu, g)


@dataclass(frozen=True, slots=True)
class SmoothedChain:
    """A chain given sites, without what leads from one state of knowledge to the next."""

    given: ConditionedChain  # without its levels
    lambda1: Array  # (k, N)
    mu: Array  # (S, k, N), filtered means one element before
    g: Array  # (S, k, N), backward information, own site excluded

    def between(self, start: Transition, end: Transition, h: Sequence[int]) -> tuple[Array, Array]:
        """What ``V0 lambda1`` is at n further states between elements, (k, n), and variances (n,), of ``h'z``.

        ``start`` leads there from the knot before, and ``end`` on to the knot after.
        """
        (i, Phi, C), (j, to_knot, noise), given = start, end, self.given
        site, _ = given._met(i)
        P = congruence(product(Phi, site.posterior), Phi, C)
        leaf = Leaf.of(to_knot, noise, given.lambda2[j], given.chain.h)
        G, gain = _carried(given.G[..., j], transposed(leaf.A), leaf.C, leaf.J)
        E = inverse_beside_identity(P, G)[0]
        own, following = self.lambda1.take(i, axis=1), self.lambda1.take(j, axis=1)
        mu = product(given.chain.Phi[..., i], self.mu[..., i])
        mu += (site.k * site.c)[:, None] * (own - given.lambda2[i] * read(mu, given.chain.h))
        g = product(gain, self.g[..., j] - product(given.G[..., j], leaf.kc[:, None] * following))
        g += leaf.kphi[:, None] * following
        f = read(product(E, product(Phi, mu) + product(P, g)), h)
        return f, read(read(product(E, P), h), h)
