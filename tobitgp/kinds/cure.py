"""Mixture cure models: a share of the rows never has the event, the times of the others are those of a regression."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np

from tobitgp.data.absorbed import Columns, as_dense
from tobitgp.data.arrays import CensoredResponse, Design
from tobitgp.data.outcome import outcome
from tobitgp.distributions.event_times import Cured
from tobitgp.distributions.location_scale import LocationScale
from tobitgp.errors import BoundaryWarning, ConvergenceWarning, DataError, SpecError, user_level
from tobitgp.inference.given_parameters import check_names, read_mapping
from tobitgp.kinds.fit_arguments import (
    NONROBUST,
    CovarianceOptions,
    FormulaRows,
    known_shape,
    of_maximum,
    read_fixed,
    read_number,
    warn_of,
)
from tobitgp.kinds.likelihood import SHAPE_STEP, SIGMA, LikelihoodParts
from tobitgp.likelihoods import Family
from tobitgp.posterior.estimates import Estimates
from tobitgp.posterior.questions import Question
from tobitgp.regression.cure_search import NEAR, CureEnd, CureProblem, cure_problem, maximise_cure, profile_interval
from tobitgp.typing import Array, BoolArray

ENDS = ("iterations", "log_likelihood", "cured", "converged")
_LATE, _FEW = 0.9, 5


@dataclass(frozen=True, slots=True)
class CureParts(LikelihoodParts):
    """A fitted cure model; ``maximum.gamma`` are the coefficients of the logit of the cured fraction, and log sigma."""

    ends: Array | None = None  # (3, 4), of each start ``ENDS``
    last: float = np.inf  # the longest follow-up

    place_of_scale = 2
    shapes: ClassVar = {"* 4": "ends"}

    def inconsistencies(self) -> Iterator[str]:
        """Inconsistent parts of a cure model that was read from a file."""
        if self.state.scale is None or not self.family.log_time or not self.last > 0.0 or self.ends is None:
            yield "its parts do not belong together"

    @property
    def scale_names(self) -> list[str]:
        return [*self.scale_columns, SIGMA, *([self.shape_name] if self.family.estimate_shape else [])]

    @property
    def positive(self) -> BoolArray:
        shape = [self.shape_name] if self.family.distribution.shape_positive else []
        return np.array([name in (SIGMA, *shape) for name in self.scale_names])

    latency_words = "log times"  # what coefficients are of

    @property
    def formula_texts(self) -> dict[str, str]:
        """Formulas other than that of the location."""
        assert self.spec.scale is not None
        return {"logit(cured):": self.spec.scale.formula}

    other_words = ("cured fraction", "noise scale")

    def columns_of_rows(self, design: Design) -> list[tuple[Columns, Array]]:
        none = np.ones((len(design.H), 1)), np.zeros(len(design.H))
        return [*LikelihoodParts.columns_of_rows(self, design), none]

    @property
    def one_fraction(self) -> bool:
        """Whether the cured fraction is the same in all rows."""
        assert self.spec.scale is not None
        return self.scale_columns == ("cured[Intercept]",) and not self.spec.scale.offsets

    def designs(self, design: Design) -> Sequence[Array]:
        one = np.ones((len(design.H), 1))
        assert design.scale is not None
        return [as_dense(design.H), design.scale.W, one, *([one] if self.family.estimate_shape else [])]

    def predictors(self, design: Design) -> tuple[Array, ...]:
        H, Z, one, *_ = self.designs(design)
        x = [H @ self.maximum.coefficients + design.offset, Z @ self.maximum.gamma[:-1] + design.log_noise]
        x.append(one[:, 0] * self.maximum.gamma[-1])
        return (*x, one[:, 0] * self.noise.coordinate) if self.family.estimate_shape else tuple(x)

    def units(self, x: tuple[Array, ...]) -> tuple[Array, ...]:
        one = np.ones_like(x[0])
        return (np.exp(x[2]), one, one, SHAPE_STEP * one)[: len(x)]

    def uncured_at(self, x: tuple[Array, ...]) -> LocationScale:
        """Distributions of the times of those who are not cured."""
        return LocationScale(self.noise_at(x[3:]), x[0], np.exp(x[2]), log=True)

    def at(self, x: tuple[Array, ...]) -> Cured:
        return Cured(self.uncured_at(x), x[1])

    def profile_of_cured(self, error: float, drop: float) -> tuple[float, float]:
        """Cured fractions, one of all rows, whose profile log likelihood is ``drop`` below the maximum."""
        place = len(self.columns)
        return profile_interval(lambda gamma: problem_of(self, gamma), self.maximum, place, error, drop)

    def again(self, fixed: Mapping[str, float], *, scores: bool = False) -> Self:
        errors = CovarianceOptions("HC0" if scores else "nonrobust")
        return fit_cure(FormulaRows.of(self), fixed=self.given | dict(fixed), errors=errors)  # type: ignore


def being_cured(start: Array | None = None) -> Question:
    """Probability of being cured, given survival of ``start`` (n,) where one is given."""
    if start is None:
        return Question(lambda y: y.logit, "logit", sure=True)
    return Question(lambda y, first: y.cured_log_odds(first), "logit", (start,), sure=True)


def mean_cured(parts: Any) -> Estimates:
    """The cured fraction averaged over the rows of the fit, as a logit with its variance: one row."""
    design = parts.training.design if parts.training is not None else None
    if design is None and not parts.one_fraction:
        raise SpecError(
            "The average cured fraction requires the training rows, which this fit does not hold. Use predict()."
        )
    p, q = len(parts.columns), len(parts.scale_columns)
    Z, weight = np.ones((1, 1)), np.ones(1)
    v = parts.maximum.gamma[:q]
    if design is not None:
        Z, v, weight = parts.designs(design)[1], parts.predictors(design)[1], parts.rows.response.weight
    share = weight / weight.sum()
    pi = 1.0 / (1.0 + np.exp(-v))
    mean = float(share @ pi)
    slope = (share * pi * (1.0 - pi)) @ Z / (mean * (1.0 - mean))
    V, N = (np.asarray(M)[p : p + q, p : p + q] for M in (parts.covariance, parts.unidentified))
    x = (np.array([np.log(mean) - np.log1p(-mean)]),)
    at = (np.array([[[slope @ V @ slope]]]), np.array([[[slope @ N @ slope]]]))
    return Estimates(lambda moved: _Logit(moved[0]), x, (np.ones(1),), *at)


@dataclass(frozen=True, slots=True)
class _Logit:
    """A probability of being cured."""

    logit: Array


def problem_of(parts: CureParts, gamma: Array) -> CureProblem:
    """The likelihood of the training rows with the logit's coefficients (q,) given, other known ones as they were."""
    design, maximum, p = parts.rows.design, parts.maximum, len(parts.columns)
    free = np.where(maximum.free, np.nan, maximum.parameters)
    H, Z, one, *_ = parts.designs(design)
    known = [free[:p], gamma, free[p + len(gamma) : p + len(gamma) + 1]]
    return cure_problem(
        outcome(parts.rows.response, log_time=True),
        (H, Z, one),
        (design.offset, design.log_noise, np.zeros(len(H))),
        parts.noise,
        known,
        free_shape=parts.family.estimate_shape and bool(maximum.free[-1]),
    )


