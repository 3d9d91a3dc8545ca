r"""Maxima of likelihoods of rows of several parameters, each linear in separate columns: Newton's method from starts.

Every start is a value of each parameter, the same in all rows: the maximum of a model without formulas of the other
parameters, which is nested in the one that is sought.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from tobitgp.data.outcome import Outcome
from tobitgp.distributions.baselines import Baseline
from tobitgp.distributions.formulas import RowTimes
from tobitgp.distributions.row_models import RowModel, RowParameter
from tobitgp.distributions.standard_noise import Distribution
from tobitgp.engines import blocks, least_squares, single_blas_thread
from tobitgp.numerics.jets import Jet
from tobitgp.numerics.nonparametric import kaplan_meier
from tobitgp.numerics.normal_functions import middles
from tobitgp.regression.convergence import LIMIT
from tobitgp.regression.hazard_likelihood import HazardModel
from tobitgp.regression.hazard_search import maximise_hazards
from tobitgp.regression.location_scale_fit import maximise
from tobitgp.regression.maximum import Maximum
from tobitgp.regression.newton import Climb, climb, guarded_step
from tobitgp.regression.predictors import FLAT, Predictors, orthonormal
from tobitgp.typing import Array, BoolArray, IntArray

_APART = 1e-3  # nats by which an end that is not a maximum must exceed one that is
_STEPS = 60  # of the searches for a start


class StartingPoint(NamedTuple):
    """Values from which a search begins."""

    coefficients: Array  # (p,), of the location
    others: tuple[float | Array, ...]  # of the others, on the scales of their links; (p,) as those of the location


@dataclass(frozen=True, slots=True)
class RowProblem(Predictors):
    """Rows, a design of each of their parameters, and the distribution that these make."""

    model: RowModel

    def times(self, rows: IntArray, at: Sequence[Jet]) -> RowTimes:
        """Those of the model."""
        return self.model.times(at)

    @property
    def parameters(self) -> tuple[RowParameter, ...]:
        """Parameters other than the location."""
        return self.model.parameters

    def at_point(self, point: StartingPoint) -> Array:
        """The coordinates x nearest to values of the parameters."""
        blocks = [point.coefficients]
        for W, offset, value in zip(self.written[1:], self.offsets[1:], point.others, strict=True):
            target = self.written[0] @ value + self.offsets[0] if isinstance(value, np.ndarray) else value
            blocks.append(least_squares(W, target - offset))
        return self.nearest(np.concatenate(blocks))


def row_problem(
    model: RowModel, seen: Outcome, designs: Sequence[Array], offsets: Sequence[Array], known: Sequence[Array]
) -> RowProblem:
    """Make columns orthonormal, and offsets of ``known`` parameters, NaN where they are estimated."""
    middle = tuple(np.full(1, each.start) for each in model.parameters)
    units = [1.0, *(float(unit[0]) for unit in model.units((np.zeros(1), *middle))[1:])]
    return RowProblem(**orthonormal(seen, designs, offsets, known, units), model=model)


def maximise_rows(problem: RowProblem, starts: Sequence[Array], *, scores: bool, max_iter: int) -> Maximum:
    """The highest end of the searches from starts x."""
    with single_blas_thread(), np.errstate(all="ignore"):
        climbs = [(_ascend(problem, x, max_iter), x) for x in starts]
        ends = [(end, _judge(problem, end), start) for end, start in climbs]
        end, reason, start = max(ends, key=lambda each: _rank(*each[:2]))
        unit, message = _unit(problem, end.state.x), _message(problem, end, start, reason)
        told = problem.row_scores(end.state.x) if scores else None
        return problem.in_users_units(end, unit, problem.written[0].shape[1], reason, message, told)


def _rank(end: Climb, reason: str) -> tuple[bool, bool, float]:
    """Order of ends by their value, maxima before others by a small margin; one that follows a few rows is the last."""
    value = end.state.value
    return bool(np.isfinite(value)), reason != "narrow", value + _APART * (reason == "converged")


def _ascend(problem: RowProblem, x: Array, max_iter: int) -> Climb:
    def reach(move: Array) -> float:
        others = zip(problem.parameters, problem.moves(move)[1:], strict=True)
        return max([0.0, *(each.step * float(np.abs(by).max(initial=0.0)) for each, by in others)])

    at_saddle = problem.model.alike(tuple(problem.predictors(x)))  # which rounding alone leads away from
    return climb(
        problem.evaluate,
        lambda state: guarded_step(state, reach),
        problem.evaluate(x),
        max_iter=max_iter,
        stop=lambda at: at_saddle or _run_off(problem, at, x)[0] != "",
    )


def _run_off(problem: RowProblem, x: Array, start: Array) -> tuple[str, str]:
    """A parameter that is as good as infinite in some row on the scale of its link, and its limit; empty without."""
    found = zip(problem.parameters, problem.predictors(x)[1:], problem.predictors(start)[1:], strict=True)
    for each, values, first in found:
        low, high = each.range(float(first.mean()))
        if not low < values.min():
            return each.name, "0" if each.link == "log" else "infinity"
        if not values.max() < high:
            return each.name, "infinity"
    return "", ""


def _unit(problem: RowProblem, x: Array) -> Array:
    """Units in which exact rows bring about 1 of information."""
    sizes = [np.exp(np.mean(np.log(size))) for size in problem.model.units(tuple(problem.predictors(x)))]
    return np.diag(np.repeat(sizes, [columns.shape[1] for columns in problem.designs]))


def _judge(problem: RowProblem, end: Climb) -> str:
    """The status of an end: "converged", or why it is not a maximum."""
    model, at = problem.model, tuple(problem.predictors(end.state.x))
    if model.follows_a_few(at):
        return "narrow"
    if not model.rises(at):
        return "falls"
    reason = _of_search(problem, end)
    return "alike" if reason != "converged" and model.alike(at) else reason


def _of_search(problem: RowProblem, end: Climb) -> str:
    if end.reason in ("stalled", "limit"):
        return end.reason
    if end.reason == "stopped":
        return "flat" if np.isfinite(end.state.value) else "stalled"
    least = np.linalg.eigvalsh(problem.information(end.state, _unit(problem, end.state.x))).min(initial=1.0)
    return "flat" if least < FLAT else "converged"


def _message(problem: RowProblem, end: Climb, start: Array, reason: str) -> str:
    """Why there is no maximum, with a remedy."""
    name, limit = _run_off(problem, end.state.x, start)
    if reason == "flat" and name == "cured":
        return (
            "The likelihood is highest where some rows have a cured fraction of 0 or 1: use fewer columns in the "
            "formula of 'cured', or fit without it."
        )
    if reason == "flat":
        what = (
            f"the parameter {name!r} of some rows goes to {limit}" if name else "some coefficients run off to infinity"
        )
        return f"The likelihood has no maximum: {what}. Use fewer columns, or fix a coefficient."
    return {
        "narrow": "A component follows a few rows. Use fewer components or columns.",
        "alike": "All components are the same: the rows do not determine several. Use fewer components or columns.",
        "falls": "The spline of the baseline falls somewhere between events. Give a smaller df.",
        "stalled": "No step improves the likelihood although its slope is not 0. Rescale or simplify the model.",
        "limit": LIMIT,
    }.get(reason, reason)


# -- starts -----------------------------------------------------------------------------------------------------------


def from_noise(
    seen: Outcome, H: Array, offset: Array, noise: Distribution, known_sigma: float | None, *, own_shape: bool
) -> tuple[Array, float, float | None]:
    """Coefficients, log sigma and the coordinate of the shape of a location and a scale."""
    known = None if known_sigma is None else np.array([np.log(known_sigma)])
    found = maximise(seen, H, distribution=noise, offset=offset, estimate_shape=own_shape, fixed_gamma=known)
    return found.coefficients, float(found.gamma[0]), found.shape


def from_baseline(seen: Outcome, H: Array, offset: Array, noise: Distribution, baseline: Baseline) -> StartingPoint:
    """The maximum of one baseline of all rows."""
    level = np.flatnonzero(np.all([(H[at] == 1.0).all(axis=0) for at in blocks(len(H))], axis=0))[:1]
    known = np.full(H.shape[1] + baseline.size, np.nan)
    model = HazardModel(seen, H, offset, level, noise, baseline, known)
    found = maximise_hazards(model, scores=False, max_iter=_STEPS)
    return StartingPoint(found.coefficients, tuple(found.gamma.tolist()))


def from_residuals(seen: Outcome, H: Array, offset: Array, parameters: Sequence[RowParameter]) -> StartingPoint:
    """Least squares of middles and ends; log sigma is that of the residuals, others start where they say."""
    middle = middles(seen.lower - offset, seen.upper - offset)
    beta = least_squares(H, middle, np.sqrt(seen.weight))
    spread = float(np.sqrt(np.average(np.square(middle - H @ beta), weights=seen.weight))) or 1.0
    return StartingPoint(
        beta,
        tuple(np.log(spread) if each.name == "sigma" else each.start for each in parameters),
    )


def events_of(seen: Outcome) -> BoolArray:
    """Rows with an event: those whose time is known or, without any, those known to an interval."""
    return seen.exact if seen.exact.any() else np.isfinite(seen.upper)


def cured_shares(seen: Outcome) -> tuple[float, float, float]:
    """Shares of cured rows to start from: the last Kaplan-Meier survival, less, and more."""
    entry = np.where(np.isfinite(seen.entry), seen.entry, -np.inf)
    event = events_of(seen)
    _, survival = kaplan_meier(seen.lower, event, seen.weight, entry)
    tail = float(np.clip(survival[-1], 0.02, 0.98))
    censored = float(seen.weight[~event].sum() / seen.weight.sum())
    return tail, 0.25 * tail, 0.5 * (tail + censored)
