"""Sums of half-integer Matern processes of one input as a Markov chain: exact, and linear in the number of knots.

The state of a process is f and its derivatives, divided by powers of ``kappa = sqrt(2 p + 1) / lengthscale``, (MKV1) to
(MKV3) of the theory pages; those of several terms are stacked. A group is a separate series, an infinite gap
after the one before.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, pairwise, product
from math import comb, factorial
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.special import gammainc

from tobitgp.numerics.chain import Chain, ConditionedChain, Halving, SmoothedChain, Transition, cuts, halving
from tobitgp.priors.compiled_chain import ChainStep, CompiledChain, CompiledConditioned, CompiledSmoothed, is_known
from tobitgp.priors.kernels import Covariance
from tobitgp.priors.structure import Inputs
from tobitgp.typing import Array, IntArray

FAR = 1000.0  # length-scales, where ``exp(-u)`` is zero


def is_markov(terms: Sequence[Covariance]) -> bool:
    """Whether terms have a state: Matern kernels of one input, and random intercepts, which have no factors."""
    factors = [factor for term in terms for factor in term.factors]
    one = all(f.kernel.markov is not None and f.columns.stop - f.columns.start == 1 for f in factors)
    return bool(factors) and one and all(len(term.factors) <= 1 for term in terms)


class Polynomials(NamedTuple):
    """Coefficients by powers of u, of what ``exp(-u)`` is a factor of in (MKV1) and (MKV2), for smoothness p + 1/2."""

    F: Array  # (S, S), companion matrix
    Phi: Array  # (S, S, p + 1)
    g: Array  # (S, p + 1)
    gg: Array  # (S, S, 2 p + 1), products of these
    q: float

    @classmethod
    def of(cls, p: int) -> Polynomials:
        """Write out those of smoothness ``p + 1/2``."""
        S = p + 1
        F, g = np.eye(S, k=1), np.zeros((S, S))
        F[p] = [-comb(S, j) for j in range(S)]
        Phi = [np.linalg.matrix_power(F + np.eye(S), k) / factorial(k) for k in range(S)]
        g[0, p] = 1.0 / factorial(p)
        for j in range(p):
            g[j + 1] = np.append(np.arange(1, S) * g[j, 1:], 0.0) - g[j]
        gg = np.array([[np.convolve(a, b) for b in g] for a in g])
        return cls(F, np.stack(Phi, axis=-1), g, gg, 2.0 * 4.0**p * factorial(p) ** 2 / factorial(2 * p))


MATERN = [Polynomials.of(p) for p in range(3)]


def _powers(u: Array, K: int) -> Array:
    """``u^0, ..., u^(K - 1)``, (K, n)."""
    powers = np.ones((K, len(u)))
    for k in range(1, K):
        np.multiply(powers[k - 1], u, out=powers[k])
    return powers


def matern(p: int, u: Array) -> tuple[Array, Array]:
    """``Phi`` and ``C`` (S, S, n) over gaps u (n,), for sd 1; every entry keeps its relative precision as u falls."""
    of, K = MATERN[p], 2 * p + 1
    powers, decay = _powers(u, K), np.exp(-u)
    Phi = of.Phi @ powers[: p + 1]
    Phi *= decay
    g = of.g @ powers[: p + 1]
    g *= decay
    powers *= decay * decay
    I = np.empty_like(powers)  # of t^k exp(-2 t) from 0 to u; by parts, all terms positive
    I[K - 1] = gammainc(K, 2.0 * u) if K > 1 else -np.expm1(-2.0 * u)
    I[K - 1] *= factorial(K - 1) / 2.0**K
    for k in range(K - 1, 0, -1):
        I[k - 1] = (2.0 * I[k] + powers[k]) / k
    C = (of.q * of.gg) @ I
    for k in range(p):
        C[k, k + 1] = C[k + 1, k] = 0.5 * of.q * g[k] ** 2
    return Phi, C


class MarkovTerms(NamedTuple):
    """Terms at fixed parameters, and where their states are."""

    markov: tuple[int | None, ...]  # p of each, None for a random intercept
    theta: tuple[Array, ...]

    @property
    def places(self) -> list[slice]:
        """Where each term's state is."""
        ends = accumulate((1 if p is None else p + 1 for p in self.markov), initial=0)
        return [slice(*pair) for pair in pairwise(ends)]

    def h(self, terms: Sequence[int] | None = None) -> tuple[int, ...]:
        """Components of the state that some terms, or all, are the sum of."""
        return tuple(at.start for t, at in enumerate(self.places) if terms is None or t in terms)

    def scaled(self, t: int, gap: Array) -> Array:
        """Gaps (n,) in units of a term's ``1 / kappa``."""
        p = self.markov[t] or 0
        return np.minimum(np.sqrt(2.0 * p + 1.0) * np.exp(-self.theta[t][1]) * gap, FAR)

    def transitions(self, gap: Array) -> tuple[Array, Array]:
        """``Phi`` and ``C`` (S, S, n) over gaps (n,)."""
        S = self.places[-1].stop
        Phi, C = np.zeros((S, S, len(gap))), np.zeros((S, S, len(gap)))
        for cut, (t, at) in product(cuts(len(gap), S**2), enumerate(self.places)):
            p, step = self.markov[t], gap[cut]
            if p is None:
                Phi[at, at, cut], own = np.isfinite(step), np.isinf(step)
            else:
                Phi[at, at, cut], own = matern(p, self.scaled(t, step))
            C[at, at, cut] = np.exp(2.0 * self.theta[t][0]) * own
        return Phi, C

    def gradient(self, gap: Array, Phi: Array, C: Array, X: Array, W: Array) -> Array:
        """``sum_n tr(X' dPhi) + 1/2 tr(W dC)`` by log sd and log lengthscale of each term, (MKV3)."""
        slopes = []
        for t, (p, at) in enumerate(zip(self.markov, self.places, strict=True)):
            w = W[at, at]
            slopes.append(np.vdot(w, C[at, at]))
            if p is not None:
                of, u = MATERN[p], self.scaled(t, gap)
                g = (of.g @ _powers(u, p + 1)) * np.exp(-u)
                by_C = -0.5 * of.q * np.exp(2.0 * self.theta[t][0]) * np.vdot(np.einsum("ijn,jn->in", w, g), u * g)
                slopes.append(by_C - np.vdot(np.tensordot(of.F, Phi[at, at], 1), X[at, at] * u))
        return np.array(slopes)


