"""Why a climb ended without a maximum, in words."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tobitgp.regression.designs import Designs
from tobitgp.regression.diagnose import LARGEST_DF, SUSPECT, information, units
from tobitgp.regression.outcome import Outcome
from tobitgp.regression.sums import State
from tobitgp.regression.working import Working, log_sigmas
from tobitgp.typing import Array, BoolArray, IntArray

_NOTHING = 1e-6
_MOVES, _COUNTS = 0.05, 0.1
_NAMED = 5


@dataclass(frozen=True, slots=True)
class Names:
    """What messages call columns and rows.

    Attributes
    ----------
    columns, scale : sequence of str or None
        Columns of location and of log sigma; numbers without.
    describe : callable or None
        From rows (n,) bool to what they have in common, such as ``"of level 'b' of 'g'"``, or None.
    """

    columns: Sequence[str] | None = None
    scale: Sequence[str] | None = None
    describe: Callable[[BoolArray], str | None] | None = None

    def column(self, j: int) -> str:
        """A column of the location."""
        return f"column {j}" if self.columns is None else repr(self.columns[j])

    def scale_column(self, j: int) -> str:
        """A column of log sigma."""
        return f"column {j}" if self.scale is None else repr(self.scale[j])

    def rows(self, rows: BoolArray, outcome: Outcome) -> str:
        """Number and kind of some rows, and what they have in common."""
        sides = {"left-censored ": np.isneginf(outcome.lower), "right-censored ": np.isposinf(outcome.upper)}
        side = next((word for word, is_so in sides.items() if is_so[rows].all()), "")
        count = int(rows.sum())
        common = None if self.describe is None else self.describe(rows)
        return f"{count} {side}row{'s' * (count > 1)}" + (f" {common}" if common else "")


def explain(cause: str, state: State, working: Working, outcome: Outcome, design: Designs, names: Names) -> str:
    """The cause in words, with a remedy.

    Parameters
    ----------
    cause : str
        As `verdict` gave it.
    state : State
    working : Working
    outcome : Outcome
    design : Designs
    names : Names

    Returns
    -------
    str
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
        part = None if working.constant else _part_of_sigma(state, working, outcome, design, names)
        return part or _all_of_sigma(state, working, exact)
    if cause == "flat":
        return _separation(state, working, outcome, design, names)
    if cause == "stalled":
        return "No step improves the likelihood any more though its slope is not 0; rescale or simplify the model."
    return f"Not settled when the limit of iterations was reached, with {exact} exact rows; raise max_iter."


def _about_scale(state: State, working: Working) -> bool:
    """Whether nothing is known of a log sigma any more."""
    scale = np.diag(information(state, working))[working.p :]
    return bool((np.abs(scale) < _NOTHING).any())


def _all_of_sigma(state: State, working: Working, exact: int) -> str:
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


def _part_of_sigma(state: State, working: Working, outcome: Outcome, design: Designs, names: Names) -> str | None:
    """Some rows whose sigma runs off, where the others' does not."""
    tau = design.W @ (working.inverse_V @ state.x[working.p : working.p + working.q]) + design.tau_offset
    tau -= np.median(tau)
    edge = tau[np.argmax(np.abs(tau))]
    rows = tau / edge > 0.5
    columns = _alone(design.W, rows)
    if rows.all() or not len(columns):
        return None
    those, listed = names.rows(rows, outcome), _listed(names.scale_column, np.flatnonzero(design.free_W)[columns])
    if edge > 0.0:
        why = "goes to infinity, since they contradict every finite one"
    else:
        why = "goes to 0, since the location reaches them perfectly, or what is known of them asks for no noise"
    return (
        f"The likelihood has no maximum: sigma of the {those}, told from the others by {listed}, {why}. "
        "Leave the column out of sigma, merge levels, or fix its coefficient."
    )


def _separation(state: State, working: Working, outcome: Outcome, design: Designs, names: Names) -> str:
    """Rows that run off together, and the columns that let them."""
    H = design.H
    directions = _flat_directions(state, working)[: working.p]
    in_columns = working.inverse_R @ directions
    moves = np.sqrt(((H @ in_columns) ** 2).sum(axis=1))
    rows = moves > _MOVES * moves.max(initial=0.0)
    columns, together = _alone(H, rows), ""
    if not len(columns):
        columns = _contributing(H, in_columns)
        together = " together" if len(columns) > 1 else ""
    one = len(columns) == 1
    listed = _listed(names.column, np.flatnonzero(design.free_H)[columns])
    those = "the censored rows" if rows.all() else f"the {names.rows(rows, outcome)}"
    return (
        f"The likelihood has no maximum: {listed}{together} separate{'s' * one} {those} from the others, and "
        f"{'its coefficient goes' if one else 'their coefficients go'} to infinity. "
        f"Leave {'it' if one else 'them'} out, merge levels, fix {'its coefficient' if one else 'a coefficient'}, "
        "or use a model with priors."
    )


def _flat_directions(state: State, working: Working) -> Array:
    """Directions in x of location and scale, (p + q, k), of which the rows as good as nothing tell any more."""
    values, vectors = np.linalg.eigh(information(state, working))
    flat = values < max(SUSPECT, 2.0 * float(values[0]))
    return vectors[:, flat] * units(state, working)[:, None]


def _alone(columns: Array, rows: BoolArray) -> IntArray:
    """Positions of the columns that vary, but not outside these rows."""
    outside = columns[~rows]
    if not len(outside):
        return np.zeros(0, dtype=np.intp)
    return np.flatnonzero((outside == outside[0]).all(axis=0) & ~(columns == columns[0]).all(axis=0))


def _contributing(H: Array, directions: Array) -> IntArray:
    """Positions of the columns that make up most of these directions; constant ones only where nothing else does."""
    spread = np.ptp(H, axis=0)
    sizes = np.abs(directions).max(axis=1, initial=0.0) * (spread if spread.any() else np.abs(H).max(axis=0))
    return np.flatnonzero(sizes > _COUNTS * sizes.max())


def _listed(name: Callable[[int], str], columns: IntArray) -> str:
    named = [name(int(j)) for j in columns[:_NAMED]]
    if len(columns) > _NAMED:
        return f"{', '.join(named)} and {len(columns) - _NAMED} more"
    return " and ".join([", ".join(named[:-1]), named[-1]] if len(named) > 1 else named)
