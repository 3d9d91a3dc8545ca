"""Fits by maximum likelihood: estimates, and the distributions of the response in rows under them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, ClassVar, Literal, Self

import numpy as np
import pandas as pd

from tobitgp.data.absorbed import Columns, as_dense, centred, only_columns, squares
from tobitgp.data.arrays import CensoredResponse, Design
from tobitgp.data.design import DesignState
from tobitgp.data.linear_columns import level_columns
from tobitgp.data.outcome import check_response
from tobitgp.data.prepare import TrainingData
from tobitgp.data.training_summary import Facts
from tobitgp.diagnostics.training_draws import training_rows
from tobitgp.distributions.location_scale import LocationScale
from tobitgp.distributions.standard_noise import Distribution
from tobitgp.distributions.symmetric_noise import NormalNoise
from tobitgp.engines import row_chunks
from tobitgp.formula.spec import ModelSpec
from tobitgp.likelihoods import Family
from tobitgp.numerics.bordered import CovarianceMatrix, Factored, among, leading, rows, variances
from tobitgp.posterior.estimates import Estimates
from tobitgp.regression.maximum import KINDS, Maximum, is_lost, normal_root, root_of_rows
from tobitgp.results.parameter_estimates import Linear, Transformed
from tobitgp.results.terms import model_terms
from tobitgp.results.views import Source
from tobitgp.typing import Array, BoolArray

SIGMA = "sigma"
SHAPE_STEP = 10.0  # of the shape, in steps of the others: tails of Student's t have fewer digits
_CHUNK = 8192


@dataclass(frozen=True, slots=True)
class LikelihoodParts(Source):
    """A maximum of a likelihood. Rows have r parameters, each linear in its own coefficients.

    A kind defines the columns and the distribution of the response.
    """

    estimated: ClassVar[Literal[True]] = True  # at a maximum, without a posterior

    spec: ModelSpec
    state: DesignState
    facts: Facts
    family: Family
    maximum: Maximum  # of columns less their ``centre``, whose level is that at the columns' means
    covariance: CovarianceMatrix  # (k, k), of all parameters in the order of ``maximum.parameters``
    unidentified: CovarianceMatrix  # (k, k), what that covariance does not cover, in the same order
    centre: Array  # (p,), taken from each linear column where an intercept, or a factor, takes it up
    cov_type: str
    log_jacobian: float  # what the log likelihood of log times needs to be that of the response
    llnull: float | None = None  # log likelihood with an intercept only, where it is known already
    sampling: bool = False  # whether weights are those of a sample, whose covariance is robust
    training: TrainingData | None = None
    covariates: pd.DataFrame | None = None
    root: Array | None = None  # (k, m), R of the covariance ``R R'``, by which parameters are drawn; noted without rows

    place_of_scale: ClassVar[int | None] = 1  # of log sigma among the parameters of rows
    shapes: ClassVar = {
        "columns": "centre! maximum.coefficients!",
        "names": "maximum.parameters maximum.free",
        "names names": "covariance unidentified maximum.inverse_information maximum.unidentified",
        "names *": "root!",
        "*": "maximum.gamma!",
    }
    sign_of_scale: ClassVar[float] = 1.0  # -1 where that is minus log sigma
    apart: ClassVar[str] = (  # why no model of another kind is a case of one of this kind
        "only one of them has a cured fraction or a baseline of hazards, and none is at the end of what that may be"
    )

    # -- what each kind says; without more, that of a location and a scale --------------------------------------------

    @property
    def scale_names(self) -> list[str]:
        """Parameters other than linear coefficients."""
        rest = len(self.maximum.parameters) - len(self.columns) - len(self.maximum.gamma)
        own = [SIGMA] if self.state.scale is None else list(self.scale_columns)
        return [*own, *([self.shape_name] * rest)]

    @property
    def positive(self) -> BoolArray:
        """Which of them are reported as exponentials, (m,)."""
        shape = [self.shape_name] if self.family.distribution.shape_positive else []
        return np.array([name in (SIGMA, *shape) for name in self.scale_names])

    def designs(self, design: Design) -> Sequence[Columns]:
        """Columns (n, k_j) of each parameter of rows, in the order of the estimates."""
        one = np.ones((len(design.H), 1))
        W = one if design.scale is None else design.scale.W
        return [centred(design.H, self.centre), W, *[one] * self.family.estimate_shape]

    def predictors(self, design: Design) -> tuple[Array, ...]:
        """The parameters of rows, (n,) each."""
        H, W, *shape = self.designs(design)
        tau = W @ self.maximum.gamma + design.log_noise
        rest = [np.full_like(tau, self.noise.coordinate) for _ in shape]
        return (H @ self.maximum.coefficients + design.offset, tau, *rest)

    def units(self, x: tuple[Array, ...]) -> tuple[Array, ...]:
        """Sizes of steps of the parameters."""
        return (np.exp(x[1]), np.ones_like(x[1]), np.full_like(x[1], SHAPE_STEP))[: len(x)]

    def at(self, x: tuple[Array, ...]) -> Any:
        """Distributions of the response at values of the parameters."""
        return LocationScale(self.noise_at(x[2:]), x[0], np.exp(x[1]), self.family.log_time)

    def again(self, fixed: Mapping[str, float], *, scores: bool = False) -> Self:
        """The same model fitted to the rows again, more parameters ``fixed``; with scores of rows where requested."""
        raise NotImplementedError

    def why_not_nested(self, smaller: LikelihoodParts) -> str:
        """Why a model of this family is not nested in this one, apart from its columns; empty if it is."""
        if self.components != smaller.components:
            return "their numbers of components differ, where the statistic has no chi-squared distribution"
        if type(self) is not type(smaller):
            return next((each.apart for each in (self, smaller) if each.apart != _APART), _APART)
        if self.holds_distribution(smaller):
            return ""
        return "the distribution of its rows has other parameters; formulas={'shape': '~ 1'} is one value of one"

    @property
    def components(self) -> int:
        """Number of regressions of a mixture of them."""
        return 1

    @property
    def one_shape(self) -> bool:
        """Whether the last parameter is the shape of the noise of all rows."""
        return self.family.estimate_shape

    @property
    def draw_by_draw(self) -> bool:
        """Whether `at` takes the parameters of one draw at a time."""
        return self.one_shape

    def possible(self, change: Array) -> BoolArray:
        """Which draws (S,) are of distributions, where the parameters move by ``change`` (k, S)."""
        return np.ones(change.shape[1], dtype=np.bool_)

    def known(self, response: CensoredResponse, labels: Any = None) -> CensoredResponse:
        """The responses of rows, if they are possible under the family."""
        check_response(response, log_time=self.family.log_time, labels=labels)
        return response

    def reported(self, theta: Array) -> Array:
        """Parameters (S, k) of the maximum as they are reported."""
        p, out = len(self.columns), uncentred(self, theta.T).T
        with np.errstate(over="ignore"):
            out[:, p:] = np.where(self.positive, np.exp(out[:, p:]), out[:, p:])
        return out

    def moved(self, change: Array) -> Array:
        """Changes (S, k) of the parameters of the maximum as changes of what is reported, or of its logarithm."""
        return uncentred(self, change.T).T

    @property
    def link(self) -> str | None:
        """Link of the baseline hazard; None without a baseline."""
        return None

    @property
    def family_words(self) -> str:
        """Name of the family."""
        return self.family.name

    def holds_distribution(self, other: Any) -> bool:
        """Whether the rows of another fit of this kind have a distribution with the parameters of these."""
        return True

    other_words: ClassVar[tuple[str, ...]] = ("noise scale",)  # names of the parameters of rows other than the location

    def columns_of_rows(self, design: Design) -> list[tuple[Columns, Array]]:
        """Columns as written and offsets (n,) of the parameters of rows, but of a shape of all."""
        W = np.ones((len(design.H), 1)) if design.scale is None else design.scale.W
        return [(design.H, design.offset), (W, design.log_noise)]

    def last_rows(self) -> Any:
        """Last rows (m,) of subjects, where rows are parts of their time; None otherwise."""
        return None

    # -- estimates ----------------------------------------------------------------------------------------------------

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns of the linear part."""
        return self.state.linear.columns

    @property
    def coefficients(self) -> Array:
        """Coefficients of the linear columns as written, (p,)."""
        return uncentred(self, self.maximum.coefficients)

    @property
    def scale_columns(self) -> tuple[str, ...]:
        """Parameters of the formula of log sigma, or of the cured fraction; none without one."""
        return self.state.scale_columns

    @property
    def shape_name(self) -> str:
        """Name of the shape parameter of the noise; empty without one."""
        return self.family.distribution.shape_name or ""

    @property
    def noise(self) -> Distribution:
        """Distribution of the noise, with the shape that was estimated."""
        shape, distribution = self.maximum.shape, self.family.distribution
        return distribution if shape is None or not self.family.estimate_shape else distribution.at_coordinate(shape)

    def noise_at(self, shape: tuple[Array, ...]) -> Distribution:
        """Distribution of the noise at a value of its shape, where that is estimated."""
        noise = self.noise
        if not shape or not shape[0].size:
            return noise
        return noise.at_coordinate(float(np.clip(shape[0].flat[0], *noise.coordinate_range())))

    @property
    def names(self) -> list[str]:
        """All parameters."""
        return [*self.columns, *self.scale_names]

    @property
    def given_values(self) -> Array:
        """Parameters (k,) that were given, as they are reported, NaN of the others."""
        values = np.where(self.maximum.free, np.nan, self.reported(self.maximum.parameters[None])[0])
        if self.one_shape:
            values[-1] = np.nan  # not given, but held at its bound
        return values

    @property
    def given(self) -> dict[str, float]:
        """The same by name, without sigma that the family knows, and names that it shares with a linear column."""
        pairs = zip(self.names, self.given_values.tolist(), strict=True)
        known = {name: value for name, value in pairs if not np.isnan(value) and self.names.count(name) == 1}
        if self.family.known_sigma is not None:
            known.pop(SIGMA, None)
        return known

    @property
    def llf(self) -> float:
        """Log likelihood of the response as written."""
        return self.maximum.log_likelihood + self.log_jacobian

    @property
    def slopes(self) -> list[str]:
        """Coefficients of the location that are 0 with an intercept only."""
        return [name for name in self.columns if name != "Intercept"]

    @property
    def null(self) -> float:
        """Log likelihood of the response as written with an intercept only; NaN without an intercept or a maximum."""
        if self.llnull is not None:
            return self.llnull
        if "Intercept" not in self.columns:
            return float("nan")
        training_rows(self, "the log likelihood with an intercept only")
        found = self.again(dict.fromkeys(self.slopes, 0.0))
        return found.llf if found.maximum.converged else float("nan")

    def reweighted(self, weight: Array) -> Self:
        """The same estimates for rows with other frequency weights (n,), those of weight 0 left out."""
        training, at = self.rows, weight > 0.0
        kept = training.kept.copy()
        kept[kept] = at
        response = replace(training.response.rows(at), weight=weight[at])
        training = replace(training, response=response, design=training.design.rows(at), kept=kept)
        return replace(self, training=training, covariates=None if self.covariates is None else self.covariates.loc[at])

    def without_rows(self) -> Self:
        """Parts that answer the same about new rows."""
        maximum, root = replace(self.maximum, scores=None), self.draw_root if self.has_errors else None
        return replace(self, facts=replace(self.facts), maximum=maximum, training=None, covariates=None, root=root)

    @property
    def has_errors(self) -> bool:
        """Whether all estimates have standard errors."""
        variance = variances(self.covariance)
        return bool(np.isfinite(variance).all() and not is_lost(variance, variances(self.unidentified)).any())

    @property
    def draw_root(self) -> Array:
        """A root R (k, m) of the covariance ``R R'`` of the estimates, columns of zeros where that is singular."""
        V = self.covariance
        if self.root is not None:
            return self.root
        if isinstance(V, Factored):
            return np.hstack([V.root, np.diag(np.sqrt(V.own))[:, V.own > 0.0]])
        if self.training is None:
            return normal_root(V)
        design = self.training.design
        columns = [as_dense(each) for each in self.designs(design)]
        return root_of_rows(V, columns, self.predictors(design), self.training.response.weight)

    def windows(self, response: CensoredResponse) -> tuple[Array, Array]:
        """Windows of rows, where what `in_training` gives does not know of them."""
        return response.entry, response.exit

    def inconsistencies(self) -> Iterator[str]:
        """Inconsistent parts of a fit that was read from a file."""
        shape = self.maximum.shape
        if self.spec.processes or self.maximum.scores is not None or self.cov_type not in KINDS:
            yield "its parts do not belong together"
        if (shape is None) != (not self.shape_name) or not np.isfinite(shape or 0.0):
            yield "the shape of its noise is not that of its family"

    # -- training rows, as they are judged ----------------------------------------------------------------------------

    def in_training(self) -> Any:
        """Distributions of the response in the training rows."""
        return self.at(self.predictors(self.rows.design))

    def drawn_in_training(self, rows: slice, change: Array) -> list[Any]:
        """The same for some rows, (n, s) each, where the parameters move by ``change`` (k, S)."""
        return drawn_rows(self, self.rows.design.rows(rows), change)


