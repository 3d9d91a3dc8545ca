"""Calls of proportional hazards with a parametric baseline."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.errors import BoundaryWarning, SpecError, user_level
from tobitgp.formula.hazard_formula import HazardFormula, read_hazards
from tobitgp.kinds.call import Call, Rows, read_rows
from tobitgp.kinds.kind import Kind, fit_maximum
from tobitgp.kinds.parametric import LINKS, fit_parametric
from tobitgp.method_settings import MLE
from tobitgp.method_value import MethodValue, spelled
from tobitgp.options import FitOptions, refuse_with_mle
from tobitgp.results.hazards.cells import PH, AtRisk, baseline_size, check_subjects
from tobitgp.results.likelihood.parametric_results import ParametricHazardResults
from tobitgp.results.paths import holds_parts


@dataclass(frozen=True)
class HazardRows(Rows):
    """Rows at risk under proportional hazards."""

    written: HazardFormula
    hazard: PH

    @property
    def formula(self) -> str:
        return self.written.formula

    @property
    def shown(self) -> str:
        return self.written.formula

    @property
    def title(self) -> str:
        return repr(self.hazard)


@dataclass(frozen=True)
class BaselineRows(HazardRows):
    """Rows at risk under a parametric baseline."""

    subject: Any = None  # (n,), of each row, where ``id=`` names one
    frailty: tuple[str, Any] | None = None  # column of the groups that share a frailty, and the group of each row


class ParametricHazards(Kind):
    """``family=tg.PH("spline")``, ``"weibull"`` and ``"gompertz"``."""

    hazards = True
    has_posterior = False

    def read(self, call: Call) -> BaselineRows:
        refuse_with_hazards(call)
        written, hazard = read_hazards(call.formula), call.family
        plain = read_rows(replace(call, formula=written.linear, family=LINKS[hazard.link])).gathered()
        read = plain.spec, plain.family, plain.read, plain.frame, plain.columns
        rows = BaselineRows(call, *read, written, hazard)
        if hazard.frailty is not None:
            rows = replace(rows, frailty=_read_frailty(rows))
        _refuse_terms(rows)
        if call.id is not None:
            rows = replace(rows, subject=rows.subjects(call.id))
            _check_subjects(rows)
        return rows

    def maximum(self, rows: BaselineRows, asked: FitOptions) -> Any:
        if isinstance(asked.method, MethodValue) and not isinstance(asked.method, MLE):
            raise SpecError(
                f"baseline={rows.hazard.baseline!r} is fitted by method='mle', not {spelled(asked.method)}. "
                "For a posterior use tg.PH(baseline='gp')."
            )
        refuse_with_mle(replace(asked, start=None))
        clusters, by = asked.cov_kwds, rows.call.id if rows.frailty is None else rows.frailty[0]
        if asked.cov_type == "cluster" and by is not None and isinstance(clusters, Mapping | None):
            clusters = {"groups": by, **(clusters or {})}
        if rows.frailty is not None and asked.cov_type not in ("nonrobust", "cluster"):
            raise SpecError(
                f"cov_type={asked.cov_type!r} assumes independent rows. With frailty= use cov_type='cluster'."
            )
        read = rows.in_memory, rows.hazard, rows.written
        fitter = partial(fit_parametric, *read, frailty=rows.frailty, subject=rows.subject)
        return fit_maximum(rows, asked, ParametricHazardResults, fitter, clusters, fixed=asked.fixed, start=asked.start)

    def posterior(self, rows: BaselineRows, asked: FitOptions) -> Any:
        """Raise an error for options of a posterior, except for starting values."""
        return self.maximum(rows, asked)

    def baseline_size(self, rows: BaselineRows) -> int:
        return baseline_size(rows.hazard) + (rows.frailty is not None)


def refuse_with_hazards(call: Call) -> None:
    """Raise an error for arguments that hazards do not support."""
    call.refuse(("sigma", "cure", "var_weights", "censored"), "is not supported with family='ph'.")


def _refuse_terms(rows: BaselineRows) -> None:
    """Raise an error for what only a posterior has."""
    shared, baseline = rows.written.shared, rows.hazard.baseline
    refused = [term.name for term in rows.spec.processes] + [f"tv({z})" for z in rows.written.varying]
    refused += [f"(1 | {shared})"] * (shared is not None and rows.frailty is None)
    if refused:
        frailty = f", and tg.PH({baseline!r}, frailty='gamma') supports (1 | {shared})" if shared is not None else ""
        raise SpecError(
            f"{refused[0]} is not supported with baseline={baseline!r}, which is fitted by maximum likelihood to "
            f"linear terms. tg.PH(baseline='gp') supports processes, random effects and tv(){frailty}."
        )


def _check_subjects(rows: BaselineRows) -> None:
    """Raise an error for rows of a subject that do not follow each other, or have no sum."""
    seen = rows.training.response
    if rows.hazard.link != "hazard" and holds_parts(rows.subject):
        raise SpecError(
            f"link={rows.hazard.link!r} requires one row for each subject of id={rows.call.id!r}: only hazards "
            f"add up over rows. Use link='hazard'."
        )
    end = np.where(np.isfinite(seen.lower), seen.lower, seen.upper)
    risk = AtRisk(np.maximum(seen.entry, 0.0), end, np.isfinite(seen.upper), seen.weight)
    check_subjects(rows.subject, risk, rows.training.labels)


def _read_frailty(rows: BaselineRows) -> tuple[str, Any]:
    """The column of the groups that share a frailty, and the group of each row."""
    if rows.written.shared is None:
        raise SpecError(f"{rows.hazard!r}: frailty= requires one term (1 | g), whose groups share the frailties.")
    name, seen, id = rows.written.shared.strip("`"), rows.training.response, rows.call.id
    group = rows.subjects(name)
    if ((seen.lower < seen.upper) & ~np.isposinf(seen.upper)).any() or np.isfinite(seen.exit).any():
        raise SpecError("frailty= requires exact or right-censored rows.")
    first = pd.Series(np.maximum(seen.entry, 0.0))
    if id is not None:
        first = first.groupby(rows.subjects(id)).transform("min")
    if (first > 0.0).any():
        raise SpecError(
            "frailty= requires follow-up from time 0 on (start-stop rows with id= are supported). With late "
            "entry the observed subjects are selected by their frailty. Leave frailty= out."
        )
    if len(pd.unique(group)) == len(group):
        warnings.warn(
            f"Every row is a group of {name!r}: the frailty can be distinguished only from the shape of the "
            f"baseline, and its variance is hardly identified. Leave the frailty out, or use larger groups.",
            BoundaryWarning,
            stacklevel=user_level(),
        )
    return name, group
