"""Fit regressions of log time to start-stop rows of subjects whose covariates change."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, NoReturn

import pandas as pd

from tobitgp.data.sources import refuse_partitioned
from tobitgp.errors import SpecError
from tobitgp.kinds.start_stop import fit_start_stop
from tobitgp.likelihoods import Family
from tobitgp.model import Model
from tobitgp.options import FitOptions
from tobitgp.results.paths import read_subjects

_INSTEAD = "; family='ph' has it, with subjects whose covariates change"


class StartStopModel(Model):
    """Rows of subjects that have met their data."""

    def __init__(self, formula: str, data: Any, *, id: Any, **reading: Any):
        refuse_partitioned(data, "Subjects of id= are fitted", reading.pop("engine", None))
        for name, default in (("sigma", None), ("cure", None), ("var_weights", None), ("censored", "model")):
            if reading.pop(name, default) != default:
                raise SpecError(f"{name}= does not go with id=, by which rows are parts of a subject's time.")
        data = pd.DataFrame(data)
        subject, named = read_subjects(id, data), re.search(rf"\b{re.escape(id)}\b", str(formula))
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Column .* tells subjects whose rows")  # id= says so
            # "." means covariates, and the name of a subject is none.
            super().__init__(formula, data if named else data.drop(columns=id), **reading)
        self._source, spec, family = data, self.spec, self._family
        if spec.mixture is not None or spec.processes:
            what = "mixture()" if spec.mixture is not None else spec.processes[0].name
            raise SpecError(f"id= goes with linear terms, not with {what}{_INSTEAD * (spec.mixture is None)}.")
        if spec.response.kind != "surv" or not isinstance(family, Family) or not family.log_time:
            raise SpecError(
                "id= goes with Surv(start, stop, event) and families of positive times, whose logarithm is modelled, "
                f"or family='ph', not with {spec.response.label} and family={family.name!r}."
            )
        self._fit_rows = partial(fit_start_stop, id=id, subject=subject[self.training.kept])

    @property
    def _fitter(self) -> Callable[..., Any]:
        return self._fit_rows

    def _fit_process(self, asked: FitOptions) -> NoReturn:
        raise SpecError(
            f"id= with family={self._family.name!r} is fitted by maximum likelihood, without priors and other options "
            "of a posterior; family='ph' has one."
        )
