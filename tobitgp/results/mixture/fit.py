"""From the rows of a formula to a fitted mixture."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from tobitgp.data.facts import remember
from tobitgp.data.prepare import TrainingData
from tobitgp.errors import BoundaryWarning, ConvergenceWarning, SpecError, user_level
from tobitgp.formula.spec import ModelSpec
from tobitgp.inference.fitted import Step
from tobitgp.mixture import EMCM, MixtureFit, fit_mixture
from tobitgp.mixture.family import Family
from tobitgp.mixture.methods import Method
from tobitgp.results.mixture.options import read_mixture_priors
from tobitgp.results.mixture.parts import MixtureParts, Tried, known_ends
from tobitgp.results.mixture.results import MixtureResults
from tobitgp.results.views import keep_covariates, named_columns
from tobitgp.typing import Array, Frame


def fit_components(
    spec: ModelSpec,
    training: TrainingData,
    family: Family,
    data: Frame,
    *,
    method: Method,
    priors: Any = None,
    rng: int | np.random.Generator | None = None,
    on_step: Callable[[Step], None] | None = None,
) -> MixtureResults:
    """Fit a mixture, of each number of components that the formula names, and keep the best.

    Numbers are compared by the evidence lower bound plus log K!, by maximum likelihood by the BIC.
    """
    assert spec.mixture is not None
    prior, weights = read_mixture_priors(priors, family, method, process=spec.mixture.process)
    lower, upper = known_ends(spec, family, training.response)
    seed = rng if rng is None or not isinstance(rng, np.random.Generator) else int(rng.integers(2**32))
    found: list[MixtureResults] = []
    base = _parts_without_fit(spec, training, data)
    for k in _numbers(spec, len(lower)):
        fit = fit_mixture(
            lower,
            upper,
            training.response.weight,
            family=family.name,
            k=k,
            method=method,
            weights=weights,
            prior=prior,
            rng=seed,
            labels=training.labels,
        )
        found.append(MixtureResults(base(fit)))
        if on_step is not None:
            on_step(Step(f"{k} component{'s' * (k > 1)}", fit.passes, fit.objective, fit.passes, len(lower)))
    best = _best(found, method)
    _warn(best.parts.fit)
    _warn_constant(lower, upper, best.parts.bayes)
    return best


def _numbers(spec: ModelSpec, rows: int) -> tuple[int, ...]:
    assert spec.mixture is not None
    numbers = spec.mixture.numbers
    if len(numbers) > 1 and numbers[-1] > rows:
        raise SpecError(f"mixture(range(...)) goes up to {numbers[-1]} components, and there are {rows} rows.")
    return numbers


def _parts_without_fit(spec: ModelSpec, training: TrainingData, data: Frame) -> Callable[[MixtureFit], MixtureParts]:
    covariates = keep_covariates(spec, training, data)
    facts = remember(training, named_columns([spec], data), covariates)
    return lambda fit: MixtureParts(spec, training.state, facts, fit, training=training, covariates=covariates)


def _best(found: list[MixtureResults], method: Method) -> MixtureResults:
    """The fit of the best number of components, with a record of all that were tried."""
    if len(found) == 1:
        return found[0]
    point = isinstance(method, EMCM)
    values = np.array([one.bic if point else one.log_evidence for one in found])
    tried = Tried(
        "bic" if point else "log_evidence",
        np.array([one.n_components for one in found], dtype=np.intp),
        values,
        np.array([one.converged for one in found]),
    )
    best = found[int(np.argmin(values) if point else np.argmax(values))]
    return MixtureResults(replace(best.parts, tried=tried))


def _warn(fit: MixtureFit) -> None:
    """Pass on what a user should know; the first note is that of convergence where there was none."""
    for i, note in enumerate(fit.notes):
        category = ConvergenceWarning if i == 0 and not fit.converged else BoundaryWarning
        warnings.warn(note, category, stacklevel=user_level())


def _warn_constant(lower: Array, upper: Array, bayes: bool) -> None:
    """Warn where all rows are exact and hold one value, which says nothing of a spread."""
    if (lower == upper).all() and np.ptp(lower) == 0.0:
        held = f"All rows hold one value, {lower[0]:.4g}" if len(lower) > 1 else f"There is one row, {lower[0]:.4g}"
        message = f"{held}: spread and number of components rest on {'the prior' if bayes else 'nothing in the data'}."
        warnings.warn(message, BoundaryWarning, stacklevel=user_level())