@dataclass(frozen=True)
class Markov:
    """A sum of processes of one input, one for every group where there are groups."""

    label: ClassVar = "Markov"
    slow: ClassVar = False
    inputs: Inputs  # of the knots, (N, 1), in any order
    terms: tuple[Covariance, ...]
    order: IntArray = field(init=False, repr=False, compare=False)  # (N,), knots by group and input
    gap: Array = field(init=False, repr=False, compare=False)  # (N,), before each in that order: infinite at starts

    def __post_init__(self) -> None:
        x, code = self.inputs.X[:, 0], self.inputs.code
        order = np.argsort(x, kind="stable") if code is None else np.lexsort([x, code])
        gap = np.diff(x[order], prepend=-np.inf)
        if code is not None:
            gap[np.flatnonzero(np.diff(code[order])) + 1] = np.inf
        for name, value in (("order", order), ("gap", gap)):
            object.__setattr__(self, name, value)

    @cached_property
    def layout(self) -> Halving:
        """Places in which a chain is halved."""
        return halving(len(self.order))

    @cached_property
    def rank(self) -> IntArray:
        """The group of each knot in the order of groups and inputs, (N,)."""
        rank = np.empty_like(self.order)
        rank[self.order] = np.arange(len(rank))
        return rank

    @cached_property
    def place(self) -> IntArray:
        """Position of each knot in a halved chain, (N,)."""
        return self.layout.at[self.rank]

    def spread(self, values: Array) -> Array:
        """Values (k, N) of the knots in the places of a halved chain, (k, size)."""
        out = np.zeros((*values.shape[:-1], self.layout.size))
        out[..., self.place] = values
        return out

    @property
    def lead(self) -> int:
        """The first term that is not a random intercept."""
        return next(t for t, term in enumerate(self.terms) if term.factors)

    @property
    def smoothness(self) -> tuple[int | None, ...]:
        """Smoothness p of each term, None for a random intercept."""
        return tuple(term.factors[0].kernel.markov if term.factors else None for term in self.terms)

    def at(self, theta: Sequence[Array]) -> MarkovAt:
        """Fix the parameters of each term: log sd, and log lengthscale where it has one."""
        return MarkovAt(self, MarkovTerms(self.smoothness, tuple(theta)))

    def extended(self, inputs: Inputs) -> Markov:
        """The same process on further knots too, which follow its own."""
        X, code = np.concatenate([self.inputs.X, inputs.X]), self.inputs.code
        return Markov(Inputs(X, code if code is None else np.concatenate([code, inputs.code])), self.terms)


@dataclass(frozen=True)
class MarkovAt:
    """A sum of processes at fixed parameters."""

    structure: Markov
    terms: MarkovTerms

    @cached_property
    def chain(self) -> Chain:
        """Transitions in the places of a halved chain."""
        gap = self.structure.spread(self.structure.gap[self.structure.rank])
        return Chain(*self.terms.transitions(gap), self.terms.h(), self.structure.layout.pairs)

    @cached_property
    def compiled(self) -> CompiledChain:
        """Transitions as the compiled core takes them."""
        return CompiledChain.of(self.terms.markov, self.terms.theta, self.structure.gap)

    def condition(self, lambda2: Array) -> ConditionedMarkov | CompiledMarkov:
        """Condition on sites with precisions ``lambda2`` (N,), some of which may be negative."""
        structure = self.structure
        if is_known(self.terms.markov):
            return CompiledMarkov(structure, self.terms, self.compiled.condition(lambda2[structure.order]))
        return ConditionedMarkov(structure, self.terms, self.chain.condition(structure.spread(lambda2)))

    def draw(self, draws: int, rng: np.random.Generator) -> Array:
        """Draws of the prior, (N, draws)."""
        return self.chain.draw(draws, rng)[:, self.structure.place].T


