"""Options of a mixture, checked: each gives its value, or one error that says what is allowed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np

from tobitgp.errors import SpecError
from tobitgp.mixture import EMCM, MIXTURE_METHODS, SVBCM, VBCM, Dirichlet, DirichletProcess
from tobitgp.mixture.family import Family
from tobitgp.mixture.methods import Method
from tobitgp.mixture.weights import Weights

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
    """The method that ``method=`` of :func:`tobitgp.fit` stands for, with the settings given beside it."""
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
