"""What a mixture was made from and what it found."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import pandas as pd

from tobitgp.data.arrays import CensoredResponse
from tobitgp.data.design import DesignState
from tobitgp.data.prepare import TrainingData
from tobitgp.data.training_summary import Facts
from tobitgp.errors import SpecError
from tobitgp.formula.spec import ModelSpec
from tobitgp.mixture import MixtureFit, held_parameters, intervals, linear_response, posterior_covariance, rows_of
from tobitgp.mixture.family import Family
from tobitgp.mixture.model import Bayes
from tobitgp.results.estimates import CovKind
from tobitgp.results.views import Source
from tobitgp.typing import Array, BoolArray, IntArray

COV_KINDS: tuple[CovKind, ...] = ("linear_response", "vb")


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

    spec: ModelSpec
    state: DesignState  # of no column
    facts: Facts
    fit: MixtureFit
    tried: Tried | None = None  # where a range of numbers of components was given
    covariance: Array | None = None  # (p, p), by linear response
    training: TrainingData | None = None
    covariates: pd.DataFrame | None = None

    @property
    def family(self) -> Family:
        """Of the components."""
        return self.fit.model.family

    @property
    def bayes(self) -> bool:
        """Whether there is a posterior; point estimates otherwise."""
        return isinstance(self.fit.model, Bayes)

    def without_rows(self) -> MixtureParts:
        """Parts that answer the same about new rows; their covariance is noted first."""
        return replace(self, covariance=covariance_of(self), training=None, covariates=None)


def known_ends(spec: ModelSpec, family: Family, response: CensoredResponse) -> tuple[Array, Array]:
    """Ends (lower, upper] of the rows of a response, as a mixture reads them, (n,) each.

    Of counts the spellings mean different things: ``censor(upper=6)`` is what an instrument shows that stops at 6, a
    count of at least 6; a flag, as of ``Surv``, and the text ``>6`` say that 6 was exceeded; ``<6`` is at most 5.
    """
    lower, upper, _ = rows_of(response)
    if family.support != "counts":
        return lower, upper
    if spec.response.kind == "value" and spec.flag is None:
        at_limit = np.isposinf(upper) & np.isfinite(lower)
        lower = np.where(at_limit, np.ceil(lower) - 1.0, lower)
    if spec.response.kind == "text":
        below = np.isneginf(lower) & np.isfinite(upper)
        upper = np.where(below, np.ceil(upper) - 1.0, upper)
    return lower, upper


def training_ends(parts: MixtureParts) -> tuple[Array, Array, Array]:
    """Ends and weights of the training rows, (n,) each."""
    response = parts.rows.response
    return *known_ends(parts.spec, parts.family, response), response.weight


def covariance_of(parts: MixtureParts, kind: CovKind = "linear_response") -> Array:
    """Covariance of all parameters, (p, p)."""
    if not isinstance(kind, str) or kind not in COV_KINDS:
        raise SpecError(f"kind={kind!r} is not offered; choose one of {', '.join(map(repr, COV_KINDS))}.")
    if kind == "vb":
        if not parts.bayes:
            raise SpecError("kind='vb' is the posterior's own covariance, and method='em' has no posterior.")
        return posterior_covariance(parts.fit)
    return parts.covariance if parts.covariance is not None else linear_response(parts.fit, *training_ends(parts))


def errors_in_words(fit: MixtureFit, V: Array) -> tuple[str, ...]:
    """Why some parameters have no standard error, and what helps; empty where all have one."""
    names, held = np.array(fit.names), held_parameters(fit)
    unknown = np.isnan(np.diag(V)) & ~held
    notes = []
    if held.any():
        notes.append(
            f"At the bound of what is searched, and without standard error: {', '.join(names[held])}. Errors of the "
            "others take these values as known. The likelihood rises beyond them: fit fewer components, or by 'vbcm'."
        )
    if unknown.any():
        remedy = " Components that are alike, or hold next to no rows, have no errors: fit fewer." if fit.k > 1 else ""
        remedy = remedy if fit.converged else " The fit had not converged: raise max_iter first."
        notes.append(
            f"The rows do not determine {', '.join(names[unknown])}: standard errors and intervals of these, and of "
            f"what depends on them, are NaN.{remedy}"
        )
    return tuple(notes)


@dataclass(frozen=True, slots=True)
class MixtureEstimates:
    """The p parameters."""

    fit: MixtureFit
    V: Array  # (p, p), covariance of the values; NaN where these rows do not determine a parameter

    @property
    def value(self) -> Array:
        """Estimates, (p,)."""
        return self.fit.values

    @property
    def cross(self) -> float:
        """Covariance with linear coefficients, of which there are none."""
        return 0.0

    def errors(self) -> Array:
        """Standard errors, (p,); 0 for the weight of a single component."""
        return np.sqrt(np.diag(self.V))

    def z_values(self) -> Array:
        """NaN: zero is no value to test."""
        return np.full(len(self.value), np.nan)

    def p_values(self) -> Array:
        """NaN, as ``z_values``."""
        return np.full(len(self.value), np.nan)

    def covariance(self) -> Array:
        """The matrix V."""
        return self.V

    def interval(self, alpha: float) -> Array:
        """Ends (p, 2); see :func:`tobitgp.mixture.covariance.intervals`."""
        return intervals(self.fit, self.V, 1.0 - alpha)
