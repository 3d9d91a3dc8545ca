"""Processes, and regressions with priors: how they are fitted, and on which scale of the response."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd

from tobitgp.data.arrays import CensoredResponse
from tobitgp.data.design import DesignState
from tobitgp.data.margins import part_blocks
from tobitgp.data.outcome import Outcome, outcome
from tobitgp.data.prepare import PartitionedData, TrainingData
from tobitgp.data.row_warnings import warn_copies
from tobitgp.data.training_summary import Facts
from tobitgp.distributions.location_scale import LocationScale
from tobitgp.distributions.power_normal import PowerNormal, invert
from tobitgp.distributions.response import RowDistributions
from tobitgp.errors import SpecError
from tobitgp.formula.spec import ModelSpec
from tobitgp.inference import Method
from tobitgp.inference.assembly import GPModel, Plan, plan_rows
from tobitgp.inference.feature_posterior import NO_SITES
from tobitgp.inference.fitted import FittedGP, Task, warn_coarse, warn_unidentified
from tobitgp.inference.given_parameters import GivenParameters
from tobitgp.inference.pair_rules import RULES
from tobitgp.inference.partition_fit import assemble_partitions, evaluate, fit_gp
from tobitgp.inference.partitioned import PartitionedRows
from tobitgp.inference.search_settings import Settings, Step
from tobitgp.inference.soundness import process_inconsistencies
from tobitgp.kinds.transformed_rows import above_zero, row_jacobians, transformed_response, transformed_values
from tobitgp.kinds.without_noise import asks_for_none, check_request, with_places
from tobitgp.likelihoods import Family
from tobitgp.likelihoods.censoring_noise import SIDES
from tobitgp.likelihoods.two_latents import falls_like_a_power
from tobitgp.posterior.nodes import Nodes, PowerNodes
from tobitgp.priors.prior import Prior
from tobitgp.results.views import Source, named_columns
from tobitgp.typing import Array

MOST_ROWS = 20_000  # with a process in log sigma, whose features are stored for all rows


class Process(Source):
    """The posterior of a process: of one fit, or averaged over fits of the response on several scales."""

    __slots__ = ()
    has_sites: ClassVar[bool] = True
    where_weights_fail: ClassVar[str] = "Use loo(method='ep'), which has no weights, or tg.cross_validate()"

    @property
    def family(self) -> Family:
        """Family of the response."""
        raise NotImplementedError

    @property
    def scaled(self) -> tuple[ScaledFit, ...]:
        """The fits."""
        raise NotImplementedError

    @property
    def reported(self) -> ScaledFit:
        """The fit whose f, coefficients and hyper-parameters are reported."""
        raise NotImplementedError

    def joined(self, each: Sequence[Nodes]) -> Nodes:
        """Nodes of rows, from those of f in every fit."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class ProcessParts(Process):
    """A fitted process and what it was made from."""

    estimated: ClassVar[Literal[False]] = False  # at a maximum, without a posterior

    spec: ModelSpec
    state: DesignState
    facts: Facts
    gp: GPModel
    fitted: FittedGP
    training: TrainingData | None = None
    covariates: pd.DataFrame | None = None

    def inconsistencies(self) -> Iterator[str]:
        """Inconsistent parts of a process that was read from a file."""
        yield from process_inconsistencies(self.gp, self.fitted, self.spec, self.state)

    @property
    def family(self) -> Family:
        """Family of the noise."""
        return self.gp.family

    @property
    def noise_free(self) -> bool:
        """Whether sigma is fixed at 0."""
        return self.gp.parameters.noise_free

    @property
    def names(self) -> list[str]:
        """Linear columns, then hyper-parameters."""
        return [*self.gp.columns, *self.fitted.parameters.names]

    @property
    def levels(self) -> Sequence[tuple[Array, Array]]:
        """Levels of the processes, by block of features."""
        return self.gp.reported_levels(self.fitted.points[0].levels)

    @property
    def scaled(self) -> tuple[ScaledFit, ...]:
        return (self.reported,)

    @property
    def reported(self) -> ScaledFit:
        return ScaledFit(self)

    def joined(self, each: Sequence[Nodes]) -> Nodes:
        return each[0]

    def without_rows(self) -> ProcessParts:
        """Parts that answer the same about new rows; inducing inputs stay, as they were learned."""
        problem = self.gp.problem
        code = tuple(None if values is None else values[:0].copy() for values in problem.code)
        X = tuple(np.zeros_like(values[:0]) for values in problem.X)
        H = np.zeros((0, problem.H.shape[1]))
        problem = replace(problem, rows=(), order=problem.order[:0].copy(), H=H, X=X, code=code)
        points = tuple(replace(point, sites=NO_SITES, follows=False) for point in self.fitted.points)
        return replace(
            self,
            gp=replace(self.gp, problem=problem, prior=Prior(None, ())),
            fitted=replace(self.fitted, points=points),
            facts=replace(self.facts),
            training=None,
            covariates=None,
        )


