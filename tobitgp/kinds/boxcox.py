"""Regressions of a response that is normal after a power transformation, whose power is a parameter.

Maximum likelihood by a search for the power, and the covariance of all parameters.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import Any, ClassVar, Self

import numpy as np

from tobitgp.data.absorbed import as_dense
from tobitgp.data.arrays import CensoredResponse, Design
from tobitgp.data.outcome import outcome
from tobitgp.data.prepare import TrainingData
from tobitgp.data.row_warnings import in_common
from tobitgp.distributions.power_normal import POWERS, TINY, PowerNormal, transform
from tobitgp.engines import least_squares
from tobitgp.errors import BoundaryWarning, DataError, SpecError, user_level
from tobitgp.inference.given_parameters import check_unambiguous
from tobitgp.kinds.fit_arguments import NONROBUST, CovarianceOptions, FormulaRows, of_maximum, read_fixed, warn_of
from tobitgp.kinds.likelihood import SHAPE_STEP, SIGMA, LikelihoodParts
from tobitgp.kinds.regression import RegressionParts
from tobitgp.kinds.transformed_rows import LEAST_POWER, above_zero, holds_zeros, log_jacobian, transformed
from tobitgp.likelihoods import FAMILIES
from tobitgp.likelihoods.families import BOXCOX, read_power
from tobitgp.numerics.bordered import dense
from tobitgp.regression import Maximum, maximise
from tobitgp.typing import Array, BoolArray

_GRID = (-2.0, -1.0, -0.5, 0.0, 0.25, 0.5, 1.0, 1.5, 2.0)
_ROUGH, _STEP, _OF_SCORES = 0.02, 0.3, 1e-4  # steps of the power; the second in standard errors
_FIRST, _SECOND = np.array([1.0, -8.0, 0.0, 8.0, -1.0]) / 12.0, np.array([-1.0, 16.0, -30.0, 16.0, -1.0]) / 12.0
_SLACK = 1e-4


@dataclass(frozen=True, slots=True)
class BoxCoxParts(LikelihoodParts):
    """A regression after a power transformation by maximum likelihood; the power is ``maximum.shape``."""

    power_given: bool = False
    last: float = np.inf  # the largest response, or limit
    log_unit: float = 0.0  # logarithm of what the response is divided by before it is transformed
    profile: Array | None = None  # (m, 2), powers that the search met, and the log likelihood at each
    level: Array | None = None  # (p,), coefficients of a constant, where the columns have one

    shapes: ClassVar = {"* 2": "profile", "columns": "level!"}

    def inconsistencies(self) -> Iterator[str]:
        """Inconsistent parts of a fit that was read from a file."""
        if self.family is not BOXCOX or not self.last > 0.0 or self.profile is None:
            yield "its parts do not belong together"

    @property
    def scale_names(self) -> list[str]:
        return [*([SIGMA] if self.state.scale is None else self.scale_columns), "power"]

    @property
    def positive(self) -> BoolArray:
        return np.array([name == SIGMA for name in self.scale_names])

    def designs(self, design: Design) -> Sequence[Array]:
        one = np.ones((len(design.H), 1))
        return [as_dense(design.H), one if design.scale is None else design.scale.W, one]

    def predictors(self, design: Design) -> tuple[Array, ...]:
        H, W, one = self.designs(design)
        tau = W @ self.maximum.gamma + design.log_noise
        return H @ self.maximum.coefficients + design.offset, tau, one[:, 0] * self.power

    def units(self, x: tuple[Array, ...]) -> tuple[Array, ...]:
        return np.exp(x[1]), np.ones_like(x[0]), SHAPE_STEP / 10.0 * np.ones_like(x[0])

    def at(self, x: tuple[Array, ...]) -> PowerNormal:
        return PowerNormal(x[0], np.exp(x[1]), x[2], self.log_unit, self.power)

    @property
    def power(self) -> float:
        """The power that was estimated, or given."""
        assert self.maximum.shape is not None
        return self.maximum.shape

    @property
    def draw_by_draw(self) -> bool:
        return False

    @property
    def given_values(self) -> Array:
        values: Array = LikelihoodParts.given_values.fget(self)  # type: ignore[attr-defined]
        return np.append(values[:-1], self.power) if self.power_given else values

    def why_not_nested(self, smaller: LikelihoodParts) -> str:
        same = isinstance(smaller, BoxCoxParts) and smaller.power_given and smaller.power == self.power
        if self.power_given and not same:
            return "its power differs, or was estimated"
        # A log-normal regression has the power 0.
        return "" if type(smaller) is RegressionParts else LikelihoodParts.why_not_nested(self, smaller)

    def known(self, response: CensoredResponse, labels: Any = None) -> CensoredResponse:
        return above_zero(response, np.arange(len(response.lower), dtype=object) if labels is None else labels)

    def reported(self, theta: Array) -> Array:
        return LikelihoodParts.reported(self, in_users_unit(self, theta))

    def moved(self, change: Array) -> Array:
        theta, h = self.maximum.parameters, 1e-5
        turn = np.diag(np.ones(len(theta)))
        p = len(self.columns)
        turn[:p, :p] *= np.exp(self.power * self.log_unit)
        up, down = (in_users_unit(self, theta, self.power + side * h) for side in (1.0, -1.0))
        turn[:-1, -1] = ((up - down) / (2.0 * h))[:-1]
        return change @ turn.T

    def again(self, fixed: Mapping[str, float], *, scores: bool = False) -> Self:
        known, errors = self.given | dict(fixed), CovarianceOptions("HC0" if scores else "nonrobust")
        power = known.pop("power", self.power) if self.power_given else None
        return fit_boxcox(FormulaRows.of(self), power=power, fixed=known, errors=errors, with_null=False)  # type: ignore


def in_own_unit(parts: BoxCoxParts) -> BoxCoxParts:
    """The same with estimates of the response in the user's unit, whose factor in (BC6) counts as known."""
    if not parts.log_unit:
        return parts
    maximum, moved = parts.maximum, in_users_unit(parts, parts.maximum.parameters)
    beta, gamma = np.split(moved[:-1], [len(parts.columns)])
    factor = np.ones(len(moved))
    factor[: len(beta)] = np.exp(parts.power * parts.log_unit)
    V, N = (factor[:, None] * np.asarray(each) * factor for each in (parts.covariance, parts.unidentified))
    return replace(parts, maximum=replace(maximum, coefficients=beta, gamma=gamma), covariance=V, unidentified=N)


