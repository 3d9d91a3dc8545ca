"""Maximum likelihood of a censored location-scale regression, on arrays: starts, and the ends of Newton's iteration.

(REG1) and (REG2) of the theory pages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np

from tobitgp.data.outcome import Outcome
from tobitgp.distributions.base import Distribution
from tobitgp.distributions.logistic import Logistic
from tobitgp.distributions.normal import Normal
from tobitgp.distributions.student import Student
from tobitgp.engines import LocalPartitions, Partitions, Store, single_blas_thread
from tobitgp.errors import DataError, SpecError
from tobitgp.regression import convergence
from tobitgp.regression.convergence import LARGE_DF, Names, Verdict, explain
from tobitgp.regression.maximum import Maximum, in_users_units, with_given_df
from tobitgp.regression.newton import Climb, State, Step, climb, evaluate, guarded_step, olsen_step
from tobitgp.regression.working import Chunk, Designs, Working, reach, split, standardise
from tobitgp.typing import Array, BoolArray

_START_ITERATIONS = 10
_UNLIKELY = -50.0
_FEW = 500  # rows above which one start is enough: local maxima are a matter of small samples
_HEAVY_DF, _LIGHT_DF = 1.5, 30.0
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
    that the sizes of its residuals show, the fit of a Cauchy distribution, and many degrees of freedom.
    """
    relaxed = relaxed_start(working, distribution)
    yield relaxed
    if working.n > _FEW or (distribution.log_concave and working.constant):
        return
    if not working.constant:
        yield _with_residual_scale(working, relaxed)
    if not distribution.log_concave:
        yield _cauchy_start(working, relaxed)
    if working.free_df:
        yield np.append(relaxed[:-1], np.log(_LIGHT_DF))


def _first_log_sigma(working: Working, distribution: Distribution) -> float:
    """Working log sigma, 0 or more, at which the first fit makes no exact row less likely than e^-50."""
    ends = [(chunk.lower.min(), chunk.lower.max()) for chunk in working.chunks if chunk.kind == "exact"]
    extremes, tau = np.array(ends, dtype=np.float64), 0.0
    while extremes.size and distribution.log_density(extremes * np.exp(-tau), 0)[0].min() < _UNLIKELY:
        tau += 0.5
    return tau


def relaxed_start(working: Working, distribution: Distribution) -> Array:
    """Estimates of the concave problem nearest to this one: one sigma, no window, logistic for Student's t."""
    chunks = tuple(
        replace(c, window="open", V=np.ones((len(c.weight), 1)), tau0=np.zeros_like(c.tau0)) for c in working.chunks
    )
    relaxed = replace(working, chunks=chunks, inverse_V=np.eye(1), constant=True, free_df=False)
    nearest = distribution if distribution.log_concave else Logistic()
    x = np.zeros(working.p + 1)
    x[-1] = _first_log_sigma(working, nearest)

    def function(at: Array) -> State:
        return evaluate(relaxed, nearest, at)

    end = climb(
        function,
        lambda state: olsen_step(state, 0.0),
        function(x),
        max_iter=_START_ITERATIONS,
        stop=lambda at: convergence.far(at, relaxed),
    )
    if end.reason in ("settled", "limit"):
        x = end.state.x
    rest = [c.V.T @ (x[-1] - c.tau0) for c in working.chunks]
    gram = sum((c.V.T @ c.V for c in working.chunks), np.zeros((working.q, working.q)))
    g = np.linalg.solve(gram, np.sum(rest, axis=0)) if working.q else np.zeros(0)
    df = np.log([distribution.shape]) if working.free_df else np.zeros(0)
    return np.concatenate([x[:-1], g, df])