class ScaledFit(NamedTuple):
    """A fit of the response, or of a power of it, and its weight in the posterior."""

    fit: ProcessParts
    weight: float = 1.0
    power: float | None = None  # of (BC1); None where the response itself, or its logarithm, was fitted

    @property
    def log_time(self) -> bool:
        """Whether f is the location of the logarithm of the response."""
        return self.fit.gp.family.log_time

    def nodes(self, nodes: Nodes) -> Nodes:
        """Nodes of the response in rows, from those of f."""
        return nodes if self.power is None else PowerNodes.of([nodes], np.ones(1), np.array([self.power]))

    def response(self, y: LocationScale) -> RowDistributions:
        """Distributions of the response where what was fitted has distributions ``y``."""
        return y if self.power is None else PowerNormal(y.location, y.scale, self.power)

    def values(self, y: Array) -> Array:
        """Values of what was fitted on the scale of the response."""
        with np.errstate(over="ignore"):
            return y if self.power is None else np.exp(invert(y, self.power))

    def modelled(self, y: Array) -> Array:
        """Values of the response on the scale of f."""
        if self.power is not None:
            return transformed_values(y, self.power)
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.log(np.maximum(y, 0.0)) if self.log_time else y

    def fitted(self, response: CensoredResponse, labels: npt.NDArray[Any] | None = None) -> CensoredResponse:
        """Responses of rows as they were fitted."""
        if self.power is None:
            return response
        named = np.arange(len(response.lower), dtype=object) if labels is None else labels
        return transformed_response(above_zero(response, named), self.power)

    def outcome(self, response: CensoredResponse, labels: npt.NDArray[Any] | None = None) -> Outcome:
        """The same on the scale of f."""
        return outcome(self.fitted(response, labels), log_time=self.log_time, labels=labels)

    def log_jacobian(self, response: CensoredResponse) -> Array:
        """Log Jacobian: log density of the response minus that on the scale of f, (n,)."""
        if self.power is not None:
            return row_jacobians(response, self.power)
        exact = (response.lower == response.upper) & self.log_time
        return np.where(exact, -np.log(np.where(exact, response.lower, 1.0)), 0.0)


def fit_process(
    spec: ModelSpec,
    read: TrainingData | PartitionedData,
    family: Family,
    covariates: pd.DataFrame | None,
    columns: Sequence[str],
    near: ProcessParts | None = None,
    *,
    method: Method,
    given: GivenParameters,
    settings: Settings,
    on_step: Callable[[Step], None] | None = None,
) -> ProcessParts:
    """Fit a formula under a prior, with processes or without; near the maximum of another fit if one is given."""
    plan, model, all_rows = build_model(spec, read, family, given, method, settings)
    warn_unidentified(plan.measured, spec.processes, model.prior.gps, model.parameters)
    if near is not None and near.fitted.parameters.names == model.parameters.names:
        covariance = near.fitted.log_covariance
        if (covariance.diagonal()[model.parameters.free] > 0.0).all():
            settings = replace(settings, near=covariance)
    task = Task(model.problem, model.prior, model.parameters, family.likelihood, all_rows)
    fitted = fit_gp(task, method, settings, on_step)
    warn_coarse(fitted, plan.measured.weight)
    if isinstance(read, TrainingData) and "sigma" not in given.fixed and family.known_sigma is None:
        warn_copies(read.design, read.response, fitted.effective)
    facts = read.facts(named_columns([spec], columns), covariates)
    if isinstance(read, PartitionedData):
        return ProcessParts(spec, read.state, facts, model, fitted).without_rows()
    return ProcessParts(spec, read.state, facts, model, fitted, read, covariates)


