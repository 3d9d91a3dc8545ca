"""From the rows of a formula to a fit with a parametric baseline."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.data.absorbed import as_dense
from tobitgp.data.arrays import CensoredResponse
from tobitgp.data.outcome import Outcome, outcome
from tobitgp.data.prepare import TrainingData
from tobitgp.distributions.baselines import GompertzBaseline, SplineBaseline, WeibullBaseline, make_knots
from tobitgp.errors import BoundaryWarning, DataError, SpecError, user_level
from tobitgp.formula.hazards import HazardFormula
from tobitgp.formula.spec import ModelSpec
from tobitgp.inference.parameters import check_names, read_mapping
from tobitgp.likelihoods import FAMILIES
from tobitgp.regression.clusters import Clusters
from tobitgp.regression.hazard_search import maximise_hazards
from tobitgp.regression.hazards import HazardModel, frailties_at, hazard_problem
from tobitgp.regression.maximum import Maximum
from tobitgp.results.hazards.cells import PH, baseline_size
from tobitgp.results.parametric.parts import LINKS, THETA, ParametricParts, baseline_names, level_columns
from tobitgp.results.parametric.results import ParametricHazardResults
from tobitgp.results.paths import holds_parts
from tobitgp.results.regression.fit import check_covariance, of_maximum, read_number, warn_of
from tobitgp.typing import Array, IntArray

_LEVEL = 1e-6  # share of the largest slope of a spline below which it is held at 0


def fit_parametric(
    spec: ModelSpec,
    training: TrainingData,
    family: PH,
    written: HazardFormula,
    covariates: pd.DataFrame,
    columns: Sequence[str],
    *,
    fixed: Mapping[str, float] | None = None,
    start: Mapping[str, float] | None = None,
    cov_type: str = "nonrobust",
    groups: Clusters | None = None,
    sampling: bool = False,
    max_iter: int = 200,
    frailty: tuple[str, Any] | None = None,
    subject: Any = None,
) -> ParametricHazardResults:
    """Fit a parametric baseline with linear terms by maximum likelihood.

    Shapes: groups (n,); ``frailty`` is a column and the group of each row, (n,), ``subject`` whose row it is, (n,).
    """
    check_covariance(cov_type)
    _check_events(training.response)
    seen = outcome(training.response, log_time=True, labels=training.labels)
    baseline, design = _baseline(family, seen), training.design
    noise, H = FAMILIES[LINKS[family.link]], as_dense(design.H)
    own = baseline_names(training.state, baseline.names, written.stratum)
    code, shared = (None, np.zeros(0)) if frailty is None else pd.factorize(frailty[1], sort=True)
    names = [*design.columns, *own, *[THETA] * (frailty is not None)]
    _check_names(design.columns, names[len(design.columns) :])
    positive = [name == THETA or (baseline.positive and name in own) for name in names]
    places = level_columns(training.state, written.stratum)
    known, begin = (_read_values(*each, names, positive) for each in (("fixed", fixed), ("start", start)))
    model = HazardModel(seen, H, design.offset, places, noise.distribution, baseline, known, code)
    maximum = maximise_hazards(
        model,
        scores=cov_type != "nonrobust",
        max_iter=max_iter,
        start={i: float(value) for i, value in enumerate(begin) if not np.isnan(value)},
    )
    warn_of(maximum)
    if subject is not None and cov_type in ("HC0", "HC1"):
        maximum, seen = _by_subjects(maximum, seen, pd.factorize(subject)[0])
    if isinstance(baseline, SplineBaseline):
        _warn_level(baseline, maximum.gamma[: len(own)].reshape(-1, len(places)))
    return ParametricHazardResults(
        ParametricParts(
            **of_maximum(spec, training, noise, covariates, columns, maximum, seen, cov_type, groups, sampling),
            last=_last(training.response),
            baseline=baseline,
            formula=written.formula,
            of_subjects=subject is not None and holds_parts(subject),
            frailty=None if frailty is None else frailty[0],
            groups=tuple(x if type(x) in (str, int, float) else str(x) for x in np.asarray(shared).tolist()),
            frailties=None if frailty is None else frailties_at(hazard_problem(model), maximum.parameters),
        )
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


def _check_events(seen: CensoredResponse) -> None:
    if not (~np.isposinf(seen.upper) & (seen.weight > 0.0)).any():
        raise DataError("No event was seen, and family='ph' has nothing to learn hazards from.")


def _check_names(columns: Sequence[str], own: Sequence[str]) -> None:
    twice = [name for name in columns if name in own]
    if twice:
        raise DataError(f"The column {twice[0]!r} has the name of a parameter of the baseline; rename it.")


def _last(seen: CensoredResponse) -> float:
    """The longest follow-up."""
    return float(np.where(np.isfinite(seen.upper), seen.upper, seen.lower).max())


def _baseline(family: PH, seen: Outcome) -> SplineBaseline | WeibullBaseline | GompertzBaseline:
    """The baseline, with knots at the log times of events, those of intervals in their middle."""
    if family.baseline != "spline":
        return WeibullBaseline() if family.baseline == "weibull" else GompertzBaseline()
    df = baseline_size(family)
    event = np.isfinite(seen.upper) & (seen.weight > 0.0)
    with np.errstate(over="ignore"):
        middle = np.log(0.5 * (np.exp(seen.lower) + np.exp(seen.upper)))[event]
    times = np.where(seen.exact[event], seen.lower[event], middle)
    knots = make_knots(times, seen.weight[event], df)
    number, apart = len(np.unique(times)), np.diff(knots) > 1e-9 * max(1.0, float(np.abs(knots).max()))
    if number <= df or not apart.all():
        why = "and some of these are equal" if number > df else "which needs as many times"
        raise DataError(
            f"PH('spline', df={df}) has {df + 1} knots at quantiles of the event times, {why}: there are {number} "
            "distinct ones. Give a smaller df, or baseline='weibull'."
        )
    return SplineBaseline(tuple(knots.tolist()))


def _read_values(argument: str, given: Mapping[str, float] | None, names: list[str], positive: list[bool]) -> Array:
    """Values of parameters as they move in the search, NaN where there are none."""
    values = read_mapping(argument, given) or {}
    check_names(argument, values, names)
    out = np.array([read_number(name, values[name]) if name in values else np.nan for name in names])
    log = np.array(positive, dtype=np.bool_)
    wrong = np.flatnonzero(log & (out <= 0.0))
    if len(wrong):
        name = names[wrong[0]]
        raise SpecError(f"{argument}={{{name!r}: {values[name]!r}}}: a positive number is needed.")
    out[log] = np.log(out[log])
    return out


def _warn_level(baseline: SplineBaseline, c: Array) -> None:
    """Say at which times a spline is held level, where it would fall without the bound."""
    v, slope = baseline.lowest(list(c))
    held = np.exp(v[slope <= _LEVEL * slope.max(axis=0)])
    if len(held):
        between = (
            f"at {held[0]:.4g}"
            if np.ptp(held) < 1e-3 * held.max()
            else f"between {held.min():.4g} and {held.max():.4g}"
        )
        warnings.warn(
            f"The hazard is held at 0 at times {between}: without this bound the spline would fall there, and survival "
            "rise. Standard errors treat the times at which it is 0 as known. Give a smaller df.",
            BoundaryWarning,
            stacklevel=user_level(),
        )
