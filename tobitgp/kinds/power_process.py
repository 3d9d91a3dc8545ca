"""Processes after a power transformation: the evidence in the power, and fits at the powers that are averaged."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from tobitgp.data.design import DesignState
from tobitgp.data.prepare import TrainingData
from tobitgp.data.training_summary import Facts
from tobitgp.distributions.power_normal import POWERS
from tobitgp.errors import BoundaryWarning, user_level
from tobitgp.formula.spec import ModelSpec
from tobitgp.inference import Method
from tobitgp.inference.assembly import GPModel
from tobitgp.inference.fitted import FittedGP
from tobitgp.inference.given_parameters import GivenParameters
from tobitgp.inference.search_settings import Settings, Step
from tobitgp.kinds.boxcox import refuse_power
from tobitgp.kinds.process import Process, ProcessParts, ScaledFit, fit_process
from tobitgp.kinds.transformed_rows import LEAST_POWER, holds_zeros, log_jacobian, transformed
from tobitgp.kinds.without_noise import refuse_family_without_noise
from tobitgp.likelihoods import FAMILIES, Family
from tobitgp.likelihoods.families import BOXCOX
from tobitgp.posterior.nodes import Nodes, PowerNodes
from tobitgp.results.views import named_columns
from tobitgp.typing import Array

_FIRST, _STEP, _MOST, _NEAR = (0.0, 0.25, 0.5, 1.0), 1.0, 4, 3e-3
_DESIGN = np.array([-2.4, -1.6, -0.8, 0.0, 0.8, 1.6, 2.4])  # powers that are averaged, in standard deviations
_LEAST, _WIDEST = 1e-4, 0.2  # weight of a power that is left out; first guess of its standard deviation
_LEAST_NODE = 1e-9  # weight of a design point at a power that is left out
_DROP, _EDGE = (0.2, 1.5), 1e-6


@dataclass(frozen=True, slots=True)
class PowerProcessParts(Process):
    """Fits of the transformed response at each of some powers."""

    spec: ModelSpec
    state: DesignState
    facts: Facts
    fits: tuple[ProcessParts, ...]  # of the transformed response, at every power
    powers: Array  # (K,)
    weights: Array  # (K,), sum to one
    jacobians: Array  # (K,), what each log evidence needs to be that of the response
    best: int  # place of the power with the highest evidence
    se: float  # standard deviation of the power, 0 where it was given
    integrated: float  # log evidence, powers and hyper-parameters integrated out; NaN where these were maximised
    training: TrainingData | None = None
    covariates: pd.DataFrame | None = None

    shapes: ClassVar = {"fits": "powers! weights! jacobians!"}

    def inconsistencies(self) -> Iterator[str]:
        """Inconsistent parts of a fit that was read from a file."""
        share = (self.weights >= 0.0).all() and math.isclose(self.weights.sum(), 1.0, rel_tol=1e-9)
        if not share or not 0 <= self.best < len(self.fits) or not math.isfinite(self.se):
            yield "the numbers of its powers are invalid"

    @property
    def family(self) -> Family:
        """That of power transformations."""
        return BOXCOX

    @property
    def scaled(self) -> tuple[ScaledFit, ...]:
        each = zip(self.fits, self.weights.tolist(), self.powers.tolist(), strict=True)
        return tuple(ScaledFit(*one) for one in each)

    @property
    def reported(self) -> ScaledFit:
        return ScaledFit(self.fits[self.best], 1.0, float(self.powers[self.best]))

    def joined(self, each: Sequence[Nodes]) -> PowerNodes:
        nodes = PowerNodes.of(each, self.weights, self.powers)
        some = nodes.weight > _LEAST_NODE
        return nodes if some.all() else nodes.components(some)

    @property
    def gp(self) -> GPModel:
        """The model at the power with the highest evidence."""
        return self.fits[self.best].gp

    @property
    def fitted(self) -> FittedGP:
        """The estimates at the power with the highest evidence."""
        return self.fits[self.best].fitted

    @property
    def names(self) -> list[str]:
        """Linear columns, then hyper-parameters."""
        return self.fits[self.best].names

    @property
    def levels(self) -> Sequence[tuple[Array, Array]]:
        """Levels of the processes at the power with the highest evidence."""
        return self.fits[self.best].levels

    def without_rows(self) -> PowerProcessParts:
        """Parts that answer the same about new rows."""
        fits = tuple(fit.without_rows() for fit in self.fits)
        return replace(self, fits=fits, facts=replace(self.facts), training=None, covariates=None)


def fit_boxcox_process(
    spec: ModelSpec,
    training: TrainingData,
    covariates: pd.DataFrame | None,
    columns: Sequence[str],
    power: float | None,
    *,
    method: Method,
    given: GivenParameters,
    settings: Settings,
    on_step: Callable[[Step], None] | None = None,
) -> PowerProcessParts:
    """Fit at the power with the highest evidence, and where powers are averaged at some around it."""
    refuse_power(training, power)
    refuse_family_without_noise("boxcox", given)
    found: dict[float, ProcessParts] = {}

    def at(power: float, how: Settings) -> ProcessParts:
        """The fit of the transformed response."""
        rows = transformed(training, power)
        options: dict[str, Any] = {"method": method, "given": given, "settings": how, "on_step": on_step}
        return fit_process(spec, rows, FAMILIES["gaussian"], covariates, columns, **options)

    def evidence(power: float) -> float:
        if power not in found:
            with warnings.catch_warnings():  # the fits that are kept warn
                warnings.simplefilter("ignore")
                found[power] = at(power, replace(settings, integrate=False))
        return found[power].fitted.evidence + log_jacobian(training.response, power)

    low = LEAST_POWER if holds_zeros(training.response) else POWERS[0]
    powers, best, sides = np.array([power]), power, (0.0, 0.0)
    if power is None:
        best, sides = highest(evidence, low, POWERS[1])
        powers = np.array([best])
        if settings.integrate is not False:
            powers = best + np.where(_DESIGN < 0.0, *sides) * _DESIGN
            powers = np.unique(powers[(powers >= low) & (powers <= POWERS[1])])
    fits = [at(float(x), settings) for x in powers]
    jacobians = np.array([log_jacobian(training.response, float(x)) for x in powers])
    integrated = np.array([fit.fitted.log_evidence_integrated for fit in fits]) + jacobians
    known = integrated if np.isfinite(integrated).all() else np.array([fit.fitted.evidence for fit in fits]) + jacobians
    top, width = known.max(), np.gradient(powers) if len(powers) > 1 else np.ones(1)
    weight, se = np.exp(known - top) * width, float(np.hypot(*sides) / np.sqrt(2.0))
    total = integrated[0] if power is not None else np.nan
    if len(powers) > 1 and np.isfinite(integrated).all():  # (BC5), the prior of the power uniform
        total = top + np.log(weight.sum() / (POWERS[1] - low))
    weight = weight / weight.sum()
    if len(powers) > 1:
        se = float(np.sqrt(weight @ np.square(powers - weight @ powers)))
    some, main = weight >= _LEAST, int(np.argmin(np.abs(powers - best)))
    some[main] = True
    facts = training.facts(named_columns([spec], columns), covariates)
    return PowerProcessParts(
        spec,
        training.state,
        facts,
        tuple(fit for fit, kept in zip(fits, some, strict=True) if kept),
        powers[some],
        weight[some] / weight[some].sum(),
        jacobians[some],
        int(some[:main].sum()),
        se,
        float(total),
        training,
        covariates,
    )


def highest(evidence: Callable[[float], float], low: float, high: float) -> tuple[float, tuple[float, float]]:
    """The power with the highest evidence, and its standard deviation as the evidence falls on either side."""
    from scipy.optimize import minimize_scalar

    grid = [max(low, _FIRST[0]), *_FIRST[1:]]
    values = [evidence(x) for x in grid]
    while values[-1] >= max(values) and grid[-1] < high:
        grid.append(min(grid[-1] + _STEP, high))
        values.append(evidence(grid[-1]))
    while values[0] >= max(values) and grid[0] > low:
        grid.insert(0, max(grid[0] - _STEP, low))
        values.insert(0, evidence(grid[0]))
    k = int(np.argmax(values))
    ends = grid[max(k - 1, 0)], grid[min(k + 1, len(grid) - 1)]
    found = minimize_scalar(lambda x: -evidence(float(x)), bounds=ends, method="bounded", options={"xatol": _NEAR})
    top, value = float(found.x), -float(found.fun)
    if not low + 2.0 * _NEAR < top < high - 2.0 * _NEAR:
        warnings.warn(
            f"The evidence is highest at the power {top:.3g}, the end of the range that is searched.",
            BoundaryWarning,
            stacklevel=user_level(),
        )
    return top, (_fall(evidence, top, value, low), _fall(evidence, top, value, high))


def _fall(evidence: Callable[[float], float], top: float, value: float, end: float) -> float:
    """Standard deviation of a normal density that falls as the evidence does towards one end, 0 at it."""
    h = _WIDEST
    for _ in range(_MOST):  # until it falls by about that of one standard deviation
        step = min(h, abs(end - top))
        drop = value - evidence(top + step * float(np.sign(end - top))) if step > _EDGE else np.inf
        h = step / float(np.sqrt(2.0 * max(drop, 1e-2)))
        if _DROP[0] < drop < _DROP[1] or step == abs(end - top):
            break
    return h
