"""Every approximation at one set of hyper-parameters, beside the exact answer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from tobitgp.data.arrays import Problem, with_limits
from tobitgp.data.training_summary import NO_ROWS
from tobitgp.engines import single_blas_thread
from tobitgp.errors import NumericalError, SpecError
from tobitgp.inference import METHODS, VI, Method
from tobitgp.inference.evidence import exact_posterior, moments_of, prior_covariance, why_not_exact
from tobitgp.inference.fixed_point import find_posterior
from tobitgp.inference.partitioned import cut
from tobitgp.inference.posterior import Posterior
from tobitgp.inference.vi import BOUNDS
from tobitgp.likelihoods.censoring_noise import SIDES, with_side_noises
from tobitgp.priors.block import Block, split_theta
from tobitgp.priors.kernel_block import KernelBlock
from tobitgp.results.views import Parts
from tobitgp.typing import Array, BoolArray

COLUMNS = ["value", "se", "diff", "mean_rmse", "sd_ratio"]


class Answer(NamedTuple):
    """Evidence with its standard error, and mean and sd of f (n,) in the problem's order; standardised."""

    value: float
    error: float
    mean: Array
    sd: Array


def compare_bounds(results: Any) -> pd.DataFrame:
    """Evaluate every approximation at the hyper-parameters of a fit, beside the exact evidence.

    The exact evidence is the density of the exact rows times an orthant (or box) probability of the censored ones given
    them, by quasi-Monte Carlo with the prior in full, (EX1) to (EX4) of the theory pages. The approximations use the
    fit's own features, and no censoring noises but those that a fit with ``bound="local"`` has.

    Parameters
    ----------
    results : GPResults
        With its training rows.

    Returns
    -------
    DataFrame
        A row for ``"exact"``, where it can be had, and one for each method and bound that goes with the family and the
        rows. ``value``: log evidence, or what the approximation says of it, in the user's units, NaN where it did not
        converge; ``se``: its standard error, NaN where there is no randomness; ``diff``: nats from the reference;
        ``mean_rmse``: root mean square difference of the posterior means of f in the censored rows (all rows where none
        is), on the scale that is modelled; ``sd_ratio``: geometric mean of the ratios of posterior sds there. The
        reference is the exact answer, or ``"ep"`` where ``.attrs["no_exact"]`` says what is in its way;
        ``.attrs["reference"]`` names it.

    Raises
    ------
    SpecError
        If the fit is none of a process, or holds no rows.

    Notes
    -----
    Up to 2000 rows, 300 of them censored, have an exact answer, under Gaussian noise, with whole weights and without
    truncation. ``"vi exact"`` is a lower bound on it, and so is ``"vi local"`` without censoring noises; ``"vi
    karlova"`` is no bound at all, and ``"vi monte_carlo"`` errs to either side.

    References
    ----------
    .. [1] M. Basson, T. M. Louw and T. R. Smith, Statistics and Computing 33 (2023), Eq. 46.
    .. [2] A. Karlova et al. (2024), Eqs. 22 and 37.

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("y ~ gp(x) | censor(lower)", tg.datasets.simulate_groot_lucas(), hyper="maximize")
    >>> table = tg.compare_bounds(res)
    >>> list(table.index)
    ['exact', 'laplace', 'ep', 'vi exact', 'vi local', 'vi monte_carlo', 'vi karlova']
    >>> table.loc[["ep", "vi exact", "vi local"], "diff"].round(2)
    ep         -0.00
    vi exact   -0.02
    vi local   -3.51
    Name: diff, dtype: float64
    """
    parts = getattr(results, "parts", None)
    if not isinstance(parts, Parts):
        raise SpecError(f"compare_bounds() takes a fitted Gaussian process, not {type(results).__name__}.")
    if parts.training is None:
        raise SpecError(f"{NO_ROWS}, and compare_bounds() computes with them.")
    problem, units = parts.gp.problem, parts.gp.problem.units
    answers, in_the_way = {}, _why_not_exact(parts)
    with single_blas_thread():
        if in_the_way is None:
            try:
                answers["exact"] = _exact(parts)
            except np.linalg.LinAlgError:
                in_the_way = "the covariance of the rows is singular to working precision"
        answers |= dict(_approximations(parts, parts.rows.response))
    reference = next(name for name in ("exact", "ep", *answers) if name in answers)
    table = _table(answers, answers[reference], _compared(problem), units.scale, units.log_jacobian)
    table.attrs |= {"reference": reference} | ({} if in_the_way is None else {"no_exact": in_the_way})
    return table