def in_users_unit(parts: BoxCoxParts, theta: Array, power: float | None = None) -> Array:
    """Parameters (..., k) of the response in the user's unit, by the power of the fit or another: (BC6)."""
    out, p, log_g = theta.copy(), len(parts.columns), parts.log_unit
    power = parts.power if power is None else power
    if log_g:
        assert parts.level is not None
        out[..., :p] *= np.exp(power * log_g)
        out[..., :p] += parts.level * float(transform(np.array(log_g), power))
        out[..., p] += power * log_g
    return out


def fit_boxcox(
    rows: FormulaRows,
    *,
    power: float | None = None,
    fixed: Mapping[str, float] | None = None,
    errors: CovarianceOptions = NONROBUST,
    max_iter: int = 200,
    with_null: bool = True,
) -> BoxCoxParts:
    """Fit a regression after a power transformation; the power is estimated if none is given.

    Without ``with_null``, the model with an intercept only is fitted when it is requested.
    """
    training = rows.training
    check_unambiguous("fixed=", fixed or (), [*training.design.columns, "power"])
    power, fixed = read_power(power, fixed)
    refuse_power(training, power)
    design, scale = training.design, training.design.scale
    names = () if scale is None else scale.columns
    coefficients, gamma = read_fixed(fixed, design.columns, names, FAMILIES["gaussian"])
    given: dict[str, Any] = {"fixed_gamma": gamma, "max_iter": max_iter, "scale_names": names or None}
    given |= {"describe": partial(in_common, rows.covariates)}
    given |= {"offset": design.offset, "W": None if scale is None else scale.W, "scale_offset": design.log_noise}
    H = as_dense(design.H)

    level = level_of(H, design.columns)
    met, log_unit = dict[float, float](), unit_of(training, level, coefficients, gamma)

    @cache
    def at(power: float, *, null: bool = False, scores: bool = False) -> Maximum:
        """The maximum at a power, the log likelihood being that of the response."""
        seen = outcome(transformed(training, power, log_unit).response, labels=training.labels)
        own = {"fixed_coefficients": None} if null else {"fixed_coefficients": coefficients, "names": design.columns}
        found = maximise(seen, np.ones((len(H), 1)) if null else H, scores=scores, **own, **given)
        shift = log_jacobian(training.response, power, log_unit)
        if not null:
            met[power] = found.log_likelihood + shift
        return replace(found, log_likelihood=found.log_likelihood + shift, shape=power)

    low, high = (LEAST_POWER if holds_zeros(training.response) else POWERS[0]), POWERS[1]
    best = find_power(lambda x: at(x).log_likelihood, low, high) if power is None else power
    maximum = at(best, scores=errors.robust)
    maximum = _with_power(at, maximum, training, log_unit, estimated=power is None, ends=(low, high))
    warn_of(maximum)
    seen = outcome(training.response, log_time=True, labels=training.labels)
    maximum = replace(maximum, log_likelihood=maximum.log_likelihood - seen.log_jacobian)
    llnull = np.nan if with_null else None
    if with_null and "Intercept" in design.columns:
        llnull = at(
            find_power(lambda x: at(x, null=True).log_likelihood, low, high) if power is None else power, null=True
        ).log_likelihood
    made = of_maximum(rows._replace(family=BOXCOX), maximum, seen, errors)
    ends = np.where(np.isfinite(training.response.upper), training.response.upper, training.response.lower)
    return BoxCoxParts(
        **made | {"llnull": llnull},
        power_given=power is not None,
        log_unit=log_unit,
        level=level,
        profile=np.array(sorted(met.items())),
        last=float(ends.max()),
    )