def _with_residual_scale(working: Working, x: Array) -> Array:
    """The same location, and log sigma regressed on the columns as the residuals' log sizes are (Harvey, 1976)."""
    V = np.concatenate([chunk.V for chunk in working.chunks])
    log_sizes = np.concatenate([np.log(_sizes(chunk, x[: working.p])) - chunk.tau0 for chunk in working.chunks])
    known = np.isfinite(log_sizes)
    out, at = x.copy(), slice(working.p, working.p + working.q)
    if known.any():
        out[at] = np.linalg.lstsq(V[known], log_sizes[known] - _MEAN_LOG, rcond=None)[0]
    return out


def _sizes(chunk: Chunk, b: Array) -> Array:
    """Absolute residuals of exact rows and of intervals' middles, NaN for the others."""
    middle = 0.5 * chunk.lower + 0.5 * chunk.upper
    return np.where(np.isfinite(middle), np.abs(middle - chunk.Q @ b) + _TINY, np.nan)


def _cauchy_start(working: Working, x: Array) -> Array:
    """Estimates under a Cauchy distribution, which outliers hardly move."""
    given = replace(working, free_df=False)
    k = working.p + working.q

    def function(at: Array) -> State:
        return evaluate(given, Student(1.0), at)

    end = climb(
        function,
        lambda state: guarded_step(state, lambda move: reach(move, given)),
        function(x[:k]),
        max_iter=_START_ITERATIONS,
        stop=lambda at: convergence.far(at, given),
    )
    return np.concatenate([end.state.x, np.full(len(x) - k, np.log(_HEAVY_DF))])


def ascend(
    working: Working, distribution: Distribution, max_iter: int
) -> tuple[list[Climb], Callable[[Array], State], Callable[[State], Step]]:
    """Climb from one start where the problem is concave, from each of some where it is not and rows are few."""

    def function(x: Array) -> State:
        return evaluate(working, distribution, x)

    def stop(x: Array) -> bool:
        return convergence.far(x, working)

    windows = any(chunk.window != "open" for chunk in working.chunks)
    if distribution.log_concave and working.constant and working.q == 1 and not windows and not working.free_df:
        tau0 = float(working.chunks[0].tau0[0])

        def olsen(state: State) -> Step:
            return olsen_step(state, tau0)

        begin = function(concave_start(working, distribution))
        return [climb(function, olsen, begin, max_iter=max_iter, stop=stop)], function, olsen

    def guarded(state: State) -> Step:
        return guarded_step(state, lambda move: reach(move, working))

    begins = [function(x) for x in starts(working, distribution)]
    good = [state for state in begins[1:] if np.isfinite(state.value) and np.isfinite(state.hessian).all()]
    ends = [climb(function, guarded, state, max_iter=max_iter, stop=stop) for state in (begins[0], *good)]
    return ends, function, guarded


