"""Fit a mixture to the rows of a formula: its options, checked, and the best number of components."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np

from tobitgp.data.facts import remember
from tobitgp.data.prepare import TrainingData
from tobitgp.errors import BoundaryWarning, ConvergenceWarning, SpecError, user_level
from tobitgp.formula.spec import ModelSpec
from tobitgp.inference.fitted import Step
from tobitgp.mixture import EMCM, MIXTURE_METHODS, SVBCM, VBCM, Dirichlet, DirichletProcess, MixtureFit, fit_mixture
from tobitgp.mixture.family import Family
from tobitgp.mixture.methods import Method
from tobitgp.mixture.weights import Weights
from tobitgp.results.mixture.parts import MixtureParts, Tried, known_ends
from tobitgp.results.mixture.results import MixtureResults
from tobitgp.results.views import keep_covariates, named_columns
from tobitgp.typing import Array, Frame

CONCENTRATION = "concentration"
# What no mixture has a use for, with the values that say nothing.
_OF_OTHERS: dict[str, tuple[Any, str]] = {
    "bound": (None, "is of method='vi'"),
    "inducing": ("auto", "places the inputs of Gaussian processes"),
    "hyper": ("auto", "averages over hyper-parameters of processes"),
    "fixed": (None, "holds parameters of regressions and processes"),
    "start": (None, "is where a search over hyper-parameters begins; n_starts= draws starts of a mixture"),
    "sigma": (None, "is the noise scale of a regression"),
    "var_weights": (None, "divide the noise variance of a regression; components have scales of their own"),
    "cov_type": ("nonrobust", "is of maximum likelihood; cov_params(kind=) has what there is of a mixture"),
    "cov_kwds": (None, "is of maximum likelihood"),
}


def refuse_with_mixture(given: Mapping[str, Any]) -> None:
    """Refuse options that make no sense for a mixture."""
    for name, value in given.items():
        nothing, what = _OF_OTHERS[name]
        empty = isinstance(value, Mapping) and not value
        if not (value is nothing or empty or (np.isscalar(value) and value == nothing)):
            raise SpecError(f"{name}= {what}; mixture() takes no {name}=.")


def choose_mixture_method(
    method: Any, *, n_starts: int | None = None, max_iter: int | None = None, tol: float | None = None
) -> Method:
    """The method that ``method=`` of :func:`tobitgp.fit` names, with the settings given beside it."""
    given: dict[str, Any] = {"n_init": n_starts, "max_iter": max_iter, "tol": tol}
    given = {name: value for name, value in given.items() if value is not None}
    if isinstance(method, (VBCM, SVBCM, EMCM)):
        if given:
            names = ", ".join(f"{'n_starts' if name == 'n_init' else name}=" for name in given)
            raise SpecError(
                f"{names} beside {method!r}: a method value carries its own settings, as tg.VBCM(n_init=5)."
            )
        return method
    if not isinstance(method, str) or method not in ("auto", *MIXTURE_METHODS):
        allowed = ", ".join(map(repr, ("auto", *MIXTURE_METHODS)))
        raise SpecError(
            f"method={method!r} fits no mixtures; choose one of {allowed}, or a value as tg.VBCM(n_init=5)."
        )
    return replace(VBCM() if method == "auto" else MIXTURE_METHODS[method](), **given)


def read_mixture_priors(
    priors: Any, family: Family, method: Method, *, process: bool
) -> tuple[dict[str, Any] | None, Weights | None]:
    """Prior of the components and prior of the weights."""
    if isinstance(method, EMCM):
        if priors is not None:
            raise SpecError("priors= goes with method='vbcm' and 'svbcm'; maximum likelihood (method='em') has none.")
        if process:
            raise SpecError("mixture('dp') is a prior, which method='em' has not; use 'vbcm', or mixture(range(1, 7)).")
        return None, None
    names = (*family.hyperparameters, CONCENTRATION)
    if priors is not None and (not isinstance(priors, Mapping) or not priors):
        raise SpecError(f"priors={priors!r}: a mixture has priors, given as a dict with the names {', '.join(names)}.")
    given = dict(priors or {})
    for name, value in given.items():
        if name not in names:
            raise SpecError(f"priors= names {name!r}; a {family.name} mixture has {', '.join(map(repr, names))}.")
        if isinstance(value, (bool, np.bool_)) or not isinstance(value, Real):
            raise SpecError(f"priors={{{name!r}: {value!r}}}: a number is needed.")
    concentration = given.pop(CONCENTRATION, None)
    lacking = [name for name in family.hyperparameters if name not in given]
    if given and lacking:
        listed = ", ".join(map(repr, lacking))
        raise SpecError(f"priors= lacks {listed}: the prior of the components is given as a whole or not at all.")
    weights: Weights = DirichletProcess(concentration=concentration) if process else Dirichlet(1.0)
    if not process and concentration is not None:
        weights = Dirichlet(float(concentration))
    return given or None, weights


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
    numbers, found = spec.mixture.numbers, list[MixtureResults]()
    if len(numbers) > 1 and numbers[-1] > len(lower):
        raise SpecError(f"mixture(range(...)) goes up to {numbers[-1]} components, and there are {len(lower)} rows.")
    covariates = keep_covariates(spec, training, data)
    facts = remember(training, named_columns([spec], data), covariates)
    for k in numbers:
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
        parts = MixtureParts(spec, training.state, facts, fit, training=training, covariates=covariates)
        found.append(MixtureResults(parts))
        if on_step is not None:
            on_step(Step(f"{k} component{'s' * (k > 1)}", fit.passes, fit.objective, fit.passes, len(lower)))
    best = _best(found, method)
    _warn(best.parts.fit)
    _warn_constant(lower, upper, best.parts.bayes)
    return best


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
    """Warn where all rows are exact and hold one value, which says nothing of their standard deviation."""
    if (lower == upper).all() and np.ptp(lower) == 0.0:
        held = f"All rows hold one value, {lower[0]:.4g}" if len(lower) > 1 else f"There is one row, {lower[0]:.4g}"
        message = f"{held}: spread and number of components rest on {'the prior' if bayes else 'nothing in the data'}."
        warnings.warn(message, BoundaryWarning, stacklevel=user_level())
