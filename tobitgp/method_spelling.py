"""What ``method=`` of a fit means, and where settings that a user gives with it are written."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from tobitgp.errors import SpecError, user_level
from tobitgp.method_settings import EP, MLE, VI, Laplace, PosteriorMethod
from tobitgp.method_value import MethodValue, call_text, given_settings, spelled
from tobitgp.mixture.methods import EMCM, MIXTURE_METHODS, SVBCM, VBCM, MixtureAscent

FitMethod = PosteriorMethod | MLE | MixtureAscent
OF_POSTERIORS: dict[str, type[PosteriorMethod]] = {each.name: each for each in (EP, VI, Laplace)}
METHODS: dict[str, Any] = {**OF_POSTERIORS, MLE.name: MLE, **MIXTURE_METHODS}
# Names in the papers: Groot and Lucas 2012, Basson and others 2023, Kohjima and others 2019.
OF_PAPERS: dict[str, FitMethod] = {
    **{"t-gpr": EP(), "vt-gpr": VI(bound="local")},
    **{"vbcm": VBCM(), "svbcm": SVBCM(), "emcm": EMCM()},
}
MOVED = ("bound", "hyper", "inducing", "max_iter", "n_starts", "tol")  # once arguments of a fit
_OF_EVERY_FIT = {"max_iter"}
_OF_PROCESSES = re.compile(r"\b(gp|re)\s*\(|\([^()]*\|")


def read_method(method: Any) -> Any:
    """The value that ``method=`` of :func:`tobitgp.fit` means; "auto" as it is."""
    if isinstance(method, FitMethod):
        return method
    if isinstance(method, type) and issubclass(method, FitMethod):
        raise SpecError(f"method=tg.{method.__name__}: must be a value. Write method=tg.{method.__name__}().")
    if isinstance(method, str) and method in METHODS:
        return METHODS[method]()
    if isinstance(method, str) and method.lower() in OF_PAPERS:
        return OF_PAPERS[method.lower()]
    if isinstance(method, str) and method == "auto":
        return method
    known = ", ".join(map(repr, ("auto", *METHODS)))
    raise SpecError(
        f"method={method!r}: must be one of {known}, or a value with settings, such as tg.EP(hyper='maximize')."
    )


def posterior_method(method: Any) -> PosteriorMethod:
    """The method of a posterior; "auto" means expectation propagation."""
    if isinstance(method, PosteriorMethod):
        return method
    if isinstance(method, MixtureAscent):
        raise SpecError(f"method={spelled(method)} fits mixtures, and this formula has none. Write y ~ mixture(2).")
    return EP()


def holding(method: Any, settings: Mapping[str, Any], formula: Any = None) -> tuple[type[Any], dict[str, Any]]:
    """The class of the method that has some settings, given with a method and a formula, and all its settings."""
    own = given_settings(method) if isinstance(method, MethodValue) else {}
    chosen: Any = type(method) if isinstance(method, MethodValue) else METHODS.get(str(method))
    chosen = chosen or _class_for(settings, formula if isinstance(formula, str) else "")
    if issubclass(chosen, MixtureAscent):
        settings = {{"n_starts": "n_init"}.get(name, name): value for name, value in settings.items()}
    if not set(settings) <= {field.name for field in fields(chosen)}:
        chosen, own = (VI if "bound" in settings else EP), {}
    return chosen, {**own, **settings}


def _class_for(settings: Mapping[str, Any], formula: str) -> type[Any]:
    """The class that method="auto" means with settings."""
    if "mixture(" in formula:
        return VBCM
    if "bound" in settings:
        return VI
    return MLE if set(settings) <= _OF_EVERY_FIT and not _OF_PROCESSES.search(formula) else EP


def with_moved_settings(given: Mapping[str, Any], formula: Any = None) -> dict[str, Any]:
    """Arguments of a fit, where settings that once were among them are in the method, with a warning."""
    moved = {name: given[name] for name in given if name in MOVED}
    if not moved:
        return dict(given)
    shown, named = call_text("", moved)[1:-1], read_method(given.get("method", "auto"))
    chosen, settings = holding(named, moved, formula)
    new = call_text(chosen.__name__, settings)
    text = f"{shown}: settings of the method belong to it. Write method=tg.{new}."
    if named != "auto" and chosen is not type(named):
        raise SpecError(f"{shown}: tg.{type(named).__name__} has no such setting. Write method=tg.{new}.")
    warnings.warn(text, FutureWarning, stacklevel=user_level())
    return {**{name: value for name, value in given.items() if name not in moved}, "method": chosen(**settings)}
