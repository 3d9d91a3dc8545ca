"""From the rows of a formula to a fitted Gaussian process, or to its evidence at given hyper-parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from tobitgp.data.margins import part_blocks
from tobitgp.data.prepare import PartitionedData, TrainingData
from tobitgp.data.row_warnings import warn_copies
from tobitgp.errors import SpecError
from tobitgp.formula.spec import ModelSpec
from tobitgp.inference import Method
from tobitgp.inference.assembly import GPModel, Plan, plan_rows
from tobitgp.inference.fitted import Settings, Step, Task, warn_coarse, warn_unidentified
from tobitgp.inference.given_parameters import GivenParameters
from tobitgp.inference.partition_fit import assemble_partitions, evaluate, fit_gp
from tobitgp.inference.partitioned import PartitionedRows
from tobitgp.likelihoods import Family
from tobitgp.results.process.process_results import GPResults
from tobitgp.results.views import Parts, named_columns


def fit_process(
    spec: ModelSpec,
    read: TrainingData | PartitionedData,
    family: Family,
    covariates: pd.DataFrame | None,
    columns: Sequence[str],
    near: GPResults | None = None,
    *,
    method: Method,
    given: GivenParameters,
    settings: Settings,
    on_step: Callable[[Step], None] | None = None,
) -> GPResults:
    """Fit a formula under a prior, with processes or without; near the maximum of another fit if one is given."""
    plan, model, all_rows = build_model(spec, read, family, given, method, settings)
    warn_unidentified(plan.measured, spec.processes, model.prior.gps, model.parameters)
    if near is not None and near.parts.fitted.parameters.names == model.parameters.names:
        covariance = near.parts.fitted.log_covariance
        if (covariance.diagonal()[model.parameters.free] > 0.0).all():
            settings = replace(settings, near=covariance)
    task = Task(model.problem, model.prior, model.parameters, family.likelihood, all_rows)
    fitted = fit_gp(task, method, settings, on_step)
    warn_coarse(fitted, plan.measured.weight)
    if isinstance(read, TrainingData) and "sigma" not in given.fixed and family.known_sigma is None:
        warn_copies(read.design, read.response, fitted.effective)
    facts = read.facts(named_columns([spec], columns), covariates)
    if isinstance(read, PartitionedData):
        return GPResults.from_parts(Parts(spec, read.state, facts, model, fitted).without_rows())
    return GPResults.from_parts(Parts(spec, read.state, facts, model, fitted, read, covariates))


def estimated_of(results: GPResults, fixed: Mapping[str, Any]) -> dict[str, float]:
    """Hyper-parameters that were estimated and are not fixed, for ``start=``."""
    estimated = results.parts.fitted.log_covariance.diagonal() > 0.0
    values = results.hyperparameters.items()
    return {name: value for (name, value), free in zip(values, estimated, strict=True) if free and name not in fixed}


def build_model(
    spec: ModelSpec,
    read: TrainingData | PartitionedData,
    family: Family,
    given: GivenParameters,
    method: Method,
    settings: Settings,
) -> tuple[Plan, GPModel, PartitionedRows | None]:
    """Standardise the rows: the plan, the model on them, or on a sample of partitioned rows, and then all of these."""
    _check_noise_processes(spec, read, method)
    if isinstance(read, PartitionedData):
        return assemble_partitions(spec, read, family, given, limits=method.traits.limits, rng=settings.rng)
    blocks, of_effects = (part_blocks(read.state, scale=scale) for scale in (False, True)), read.state.effect_columns
    plan, rows = plan_rows(spec, read.response, read.design, family, given, read.labels, of_effects, *blocks)
    return plan, plan.build(rows, limits=method.traits.limits), None


MOST_ROWS = 20_000  # beside a process in log sigma, whose features are held of all rows


def _check_noise_processes(spec: ModelSpec, read: TrainingData | PartitionedData, method: Method) -> None:
    """Refuse processes in log sigma where they cannot be fitted."""
    if spec.scale is None or not spec.scale.gps:
        return
    name = spec.scale.gps[0].name
    if method.name != "ep":
        raise SpecError(
            f"method={method.name!r}: {name} goes with method='ep' alone; columns in sigma=, as '~ z', go with all "
            "methods."
        )
    if isinstance(read, PartitionedData) or len(read.labels) > MOST_ROWS:
        raise SpecError(
            f"sigma= with {name.removeprefix('sigma: ')} takes up to {MOST_ROWS:,} rows that are held in memory, no "
            "files; columns in sigma=, as '~ z' or '~ bs(z, df=5)', any number."
        )


class Evidence(NamedTuple):
    """Log evidence at given hyper-parameters, in nats: (SIT6) and (SIT9) of the theory pages.

    Attributes
    ----------
    value : float
        Of the response in the user's units; the same as ``log_evidence`` of a fit with all of them fixed.
    kind : str
        As ``evidence_kind`` of a fit.
    gradient : Series or None
        Derivatives in the hyper-parameters, by name, on their natural scale; inducing inputs are held.
    """

    value: float
    kind: str
    gradient: pd.Series[float] | None


def evidence_at(
    spec: ModelSpec,
    read: TrainingData | PartitionedData,
    family: Family,
    *,
    method: Method,
    given: GivenParameters,
    settings: Settings,
    gradient: bool,
) -> Evidence:
    """Evidence where ``given.fixed`` has all hyper-parameters."""
    plan, model, all_rows = build_model(spec, read, family, given, method, settings)
    _check_all_given(model)
    task = Task(model.problem, model.prior, model.parameters, family.likelihood, all_rows)
    found = evaluate(task, method, settings, gradient=gradient)
    plain = not np.any(plan.measured.counts[1:]) and family.distribution.gaussian
    slopes = None if found.gradient is None else pd.Series(found.gradient, index=list(model.parameters.names))
    return Evidence(found.value, "exact" if plain else found.method.evidence_kind, slopes)


def _check_all_given(model: GPModel) -> None:
    parameters = model.parameters
    lacking = [name for name, free in zip(parameters.names, parameters.free, strict=True) if free]
    if lacking:
        raise SpecError(
            f"evidence() needs all hyper-parameters, and params= lacks {', '.join(map(repr, lacking))}. "
            "The hyperparameters of a fit are such a dict."
        )
