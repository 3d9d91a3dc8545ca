"""Data and estimates of a mixture of vectors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import ClassVar

import numpy as np
import pandas as pd

from tobitgp.data.table import column_names
from tobitgp.data.training_summary import Facts
from tobitgp.errors import DataError
from tobitgp.formula.mixture_formulas import VectorFormula
from tobitgp.formula.mvbind import Wide
from tobitgp.formula.parse import parse_formula
from tobitgp.formula.spec import ModelSpec
from tobitgp.kinds.mixture import MixtureParts, Tried
from tobitgp.mixture import EMCM, MIXTURE_FAMILIES, MixtureFit
from tobitgp.mixture.evidence_bound import MixtureState, Points
from tobitgp.mixture.family import MixtureFamily
from tobitgp.mixture.mixture_rows import MixtureUnits
from tobitgp.mixture.vector_fit import VectorFit
from tobitgp.mixture.vector_information import parameter_covariance, parameter_names, parameter_values
from tobitgp.mixture.vector_rows import VectorRows
from tobitgp.results.multivariate.multivariate_parts import (
    ResponseRows,
    ResponsesTogether,
    SeveralSpec,
    learn_alone,
    spec_fields,
)
from tobitgp.results.multivariate.response_view import Learned
from tobitgp.results.multivariate.stacked_rows import WideEnds, ends_of, read_responses
from tobitgp.typing import Array, BoolArray, Frame

_GAUSSIAN = "gaussian"
_NO_FLOOR = 1e-300


@dataclass(frozen=True)
class VectorParts(ResponsesTogether):
    """A mixture of vectors, and the marginal mixture of each response."""

    over: VectorFormula
    fit: VectorFit
    method: EMCM
    total: float  # weight of the rows of which something is known
    dropped: int  # other rows
    learned: tuple[Learned, ...]  # (D,)
    facts_of_each: tuple[Facts, ...]  # (D,), what is remembered of the values of each response
    tried: Tried | None = None  # where a range of numbers of components was given
    covariance: Array | None = None  # (p, p), of the parameters, if requested
    read: ResponseRows | None = None  # the rows of the fit; none where it comes from a file
    weight: Array | None = None  # (n,), of these

    shapes: ClassVar = {
        "fit.k": "fit.weights! fit.counts! fit.held",
        "fit.k labels": "fit.means!",
        "fit.k labels labels": "fit.covariances!",
        "labels fit.k": "fit.exact_counts!",
        "names names": "covariance",
        "*": "fit.trace fit.ends",
    }

    def inconsistencies(self) -> Iterator[str]:
        """Inconsistent parts of a fit that was read from a file."""
        fit = self.fit
        if self.covariance is None or not len(self.labels) == len(self.learned) == len(self.facts_of_each):
            yield "its parts do not belong together"
        definite = (np.linalg.eigvalsh(fit.covariances) > 0.0).all()
        if not definite or (fit.weights < 0.0).any() or not len(fit.trace) or not len(fit.ends) or self.total <= 0.0:
            yield "its components make no sense"

    @property
    def wide(self) -> Wide:
        """The responses and their limits."""
        return self.over.wide

    @property
    def spec(self) -> SeveralSpec:  # type: ignore[override]
        """The formula, and that of each response."""
        return vector_spec(self.over, tuple(one.spec for one in self.responses))

    @property
    def family(self) -> MixtureFamily:
        """Family of the components of every response."""
        return MIXTURE_FAMILIES[_GAUSSIAN]

    @property
    def names(self) -> list[str]:
        """Weights, means, standard deviations and correlations."""
        return parameter_names(self.labels, self.fit.k)

    @property
    def values_of_parameters(self) -> Array:
        """Their values, (p,)."""
        return parameter_values(self.fit.state)

    @cached_property
    def vectors(self) -> tuple[VectorRows, BoolArray]:
        """Rows of the fit, and which of the data these are."""
        assert self.read is not None
        assert self.weight is not None
        return vector_rows(self.read, self.weight)

    def with_covariance(self) -> VectorParts:
        """The same with the covariance of the parameters."""
        if self.covariance is not None:
            return self
        return replace(self, covariance=parameter_covariance(self.fit, self.vectors[0]))

    @cached_property
    def responses(self) -> tuple[MixtureParts, ...]:
        """The marginal mixture of each response, (D,)."""
        return tuple(self._response(j) for j in range(len(self.labels)))

    def _response(self, j: int) -> MixtureParts:
        spec, state = learn_alone(self.wide.alone(j), self.learned[j])
        found = MixtureParts(spec, state, self.facts_of_each[j], self._marginal(j), self.tried, self._covariance_of(j))
        if self.read is None:
            return found
        design, _ = state.replay(self.read.data.iloc[self.read.seen[j].rows])
        training = self.read.training(j, state, design)
        covariates = pd.DataFrame(index=training.index[training.kept])
        return replace(found, training=training, covariates=covariates)

    def _marginal(self, j: int) -> MixtureFit:
        """The mixture of one response, at the likelihood of all."""
        fit = self.fit
        sd = np.sqrt(fit.covariances[:, j, j])
        return MixtureFit(
            model=Points(self.family, fit.k, np.full(fit.k, _NO_FLOOR)),
            state=MixtureState(fit.weights, np.stack([fit.means[:, j], np.log(sd)])),
            order=np.arange(fit.k),
            units=MixtureUnits(),
            method=self.method,
            objective=fit.log_likelihood,
            trace=fit.trace,
            path=np.zeros(0),
            ends=fit.ends,
            converged=fit.converged,
            passes=len(fit.trace) - 1,
            counts=fit.counts,
            exact_counts=fit.exact_counts[j],
            total=self.total,
            exact=float(fit.exact_counts[j].sum()),
            notes=fit.notes,
        )

    def _covariance_of(self, j: int) -> Array | None:
        """Covariance of the parameters of the mixture of one response, where it is known."""
        if self.covariance is None:
            return None
        own = [f"{kind}[{c + 1}]" for kind in self._kinds_of(j) for c in range(self.fit.k)]
        at = [self.names.index(name) for name in own]
        return np.asarray(self.covariance[np.ix_(at, at)])

    def _kinds_of(self, j: int) -> tuple[str, ...]:
        return "weight", f"mean[{self.labels[j]}]", f"sd[{self.labels[j]}]"

    def ends_in(self, new: Frame) -> WideEnds:
        """Ends (n, D) of what new rows show of the responses, NaN where nothing; columns may be missing."""
        data = pd.DataFrame(new)
        there = set(column_names(data))
        variables = [parse_formula(text, None, None).variables for text in self.wide.formulas]
        own = [{v.name for v in each if v.role in ("response", "bound", "event")} for each in variables]
        if not any(each <= there for each in own):
            raise DataError(f"new= must contain at least one of the responses {', '.join(self.labels)}.")
        return ends_of(read_responses(self.wide, data, new=True), len(data))

    def without_rows(self) -> VectorParts:
        """Parts that answer the same about new rows."""
        return replace(self.with_covariance(), read=None, weight=None)


def vector_spec(over: VectorFormula, each: tuple[ModelSpec, ...]) -> SeveralSpec:
    """The formula of vectors, and that of each response alone."""
    return SeveralSpec(**spec_fields(over.wide, each) | {"formula": over.formula, "over": over})


def vector_rows(rows: ResponseRows, weight: Array) -> tuple[VectorRows, BoolArray]:
    """Rows of which something is known, and which of the data these are."""
    found, known = known_vectors(rows.ends)
    kept = known & (weight > 0.0)
    return VectorRows(found.lower[kept], found.upper[kept], weight[kept]), kept


def known_vectors(ends: WideEnds) -> tuple[VectorRows, BoolArray]:
    """Rows with ends (n, D), NaN where nothing is known about a response, and of which something is known."""
    missing = np.isnan(ends[0])
    lower, upper = np.where(missing, -np.inf, ends[0]), np.where(missing, np.inf, ends[1])
    return VectorRows(lower, upper, np.ones(len(lower))), np.asarray(~missing.all(axis=1))
