"""Fit proportional hazards with a parametric baseline, by maximum likelihood."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.data.sources import refuse_partitioned
from tobitgp.errors import BoundaryWarning, SpecError, user_level
from tobitgp.formula.hazard_formula import read_hazards
from tobitgp.inference.fitted import Step
from tobitgp.kinds.parametric import LINKS, fit_parametric
from tobitgp.model import Model
from tobitgp.numerics.linear_algebra import breakdown_in_words
from tobitgp.options import MAX_ITER, MLE, FitOptions, read_robust, refuse_with_mle
from tobitgp.report.progress import progress_bar
from tobitgp.results.hazards.cells import PH, AtRisk, check_subjects
from tobitgp.results.likelihood.parametric_results import ParametricHazardResults
from tobitgp.results.paths import holds_parts, read_subjects


def check_reading(data: Any, reading: dict[str, Any]) -> None:
    """Take away what does not go with hazards, and refuse it where it was given."""
    refuse_partitioned(data, "family='ph' is fitted", reading.pop("engine", None))
    for name, default in (("sigma", None), ("cure", None), ("var_weights", None), ("censored", "model")):
        if reading.pop(name, default) != default:
            raise SpecError(f"{name}= does not go with family='ph'.")


class ParametricModel(Model):
    """Rows at risk under a parametric baseline, read once."""

    def __init__(self, formula: str, data: Any, *, family: PH, id: str | None = None, **reading: Any):
        check_reading(data, reading)
        data, self.written, self.family, self.id = pd.DataFrame(data), read_hazards(formula), family, id
        super().__init__(self.written.linear, data, family=LINKS[family.link], **reading)
        self.subject: Any = None
        self.frailty = None if family.frailty is None else self._read_frailty(data)
        self._refuse_terms()
        if id is not None:
            self.subject = read_subjects(id, data)[self.training.kept]
            self._check_subjects(self.subject)

    def _refuse_terms(self) -> None:
        """Refuse what only a posterior has."""
        shared, baseline = self.written.shared, self.family.baseline
        refused = [term.name for term in self.spec.processes] + [f"tv({z})" for z in self.written.varying]
        refused += [f"(1 | {shared})"] * (shared is not None and self.frailty is None)
        if refused:
            frailty = f", and tg.PH({baseline!r}, frailty='gamma') takes (1 | {shared})" if shared is not None else ""
            raise SpecError(
                f"{refused[0]} does not go with baseline={baseline!r}, which is fitted by maximum likelihood to linear "
                f"terms; tg.PH(baseline='gp') takes processes, random effects and tv(){frailty}."
            )

    def _check_subjects(self, subject: Any) -> None:
        """Refuse rows of a subject that do not follow each other, or have no sum."""
        seen = self.training.response
        if self.family.link != "hazard" and holds_parts(subject):
            raise SpecError(
                f"link={self.family.link!r} takes one row of each subject of id={self.id!r}: only hazards add up over "
                "rows. Use link='hazard'."
            )
        end = np.where(np.isfinite(seen.lower), seen.lower, seen.upper)
        risk = AtRisk(np.maximum(seen.entry, 0.0), end, np.isfinite(seen.upper), seen.weight)
        check_subjects(subject, risk, self.training.labels)

    def _read_frailty(self, data: pd.DataFrame) -> tuple[str, Any]:
        """The column of the groups that share a frailty, and the group of each row."""
        if self.written.shared is None:
            raise SpecError(f"{self.family!r}: frailty= needs one term (1 | g), whose groups share the frailties.")
        name, seen = self.written.shared.strip("`"), self.training.response
        group = read_subjects(name, data)[self.training.kept]
        if ((seen.lower < seen.upper) & ~np.isposinf(seen.upper)).any() or np.isfinite(seen.exit).any():
            raise SpecError("frailty= takes rows that are exact or right-censored.")
        first = pd.Series(np.maximum(seen.entry, 0.0))
        if self.id is not None:
            first = first.groupby(read_subjects(self.id, data)[self.training.kept]).transform("min")
        if (first > 0.0).any():
            raise SpecError(
                "frailty= takes rows that are followed from time 0 on, start-stop rows by id= among them: with late "
                "entry frailties of those who are seen are no longer what they were at time 0."
            )
        if len(pd.unique(group)) == len(group):
            warnings.warn(
                f"Every row has a group {name!r} of its own: their frailty is told from the shape of the baseline "
                "alone, and its variance is hardly identified.",
                BoundaryWarning,
                stacklevel=user_level(),
            )
        return name, group

    def __repr__(self) -> str:
        return super().__repr__().replace(f"\n  {self._family.name}:", f"\n  {self.family!r}:")

    def _fit_process(self, asked: FitOptions) -> Any:
        """What only a posterior has is refused, but for values to start from."""
        return self._fit_mle(asked)

    def _fit_mle(self, asked: FitOptions) -> Any:
        if asked.method not in ("auto", MLE):
            raise SpecError(
                f"baseline={self.family.baseline!r} is fitted by method='mle', not {asked.method!r}; "
                "tg.PH(baseline='gp') has posteriors."
            )
        refuse_with_mle(replace(asked, start=None, method=MLE))
        options = asked.named(("fixed", "start", "cov_type")) | {"max_iter": asked.max_iter or MAX_ITER}
        clusters, by = asked.cov_kwds, self.id if self.frailty is None else self.frailty[0]
        if asked.cov_type == "cluster" and by is not None and isinstance(clusters, Mapping | None):
            clusters = {"groups": by, **(clusters or {})}
        if self.frailty is not None and asked.cov_type not in ("nonrobust", "cluster"):
            raise SpecError(f"cov_type={asked.cov_type!r} takes rows as independent; with frailty= use 'cluster'.")
        options |= {"frailty": self.frailty, "subject": self.subject}
        options |= read_robust(asked.cov_type, clusters, self._source, self.training)
        covariates = self._covariates()
        assert covariates is not None
        with breakdown_in_words(), progress_bar(asked.progress) as on_step:
            read = self.spec, self.training, self.family, self.written, covariates, self._columns
            found = ParametricHazardResults(fit_parametric(*read, **options))
            if on_step is not None:
                on_step(Step("newton", found.parts.maximum.iterations, found.llf, rows=self.training.found.n))
        return found
