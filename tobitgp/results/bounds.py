"""Every approximation at one set of hyper-parameters, next to the exact answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from tobitgp.data.arrays import Problem, with_limits
from tobitgp.data.training_summary import NO_ROWS
from tobitgp.engines import single_blas_thread
from tobitgp.errors import NumericalError, SpecError
from tobitgp.inference import METHODS, Method, VIUpdates
from tobitgp.inference.evidence import exact_posterior, moments_of, prior_covariance, why_not_exact
from tobitgp.inference.fixed_point import find_posterior
from tobitgp.inference.partitioned import cut
from tobitgp.inference.vi import BOUNDS
from tobitgp.kinds.process import ProcessParts
from tobitgp.kinds.transformed_rows import log_jacobian
from tobitgp.likelihoods.censoring_noise import SIDES, with_side_noises
from tobitgp.priors.group_effects import GroupEffects
from tobitgp.priors.kernel_block import KernelBlock
from tobitgp.priors.level_curves import LevelCurves
from tobitgp.priors.structure import Block, Knots, StructuredTerm, StructuredTermAt, split_theta
from tobitgp.typing import Array


class Answer(NamedTuple):
    """Evidence with its standard error, and mean and sd of f (n,) in the problem's order; standardised."""

    value: float
    error: float
    mean: Array
    sd: Array


def compare_bounds(results: Any) -> pd.DataFrame:
    """Evaluate every approximation at the hyper-parameters of a fit, and the exact evidence.

    The exact evidence is the density of the exact rows times a box probability of the censored ones given them, by
    quasi-Monte Carlo with the prior in full, (EX1) to (EX4) of the theory pages. It is available for up to 2,000 rows,
    300 of them censored, under Gaussian noise, with whole weights and without truncation. The approximations use the
    features of the fit. They use censoring noises only if the fit is by ``tg.VI(bound="local")``. ``"vi exact"`` is a
    lower bound, and so is ``"vi local"`` without censoring noises; ``"vi karlova"`` and ``"vi monte_carlo"`` are not
    bounds.

    Parameters
    ----------
    results : GPResults
        With its training rows.

    Returns
    -------
    DataFrame
        A row for ``"exact"``, if it is available, and one for each method and bound that supports the family and the
        rows. ``value``: log evidence in the user's units, NaN where the method did not converge; ``se``: its standard
        error, NaN where there is no randomness; ``diff``: difference from the reference in nats; ``mean_rmse``: root
        mean square difference of the posterior means of f in the censored rows (all rows where none is), on the scale
        of the model; ``sd_ratio``: geometric mean of the ratios of posterior sds there. ``.attrs["reference"]`` names
        the reference: ``"exact"``, or ``"ep"`` if the exact evidence is not available for the reason in
        ``.attrs["no_exact"]``.

    Raises
    ------
    SpecError
        If the fit is not a Gaussian process, or holds no rows.

    References
    ----------
    .. [1] M. Basson, T. M. Louw and T. R. Smith, Statistics and Computing 33 (2023), Eq. 46.
    .. [2] A. Karlova et al. (2024), Eqs. 22 and 37.

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("y ~ gp(x) | censor(lower)", tg.datasets.simulate_groot_lucas(), method=tg.EP(hyper="maximize"))
    >>> table = tg.compare_bounds(res)
    >>> list(table.index)
    ['exact', 'laplace', 'ep', 'vi exact', 'vi local', 'vi monte_carlo', 'vi karlova']
    >>> table.loc[["ep", "vi exact", "vi local"], "diff"].round(2)
    ep         -0.00
    vi exact   -0.02
    vi local   -3.36
    Name: diff, dtype: float64
    """
    whole: Any = getattr(results, "parts", None)
    if not getattr(whole, "has_sites", False):
        raise SpecError(f"compare_bounds() requires a fitted Gaussian process, not {type(results).__name__}.")
    parts: ProcessParts = whole.reported.fit
    if parts.fitted.points[0].noise:
        raise SpecError("compare_bounds() does not support a process in sigma=. Fit without it.")
    if parts.training is None:
        raise SpecError(f"{NO_ROWS}, and compare_bounds() requires them.")
    problem, answers, attrs = parts.gp.problem, {}, {}
    if parts.noise_free and all(rows.kind == "exact" for rows in parts.gp.problem.rows if len(rows)):
        raise SpecError(
            "compare_bounds(): without noise and without censored rows the result is exact. Use log_evidence."
        )
    gaussian = parts.family.distribution.gaussian
    in_the_way = why_not_exact(problem) if gaussian else "the noise is not Gaussian"
    with single_blas_thread():
        if in_the_way is None:
            try:
                answers["exact"] = _exact(parts)
            except np.linalg.LinAlgError:
                in_the_way = "the covariance of the rows is singular to working precision"
        answers |= dict(_approximations(parts))
    if in_the_way is not None:
        attrs["no_exact"] = in_the_way
    attrs["reference"] = next(name for name in ("exact", "ep", *answers) if name in answers)
    table = _table(answers, answers[attrs["reference"]], problem)
    if whole.reported.power is not None:
        table["value"] += log_jacobian(whole.rows.response, whole.reported.power)
    table.attrs |= attrs
    return table


