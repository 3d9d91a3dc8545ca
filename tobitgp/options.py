"""Options of a fit, checked: each gives its value, or one error that says what is allowed."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

import numpy as np
import pandas as pd

from tobitgp.data.frames import read_clusters
from tobitgp.data.prepare import TrainingData
from tobitgp.data.row_weights import are_whole, warn_whole
from tobitgp.data.table import column_names
from tobitgp.errors import SpecError
from tobitgp.formula.functions import nearest
from tobitgp.formula.spec import ModelSpec
from tobitgp.inference.given_parameters import GivenParameters
from tobitgp.likelihoods import FAMILIES, Family, resolve_family
from tobitgp.method_settings import MLE, PosteriorMethod
from tobitgp.method_spelling import posterior_method, read_method, with_moved_settings
from tobitgp.method_value import MethodValue
from tobitgp.numerics.sampling import generator
from tobitgp.priors.hyperpriors import LKJ, LogNormal, Normal
from tobitgp.priors.scale_priors import ScalePrior
from tobitgp.regression.clusters import Clusters
from tobitgp.typing import BoolArray, Frame

if TYPE_CHECKING:
    from tobitgp.mixture.family import MixtureFamily

_WEIGHTS = ("frequency", "sampling")
_OF_POSTERIORS = ("priors", "start")

# Arguments of other programs, and what to write instead.
ELSEWHERE = {
    "absorb": "a factor is a term, absorbed where it has very many levels: y ~ x + C(g)",
    "cluster": "write cov_type='cluster', cov_kwds={'groups': 'g'}, or {'groups': ['g', 'year']}",
    "dist": "write family='weibull'",
    "entity_effects": "effects of each unit are a term: y ~ x + C(id), or (1 | id)",
    "fixef": "effects of each unit are a term: y ~ x + C(id), or (1 | id)",
    "groups": "write cov_type='cluster', cov_kwds={'groups': 'g'}, or a random intercept as a term: y ~ x + (1 | g)",
    "instruments": "residuals of a first regression on them are a column: y ~ x + residual (Smith and Blundell)",
    "k": "inducing=20 is a setting of the method, e.g. method=tg.EP(inducing=20)",
    "knots": "for gp(x), inducing=20 is a setting of the method; a spline is a term: y ~ bs(x, knots=[1, 2])",
    "left": "write limits in the formula: y ~ x | censor(0)",
    "ll": "write limits in the formula: y ~ x | censor(0)",
    "offset": "an offset is a term: y ~ x + offset(m)",
    "pweights": "write weights='w', cov_type='HC0', cov_kwds={'weights': 'sampling'}",
    "random_state": "write rng=0",
    "right": "write limits in the formula: y ~ x | censor(upper=4)",
    "robust": "write cov_type='HC0'",
    "scale": "write fixed={'sigma': 1}",
    "seed": "write rng=0",
    "selection": "sample selection is in R's sampleSelection, Stata's heckman and Python's py4etrics",
    "strata": "write sigma='~ C(g)'",
    "time_effects": "effects of each period are a term: y ~ x + C(year)",
    "ul": "write limits in the formula: y ~ x | censor(upper=4)",
    "use_t": "tails are normal; for few clusters bootstrap(groups=) is of the results",
    "vce": "write cov_type='HC0', or cov_type='cluster', cov_kwds={'groups': 'g'}; bootstrap() is of the results",
}

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class FitOptions:
    """Options of a call of :func:`fit`: seed and numbers are checked, numbers that were not given are None."""

    method: Any  # a value of a method, or "auto"
    fixed: Mapping[str, float] | None
    start: Any  # mapping, fit or None
    priors: Mapping[str, LKJ | LogNormal | Normal | ScalePrior | float | None] | None
    rng: int | np.random.Generator | None
    progress: bool | Callable[[str, int, float], None]
    cov_type: str
    cov_kwds: Mapping[str, Any] | None

    def __post_init__(self) -> None:
        read_rng(self.rng)
        object.__setattr__(self, "method", read_method(self.method))

    @property
    def max_iter(self) -> int:
        """Most Newton steps of maximum likelihood."""
        return (self.method if isinstance(self.method, MLE) else MLE()).max_iter

    @property
    def n_starts(self) -> int | None:
        """Starts of the search for hyper-parameters, if a number was given."""
        return posterior_method(self.method).n_starts

    def maximising(self) -> FitOptions:
        """The same with hyper-parameters at their maximum."""
        return replace(self, method=replace(posterior_method(self.method), hyper="maximize"))

    def named(self, names: Iterable[str]) -> dict[str, Any]:
        """Some of the options by name."""
        return {name: getattr(self, name) for name in names}

    def given(self, method: PosteriorMethod) -> GivenParameters:
        """What the user specified about the parameters of a posterior."""
        side_noises = method.updates().side_noises
        return GivenParameters.read(method.inducing, self.fixed, self.start, self.priors, side_noises)


def argument_meant(name: str, known: Iterable[str]) -> str:
    """Words for the argument that an unknown one may mean, empty where there is none."""
    return f"; {ELSEWHERE[name]}" if name in ELSEWHERE else nearest(name, known)


def saying_what_was_meant(call: Callable[P, T]) -> Callable[P, T]:
    """Read arguments that have moved, and let the error about an unknown one say what to write."""
    known = tuple(inspect.signature(call).parameters)

    @wraps(call)
    def checked(*args: P.args, **kwargs: P.kwargs) -> T:
        given: dict[str, Any] = kwargs
        if "method" in known:
            formula = kwargs.get("formula", args[0] if args else None)  # or the model
            given = with_moved_settings(kwargs, getattr(formula, "formula", formula))
        for name in given:
            if name not in known and (words := argument_meant(name, known)):
                raise TypeError(f"{call.__qualname__}() got an unexpected keyword argument {name!r}{words}")
        return call(*args, **given)

    return checked


def choose_family(family: object, spec: ModelSpec) -> Family | MixtureFamily:
    """The noise family, or the family of the components of a mixture, that ``family=`` names.

    None is ``"gaussian"``; ``Surv(...)`` requires an explicit family.
    """
    unsaid = family is None and spec.response.label.startswith("Surv(")
    family = "gaussian" if family is None else family
    if spec.mixture is None and not unsaid and isinstance(family, str) and family in FAMILIES:
        return resolve_family(family)
    from tobitgp.mixture import MIXTURE_FAMILIES
    from tobitgp.mixture.array_fit import resolve_mixture_family
    from tobitgp.mixture.family import MixtureFamily

    if unsaid:
        offered = ", ".join(map(repr, FAMILIES if spec.mixture is None else MIXTURE_FAMILIES))
        raise SpecError(
            f"Surv(...) requires family=, one of {offered}. 'weibull', 'lognormal' and others for positive times model "
            "the logarithm of the time. 'gaussian' models the time itself as normal, so it may predict negative times."
        )
    if spec.mixture is not None:
        return resolve_mixture_family(family)
    if isinstance(family, MixtureFamily) or (isinstance(family, str) and family in MIXTURE_FAMILIES):
        raise SpecError(f"family={family!r}: is for components of a mixture only. Write y ~ mixture(1) in the formula.")
    return resolve_family(family)


def method_for(method: Any, family: Family) -> PosteriorMethod:
    """The method of a posterior; an error if its bound does not support the noise."""
    chosen = posterior_method(method)
    traits = chosen.updates().traits
    if traits.gaussian_only and not family.distribution.gaussian:
        offered = " or ".join(repr(row.name) for row in FAMILIES.values() if row.distribution.gaussian)
        raise SpecError(
            f"bound={traits.evidence_kind!r}: requires Gaussian noise (family={offered}), not "
            f"family={family.name!r}. tg.VI(bound='exact') supports every family."
        )
    return chosen


def refuse_var_weights(family: Family | MixtureFamily) -> None:
    """Raise an error for variance weights where they have no meaning."""
    if isinstance(family, Family) and family.known_sigma is not None:
        raise SpecError(
            f"var_weights= divide the noise variance sigma^2, and family={family.name!r} does not estimate one. Use "
            "family='weibull', or weights= for frequencies."
        )


def read_rng(rng: int | np.random.Generator | None) -> int | np.random.Generator | None:
    """A seed, a Generator, or None."""
    generator(rng)
    return rng


def read_robust(cov_type: Any, cov_kwds: Any, data: Frame, training: TrainingData) -> dict[str, Any]:
    """What a robust covariance requires: clusters of the rows used, and whether weights are sampling weights."""
    weight = training.response.weight
    given = dict(cov_kwds) if isinstance(cov_kwds, Mapping) else {}
    groups = read_groups(cov_type, given, data, training.kept)
    meant = given.pop("weights", None)
    if "groups" in given:
        raise SpecError(f"cov_kwds={cov_kwds!r:.60}: 'groups' requires cov_type='cluster', not {cov_type!r}.")
    if given or (cov_kwds is not None and not isinstance(cov_kwds, Mapping)):
        takes = "'groups', 'use_correction' (False by default) and 'weights'" if cov_type == "cluster" else "'weights'"
        wrong = ", ".join(map(repr, given)) or repr(cov_kwds)
        raise SpecError(f"cov_kwds= with {wrong}: for cov_type={cov_type!r} give a dict of {takes}. Tests are normal.")
    if cov_type == "nonrobust" and meant is not None:
        raise SpecError(f"cov_kwds={{'weights': {meant!r}}}: must be combined with cov_type='HC0', 'HC1' or 'cluster'.")
    if meant not in (None, *_WEIGHTS):
        raise SpecError(f"cov_kwds={{'weights': {meant!r}}}: weights must be one of {', '.join(map(repr, _WEIGHTS))}.")
    if meant == _WEIGHTS[0] and not are_whole(weight):
        raise SpecError(
            "cov_kwds={'weights': 'frequency'}: frequencies must be whole numbers. Use 'sampling' for sampling weights."
        )
    if meant is None and cov_type in ("HC0", "HC1"):
        warn_whole(weight)
    sampling = not are_whole(weight) if meant is None else meant == _WEIGHTS[1]
    return {"groups": groups, "sampling": sampling}


def read_vcov(vcov: Any, cov_type: str, cov_kwds: Any) -> tuple[str, Any]:
    """``cov_type`` and ``cov_kwds`` that ``vcov=`` means, or those given instead."""
    if vcov is None:
        return cov_type, cov_kwds
    if cov_type != "nonrobust" or cov_kwds is not None:
        raise SpecError(f"vcov={vcov!r:.60}: cov_type= and cov_kwds= set the same option. Give one of the two.")
    if isinstance(vcov, str):
        return vcov, None
    if not isinstance(vcov, Mapping) or "cluster" not in vcov:
        raise SpecError(f"vcov={vcov!r:.60}: must be a kind such as 'HC1', or a dict such as {{'cluster': 'firm'}}.")
    given = dict(vcov)
    return "cluster", {"groups": given.pop("cluster"), **given}


def read_groups(cov_type: str, given: dict[str, Any], data: Frame, kept: BoolArray) -> Clusters | None:
    """Clusters of the rows used, removed from ``given``, for ``cov_type="cluster"``; None otherwise."""
    if cov_type != "cluster":
        return None
    groups, corrected = given.pop("groups", None), given.pop("use_correction", False)
    if groups is None:
        raise SpecError(
            "cov_type='cluster': cov_kwds={'groups': ...} must be given. Name a column of the data, one group per row, "
            "or a list of columns for multiway clustering."
        )
    if not isinstance(corrected, (bool, np.bool_)):
        raise SpecError(f"cov_kwds={{'use_correction': {corrected!r}}}: must be True or False.")
    codes = [read_clusters(each, data, kept) for each in _directions(groups, data, len(kept))]
    return Clusters(np.stack(codes, axis=1), bool(corrected))


def _directions(groups: Any, data: Frame, n: int) -> list[Any]:
    """Cluster labels in every direction: a list of columns, or the columns of a table or a matrix."""
    if isinstance(groups, pd.DataFrame):
        return [groups[name] for name in groups]
    if isinstance(groups, np.ndarray) and groups.ndim == 2:
        return list(groups.T)
    names = isinstance(groups, (list, tuple)) and all(isinstance(each, str) for each in groups)
    if names and (len(groups) != n or not set(column_names(data)).isdisjoint(groups)):
        return list(groups)
    return [groups]


def means_mle(asked: FitOptions, spec: ModelSpec) -> bool:
    """Whether ``method=`` of :func:`fit` means maximum likelihood.

    ``"auto"`` does if the formula has no process and no option was given that only a posterior has.
    """
    if isinstance(asked.method, MLE):
        return True
    of_posterior = any(_is_named(name, value) for name, value in asked.named(_OF_POSTERIORS).items())
    return not isinstance(asked.method, MethodValue) and not (spec.processes or of_posterior)


def refuse_with_mle(asked: FitOptions) -> None:
    """Raise an error for options of processes that maximum likelihood does not use."""
    for name, value in asked.named(_OF_POSTERIORS).items():
        none_at_all = name == "priors" and isinstance(value, Mapping) and not value
        if _is_named(name, value) and not none_at_all:
            raise SpecError(
                f"{name}= is not supported with method='mle', which has no priors. Leave it out, or use method='ep'."
            )


def refuse_with_cure(given: Mapping[str, Any], family: object, spec: ModelSpec) -> None:
    """Raise an error for what a cure model does not support: what is ``given``, other families, processes."""
    of_times = isinstance(family, Family) and family.log_time
    wrong = [name for name, value in given.items() if value is not None]
    if spec.mixture is not None:
        wrong.append("mixture()")
    elif not of_times:
        wrong.append(f"family={getattr(family, 'name', family)!r}")
    wrong += [term.name for term in spec.processes]
    if wrong:
        names = ", ".join(repr(row.name) for row in FAMILIES.values() if row.log_time)
        raise SpecError(
            f"cure= requires maximum likelihood, linear terms and one of the families {names}; it is not supported "
            f"with {' and '.join(wrong)}."
        )


def refuse_without_mle(cov_type: str, cov_kwds: Mapping[str, Any] | None) -> None:
    """Raise an error if a posterior is combined with what only maximum likelihood supports."""
    if cov_type != "nonrobust" or cov_kwds is not None:
        raise SpecError(
            "cov_type= and cov_kwds= require maximum likelihood (method='mle'). Leave them out: a posterior has one "
            "covariance."
        )


def _is_named(name: str, value: Any) -> bool:
    """Whether an option was given and is not empty."""
    return value is not None and not (name == "start" and isinstance(value, Mapping) and not value)