def maximise(
    outcome: Outcome,
    H: Array,
    *,
    distribution: Distribution | None = None,
    offset: Array | None = None,
    W: Array | None = None,
    scale_offset: Array | None = None,
    fixed_coefficients: Array | None = None,
    fixed_gamma: Array | None = None,
    estimate_df: bool = False,
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
    distribution = Normal() if distribution is None else distribution
    if estimate_df and distribution.shape_name is None:
        raise SpecError(f"The {distribution.name} distribution has no degrees of freedom to estimate.")
    n = len(outcome)
    if not n:
        raise DataError("There are no rows to fit.")
    design = split(
        np.asarray(H, dtype=np.float64),
        np.ones((n, 1)) if W is None else np.asarray(W, dtype=np.float64),
        np.zeros(n) if offset is None else offset,
        np.zeros(n) if scale_offset is None else scale_offset,
        fixed_coefficients,
        fixed_gamma,
    )
    called = Names(names, scale_names, describe)
    with single_blas_thread(), np.errstate(all="ignore"):
        working = standardise(LocalPartitions([(outcome, design)]), free_df=estimate_df)
        best, many_df = _climb(working, distribution, max_iter)
        fit = _describe(best, outcome, design, distribution, working, scores, called)
        if many_df:
            normal = distribution.with_shape(convergence.LARGEST_DF)
            working = replace(working, free_df=False)
            other = _describe(_climb(working, normal, max_iter)[0], outcome, design, normal, working, scores, called)
            if not fit.converged or (other.converged and other.log_likelihood > fit.log_likelihood):
                return with_given_df(other, LARGE_DF if other.converged else other.message)
        return fit


def maximise_partitions(
    partitions: Partitions,
    *,
    distribution: Distribution,
    estimate_df: bool = False,
    max_iter: int = 100,
    store: Store | None = None,
) -> Maximum:
    """Maximise as :func:`maximise`; each partition is the outcome and the designs of its rows."""
    with single_blas_thread(), np.errstate(all="ignore"):
        design = partitions.collect(_without_rows)[0]
        working = standardise(partitions, free_df=estimate_df, store=store)
        best, many_df = _climb(working, distribution, max_iter)
        fit = _describe_partitions(best, design, distribution, working)
        if many_df:
            normal = distribution.with_shape(convergence.LARGEST_DF)
            working = replace(working, free_df=False)
            other = _describe_partitions(_climb(working, normal, max_iter)[0], design, normal, working)
            if not fit.converged or (other.converged and other.log_likelihood > fit.log_likelihood):
                return with_given_df(other, LARGE_DF if other.converged else other.message)
        return fit


def _without_rows(rows: tuple[Outcome, Designs]) -> Designs:
    """Which coefficients are estimated, and the values of the others."""
    design = rows[1]
    none = slice(0, 0)
    return replace(
        design, H=design.H[none], W=design.W[none], offset=design.offset[none], tau_offset=design.tau_offset[none]
    )


def _describe_partitions(found: Verdict, design: Designs, distribution: Distribution, working: Working) -> Maximum:
    """The maximum in the user's units, with a cause that needs no look at single rows."""
    message = found.cause
    if found.cause == "df":
        message = LARGE_DF
    elif found.cause == "limit":
        message = "Not converged when the limit of iterations was reached; raise max_iter."
    elif not found.converged:
        message = (
            "The likelihood of these partitioned data has no maximum; fit some of the rows as a DataFrame to see which "
            "columns and rows are the cause."
        )
    return in_users_units(
        found.end, working, distribution, design, found.converged, message, False, found.cause == "flat"
    )


def _climb(working: Working, distribution: Distribution, max_iter: int) -> tuple[Verdict, bool]:
    """The highest of the maxima that were found, else the first end; and whether a climb ran to many df."""
    ends, function, step = ascend(working, distribution, max_iter)
    verdicts = [convergence.verdict(end, working, function, step) for end in ends]
    maxima = [one for one in verdicts if one.converged]
    best = max(maxima, key=lambda one: one.end.state.value) if maxima else verdicts[0]
    return best, any(not one.converged and convergence.at_large_df(one.end.state.x, working) for one in verdicts)


def _describe(
    found: Verdict,
    outcome: Outcome,
    design: Designs,
    distribution: Distribution,
    working: Working,
    scores: bool,
    names: Names,
) -> Maximum:
    """The maximum in the user's units, or in words why there is none."""
    message = found.cause
    if not found.converged:
        message = explain(found.cause, found.end.state, working, outcome, design, names)
    return in_users_units(
        found.end, working, distribution, design, found.converged, message, scores, found.cause == "flat"
    )


def null_log_likelihood(
    outcome: Outcome,
    *,
    distribution: Distribution | None = None,
    offset: Array | None = None,
    W: Array | None = None,
    scale_offset: Array | None = None,
    fixed_gamma: Array | None = None,
    estimate_df: bool = False,
) -> float:
    """Log likelihood of the model with an intercept only, the same distribution and scale model."""
    fit = maximise(
        outcome,
        np.ones((len(outcome), 1)),
        distribution=distribution,
        offset=offset,
        W=W,
        scale_offset=scale_offset,
        fixed_gamma=fixed_gamma,
        estimate_df=estimate_df,
    )
    return fit.log_likelihood if fit.converged else float("nan")
