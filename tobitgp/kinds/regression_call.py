"""Regressions, processes and mixtures of rows as they are: their calls, and the fit of a regression."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tobitgp.data.absorbed import Absorbed, Columns, centred
from tobitgp.data.linear_columns import LinearState, level_columns, quoted
from tobitgp.data.outcome import Outcome, outcome
from tobitgp.data.partition import DataPartition, naming
from tobitgp.data.prepare import PartitionedData
from tobitgp.data.row_warnings import in_common
from tobitgp.data.row_weights import warn_fractions
from tobitgp.engines import Store
from tobitgp.errors import BoundaryWarning, SpecError, user_level
from tobitgp.formula.spec import ModelSpec
from tobitgp.imports import uncollected
from tobitgp.inference.given_parameters import GivenParameters, read_mapping
from tobitgp.kinds.call import Rows
from tobitgp.kinds.fit_arguments import CovarianceOptions, FormulaRows, known_shape, of_maximum, read_fixed, warn_of
from tobitgp.kinds.kind import Kind, fit_maximum, fit_posterior
from tobitgp.kinds.likelihood import linear_estimates, scale_estimates
from tobitgp.kinds.progress import progress_bar
from tobitgp.kinds.regression import RegressionParts, model_arguments
from tobitgp.likelihoods import Family
from tobitgp.method_settings import MLE
from tobitgp.method_spelling import read_method
from tobitgp.numerics.linear_algebra import breakdown_in_words
from tobitgp.options import FitOptions, method_for, read_rng, refuse_with_mle, refuse_without_mle
from tobitgp.regression import covariance, maximise, maximise_partitions, unidentified
from tobitgp.regression.working import Designs, split
from tobitgp.results.likelihood.regression_results import RegressionResults
from tobitgp.results.views import named_columns
from tobitgp.typing import Array, IntArray

if TYPE_CHECKING:
    from tobitgp.kinds.process import Evidence


class Regression(Kind):
    """Linear terms by maximum likelihood, processes and priors by a posterior, components of a ``mixture()``."""

    def fit(self, rows: Rows, asked: FitOptions) -> Any:
        return super().fit(rows, asked) if rows.spec.mixture is None else fit_mixture(rows, asked)

    def maximum(self, rows: Rows, asked: FitOptions) -> Any:
        refuse_with_mle(asked)
        if isinstance(rows.read, PartitionedData):
            fitter: Any = partial(fit_partitions, rows.spec, rows.read, rows.noise, rows.columns)
        else:
            fitter = partial(fit_regression, rows.in_memory)
        return fit_maximum(rows, asked, RegressionResults, fitter, fixed=asked.fixed)

    def posterior(self, rows: Rows, asked: FitOptions) -> Any:
        with uncollected():
            from tobitgp.kinds.process import estimated_values, fit_process, read_start
            from tobitgp.results.process.process_results import GPResults

        refuse_without_mle(asked.cov_type, asked.cov_kwds)
        near = read_start(asked.start)
        if near is not None:
            asked = replace(asked, start=estimated_values(near, asked.fixed or {}))
            near = near if asked.n_starts is None else None
        read = rows.spec, rows.read, rows.noise, rows.covariates(), rows.columns, near
        return GPResults.from_parts(fit_posterior(asked, rows.noise, partial(fit_process, *read)))

    def evidence(self, rows: Rows, params: Mapping[str, float], *, method: Any, **options: Any) -> Evidence:
        if rows.spec.mixture is not None:
            raise SpecError(
                "evidence() requires a Gaussian process or a regression with priors, and this is a mixture."
            )
        from tobitgp.kinds.process import evidence_at

        method = read_method(method)
        if isinstance(method, MLE):
            raise SpecError("method='mle' has no evidence. Use llf of a fit with fixed= for its log likelihood.")
        chosen = method_for(method, rows.noise)
        updates = chosen.updates()
        at = read_mapping("params", params)
        return evidence_at(
            rows.spec,
            rows.read,
            rows.noise,
            method=updates,
            given=GivenParameters.read(chosen.inducing, at, None, options["priors"], updates.side_noises),
            settings=chosen.settings(read_rng(options["rng"])),
            gradient=options["gradient"],
        )


def fit_mixture(rows: Rows, asked: FitOptions) -> Any:
    """Results of components."""
    with uncollected():
        from tobitgp.kinds.mixture_fit import choose_mixture_method, fit_components, refuse_with_mixture
        from tobitgp.kinds.mixture_start import is_given
        from tobitgp.mixture.family import MixtureFamily
        from tobitgp.results.mixture.mixture_results import MixtureResults

    if asked.cov_type == "nonrobust":
        warn_fractions(rows.read.found.fractions, rows.read.found.nobs)
    refuse_with_mixture(asked.named(("fixed", "cov_type", "cov_kwds")))
    method = choose_mixture_method(asked.method)
    if is_given(asked.start) and method == type(method)():
        method = replace(method, n_init=1)
    assert isinstance(rows.family, MixtureFamily)
    read = rows.spec, rows.read, rows.family, rows.covariates(), rows.columns
    with breakdown_in_words(), progress_bar(asked.progress, "objective") as on_step:
        options: dict[str, Any] = {"priors": asked.priors, "rng": asked.rng, "start": asked.start}
        parts = fit_components(*read, method=method, on_step=on_step, **options)
    return MixtureResults(parts)


def fit_regression(
    rows: FormulaRows,
    *,
    fixed: Mapping[str, float] | None = None,
    errors: CovarianceOptions,
    max_iter: int = 200,
) -> RegressionParts:
    """Fit a formula without processes by maximum likelihood."""
    _check(rows.spec)
    training, family = rows.training, rows.family
    linear, scale = training.design.columns, training.design.scale
    family, fixed = known_shape(family, fixed, linear)
    coefficients, gamma = read_fixed(fixed, linear, () if scale is None else scale.columns, family)
    seen = outcome(training.response, log_time=family.log_time, labels=training.labels)
    _warn_one_exact(_counts(seen), gamma)
    centre = _centre(training.state.linear, coefficients, [_weighted_sums(training.design.H, seen.weight)])
    maximum = maximise(
        seen,
        centred(training.design.H, centre),
        fixed_coefficients=coefficients,
        fixed_gamma=gamma,
        scores=errors.robust,
        max_iter=max_iter,
        names=linear,
        scale_names=None if scale is None else scale.columns,
        describe=partial(in_common, rows.covariates),
        **model_arguments(training.design, family),
    )
    warn_of(maximum)
    made = of_maximum(rows._replace(family=family), maximum, seen, errors)
    parts = RegressionParts(**made | {"centre": centre})
    _warn_blind(parts)
    return parts


def fit_partitions(
    spec: ModelSpec,
    data: PartitionedData,
    family: Family,
    columns: Sequence[str],
    *,
    fixed: Mapping[str, float] | None = None,
    max_iter: int = 200,
) -> RegressionParts:
    """As :func:`fit_regression`, from sums over the rows of partitions, which stay where they are."""
    _check(spec)
    family, fixed = known_shape(family, fixed, data.columns)
    scale = data.state.scale
    coefficients, gamma = read_fixed(fixed, data.columns, () if scale is None else scale.linear.columns, family)
    store = data.store or Store()
    partitions = data.fetch(store)
    sums = partitions.collect(lambda part: _weighted_sums(part.design.H, part.response.weight))
    centre = _centre(data.state.linear, coefficients, sums)

    def modelled(part: DataPartition, centre: Array | None) -> tuple[Outcome, Designs]:
        """Rows on the scale that is modelled, with columns about their centre, or the intercept alone."""
        with naming(part.place):
            known = outcome(part.response, log_time=family.log_time, labels=part.labels.to_numpy())
        design, one = part.design, np.ones((len(known), 1))
        W = one if design.scale is None else design.scale.W
        H, given = (one, np.array([np.nan])) if centre is None else (centred(design.H, centre), coefficients)
        return store.keep("modelled", (known, split(H, W, design.offset, design.log_noise, given, gamma)))

    rows = partitions.map(modelled, centre)
    counts = rows.collect(lambda part: _counts(part[0]))
    log_jacobian = sum(rows.collect(lambda part: part[0].log_jacobian))
    _warn_one_exact(np.sum(counts, axis=0), gamma)
    search: dict[str, Any] = {
        "distribution": family.distribution,
        "estimate_shape": family.estimate_shape,
        "store": store,
    }
    maximum = maximise_partitions(rows, max_iter=max_iter, **search)
    warn_of(maximum)
    llnull = float("nan")
    if "Intercept" in data.columns:
        null = maximise_partitions(partitions.map(modelled, None), **search)
        llnull = null.log_likelihood + log_jacobian if null.converged else float("nan")
    for stage in ("fetched", "modelled", "sorted", "rotated", "chunks"):
        store.forget(stage)
    names = named_columns([part.spec for part in data.state.parts], columns)
    facts = data.facts(names)
    V, lost = covariance(maximum), unidentified(maximum)
    return RegressionParts(spec, data.state, facts, family, maximum, V, lost, centre, "nonrobust", log_jacobian, llnull)


def _weighted_sums(H: Columns, weight: Array) -> tuple[Array, float]:
    return (np.zeros(H.shape[1]) if isinstance(H, Absorbed) else weight @ H), float(weight.sum())


def _centre(state: LinearState, coefficients: Array, sums: Sequence[tuple[Array, float]]) -> Array:
    """Weighted means (p,) of the linear columns where a free level's coefficients absorb them; else 0."""
    level = level_columns(state)
    if not level.any() or not np.isnan(coefficients[level]).all():
        return np.zeros(len(level))
    total, weight = (np.sum(each, axis=0) for each in zip(*sums, strict=True))
    return np.where(level, 0.0, total / weight)


