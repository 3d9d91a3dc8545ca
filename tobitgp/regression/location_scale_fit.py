"""Maximum likelihood of a censored location-scale regression, on arrays: starts, and the ends of Newton's iteration.

(REG1) and (REG2) of the theory pages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from tobitgp.data.absorbed import Absorbed, Columns
from tobitgp.data.outcome import Outcome
from tobitgp.distributions.standard_noise import Distribution
from tobitgp.distributions.symmetric_noise import Logistic, NormalNoise, StudentNoise
from tobitgp.engines import LocalPartitions, Store, blocks, is_mapped, single_blas_thread
from tobitgp.errors import DataError, SpecError
from tobitgp.numerics.normal_functions import known_range, telling_ends
from tobitgp.regression import convergence
from tobitgp.regression.convergence import Names, explain, explain_partitions
from tobitgp.regression.maximum import Maximum, in_users_units, with_given_shape
from tobitgp.regression.newton import Climb, NewtonStep, State, climb, evaluate, guarded_step, olsen_step
from tobitgp.regression.working import Chunk, Designs, Keep, Working, hold, reach, split, standardise
from tobitgp.typing import Array, BoolArray

_START_ITERATIONS = 10
_UNLIKELY = -50.0
_FEW = 500  # rows above which one start is enough: local maxima are a matter of small samples
_HEAVY_DF = 1.5
_MEAN_LOG = -0.635  # of the size of a normal variable
_TINY = 1e-3


def concave_start(working: Working, distribution: Distribution) -> Array:
    """The first fit, and a log sigma at which no exact row is all too unlikely."""
    x = np.zeros(working.p + 1)
    x[-1] = _first_log_sigma(working, distribution) - float(working.chunks[0].tau0[0])
    return x


def starts(working: Working, distribution: Distribution) -> Iterator[Array]:
    """Points x from which to climb where the problem may have several maxima.

    The first is the maximum of the concave problem nearest to this one. Where rows are few, others follow: the scale
    that the sizes of its residuals show, the fit of a Cauchy distribution, and other shapes.
    """
    relaxed = relaxed_start(working, distribution)
    yield relaxed
    if working.n > _FEW or (distribution.log_concave and working.constant and not working.free_shape):
        return
    if not working.constant:
        yield _with_residual_scale(working, relaxed)
    if not distribution.log_concave:
        yield _cauchy_start(working, relaxed)
    if working.free_shape:
        yield from (relaxed_start(working, distribution.with_shape(value)) for value in distribution.shape_starts)


def _first_log_sigma(working: Working, distribution: Distribution) -> float:
    """Working log sigma, 0 or more, at which the first fit makes no exact row less likely than e^-50."""
    ends = [(chunk.seen.lower.min(), chunk.seen.lower.max()) for chunk in working.chunks if chunk.kind == "exact"]
    extremes, tau = np.array(ends, dtype=np.float64), 0.0
    while extremes.size and distribution.log_density(extremes * np.exp(-tau), 0)[0].min() < _UNLIKELY:
        tau += 0.5
    return tau


def relaxed_start(working: Working, distribution: Distribution) -> Array:
    """Estimates of the concave problem nearest to this one: one sigma, no window, logistic for Student's t."""
    chunks = tuple(
        replace(c, window="open", V=np.ones((len(c.seen), 1)), tau0=np.zeros_like(c.tau0)) for c in working.chunks
    )
    relaxed = replace(working, chunks=chunks, inverse_V=np.eye(1), constant=True, shape_range=None)
    nearest = distribution if distribution.log_concave else Logistic()
    x = np.zeros(working.p + 1)
    x[-1] = _first_log_sigma(working, nearest)
    end = Ascent(relaxed, nearest).climb(x, _START_ITERATIONS)
    if end.reason in ("settled", "limit"):
        x = end.state.x
    rest = [c.V.T @ (x[-1] - c.tau0) for c in working.chunks]
    gram = sum((c.V.T @ c.V for c in working.chunks), np.zeros((working.q, working.q)))
    g = np.linalg.solve(gram, np.sum(rest, axis=0)) if working.q else np.zeros(0)
    shape = [distribution.coordinate] if working.free_shape else []
    return np.concatenate([x[:-1], g, shape])


