"""Calls whose rows are fitted as they are, and of regressions of log time whose rows are parts of a subject's time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from tobitgp.data.prepare import PartitionedData
from tobitgp.data.row_weights import warn_fractions
from tobitgp.errors import SpecError
from tobitgp.imports import uncollected
from tobitgp.inference.given_parameters import GivenParameters, read_mapping
from tobitgp.kinds.call import Rows
from tobitgp.kinds.kind import Kind, fit_maximum, fit_posterior
from tobitgp.kinds.progress import progress_bar
from tobitgp.kinds.regression_fit import fit_partitions, fit_regression
from tobitgp.method_settings import MLE
from tobitgp.method_spelling import read_method
from tobitgp.numerics.linear_algebra import breakdown_in_words
from tobitgp.options import FitOptions, method_for, read_rng, refuse_with_mle, refuse_without_mle
from tobitgp.results.likelihood.regression_results import RegressionResults

if TYPE_CHECKING:
    from tobitgp.kinds.process import Evidence


class Regression(Kind):
    """Linear terms by maximum likelihood, processes and priors by a posterior, components of a ``mixture()``."""

    def fit(self, rows: Rows, asked: FitOptions) -> Any:
        return super().fit(rows, asked) if rows.spec.mixture is None else fit_mixture(rows, asked)

    def maximum(self, rows: Rows, asked: FitOptions) -> Any:
        refuse_with_mle(asked)
        if isinstance(rows.read, PartitionedData):
            fitter: Any = partial(fit_partitions, rows.spec, rows.read, rows.noise, rows.columns)
        else:
            fitter = partial(fit_regression, rows.in_memory)
        return fit_maximum(rows, asked, RegressionResults, fitter, fixed=asked.fixed)

    def posterior(self, rows: Rows, asked: FitOptions) -> Any:
        with uncollected():
            from tobitgp.kinds.process import estimated_values, fit_process, read_start
            from tobitgp.results.process.process_results import GPResults

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
        from tobitgp.kinds.process import evidence_at

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


def fit_mixture(rows: Rows, asked: FitOptions) -> Any:
    """Results of components."""
    with uncollected():
        from tobitgp.kinds.mixture_fit import choose_mixture_method, fit_components, refuse_with_mixture
        from tobitgp.kinds.mixture_start import is_given
        from tobitgp.mixture.family import MixtureFamily
        from tobitgp.results.mixture.mixture_results import MixtureResults

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
