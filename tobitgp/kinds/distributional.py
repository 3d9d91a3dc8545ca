"""Fits by maximum likelihood in which every parameter of the rows may have a formula: shares, scales and shapes."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from scipy.special import expit

from tobitgp.data.absorbed import Columns, as_dense
from tobitgp.data.arrays import Design
from tobitgp.data.design import DesignState
from tobitgp.data.outcome import Outcome, outcome
from tobitgp.data.prepare import TrainingData
from tobitgp.distributions.baselines import GompertzBaseline, SplineBaseline, WeibullBaseline
from tobitgp.distributions.mixed_rows import LOCATION, MixedModel
from tobitgp.distributions.response import RowDistributions
from tobitgp.distributions.row_models import BaselineModel, CureModel, NoiseModel, RowModel
from tobitgp.errors import DataError, SpecError
from tobitgp.formula.hazard_formula import read_hazards
from tobitgp.formula.mixture_formulas import read_mixed
from tobitgp.formula.spec import ModelSpec
from tobitgp.kinds.cure import check_censored, warn_follow_up
from tobitgp.kinds.fit_arguments import CovarianceOptions, FormulaRows, of_maximum, read_values, warn_of
from tobitgp.kinds.likelihood import LikelihoodParts
from tobitgp.likelihoods import Family
from tobitgp.numerics.roots import profile_end
from tobitgp.regression.mixed_starts import in_order
from tobitgp.regression.row_search import RowProblem, maximise_rows, row_problem
from tobitgp.regression.row_starts import row_starts
from tobitgp.typing import Array, BoolArray

MAX_ITER, _FAR_LOGIT = 200, 30.0
SIGMA = "sigma"
Baselines = SplineBaseline | WeibullBaseline | GompertzBaseline


# Families of log times whose noise is that of transformed times, by link.
LINKS = {"hazard": "weibull", "odds": "loglogistic", "probit": "lognormal"}


@dataclass(frozen=True, slots=True)
class DistributionalParts(LikelihoodParts):
    """A fit whose rows have their own parameters; ``maximum.gamma`` are the coefficients of all but the location."""

    baseline: Baselines | None = None  # of families of hazards
    formula: str = ""  # as written, of hazards and of mixtures of regressions
    last: float = np.inf  # the longest follow-up

    ends: ClassVar[Array | None] = None  # of searches from several starts

    @property
    def cured(self) -> bool:
        """Whether a share of the rows never has the event: a cure model over any baseline or family."""
        return "cured" in self.state.formula_columns

    @property
    def mixed(self) -> bool:
        """Whether the rows are of several regressions."""
        return self.components > 1

    @property
    def components(self) -> int:
        return self.model.components

    def inconsistencies(self) -> Iterator[str]:
        """Inconsistent parts of a fit that was read from a file."""
        read = [each.spec for each in self.state.formulas]
        alone = self.state.scale is None and read == list(self.spec.formulas)
        if not alone or not _is_read_as(self.formula, self.spec, hazards=self.baseline is not None, mixed=self.mixed):
            yield "its parts do not belong together"
        check_formulas(tuple(self.state.formula_columns), self.model, self.family.name)

    @property
    def written_formula(self) -> str:
        return self.formula or self.spec.formula

    @property
    def model(self) -> RowModel:
        """The distribution that the parameters of a row make."""
        return row_model(self.family, self.baseline, cured=self.cured, formulas=tuple(self.state.formula_columns))

    @property
    def link(self) -> str | None:
        if self.baseline is None:
            return None
        return next(link for link, name in LINKS.items() if name == self.family.name)

    @property
    def family_words(self) -> str:
        return self.family.name if self.baseline is None else hazard_words(self.family.name, self.baseline)

    @property
    def formula_texts(self) -> dict[str, str]:
        """Formulas other than that of the location."""
        named = {"cured": "logit(cured)"}
        return {f"{named.get(each.parameter, each.label)}:": each.formula for each in self.spec.formulas}

    @property
    def latency_words(self) -> str:
        """Quantities that the coefficients describe."""
        return {None: "log times", "hazard": "log hazards", "odds": "log odds", "probit": "probits"}[self.link]

    @property
    def place_of_scale(self) -> int | None:  # type: ignore[override]
        """Position of log sigma among the parameters of rows, or of the shape of Weibull times, 1 / sigma."""
        names = [each.name for each in self.model.parameters]
        name = "shape" if self._reciprocal else SIGMA
        return 1 + names.index(name) if name in names else None

    @property
    def sign_of_scale(self) -> float:  # type: ignore[override]
        return -1.0 if self._reciprocal else 1.0

    @property
    def _reciprocal(self) -> bool:
        model = self.model.uncured if isinstance(self.model, CureModel) else self.model
        return isinstance(model, NoiseModel) and model.reciprocal

    @property
    def scale_names(self) -> list[str]:
        return _names(self.state, self.model)

    @property
    def slopes(self) -> list[str]:
        of_components = (own for name, own in self.state.formula_columns.items() if name.startswith(LOCATION))
        others = (name for own in of_components for name in own if not name.endswith("[Intercept]"))
        return [*LikelihoodParts.slopes.fget(self), *others]  # type: ignore[attr-defined]

    @property
    def positive(self) -> BoolArray:
        return _positive(self.state, self.model)

    def designs(self, design: Design) -> Sequence[Array]:
        return [W for W, _ in _designs(self.state, self.model, design)]

    def predictors(self, design: Design) -> tuple[Array, ...]:
        each = _designs(self.state, self.model, design)
        ends = np.cumsum([W.shape[1] for W, _ in each])[:-1]
        split = np.split(self.maximum.parameters, ends)
        return tuple(W @ own + offset for (W, offset), own in zip(each, split, strict=True))

    def holds_distribution(self, other: Any) -> bool:
        one, two = (self.model, other.model) if isinstance(other, DistributionalParts) else (self.model, None)
        return one == two

    @property
    def other_words(self) -> tuple[str, ...]:  # type: ignore[override]
        return tuple(f"formula of {each.name}" for each in self.model.parameters)

    def columns_of_rows(self, design: Design) -> list[tuple[Columns, Array]]:
        return [*_designs(self.state, self.model, design)]

    def units(self, x: tuple[Array, ...]) -> tuple[Array, ...]:
        return self.model.units(x)

    def at(self, x: tuple[Array, ...]) -> Any:
        return self.model.distributions(x)

    @property
    def one_shape(self) -> bool:
        return False

    @property
    def shape_name(self) -> str:
        return ""

    def possible(self, change: Array) -> BoolArray:
        if not isinstance(self.baseline, SplineBaseline):
            return np.ones(change.shape[1], dtype=np.bool_)
        m = self.baseline.size
        gamma = self.maximum.gamma[-m:, None] + change[-m:]
        slope = self.baseline.lowest(list(gamma))[1]
        return np.asarray((slope >= -1e-9 * slope.max(axis=0)).all(axis=0))

    def again(self, fixed: Mapping[str, float], *, scores: bool = False) -> Self:
        training, given = self.rows, self.given | dict(fixed)
        seen = outcome(training.response, log_time=self.family.log_time, labels=training.labels)
        problem = _problem(self.state, self.model, seen, training.design, given)
        known = np.where(problem.free, np.nan, problem.given)
        start = np.where(np.isnan(known), self.maximum.parameters, known)
        maximum = maximise_rows(problem, [problem.nearest(start)], scores=scores, max_iter=MAX_ITER)
        if not maximum.converged and not self.mixed:  # whose other maxima may be of other components
            starts = row_starts(problem)
            maximum = maximise_rows(problem, [problem.nearest(start), *starts], scores=scores, max_iter=MAX_ITER)
        return replace(self, **of_maximum(FormulaRows.of(self), maximum, seen))

    def why_not_nested(self, smaller: LikelihoodParts) -> str:
        apart = isinstance(smaller, DistributionalParts) and self.cured != smaller.cured
        return self.apart if apart else LikelihoodParts.why_not_nested(self, smaller)

    # -- where a share of the rows never has the event ----------------------------------------------------------------

    @property
    def scale_columns(self) -> tuple[str, ...]:
        return self.state.formula_columns.get("cured", self.state.scale_columns)

    @property
    def one_fraction(self) -> bool:
        """Whether the cured fraction is the same in all rows."""
        formula = next(each for each in self.spec.formulas if each.parameter == "cured")
        return self.scale_columns == ("cured[Intercept]",) and not formula.offsets

    def uncured_at(self, x: tuple[Array, ...]) -> RowDistributions:
        """Distributions of the times of those who are not cured."""
        model = self.model
        assert isinstance(model, CureModel)
        return model.of_uncured(x)

    def profile_of_cured(self, error: float, drop: float) -> tuple[float, float]:
        """Cured fractions, one of all rows, whose profile log likelihood is ``drop`` below the maximum."""
        best = float(self.maximum.gamma[0])

        def fall(at: float) -> float:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                return self.llf - self.again({"cured[Intercept]": at}).llf if at != best else 0.0

        ends = [profile_end(fall, drop, best, side, error, far=_FAR_LOGIT) for side in (-1.0, 1.0)]
        low, high = (side if end is None else float(expit(end)) for side, end in zip((0.0, 1.0), ends, strict=True))
        return low, high


def _is_read_as(formula: str, spec: ModelSpec, *, hazards: bool, mixed: bool) -> bool:
    """Whether a formula of hazards, or of a mixture of regressions, gives the formula of the rows; others have none."""
    if not (hazards or mixed):
        return formula == ""
    written = read_hazards(formula) if hazards else read_mixed(formula)
    return written is not None and written.linear == spec.formula


def hazard_words(family: str, baseline: Baselines) -> str:
    """A baseline and its link in words."""
    link = {"weibull": "ph", "loglogistic": "proportional odds", "lognormal": "probit"}[family]
    return f"{link}, {baseline.words} baseline"


def _names(state: DesignState, model: RowModel) -> list[str]:
    """Coefficients of the parameters other than the location."""
    own = state.formula_columns
    return [name for each in model.parameters for name in own.get(each.name, (each.name,))]


def _positive(state: DesignState, model: RowModel) -> BoolArray:
    """Which of them are reported as exponentials: values of parameters without a formula."""
    logs = {each.name for each in model.parameters if each.link == "log"} - set(state.formula_columns)
    return np.array([name in logs for name in _names(state, model)], dtype=np.bool_)


def _designs(state: DesignState, model: RowModel, design: Design) -> list[tuple[Array, Array]]:
    """Columns and offsets of every parameter of rows."""
    n = len(design.H)
    none = np.ones((n, 1)), np.zeros(n)
    own = {name: (each.W, each.offset) for name, each in zip(state.formula_columns, design.formulas, strict=True)}
    return [(as_dense(design.H), design.offset), *(own.get(each.name, none) for each in model.parameters)]


def _problem(
    state: DesignState, model: RowModel, seen: Outcome, design: Design, fixed: Mapping[str, float] | None
) -> RowProblem:
    """The likelihood of rows, of which some parameters are known."""
    columns, names = design.columns, _names(state, model)
    twice = set(columns) & set(names)
    if twice:
        raise DataError(f"The column {min(twice)!r} has the name of a parameter of the rows. Rename it.")
    positive = [False] * len(columns) + _positive(state, model).tolist()
    known = read_values("fixed", fixed, [*columns, *names], positive)
    designs, offsets = zip(*_designs(state, model, design), strict=True)
    ends = np.cumsum([each.shape[1] for each in designs])[:-1]
    return row_problem(model, seen, designs, offsets, np.split(known, ends))


def row_model(
    family: Family, baseline: Baselines | None, *, cured: bool = False, formulas: Sequence[str] = ()
) -> RowModel:
    """The distribution that the parameters of a row make: of a family, or of a baseline; a share of them cured."""
    if baseline is not None:
        inner: RowModel = BaselineModel(family.distribution, baseline)
    elif family.rows is not None:
        inner = family.rows
    else:
        noise, own = family.distribution, family.estimate_shape
        reciprocal = "shape" in formulas and noise.exponential_hazard
        inner = NoiseModel(noise, family.log_time, family.known_sigma, own, reciprocal)
    later = sum(name.startswith(LOCATION) for name in formulas)
    if later:
        inner = MixedModel(inner, 1 + later)
    return CureModel(inner) if cured else inner


def check_formulas(names: Sequence[str], model: RowModel, family: str) -> None:
    """Raise an error for formulas of parameters that a family does not have, and of coefficients of splines."""
    own = [each.name for each in model.parameters]
    gammas = [name for name in own if name.startswith("gamma")]
    allowed = [name for name in own if name not in gammas]
    for name in names:
        if name in gammas:
            raise SpecError(
                f"formulas={{{name!r}: ...}}: the coefficients of a spline must together give an increasing "
                f"curve, which a formula for one of them cannot. Use strata(g), or PH('weibull') with a formula "
                f"of its shape."
            )
        if name not in allowed:
            listed = ", ".join(map(repr, allowed)) or "none"
            raise SpecError(f"formulas={{{name!r}: ...}}: family={family!r} has no such parameter. It has {listed}.")


def fit_rows(
    rows: FormulaRows,
    *,
    baseline_of: Callable[..., Baselines] | None = None,
    cured: bool = False,
    formula: str = "",
    fixed: Mapping[str, float] | None = None,
    errors: CovarianceOptions,
    max_iter: int = MAX_ITER,
) -> DistributionalParts:
    """Fit every parameter of the rows by maximum likelihood."""
    training, family = rows.training, rows.family
    if cured:
        check_censored(training.response)
    seen = outcome(training.response, log_time=family.log_time, labels=training.labels)
    state = training.state
    baseline = None if baseline_of is None else baseline_of(seen, sampling=errors.sampling)
    model = row_model(family, baseline, cured=cured, formulas=tuple(state.formula_columns))
    problem = _problem(state, model, seen, training.design, fixed)
    starts = row_starts(problem)
    how: dict[str, Any] = {"scores": errors.robust, "max_iter": max_iter}
    maximum = maximise_rows(problem, starts, **how)
    ordered = in_order(problem, maximum.parameters) if model.components > 1 else None
    if ordered is not None:
        again = maximise_rows(problem, [problem.nearest(ordered)], **how)
        maximum = replace(again, iterations=maximum.iterations + again.iterations)
    warn_of(maximum)
    if cured:
        warn_follow_up(training.response)
    made = of_maximum(rows, maximum, seen, errors)
    return DistributionalParts(**made, baseline=baseline, formula=formula, last=_last(training))


def _last(training: TrainingData) -> float:
    """The longest follow-up."""
    seen = training.response
    return float(np.where(np.isfinite(seen.upper), seen.upper, seen.lower).max())