def fit_cure(
    rows: FormulaRows,
    *,
    fixed: Mapping[str, float] | None = None,
    errors: CovarianceOptions = NONROBUST,
    max_iter: int = 200,
) -> CureParts:
    """Fit a cure model by maximum likelihood."""
    training = rows.training
    _check_rows(training.response)
    check_censored(training.response)
    design, scale = training.design, training.design.scale
    family, fixed = known_shape(rows.family, fixed, design.columns)
    assert scale is not None
    seen = outcome(training.response, log_time=True, labels=training.labels)
    problem = cure_problem(
        seen,
        (as_dense(design.H), scale.W, np.ones((len(seen), 1))),
        (design.offset, scale.offset, np.zeros(len(seen))),
        family.distribution,
        _known(fixed, design.columns, scale.columns, family),
        free_shape=family.estimate_shape,
    )
    maximum, ends = maximise_cure(problem, scores=errors.robust, max_iter=max_iter)
    warn_of(maximum)
    _warn_others(ends, seen.log_jacobian)
    warn_follow_up(training.response)
    return CureParts(
        **of_maximum(rows._replace(family=family), maximum, seen, errors),
        ends=np.array([end._replace(log_likelihood=end.log_likelihood + seen.log_jacobian) for end in ends]),
        last=float(training.response.lower.max()),
    )


