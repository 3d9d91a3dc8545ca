"""Calls whose rows are fitted as they are, and of regressions of log time whose rows are parts of a subject's time."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pandas as pd

from tobitgp.data.prepare import PartitionedData
from tobitgp.data.row_weights import warn_fractions
from tobitgp.data.sources import open_source
from tobitgp.errors import SpecError
from tobitgp.inference.given_parameters import GivenParameters, read_mapping
from tobitgp.kinds.call import Call, Rows, read_rows
from tobitgp.kinds.cure import fit_cure
from tobitgp.kinds.kind import Kind, fit_maximum, fit_posterior
from tobitgp.kinds.mixture_fit import choose_mixture_method, fit_components, refuse_with_mixture
from tobitgp.kinds.mixture_start import is_given
from tobitgp.kinds.process import Evidence, estimated_values, evidence_at, fit_process, read_start
from tobitgp.kinds.progress import progress_bar
from tobitgp.kinds.regression_fit import fit_partitions, fit_regression
from tobitgp.kinds.start_stop import fit_start_stop
from tobitgp.likelihoods import Family
from tobitgp.method_settings import MLE
from tobitgp.method_spelling import read_method
from tobitgp.mixture.family import MixtureFamily
from tobitgp.numerics.linear_algebra import breakdown_in_words
from tobitgp.options import FitOptions, method_for, read_rng, refuse_with_mle, refuse_without_mle
from tobitgp.results.mixture.mixture_results import MixtureResults
from tobitgp.results.paths import check_subject_name
from tobitgp.results.process.process_results import GPResults

_NO_POSTERIOR = "which does not use method=, priors= and start= of a posterior."


class Regression(Kind):
    """Linear terms by maximum likelihood, processes and priors by a posterior, components of a ``mixture()``."""

    def claims(self, call: Call) -> bool:
        return True

    def fit(self, rows: Rows, asked: FitOptions) -> Any:
        return super().fit(rows, asked) if rows.spec.mixture is None else fit_mixture(rows, asked)

    def maximum(self, rows: Rows, asked: FitOptions) -> Any:
        refuse_with_mle(asked)
        if isinstance(rows.read, PartitionedData):
            fitter: Any = partial(fit_partitions, rows.spec, rows.read, rows.noise, rows.columns)
        else:
            fitter = partial(fit_regression, rows.spec, rows.read, rows.noise, rows.covariates(), rows.columns)
        return fit_maximum(rows, asked, fitter, fixed=asked.fixed)

    def posterior(self, rows: Rows, asked: FitOptions) -> Any:
        refuse_without_mle(asked.cov_type, asked.cov_kwds)
        near = read_start(asked.start)
        if near is not None:
            asked = replace(asked, start=estimated_values(near, asked.fixed or {}))
            near = near if asked.n_starts is None else None
        read = rows.spec, rows.read, rows.noise, rows.covariates(), rows.columns, near
        return GPResults.from_parts(fit_posterior(asked, rows.noise, partial(fit_process, *read)))

    def evidence(self, rows: Rows, params: Mapping[str, float], *, method: Any, **options: Any) -> Evidence:
        if rows.spec.mixture is not None:
            raise SpecError(
                "evidence() requires a Gaussian process or a regression with priors, and this is a mixture."
            )
        method = read_method(method)
        if isinstance(method, MLE):
            raise SpecError("method='mle' has no evidence. Use llf of a fit with fixed= for its log likelihood.")
        chosen = method_for(method, rows.noise)
        updates = chosen.updates()
        at = read_mapping("params", params)
        return evidence_at(
            rows.spec,
            rows.read,
            rows.noise,
            method=updates,
            given=GivenParameters.read(chosen.inducing, at, None, options["priors"], updates.side_noises),
            settings=chosen.settings(read_rng(options["rng"])),
            gradient=options["gradient"],
        )


class Cure(Kind):
    """Times of events that some rows never have."""

    has_posterior = False

    def claims(self, call: Call) -> bool:
        return call.cure is not None

    def read(self, call: Call) -> Rows:
        return read_rows(call).gathered()

    def maximum(self, rows: Rows, asked: FitOptions) -> Any:
        refuse_with_mle(asked)
        fitter = partial(fit_cure, rows.spec, rows.training, rows.noise, rows.covariates(), rows.columns)
        return fit_maximum(rows, asked, fitter, fixed=asked.fixed)

    def posterior(self, rows: Rows, asked: FitOptions) -> Any:
        raise SpecError(f"cure= requires maximum likelihood, {_NO_POSTERIOR}")

    def evidence(self, rows: Any, params: Mapping[str, float], *, method: Any, **options: Any) -> Evidence:
        raise SpecError("cure= requires maximum likelihood, which has no evidence.")


def fit_mixture(rows: Rows, asked: FitOptions) -> Any:
    """Results of components."""
    if asked.cov_type == "nonrobust":
        warn_fractions(rows.read.found.fractions, rows.read.found.nobs)
    refuse_with_mixture(asked.named(("fixed", "cov_type", "cov_kwds")))
    method = choose_mixture_method(asked.method)
    if is_given(asked.start) and method == type(method)():
        method = replace(method, n_init=1)
    assert isinstance(rows.family, MixtureFamily)
    read = rows.spec, rows.read, rows.family, rows.covariates(), rows.columns
    with breakdown_in_words(), progress_bar(asked.progress, "objective") as on_step:
        options: dict[str, Any] = {"priors": asked.priors, "rng": asked.rng, "start": asked.start}
        parts = fit_components(*read, method=method, on_step=on_step, **options)
    return MixtureResults(parts)


_INSTEAD = "; use family='ph', which supports it with covariates that change"


@dataclass(frozen=True)
class SubjectRows(Rows):
    """Rows, and the subject of each, (n,)."""

    subject: Any = None


class StartStop(Kind):
    """``id=`` with families of positive times."""

    has_posterior = False

    def claims(self, call: Call) -> bool:
        return call.id is not None

    def read(self, call: Call) -> SubjectRows:
        id: Any = call.id
        why = "is not supported with id=, where rows are parts of a subject's time."
        call.refuse(("sigma", "cure", "var_weights", "censored"), why)
        source = open_source(call.data, call.engine)
        data: Any = pd.DataFrame(call.data) if source is None else source
        check_subject_name(id, data.columns)
        if not re.search(rf"\b{re.escape(id)}\b", str(call.formula)):
            # "." means covariates, and the name of a subject is none.
            others = tuple(name for name in data.columns if name != id)
            data = data[list(others)] if source is None else replace(source, columns=others)
        rows = read_rows(replace(call, data=data)).gathered()
        spec, family = rows.spec, rows.family
        if spec.mixture is not None or spec.processes:
            what = "mixture()" if spec.mixture is not None else spec.processes[0].name
            raise SpecError(f"id= requires linear terms, not {what}{_INSTEAD * (spec.mixture is None)}.")
        if spec.response.kind != "surv" or not isinstance(family, Family) or not family.log_time:
            raise SpecError(
                "id= requires Surv(start, stop, event) and a family of positive times, whose logarithm is modelled, "
                f"or family='ph', not {spec.response.label} and family={family.name!r}."
            )
        read = rows.spec, family, rows.read, rows.frame, rows.columns
        rows = SubjectRows(call, *read)
        return replace(rows, subject=rows.subjects(id))

    def maximum(self, rows: SubjectRows, asked: FitOptions) -> Any:
        refuse_with_mle(asked)
        read = rows.spec, rows.training, rows.noise, rows.covariates(), rows.columns
        fitter = partial(fit_start_stop, *read, id=str(rows.call.id), subject=rows.subject)
        return fit_maximum(rows, asked, fitter, fixed=asked.fixed)

    def posterior(self, rows: SubjectRows, asked: FitOptions) -> Any:
        raise SpecError(
            f"id= with family={rows.noise.name!r} is fitted by maximum likelihood, without priors and other options "
            "of a posterior; for a posterior use family='ph'."
        )
