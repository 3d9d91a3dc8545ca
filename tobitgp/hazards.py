"""Fit proportional hazards by the cells of rows and bands of time."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.boxcox import BoxCoxModel
from tobitgp.data.row_warnings import warn_fractions
from tobitgp.data.training_summary import remember
from tobitgp.errors import ConvergenceWarning, DataError, SpecError, user_level
from tobitgp.formula.hazard_formula import CELL, WEIGHT, HazardFormula, read_hazards
from tobitgp.inference import EP
from tobitgp.inference.assembly import GPModel
from tobitgp.inference.fitted import Settings
from tobitgp.inference.hyperparameters import SIGMA, Given
from tobitgp.kinds.process import build_model
from tobitgp.likelihoods import FAMILIES
from tobitgp.likelihoods.families import is_boxcox
from tobitgp.model import Model
from tobitgp.parametric import ParametricModel, check_reading
from tobitgp.priors.hyperpriors import LogNormal, Normal, Usual
from tobitgp.results.hazards.cells import (
    BANDS,
    PH,
    AtRisk,
    at_risk,
    band_labels,
    band_of,
    check_subjects,
    choose_bands,
    first_entries,
    given_bands,
    is_parametric,
    make_cells,
)
from tobitgp.results.hazards.hazard_parts import HazardParts
from tobitgp.results.hazards.hazard_results import HazardResults
from tobitgp.results.hazards.skewed import skewed_coefficients
from tobitgp.results.likelihood.regression_results import RegressionResults
from tobitgp.results.paths import holds_parts, read_subjects
from tobitgp.results.process.process_results import GPResults
from tobitgp.results.views import named_columns
from tobitgp.start_stop import StartStopModel
from tobitgp.typing import Array

MOST_BANDS = 320
_LOG_EXPONENTIAL = float(np.pi / np.sqrt(6.0))  # standard deviation
_STAYS = 0.2  # of an error, by which coefficients may move when bands are halved: a quarter of it when they are doubled


def is_hazards(family: object) -> bool:
    """Whether ``family=`` of :func:`tobitgp.fit` means proportional hazards."""
    return isinstance(family, PH) or family is PH or (isinstance(family, str) and family == PH.name)


@dataclass(frozen=True)
class Fitter:
    """Fits the cells of rows at risk."""

    written: HazardFormula
    family: PH
    frame: pd.DataFrame  # covariates of the rows
    has_processes: bool  # of covariates, random effects among them
    risk: AtRisk
    functions: Mapping[str, Any] | None
    fitting: Mapping[str, Any]

    def __call__(self, cuts: Array, **how: Any) -> GPResults | RegressionResults:
        """Fit with these bands."""
        cells = make_cells(self.frame, self.risk, cuts, self.written.stratum)
        formula = self.written.cells(self.family.baseline, self.family.kernel)
        model = Model(formula, cells, family="exponential", weights=WEIGHT, functions=self.functions)
        options = {**self.fitting, **how}
        options |= {name: _flipped(options.get(name), model.exog_names) for name in ("fixed", "start", "priors")}
        with warnings.catch_warnings():
            # Of the rows it was said already, and exposures of cells are no response of the user's.
            warnings.filterwarnings("ignore", ".*weights are not whole numbers")
            warnings.filterwarnings("ignore", ".*(makes up nearly all of the variance|response is constant)")
            if model.spec.processes and (options["priors"] is None or options["priors"]):
                options["priors"] = {**self.priors(model), **(options["priors"] or {})}
            found = model.fit(**options)
        assert isinstance(found, GPResults | RegressionResults)
        return found

    def from_time_alone(self, cuts: Array, **how: Any) -> GPResults | RegressionResults:
        """Fit from where one without covariates ends, a cell a band, whose baseline linear terms hardly move."""
        named = any(self.fitting.get(name) for name in ("start", "fixed", "priors", "n_starts"))
        if named or self.has_processes or self.written.varying:
            return self(cuts, **how)
        stratum = [] if self.written.stratum is None else [self.written.stratum.strip("`")]
        alone = replace(self, written=replace(self.written, terms=()), frame=self.frame[stratum])
        return self(cuts, **how, start=alone(cuts, hyper="maximize"))

    def priors(self, model: Model) -> dict[str, LogNormal]:
        """The usual priors in units that bands do not change: those of the logarithm of an exponential time."""
        given = Given.read("auto", None, None, None, None)
        _, gp, _ = build_model(model.spec, model.training, FAMILIES["exponential"], given, EP(), Settings())
        found, units = gp.parameters, gp.problem.units
        unit = {role: _LOG_EXPONENTIAL / units.scale for role in ("sd", "group")}
        names = [term.name for term in gp.terms]
        unit |= {f"lengthscale({name})": self._of_time(name, gp) for name in self.written.of_time if name in names}
        out: dict[str, LogNormal] = {}
        for i, (name, role) in enumerate(zip(found.names, found.roles, strict=True)):
            factor = unit.get(name, unit.get(role))
            if factor is not None:
                out[name] = Usual(float(np.exp(found.prior_mean[i]) * found.units[i] * factor), found.prior_sd[i])
        return out

    def _of_time(self, name: str, gp: GPModel) -> float:
        """Standard deviation of the logarithms of event times, in units of a process of time."""
        times, weight = np.log(self.risk.exit[self.risk.event]), self.risk.weight[self.risk.event]
        spread = np.sqrt(np.average(np.square(times - np.average(times, weights=weight)), weights=weight))
        term = [term.name for term in gp.terms].index(name)
        return float(spread or 1.0) / float(gp.problem.units.x_scale[term][-1])

    def bands(self, number: int) -> Array:
        """A number of bands."""
        return choose_bands(self.risk, number, even=self.family.baseline == "gp")


class HazardModel:
    """Rows at risk, read once; what :class:`~tobitgp.Model` is to other families."""

    counting = False

    def __init__(self, formula: str, data: Any, *, family: str | PH = "ph", id: str | None = None, **reading: Any):
        self.family = family if isinstance(family, PH) else PH()
        self.functions = reading.get("functions")
        check_reading(data, reading)
        data, self.written = pd.DataFrame(data), read_hazards(formula)
        model = Model(self.written.rows, data, family="exponential", **reading)
        self.spec, self.training, self.columns = model.spec, model.training, list(data.columns)
        assert model.data.frame is not None
        self.frame, self.risk = model.data.frame, at_risk(model.training.response, model.training.labels)
        for z in self.written.varying:
            if not pd.api.types.is_numeric_dtype(self.frame[z.strip("`")]):
                raise DataError(f"tv({z}) takes numbers, and {z} holds levels; strata({z}) gives each a baseline.")
        taken = [name for name in CELL if name in self.frame.columns]
        if taken:
            raise DataError(f"Cells have columns named {', '.join(CELL)}; rename the column {taken[0]!r}.")
        self.of_subjects = False
        if id is not None:
            subject = read_subjects(id, data)[self.training.kept]
            check_subjects(subject, self.risk, self.training.labels)
            self.of_subjects = holds_parts(subject)

    def fit(self, **fitting: Any) -> HazardResults:
        """Fit, with what ``Model.fit`` is asked for."""
        if fitting.get("cov_type", "nonrobust") != "nonrobust":
            raise SpecError("cov_type= does not go with family='ph'.")
        smooth = self.spec.processes or self.written.varying or self.family.baseline == "gp"
        if fitting.get("method") == "mle" and smooth:
            raise SpecError(
                "method='mle' goes with tg.PH('piecewise') and linear terms; processes and tv() have priors: leave "
                "method= out."
            )
        if isinstance(start := fitting.get("start"), HazardResults):
            fitting["start"] = start.cells
        for name in ("fixed", "start", "priors"):
            if isinstance(fitting.get(name), Mapping) and SIGMA.name in fitting[name]:
                raise SpecError(f"{name}= names sigma, which proportional hazards have not; leave it out.")
        warn_fractions(self.training.response.weight, "family=tg.PH('spline') with cov_type='HC0' or 'cluster'")
        processes = bool(self.spec.processes)
        fitter = Fitter(self.written, self.family, self.frame, processes, self.risk, self.functions, fitting)
        cells, cuts = _fit(fitter)
        facts = remember(self.training, named_columns([self.spec], self.columns), self.frame)
        begins = first_entries(self.frame, self.risk, self.written.stratum)
        rows = (self.spec, self.training.state, facts, self.written, self.family, cuts, begins, cells.parts)
        parts = HazardParts(*rows, self.training, self.frame, self.of_subjects)
        return HazardResults(replace(parts, few=skewed_coefficients(HazardResults(parts))))


def open_model(formula: str, data: Any, *, id: str | None = None, **reading: Any) -> Model | HazardModel:
    """A formula that has met its data, of any family."""
    family = reading.get("family")
    if isinstance(family, PH) and is_parametric(family):
        return ParametricModel(formula, data, id=id, **reading)
    if is_boxcox(family):
        return BoxCoxModel(formula, data, id=id, **reading)
    if is_hazards(family):
        return HazardModel(formula, data, id=id, **reading)
    return Model(formula, data, **reading) if id is None else StartStopModel(formula, data, id=id, **reading)


def _fit(fitter: Fitter) -> tuple[GPResults | RegressionResults, Array]:
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
    coarse = fitter.from_time_alone(fitter.bands(number // 2), hyper="maximize")
    while True:
        cuts = fitter.bands(int(number))
        fine = fitter(cuts, start=fitter.fitting.get("start") or coarse)
        moved = _largest_move(fitter.written, coarse, fine)
        if moved <= _STAYS:
            return fine, cuts
        if number >= MOST_BANDS:
            warnings.warn(
                f"Coefficients still move by {moved:.2g} of their errors from {number // 2} to {number} bands of time; "
                "look at the times for some that are far apart, or give tg.PH(bands=).",
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
    """Largest change in errors of a coefficient that is no level of the baseline."""
    names = [name for name in fine.parts.state.linear.columns if written.is_own(name)]
    error = fine.bse[names]
    moved = (fine.params[names] - coarse.params[names]).abs()[error > 0.0] / error[error > 0.0]
    return float(moved.max()) if len(moved) else 0.0


def _check_events(fitter: Fitter, cuts: Array) -> None:
    """Refuse bands in which nobody had an event, whose constant hazard would be zero."""
    stratum, seen = fitter.written.stratum, fitter.risk.event
    band = band_of(fitter.risk.exit[seen], cuts)
    levels = pd.Series("", fitter.frame.index) if stratum is None else fitter.frame[stratum.strip("`")]
    for level in pd.unique(levels):
        events = np.bincount(band[(levels == level).to_numpy()[seen]], minlength=len(cuts) - 1)
        if (events == 0).any():
            first = band_labels(cuts)[int(np.flatnonzero(events == 0)[0])]
            where = f"{first} of time" + ("" if stratum is None else f" in the stratum {level}")
            raise DataError(f"No event was seen in the band {where}; give tg.PH(bands=) wider ones, or baseline='gp'.")