def unit_of(training: TrainingData, level: Array | None, coefficients: Array, gamma: Array) -> float:
    """Log of the geometric mean of exact responses (of limits if there are none), the unit of the tests.

    Any other unit gives the same fit, unless there is no free constant or sigma, or some values are fixed.
    """
    design, seen = training.design, training.response
    exact = seen.lower == seen.upper
    upper = np.where(np.isfinite(seen.upper), seen.upper, seen.lower)
    used = (exact if exact.any() else upper > TINY) & (seen.weight > 0.0)
    known = not (np.isnan(coefficients).all() and np.isnan(gamma).all()) or design.offset.any()
    taken_up = level is not None and (design.scale is None or (design.scale.W[:, 0] == 1.0).all())
    if known or not taken_up or not used.any():
        return 0.0
    return float(np.average(np.log(upper[used]), weights=seen.weight[used]))


def level_of(H: Array, columns: Sequence[str]) -> Array | None:
    """Coefficients (p,) of a constant, by the intercept or the levels of a factor; None where the columns have none."""
    if "Intercept" in columns:
        return np.array([float(name == "Intercept") for name in columns])
    if not H.shape[1]:
        return None
    found = least_squares(H, np.ones(len(H)))
    return found if np.abs(H @ found - 1.0).max(initial=0.0) < 1e-8 else None


def refuse_power(training: TrainingData, power: float | None) -> None:
    """Raise an error for zeros with a power that has none, and a constant response without a power."""
    response = training.response
    if power is not None and power < LEAST_POWER and holds_zeros(response):
        raise SpecError(
            f"power={power:g} gives a response of 0 no probability, but some responses are 0. Give a power above 0."
        )
    exact, ends = response.lower == response.upper, np.concatenate([response.lower, response.upper])
    ends = ends[np.isfinite(ends) & (ends > 0.0)]
    if power is None and exact.any() and ends.min() == ends.max():
        raise DataError(
            f"The response is {ends[0]:g} in all rows, which does not determine the power. Give the power, e.g. "
            f"family=tg.BoxCox(power=0.5), or use another family."
        )


