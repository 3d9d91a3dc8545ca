"""Whether a climb ended at a maximum, and why not."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from tobitgp.data.outcome import Outcome
from tobitgp.regression.newton import Climb, Step
from tobitgp.regression.sums import State
from tobitgp.regression.working import Working, log_sigmas
from tobitgp.typing import Array, BoolArray

LARGEST_DF = 1000.0
SMALLEST_DF = 0.05
_FAR = 18.0  # sigma 1e-8 or 1e8 of the spread of the response
_SUSPECT = 1e-4  # information of a direction, where an exact row has 1
_FLAT = 1e-9
_NOTHING = 1e-6
_MORE_STEPS = 6


def far(x: Array, working: Working) -> bool:
    """Whether log sigma of a row that tells something about it, or log df, is as good as infinite."""
    if working.free_df and not np.log(SMALLEST_DF) < x[-1] < np.log(LARGEST_DF):
        return True
    if not working.q:
        return False
    low, high = log_sigmas(working, x)
    return low < -_FAR or high > _FAR


def at_large_df(x: Array, working: Working) -> bool:
    """Whether log df left its range upwards."""
    return working.free_df and float(x[-1]) >= np.log(LARGEST_DF)


def verdict(
    end: Climb,
    working: Working,
    function: Callable[[Array], State],
    step: Callable[[State], Step],
) -> tuple[Climb, bool, str]:
    """Whether there is a maximum; a nearly flat direction is followed for some steps to see if it gets flatter.

    Returns
    -------
    end : Climb
    converged : bool
    message : str
        "converged", or the cause: "df", "sigma", "flat", "limit", "stalled".
    """
    if end.reason == "stopped":
        return end, False, "df" if at_large_df(end.state.x, working) else "sigma"
    least = _least_information(end.state, working)[0]
    if least < _FLAT or (
        least < _SUSPECT and _least_information(_onwards(end, function, step), working)[0] < 0.9 * least
    ):
        return end, False, "flat"
    if end.reason == "settled":
        return end, True, "converged"
    return end, False, end.reason


def _onwards(end: Climb, function: Callable[[Array], State], step: Callable[[State], Step]) -> State:
    """The state a few full steps further, however little they gain."""
    state = end.state
    for _ in range(_MORE_STEPS):
        trial = function(step(state).at(1.0))
        if not np.isfinite(trial.value) or not np.isfinite(trial.hessian).all():
            break
        state = trial
    return state


def _least_information(state: State, working: Working) -> tuple[float, Array]:
    """Smallest eigenvalue of the dimensionless information of location and scale, and its direction in x."""
    information = _information(state, working)
    if not len(information):
        return 1.0, np.zeros(0)
    values, vectors = np.linalg.eigh(information)
    return float(values[0]), vectors[:, 0]


def _information(state: State, working: Working) -> Array:
    """Minus the Hessian in location and scale, in units in which exact rows bring an information of about 1."""
    p, q = working.p, working.q
    low, high = log_sigmas(working, state.x)
    unit = np.concatenate([np.full(p, np.exp(0.5 * (low + high))), np.full(q, 1.0 / np.sqrt(len(working.order)))])
    return -state.hessian[: p + q, : p + q] * unit * unit[:, None]


def explain(
    cause: str,
    state: State,
    working: Working,
    outcome: Outcome,
    free: BoolArray,
    names: Sequence[str] | None,
) -> str:
    """The cause in words, with a remedy.

    Parameters
    ----------
    cause : str
        As `verdict` gave it.
    state : State
    working : Working
    outcome : Outcome
    free : (p,) bool array
        Columns whose coefficients were estimated.
    names : sequence of str, length p, or None
    """
    if cause == "df":
        return f"df grew beyond {LARGEST_DF:g}, where it is held: the normal law fits as well and is simpler."
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
    if any(chunk.window != "open" for chunk in working.chunks):
        return (
            "The likelihood has no maximum: seen through their window the rows look like the far tail of the law, so "
            "location and sigma run off together. Use another law, fix sigma, or record rows nearer to the centre."
        )
    if cause == "sigma" or _about_scale(state, working):
        return _sigma_words(state, working, exact)
    if cause == "flat":
        column = _column_words(state, working, free, names)
        return (
            f"The likelihood has no maximum: {column} separates the censored rows from the others, and its coefficient "
            "goes to infinity. Leave it out, merge levels, fix its coefficient, or use a model with priors."
        )
    if cause == "stalled":
        return "No step improves the likelihood any more though its slope is not 0; rescale or simplify the model."
    return f"Not settled when the limit of iterations was reached, with {exact} exact rows; raise max_iter."


def _about_scale(state: State, working: Working) -> bool:
    """Whether nothing is known of a log sigma any more."""
    scale = np.diag(_information(state, working))[working.p :]
    return bool((np.abs(scale) < _NOTHING).any())


def _sigma_words(state: State, working: Working, exact: int) -> str:
    low, high = log_sigmas(working, state.x)
    if low + high > 0.0:
        return (
            "The likelihood has no maximum: sigma goes to infinity, since the rows contradict every finite one. "
            "Check which side each row is censored on, or fix sigma."
        )
    return (
        f"The likelihood has no maximum: sigma goes to 0, since the location's coefficients ({working.p}) reach every "
        f"row perfectly and no limit contradicts it (exact rows: {exact}). Use fewer columns, or fix sigma"
        + (" or df." if working.free_df else ".")
    )


def _column_words(state: State, working: Working, free: BoolArray, names: Sequence[str] | None) -> str:
    """The column in which the flat direction is steepest."""
    direction = _least_information(state, working)[1][: working.p]
    fitted = np.linalg.norm(np.linalg.inv(working.inverse_R), axis=0) * np.abs(working.inverse_R @ direction)
    column = int(np.flatnonzero(free)[int(np.argmax(fitted))])
    return f"column {column}" if names is None else repr(names[column])
