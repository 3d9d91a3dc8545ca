"""A kind of fit: which calls it claims, how it reads their rows, and how it fits them."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any

from tobitgp.data.outcome import warn_outlier
from tobitgp.data.prepare import GatheredData, PartitionedData, Prepared, TrainingData
from tobitgp.data.row_weights import warn_fractions
from tobitgp.errors import SpecError
from tobitgp.imports import uncollected
from tobitgp.inference.search_settings import Step
from tobitgp.kinds.call import Call, Rows, read_rows
from tobitgp.kinds.fit_arguments import CovarianceOptions, check_covariance
from tobitgp.kinds.likelihood import LikelihoodParts
from tobitgp.kinds.progress import progress_bar
from tobitgp.likelihoods import Family
from tobitgp.numerics.linear_algebra import breakdown_in_words
from tobitgp.options import FitOptions, choose_family, means_mle, method_for, read_robust

if TYPE_CHECKING:
    from tobitgp.kinds.process import Evidence

NO_POSTERIOR = "which does not use method=, priors= and start= of a posterior."


class Kind:
    """Declarations of a kind of fit; the defaults are for rows as in the data."""

    has_posterior = True  # next to a maximum of a likelihood
    takes_rescor = False  # whether ``rescor=`` says something of it
    hazards = False  # whether subjects of ``id=`` add up their hazards
    by_cause = False  # whether ``family=`` and ``cure=`` may be dicts by cause

    def read(self, call: Call) -> Any:
        """The rows of a call."""
        return read_rows(call)

    def fit(self, rows: Any, asked: FitOptions) -> Any:
        """Results of the rows."""
        if isinstance(rows.read, Prepared) and asked.cov_type == "nonrobust":
            warn_fractions(rows.read.found.fractions, rows.read.found.nobs)
        if isinstance(rows.read, TrainingData):
            warn_outlier(rows.read.response, log_time=rows.noise.log_time, labels=rows.read.labels)
        return self.maximum(rows, asked) if means_mle(asked, rows.spec) else self.posterior(rows, asked)

    def maximum(self, rows: Any, asked: FitOptions) -> Any:
        """Results at the maximum of the likelihood."""
        raise NotImplementedError

    def posterior(self, rows: Any, asked: FitOptions) -> Any:
        """Results under a prior."""
        raise NotImplementedError

    def baseline_size(self, rows: Any) -> int:
        """Number of parameters of a hazard without its linear columns; of kinds of hazards, for which causes ask."""
        family = choose_family(rows.call.family, rows.spec)
        assert isinstance(family, Family)
        if not family.log_time:
            raise SpecError(
                f"Competing risks require a family of positive times, e.g. 'weibull' or 'ph', not {family.name!r}."
            )
        return int(family.name != "exponential")

    def evidence(self, rows: Any, params: Mapping[str, float], *, method: Any, **options: Any) -> Evidence:
        """Log evidence at given hyper-parameters."""
        raise SpecError(
            "evidence() requires a Gaussian process or a regression with priors. For other models with priors "
            "use log_evidence of a fit with fixed=."
        )


@dataclass(frozen=True, slots=True)
class Claim:
    """Which calls are of a kind, and where that is: its code is imported at its first call."""

    holds: Callable[[Call], bool]
    home: str  # file in this folder
    name: str
    arguments: tuple[Any, ...] = ()
    by_cause: bool = False  # whether it reads calls with dicts by cause

    def kind(self) -> Kind:
        """The kind of fit."""
        with uncollected():
            home = import_module(f"tobitgp.kinds.{self.home}")
        found: Kind = getattr(home, self.name)(*self.arguments)
        return found


def claimed(call: Call, claims: tuple[Claim, ...]) -> tuple[Kind, Call]:
    """The first of several kinds that claims a call, and the call as this kind reads it."""
    calls = ((claim, call if claim.by_cause else call.in_short()) for claim in claims)
    claim, call = next((claim, own) for claim, own in calls if claim.holds(own))
    kind = claim.kind()
    for name, value in (("family", call.family), ("cure", call.cure)):
        if isinstance(value, Mapping) and not kind.by_cause:
            raise SpecError(f"{name}= by cause requires competing risks, e.g. Surv(time, cause) ~ x.")
    if call.rescor and not kind.takes_rescor:
        raise SpecError("rescor=True requires several responses, e.g. mvbind(y1, y2) ~ x.")
    return kind, call


def fit_maximum(
    rows: Rows,
    asked: FitOptions,
    results: Callable[[Any], Any],
    fitter: Callable[..., Any],
    clusters: Any = None,
    **options: Any,
) -> Any:
    """Results of what a fitter finds at a maximum."""
    how, robust = {"max_iter": asked.max_iter, **options}, dict[str, Any]()
    gathered = isinstance(rows.read, GatheredData)
    if asked.cov_type != "nonrobust" and (gathered or isinstance(rows.read, PartitionedData)):
        check_covariance(asked.cov_type)
        raise SpecError(
            f"cov_type={asked.cov_type!r} is not available for partitioned data. Give a DataFrame, or use "
            "cov_type='nonrobust'."
        )
    if isinstance(rows.read, TrainingData) and not gathered:
        robust = read_robust(asked.cov_type, clusters or asked.cov_kwds, rows.call.data, rows.read)
        check_covariance(asked.cov_type)
    if not isinstance(rows.read, PartitionedData):
        how["errors"] = CovarianceOptions(asked.cov_type, **robust)
    with breakdown_in_words(), progress_bar(asked.progress) as on_step:
        parts = fitter(**how)
        if gathered:
            parts = replace(parts, llnull=_null(parts)).without_rows()
        if on_step is not None:
            on_step(Step("newton", parts.maximum.iterations, parts.llf, rows=rows.read.found.n))
    return results(parts)


def _null(parts: LikelihoodParts) -> float:
    """The log likelihood with an intercept only, whose fit says nothing about the requested one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return parts.null


def fit_posterior(asked: FitOptions, noise: Family, fitter: Callable[..., Any]) -> Any:
    """Results of what a fitter finds under a prior."""
    method = method_for(asked.method, noise)
    search = {"given": asked.given(method), "settings": method.settings(asked.rng)}
    with progress_bar(asked.progress) as on_step:
        return fitter(method=method.updates(), **search, on_step=on_step)