_APART = LikelihoodParts.apart


def uncentred(parts: LikelihoodParts, beta: Array) -> Array:
    """Coefficients of the columns as written, or more after them, (p or more, ...), from those of the centred ones."""
    beta = beta.copy()
    if parts.centre.any():
        level = np.flatnonzero(level_columns(parts.state.linear))
        beta[level] -= parts.centre @ beta[: len(parts.centre)]
    return beta


def as_written(parts: LikelihoodParts, V: CovarianceMatrix) -> CovarianceMatrix:
    """A covariance in the coefficients of the columns as written, (p or more, p or more)."""
    return V if isinstance(V, Factored) else uncentred(parts, uncentred(parts, V).T)


def linear_estimates(parts: LikelihoodParts) -> Linear:
    """Linear coefficients: one normal."""
    p = len(parts.columns)
    fixed = ~parts.maximum.free[:p]
    V, N = (as_written(parts, leading(each, p)) for each in (parts.covariance, parts.unidentified))
    return Linear(np.ones(1), parts.coefficients[None], [V], fixed, N)


def tested_estimates(parts: LikelihoodParts) -> tuple[Linear, list[str]]:
    """Parameters of which zero is a value, and their names: coefficients of all formulas, shapes of any sign."""
    at = np.flatnonzero(~np.concatenate([np.zeros(len(parts.columns), dtype=np.bool_), parts.positive]))
    V, N = (among(as_written(parts, each), at) for each in (parts.covariance, parts.unidentified))
    theta = uncentred(parts, parts.maximum.parameters)[at]
    return Linear(np.ones(1), theta[None], [V], ~parts.maximum.free[at], N), [parts.names[i] for i in at]


