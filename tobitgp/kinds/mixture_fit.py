"""Fit a mixture to the rows of a formula."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from numbers import Real
from typing import Any, Literal, cast

import numpy as np
import pandas as pd

from tobitgp import mixture as mixtures
from tobitgp.data.arrays import CensoredResponse
from tobitgp.data.outcome import check_response
from tobitgp.data.partition import DataPartition, naming
from tobitgp.data.prepare import PartitionedData, TrainingData
from tobitgp.errors import BoundaryWarning, ConvergenceWarning, SpecError, user_level
from tobitgp.formula.spec import ModelSpec
from tobitgp.inference.search_settings import Step
from tobitgp.kinds.mixture import MixtureParts, Tried, known_ends, warn_without_errors
from tobitgp.kinds.mixture_start import read_mixture_start
from tobitgp.method_value import MethodValue, spelled
from tobitgp.mixture import EMCM, MIXTURE_METHODS, VBCM, Dirichlet, DirichletProcess
from tobitgp.mixture.arranged_rows import read_rows
from tobitgp.mixture.family import MixtureFamily
from tobitgp.mixture.methods import MixtureAscent, MixtureMethod
from tobitgp.mixture.mixture_priors import Weights
from tobitgp.results.views import named_columns
from tobitgp.typing import Array

CONCENTRATION = "concentration"
# What no mixture has a use for, with the values that say nothing.
_OF_OTHERS: dict[str, tuple[Any, str]] = {
    "fixed": (None, "holds parameters of regressions and processes"),
    "sigma": (None, "is the noise scale of a regression"),
    "var_weights": (None, "divide the noise variance of a regression; components have their own scales"),
    "cov_type": (
        "nonrobust",
        "requires maximum likelihood of a regression. Use cov_params(kind=) for the covariances of a mixture",
    ),
    "cov_kwds": (None, "requires maximum likelihood of a regression"),
}


def refuse_with_mixture(given: Mapping[str, Any]) -> None:
    """Raise an error for options that are invalid for a mixture."""
    for name, value in given.items():
        nothing, what = _OF_OTHERS[name]
        empty = isinstance(value, Mapping) and not value
        if not (value is nothing or empty or (np.isscalar(value) and value == nothing)):
            raise SpecError(f"{name}= {what}; mixture() does not support {name}=.")


def choose_mixture_method(method: Any) -> MixtureMethod:
    """The method that ``method=`` of :func:`tobitgp.fit` means for a mixture."""
    if isinstance(method, MixtureAscent):
        return cast(MixtureMethod, method)
    if isinstance(method, MethodValue):
        allowed = ", ".join(map(repr, ("auto", *MIXTURE_METHODS)))
        raise SpecError(
            f"method={spelled(method)} does not fit mixtures. Use one of {allowed}, or a value such as "
            f"tg.VBCM(n_init=5)."
        )
    return VBCM()


def read_mixture_priors(
    priors: Any, family: MixtureFamily, method: MixtureMethod, *, process: bool
) -> tuple[dict[str, Any] | None, Weights | None]:
    """Prior of the components and prior of the weights."""
    if isinstance(method, EMCM):
        if priors is not None:
            raise SpecError(
                "priors= requires method='vbcm' or 'svbcm'; maximum likelihood (method='em') has no priors."
            )
        if process:
            raise SpecError(
                "mixture('dp') is a prior, and method='em' has no priors. Use method='vbcm', or mixture(range(1, 7))."
            )
        return None, None
    names = (*family.hyperparameters, CONCENTRATION)
    if priors is not None and (not isinstance(priors, Mapping) or not priors):
        raise SpecError(f"priors={priors!r}: priors of a mixture must be a dict with the names {', '.join(names)}.")
    given = dict(priors or {})
    for name, value in given.items():
        if name not in names:
            raise SpecError(f"priors= names {name!r}. A {family.name} mixture has {', '.join(map(repr, names))}.")
        if isinstance(value, (bool, np.bool_)) or not isinstance(value, Real):
            raise SpecError(f"priors={{{name!r}: {value!r}}}: {name} must be a number.")
    concentration = given.pop(CONCENTRATION, None)
    lacking = [name for name in family.hyperparameters if name not in given]
    if given and lacking:
        listed = ", ".join(map(repr, lacking))
        raise SpecError(f"priors= lacks {listed}. Give the prior of the components completely or not at all.")
    if process:
        return given or None, DirichletProcess(concentration=concentration)
    return given or None, Dirichlet(1.0 if concentration is None else float(concentration))


def fit_components(
    spec: ModelSpec,
    training: TrainingData | PartitionedData,
    family: MixtureFamily,
    covariates: pd.DataFrame | None,
    columns: Sequence[str],
    *,
    method: MixtureMethod,
    priors: Any = None,
    rng: int | np.random.Generator | None = None,
    on_step: Callable[[Step], None] | None = None,
    start: Any = None,
) -> MixtureParts:
    """Fit a mixture of each number of components that the formula names, and keep the best by evidence or BIC."""
    assert spec.mixture is not None
    prior, weights = read_mixture_priors(priors, family, method, process=spec.mixture.process)
    names = named_columns([spec], columns)
    if isinstance(training, PartitionedData):
        ends = training.partitions.collect(_known_rows, spec, family)
        lower, upper, weight, *window = (np.concatenate(each) for each in zip(*ends, strict=True))
        labels = None
        parts_of = partial(MixtureParts, spec, training.state, training.facts(names))
    else:
        lower, upper, weight, *window = _rows_of(training.response, spec, family, training.labels)
        facts, labels = training.facts(names, covariates), training.labels
        parts_of = partial(MixtureParts, spec, training.state, facts, training=training, covariates=covariates)
    numbers, found = spec.mixture.numbers, list[MixtureParts]()
    if len(numbers) > 1 and numbers[-1] > len(lower):
        raise SpecError(
            f"mixture(range(...)) goes up to {numbers[-1]} components, but there are only {len(lower)} rows."
        )
    given = read_mixture_start(start, numbers, family, training)
    seed = int(rng.integers(2**32)) if isinstance(rng, np.random.Generator) else rng
    options: dict[str, Any] = {"family": family, "method": method, "weights": weights, "prior": prior, "rng": seed}
    options |= {"start": given, "window": window}
    for k in numbers:
        fit = mixtures.fit_mixture(lower, upper, weight, k=k, labels=labels, **options)
        found.append(parts_of(fit))
        if on_step is not None:
            on_step(Step(f"{k} component{'s' * (k > 1)}", fit.passes, fit.objective, fit.passes, len(lower)))
    best = _best(found, method)
    _warn(best, lower, upper)
    if not isinstance(training, PartitionedData):
        return best
    V = mixtures.linear_response(best.fit, lower, upper, weight, (window[0], window[1]))
    warn_without_errors(best.fit, V)
    return replace(best, covariance=V)


def _rows_of(response: CensoredResponse, spec: ModelSpec, family: MixtureFamily, labels: Any) -> tuple[Array, ...]:
    """Ends, weights and windows of rows, (n,) each."""
    check_response(response, log_time=False, labels=labels)
    return *known_ends(spec, family, response), response.weight, response.entry, response.exit


def _known_rows(partition: DataPartition, spec: ModelSpec, family: MixtureFamily) -> tuple[Array, ...]:
    """Ends, weights and windows of a partition's rows, (n,) each, checked where their labels are."""
    labels = partition.labels.to_numpy()
    with naming(partition.place):
        lower, upper, weight, *window = _rows_of(partition.response, spec, family, labels)
        read_rows(family, lower, upper, weight, labels)
    return lower, upper, weight, *window