def _check_rows(seen: CensoredResponse) -> None:
    """Raise an error for rows that cure models are not fitted to."""
    exact = seen.lower == seen.upper
    if (~exact & ~np.isposinf(seen.upper)).any() or np.isfinite(seen.exit).any():
        raise SpecError(
            "cure= requires exact or right-censored rows, with or without late entry. Left-censored, "
            "interval-censored and right-truncated rows are not supported."
        )


def check_censored(seen: CensoredResponse) -> None:
    """Raise an error for rows without events, or without censored ones."""
    exact = np.isfinite(seen.upper)
    if exact.all():
        raise SpecError("cure= requires censored rows, since only a censored subject may be cured.")
    if not (exact & (seen.weight > 0.0)).any():
        raise DataError("No event was observed, and a cure model requires events.")


def _known(
    fixed: Mapping[str, float] | None, columns: Sequence[str], cured: Sequence[str], family: Family
) -> list[Array]:
    """Known coefficients of location and logit, and log sigma, NaN where they are estimated."""
    given = read_mapping("fixed", fixed) or {}
    check_names("fixed", given, [*columns, *cured, SIGMA])
    of_cured = {name: read_number(name, given.pop(name)) for name in cured if name in given}
    coefficients, log_sigma = read_fixed(given, columns, (), family)
    return [coefficients, np.array([of_cured.get(name, np.nan) for name in cured]), log_sigma]


def _warn_others(ends: Sequence[CureEnd], jacobian: float) -> None:
    """Warn that another maximum is nearly as high."""
    maxima = sorted((end for end in ends if end.converged), key=lambda end: -end.log_likelihood)
    others = [end for end in maxima if 1e-3 < maxima[0].log_likelihood - end.log_likelihood < NEAR]
    if others:
        listed = " and ".join(f"{end.cured:.3g} (log likelihood {end.log_likelihood + jacobian:.2f})" for end in others)
        warnings.warn(
            f"The likelihood has several maxima: one with a mean cured fraction of {maxima[0].cured:.3g} (log-"
            f"likelihood {maxima[0].log_likelihood + jacobian:.2f}), and one of {listed}. fit_history lists "
            f"them. These rows do not distinguish between them. Compare families, or use longer follow-up.",
            ConvergenceWarning,
            stacklevel=user_level(),
        )


def warn_follow_up(seen: CensoredResponse) -> None:
    """Warn that the follow-up is too short to distinguish cured rows from late events."""
    exact = seen.lower == seen.upper
    event = (exact if exact.any() else np.isfinite(seen.upper)) & (seen.weight > 0.0)
    last, end = float(seen.lower[event].max()), float(seen.lower.max())
    tail = float(seen.weight[~event & (seen.lower >= last)].sum())
    why = []
    if last > _LATE * end:
        why.append(f"the last event, at {last:.6g}, lies after 90% of the longest follow-up, {end:.6g}")
    if tail < _FEW:
        why.append(f"{tail:g} {'row was' if tail == 1.0 else 'rows were'} followed beyond it")
    if why:
        warnings.warn(
            f"The cured fraction depends on the tail of the family: {' and '.join(why)}. Longer follow-up would "
            f"distinguish cured rows from late events. Compare families.",
            BoundaryWarning,
            stacklevel=user_level(),
        )
