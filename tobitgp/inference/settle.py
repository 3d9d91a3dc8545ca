"""The fixed-point iteration that finds a method's posterior at given parameters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tobitgp.data.problem import Problem
from tobitgp.engines import add_up
from tobitgp.errors import NumericalError
from tobitgp.inference.anderson import Anderson
from tobitgp.inference.layout import lay_out
from tobitgp.inference.method import Marginals, Method
from tobitgp.inference.posterior import Chunk, Posterior, Sites, make_chunks, split_theta
from tobitgp.likelihoods.base import Likelihood
from tobitgp.numerics.arrow import Arrow, Factor, factorise, identity, multiply
from tobitgp.prior.block import Block
from tobitgp.typing import Array

# Step lengths of the fixed-point iteration: a residual that shrinks slowly while its direction turns round is one
# stepped over, not one approached.
SHORTEN, SHORTEST, LENGTHEN, TURNED = 0.6, 0.05, 1.15, 0.7


def settle(
    problem: Problem,
    blocks: Sequence[Block],
    theta: Array,
    method: Method,
    likelihood: Likelihood,
    start: Sites | None = None,
) -> Posterior:
    """Find the method's fixed point at given parameters.

    Parameters
    ----------
    problem : Problem
    blocks : sequence of Block
    theta : (k,) array
        Each block's unconstrained parameters, then those of the noise, log sigma last.
    method : Method
    likelihood : Likelihood
    start : Sites, optional
        Sites to start from; without them those of the method's ``warm_up``, or flat ones where none are known.

    Returns
    -------
    Posterior
        With ``converged=False`` where ``max_sweeps`` did not suffice.

    Raises
    ------
    NumericalError
        If a factorisation breaks down at these parameters.
    """
    likelihood = likelihood.over(problem.rows)
    warm_up = method.warm_up(likelihood, start is not None)
    if warm_up is not None:
        # Far from the data a window and the tail beyond it cancel: another mode, which the rows alone do not have.
        seen = problem if likelihood.log_concave or start is not None else problem.without_windows()
        start = settle(seen, blocks, theta, warm_up, likelihood, start).sites
    *first, last = method.attempts(likelihood)
    for attempt in first:
        try:
            posterior = _settle(problem, blocks, theta, attempt, likelihood, start)
        except NumericalError:
            continue
        if posterior.converged:
            return posterior
    if first and start is not None:
        start = Sites(start.lambda1, np.maximum(start.lambda2, 0.0))
    return _settle(problem, blocks, theta, last, likelihood, start)


def _settle(
    problem: Problem,
    blocks: Sequence[Block],
    theta: Array,
    method: Method,
    likelihood: Likelihood,
    start: Sites | None,
) -> Posterior:
    """Iterate one method from given or flat sites."""
    likelihood = method.view(likelihood.at(theta))
    at = tuple(b.at(t) for b, t in zip(blocks, split_theta(blocks, theta), strict=True))
    layout = lay_out(at)
    chunks = make_chunks(problem, blocks, at, layout)
    sigma = float(np.exp(theta[-1]))
    exact = [c for c in chunks if likelihood.is_conjugate(c.rows)]
    others = [c for c in chunks if not likelihood.is_conjugate(c.rows)]
    sites = Sites(np.zeros(problem.n), np.zeros(problem.n)) if start is None else start.copy()

    base = _exact_sums(exact, method, sigma, sites, identity(layout.p, layout.m, layout.size))
    end = _iterate(others, base, method, likelihood, sigma, sites)

    def exact_part(chunk: Chunk) -> tuple[float]:
        _, A, d = chunk.features()
        return (float(method.exact_part(chunk.rows, A.times(end.q.w), d, sigma).sum()),)

    D = end.D + sum(add_up(map(exact_part, exact)) or [0.0])
    evidence = D - 0.5 * float(end.q.w @ end.q.w) - 0.5 * end.q.factor.log_det()
    q, ended = end.q, (end.sweeps, end.residual, end.converged)
    return Posterior(theta, at, layout, q.w, q.factor, sites, evidence, chunks, *ended, np.zeros(layout.p))


@dataclass(frozen=True, slots=True)
class _Base:
    """What conjugate rows contribute to B (identity included), to r, and ``y' Lambda y``."""

    B: Arrow
    r: Array
    yy: float

    def misfit(self, w: Array) -> float:
        """``sum lambda2 (y - a'w)^2 / 2`` over conjugate rows, without visiting them."""
        return 0.5 * (self.yy - 2.0 * float(self.r @ w) + float(w @ (multiply(self.B, w) - w)))


