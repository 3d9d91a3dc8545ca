"""Whether an ascent ended at a maximum, and why not, in words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tobitgp.data.absorbed import Absorbed, Columns
from tobitgp.data.outcome import Outcome
from tobitgp.distributions.standard_noise import Distribution
from tobitgp.numerics.bordered import Bordered
from tobitgp.regression.newton import Climb, NewtonStep, State
from tobitgp.regression.working import Designs, Working, log_sigmas
from tobitgp.typing import Array, BoolArray, IntArray

_FAR = 18.0  # sigma 1e-8 or 1e8 of the spread of the response
SUSPECT = 1e-4  # information of a direction, where an exact row has 1
FLAT = 1e-9
_MORE_STEPS = 6


def far(x: Array, working: Working) -> bool:
    """Whether log sigma of a row that tells something about it, is as good as infinite, or the shape out of range."""
    if working.shape_range is not None and not working.shape_range[0] < x[-1] < working.shape_range[1]:
        return True
    if not working.q:
        return False
    low, high = log_sigmas(working, x)
    return low < -_FAR or high > _FAR


def shape_end(end: Climb, working: Working, distribution: Distribution) -> int | None:
    """Position in the range of the shape of an end that an ascent passed and that stands for something."""
    if working.shape_range is None or end.converged:
        return None
    (low, high), x = working.shape_range, end.state.x[-1]
    passed = 0 if x <= low else 1 if x >= high else None
    return passed if passed is not None and distribution.shape_limits[passed] else None


def judge(
    end: Climb, working: Working, function: Callable[[Array], State], step: Callable[[State], NewtonStep]
) -> Climb:
    """The end with ``"converged"`` for its reason, or why it is not a maximum: "sigma", "flat", "limit", "stalled".

    A nearly flat direction is followed for some steps to see if it gets flatter.
    """
    if end.reason == "stopped":
        return replace(end, reason="sigma")
    least = _least_information(end.state, working)
    if least < FLAT or (least < SUSPECT and _least_information(_onwards(end, function, step), working) < 0.9 * least):
        return replace(end, reason="flat")
    return replace(end, reason="converged") if end.reason == "settled" else end


def is_flat(state: State, working: Working) -> bool:
    """Whether a direction of location and scale has no information, which `judge` would find at an end there."""
    return _least_information(state, working) < FLAT


def _onwards(end: Climb, function: Callable[[Array], State], step: Callable[[State], NewtonStep]) -> State:
    """The state a few full steps further, however little they gain."""
    state = end.state
    for _ in range(_MORE_STEPS):
        trial = function(step(state).at(1.0))
        if not np.isfinite(trial.value) or not trial.hessian.finite:
            break
        state = trial
    return state


def _least_information(state: State, working: Working) -> float:
    """Smallest eigenvalue of the dimensionless information of location and scale."""
    matrix = information(state, working)
    return float(matrix.reduced().spectrum()[0][0]) if len(matrix) else 1.0


def information(state: State, working: Working) -> Bordered:
    """Minus the Hessian in location and scale, (p + q, p + q), in units in which exact rows bring about 1."""
    return state.hessian.leading(working.p + working.q).each(np.negative).scaled(units(state, working))


def units(state: State, working: Working) -> Array:
    """Units of location and scale, (p + q,), in which the information of exact rows is about 1."""
    p, q, n = working.p, working.q, working.n
    low, high = log_sigmas(working, state.x)
    weight = sum(float(chunk.seen.weight.sum()) for chunk in working.chunks) / n
    unit = np.concatenate([np.full(p, np.exp(0.5 * (low + high))), np.full(q, 1.0 / np.sqrt(n))])
    return unit / np.sqrt(min(weight, 1.0))


def words_for_end(distribution: Distribution, end: int) -> str:
    """What it means that the shape ran to an end of its range."""
    went, value = ("fell below", "grew beyond")[end], distribution.shape_range[end]
    return f"{distribution.shape_name} {went} {value:g}, where it is held: {distribution.shape_limits[end]}."


_FLAT = (
    "The likelihood is flat: relative to sigma, the rows have almost no information about the coefficients. Give "
    "another sigma, or express the response in other units."
)
_FAR_TAIL = (
    "The likelihood has no maximum: seen through their window the rows look like the far tail of the distribution, so "
    "location and sigma run off together. Use another distribution, fix sigma, or record rows nearer to the centre."
)
_NOTHING = 1e-6
_PERFECT = 1e-6  # residual of a perfect fit, in working units
_MOVES, _COUNTS = 0.05, 0.1
_NAMED = 5


@dataclass(frozen=True, slots=True)
class Names:
    """What messages call columns and rows."""

    columns: Sequence[str] | None = None  # of the location; numbers without
    scale: Sequence[str] | None = None  # of log sigma
    describe: Callable[[BoolArray], str | None] | None = None  # from rows (n,) bool to what they have in common

    def listed(self, places: IntArray, *, scale: bool = False) -> str:
        """Columns of the location, or of log sigma, that have some places."""
        names = self.scale if scale else self.columns
        named = [f"column {j}" if names is None else repr(names[j]) for j in places[:_NAMED]]
        if len(places) > _NAMED:
            return f"{', '.join(named)} and {len(places) - _NAMED} more"
        return " and ".join([", ".join(named[:-1]), named[-1]] if len(named) > 1 else named)

    def rows(self, rows: BoolArray, outcome: Outcome) -> str:
        """Number and kind of some rows, and what they have in common."""
        sides = {"left-censored ": np.isneginf(outcome.lower), "right-censored ": np.isposinf(outcome.upper)}
        side = next((word for word, is_so in sides.items() if is_so[rows].all()), "")
        count = int(rows.sum())
        common = None if self.describe is None else self.describe(rows)
        return f"{count} {side}row{'s' * (count > 1)}" + (f" {common}" if common else "")


MORE_STEPS = "Raise max_iter, e.g. method=tg.MLE(max_iter=1000)."
LIMIT = f"The search reached the limit of iterations before a maximum. {MORE_STEPS}"


def explain_partitions(end: Climb, working: Working) -> str:
    """The reason in words, where single rows cannot be looked at."""
    if end.reason == "limit":
        return LIMIT
    return (
        "The likelihood of these partitioned data has no maximum; fit some of the rows as a DataFrame to see which "
        "columns and rows are the cause."
    )


def explain(end: Climb, working: Working, *, outcome: Outcome, design: Designs, names: Names) -> str:
    """The reason in words, with a remedy."""
    cause, state = end.reason, end.state
    exact = int(outcome.exact.sum())
    left = np.isneginf(outcome.lower).all()
    if left or np.isposinf(outcome.upper).all():
        side, where = ("left", "minus") if left else ("right", "plus")
        return (
            f"Every row is {side}-censored, so the likelihood has no maximum: the location goes to {where} infinity. "
            "Record some values or intervals, or use a model with priors."
        )
    if working.q and not (outcome.exact | np.isfinite(outcome.width)).any():
        return (
            "Only limits are known of every row, and they do not determine sigma: the likelihood grows towards 0 or "
            "infinity, or is flat. Fix sigma (a probit has 1), or record some values or intervals."
        )
    windows = any(chunk.window != "open" for chunk in working.chunks)
    if cause == "sigma" or _about_scale(state, working):
        part = None if working.constant else _part_of_sigma(cause, state, working, outcome, design, names)
        return part or (_FAR_TAIL if windows else _all_of_sigma(state, working, exact))
    if cause == "flat":
        rows, directions = _running(state, working, design)
        if not rows.any():
            return _FLAT
        if not (windows and (rows.all() or outcome.exact[rows].any())):  # values hold a location, but in a window
            return _separation(rows, directions, outcome, design, names)
    if windows:
        return _FAR_TAIL
    if cause == "stalled":
        return "No step improves the likelihood any more though its slope is not 0; rescale or simplify the model."
    return f"The search reached the limit of iterations before a maximum ({exact} rows are exact). {MORE_STEPS}"


def _about_scale(state: State, working: Working) -> bool:
    """Whether nothing is known of a log sigma any more, alone or in directions that leave the location as it is."""
    p = working.p
    if bool((np.abs(information(state, working).diagonal[p:]) < _NOTHING).any()):
        return True
    return float((_flat_directions(state, working)[:p] ** 2).sum()) < 0.5


def _all_of_sigma(state: State, working: Working, exact: int) -> str:
    low, high = log_sigmas(working, state.x)
    if low + high > 0.0:
        return (
            "The likelihood has no maximum: sigma goes to infinity, since the rows contradict every finite one. "
            "Check which side each row is censored on, or fix sigma."
        )
    b = state.x[: working.p]
    worst = max(float(np.abs(c.seen.lower - c.Q @ b).max()) if c.kind == "exact" else 0.0 for c in working.chunks)
    reach = f"the location's coefficients ({working.p}) reach"
    if worst > _PERFECT:
        heavy = "the tails of the distribution are so heavy that the others do not forbid it"
        why = f" where {reach} some rows perfectly, since {heavy}"
    else:
        why = f", since {reach} every row perfectly and no limit contradicts it (exact rows: {exact})"
    remedy = "Use fewer columns, or fix sigma" + (" or the shape." if working.free_shape else ".")
    return f"The likelihood has no maximum: sigma goes to 0{why}. {remedy}"


def _part_of_sigma(
    cause: str, state: State, working: Working, outcome: Outcome, design: Designs, names: Names
) -> str | None:
    """Some rows whose sigma runs off, where the others' does not."""
    at = slice(working.p, working.p + working.q)
    tau = design.W @ (working.inverse_V @ state.x[at]) + design.tau_offset
    from_others = tau - np.median(tau)
    moves = np.abs(from_others)
    if cause != "sigma":
        directions = _flat_directions(state, working)[at] * units(state, working)[at, None]
        moves = np.sqrt(((design.W @ (working.inverse_V @ directions)) ** 2).sum(axis=1))
    rows = moves > 0.5 * moves.max()
    columns = _alone(design.W, rows)
    if rows.all() or not len(columns):
        return None
    those, listed = names.rows(rows, outcome), names.listed(np.flatnonzero(design.free_W)[columns], scale=True)
    b = state.x[: working.p]
    location = design.H @ (working.inverse_R @ (working.shift + working.scale * b)) + design.offset
    censored = (np.isinf(outcome.lower) | np.isinf(outcome.upper))[rows]
    contradicted = ((location < outcome.lower) | (location > outcome.upper))[rows]
    if contradicted.any() if censored.all() else from_others[rows].mean() > 0.0:
        why = "goes to infinity, since they contradict every finite one"
    else:
        why = "goes to 0, since the location meets all that is known of them"
    return (
        f"The likelihood has no maximum: sigma of the {those}, told from the others by {listed}, {why}. "
        "Leave the column out of sigma, merge levels, or fix its coefficient."
    )


