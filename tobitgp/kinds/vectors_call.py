"""Calls of mixtures of vectors, ``mvbind(y1, y2) ~ mixture(3)``."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from tobitgp.data.frames import read_weights
from tobitgp.data.row_weights import Fractions, warn_fractions
from tobitgp.data.sources import refuse_partitioned
from tobitgp.engines import single_blas_thread
from tobitgp.errors import BoundaryWarning, ConvergenceWarning, DataError, SpecError, user_level
from tobitgp.formula import parse_formula
from tobitgp.formula.mixture_formulas import VectorFormula, read_vectors
from tobitgp.inference.search_settings import Step
from tobitgp.kinds.call import Call
from tobitgp.kinds.kind import Kind
from tobitgp.kinds.mixture import Tried
from tobitgp.kinds.mixture_fit import choose_mixture_method
from tobitgp.kinds.progress import progress_bar
from tobitgp.kinds.responses_only import ResponsesOnly
from tobitgp.method_value import spelled
from tobitgp.mixture import EMCM
from tobitgp.mixture.vector_fit import VectorFit, fit_vectors
from tobitgp.options import FitOptions
from tobitgp.results.latent.latent_parts import gaussian
from tobitgp.results.multivariate.multivariate_parts import ResponseRows
from tobitgp.results.multivariate.stacked_rows import SeenResponse, read_responses
from tobitgp.results.vectors.vector_parts import VectorParts, vector_rows, vector_spec
from tobitgp.results.vectors.vector_results import VectorMixtureResults
from tobitgp.typing import Array

_ALONE = "is not supported with mixtures of vectors."


@dataclass(frozen=True)
class VectorCallRows(ResponsesOnly):
    """Rows of vectors, on the scale of the responses."""

    over: VectorFormula
    weight: Array  # (n,), frequencies


class Vectors(Kind):
    """``mvbind(y1, y2) ~ mixture(3)``."""

    has_posterior = False

    def read(self, call: Call) -> VectorCallRows:
        alone = ("id", "cure", "formulas", "sigma", "var_weights", "functions", "censored", "missing")
        call.refuse(alone, _ALONE)
        refuse_partitioned(call.data, "Mixtures of vectors are fitted", call.engine)
        family = "gaussian" if call.family is None else getattr(call.family, "name", call.family)
        if family != "gaussian":
            raise SpecError(
                f"family={family!r}: components of vectors are normal. Write mvbind(log(y1), log(y2)) for logarithms."
            )
        data, over = pd.DataFrame(call.data), read_vectors(call.formula)
        weight = np.nan_to_num(read_weights(call.weights, data, len(data), gaps=True))
        used = weight > 0.0
        seen = [_weighted(one, weight) for one in read_responses(over.wide, data)]
        for label, one in zip(over.wide.labels, seen, strict=True):
            _check(label, one)
        each = tuple(parse_formula(over.wide.alone(j), list(data.columns)) for j in range(len(seen)))
        spec = vector_spec(over, each)
        rows = ResponseRows(data, seen)
        if not used.any():
            raise DataError(f"No row is left: all {len(data)} have weight 0.")
        return VectorCallRows(call, spec, gaussian(), rows, pd.DataFrame(index=data.index), over, weight)

    def fit(self, rows: VectorCallRows, asked: FitOptions) -> VectorMixtureResults:
        method, (vectors, kept) = _method(asked), vector_rows(rows.rows, rows.weight)
        warn_fractions(Fractions.of(vectors.weight), float(vectors.weight.sum()))
        numbers, found = rows.over.mixture.numbers, list[VectorFit]()
        with progress_bar(asked.progress) as on_step, single_blas_thread():
            for k in numbers:
                found.append(fit_vectors(vectors, k, method, asked.rng))
                _tell(on_step, found[-1], len(vectors))
        total = float(vectors.weight.sum())
        bic = np.array([one.n_free * np.log(total) - 2.0 * one.log_likelihood for one in found])
        best, tried = found[int(np.argmin(bic))], None
        if len(numbers) > 1:
            tried = Tried("bic", np.array(numbers), bic, np.array([one.converged for one in found]))
        read, dropped = rows.rows, int((~kept).sum())
        learned, facts = tuple(one.learned for one in read.seen), read.facts_of_each(rows.spec.each)
        parts = VectorParts(rows.over, best, method, total, dropped, learned, facts, tried, None, read, rows.weight)
        results = VectorMixtureResults(parts)
        if not best.converged:
            warnings.warn(results._search_message, ConvergenceWarning, stacklevel=user_level())
        for note in best.notes:
            warnings.warn(note, BoundaryWarning, stacklevel=user_level())
        return results


def _weighted(seen: SeenResponse, weight: Array) -> SeenResponse:
    """Values and limits of a response in rows of positive weight."""
    used = weight[seen.rows] > 0.0
    response = replace(seen.response.rows(used), weight=weight[seen.rows][used])
    return seen._replace(rows=seen.rows[used], response=response)


def _check(label: str, seen: SeenResponse) -> None:
    """Raise an error for a response with one-sided limits only, or with a single value."""
    response = seen.response
    if np.isfinite(response.entry).any() or np.isfinite(response.exit).any():
        raise SpecError(f"{label}: late entry and truncation are not supported with mixtures of vectors. Fit it alone.")
    placed = np.isfinite(response.lower) & np.isfinite(response.upper)
    if not placed.any():
        raise DataError(f"{label}: it has only limits, no values. Leave it out.")
    if not np.ptp(np.where(np.isfinite(response.lower), response.lower, response.upper)):
        raise DataError(f"{label}: all its values are the same. Leave it out.")


def _method(asked: FitOptions) -> EMCM:
    """Settings of the search; what a mixture of vectors has no use for raises an error."""
    method = EMCM() if asked.method == "auto" else choose_mixture_method(asked.method)
    if not isinstance(method, EMCM):
        raise SpecError(
            f"method={spelled(method)}: mixtures of vectors are fitted by maximum likelihood. Use method='em', or "
            "tg.EMCM(n_init=20)."
        )
    if asked.cov_type != "nonrobust":
        raise SpecError(f"cov_type={asked.cov_type!r}: mixtures of vectors support 'nonrobust' only. Leave it out.")
    for name, given in asked.named(("fixed", "start", "priors")).items():
        if given:
            raise SpecError(f"{name}= {_ALONE} Leave it out.")
    return method


def _tell(on_step: Callable[[Step], None] | None, fit: VectorFit, n: int) -> None:
    if on_step is not None:
        passes = len(fit.trace) - 1
        on_step(Step(f"{fit.k} component{'s' * (fit.k > 1)}", passes, fit.log_likelihood, passes, n))