def _exact(parts: ProcessParts) -> Answer:
    prior, point = parts.gp.prior, parts.fitted.points[0]
    K = prior_covariance(prior, split_theta(prior.gps, point.theta))
    problem = parts.gp.problem
    sigma = np.concatenate([rows.noise(np.full(len(rows), point.sigma)) for rows in parts.gp.rows_at(point.theta)])
    return Answer(*exact_posterior(problem, K, sigma))


def _approximations(parts: ProcessParts) -> Iterator[tuple[str, Answer]]:
    """Those that work with the family and the rows, and converge."""
    gp, theta, roles = parts.gp, parts.fitted.points[0].theta, parts.fitted.parameters.roles
    if parts.noise_free:  # where no other method is defined
        point = parts.fitted.points[0]
        mean, v_p, d = point.marginals(gp.prior.inputs)
        yield "ep", Answer(point.evidence, np.nan, mean, np.sqrt(v_p + d))
        return
    plain = np.array([t for t, role in zip(theta, roles, strict=True) if role not in SIDES])
    blocks = _blocks(parts)
    for name, method in _methods(parts):
        problem, at, likelihood = gp.problem, plain, parts.family.likelihood
        if method.side_noises:
            at, likelihood = theta, with_side_noises(likelihood, roles)
        try:
            if method.traits.limits:
                problem = with_limits(problem, parts.rows.response, gp.known_mean(parts.rows.design))
            found = find_posterior(cut(problem, gp.prior.inputs), blocks, at, method, likelihood)
        except (SpecError, NumericalError):
            continue
        mean, var = moments_of(found)
        yield name, Answer(found.evidence if found.converged else np.nan, np.nan, mean, np.sqrt(var))


def _methods(parts: ProcessParts) -> Iterator[tuple[str, Method]]:
    own = parts.fitted.method
    for name in METHODS:
        if name != VIUpdates.name:
            yield name, own if own.name == name else METHODS[name]()
    for bound in BOUNDS:
        method = own if isinstance(own, VIUpdates) and own.bound == bound else VIUpdates(bound=bound)
        if not method.traits.gaussian_only or parts.family.distribution.gaussian:
            yield f"{VIUpdates.name} {bound}", method


def _blocks(parts: ProcessParts) -> list[Block]:
    """The blocks of the fit, with the inducing inputs or the structure that it ended with."""
    prior, point = parts.gp.prior, parts.fitted.points[0]
    blocks: list[Block] = []
    field, first = point.field, 0 if prior.linear is None else 1
    found: list[Any] = list(point.blocks[first:])
    for gp, at in zip(prior.gps, found, strict=False):
        if isinstance(at, StructuredTermAt):
            assert field is not None
            knots = Knots(field.structure, field.extended(prior.gps[field.block - first].inputs)[1])
            blocks.append(StructuredTerm(gp.inputs, gp.n_parameters, knots, gp.grouping))
        elif isinstance(gp, GroupEffects):
            blocks.append(gp.block)
        elif isinstance(gp, LevelCurves):
            blocks.append(gp.induced(at.curve.Z))
        else:
            blocks.append(KernelBlock(gp.inputs, gp.covariance, at.Z, gp.grouping))
    return prior.with_linear(blocks)


def _table(answers: dict[str, Answer], reference: Answer, problem: Problem) -> pd.DataFrame:
    """A row for each answer, compared in the censored rows, or in all where none is."""
    rows = np.concatenate([np.full(len(part), part.kind != "exact") for part in problem.rows])
    rows = rows if rows.any() else ~rows
    lines = []
    for answer in answers.values():
        gap = problem.units.scale * (answer.mean - reference.mean)[rows]
        ratio = np.exp(np.mean(np.log(answer.sd[rows] / reference.sd[rows])))
        numbers = (answer.value + problem.units.log_jacobian, answer.error, answer.value - reference.value)
        lines.append((*numbers, float(np.sqrt(np.mean(gap * gap))), float(ratio)))
    return pd.DataFrame(lines, index=list(answers), columns=["value", "se", "diff", "mean_rmse", "sd_ratio"])