def _with_residual_scale(working: Working, x: Array) -> Array:
    """The same location, and log sigma regressed on the columns as the residuals' log sizes are (Harvey, 1976)."""
    V = np.concatenate([chunk.V for chunk in working.chunks])
    bottoms, tops = zip(*(known_range(chunk.seen.lower, chunk.seen.upper) for chunk in working.chunks), strict=True)
    known_ends, b = (min(bottoms), max(tops)), x[: working.p]
    log_sizes = np.concatenate([np.log(_sizes(chunk, b, *known_ends)) - chunk.tau0 for chunk in working.chunks])
    known = np.isfinite(log_sizes)
    out, at = x.copy(), slice(working.p, working.p + working.q)
    if known.any():
        out[at] = np.linalg.lstsq(V[known], log_sizes[known] - _MEAN_LOG, rcond=None)[0]
    return out


def _sizes(chunk: Chunk, b: Array, bottom: float, top: float) -> Array:
    """Absolute residuals of exact rows and of intervals' middles, NaN for the others."""
    lower, upper = telling_ends(chunk.seen.lower, chunk.seen.upper, bottom, top)
    middle = 0.5 * lower + 0.5 * upper
    return np.where(np.isfinite(middle), np.abs(middle - chunk.Q @ b) + _TINY, np.nan)


def _cauchy_start(working: Working, x: Array) -> Array:
    """Estimates under a Cauchy distribution, which outliers hardly move."""
    k = working.p + working.q
    end = Ascent(replace(working, shape_range=None), StudentNoise(1.0)).climb(x[:k], _START_ITERATIONS)
    return np.concatenate([end.state.x, np.full(len(x) - k, np.log(_HEAVY_DF))])


@dataclass(frozen=True, slots=True)
class Ascent:
    """Newton's method for a problem, in Olsen's coordinates where these make it concave, elsewhere guarded."""

    working: Working
    distribution: Distribution

    @property
    def concave(self) -> bool:
        """Whether Olsen's coordinates may be used: one free sigma, no window, and a log-concave density."""
        working = self.working
        one_sigma = working.constant and working.q == 1 and not working.free_shape
        return self.distribution.log_concave and one_sigma and all(c.window == "open" for c in working.chunks)

    def state(self, x: Array) -> State:
        """Log likelihood with derivatives."""
        return evaluate(self.working, self.distribution, x)

    def step(self, state: State) -> NewtonStep:
        """Newton's step."""
        if self.concave:
            return olsen_step(state, float(self.working.chunks[0].tau0[0]))
        return guarded_step(state, lambda move: reach(move, self.working))

    def climb(self, start: Array | State, max_iter: int) -> Climb:
        """Where the iteration from a start ends."""
        state = start if isinstance(start, State) else self.state(start)
        flat = None if self.concave else lambda state: convergence.is_flat(state, self.working)
        stop = lambda x: convergence.far(x, self.working)  # noqa: E731
        return climb(self.state, self.step, state, max_iter=max_iter, stop=stop, flat=flat)

    def ends(self, max_iter: int) -> list[Climb]:
        """Judged ends, from one start where the problem is concave, elsewhere from several where rows are few."""
        if self.concave:
            begins = [self.state(concave_start(self.working, self.distribution))]
        else:
            begins = [self.state(x) for x in starts(self.working, self.distribution)]
        good = [state for state in begins[1:] if np.isfinite(state.value) and state.hessian.finite]
        found = [self.climb(state, max_iter) for state in (begins[0], *good)]
        return [convergence.judge(end, self.working, self.state, self.step) for end in found]


def _highest(maxima: list[Climb]) -> Climb:
    """The first of the highest maxima: which of several equal ones is higher is rounding."""
    least = max(end.state.value for end in maxima)
    least -= 1e-12 * (1.0 + abs(least))
    return next(end for end in maxima if end.state.value >= least)


