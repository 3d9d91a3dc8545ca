"""Maximum likelihood of a censored location-scale regression, on arrays; (REG1) and (REG2) of the theory pages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from tobitgp.data.outcome import Outcome
from tobitgp.distributions.base import Distribution
from tobitgp.distributions.normal import Normal
from tobitgp.engines import LocalPartitions, Partitions, Store, single_blas_thread
from tobitgp.errors import DataError, SpecError
from tobitgp.regression import convergence
from tobitgp.regression.convergence import LARGE_DF, Names, Verdict, explain
from tobitgp.regression.maximum import Maximum, in_users_units, with_given_df
from tobitgp.regression.starts import ascend
from tobitgp.regression.working import Designs, Working, split, standardise
from tobitgp.typing import Array, BoolArray


def maximise(
    outcome: Outcome,
    H: Array,
    *,
    law: Distribution | None = None,
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

    Newton's method with analytic derivatives, concave in Olsen's coordinates where the law is log-concave, sigma is one
    free number and nothing is truncated; elsewhere from a fit of that kind, with guarded steps, and where rows are few
    from some other starts too, of which the highest maximum is kept.

    Shapes: H (n, p), offset (n,), W (n, q), scale_offset (n,), fixed_coefficients, fixed_gamma (p,).
    """
    law = Normal() if law is None else law
    if estimate_df and law.shape_name is None:
        raise SpecError(f"The {law.name} distribution has no degrees of freedom to estimate.")
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
        best, many_df = _climb(working, law, max_iter)
        fit = _describe(best, outcome, design, law, working, scores, called)
        if many_df:
            normal = law.with_shape(convergence.LARGEST_DF)
            working = replace(working, free_df=False)
            other = _describe(_climb(working, normal, max_iter)[0], outcome, design, normal, working, scores, called)
            if not fit.converged or (other.converged and other.log_likelihood > fit.log_likelihood):
                return with_given_df(other, LARGE_DF if other.converged else other.message)
        return fit


def maximise_partitions(
    partitions: Partitions,
    *,
    law: Distribution,
    estimate_df: bool = False,
    max_iter: int = 100,
    store: Store | None = None,
) -> Maximum:
    """Maximise as :func:`maximise`; each partition is the outcome and the designs of its rows."""
    with single_blas_thread(), np.errstate(all="ignore"):
        design = partitions.collect(_without_rows)[0]
        working = standardise(partitions, free_df=estimate_df, store=store)
        best, many_df = _climb(working, law, max_iter)
        fit = _describe_partitions(best, design, law, working)
        if many_df:
            normal = law.with_shape(convergence.LARGEST_DF)
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


def _describe_partitions(found: Verdict, design: Designs, law: Distribution, working: Working) -> Maximum:
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
    return in_users_units(found.end, working, law, design, found.converged, message, False, found.cause == "flat")


def _climb(working: Working, law: Distribution, max_iter: int) -> tuple[Verdict, bool]:
    """The highest of the maxima that were found, else the first end; and whether a climb ran to many df."""
    ends, function, step = ascend(working, law, max_iter)
    verdicts = [convergence.verdict(end, working, function, step) for end in ends]
    maxima = [one for one in verdicts if one.converged]
    best = max(maxima, key=lambda one: one.end.state.value) if maxima else verdicts[0]
    return best, any(not one.converged and convergence.at_large_df(one.end.state.x, working) for one in verdicts)


def _describe(
    found: Verdict, outcome: Outcome, design: Designs, law: Distribution, working: Working, scores: bool, names: Names
) -> Maximum:
    """The maximum in the user's units, or in words why there is none."""
    message = found.cause
    if not found.converged:
        message = explain(found.cause, found.end.state, working, outcome, design, names)
    return in_users_units(found.end, working, law, design, found.converged, message, scores, found.cause == "flat")


def null_log_likelihood(
    outcome: Outcome,
    *,
    law: Distribution | None = None,
    offset: Array | None = None,
    W: Array | None = None,
    scale_offset: Array | None = None,
    fixed_gamma: Array | None = None,
    estimate_df: bool = False,
) -> float:
    """Log likelihood of the model with an intercept only, the same law and scale model."""
    fit = maximise(
        outcome,
        np.ones((len(outcome), 1)),
        law=law,
        offset=offset,
        W=W,
        scale_offset=scale_offset,
        fixed_gamma=fixed_gamma,
        estimate_df=estimate_df,
    )
    return fit.log_likelihood if fit.converged else float("nan")