def build_model(
    spec: ModelSpec,
    read: TrainingData | PartitionedData,
    family: Family,
    given: GivenParameters,
    method: Method,
    settings: Settings,
) -> tuple[Plan, GPModel, PartitionedRows | None]:
    """Standardise the rows: the plan, the model on them, or on a sample of partitioned rows, and then all of these."""
    _check_noise_processes(spec, read, family, method)
    noise_free = asks_for_none(given) and family.known_sigma is None
    if noise_free:
        check_request(spec, read, family, given, method)
    if isinstance(read, PartitionedData):
        return assemble_partitions(spec, read, family, given, limits=method.traits.limits, rng=settings.rng)
    blocks, of_effects = (part_blocks(read.state, scale=scale) for scale in (False, True)), read.state.effect_columns
    plan, rows = plan_rows(spec, read.response, read.design, family, given, read.labels, of_effects, *blocks)
    model = plan.build(rows, limits=method.traits.limits)
    return plan, with_places(model, read.labels) if noise_free else model, None


def _check_noise_processes(
    spec: ModelSpec, read: TrainingData | PartitionedData, family: Family, method: Method
) -> None:
    """Raise an error for processes in log sigma where they cannot be fitted."""
    if spec.scale is None or not spec.scale.gps:
        return
    name = spec.scale.gps[0].name
    if method.evidence_kind not in RULES:
        raise SpecError(
            f"bound={method.evidence_kind!r}: this bound is not supported with {name}. Use tg.VI(), method='ep' or "
            "method='laplace'. Columns in sigma=, such as '~ z', are supported with every bound."
        )
    if method.traits.ascends == "bound" and not falls_like_a_power(family.distribution):
        raise SpecError(
            f"method={method.name!r}: the bound is minus infinity with {name} and family={family.name!r}, whose "
            f"log density decreases exponentially. Use method='ep' or method='laplace'."
        )
    if isinstance(read, PartitionedData) or len(read.labels) > MOST_ROWS:
        raise SpecError(
            f"sigma= with {name.removeprefix('sigma: ')} supports up to {MOST_ROWS:,} rows in memory and no "
            f"files. Use columns in sigma=, e.g. '~ z' or '~ bs(z, df=5)', which support any number."
        )


def read_start(given: Any) -> ProcessParts | None:
    """The process whose maximum a search starts from, where such a fit is given and not values."""
    parts = getattr(given, "parts", None)
    return parts if isinstance(parts, ProcessParts) else None


def estimated_values(parts: ProcessParts, fixed: Mapping[str, Any]) -> dict[str, float]:
    """Hyper-parameters that were estimated and are not fixed, for ``start=``."""
    fitted, found = parts.fitted, parts.fitted.parameters
    values = zip(found.names, found.values(fitted.points[0].theta), strict=True)
    estimated = fitted.log_covariance.diagonal() > 0.0
    return {name: float(v) for (name, v), free in zip(values, estimated, strict=True) if free and name not in fixed}


class Evidence(NamedTuple):
    """Log evidence at given hyper-parameters, in nats: (SIT6) and (SIT9) of the theory pages.

    Attributes
    ----------
    value : float
        Log evidence of the response in the user's units; the same as ``log_evidence`` of a fit with all of them fixed.
    kind : str
        As ``evidence_kind`` of a fit.
    gradient : Series or None
        Derivatives in the hyper-parameters, by name, on their natural scale; inducing inputs are fixed.
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
    names, free = model.parameters.names, model.parameters.free
    lacking = ", ".join(repr(name) for name, sought in zip(names, free, strict=True) if sought)
    if lacking:
        raise SpecError(
            f"evidence() requires all hyper-parameters, and params= lacks {lacking}. Give a dict such as "
            f"hyperparameters of a fit."
        )
    task = Task(model.problem, model.prior, model.parameters, family.likelihood, all_rows)
    found = evaluate(task, method, settings, gradient=gradient)
    plain = not np.any(plan.measured.counts[1:]) and family.distribution.gaussian
    slopes = None if found.gradient is None else pd.Series(found.gradient, index=list(names))
    return Evidence(found.value, "exact" if plain else found.method.evidence_kind, slopes)


def refuse_censoring_noises(parts: ProcessParts, question: str) -> None:
    """Raise an error for fits with censoring noise."""
    found = parts.fitted.parameters
    values = found.values(parts.fitted.points[0].theta)
    if any(value for role, value in zip(found.roles, values, strict=True) if role in SIDES):
        raise SpecError(
            f"With the censoring noises of bound='local' the likelihood is not a density, so that {question} is "
            f"not defined. Use bound='exact', or fix sigma_lower and sigma_upper at 0."
        )