def scale_estimates(parts: LikelihoodParts) -> Transformed:
    """All other parameters."""
    p = len(parts.columns)
    theta = parts.maximum.parameters[p:]
    V, N = (as_written(parts, each) for each in (parts.covariance, parts.unidentified))
    lost = is_lost(variances(V), variances(N))
    of_scale = np.where(lost[p:, None] | lost, np.nan, rows(V, slice(p, None)))
    positive, given = parts.positive, ~parts.maximum.free[p:]
    if parts.one_shape:
        given[-1] = False  # not given, but held at its bound
    value = np.where(positive, np.exp(np.where(positive, theta, 0.0)), theta)
    return Transformed(value, theta, of_scale[:, p:], of_scale[:, :p], positive, given, theta, np.zeros_like(theta))


def estimates_of_rows(
    parts: LikelihoodParts, design: Design, *, bands: bool = True, at: Callable[[tuple[Array, ...]], Any] | None = None
) -> Estimates:
    """Those of the rows of a design and, for ``bands``, their covariance: (CUR4) of the theory pages."""
    x = parts.predictors(design)
    V = N = np.empty((len(x[0]), 0, 0))
    if bands:
        columns = parts.designs(design)
        V, N = (row_covariance(columns, each) for each in (parts.covariance, parts.unidentified))
    return Estimates(at or parts.at, x, parts.units(x), V, N)


