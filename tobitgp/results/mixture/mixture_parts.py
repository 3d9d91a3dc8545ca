"""What a mixture was made from and what it found: its estimates, draws of them, and of rows under them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
import pandas as pd

from tobitgp.data.arrays import CensoredResponse
from tobitgp.data.design import DesignState
from tobitgp.data.prepare import TrainingData
from tobitgp.data.training_summary import Facts
from tobitgp.diagnostics.training_draws import Draws, chunks, on_grid, streams, training_rows
from tobitgp.errors import BoundaryWarning, SpecError, user_level
from tobitgp.formula.spec import ModelSpec
from tobitgp.mixture import (
    MixtureFit,
    Predictive,
    held_parameters,
    intervals,
    linear_response,
    posterior_covariance,
)
from tobitgp.mixture.evidence_bound import Bayes
from tobitgp.mixture.family import Family
from tobitgp.results.mixture.drawn import draw_parameters, predictives_at
from tobitgp.results.parameter_estimates import CovKind
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

    where_weights_fail: ClassVar[str] = "Look for components that few rows hold, try fewer of them"

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
    def names(self) -> list[str]:
        """Weights, then parameters of the components."""
        return list(self.fit.names)

    @property
    def bayes(self) -> bool:
        """Whether there is a posterior; point estimates otherwise."""
        return isinstance(self.fit.model, Bayes)

    def without_rows(self) -> MixtureParts:
        """Parts that answer the same about new rows; their covariance is noted first."""
        facts = replace(self.facts)
        return replace(self, facts=facts, covariance=covariance_of(self), training=None, covariates=None)


def known_ends(spec: ModelSpec, family: Family, response: CensoredResponse) -> tuple[Array, Array]:
    """Ends (lower, upper] of the rows of a response, (n,) each.

    Of counts ``censor(upper=6)`` and ``>=6`` mean at least 6, a flag (as of ``Surv``) or ``>6`` more than 6, ``<6`` at
    most 5, and ``<=6`` at most 6.
    """
    if np.isfinite(response.entry).any() or np.isfinite(response.exit).any():
        raise SpecError(
            "mixture() takes no truncated rows, nor late entry: what could never have been seen is not censored; "
            "to fit the rest as if nothing were missing would make values, or lives, larger than they are. "
            "Regressions, family='gengamma' and family='ph' take truncation and late entry."
        )
    lower, upper = response.lower, response.upper
    if family.support != "counts":
        return lower, upper
    if spec.response.kind == "value" and spec.flag is None:
        at_limit = np.isposinf(upper) & np.isfinite(lower)
        lower = np.where(at_limit, np.ceil(lower) - 1.0, lower)
    if response.closed is not None:
        below, above = np.isneginf(lower) & np.isfinite(upper), np.isposinf(upper) & np.isfinite(lower)
        upper = np.where(below & ~response.closed, np.ceil(upper) - 1.0, upper)
        lower = np.where(above & response.closed, np.ceil(lower) - 1.0, lower)
    return lower, upper


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
            raise SpecError("kind='vb' is the posterior's own covariance, and method='em' has no posterior.")
        return posterior_covariance(parts.fit)
    return parts.covariance if parts.covariance is not None else linear_response(parts.fit, *training_ends(parts))


def warn_without_errors(fit: MixtureFit, V: Array) -> None:
    """Say why some parameters have no standard error, and what helps."""
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
        """NaN: zero is no value to test."""
        return np.full(len(self.value), np.nan)

    p_values = z_values

    def covariance(self) -> Array:
        """The matrix V."""
        return self.V

    def interval(self, alpha: float) -> Array:
        """Ends (p, 2)."""
        return intervals(self.fit, self.V, 1.0 - alpha)


@dataclass(frozen=True, slots=True)
class ComponentDraws(Draws):
    """Draws of a mixture's parameters."""

    parts: MixtureParts
    weights: Array  # (S, K)
    theta: Array  # (S, D, K), plug-in parameters of the components
    seeds: tuple[int, ...]  # one for each chunk of rows

    @property
    def size(self) -> int:
        """S."""
        return len(self.weights)

    def parameters(self) -> Array:
        """As ``params`` has them, (S, p)."""
        fit = self.parts.fit
        values = np.array([fit.model.family.point_estimates(at, fit.units)[0].ravel() for at in self.theta])
        return np.concatenate([self.weights, values], axis=1)

    def log_likelihoods(self) -> Iterator[tuple[slice, Array]]:
        """See `Draws`."""
        lower, upper, _ = training_ends(self.parts)
        predictives = self._predictives()
        for rows in chunks(len(lower)):
            yield rows, on_grid(np.column_stack([one.log_mass(lower[rows], upper[rows]) for one in predictives]))

    def responses(self) -> Iterator[tuple[slice, Array]]:
        """See `Draws`."""
        predictives = self._predictives()
        for rows, seed in zip(chunks(len(self.parts.rows.labels)), self.seeds, strict=True):
            rng = np.random.default_rng(seed)
            yield rows, np.column_stack([one.rvs(rows.stop - rows.start, rng) for one in predictives])

    def _predictives(self) -> list[Predictive]:
        return predictives_at(self.parts.fit, self.weights, self.theta)


def draw_components(
    parts: MixtureParts, draws: int, rng: int | np.random.Generator | None, *, question: str
) -> ComponentDraws:
    """Draw the parameters of a mixture."""
    stream, seeds = streams(len(training_rows(parts, question).labels), rng)
    return ComponentDraws(parts, *draw_parameters(parts.fit, covariance_of(parts), draws, stream), seeds)