def _running(state: State, working: Working, design: Designs) -> tuple[BoolArray, Array]:
    """Rows (n,) whose location runs off, and the directions (p, k) in the coefficients in which it does."""
    directions = _flat_directions(state, working)[: working.p]
    in_columns = working.inverse_R @ (directions * units(state, working)[: working.p, None])
    moves = np.sqrt(((design.H @ in_columns) ** 2).sum(axis=1))
    return moves > _MOVES * moves.max(initial=0.0), in_columns


def _separation(rows: BoolArray, directions: Array, outcome: Outcome, design: Designs, names: Names) -> str:
    """Rows that run off together, and the columns that let them."""
    H = design.H
    columns, together = _alone(H, rows), ""
    if not len(columns):
        columns = _contributing(H, directions)
        together = " together" if len(columns) > 1 else ""
    one = len(columns) == 1
    listed = names.listed(np.flatnonzero(design.free_H)[columns])
    those = "the censored rows" if rows.all() else f"the {names.rows(rows, outcome)}"
    return (
        f"The likelihood has no maximum: {listed}{together} separate{'s' * one} {those} from the others, and "
        f"{'its coefficient goes' if one else 'their coefficients go'} to infinity. "
        f"Leave {'it' if one else 'them'} out, or levels together with their rows, on which no other coefficient "
        f"depends; merge levels, fix {'its coefficient' if one else 'a coefficient'}, or use a model with priors."
    )