def row_covariance(columns: Sequence[Columns], V: CovarianceMatrix) -> Array:
    """Covariance (n, r, r) of the parameters of rows from that of the estimates."""
    n, r = len(columns[0]), len(columns)
    ends = np.cumsum([0, *(each.shape[1] for each in columns)])
    own = [slice(first, last) for first, last in pairwise(ends.tolist())]
    out = np.empty((n, r, r))
    for at in row_chunks(0, n, _CHUNK):
        sides = [each[at] for each in columns]
        for a, left in enumerate(sides):
            for b, right in enumerate(sides):
                if isinstance(V, Factored):
                    out[at, a, b] = np.einsum("ij,ij->i", left @ V.root[own[a]], right @ V.root[own[b]])
                else:
                    out[at, a, b] = np.einsum("ij,ij->i", as_dense(left @ V[own[a], own[b]]), as_dense(right))
        if isinstance(V, Factored):
            out[at, 0, 0] += squares(sides[0], V.own[own[0]])
    return out


def term_estimates(parts: LikelihoodParts, design: Design) -> dict[str, Estimates]:
    """Every term of the location in the rows of a design."""
    none = np.zeros_like(design.offset)
    return {
        term.name: sum_estimates(parts, only_columns(design.H, term.columns), design.offset if term.is_offset else none)
        for term in model_terms(parts)
    }


