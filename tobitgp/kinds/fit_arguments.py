"""Arguments of fits by maximum likelihood, read and checked; their warnings and fixed values."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, NamedTuple, Self

import numpy as np
import pandas as pd

from tobitgp.data.outcome import Outcome
from tobitgp.data.prepare import TrainingData
from tobitgp.data.spellings import FAR
from tobitgp.errors import BoundaryWarning, ConvergenceWarning, SpecError, user_level
from tobitgp.formula.spec import ModelSpec
from tobitgp.inference.given_parameters import check_names, check_unambiguous, read_mapping
from tobitgp.kinds.likelihood import SIGMA, LikelihoodParts
from tobitgp.likelihoods import Family
from tobitgp.likelihoods.families import with_known_shape
from tobitgp.regression import Maximum, covariance, unidentified
from tobitgp.regression.clusters import Clusters
from tobitgp.regression.maximum import KINDS
from tobitgp.results.views import named_columns
from tobitgp.typing import Array

# Kinds of covariances of other programs, and what they are here.
_COVARIANCES = {
    **dict.fromkeys(("robust", "white", "hetero", "sandwich"), "; it is called 'HC0' here"),
    **dict.fromkeys(("hc2", "hc3"), "; use bootstrap() of the results in small samples"),
    **dict.fromkeys(("crv1", "clustered", "twoway"), "; it is cov_type='cluster', cov_kwds={'groups': ...} here"),
    **dict.fromkeys(("hac", "newey-west"), "; rows of a unit that is followed over time are a cluster"),
    "bootstrap": "; it is a method of the results, bootstrap()",
}


class FormulaRows(NamedTuple):
    """A formula and its rows in memory, which are to be fitted."""

    spec: ModelSpec
    training: TrainingData
    family: Family
    covariates: pd.DataFrame
    columns: Sequence[str]  # names of the data's columns

    @classmethod
    def of(cls, parts: LikelihoodParts) -> Self:
        """Those of a fit."""
        assert parts.covariates is not None
        return cls(parts.spec, parts.rows, parts.family, parts.covariates, parts.facts.names)


@dataclass(frozen=True, slots=True)
class CovarianceOptions:
    """Which covariance the estimates have."""

    cov_type: str = "nonrobust"
    groups: Clusters | None = None  # of the rows
    sampling: bool = False  # whether weights are sampling weights

    @property
    def robust(self) -> bool:
        """Whether it requires the scores of the rows."""
        return self.cov_type != "nonrobust"


NONROBUST = CovarianceOptions()


def check_covariance(cov_type: Any) -> None:
    """Raise an error for an unknown covariance estimator."""
    if cov_type not in KINDS:
        meant = _COVARIANCES.get(str(cov_type).lower(), "")
        raise SpecError(f"cov_type={cov_type!r} is not supported{meant}; choose one of {', '.join(map(repr, KINDS))}.")


def known_shape(
    family: Family, fixed: Mapping[str, float] | None, columns: Sequence[str]
) -> tuple[Family, Mapping[str, float] | None]:
    """The family with a shape that is fixed, and what else is."""
    given, name = read_mapping("fixed", fixed), family.distribution.shape_name
    if not given or not family.estimate_shape or name not in given:
        return family, given
    check_unambiguous("fixed=", [name], [*columns, name])
    return with_known_shape(family, given.pop(name)), given


def read_fixed(
    fixed: Mapping[str, float] | None, columns: Sequence[str], scale: Sequence[str], family: Family
) -> tuple[Array, Array]:
    """Known coefficients (p,) and those of log sigma (q,), NaN where they are estimated."""
    given = read_mapping("fixed", fixed) or {}
    check_names("fixed", given, [*columns, *(scale or [SIGMA])])
    known = {name: read_number(name, value) for name, value in given.items()}
    if family.known_sigma is not None and (scale or SIGMA in known):
        remedy = ", so sigma= cannot be used" if scale else "; take it out of fixed="
        raise SpecError(f"family={family.name!r} has sigma = {family.known_sigma:g}{remedy}.")
    sigma = known.get(SIGMA, family.known_sigma)
    if sigma is not None and sigma <= 0.0:
        raise SpecError(f"fixed={{'sigma': {given[SIGMA]!r}}}: sigma must be a positive number.")
    if sigma is not None and not 1.0 / FAR < sigma < FAR:
        raise SpecError(
            f"fixed={{'sigma': {given[SIGMA]!r}}}: sigma must be between {1.0 / FAR:g} and {FAR:g}. Express the "
            f"response in units in which sigma is closer to 1."
        )
    coefficients = np.array([known.get(name, np.nan) for name in columns])
    if scale:
        return coefficients, np.array([known.get(name, np.nan) for name in scale])
    return coefficients, np.array([np.nan if sigma is None else np.log(sigma)])


def read_number(name: str, value: Any) -> float:
    """A number among those that are fixed."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, Real) or not np.isfinite(float(value)):
        raise SpecError(f"fixed={{{name!r}: {value!r}}}: {name} must be a finite number.")
    return float(value)


def read_values(
    argument: str, given: Mapping[str, float] | None, names: Sequence[str], positive: Sequence[bool]
) -> Array:
    """Values of parameters as they move in the search, NaN where there are none."""
    values = read_mapping(argument, given) or {}
    check_names(argument, values, names)
    out = np.array([read_number(name, values[name]) if name in values else np.nan for name in names])
    log = np.array(positive, dtype=np.bool_)
    wrong = np.flatnonzero(log & (out <= 0.0))
    if len(wrong):
        name = names[wrong[0]]
        raise SpecError(f"{argument}={{{name!r}: {values[name]!r}}}: {name} must be a positive number.")
    out[log] = np.log(out[log])
    return out


def of_maximum(
    rows: FormulaRows, maximum: Maximum, seen: Outcome, errors: CovarianceOptions = NONROBUST
) -> dict[str, Any]:
    """Fields of `LikelihoodParts` of rows in memory, whose columns are not centred."""
    spec, training, family, covariates, columns = rows
    clusters = None if errors.groups is None else errors.groups.beside(training.design.H)
    robust: dict[str, Any] = {"kind": errors.cov_type, "weight": seen.weight, "groups": clusters}
    names = named_columns([part.spec for part in training.state.parts], columns)
    return {
        "spec": spec,
        "state": training.state,
        "facts": training.facts(names, covariates),
        "family": family,
        "maximum": maximum,
        "covariance": covariance(maximum, **robust, sampling=errors.sampling),
        "unidentified": unidentified(maximum, **robust),
        "centre": np.zeros(len(training.design.columns)),
        "cov_type": errors.cov_type,
        "log_jacobian": seen.log_jacobian,
        "sampling": errors.sampling and errors.robust,
        "training": replace(training, stated_sampling=errors.sampling or training.stated_sampling),
        "covariates": covariates,
    }


def warn_of(maximum: Maximum) -> None:
    """Explain why there is no maximum, or that it lies at a bound."""
    if maximum.message != "converged":
        category = BoundaryWarning if maximum.converged else ConvergenceWarning
        warnings.warn(maximum.message, category, stacklevel=user_level())