@dataclass(frozen=True, slots=True)
class CompiledMarkov:
    """A sum of processes given the precisions of sites, by the compiled core."""

    structure: Markov
    terms: MarkovTerms
    chain: CompiledConditioned

    @property
    def variance(self) -> Array:
        """``diag(V0)``, (N,)."""
        return self.chain.arrays["variance"][self.structure.rank]

    @property
    def log_det(self) -> float:
        """``log |I + K_e Lambda|``."""
        return float(self.chain.made.log_det)

    def solve(self, U: Array) -> Array:
        """``V0 U``, (N, k)."""
        return self.chain.solve(U[self.structure.order])[self.structure.rank]

    def gradient(self, U: Array, signs: Array) -> Array:
        """``1/2 sum_j signs_j x_j' dK_e x_j - 1/2 tr(R0 dK_e)`` by all parameters, (MKV11)."""
        return self.chain.gradient(U[self.structure.order], signs)

    def smooth(self, U: Array) -> CompiledSmoothedMarkov:
        """``V0 U`` at other places."""
        order = self.structure.order
        return CompiledSmoothedMarkov(
            self.chain.smooth(U[order]), _keys(self.structure.inputs)[order], len(self.terms.theta)
        )


@dataclass(frozen=True, slots=True)
class ConditionedMarkov:
    """A sum of processes given the precisions of sites."""

    structure: Markov
    terms: MarkovTerms
    chain: ConditionedChain

    @property
    def variance(self) -> Array:
        """``diag(V0)``, (N,)."""
        return self.chain.variance[self.structure.place]

    @property
    def log_det(self) -> float:
        """``log |I + K_e Lambda|``."""
        return self.chain.log_det

    def solve(self, U: Array) -> Array:
        """``V0 U``, (N, k)."""
        return self.chain.solve(self.structure.spread(U.T))[:, self.structure.place].T

    def gradient(self, U: Array, signs: Array) -> Array:
        """``1/2 sum_j signs_j x_j' dK_e x_j - 1/2 tr(R0 dK_e)`` by all parameters, (MKV11)."""
        weights = self.chain.weights(self.structure.spread(U.T), signs)
        gap = self.structure.spread(self.structure.gap[self.structure.rank])
        return self.terms.gradient(gap, self.chain.chain.Phi, self.chain.chain.C, *weights)

    def smooth(self, U: Array) -> SmoothedMarkov:
        """``V0 U`` at other places."""
        keys = _keys(self.structure.inputs)[self.structure.order]
        chain = self.chain.smooth(self.structure.spread(U.T))
        return SmoothedMarkov(self.terms, chain, keys, self.structure.layout.at)


@dataclass(frozen=True, slots=True)
class SmoothedMarkov:
    """``V0 U`` beyond the knots."""

    terms: MarkovTerms
    chain: SmoothedChain
    keys: Any  # (N,), numbers in the order of groups and inputs
    places: IntArray  # (N,), of the knots in the chain, in that order

    def at(self, inputs: Inputs, terms: Sequence[int] | None = None) -> tuple[Array, Array]:
        """At n places, values (n, k) and variance (n,) of the sum of some terms, or of all."""
        start, end = (self._transition(*step) for step in _steps(self.keys, inputs))
        f, variance = self.chain.between(start, end, self.terms.h(terms))
        return f.T, variance

    def _transition(self, near: IntArray, gap: Array) -> Transition:
        return self.places[near], *self.terms.transitions(gap)


@dataclass(frozen=True, slots=True)
class CompiledSmoothedMarkov:
    """``V0 U`` beyond the knots, by the compiled core."""

    chain: CompiledSmoothed
    keys: Any  # (N,), as above
    size: int  # how many terms there are

    def at(self, inputs: Inputs, terms: Sequence[int] | None = None) -> tuple[Array, Array]:
        """At n places, values (n, k) and variance (n,) of the sum of some terms, or of all."""
        shown = [terms is None or t in terms for t in range(self.size)]
        return self.chain.between(*_steps(self.keys, inputs), shown)


def _steps(keys: Any, inputs: Inputs) -> tuple[ChainStep, ChainStep]:
    """Knots before and after places, as far as there are any of the group, and how far these are from them."""
    places = _keys(inputs)
    after = np.searchsorted(keys, places, side="right")
    return _step(keys, places, after - 1), _step(keys, places, after)


def _step(keys: Any, places: Any, rank: IntArray) -> ChainStep:
    near = np.clip(rank, 0, len(keys) - 1)
    step = places - keys[near]
    return near, np.where((rank == near) & (step.real == 0.0), np.abs(step.imag), np.inf)


def _keys(inputs: Inputs) -> Any:
    """Numbers (n,) in the order of groups and then of inputs: complex ones, whose real part comes first."""
    return (0.0 if inputs.code is None else inputs.code) + 1j * inputs.X[:, 0]
