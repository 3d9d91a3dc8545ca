"""Everything a user can call or read, by the name that the reference shows."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from functools import cached_property
from importlib import import_module
from typing import Any, NamedTuple

import tobitgp as tg

ROOMS = ("metrics", "distributions", "datasets", "errors", "lifelines", "nondetects", "sklearn", "survival")

# What questions to a fit give back: nobody makes one, everybody reads them.
ANSWERS = (
    "tobitgp.kinds.process.Evidence",
    "tobitgp.mixture.predictive.Predictive",
    "tobitgp.results.hypotheses.ContrastResults",
    "tobitgp.results.likelihood.bootstrap.BootstrapResults",
    "tobitgp.results.hypotheses.WaldResults",
    "tobitgp.results.conformal.ConformalIntervals",
    "tobitgp.results.joint.Posterior",
    "tobitgp.results.prediction.PredictionResults",
    "tobitgp.distributions.response_distribution.ResponseDistribution",
    "tobitgp.diagnostics.residual_tests.Check",
    "tobitgp.diagnostics.residual_tests.Finding",
    "tobitgp.diagnostics.k_hat.KHat",
    "tobitgp.diagnostics.elpd.LOO",
    "tobitgp.diagnostics.elpd.WAIC",
    "tobitgp.results.views.ModelView",
    "tobitgp.results.interfaces.leverage.InfluenceMeasures",
    "tobitgp.flow.trend.FlowNormalised",
    "tobitgp.nondetects.group_tests.GroupResults",
    "tobitgp.nondetects.kendall.KendallResults",
    "tobitgp.nondetects.paired.PairedResults",
    "tobitgp.nondetects.seasonal.SeasonalKendallResults",
    "tobitgp.nondetects.theil_sen.TheilSenResults",
    "tobitgp.nondetects.sample_results.Limit",
    "tobitgp.nondetects.ros.RegressionOnOrderStatistics",
    "tobitgp.nondetects.summary_tables.GroupSummary",
    "tobitgp.nondetects.summary_tables.MethodSummary",
    "tobitgp.nondetects.summary_tables.SampleSummary",
    "tobitgp.survival.comparing_times.LogRank",
)

# Their fields are for users, their methods are what the engine calls.
OPTIONS = (
    "BoxCox",
    "EMCM",
    "EP",
    "GenGamma",
    "Inducing",
    "Laplace",
    "LogNormal",
    "Normal",
    "SVBCM",
    "Student",
    "VBCM",
    "VI",
)

# Without an underscore because other rooms of the package, or other packages, call them; no user does.
PLUMBING = {"parts", "from_parts", "training", "counting", "has_causes", "has_posterior", "user_level"}


class Public(NamedTuple):
    """One name: where it is documented, what it is, and what it belongs to."""

    name: str
    value: Any
    kind: str

    @property
    def function(self) -> Any:
        """What holds the docstring."""
        if isinstance(self.value, property):
            return self.value.fget
        return self.value.func if isinstance(self.value, cached_property) else self.value


def public() -> Iterator[Public]:
    """Classes, functions, methods and properties."""
    for name in sorted(set(tg.__all__) - set(ROOMS)):
        yield from _opened(f"tobitgp.{name}", getattr(tg, name))
    for room in ROOMS:
        module = import_module(f"tobitgp.{room}")
        own = getattr(module, "__all__", None) or [k for k, v in vars(module).items() if _defined_in(v, module)]
        for name in own:
            if name not in PLUMBING:
                yield from _opened(f"tobitgp.{room}.{name}", getattr(module, name))
    for path in ANSWERS:
        module_name, _, name = path.rpartition(".")
        yield from _opened(path, getattr(import_module(module_name), name))


def _defined_in(value: Any, module: Any) -> bool:
    return getattr(value, "__module__", None) == module.__name__ and not value.__name__.startswith("_")


def _opened(name: str, value: Any) -> Iterator[Public]:
    """A class with its members, or a function by itself."""
    if not inspect.isclass(value):
        yield Public(name, value, "function")
        return
    yield Public(name, value, "class")
    if name.rpartition(".")[2] in OPTIONS:
        return
    for member in sorted(dir(value)):
        found = inspect.getattr_static(value, member)
        if member.startswith("_") or member in PLUMBING or not _ours(value, member):
            continue
        if isinstance(found, property | cached_property):
            yield Public(f"{name}.{member}", found, "property")
        elif inspect.isroutine(found) or isinstance(found, classmethod | staticmethod):
            yield Public(f"{name}.{member}", getattr(value, member), "method")


def _ours(value: type, member: str) -> bool:
    """Members that another package defined are documented there."""
    owner = next(c for c in value.__mro__ if member in vars(c))
    called = getattr(value, member)
    of = [owner, called] if callable(called) else [owner]
    return all(one.__module__.startswith("tobitgp") for one in of)
