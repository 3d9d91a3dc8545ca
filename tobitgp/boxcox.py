"""Fit positive responses that are normal after a power transformation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tobitgp.data.prepare import TrainingData
from tobitgp.data.sources import refuse_partitioned
from tobitgp.errors import SpecError
from tobitgp.inference.fitted import Step
from tobitgp.kinds.boxcox import fit_boxcox
from tobitgp.kinds.power_process import fit_boxcox_process
from tobitgp.kinds.transformed_rows import above_zero
from tobitgp.likelihoods import FAMILIES
from tobitgp.likelihoods.families import BoxCox, read_power
from tobitgp.model import Model
from tobitgp.numerics.linear_algebra import breakdown_in_words
from tobitgp.options import MAX_ITER, FitOptions, method_for, read_robust, refuse_with_mle, refuse_without_mle
from tobitgp.report.progress import progress_bar
from tobitgp.results.likelihood.boxcox_results import BoxCoxResults
from tobitgp.results.process.boxcox_process_results import BoxCoxGPResults


class BoxCoxModel(Model):
    """Rows of a positive response that have met their data."""

    def __init__(self, formula: str, data: Any, *, family: str | BoxCox, id: Any = None, **reading: Any):
        beside = {name: reading.get(name) for name in ("cure", "var_weights", "engine")} | {"id": id}
        wrong = [f"{name}=" for name, value in beside.items() if value is not None]
        wrong += ["censored="] * (reading.get("censored", "model") != "model")
        if wrong:
            raise SpecError(f"{wrong[0]} does not go with family='boxcox'.")
        refuse_partitioned(data, "family='boxcox' is fitted")
        super().__init__(formula, data, family="lognormal", **reading)
        if self.spec.mixture is not None:
            raise SpecError("family='boxcox' does not go with mixture().")
        self.power = float(family.power) if isinstance(family, BoxCox) else None
        read = self._read
        assert isinstance(read, TrainingData)
        self._read = replace(read, response=above_zero(read.response, read.labels))

    def __repr__(self) -> str:
        return super().__repr__().replace("\n  lognormal:", "\n  boxcox:")

    def evidence(self, params: Mapping[str, float], **options: Any) -> Any:
        """Refused: the evidence is that of a fit."""
        raise SpecError("evidence() is not available of family='boxcox'; log_evidence of a fit with fixed= is it.")

    def _fit_mle(self, asked: FitOptions) -> BoxCoxResults:  # type: ignore[override]
        refuse_with_mle(asked)
        covariates = self._covariates()
        assert covariates is not None
        options: dict[str, Any] = {"fixed": asked.fixed, "cov_type": asked.cov_type, "power": self.power}
        options |= read_robust(asked.cov_type, asked.cov_kwds, self._source, self.training)
        options["max_iter"] = asked.max_iter or MAX_ITER
        with breakdown_in_words(), progress_bar(asked.progress) as on_step:
            found = BoxCoxResults(fit_boxcox(self.spec, self.training, covariates, self._columns, **options))
            if on_step is not None:
                on_step(Step("newton", found.parts.maximum.iterations, found.llf, rows=self.training.found.n))
        return found

    def _fit_process(self, asked: FitOptions) -> BoxCoxGPResults:
        refuse_without_mle(asked.cov_type, asked.cov_kwds)
        if asked.start is not None and not isinstance(asked.start, Mapping):
            raise SpecError("start= of family='boxcox' is a dict of hyper-parameters, no other fit.")
        power, fixed = read_power(self.power, asked.fixed)
        asked = replace(asked, fixed=fixed)
        method = method_for(asked.method, asked.bound, FAMILIES["gaussian"])
        how: dict[str, Any] = {"method": method, "given": asked.given(method), "settings": asked.settings()}
        with progress_bar(asked.progress) as on_step:
            parts = fit_boxcox_process(
                self.spec, self.training, self._covariates(), self._columns, power, on_step=on_step, **how
            )
        return BoxCoxGPResults(parts)
