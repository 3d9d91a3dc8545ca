"""What a kind of fit does not have and another has, refused in words."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from tobitgp.errors import UnavailableError

NO_PRIORS = "Maximum likelihood has no priors; method='ep' fits under priors where the family has it."
# What serves in place of what a kind of fit does not have.
_INSTEAD = {
    "bootstrap": "A posterior has draws, by sample() and posterior(); cov_type='HC0' and 'cluster' are of maxima.",
    "priors": NO_PRIORS,
    "plot_terms": "plot() draws the fit, with a panel for each process where there are several.",
    "profile_interval": "conf_int() is of every fit.",
    "marginal_effects": "predict() answers about the response, and plot_effect() draws it along a column.",
    "get_margeff": "predict() answers about the response, and plot_effect() draws it along a column.",
}


def missing_attribute(results: Any, name: str) -> Any:
    """Raise the error of an attribute that ``results`` lack, in words if other kinds of results have it."""
    having: list[str] = []
    if not name.startswith("_") and not hasattr(type(results), name):
        having = [kind.__name__ for kind in _kinds() if hasattr(kind, name)]
    if not having:
        return object.__getattribute__(results, name)
    instead = f" {_INSTEAD[name]}" if name in _INSTEAD else ""
    raise UnavailableError(f"{name} is not available of {type(results).__name__}, but of {', '.join(having)}.{instead}")


def unavailable(results: Any, what: str) -> UnavailableError:
    """The error of a question that this kind of fit does not answer."""
    return UnavailableError(f"{what} is not available for {type(results).__name__}.")


def _kinds() -> list[type]:
    """All kinds of results, also those that nothing has imported yet."""
    package = import_module("tobitgp")
    return [getattr(package, name) for name in package.__all__ if name.endswith("Results")]