def _why_not_exact(parts: Parts) -> str | None:
    return why_not_exact(parts.gp.problem) if parts.family.distribution.gaussian else "the noise is not Gaussian"


def _exact(parts: Parts) -> Answer:
    prior, point = parts.gp.prior, parts.fitted.points[0]
    K = prior_covariance(prior.linear, prior.gps, split_theta(prior.gps, point.theta))
    problem = parts.gp.problem
    sigma = np.concatenate([rows.noise(np.full(len(rows), point.sigma)) for rows in problem.rows])
    return Answer(*exact_posterior(problem, K, sigma))


def _approximations(parts: Parts, response: Any) -> Iterator[tuple[str, Answer]]:
    """Those that go with the family and the rows, and converge."""
    fitted = parts.fitted
    theta, roles = fitted.points[0].theta, fitted.parameters.roles
    plain = np.array([t for t, role in zip(theta, roles, strict=True) if role not in SIDES])
    blocks = _blocks(parts)
    for name, method in _methods(parts):
        problem, likelihood = parts.gp.problem, parts.family.likelihood
        if method.limits:
            try:
                problem = with_limits(problem, response, parts.gp.known_mean(parts.rows.design))
            except SpecError:
                continue
        sided = method.side_noises
        at = (theta, with_side_noises(likelihood, roles)) if sided else (plain, likelihood)
        try:
            yield name, _answer(find_posterior(cut(problem, parts.gp.prior.inputs), blocks, at[0], method, at[1]))
        except NumericalError:
            continue


def _methods(parts: Parts) -> Iterator[tuple[str, Method]]:
    own = parts.fitted.method
    for name in METHODS:
        if name != VI.name:
            yield name, own if own.name == name else METHODS[name]()
    for bound in BOUNDS:
        method = own if isinstance(own, VI) and own.bound == bound else VI(bound=bound)
        if not method.gaussian_only or parts.family.distribution.gaussian:
            yield f"{VI.name} {bound}", method


def _blocks(parts: Parts) -> list[Block]:
    """The blocks of the fit, with the inducing inputs that it ended with."""
    prior, point = parts.gp.prior, parts.fitted.points[0]
    first: list[Block] = [] if prior.linear is None else [prior.linear]
    found: list[Any] = list(point.blocks[len(first) :])
    return first + [
        KernelBlock(gp.inputs, gp.covariance, at.Z, gp.grouping) for gp, at in zip(prior.gps, found, strict=True)
    ]


def _answer(posterior: Posterior) -> Answer:
    mean, var = moments_of(posterior)
    value = posterior.evidence if posterior.converged else np.nan
    return Answer(value, np.nan, mean, np.sqrt(var))


def _compared(problem: Problem) -> BoolArray:
    censored = np.concatenate([np.full(len(rows), rows.kind != "exact") for rows in problem.rows])
    return censored if censored.any() else ~censored


def _table(
    answers: dict[str, Answer], reference: Answer, rows: BoolArray, scale: float, log_jacobian: float
) -> pd.DataFrame:
    lines = []
    for name, answer in answers.items():
        gap = scale * (answer.mean - reference.mean)[rows]
        ratio = np.exp(np.mean(np.log(answer.sd[rows] / reference.sd[rows])))
        numbers = (answer.value + log_jacobian, answer.error, answer.value - reference.value)
        lines.append((name, *numbers, float(np.sqrt(np.mean(gap * gap))), float(ratio)))
    return pd.DataFrame([line[1:] for line in lines], index=[line[0] for line in lines], columns=COLUMNS)
