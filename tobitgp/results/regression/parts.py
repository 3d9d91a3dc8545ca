"""What a regression was made from and what it found: estimates, distributions of the response in rows, influence."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.data.absorbed import Columns, as_dense, centred, only_columns, squares
from tobitgp.data.arrays import Design
from tobitgp.data.design import DesignState
from tobitgp.data.outcome import check_response, outcome
from tobitgp.data.prepare import TrainingData
from tobitgp.data.training_summary import Facts
from tobitgp.distributions.base import Distribution
from tobitgp.distributions.location_scale import LocationScale
from tobitgp.engines import row_chunks
from tobitgp.errors import SpecError
from tobitgp.formula.spec import ModelSpec
from tobitgp.likelihoods import Family
from tobitgp.numerics.factored import Covariance, Factored, dense, leading, of_sums, rows, variances
from tobitgp.posterior.estimates import Estimates
from tobitgp.posterior.questions import conditional
from tobitgp.regression import Maximum, maximise, null_log_likelihood
from tobitgp.regression.maximum import is_lost
from tobitgp.regression.residuals import dfbeta, dfbetas
from tobitgp.results.estimates import Linear, Transformed
from tobitgp.results.hazard_ratios import Contrasts
from tobitgp.results.rows import Scored, ask, response_of_rows
from tobitgp.results.terms import OFFSET, model_terms
from tobitgp.results.views import Source
from tobitgp.typing import Array, BoolArray, Frame

SIGMA = "sigma"
_CHUNK = 8192


@dataclass(frozen=True, slots=True)
class RegressionParts(Source):
    """A fitted regression."""

    spec: ModelSpec
    state: DesignState
    facts: Facts
    family: Family
    maximum: Maximum  # of columns less their ``centre``, whose intercept is that at the columns' means
    covariance: Covariance  # (k, k), of all parameters in the order of ``maximum.parameters``
    unidentified: Covariance  # (k, k), what that covariance does not cover, in the same order
    centre: Array  # (p,), taken from each linear column where an intercept takes it up
    cov_type: str
    log_jacobian: float  # what the log likelihood of log times needs to be that of the response
    llnull: float | None = None  # log likelihood with an intercept only, where it is known already
    training: TrainingData | None = None
    covariates: pd.DataFrame | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """Of the linear part."""
        return self.state.linear.columns

    @property
    def coefficients(self) -> Array:
        """Of the linear columns as written, (p,)."""
        return uncentred(self, self.maximum.coefficients)

    def at(self, x: tuple[Array, ...]) -> Any:
        """Distributions of the response at locations, log scales and, where it is estimated, shapes."""
        noise = self.noise
        if len(x) > 2:
            noise = noise.at_coordinate(float(x[2].flat[0])) if x[2].size else noise
        return LocationScale(noise, x[0], np.exp(x[1]), self.family.log_time)

    @property
    def scale_names(self) -> list[str]:
        """Parameters of the noise."""
        rest = len(self.maximum.parameters) - len(self.columns) - len(self.maximum.gamma)
        own = [SIGMA] if self.state.scale is None else list(self.scale_columns)
        return [*own, *([self.shape_name] * rest)]

    @property
    def shape_name(self) -> str:
        """Of the shape parameter of the noise; empty without one."""
        return self.family.distribution.shape_name or ""

    @property
    def positive(self) -> BoolArray:
        """Which parameters of the noise are reported as exponentials, (m,)."""
        shape = [self.shape_name] if self.family.distribution.shape_positive else []
        return np.array([name in (SIGMA, *shape) for name in self.scale_names])

    @property
    def scale_columns(self) -> tuple[str, ...]:
        """Parameters of the formula of log sigma; none without one."""
        return self.state.scale_columns

    @property
    def noise(self) -> Distribution:
        """Distribution of the noise, with the shape that was estimated."""
        shape, distribution = self.maximum.shape, self.family.distribution
        return distribution if shape is None or not self.family.estimate_shape else distribution.at_coordinate(shape)

    @property
    def names(self) -> list[str]:
        """All parameters."""
        return [*self.columns, *self.scale_names]

    @property
    def llf(self) -> float:
        """Log likelihood of the response as written."""
        return self.maximum.log_likelihood + self.log_jacobian

    def without_rows(self) -> RegressionParts:
        """Parts that answer the same about new rows; what only the training rows could tell is noted first."""
        maximum = replace(self.maximum, scores=None)
        facts, llnull = replace(self.facts), null_likelihood(self)
        return replace(self, facts=facts, maximum=maximum, llnull=llnull, training=None, covariates=None)


def uncentred(parts: RegressionParts, beta: Array) -> Array:
    """Coefficients of the columns as written, or more after them, (p or more, ...), from those of the centred ones."""
    if "Intercept" not in parts.columns or not parts.centre.any():
        return beta
    beta = beta.copy()
    beta[parts.columns.index("Intercept")] -= parts.centre @ beta[: len(parts.centre)]
    return beta


def as_written(parts: RegressionParts, V: Covariance) -> Covariance:
    """A covariance in the coefficients of the columns as written, (p or more, p or more)."""
    return V if isinstance(V, Factored) else uncentred(parts, uncentred(parts, V).T)


def linear_estimates(parts: RegressionParts) -> Linear:
    """Linear coefficients: one normal."""
    p = len(parts.columns)
    fixed = ~parts.maximum.free[:p]
    V, N = (as_written(parts, leading(each, p)) for each in (parts.covariance, parts.unidentified))
    return Linear(np.ones(1), parts.coefficients[None], [V], fixed, N)


def log_ratios(parts: RegressionParts, contrasts: Contrasts, sign: float) -> Linear:
    """Differences of f over sigma, with the derivatives of (SUR11) in the coefficients and log sigma."""
    D, V = sign * contrasts.columns, parts.covariance
    sigma = float(np.exp(parts.maximum.gamma[0]))
    value = (D @ parts.coefficients + sign * contrasts.offset) / sigma
    gradient = np.zeros((len(D), len(V)))
    gradient[:, : D.shape[1]], gradient[:, D.shape[1]] = D / sigma, -value
    fixed = ~((gradient != 0.0) & parts.maximum.free).any(axis=1)
    return Linear(np.ones(1), value[None], [of_sums(gradient, V)], fixed, of_sums(gradient, parts.unidentified))


def scale_estimates(parts: RegressionParts) -> Transformed:
    """Sigma, and the shape where it is a parameter."""
    p = len(parts.columns)
    theta = parts.maximum.parameters[p:]
    V, N = (as_written(parts, each) for each in (parts.covariance, parts.unidentified))
    lost = is_lost(variances(V), variances(N))
    of_scale = np.where(lost[p:, None] | lost, np.nan, rows(V, slice(p, None)))
    positive, given = parts.positive, ~parts.maximum.free[p:]
    if parts.family.estimate_shape:
        given[-1] = False  # not given, but held at its bound
    value = np.where(positive, np.exp(np.where(positive, theta, 0.0)), theta)
    return Transformed(value, theta, of_scale[:, p:], of_scale[:, :p], positive, given, theta, np.zeros_like(theta))


def model_arguments(design: Design, family: Family) -> dict[str, Any]:
    """What ``maximise`` and ``null_log_likelihood`` are told of a model beside its rows and linear columns."""
    scale = design.scale
    return {
        "distribution": family.distribution,
        "offset": design.offset,
        "estimate_shape": family.estimate_shape,
        "W": None if scale is None else scale.W,
        "scale_offset": design.log_noise,
    }


def known_scale(parts: RegressionParts) -> Array:
    """Scale coefficients (q,) that were given, NaN where they were estimated."""
    p, gamma = len(parts.columns), parts.maximum.gamma
    return np.where(parts.maximum.free[p : p + len(gamma)], np.nan, gamma)


def null_likelihood(parts: RegressionParts) -> float:
    """Log likelihood of the response as written with an intercept only; NaN without an intercept or a maximum."""
    if parts.llnull is not None:
        return parts.llnull
    if "Intercept" not in parts.columns:
        return float("nan")
    rows = outcome(parts.rows.response, log_time=parts.family.log_time)
    given = model_arguments(parts.rows.design, parts.family)
    return null_log_likelihood(rows, fixed_gamma=known_scale(parts), **given) + parts.log_jacobian


SHAPE_STEP = 10.0  # of the shape, in steps of the others: tails of Student's t have fewer digits


def scale_design(parts: RegressionParts, design: Design) -> Array:
    """Design (n, q) of log sigma."""
    return np.ones((len(design.H), 1)) if design.scale is None else design.scale.W


def predictors(parts: RegressionParts, design: Design) -> tuple[Array, Array]:
    """Locations and log scales of the rows of a design, (n,) each."""
    tau = scale_design(parts, design) @ parts.maximum.gamma + design.log_noise
    return centred(design.H, parts.centre) @ parts.maximum.coefficients + design.offset, tau


def rows_at(parts: RegressionParts, design: Design) -> LocationScale:
    """Distributions of the response in the rows of a design, at the estimates."""
    return parts.at(predictors(parts, design))


def estimates_of(parts: RegressionParts, design: Design, *, bands: bool = True) -> Estimates:
    """Those of the rows of a design and, for ``bands``, their covariance."""
    eta, tau = predictors(parts, design)
    x: tuple[Array, ...] = (eta, tau)
    unit: tuple[Array, ...] = (np.exp(tau), np.ones_like(tau))
    if parts.family.estimate_shape:
        x, unit = (*x, np.full_like(tau, parts.noise.coordinate)), (*unit, np.full_like(tau, SHAPE_STEP))
    V = N = np.empty((len(eta), 0, 0))
    if bands:
        H, W = centred(design.H, parts.centre), scale_design(parts, design)
        V, N = (row_covariance(H, W, each, len(x)) for each in (parts.covariance, parts.unidentified))
    return Estimates(parts.at, x, unit, V, N)


def row_covariance(H: Columns, W: Array, V: Covariance, r: int) -> Array:
    """Covariance (n, r, r) of location, log scale and shape in rows, of that of all parameters."""
    p, q = H.shape[1], W.shape[1]
    out = np.empty((len(H), r, r))
    for at in row_chunks(0, len(H), _CHUNK):
        one = np.ones((len(H[at]), 1))
        sides: Any = ((H[at], slice(0, p)), (W[at], slice(p, p + q)), (one, slice(p + q, p + q + 1)))
        for a, (left, of_left) in enumerate(sides[:r]):
            for b, (right, of_right) in enumerate(sides[:r]):
                if isinstance(V, Factored):
                    out[at, a, b] = np.einsum("ij,ij->i", left @ V.root[of_left], right @ V.root[of_right])
                else:
                    out[at, a, b] = np.einsum("ij,ij->i", as_dense(left @ V[of_left, of_right]), as_dense(right))
        if isinstance(V, Factored):
            out[at, 0, 0] += squares(H[at], V.own[:p])
    return out


def term_estimates(parts: RegressionParts, design: Design) -> dict[str, Estimates]:
    """Every term of the location in the rows of a design."""
    out = {}
    for term in model_terms(parts):
        H = only_columns(design.H, term.columns)
        value = design.offset if term.name == OFFSET else H @ parts.coefficients
        one = np.ones_like(value)
        V, N = (
            row_covariance(H, one[:, None], as_written(parts, each), 1)
            for each in (parts.covariance, parts.unidentified)
        )
        out[term.name] = Estimates(lambda x: LocationScale(parts.noise, x[0], one), (value,), (one,), V, N)  # noqa: B023
    return out


def conditional_table(parts: RegressionParts, new: Frame | None, level: float | None, *, se: bool) -> pd.DataFrame:
    """Responses where they were seen, their means given what was seen elsewhere; intervals lie within what was seen."""
    asked, response = response_of_rows(parts, new, ask(parts, new))
    check_response(response, log_time=parts.family.log_time, labels=asked.labels.to_numpy())
    posterior = estimates_of(parts, asked.design, bands=se or level is not None)
    question = conditional(parts.family.log_time, *response.within_window)
    return asked.table(posterior.statistics(question, level, se=se))


def influence_table(parts: RegressionParts, *, scaled: bool) -> pd.DataFrame:
    """Approximate changes of the estimates by each row; see ``RegressionResults.influence``."""
    asked, maximum = ask(parts), parts.maximum
    design, p = asked.design, len(parts.columns)
    again = maximise(
        outcome(parts.rows.response, log_time=parts.family.log_time),
        design.H,
        fixed_coefficients=np.where(maximum.free[:p], np.nan, parts.coefficients),
        fixed_gamma=known_scale(parts),
        scores=True,
        **model_arguments(design, parts.family),
    )
    if again.scores is None or not again.converged:
        raise SpecError("The fit has not converged, so that the influence of rows on it has no meaning.")
    V = dense(again.inverse_information)
    change: Any = dfbeta(again.scores, V, parts.rows.response.weight)
    if scaled:
        change = dfbetas(change, V)
    positive = [*np.zeros(p, dtype=bool), *parts.positive]
    names = [f"log({name})" if log else name for name, log in zip(parts.names, positive, strict=True)]
    return pd.DataFrame(asked.spread(change), index=asked.index, columns=names)


def estimate_likelihoods(parts: RegressionParts, scored: Scored) -> Array:
    """Log density of exact rows at the estimates, log probability of what was seen of the others; (m,)."""
    seen = scored.response
    check_response(seen, log_time=parts.family.log_time)
    return rows_at(parts, scored.asked.design).log_likelihood(seen.lower, seen.upper, seen.entry, seen.exit)
