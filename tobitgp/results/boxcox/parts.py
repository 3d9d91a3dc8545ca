"""What a fit of a power-transformed response was made from, and its rows after the transformation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from tobitgp.data.absorbed import as_dense
from tobitgp.data.arrays import CensoredResponse, Design
from tobitgp.data.design import DesignState
from tobitgp.data.outcome import refuse_rows
from tobitgp.data.prepare import TrainingData
from tobitgp.data.training_summary import Facts
from tobitgp.distributions.power_normal import TINY, PowerNormal, transform
from tobitgp.formula.spec import ModelSpec
from tobitgp.likelihoods import Family
from tobitgp.likelihoods.families import BOXCOX
from tobitgp.posterior.questions import Question
from tobitgp.results.distributional.parts import DistributionalParts
from tobitgp.results.regression.parts import SHAPE_STEP, scale_design
from tobitgp.results.views import Parts, Source
from tobitgp.typing import Array

TRANSFORMED = Question(lambda y: y.latent)  # the location after the transformation
LEAST_POWER = 0.05  # of rows that are 0, which no response of power 0 is


@dataclass(frozen=True, slots=True)
class BoxCoxParts(DistributionalParts):
    """A regression after a power transformation by maximum likelihood; the power is ``maximum.shape``."""

    given: bool = False  # whether the power was
    log_unit: float = 0.0  # logarithm of what the response is divided by before it is transformed
    profile: Array | None = None  # (m, 2), powers that the search met, and the log likelihood at each
    level: Array | None = None  # (p,), coefficients of a constant, where the columns have one

    def designs(self, design: Design) -> list[Array]:
        """Columns (n, k_j) of location, log sigma and power."""
        return [as_dense(design.H), scale_design(self, design), np.ones((len(design.H), 1))]

    def predictors(self, design: Design) -> tuple[Array, ...]:
        """Location, log sigma and power of rows, (n,) each."""
        H, W, one = self.designs(design)
        tau = W @ self.maximum.gamma + design.log_noise
        return H @ self.maximum.coefficients + design.offset, tau, one[:, 0] * self.power

    def units(self, x: tuple[Array, ...]) -> tuple[Array, ...]:
        """Sizes of steps of the parameters."""
        return np.exp(x[1]), np.ones_like(x[0]), SHAPE_STEP / 10.0 * np.ones_like(x[0])

    def at(self, x: tuple[Array, ...]) -> PowerNormal:
        """Distributions of the response at values of the parameters."""
        return PowerNormal(x[0], np.exp(x[1]), x[2], self.log_unit, self.power)

    @property
    def power(self) -> float:
        """The power that was estimated, or given."""
        assert self.maximum.shape is not None
        return self.maximum.shape


@dataclass(frozen=True, slots=True)
class BoxCoxGPParts(Source):
    """Fits of the transformed response at each of some powers."""

    spec: ModelSpec
    state: DesignState
    facts: Facts
    fits: tuple[Parts, ...]  # of the transformed response, at every power
    powers: Array  # (K,)
    weights: Array  # (K,), sum to one
    jacobians: Array  # (K,), what each log evidence needs to be that of the response
    best: int  # place of the power with the highest evidence
    se: float  # standard deviation of the power, 0 where it was given
    integrated: float  # log evidence, powers and hyper-parameters integrated out; NaN where these were maximised
    training: TrainingData | None = None
    covariates: pd.DataFrame | None = None

    @property
    def family(self) -> Family:
        """That of power transformations."""
        return BOXCOX

    @property
    def names(self) -> list[str]:
        """Linear columns, then hyper-parameters."""
        return self.fits[self.best].names

    @property
    def gp(self) -> Any:
        """What was modelled at the power with the highest evidence."""
        return self.fits[self.best].gp

    @property
    def levels(self) -> Sequence[tuple[Array, Array]]:
        """Levels of the processes at the power with the highest evidence."""
        return self.fits[self.best].levels

    def without_rows(self) -> BoxCoxGPParts:
        """Parts that answer the same about new rows."""
        fits = tuple(fit.without_rows() for fit in self.fits)
        return replace(self, fits=fits, facts=replace(self.facts), training=None, covariates=None)


def above_zero(response: CensoredResponse, labels: npt.NDArray[np.object_]) -> CensoredResponse:
    """Rows with their zeros, which are left-censored there, at the smallest number; others are positive.

    Of a lower end at 0 nothing is known: the response may be 0.
    """
    exact = response.lower == response.upper
    remedy = "Write | censor(0) if zeros are what lies at or below 0; drop or shift negative ones."
    what = "family='boxcox' needs positive responses"
    refuse_rows((response.upper < 0.0) | exact & (response.lower <= 0.0), what, response.upper, labels, remedy)
    lower, entry = (np.where(end > 0.0, end, -np.inf) for end in (response.lower, response.entry))
    return replace(response, lower=lower, upper=np.maximum(response.upper, TINY), entry=entry)


def holds_zeros(response: CensoredResponse) -> bool:
    """Whether some rows are 0."""
    return bool((response.upper <= TINY).any())


def transformed(training: TrainingData, power: float, log_unit: float = 0.0) -> TrainingData:
    """Rows whose response, limits and windows are transformed, in some unit: (BC1)."""
    response = training.response
    names = ("lower", "upper", "limit_lower", "limit_upper", "entry", "exit")
    ends: dict[str, Any] = {
        name: _transformed(getattr(response, name), power, log_unit, lowest=name == "upper") for name in names
    }
    return replace(training, response=replace(response, **ends))


def _transformed(y: Array, power: float, log_unit: float, *, lowest: bool) -> Array:
    """Ends on the transformed scale: from 0 on nothing is known, but of what is 0 that it lies below."""
    with np.errstate(divide="ignore", invalid="ignore"):
        z = transform(np.log(np.where(y > TINY, y, 0.0)) - log_unit, power)
    none = np.isnan(y) if lowest else ~(y > 0.0) | np.isnan(y)
    return np.where(np.isposinf(y), np.inf, np.where(none, np.where(np.isnan(y), y, -np.inf), z))


def row_jacobians(response: CensoredResponse, power: float, log_unit: float = 0.0) -> Array:
    """Logarithms (n,) of the derivatives of the transformation in exact rows, 0 in others: (BC2)."""
    exact = response.lower == response.upper
    log_y = np.log(np.where(exact, response.lower, 1.0))
    return np.where(exact, (power - 1.0) * log_y - power * log_unit, 0.0)


def log_jacobian(response: CensoredResponse, power: float, log_unit: float = 0.0) -> float:
    """What the log likelihood of transformed rows needs to be that of the response, (BC2)."""
    return float(response.weight @ row_jacobians(response, power, log_unit))


def reported(parts: BoxCoxParts) -> BoxCoxParts:
    """The same with estimates of the response in the user's unit, whose factor in (BC6) counts as known."""
    if not parts.log_unit:
        return parts
    maximum, moved = parts.maximum, in_users_unit(parts, parts.maximum.parameters)
    beta, gamma = np.split(moved[:-1], [len(parts.columns)])
    factor = np.ones(len(moved))
    factor[: len(beta)] = np.exp(parts.power * parts.log_unit)
    V, N = (factor[:, None] * np.asarray(each) * factor for each in (parts.covariance, parts.unidentified))
    return replace(parts, maximum=replace(maximum, coefficients=beta, gamma=gamma), covariance=V, unidentified=N)


def in_users_unit(parts: BoxCoxParts, theta: Array) -> Array:
    """Parameters (..., k) of the response in the user's unit, by the power of the fit: (BC6)."""
    out, p, log_g = theta.copy(), len(parts.columns), parts.log_unit
    if log_g:
        assert parts.level is not None
        out[..., :p] *= np.exp(parts.power * log_g)
        out[..., :p] += parts.level * float(transform(np.array(log_g), parts.power))
        out[..., p] += parts.power * log_g
    return out