def _counts(known: Outcome) -> IntArray:
    """Number of rows, of those whose value is known, and of those with two ends."""
    return np.array([len(known), known.exact.sum(), (np.isfinite(known.lower) & np.isfinite(known.upper)).sum()])


def _warn_one_exact(counts: IntArray, gamma: Array) -> None:
    n, exact, bounded = counts
    if not np.isnan(gamma).any() or n == 1 or exact != 1 or bounded > 1:
        return
    warnings.warn(
        "Only one row is exact, so that the limits alone determine sigma. Fix it by fixed={'sigma': ...}, "
        "or fit a "
        "posterior by method='ep'.",
        BoundaryWarning,
        stacklevel=user_level(),
    )


def _warn_blind(parts: RegressionParts) -> None:
    """Name the parameters whose noise a robust covariance does not see."""
    if parts.cov_type == "nonrobust" or not parts.maximum.converged:
        return
    errors = np.concatenate([linear_estimates(parts).errors(), scale_estimates(parts).theta_sd])
    if parts.one_shape:
        errors[-1] = 0.0  # NaN where it is held at its bound
    names = [name for name, error in zip(parts.names, errors, strict=True) if np.isnan(error)]
    if names:
        depend = "depends" if len(names) == 1 else "depend"
        warnings.warn(
            f"cov_type={parts.cov_type!r}: {quoted(tuple(names))} {depend} on rows that the model fits exactly, "
            f"whatever their noise (e.g. the only row of a level). Scores contain no information about their "
            f"variance, and these standard errors are NaN. Merge levels, or use cov_type='nonrobust'.",
            BoundaryWarning,
            stacklevel=user_level(),
        )


def _check(spec: ModelSpec) -> None:
    if spec.processes:
        raise SpecError(
            f"method='mle' requires a formula without processes, and {spec.processes[0].name} is a process. Use "
            f"method='ep'."
        )
