"""Calls with positive responses that are normal after a power transformation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from tobitgp.errors import SpecError
from tobitgp.inference.given_parameters import check_unambiguous
from tobitgp.kinds.boxcox import fit_boxcox
from tobitgp.kinds.call import Call, Rows, read_rows
from tobitgp.kinds.kind import Kind, fit_maximum, fit_posterior
from tobitgp.kinds.power_process import fit_boxcox_process
from tobitgp.kinds.process import Evidence
from tobitgp.kinds.transformed_rows import above_zero
from tobitgp.likelihoods import FAMILIES
from tobitgp.likelihoods.families import BOXCOX, BoxCox, read_power
from tobitgp.options import FitOptions, refuse_with_mle, refuse_without_mle
from tobitgp.results.likelihood.boxcox_results import BoxCoxResults
from tobitgp.results.process.boxcox_process_results import BoxCoxGPResults

_WHY = "is not supported with family='boxcox'."


@dataclass(frozen=True)
class PowerRows(Rows):
    """Rows of a positive response, and the power where it is known."""

    power: float | None = None

    @property
    def title(self) -> str:
        return BOXCOX.name


class PowerTransformation(Kind):
    """``family="boxcox"``."""

    def read(self, call: Call) -> PowerRows:
        call.refuse(("cure", "var_weights", "id", "censored"), _WHY)
        rows = read_rows(replace(call, family="lognormal")).gathered()
        if rows.spec.mixture is not None:
            raise SpecError("family='boxcox' is not supported with mixture().")
        read = replace(rows.training, response=above_zero(rows.training.response, rows.training.labels))
        power = float(call.family.power) if isinstance(call.family, BoxCox) else None
        return PowerRows(call, rows.spec, rows.family, read, rows.frame, rows.columns, power)

    def maximum(self, rows: PowerRows, asked: FitOptions) -> Any:
        refuse_with_mle(asked)
        fitter = partial(fit_boxcox, rows.in_memory, power=rows.power)
        return fit_maximum(rows, asked, BoxCoxResults, fitter, fixed=asked.fixed)

    def posterior(self, rows: PowerRows, asked: FitOptions) -> Any:
        refuse_without_mle(asked.cov_type, asked.cov_kwds)
        if asked.start is not None and not isinstance(asked.start, Mapping):
            raise SpecError("start= with family='boxcox' must be a dict of hyper-parameters, not a fit.")
        check_unambiguous("fixed=", asked.fixed or (), [*rows.training.design.columns, "power"])
        power, fixed = read_power(rows.power, asked.fixed)
        read = rows.spec, rows.training, rows.covariates(), rows.columns, power
        fitter = partial(fit_boxcox_process, *read)
        return BoxCoxGPResults(fit_posterior(replace(asked, fixed=fixed), FAMILIES["gaussian"], fitter))

    def evidence(self, rows: PowerRows, params: Mapping[str, float], *, method: Any, **options: Any) -> Evidence:
        raise SpecError("evidence() is not supported with family='boxcox'. Use log_evidence of a fit with fixed=.")