def _exact_sums(chunks: list[Chunk], method: Method, sigma: float, sites: Sites, eye: Arrow) -> _Base:
    def sums(chunk: Chunk) -> tuple[Array | float, ...]:
        _, A, d = chunk.features()
        precision = chunk.rows.weight / method.exact_variance(d, sigma)
        y = chunk.rows.limit
        sites.lambda2[chunk.span] = precision
        sites.lambda1[chunk.span] = precision * y
        return *A.gram(precision), A.adjoint(precision * y), float(precision @ (y * y))

    total = add_up(map(sums, chunks))
    if not total:
        return _Base(eye, np.zeros(_n_features(eye)), 0.0)
    *B, r, yy = total
    return _Base(_add(eye, B), r, yy)


def _n_features(B: Arrow) -> int:
    return len(B[0]) + (B[1].shape[0] * B[1].shape[1] if len(B) > 1 else 0)


def _add(B: Arrow, other: Sequence[Array]) -> Arrow:
    return tuple(a + b for a, b in zip(B, other, strict=True))


@dataclass(frozen=True, slots=True)
class _Gaussian:
    """``q(w)`` from one set of sites."""

    w: Array
    factor: Factor

    @classmethod
    def from_sums(cls, base: _Base, sums: Sequence[Array]) -> _Gaussian:
        B, r = (base.B, base.r) if not sums else (_add(base.B, sums[:-1]), base.r + sums[-1])
        factor = factorise(B)
        return cls(factor.solve(r), factor)


@dataclass(frozen=True, slots=True)
class _End:
    q: _Gaussian
    D: float
    sweeps: int
    residual: float
    converged: bool


def _iterate(
    chunks: list[Chunk], base: _Base, method: Method, likelihood: Likelihood, sigma: float, sites: Sites
) -> _End:
    """Damped fixed-point iteration on the sites of rows that are not conjugate, in place.

    One visit to the rows updates their sites and sums what the next posterior needs, so a sweep is one pass. Bounds,
    which are stiff where the prior is wide against the noise, are accelerated at the cost of a second pass. Sites of
    negative precision may leave no posterior; since those that leave one form a convex set, a shorter step does.
    """

    def accumulate(chunk: Chunk) -> tuple[Array, ...]:
        _, A, _ = chunk.features()
        return *A.gram(sites.lambda2[chunk.span]), A.adjoint(sites.lambda1[chunk.span])

    def visit(chunk: Chunk) -> tuple[float | Array, ...]:
        _, A, d = chunk.features()
        span = chunk.span
        lambda1, lambda2 = sites.lambda1[span], sites.lambda2[span]
        m, v_p = A.times(q.w), q.factor.variance(A)
        u = method.update(likelihood, chunk.rows, Marginals(m, v_p, d, lambda1, lambda2), sigma)
        g1, g2 = u.lambda1 - lambda1, u.lambda2 - lambda2
        scale = sigma / chunk.rows.weight
        gap = float(np.sum(((g1 - g2 * m) * scale) ** 2 + (g2 * scale * sigma) ** 2))
        step.lambda1[span], step.lambda2[span] = g1, g2
        lambda1 += rho * g1
        lambda2 += rho * g2
        return gap, float(u.D.sum()), *A.gram(lambda2), A.adjoint(lambda1)

    q = _first(chunks, base, sites, accumulate)
    if not chunks:
        return _End(q, 0.0, 0, 0.0, True)
    n = sum(len(c.rows) for c in chunks)
    step, last_step, last = sites.zeros(), sites.zeros(), sites.copy()
    floor = 0.0 if likelihood.log_concave else -np.inf
    mixer = _SiteMixer(chunks[0].span.start, sigma, floor) if method.ascends == "bound" else None
    rho, merit, residual, mixed, turned = method.damping, -np.inf, np.inf, False, False
    for sweep in range(1, method.max_sweeps + 1):
        here = sites.copy()
        gap, D, *sums = add_up(map(visit, chunks))
        gap = float(np.sqrt(gap / n))
        if gap < method.tol or sweep == method.max_sweeps:
            sites.take(here)
            return _End(q, D, sweep, gap, gap < method.tol)
        if method.ascends:
            value = _merit(method, base, q, D)
            if value < merit - 1e-10 * max(1.0, abs(merit)):
                rho = rho if mixed else SHORTEN * rho
                sites.take(last, last_step, rho)
                q, mixed = _Gaussian.from_sums(base, add_up(map(accumulate, chunks))), False
                if mixer is not None:
                    mixer.clear()
                continue
            merit = value
        else:
            turned = gap > TURNED * residual and last_step.along(step) < 0.0
            rho = max(SHORTEN * rho, SHORTEST) if gap > residual or turned else rho
        rho = min(1.0, rho * (LENGTHEN if gap < residual and not turned else 1.0))
        residual, last = gap, here
        if mixer is not None:
            mixed = mixer.mix(here, step, rho, sites)
            sums = add_up(map(accumulate, chunks))
        step, last_step = last_step, step
        try:
            q = _Gaussian.from_sums(base, sums)
        except NumericalError:
            if likelihood.log_concave:
                raise
            q, rho, mixed = *_shorten(base, sites, last, last_step, rho, lambda: add_up(map(accumulate, chunks))), False
            if mixer is not None:
                mixer.clear()
    raise AssertionError("unreachable")