def sum_estimates(parts: LikelihoodParts, H: Columns, offset: Array) -> Estimates:
    """The sum of some linear columns (n, p) of the location, and offsets."""
    value = H @ parts.coefficients + offset
    both = (leading(as_written(parts, each), H.shape[1]) for each in (parts.covariance, parts.unidentified))
    V, N = (row_covariance([H], each) for each in both)

    def at(x: tuple[Array, ...]) -> LocationScale:
        return LocationScale(NormalNoise(), x[0], np.ones_like(x[0]))

    return Estimates(at, (value,), (np.ones_like(value),), V, N)


def moved_rows(parts: LikelihoodParts, design: Design, change: Array) -> tuple[Array, ...]:
    """The parameters of rows, (n, S) each, where those of the fit move by ``change`` (k, S)."""
    columns = parts.designs(design)
    moves = np.split(change, np.cumsum([each.shape[1] for each in columns])[:-1])
    return tuple(
        at[:, None] + each @ move for at, each, move in zip(parts.predictors(design), columns, moves, strict=True)
    )


def drawn_rows(parts: LikelihoodParts, design: Design, change: Array) -> list[Any]:
    """Distributions of the response in rows under draws, together or one draw at a time, (n, s) each."""
    x = moved_rows(parts, design, change)
    if not parts.draw_by_draw:
        return [parts.at(x)]
    return [parts.at(tuple(each[:, [s]] for each in x)) for s in range(change.shape[1])]