def _best(found: list[MixtureParts], method: MixtureMethod) -> MixtureParts:
    """The fit of the best number of components, with a record of all that were tried."""
    if len(found) == 1:
        return found[0]
    by: Literal["log_evidence", "bic"] = "bic" if isinstance(method, EMCM) else "log_evidence"
    values = np.array([getattr(one, by) for one in found])
    numbers, converged = np.array([one.fit.k for one in found]), np.array([one.fit.converged for one in found])
    best = found[int(np.argmin(values) if by == "bic" else np.argmax(values))]
    return replace(best, tried=Tried(by, numbers, values, converged))


def _warn(parts: MixtureParts, lower: Array, upper: Array) -> None:
    """Pass on what a user should know; the first note is that of convergence where there was none."""
    noted: list[tuple[str, type[Warning]]] = [(note, BoundaryWarning) for note in parts.fit.notes]
    if not parts.fit.converged:
        noted[0] = (noted[0][0], ConvergenceWarning)
    if (lower == upper).all() and np.ptp(lower) == 0.0:
        held = f"{'All rows have the same value' if len(lower) > 1 else 'There is one row'}, {lower[0]:.4g}"
        grounds = "the prior" if parts.bayes else "nothing in the data"
        noted.append((f"{held}: {grounds} determines the scales and the number of components.", BoundaryWarning))
    for note, category in noted:
        warnings.warn(note, category, stacklevel=user_level())
