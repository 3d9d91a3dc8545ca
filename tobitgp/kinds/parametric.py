"""Proportional hazards, odds and probits with a parametric baseline, with shared frailties or without."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self

import numpy as np
import pandas as pd

from tobitgp.data.absorbed import Columns, as_dense
from tobitgp.data.arrays import CensoredResponse, Design
from tobitgp.data.design import DesignState
from tobitgp.data.linear_columns import INTERCEPT, linear_terms
from tobitgp.data.outcome import Outcome, outcome
from tobitgp.distributions.baselines import GompertzBaseline, SplineBaseline, WeibullBaseline, make_knots
from tobitgp.distributions.transformed import TransformedTimes
from tobitgp.errors import ApproximationWarning, BoundaryWarning, DataError, SpecError, user_level
from tobitgp.formula.hazard_formula import HazardFormula, read_hazards
from tobitgp.kinds.distributional import LINKS as LINKS
from tobitgp.kinds.distributional import hazard_words
from tobitgp.kinds.fit_arguments import CovarianceOptions, FormulaRows, of_maximum, read_values, warn_of
from tobitgp.kinds.likelihood import LikelihoodParts
from tobitgp.likelihoods import FAMILIES
from tobitgp.regression.clusters import Clusters
from tobitgp.regression.hazard_likelihood import HazardModel, frailties_at, hazard_problem
from tobitgp.regression.hazard_search import maximise_hazards
from tobitgp.regression.maximum import Maximum
from tobitgp.results.hazards.cells import PH, baseline_size
from tobitgp.results.paths import subjects_of
from tobitgp.typing import Array, BoolArray, IntArray

MAX_ITER = 200
_UNIT = 1e-6  # of the mean of sampling weights from 1
_LEVEL = 1e-6  # share of the largest slope of a spline below which it is held at 0
THETA = "theta"
_ROUNDING = 1e-9
_FURTHEST = 4.0  # standard errors of theta above its estimate, beyond which no draw of its logarithm is taken


@dataclass(frozen=True, slots=True)
class ParametricParts(LikelihoodParts):
    """A fit with a parametric baseline; ``maximum.gamma`` are its parameters, those of all strata of each."""

    baseline: SplineBaseline | WeibullBaseline | GompertzBaseline = field(default_factory=WeibullBaseline)
    formula: str = ""  # as written
    frailty: str | None = (
        None  # column of the groups that share one; the logarithm of its variance is the last parameter
    )
    groups: tuple[str | int | float, ...] = ()  # G
    of_subjects: bool = False  # whether rows are parts of the time of subjects
    subject_weight: float = 0.0  # frequency weights of the subjects, summed
    subject: IntArray | None = None  # (n,), subject of each training row
    frailties: Array | None = None  # (G, 2), shape and rate of their gamma distributions given what was seen
    code: IntArray | None = None  # (n,), group of each training row, where groups share a frailty
    clusters: Clusters | None = None  # of training rows, whose scores are added up in a robust covariance
    last: float = np.inf  # the longest follow-up

    place_of_scale = None
    shapes: ClassVar = {"groups 2": "frailties!"}

    def inconsistencies(self) -> Iterator[str]:
        """Inconsistent parts of a fit that was read from a file."""
        written, knots = self.written, np.array(getattr(self.baseline, "knots", (0.0, 1.0)), dtype=np.float64)
        known = self.family.name in LINKS.values() and self.state.scale is None and self.last > 0.0
        if not known or written.linear != self.spec.formula or len(knots) < 2 or not (np.diff(knots) > 0.0).all():
            yield "its parts do not belong together"
        named = self.frailty == (written.shared and written.shared.strip("`"))
        if not named or (self.frailty is None) != (self.frailties is None):
            yield "its frailties are not those of its formula"
        if self.frailties is not None and not (self.frailties > 0.0).all():
            yield "its frailties are not positive"

    @property
    def link(self) -> str:
        """``hazard``, ``odds`` or ``probit``."""
        return next(link for link, name in LINKS.items() if name == self.family.name)

    @property
    def strata(self) -> frozenset[str]:
        return self.written.strata

    @property
    def scale_of_effects(self) -> str:
        return "probits" if self.link == "probit" else f"log {self.link}"

    @property
    def family_words(self) -> str:
        return hazard_words(self.family.name, self.baseline)

    @property
    def written(self) -> HazardFormula:
        """The formula that was read."""
        return read_hazards(self.formula)

    @property
    def written_formula(self) -> str:
        return self.formula

    @property
    def scale_names(self) -> list[str]:
        own = baseline_names(self.state, self.baseline.names, self.written.stratum)
        return own if self.frailty is None else [*own, THETA]

    @property
    def positive(self) -> BoolArray:
        names = self.scale_names
        return np.array([name == THETA or self.baseline.positive for name in names])

    @property
    def n_baseline(self) -> int:
        """Number of parameters of the baseline, of all strata."""
        return len(self.maximum.gamma) - (self.frailty is not None)

    @property
    def level_columns(self) -> IntArray:
        """Places of the linear columns of the intercept, or of the strata."""
        return level_columns(self.state, self.written.stratum)

    def designs(self, design: Design) -> Sequence[Array]:
        H = as_dense(design.H)
        levels = H[:, self.level_columns]
        if not levels.any(axis=1).all():
            raise SpecError("exclude= cannot leave out the strata: each of them has its own baseline.")
        shared = [np.ones((len(H), 1))] * (self.frailty is not None)
        return [H, *[levels] * self.baseline.size, *shared]

    def why_not_nested(self, smaller: Any) -> str:
        why = LikelihoodParts.why_not_nested(self, smaller)
        if not why and (self.frailty, self.groups) != (smaller.frailty, smaller.groups):
            why = "only one of them has this frailty, and none is at the end of what its variance may be"
        if not why and not self.baseline.contains(smaller.baseline):
            why = "its baseline is not nested in this one's"
        return why

    @property
    def other_words(self) -> tuple[str, ...]:  # type: ignore[override]
        return ("baseline of strata",) * (self.baseline.size + (self.frailty is not None))

    def columns_of_rows(self, design: Design) -> list[tuple[Columns, Array]]:
        none = np.zeros(len(design.H))
        return [(design.H, design.offset), *((levels, none) for levels in self.designs(design)[1:])]

    def predictors(self, design: Design) -> tuple[Array, ...]:
        H, *rest = self.designs(design)
        ends = np.cumsum([each.shape[1] for each in rest])[:-1]
        own = (each @ block for each, block in zip(rest, np.split(self.maximum.gamma, ends), strict=True))
        return (H @ self.maximum.coefficients + design.offset, *own)

    def units(self, x: tuple[Array, ...]) -> tuple[Array, ...]:
        """Sizes of steps of the parameters: those that change s at the last exit by about 1."""
        if isinstance(self.baseline, SplineBaseline):
            ends = np.array([self.baseline.knots[0], self.baseline.knots[-1]])
            sizes = [max(float(np.ptp(value)), 1e-8) for value in self.baseline.basis(ends)[0]]
        else:
            sizes = [1.0 if self.baseline.positive else self.last]
        one = np.ones_like(x[0])
        return (one, *(one / size for size in sizes), one)[: len(x)]

    def at(self, x: tuple[Array, ...]) -> TransformedTimes:
        m = self.baseline.size
        return TransformedTimes(self.family.distribution, self.baseline, x[0], x[1 : m + 1], x[m + 1 :])

    @property
    def draw_by_draw(self) -> bool:
        return False

    def reweighted(self, weight: Array) -> Self:
        found, at = LikelihoodParts.reweighted(self, weight), weight > 0.0
        code = None if self.code is None else self.code[at]
        subject = None if self.subject is None else self.subject[at]
        return replace(
            found, code=code, subject=subject, clusters=None if self.clusters is None else self.clusters.among(at)
        )

    def without_rows(self) -> Self:
        return replace(LikelihoodParts.without_rows(self), code=None, clusters=None, subject=None)

    def again(self, fixed: Mapping[str, float], *, scores: bool = False) -> Self:
        training, positive = self.rows, [*np.zeros(len(self.columns), dtype=np.bool_), *self.positive]
        seen = outcome(training.response, log_time=True, labels=training.labels)
        known = read_values("fixed", self.given | dict(fixed), self.names, positive)
        code = None if self.code is None else np.unique(self.code, return_inverse=True)[1]
        noise, H = self.family.distribution, as_dense(training.design.H)
        model = HazardModel(seen, H, training.design.offset, self.level_columns, noise, self.baseline, known, code)
        maximum = maximise_hazards(model, scores=scores, max_iter=MAX_ITER)
        made = of_maximum(FormulaRows.of(self), maximum, seen)
        shared = None if code is None else frailties_at(hazard_problem(model), maximum.parameters)
        return replace(self, **made, frailties=shared)

    def possible(self, change: Array) -> BoolArray:
        """Which draws (S,) have an increasing cumulative baseline, if the parameters change by ``change`` (k, S).

        The logarithm of a variance near 0 is hardly determined; its draws are limited to the range of the variance.
        """
        likely = np.ones(change.shape[1], dtype=np.bool_)
        if self.frailty is not None:
            likely = change[-1] <= np.log1p(_FURTHEST * np.sqrt(np.asarray(self.covariance)[-1, -1]))
        if not isinstance(self.baseline, SplineBaseline):
            return likely
        gamma = (self.maximum.gamma[:, None] + change[-len(self.maximum.gamma) :])[: self.n_baseline]
        _, slope = self.baseline.lowest(list(gamma.reshape(self.baseline.size, -1, change.shape[1])))
        return np.asarray(likely & (slope >= -_ROUNDING * slope.max(axis=0)).all(axis=(0, 1)))


def level_columns(state: DesignState, stratum: str | None) -> IntArray:
    """Places of the linear columns of the intercept, or of the strata."""
    name = INTERCEPT if stratum is None else f"C({stratum})"
    return np.array(next(columns for term, columns in linear_terms(state.linear) if term == name), dtype=np.intp)


def baseline_names(state: DesignState, names: tuple[str, ...], stratum: str | None) -> list[str]:
    """Parameters of a baseline, of each stratum."""
    if stratum is None:
        return list(names)
    columns = [state.linear.columns[i] for i in level_columns(state, stratum)]
    return [name + column[len(f"C({stratum})") :] for name in names for column in columns]


def fit_parametric(
    rows: FormulaRows,
    family: PH,
    written: HazardFormula,
    *,
    fixed: Mapping[str, float] | None = None,
    start: Mapping[str, float] | None = None,
    errors: CovarianceOptions,
    max_iter: int = MAX_ITER,
    frailty: tuple[str, Any] | None = None,
    subject: Any = None,
) -> ParametricParts:
    """Fit a parametric baseline with linear terms by maximum likelihood.

    Shapes: ``frailty`` is a column and the group of each row, (n,), ``subject`` whose row it is, (n,).
    """
    training = rows.training
    _check_events(training.response)
    if frailty is not None and errors.sampling:
        _warn_unit(training.response.weight)
    seen = outcome(training.response, log_time=True, labels=training.labels)
    baseline, design = baseline_of(family, seen, sampling=errors.sampling), training.design
    noise, H = FAMILIES[LINKS[family.link]], as_dense(design.H)
    own = baseline_names(training.state, baseline.names, written.stratum)
    code, shared = (None, np.zeros(0)) if frailty is None else pd.factorize(frailty[1], sort=True)
    names = [*design.columns, *own, *[THETA] * (frailty is not None)]
    _check_names(design.columns, names[len(design.columns) :])
    positive = [name == THETA or (baseline.positive and name in own) for name in names]
    places = level_columns(training.state, written.stratum)
    known, begin = (read_values(*each, names, positive) for each in (("fixed", fixed), ("start", start)))
    model = HazardModel(seen, H, design.offset, places, noise.distribution, baseline, known, code)
    own_clusters = subject is not None and errors.groups is None
    maximum = maximise_hazards(
        model,
        scores=errors.robust,
        max_iter=max_iter,
        start={i: float(value) for i, value in enumerate(begin) if not np.isnan(value)},
    )
    warn_of(maximum)
    if subject is not None and errors.cov_type in ("HC0", "HC1"):
        maximum, seen = _by_subjects(maximum, seen, pd.factorize(subject)[0])
    if isinstance(baseline, SplineBaseline):
        _warn_level(baseline, maximum.gamma[: len(own)].reshape(-1, len(places)))
    return ParametricParts(
        **of_maximum(rows._replace(family=noise), maximum, seen, errors),
        last=_last(training.response),
        baseline=baseline,
        formula=written.formula,
        **subjects_of(subject, training.response.weight),
        frailty=None if frailty is None else frailty[0],
        groups=tuple(x if type(x) in (str, int, float) else str(x) for x in np.asarray(shared).tolist()),
        frailties=None if frailty is None else frailties_at(hazard_problem(model), maximum.parameters),
        code=code,
        clusters=Clusters.of(pd.factorize(subject)[0]) if own_clusters else errors.groups,
    )


def _by_subjects(maximum: Maximum, seen: Outcome, code: IntArray) -> tuple[Maximum, Outcome]:
    """Scores of subjects, who are the independent observations, at the first row of each; the others count nothing."""
    first = np.unique(code, return_index=True)[1]
    weight = np.zeros(len(code))
    weight[first] = seen.weight[first]
    sums = np.zeros((len(first), maximum.scores.shape[1]))
    np.add.at(sums, code, seen.weight[:, None] * maximum.scores)
    scores = np.zeros_like(maximum.scores)
    scores[first] = sums / np.where(weight[first] > 0.0, weight[first], 1.0)[:, None]
    return replace(maximum, scores=scores), replace(seen, weight=weight)


def _warn_unit(weight: Array) -> None:
    """Warn that the unit of sampling weights matters with frailties."""
    mean = float(weight[weight > 0.0].mean())
    if not np.isclose(mean, 1.0, rtol=_UNIT):
        warnings.warn(
            f"weights= have a mean of {mean:.4g}. With frailties the estimates depend on the unit of the "
            f"weights, because the likelihood of a group is not a sum over its rows. Divide the weights by their mean.",
            ApproximationWarning,
            stacklevel=user_level(),
        )


def _check_events(seen: CensoredResponse) -> None:
    if not (~np.isposinf(seen.upper) & (seen.weight > 0.0)).any():
        raise DataError("No event was observed, and hazards cannot be estimated without events.")


def _check_names(columns: Sequence[str], own: Sequence[str]) -> None:
    twice = [name for name in columns if name in own]
    if twice:
        raise DataError(f"The column {twice[0]!r} has the name of a parameter of the baseline. Rename it.")


def _last(seen: CensoredResponse) -> float:
    """The longest follow-up."""
    return float(np.where(np.isfinite(seen.upper), seen.upper, seen.lower).max())


def baseline_of(
    family: PH, seen: Outcome, *, sampling: bool = False
) -> SplineBaseline | WeibullBaseline | GompertzBaseline:
    """The baseline, with knots at the log times of events, those of intervals in their middle.

    Weights are frequencies, or ``sampling`` weights, which are scaled to mean 1 over the events.
    """
    if family.baseline != "spline":
        return WeibullBaseline() if family.baseline == "weibull" else GompertzBaseline()
    df = baseline_size(family)
    event = np.isfinite(seen.upper) & (seen.weight > 0.0)
    with np.errstate(over="ignore"):
        middle = np.log(0.5 * (np.exp(seen.lower) + np.exp(seen.upper)))[event]
    times = np.where(seen.exact[event], seen.lower[event], middle)
    weight = seen.weight[event]
    knots = make_knots(times, weight / weight.mean() if sampling else weight, df)
    number, apart = len(np.unique(times)), np.diff(knots) > 1e-9 * max(1.0, float(np.abs(knots).max()))
    if number <= df or not apart.all():
        why = "and some of these are equal" if number > df else "which require as many times"
        raise DataError(
            f"PH('spline', df={df}) has {df + 1} knots at quantiles of the event times, {why}. There are "
            f"{number} distinct event times. Give a smaller df, or baseline='weibull'."
        )
    return SplineBaseline(tuple(knots.tolist()))


def _warn_level(baseline: SplineBaseline, c: Array) -> None:
    """Warn of times at which a spline is held constant, because it would decrease without the bound."""
    v, slope = baseline.lowest(list(c))
    held = np.exp(v[slope <= _LEVEL * slope.max(axis=0)])
    if len(held):
        between = (
            f"at {held[0]:.4g}"
            if np.ptp(held) < 1e-3 * held.max()
            else f"between {held.min():.4g} and {held.max():.4g}"
        )
        warnings.warn(
            f"The hazard is held at 0 at times {between}: without this bound the spline would decrease and "
            f"survival would increase there. Standard errors treat these times as known. Give a smaller df.",
            BoundaryWarning,
            stacklevel=user_level(),
        )
