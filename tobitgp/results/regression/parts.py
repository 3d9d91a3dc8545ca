"""What a regression was made from and what it found."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from scipy.linalg import block_diag

from tobitgp.data.arrays import Design
from tobitgp.data.design import DesignState
from tobitgp.data.outcome import outcome
from tobitgp.data.prepare import TrainingData
from tobitgp.data.training_summary import Facts
from tobitgp.distributions.base import Distribution
from tobitgp.formula.spec import ModelSpec
from tobitgp.likelihoods import Family
from tobitgp.regression import Maximum, null_log_likelihood
from tobitgp.regression.covariance import hide
from tobitgp.results.estimates import Linear, ScaleEstimates
from tobitgp.results.views import Source
from tobitgp.typing import Array

SIGMA, DF = "sigma", "df"


@dataclass(frozen=True, slots=True)
class RegressionParts(Source):
    """A fitted regression."""

    spec: ModelSpec
    state: DesignState
    facts: Facts
    family: Family
    maximum: Maximum  # of columns less their ``centre``, whose intercept is that at the columns' means
    covariance: Array  # (k, k), of all parameters in the order of ``maximum.parameters``
    unidentified: Array  # (k, k), what that covariance does not cover, in the same order
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
    def uncentring(self) -> Array:
        """Matrix (p, p) from coefficients of centred columns to those of the columns as written."""
        T = np.eye(len(self.centre))
        if "Intercept" in self.columns:
            T[self.columns.index("Intercept")] -= self.centre
        return T

    @property
    def coefficients(self) -> Array:
        """Of the linear columns as written, (p,)."""
        return self.uncentring @ self.maximum.coefficients

    @property
    def scale_names(self) -> list[str]:
        """Parameters of the noise."""
        rest = len(self.maximum.parameters) - len(self.columns) - len(self.maximum.gamma)
        own = [SIGMA] if self.state.scale is None else list(self.scale_columns)
        return [*own, *([DF] * rest)]

    @property
    def scale_columns(self) -> tuple[str, ...]:
        """Parameters of the formula of log sigma; none without one."""
        return () if self.state.scale is None else tuple(f"log(sigma)[{c}]" for c in self.state.scale.linear.columns)

    @property
    def law(self) -> Distribution:
        """Distribution of the noise, with the degrees of freedom that were estimated."""
        df = self.maximum.df
        return self.family.law if df is None else self.family.law.with_shape(df)

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
        return replace(self, maximum=maximum, llnull=null_likelihood(self), training=None, covariates=None)


def linear_estimates(parts: RegressionParts) -> Linear:
    """Linear coefficients: one normal."""
    p = len(parts.columns)
    fixed, T = ~parts.maximum.free[:p], parts.uncentring
    V, N = (T @ each[:p, :p] @ T.T for each in (parts.covariance, parts.unidentified))
    return Linear(np.ones(1), parts.coefficients[None], V[None], fixed, N)


def scale_estimates(parts: RegressionParts) -> ScaleEstimates:
    """Sigma, and df where it is a parameter."""
    p = len(parts.columns)
    theta = parts.maximum.parameters[p:]
    T = block_diag(parts.uncentring, np.eye(len(theta)))
    V = hide(T @ parts.covariance @ T.T, T @ parts.unidentified @ T.T)
    positive = np.array([name in (SIGMA, DF) for name in parts.scale_names])
    given = ~parts.maximum.free[p:]
    if parts.family.estimate_df:
        given[-1] = False  # not given, but held at its bound
    return ScaleEstimates(theta, V[p:, p:], V[p:, :p], positive, given)


def model_arguments(design: Design, family: Family) -> dict[str, Any]:
    """What ``maximise`` and ``null_log_likelihood`` are told of a model beside its rows and linear columns."""
    scale = design.scale
    return {
        "law": family.law,
        "offset": design.offset,
        "estimate_df": family.estimate_df,
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
