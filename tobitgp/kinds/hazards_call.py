"""Calls of proportional hazards, fitted by the cells of rows and bands of time."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.data.row_weights import warn_fractions
from tobitgp.data.sources import refuse_partitioned
from tobitgp.distributions.piecewise import band_of
from tobitgp.errors import ApproximationWarning, ConvergenceWarning, DataError, SpecError, user_level
from tobitgp.formula.hazard_formula import CELL, TIME, WEIGHT, HazardFormula, read_hazards
from tobitgp.formula.spec import ModelSpec
from tobitgp.inference import EPUpdates
from tobitgp.inference.assembly import GPModel
from tobitgp.inference.fitted import Settings
from tobitgp.inference.given_parameters import GivenParameters
from tobitgp.inference.hyperparameters import SIGMA
from tobitgp.kinds.call import Call, Rows, read_rows
from tobitgp.kinds.kind import Kind
from tobitgp.kinds.parametric_call import HazardRows, refuse_with_hazards
from tobitgp.kinds.process import build_model
from tobitgp.kinds.regression_call import Regression
from tobitgp.likelihoods import FAMILIES
from tobitgp.method_settings import MLE
from tobitgp.options import FitOptions
from tobitgp.priors.hyperpriors import LogNormal, Normal, Usual, UsualSlope
from tobitgp.results.hazards.cells import (
    BANDS,
    PH,
    AtRisk,
    at_risk,
    band_labels,
    baseline_size,
    check_subjects,
    choose_bands,
    first_entries,
    given_bands,
    make_cells,
)
from tobitgp.results.hazards.hazard_parts import HazardParts
from tobitgp.results.hazards.hazard_results import HazardResults
from tobitgp.results.hazards.proportionality import skewed_coefficients
from tobitgp.results.likelihood.regression_results import RegressionResults
from tobitgp.results.paths import subjects_of
from tobitgp.results.process.process_results import GPResults
from tobitgp.results.views import named_columns
from tobitgp.typing import Array

MOST_BANDS = 320
_LOG_EXPONENTIAL = float(np.pi / np.sqrt(6.0))  # standard deviation
_STAYS = 0.2  # of an error, by which coefficients may move when bands are halved: a quarter of it when they are doubled


@dataclass(frozen=True)
class CellFitter:
    """Fits the cells of rows at risk."""

    written: HazardFormula
    family: PH
    frame: pd.DataFrame  # covariates of the rows
    has_processes: bool  # of covariates, random effects among them
    risk: AtRisk
    functions: Mapping[str, Any] | None
    asked: FitOptions

    def __call__(self, cuts: Array, **how: Any) -> GPResults | RegressionResults:
        """Fit with these bands."""
        cells = make_cells(self.frame, self.risk, cuts, self.written.stratum)
        formula = self.written.cells(self.family.baseline, self.family.kernel)
        call = Call(formula, cells, family="exponential", weights=WEIGHT, functions=self.functions)
        rows = read_rows(call, self._of_bands if self.family.baseline == "piecewise" else None)
        asked, columns = replace(self.asked, **how), rows.read.state.linear.columns
        flipped: dict[str, Any] = {
            name: _flipped(getattr(asked, name), columns) for name in ("fixed", "start", "priors")
        }
        with warnings.catch_warnings():
            # The user has been warned about rows already, and exposures of cells are not the user's response.
            warnings.filterwarnings("ignore", ".*weights are not whole numbers")
            warnings.filterwarnings("ignore", f".*(nearly all of the variance|response is constant|input {TIME} of)")
            if rows.spec.processes and (asked.priors is None or asked.priors):
                flipped["priors"] = {**self.priors(rows), **(flipped["priors"] or {})}
            found = Regression().fit(rows, replace(asked, **flipped))
        assert isinstance(found, GPResults | RegressionResults)
        return found

    def _of_bands(self, spec: ModelSpec, *_: Any) -> ModelSpec:
        """Coefficients over time are constant in a band, whose level takes up the origin of their column."""
        return replace(spec, gps=tuple(replace(t, held=t.name in self.written.of_time) for t in spec.gps))

    def from_time_alone(self, cuts: Array, **how: Any) -> GPResults | RegressionResults:
        """Fit from where one without covariates ends, a cell a band, whose baseline linear terms hardly move."""
        named = any(self.asked.named(("start", "fixed", "priors")).values()) or self.asked.n_starts is not None
        if named or self.has_processes or self.written.varying:
            return self(cuts, **how)
        stratum = [] if self.written.stratum is None else [self.written.stratum.strip("`")]
        alone = replace(self, written=replace(self.written, terms=()), frame=self.frame[stratum]).maximising
        return self(cuts, **how, start=alone(cuts))

    @property
    def maximising(self) -> CellFitter:
        """The same with hyper-parameters at their maximum."""
        return replace(self, asked=self.asked.maximising())

    def priors(self, rows: Rows) -> dict[str, LogNormal | Normal]:
        """The usual priors in units that bands do not change: those of the logarithm of an exponential time."""
        given = GivenParameters.read("auto", None, None, None, None)
        _, gp, _ = build_model(rows.spec, rows.training, FAMILIES["exponential"], given, EPUpdates(), Settings())
        found, units = gp.parameters, gp.problem.units
        unit = {role: _LOG_EXPONENTIAL / units.scale for role in ("sd", "group")}
        names = [term.name for term in gp.terms]
        unit |= {f"lengthscale({name})": self._of_time(name, gp) for name in self.written.of_time if name in names}
        slope = f"slope({self.written.baseline})"
        out: dict[str, LogNormal | Normal] = {}
        if slope in gp.slopes:
            out[slope] = UsualSlope(0.0, 1.0 / self._spread)
        for i, (name, role) in enumerate(zip(found.names, found.roles, strict=True)):
            factor = unit.get(name, unit.get(role))
            if factor is not None:
                out[name] = Usual(float(np.exp(found.prior_mean[i]) * found.units[i] * factor), found.prior_sd[i])
        return out

    def _of_time(self, name: str, gp: GPModel) -> float:
        """Standard deviation of the logarithms of event times, in units of a process of time."""
        term = [term.name for term in gp.terms].index(name)
        return self._spread / float(gp.problem.units.x_scale[term][-1])

    @property
    def _spread(self) -> float:
        """Standard deviation of the logarithms of event times, 1 where these are all the same."""
        times, weight = np.log(self.risk.exit[self.risk.event]), self.risk.weight[self.risk.event]
        return float(np.sqrt(np.average(np.square(times - np.average(times, weights=weight)), weights=weight)) or 1.0)

    def bands(self, number: int) -> Array:
        """A number of bands."""
        return choose_bands(self.risk, number, even=self.family.baseline == "gp")


@dataclass(frozen=True)
class CellRows(HazardRows):
    """Rows at risk."""

    risk: AtRisk
    subject: Any = None  # (n,), of each row, where ``id=`` names one


class Hazards(Kind):
    """``family="ph"`` with a baseline of a process, or of bands of time."""

    hazards = True

    def claims(self, call: Call) -> bool:
        return isinstance(call.family, PH) or call.family is PH or call.family == PH.name

    def read(self, call: Call) -> CellRows:
        refuse_with_hazards(call)
        refuse_partitioned(call.data, "family='ph' with pieces or a process over time is fitted", call.engine)
        call = replace(call, data=pd.DataFrame(call.data), engine=None)
        written, hazard = read_hazards(call.formula), call.family if isinstance(call.family, PH) else PH()
        plain = read_rows(replace(call, formula=written.rows, family="exponential"))
        training, frame = plain.training, plain.frame
        assert frame is not None
        risk = at_risk(training.response, training.labels)
        if not risk.event.any():
            raise DataError("No event was observed, and hazards cannot be estimated without events.")
        for z in written.varying:
            if not pd.api.types.is_numeric_dtype(frame[z.strip("`")]):
                raise DataError(
                    f"tv({z}) requires numbers, and {z} has levels. Use strata({z}) to give each level a baseline."
                )
        taken = [name for name in CELL if name in frame.columns]
        if taken:
            raise DataError(f"The column names {', '.join(CELL)} are reserved. Rename the column {taken[0]!r}.")
        subject = None if call.id is None else plain.subjects(call.id)
        if subject is not None:
            check_subjects(subject, risk, training.labels)
        read = plain.spec, plain.family, training, frame, plain.columns
        return CellRows(call, *read, written, hazard, risk, subject)

    def fit(self, rows: CellRows, asked: FitOptions) -> HazardResults:
        if asked.cov_type != "nonrobust":
            raise SpecError(
                f"cov_type={asked.cov_type!r}: not supported for family='ph'. Leave cov_type= out and use "
                "res.robust_hazard_ratios(groups=), or use family=tg.PH('spline')."
            )
        processes, frame = bool(rows.spec.processes), rows.frame
        if isinstance(asked.method, MLE) and (processes or rows.written.varying or rows.hazard.baseline == "gp"):
            raise SpecError(
                "method='mle' requires tg.PH('piecewise') and linear terms; processes and tv() have priors. Leave "
                "method= out."
            )
        if isinstance(asked.start, HazardResults):
            asked = replace(asked, start=asked.start.cells)
        for name, given in asked.named(("fixed", "start", "priors")).items():
            if isinstance(given, Mapping) and SIGMA.name in given:
                raise SpecError(
                    f"{name}= refers to sigma, but proportional-hazards models have no sigma. Leave it out."
                )
        assert frame is not None
        known = rows.training.found
        warn_fractions(known.fractions, known.nobs, "family=tg.PH('spline') with cov_type='HC0' or 'cluster'")
        _warn_of_ties(rows.risk)
        fitter = CellFitter(rows.written, rows.hazard, frame, processes, rows.risk, rows.call.functions, asked)
        cells, cuts = _fit(fitter)
        facts = rows.training.facts(named_columns([rows.spec], rows.columns), frame)
        begins = first_entries(frame, rows.risk, rows.written.stratum)
        read = rows.spec, rows.training.state, facts, rows.written, rows.hazard, cuts, begins, cells.parts
        subjects = subjects_of(rows.subject, rows.training.response.weight)
        parts = HazardParts(*read, rows.training, frame, **subjects)
        found = HazardResults(replace(parts, few=skewed_coefficients(HazardResults(parts))))
        found._data = rows.call.data
        return found

    def baseline_size(self, rows: CellRows) -> int:
        return baseline_size(rows.hazard)


_TIED = 0.03  # share of the rows at risk, from which ties move coefficients by about a third of a standard error


def _warn_of_ties(risk: AtRisk) -> None:
    """Warn about events that share times with many others, as those of times in years do."""
    weight = risk.weight[risk.event]
    times, of = np.unique(risk.exit[risk.event], return_inverse=True)
    leave, enter = np.argsort(risk.exit), np.argsort(risk.entry)
    left = np.append(0.0, np.cumsum(risk.weight[leave]))[np.searchsorted(risk.exit[leave], times)]
    came = np.append(0.0, np.cumsum(risk.weight[enter]))[np.searchsorted(risk.entry[enter], times)]
    others = np.maximum(np.bincount(of, weight) - 1.0, 0.0) / np.maximum(came - left, 1.0)
    share = float(np.average(0.5 * others[of], weights=weight)) if weight.sum() else 0.0
    if share > _TIED:
        warnings.warn(
            f"Events share times: on average {2.0 * share:.0%} of the rows at risk have another event at the same "
            "time. Coefficients are then nearer zero than with Efron's method, as with Breslow's. If times are "
            "rounded, write interval(lower, upper) with family=tg.PH('weibull') or tg.PH('spline').",
            ApproximationWarning,
            stacklevel=user_level(),
        )


def _fit(fitter: CellFitter) -> tuple[GPResults | RegressionResults, Array]:
    """Cells with as many bands as coefficients need."""
    bands, even = fitter.family.bands, fitter.family.baseline == "gp"
    if bands is not None or not even:
        number = BANDS["piecewise"] if bands is None else bands
        cuts = given_bands(fitter.risk, number) if isinstance(number, Sequence) else fitter.bands(int(number))
        if even:
            return fitter.from_time_alone(cuts), cuts
        _check_events(fitter, cuts)
        return fitter(cuts), cuts
    number = BANDS["gp"]
    coarse = fitter.maximising.from_time_alone(fitter.bands(number // 2))
    while True:
        cuts = fitter.bands(int(number))
        fine = fitter(cuts, start=fitter.asked.start or coarse)
        moved = _largest_move(fitter.written, coarse, fine)
        if moved <= _STAYS:
            return fine, cuts
        if number >= MOST_BANDS:
            warnings.warn(
                f"Coefficients still change by {moved:.2g} standard errors from {number // 2} to {number} bands "
                f"of time. Check the times for large gaps, or give tg.PH(bands=).",
                ConvergenceWarning,
                stacklevel=user_level(),
            )
            return fine, cuts
        coarse, number = fine, 2 * number


def _flipped(given: Mapping[str, Any] | None, columns: Sequence[str]) -> Mapping[str, Any] | None:
    """Values and priors of coefficients, whose sign in the cells is the other one."""
    if not isinstance(given, Mapping):
        return given
    return {name: _minus(value) if name in columns else value for name, value in given.items()}


def _minus(value: Any) -> Any:
    if isinstance(value, Normal):
        return replace(value, mean=-value.mean)
    return -value if isinstance(value, Real) else value


def _largest_move(written: HazardFormula, coarse: Any, fine: Any) -> float:
    """Largest change in errors of a coefficient other than a level of the baseline."""
    names = [name for name in fine.parts.state.linear.columns if written.is_own(name)]
    error = fine.bse[names]
    moved = (fine.params[names] - coarse.params[names]).abs()[error > 0.0] / error[error > 0.0]
    return float(moved.max()) if len(moved) else 0.0


def _check_events(fitter: CellFitter, cuts: Array) -> None:
    """Raise an error for bands in which no one had an event, whose constant hazard would be zero."""
    stratum, seen = fitter.written.stratum, fitter.risk.event
    band = band_of(fitter.risk.exit[seen], cuts)
    levels = pd.Series("", fitter.frame.index) if stratum is None else fitter.frame[stratum.strip("`")]
    for level in pd.unique(levels):
        events = np.bincount(band[(levels == level).to_numpy()[seen]], minlength=len(cuts) - 1)
        if (events == 0).any():
            first = band_labels(cuts)[int(np.flatnonzero(events == 0)[0])]
            where = f"{first} of time" + ("" if stratum is None else f" in the stratum {level}")
            raise DataError(
                f"No event was observed in the band {where}. Give wider bands by tg.PH(bands=), or use baseline='gp'."
            )