def find_power(value: Callable[[float], float], low: float, high: float) -> float:
    """Where a profile is highest, from a grid."""
    from scipy.optimize import minimize_scalar

    grid = [low, *(x for x in _GRID if low < x < high), high]
    values = [value(x) if low + 1e-9 < x < high - 1e-9 else -np.inf for x in grid]
    k = int(np.nanargmax(np.where(np.isfinite(values), values, -np.inf)))
    ends = grid[max(k - 1, 0)], grid[min(k + 1, len(grid) - 1)]
    found = minimize_scalar(lambda x: -value(float(x)), bounds=ends, method="bounded", options={"xatol": 1e-8})
    return float(found.x)


def _with_power(
    at: Callable[..., Maximum],
    top: Maximum,
    training: TrainingData,
    log_unit: float,
    *,
    estimated: bool,
    ends: tuple[float, float],
) -> Maximum:
    """The maximum with the power among its parameters: (BC3)."""
    power = top.shape
    assert power is not None
    V, N, k = dense(top.inverse_information), dense(top.unidentified), len(top.free)
    wide, lost = np.zeros((k + 1, k + 1)), np.pad(N, ((0, 1), (0, 1)))
    wide[:k, :k] = V
    inside = ends[0] + _SLACK < power < ends[1] - _SLACK
    scores: Any = top.scores
    if scores is not None:
        own = _scores(top, training, log_unit) * (estimated and inside)
        scores = np.column_stack([getattr(scores, "toarray", lambda: scores)(), own])
    if estimated and not inside:
        edge = "lowest" if power < ends[0] + _SLACK else "highest"
        message = f"The likelihood increases towards the {edge} power, {power:.3g}, where the search stops."
        top = replace(top, message=message if top.converged else top.message)
    if estimated and inside and top.converged:
        rough = -(at(power + _ROUGH).log_likelihood - 2.0 * top.log_likelihood + at(power - _ROUGH).log_likelihood)
        h = float(np.clip(_STEP * _ROUGH / np.sqrt(max(rough, 1e-12)), 1e-4, 0.25))
        near = [top if i == 2 else at(power + (i - 2) * h) for i in range(5)]
        curvature = -float(_SECOND @ [each.log_likelihood for each in near]) / h**2
        slope = np.append(_FIRST @ np.stack([each.parameters[:k] for each in near]) / h, 1.0)
        slope[:k] *= top.free
        if curvature > 0.0:
            wide += np.outer(slope, slope) / curvature
        else:
            warnings.warn(
                "The likelihood is flat in the power. Give it by fixed={'power': ...}.",
                BoundaryWarning,
                stacklevel=user_level(),
            )
            lost[k, k] = 1.0
    free = np.append(top.free, estimated and inside)
    return replace(top, inverse_information=wide, unidentified=lost, free=free, scores=scores)


def _scores(top: Maximum, training: TrainingData, log_unit: float) -> Array:
    """Derivatives (n,) of each row's log likelihood in the power."""
    design, seen = training.design, training.response
    W = np.ones((len(seen.lower), 1)) if design.scale is None else design.scale.W
    mu, sigma = as_dense(design.H) @ top.coefficients + design.offset, np.exp(W @ top.gamma + design.log_noise)
    assert top.shape is not None
    pair = (
        PowerNormal(mu, sigma, top.shape + side * _OF_SCORES, log_unit).log_likelihood(
            seen.lower, seen.upper, seen.entry, seen.exit
        )
        for side in (1.0, -1.0)
    )
    above, below = pair
    return np.asarray(above - below) / (2.0 * _OF_SCORES)
