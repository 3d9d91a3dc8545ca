"""Calls whose rows are parts of the time of subjects: ``id=`` with families of positive times."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import pandas as pd

from tobitgp.data.sources import open_source
from tobitgp.errors import SpecError
from tobitgp.kinds.call import Call, Rows, read_rows
from tobitgp.kinds.kind import Kind, fit_maximum
from tobitgp.kinds.start_stop import fit_start_stop
from tobitgp.likelihoods import Family
from tobitgp.options import FitOptions, refuse_with_mle
from tobitgp.results.likelihood.start_stop_results import StartStopResults
from tobitgp.results.paths import check_subject_name

_INSTEAD = "; use family='ph', which supports it with covariates that change"


@dataclass(frozen=True)
class SubjectRows(Rows):
    """Rows, and the subject of each, (n,)."""

    subject: Any = None


class StartStop(Kind):
    """``id=`` with families of positive times."""

    has_posterior = False

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
        fitter = partial(fit_start_stop, rows.in_memory, id=str(rows.call.id), subject=rows.subject)
        return fit_maximum(rows, asked, StartStopResults, fitter, fixed=asked.fixed)

    def posterior(self, rows: SubjectRows, asked: FitOptions) -> Any:
        raise SpecError(
            f"id= with family={rows.noise.name!r} is fitted by maximum likelihood, without priors and other options "
            "of a posterior; for a posterior use family='ph'."
        )