def maximise(
    outcome: Outcome,
    H: Columns,
    *,
    distribution: Distribution | None = None,
    offset: Array | None = None,
    W: Array | None = None,
    scale_offset: Array | None = None,
    fixed_coefficients: Array | None = None,
    fixed_gamma: Array | None = None,
    estimate_shape: bool = False,
    scores: bool = False,
    max_iter: int = 100,
    names: Sequence[str] | None = None,
    scale_names: Sequence[str] | None = None,
    describe: Callable[[BoolArray], str | None] | None = None,
) -> Maximum:
    r"""Maximise the likelihood of :math:`y = H\beta + \text{offset} + \sigma\varepsilon`, :math:`\log\sigma = W\gamma`.

    Newton with analytic derivatives, concave in Olsen's coordinates where the density is log-concave, sigma is one
    free number and nothing is truncated; elsewhere from a fit of that kind, with guarded steps, and where rows are few
    from some other starts too, of which the highest maximum is kept.

    Shapes: H (n, p), offset (n,), W (n, q), scale_offset (n,), fixed_coefficients, fixed_gamma (p,).
    """
    distribution = NormalNoise() if distribution is None else distribution
    if estimate_shape and distribution.shape_name is None:
        raise SpecError(f"The {distribution.name} distribution has no shape to estimate.")
    n = len(outcome)
    if not n:
        raise DataError("There are no rows to fit. Check the data and missing values.")
    H = H if isinstance(H, Absorbed) else np.asarray(H, dtype=np.float64)
    W = np.ones((n, 1)) if W is None else np.asarray(W, dtype=np.float64)
    offset = np.zeros(n) if offset is None else offset
    scale_offset = np.zeros(n) if scale_offset is None else scale_offset

    def rows(at: slice) -> tuple[Outcome, Designs]:
        return outcome.rows(at), split(H[at], W[at], offset[at], scale_offset[at], fixed_coefficients, fixed_gamma)

    how: dict[str, Any] = {"free_shape": estimate_shape, "scores": scores, "max_iter": max_iter}
    if is_mapped(H):
        store = Store(0)
        parts = LocalPartitions(blocks(n)).map(lambda at: store.keep("rows", rows(at)))
        return _maximise(parts, rows(slice(0, 0))[1], distribution, explain_partitions, keep=store.keep, **how)
    whole = rows(slice(0, n))
    why = partial(explain, outcome=outcome, design=whole[1], names=Names(names, scale_names, describe))
    return _maximise(LocalPartitions([whole]), whole[1], distribution, why, **how)


def maximise_partitions(
    partitions: LocalPartitions, *, distribution: Distribution, estimate_shape: bool, store: Store, max_iter: int = 100
) -> Maximum:
    """As :func:`maximise`; each partition is the outcome and the designs of its rows."""
    design = partitions.items[0][1].without_rows()
    options: dict[str, Any] = {"free_shape": estimate_shape, "scores": False, "max_iter": max_iter, "keep": store.keep}
    return _maximise(partitions, design, distribution, explain_partitions, **options)


def _maximise(
    partitions: LocalPartitions,
    design: Designs,
    distribution: Distribution,
    explain: Callable[[Climb, Working], str],
    *,
    free_shape: bool,
    scores: bool,
    max_iter: int,
    keep: Keep = hold,
) -> Maximum:
    """The highest of the maxima that are found, else in words why there is none."""
    with single_blas_thread(), np.errstate(all="ignore"):
        shape_range = distribution.coordinate_range() if free_shape else None
        working = standardise(partitions, shape_range=shape_range, keep=keep)

        def described(working: Working, distribution: Distribution) -> tuple[Maximum, list[int | None]]:
            """In the user's units; and to which ends of the range of the shape the best ascent and all others ran."""
            ends = Ascent(working, distribution).ends(max_iter)
            maxima = [end for end in ends if end.converged]
            best = _highest(maxima) if maxima else ends[0]
            message = best.reason if best.converged else explain(best, working)
            fit = in_users_units(best, working, distribution, design, message, scores=scores)
            return fit, [convergence.shape_end(end, working, distribution) for end in (best, *ends)]

        fit, (best_at, *others_at) = described(working, distribution)
        none = best_at is not None  # no end of an ascent to compare with
        for at in sorted({at for at in others_at if at is not None}):
            held = distribution.with_shape(distribution.shape_range[at])
            other, _ = described(replace(working, shape_range=None), held)
            if none or (other.converged, other.log_likelihood) > (fit.converged, fit.log_likelihood):
                message = convergence.words_for_end(held, at) if other.converged else other.message
                fit, none = with_given_shape(other, message), False
        return fit


def null_log_likelihood(outcome: Outcome, **model: Any) -> float:
    """Log likelihood of the model with an intercept only, the same distribution and scale model: see `maximise`."""
    fit = maximise(outcome, np.ones((len(outcome), 1)), **model)
    return fit.log_likelihood if fit.converged else float("nan")