def _first(
    chunks: list[Chunk], base: _Base, sites: Sites, accumulate: Callable[[Chunk], tuple[Array, ...]]
) -> _Gaussian:
    """Posterior of the sites given, flattened where they leave none."""
    try:
        return _Gaussian.from_sums(base, add_up(map(accumulate, chunks)))
    except NumericalError:
        for chunk in chunks:
            sites.lambda1[chunk.span], sites.lambda2[chunk.span] = 0.0, 0.0
        return _Gaussian.from_sums(base, add_up(map(accumulate, chunks)))


def _shorten(
    base: _Base, sites: Sites, last: Sites, step: Sites, rho: float, sums: Callable[[], Sequence[Array]]
) -> tuple[_Gaussian, float]:
    """Posterior after the longest step tried that leaves one, and its length; the sites follow."""
    while rho > SHORTEST**6:
        rho *= SHORTEN
        sites.take(last, step, rho)
        try:
            return _Gaussian.from_sums(base, sums()), rho
        except NumericalError:
            pass
    raise NumericalError("The sites of the rows leave no posterior.")


def _merit(method: Method, base: _Base, q: _Gaussian, D: float) -> float:
    """What an ascending method must not lose, from the censored rows' ``D`` and the exact rows' sums."""
    joint = D - base.misfit(q.w) - 0.5 * float(q.w @ q.w)
    return joint - 0.5 * q.factor.log_det() if method.ascends == "bound" else joint


class _SiteMixer:
    """Anderson's acceleration in standardised natural parameters of the rows from ``first`` on."""

    def __init__(self, first: int, sigma: float, floor: float):
        self._anderson, self._rows, self._sigma, self._floor = Anderson(), slice(first, None), sigma, floor

    def clear(self) -> None:
        self._anderson.clear()

    def mix(self, here: Sites, step: Sites, rho: float, out: Sites) -> bool:
        """Write the next sites; False where that was the plain damped step."""
        x = self._anderson.mix(self._flat(here), self._flat(step), rho)
        half = len(x) // 2
        out.lambda1[self._rows] = x[:half] / self._sigma
        out.lambda2[self._rows] = np.maximum(x[half:], self._floor) / self._sigma**2
        return self._anderson.depth > 1

    def _flat(self, sites: Sites) -> Array:
        return np.concatenate([self._sigma * sites.lambda1[self._rows], self._sigma**2 * sites.lambda2[self._rows]])