def _flat_directions(state: State, working: Working) -> Array:
    """Directions of location and scale in their units, (p + q, k), of which the rows as good as nothing tell."""
    values, vectors = information(state, working).reduced().spectrum()
    return vectors[:, values < max(SUSPECT, 2.0 * float(values[0]))]


def _alone(columns: Columns, rows: BoolArray) -> IntArray:
    """Positions of the columns that vary, but not outside these rows."""
    if isinstance(columns, Absorbed):
        inside, outside = (columns.sums(np.where(some, columns.value, 0.0)) for some in (rows, ~rows))
        return np.flatnonzero(columns.join(_is_alone(columns.common, rows), (inside > 0.0) & (outside == 0.0)))
    return np.flatnonzero(_is_alone(columns, rows))


def _is_alone(columns: Array, rows: BoolArray) -> BoolArray:
    outside = columns[~rows]
    if not len(outside):
        return np.zeros(columns.shape[1], dtype=np.bool_)
    return np.asarray((outside == outside[0]).all(axis=0) & ~(columns == columns[0]).all(axis=0))


def _contributing(H: Columns, directions: Array) -> IntArray:
    """Positions of the columns that make up most of these directions; constant ones only where nothing else does."""
    if isinstance(H, Absorbed):
        spread = H.join(np.ptp(H.common, axis=0), H.largest)
    else:
        spread = np.ptp(H, axis=0)
        spread = spread if spread.any() else np.abs(H).max(axis=0)
    sizes = np.abs(directions).max(axis=1, initial=0.0) * spread
    return np.flatnonzero(sizes > _COUNTS * sizes.max())
