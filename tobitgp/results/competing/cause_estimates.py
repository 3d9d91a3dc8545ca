"""Estimates of competing risks: those of each cause side by side, which are independent of each other: (CR1)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any

import numpy as np
import pandas as pd
from scipy.linalg import block_diag

from tobitgp.errors import SpecError
from tobitgp.numerics.bordered import dense
from tobitgp.results import parameter_tables
from tobitgp.results.hypotheses import WaldResults, chi_squared
from tobitgp.results.likelihood.likelihood_results import LikelihoodResults
from tobitgp.results.parameter_estimates import Linear
from tobitgp.typing import Array


@dataclass(frozen=True, slots=True)
class IndependentLinear:
    """Posteriors of the linear coefficients of several fits, which are independent of each other."""

    fits: Sequence[Linear]

    def combine(self, R: Array, null: Array) -> Linear:
        """Posterior of the combinations ``R beta - null`` of the rows of R (k, p), p that of all fits."""
        k, lost = len(R), np.zeros((len(R), len(R)))
        weight, mean, V, fixed = np.ones(1), -null[None, :], np.zeros((1, k, k)), np.ones(k, dtype=bool)
        ends = np.cumsum([fit.mean.shape[1] for fit in self.fits])[:-1]
        for fit, own in zip(self.fits, np.split(R, ends, axis=1), strict=True):
            part = fit.combine(own, np.zeros(k))
            within = np.stack([dense(each) for each in part.covariance])
            weight = np.outer(weight, part.weight).ravel()
            mean = (mean[:, None] + part.mean).reshape(-1, k)
            V = (V[:, None] + within).reshape(-1, k, k)
            fixed &= part.fixed
            if part.unidentified is not None:
                lost += dense(part.unidentified)
        return Linear(weight, mean, V, fixed, lost)


def beside(method: Callable[..., Any], level: str | None = None, *, name: str = "") -> Any:
    """A method, called by ``name``, whose tables of the causes are below each other, under a level of causes."""
    asked = name or method.__name__

    @wraps(method)
    def of_causes(results: Any, *args: Any, **options: Any) -> Any:
        found = {cause: getattr(fit, asked)(*args, **options) for cause, fit in results._fits.items()}
        return pd.concat(found, names=["cause", level])

    return of_causes


def tables(owner: type, name: str, level: str | None = None) -> Any:
    """The same for a property."""

    def of_causes(results: Any) -> Any:
        return pd.concat({cause: getattr(fit, name) for cause, fit in results._fits.items()}, names=["cause", level])

    return _property(of_causes, owner, name)


def sums(owner: type, name: str) -> Any:
    """A property that is a sum over causes, NaN where one has none."""

    def of_causes(results: Any) -> float:
        return float(sum(getattr(fit, name, np.nan) for fit in results._fits.values()))

    return _property(of_causes, owner, name)


def words(owner: type, name: str, otherwise: str = "") -> Any:
    """A property that is a word, or several of causes that differ."""

    def of_causes(results: Any) -> str:
        return ", ".join(dict.fromkeys(getattr(fit, name, otherwise) for fit in results._fits.values()))

    return _property(of_causes, owner, name)


def _property(of_causes: Callable[[Any], Any], owner: type, name: str) -> Any:
    of_causes.__doc__ = getattr(owner, name).__doc__
    return property(of_causes)


def documented_as(method: Callable[..., Any]) -> Callable[[Callable[..., Any]], Any]:
    """Signature and docstring of the same method of other kinds."""
    return lambda of: wraps(method)(of)


@documented_as(parameter_tables.conf_int)
def conf_int(results: Any, *args: Any, cols: Any = None, **options: Any) -> pd.DataFrame:
    """Intervals of the causes below each other, whose parameters are counted together."""
    found: pd.DataFrame = beside(parameter_tables.conf_int)(results, *args, **options)
    return found.iloc[parameter_tables.places(results, "cols", cols)]


@documented_as(parameter_tables.cov_params)
def cov_params(results: Any, kind: Any = None, *, r_matrix: Any = None, column: Any = None) -> Any:
    """Covariances of the causes, 0 between them."""
    every, index = [fit.cov_params(kind) for fit in results._fits.values()], results.params.index
    covariance = pd.DataFrame(block_diag(*every), index=index, columns=index)
    return parameter_tables.covariance_of(results, covariance, r_matrix, column)


@documented_as(LikelihoodResults.lr_test)
def lr_test(results: Any, other: Any) -> WaldResults:
    """Sums of the statistics and of the degrees of freedom of the causes."""
    fits = getattr(other, "_fits", {})
    if list(fits) != list(results.causes):
        raise SpecError(f"lr_test() requires a fit with the same causes: {', '.join(map(repr, results.causes))}.")
    tests = [fit.lr_test(fits[cause]) for cause, fit in results._fits.items()]
    return chi_squared(sum(test.statistic for test in tests), sum(test.df for test in tests))
