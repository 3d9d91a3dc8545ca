"""Mixtures: what is known about their rows, their parameters, and the distribution of a new response.

Predictions for a new response integrate the parameters out. Conditional and clipped means use plug-in parameters, and
so do all derivatives.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
import pandas as pd
from scipy.linalg import block_diag
from scipy.special import gammaln

from tobitgp.data.arrays import CensoredResponse
from tobitgp.data.design import DesignState
from tobitgp.data.outcome import check_response
from tobitgp.data.prepare import TrainingData
from tobitgp.data.training_summary import Facts
from tobitgp.errors import BoundaryWarning, SpecError, user_level
from tobitgp.formula.spec import ModelSpec
from tobitgp.mixture import (
    DirichletProcess,
    MixtureFit,
    Predictive,
    held_parameters,
    impute,
    intervals,
    linear_response,
    posterior_covariance,
)
from tobitgp.mixture.arranged_rows import read_rows
from tobitgp.mixture.evidence_bound import Bayes
from tobitgp.mixture.family import MixtureFamily, blocks, inverse
from tobitgp.posterior.estimates import Estimates
from tobitgp.results.parameter_estimates import CovKind
from tobitgp.results.rows import Asked, response_of_rows
from tobitgp.results.views import Source
from tobitgp.typing import Array, BoolArray, Frame, IntArray

COV_KINDS: tuple[CovKind, ...] = ("linear_response", "vb")
MAX_SCALE = 1e150  # its square is a number


@dataclass(frozen=True, slots=True)
class Tried:
    """The numbers of components that were tried."""

    by: Literal["log_evidence", "bic"]  # what chose among them
    numbers: IntArray  # (m,), ascending
    values: Array  # (m,)
    converged: BoolArray  # (m,)


@dataclass(frozen=True, slots=True)
class MixtureParts(Source):
    """A fitted mixture and its data."""

    where_weights_fail: ClassVar[str] = "Try fewer components, or use tg.cross_validate()"

    spec: ModelSpec
    state: DesignState  # of no column
    facts: Facts
    fit: MixtureFit
    tried: Tried | None = None  # where a range of numbers of components was given
    covariance: Array | None = None  # (p, p), by linear response
    training: TrainingData | None = None
    covariates: pd.DataFrame | None = None

    shapes: ClassVar = {
        "fit.k": "fit.order fit.counts fit.exact_counts",
        "names names": "covariance",
        "*": "fit.state.weights! fit.ends fit.trace fit.path",
        "* *": "fit.state.components!",
    }

    def inconsistencies(self) -> Iterator[str]:
        """Inconsistent parts of a mixture that was read from a file."""
        fit, model = self.fit, self.fit.model
        if self.spec.mixture is None or fit.k != model.k or fit.k < 1 or self.covariance is None:
            yield "its parts do not belong together"
        if not (math.isfinite(fit.units.shift) and 0.0 < fit.units.scale < MAX_SCALE):
            yield "its units are invalid"
        known = model.family.hyperparameters if self.bayes else model.family.parameters
        process = isinstance(model, Bayes) and isinstance(model.weights, DirichletProcess)
        if fit.state.components.shape != (len(known), fit.k) or len(fit.state.weights) != (
            2 * fit.k - 1 if process else fit.k
        ):
            yield "its components are not those of its family"
        if isinstance(model, Bayes):
            learnt, scales = model.prior.learnt, fit.state.scales
            of_family = model.prior.values.shape == (len(known),) and np.isin(learnt, np.arange(len(known))).all()
            if not of_family or scales.shape != learnt.shape or not (scales > 0.0).all():
                yield "the learnt part of its prior is invalid"
        if sorted(fit.order.tolist()) != list(range(fit.k)):
            yield "the order of its components is invalid"
        if (
            self.tried is not None
            and not len(self.tried.numbers) == len(self.tried.values) == len(self.tried.converged) > 0
        ):
            yield "the numbers of components that were tried do not belong together"

    @property
    def family(self) -> MixtureFamily:
        """Family of the components."""
        return self.fit.model.family

    @property
    def names(self) -> list[str]:
        """Weights, then parameters of the components."""
        return list(self.fit.names)

    @property
    def bayes(self) -> bool:
        """Whether there is a posterior; point estimates otherwise."""
        return isinstance(self.fit.model, Bayes)

    @property
    def n_free(self) -> float:
        """Number of parameters, weights counted once less."""
        return float(len(self.names) - 1)

    @property
    def log_evidence(self) -> float:
        """Evidence lower bound of all orders of the components, (MIX17)."""
        return self.fit.elbo if self.fit.process else self.fit.elbo + float(gammaln(self.fit.k + 1.0))

    @property
    def bic(self) -> float:
        """``k log n - 2 llf``."""
        return self.n_free * float(np.log(self.facts.nobs)) - 2.0 * self.fit.log_likelihood

    def without_rows(self) -> MixtureParts:
        """Parts that answer the same about new rows; their covariance is noted first."""
        facts = replace(self.facts)
        return replace(self, facts=facts, covariance=covariance_of(self), training=None, covariates=None)


def known_ends(spec: ModelSpec, family: MixtureFamily, response: CensoredResponse) -> tuple[Array, Array]:
    """Ends (lower, upper] of the rows of a response, (n,) each, inside of their windows.

    For counts, ``censor(upper=6)`` and ``>=6`` mean at least 6, a flag (as for ``Surv``) or ``>6`` more than 6, ``<6``
    at most 5, and ``<=6`` at most 6.
    """
    lower, upper = response.lower, response.upper
    if family.support != "counts":
        return response.within_window
    if spec.response.kind == "value" and spec.flag is None:
        at_limit = np.isposinf(upper) & np.isfinite(lower)
        lower = np.where(at_limit, np.ceil(lower) - 1.0, lower)
    if response.closed is not None:
        below, above = np.isneginf(lower) & np.isfinite(upper), np.isposinf(upper) & np.isfinite(lower)
        upper = np.where(below & ~response.closed, np.ceil(upper) - 1.0, upper)
        lower = np.where(above & response.closed, np.ceil(lower) - 1.0, lower)
    return replace(response, lower=lower, upper=upper).within_window


def training_ends(parts: MixtureParts) -> tuple[Array, Array, Array]:
    """Ends and weights of the training rows, (n,) each."""
    response = parts.rows.response
    return *known_ends(parts.spec, parts.family, response), response.weight


def covariance_of(parts: MixtureParts, kind: CovKind = "linear_response") -> Array:
    """Covariance of all parameters, (p, p)."""
    if not isinstance(kind, str) or kind not in COV_KINDS:
        raise SpecError(f"kind={kind!r} is not supported; choose one of {', '.join(map(repr, COV_KINDS))}.")
    if kind == "vb":
        if not parts.bayes:
            raise SpecError(
                "kind='vb' is the covariance of a posterior, and method='em' has no posterior. Leave kind= out."
            )
        return posterior_covariance(parts.fit)
    if parts.covariance is not None:
        return parts.covariance
    return linear_response(parts.fit, *training_ends(parts), parts.rows.response.window)


def warn_without_errors(fit: MixtureFit, V: Array) -> None:
    """Explain why some parameters have no standard error, and what helps."""
    names, held = np.array(fit.names), held_parameters(fit)
    unknown = np.isnan(np.diag(V)) & ~held
    notes = []
    if held.any():
        other = "" if isinstance(fit.model, Bayes) else ", or use method='vbcm'"
        notes.append(
            f"At the bound of the search, and without standard error: {', '.join(names[held])}. The standard "
            f"errors of the others treat these values as known. The objective increases beyond the bound. Fit "
            f"fewer components{other}."
        )
    if unknown.any():
        remedy = " Components that are similar or almost empty have no standard errors. Fit fewer." if fit.k > 1 else ""
        remedy = remedy if fit.converged else " The fit has not converged. Give its method a larger max_iter first."
        notes.append(
            f"The rows do not determine {', '.join(names[unknown])}: standard errors and intervals of these, "
            f"and of quantities that depend on them, are NaN.{remedy}"
        )
    for note in notes:
        warnings.warn(note, BoundaryWarning, stacklevel=user_level())


@dataclass(frozen=True, slots=True)
class MixtureEstimates:
    """The p parameters."""

    fit: MixtureFit
    V: Array  # (p, p), covariance of the values; NaN where these rows do not determine a parameter

    cross: ClassVar[float] = 0.0  # covariance with linear coefficients, of which there are none

    @property
    def value(self) -> Array:
        """Estimates, (p,)."""
        return self.fit.values

    def errors(self) -> Array:
        """Standard errors, (p,); 0 for the weight of a single component."""
        return np.sqrt(np.diag(self.V))

    def z_values(self) -> Array:
        """NaN: zero is not a value to test."""
        return np.full(len(self.value), np.nan)

    p_values = z_values

    def covariance(self) -> Array:
        """The matrix V."""
        return self.V

    def interval(self, alpha: float) -> Array:
        """Ends (p, 2)."""
        return intervals(self.fit, self.V, 1.0 - alpha)


def ends_of_rows(parts: MixtureParts, new: Frame | None, asked: Asked) -> tuple[Asked, Array, Array]:
    """Rows of whose response something is known, m of them, and what that is, (m,) each."""
    asked, response = response_of_rows(parts, new, asked)
    return asked, *checked_ends(parts, asked, response)


def checked_ends(parts: MixtureParts, asked: Asked, response: CensoredResponse) -> tuple[Array, Array]:
    """Ends (lower, upper] of rows, none of which the components make impossible, (m,) each."""
    labels = asked.labels.to_numpy()
    check_response(response, log_time=False, labels=labels)
    lower, upper = known_ends(parts.spec, parts.family, response)
    read_rows(parts.family, lower, upper, labels=labels)
    return lower, upper


def posterior_of(fit: MixtureFit, V: Array | None) -> Estimates:
    """Weights and plug-in parameters of the components, V (p, p) being the covariance of the user's; NaN is unknown."""
    family, units, k, theta = fit.model.family, fit.units, fit.k, fit.theta
    values = np.concatenate([fit.weights, theta.ravel()])
    steps = np.concatenate([np.maximum(fit.weights, 1e-3), family.steps(theta).ravel()])

    def at(x: tuple[Array, ...]) -> Predictive:
        flat = np.concatenate([one.ravel() for one in x])
        weights = np.maximum(flat[:k], 0.0)  # steps may lead beyond weights near 0
        return Predictive(weights / weights.sum(), family.distribution(flat[k:].reshape(theta.shape), units))

    known = lost = np.zeros((len(values), len(values)))
    if V is not None:
        T = block_diag(np.eye(k), blocks(inverse(family.point_estimates(theta, units)[1])))
        unknown = np.isnan(np.diag(V))
        known = T @ np.where(unknown | unknown[:, None], 0.0, V) @ T.T
        lost = T @ np.diag(unknown * np.square(fit.values)) @ T.T
    x, unit = (tuple(each[:, None]) for each in (values, steps))
    return Estimates(at, x, unit, known[None], lost[None], _NewResponse(fit), shared=True)


class _NewResponse(Predictive):
    """Predictive distribution of a mixture; what was seen and what is clipped is at the plug-in parameters."""

    def __init__(self, fit: MixtureFit) -> None:
        new = fit.predictive()
        super().__init__(new.weights, new.distribution)
        self.fit = fit

    def conditional_mean(self, lower: Array, upper: Array) -> Array:
        """Means of rows given what was seen, imputed as the posterior has it."""
        return impute(self.fit, lower, upper)[0]

    def observed_mean(self, *limits: Array) -> Array:
        """Means of clipped values."""
        return self.fit.plug_in().observed_mean(*limits)
