"""From the rows of a formula to a fitted regression."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from numbers import Real
from typing import Any

import numpy as np

from tobitgp.data.linear import quoted
from tobitgp.data.outcome import Outcome, outcome
from tobitgp.data.partition import DataPartition, naming
from tobitgp.data.prepare import PartitionedData, TrainingData
from tobitgp.data.row_warnings import in_common
from tobitgp.data.spellings import FAR
from tobitgp.data.training_summary import make_facts, remember
from tobitgp.engines import LocalPartitions, Store
from tobitgp.errors import BoundaryWarning, ConvergenceWarning, SpecError, user_level
from tobitgp.formula.spec import ModelSpec
from tobitgp.inference.parameters import check_names, read_mapping
from tobitgp.likelihoods import Family
from tobitgp.regression import Maximum, covariance, maximise, maximise_partitions, unidentified
from tobitgp.regression.maximum import KINDS
from tobitgp.regression.working import Designs, split
from tobitgp.results.regression.parts import (
    DF,
    SIGMA,
    RegressionParts,
    linear_estimates,
    model_arguments,
    scale_estimates,
)
from tobitgp.results.regression.results import RegressionResults
from tobitgp.results.terms import columns_together
from tobitgp.results.views import keep_covariates, named_columns
from tobitgp.typing import Array, Frame, IntArray


def fit_regression(
    spec: ModelSpec,
    training: TrainingData,
    family: Family,
    data: Frame,
    *,
    fixed: Mapping[str, float] | None = None,
    cov_type: str = "nonrobust",
    groups: IntArray | None = None,
    max_iter: int = 200,
) -> RegressionResults:
    """Fit a formula without processes by maximum likelihood.

    Shapes: groups (n,).
    """
    _check(spec, cov_type)
    columns = training.design.columns
    scale = training.design.scale
    given = read_mapping("fixed", fixed) or {}
    coefficients, gamma = _fixed(given, columns, () if scale is None else scale.columns, family)
    rows = outcome(training.response, log_time=family.log_time, labels=training.labels)
    bounded = np.isfinite(rows.lower) & np.isfinite(rows.upper)
    known_sigma = SIGMA in given or family.known_sigma is not None
    _warn_one_exact(len(rows), int(rows.exact.sum()), int(bounded.sum()), known_scale=known_sigma)
    covariates = keep_covariates(spec, training, data)
    centre = _centre(training, coefficients)
    maximum = maximise(
        rows,
        training.design.H - centre,
        fixed_coefficients=coefficients,
        fixed_gamma=gamma,
        scores=cov_type != "nonrobust",
        max_iter=max_iter,
        names=columns,
        scale_names=None if scale is None else scale.columns,
        describe=partial(in_common, covariates),
        **model_arguments(training.design, family),
    )
    _warn_of(maximum)
    V = covariance(maximum, cov_type, weight=rows.weight, groups=groups)  # type: ignore[arg-type]
    written = [part.spec for part in training.state.parts]
    lost = unidentified(maximum, cov_type, weight=rows.weight, groups=groups)  # type: ignore[arg-type]
    facts = remember(training, named_columns(written, data), covariates, columns_together(training.state))
    parts = RegressionParts(
        spec,
        training.state,
        facts,
        family,
        maximum,
        V,
        lost,
        centre,
        cov_type,
        rows.log_jacobian,
        training=training,
        covariates=covariates,
    )
    _warn_blind(parts)
    return RegressionResults(parts)


def fit_partitions(
    spec: ModelSpec,
    data: PartitionedData,
    family: Family,
    columns: Sequence[str],
    *,
    fixed: Mapping[str, float] | None = None,
    cov_type: str = "nonrobust",
    max_iter: int = 200,
) -> RegressionResults:
    """As :func:`fit_regression`, from sums over the rows of partitions, which stay where they are."""
    _check(spec, cov_type)
    if cov_type != "nonrobust":
        raise SpecError(
            f"cov_type={cov_type!r} is not available for partitioned data: give a DataFrame, or use "
            "cov_type='nonrobust'."
        )
    scale = data.state.scale
    scale_columns = () if scale is None else scale.linear.columns
    coefficients, gamma = _fixed(read_mapping("fixed", fixed) or {}, data.columns, scale_columns, family)
    partitions = data.partitions.at([i for i, size in enumerate(data.partitions.collect(_rows_of)) if size])
    store = data.store or Store()
    if not isinstance(partitions, LocalPartitions):  # on a cluster every iteration would wait for all workers
        partitions = LocalPartitions(
            [store.keep("fetched", partitions.at([i]).collect(_itself)[0]) for i in range(len(partitions))]
        )
    centre = np.zeros(len(data.columns))
    if _takes_up_means(data.columns, coefficients):
        total, weight = (np.sum(each, axis=0) for each in zip(*partitions.collect(_weighted_sums), strict=True))
        centre = total / weight
        centre[data.columns.index("Intercept")] = 0.0
    rows = partitions.map(_modelled, family, centre, coefficients, gamma, store)
    n, exact, bounded, log_jacobian = (sum(each) for each in zip(*rows.collect(_counts), strict=True))
    known_sigma = SIGMA in (fixed or {}) or family.known_sigma is not None
    _warn_one_exact(n, exact, bounded, known_scale=known_sigma)
    search: dict[str, Any] = {"distribution": family.distribution, "estimate_df": family.estimate_df, "store": store}
    maximum = maximise_partitions(rows, max_iter=max_iter, **search)
    _warn_of(maximum)
    llnull = float("nan")
    if "Intercept" in data.columns:
        null = maximise_partitions(partitions.map(_intercept_only, family, gamma, store), **search)
        llnull = null.log_likelihood + log_jacobian if null.converged else float("nan")
    for stage in ("fetched", "modelled", "sorted", "rotated", "chunks"):
        store.forget(stage)
    names = named_columns([part.spec for part in data.state.parts], dict.fromkeys(columns))
    facts = make_facts(data.state, data.found, data.counts, names, data.examples, columns_together(data.state))
    V, lost = covariance(maximum), unidentified(maximum)
    return RegressionResults(
        RegressionParts(spec, data.state, facts, family, maximum, V, lost, centre, cov_type, log_jacobian, llnull)
    )


def _itself(partition: DataPartition) -> DataPartition:
    return partition


def _rows_of(partition: DataPartition) -> int:
    return len(partition.labels)


def _weighted_sums(partition: DataPartition) -> tuple[Array, float]:
    return partition.response.weight @ partition.design.H, float(partition.response.weight.sum())


def _modelled(
    partition: DataPartition, family: Family, centre: Array, coefficients: Array, gamma: Array, store: Store
) -> tuple[Outcome, Designs]:
    """Rows of a partition on the scale that is modelled, with their columns."""
    with naming(partition.place):
        rows = outcome(partition.response, log_time=family.log_time, labels=partition.labels.to_numpy())
    scale, offset, n = partition.design.scale, partition.design.offset, len(rows)
    W = np.ones((n, 1)) if scale is None else scale.W
    noise = partition.design.log_noise
    made = (
        rows,
        split(partition.design.H - centre, W, offset, np.zeros(n) if noise is None else noise, coefficients, gamma),
    )
    return store.keep("modelled", made)


def _intercept_only(partition: DataPartition, family: Family, gamma: Array, store: Store) -> tuple[Outcome, Designs]:
    design = replace(partition.design, H=np.ones((len(partition.labels), 1)))
    return _modelled(replace(partition, design=design), family, np.zeros(1), np.array([np.nan]), gamma, store)


def _counts(rows: tuple[Outcome, Designs]) -> tuple[int, int, int, float]:
    known = rows[0]
    bounded = np.isfinite(known.lower) & np.isfinite(known.upper)
    return len(known), int(known.exact.sum()), int(bounded.sum()), known.log_jacobian


def _takes_up_means(columns: Sequence[str], coefficients: Array) -> bool:
    """Whether there is a free intercept."""
    return "Intercept" in columns and bool(np.isnan(coefficients[columns.index("Intercept")]))


def _warn_of(maximum: Maximum) -> None:
    if maximum.message != "converged":
        category = BoundaryWarning if maximum.converged else ConvergenceWarning
        warnings.warn(maximum.message, category, stacklevel=user_level())


def _centre(training: TrainingData, coefficients: Array) -> Array:
    """Weighted means (p,) of the linear columns, where a free intercept takes them up."""
    H, columns = training.design.H, training.design.columns
    centre = np.zeros(H.shape[1])
    if _takes_up_means(columns, coefficients):
        centre = np.average(H, axis=0, weights=training.response.weight)
        centre[columns.index("Intercept")] = 0.0
    return centre


def _warn_one_exact(n: int, exact: int, bounded: int, *, known_scale: bool) -> None:
    if known_scale or n == 1 or exact != 1 or bounded > 1:
        return
    warnings.warn(
        "Only one row is exact: the noise scale rests on the limits; give it by fixed={'sigma': ...}, or ask for a "
        "posterior by method='ep'.",
        BoundaryWarning,
        stacklevel=user_level(),
    )


def _warn_blind(parts: RegressionParts) -> None:
    """Name the parameters whose noise a robust covariance does not see."""
    if parts.cov_type == "nonrobust" or not parts.maximum.converged:
        return
    errors = np.concatenate([linear_estimates(parts).errors(), scale_estimates(parts).theta_sd])
    names = [name for name, error in zip(parts.names, errors, strict=True) if np.isnan(error) and name != DF]
    if names:
        rest = "rests" if len(names) == 1 else "rest"
        warnings.warn(
            f"cov_type={parts.cov_type!r}: {quoted(tuple(names))} {rest} on rows that the model meets exactly, "
            "whatever their noise (the only row of a level, no more rows than parameters). Scores do not show it, and "
            "such standard errors are NaN; merge levels, or use cov_type='nonrobust'.",
            BoundaryWarning,
            stacklevel=user_level(),
        )


def _check(spec: ModelSpec, cov_type: Any) -> None:
    if spec.gps:
        raise SpecError(
            f"method='mle' is for formulas without processes, and {spec.gps[0].name} is one; use method='ep'."
        )
    if cov_type not in KINDS:
        raise SpecError(f"cov_type={cov_type!r} is not supported; choose one of {', '.join(map(repr, KINDS))}.")


def _fixed(
    fixed: Mapping[str, Any], columns: tuple[str, ...], scale: tuple[str, ...], family: Family
) -> tuple[Array, Array]:
    """Known coefficients (p,) and those of log sigma (q,), NaN where they are estimated."""
    if "df" in fixed and family.estimate_df:
        raise SpecError("fixed={'df': ...}: known degrees of freedom are given by family=tg.Student(df=3).")
    check_names("fixed", fixed, [*columns, *(scale or [SIGMA])])
    coefficients, gamma = np.full(len(columns), np.nan), np.full(max(len(scale), 1), np.nan)
    for j, name in enumerate(scale):
        if name in fixed:
            gamma[j] = _number(name, fixed[name])
    if family.known_sigma is not None:
        if scale:
            raise SpecError(f"family={family.name!r} has sigma = {family.known_sigma:g}, so sigma= has no place.")
        if SIGMA in fixed:
            raise SpecError(f"family={family.name!r} has sigma = {family.known_sigma:g}; take it out of fixed=.")
        gamma[0] = np.log(family.known_sigma)
    for j, name in enumerate(columns):
        if name in fixed:
            coefficients[j] = _number(name, fixed[name])
    if SIGMA in fixed:
        value = _number(SIGMA, fixed[SIGMA])
        if value <= 0.0:
            raise SpecError(f"fixed={{'sigma': {fixed[SIGMA]!r}}}: a positive number is needed.")
        if not 1.0 / FAR < value < FAR:
            raise SpecError(
                f"fixed={{'sigma': {fixed[SIGMA]!r}}}: a number between {1.0 / FAR:g} and {FAR:g} is needed; express "
                "the response in units in which sigma is nearer to 1."
            )
        gamma[0] = np.log(value)
    return coefficients, gamma


def _number(name: str, value: Any) -> float:
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Real) or not np.isfinite(float(value)):
        raise SpecError(f"fixed={{{name!r}: {value!r}}}: a finite number is needed.")
    return float(value)
