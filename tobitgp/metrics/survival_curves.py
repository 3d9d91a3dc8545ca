"""Survival curves of any model in test rows, and weights of rows by the inverse probability of censoring."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

import numpy as np
import pandas as pd

from tobitgp.errors import DataError, SpecError
from tobitgp.metrics.metric_arguments import RightCensored, check_order, read_both, read_bounds, read_column
from tobitgp.numerics.nonparametric import risk_sets
from tobitgp.typing import Array, BoolArray, IntArray

Interpolation = Literal["linear", "step"]
_ROUNDING = 1e-6


@dataclass(frozen=True, slots=True)
class Curves:
    """Survival curves on a grid."""

    times: Array  # (m,), ascending; the first is 0 where the grid is of positive times
    survival: Array  # (m, n)
    step: bool  # whether curves are constant from one time of the grid to the next, not linear

    def at(self, time: Array, row: IntArray | slice, what: str) -> Array:
        """Survival at times (q,): of one row each, or of a slice of the rows at every time."""
        outside = (time < self.times[0]) | (time > self.times[-1])
        if outside.any():
            raise DataError(
                f"{what} {time[outside][0]:g} is outside the times {self.times[0]:g} to {self.times[-1]:g} of "
                "survival_frame. Predict the curves up to this time, or choose times within."
            )
        left = np.searchsorted(self.times, time, side="right") - 1
        if self.step or len(self.times) == 1:
            return self.survival[left, row]
        right = np.minimum(left + 1, len(self.times) - 1)
        gap = self.times[right] - self.times[left]
        share = np.divide(time - self.times[left], gap, out=np.zeros(len(time)), where=gap > 0.0)
        if isinstance(row, slice):
            share = share[:, None]
        return np.asarray((1.0 - share) * self.survival[left, row] + share * self.survival[right, row])


def read_curves(
    frame: Any, n: int | None, interpolation: Interpolation, time: Any = None, incidence: float | None = None
) -> Curves:
    """Curves from a table with times in the index and a column for each row, matched to ``time`` by position.

    With ``incidence``, a time, the table contains incidences of a cause from that time on; curves are one minus these.
    """
    if interpolation not in get_args(Interpolation):
        raise SpecError(f'interpolation={interpolation!r}: must be "linear" or "step".')
    if not isinstance(frame, pd.DataFrame):
        raise SpecError(
            "survival_frame= must be a DataFrame with times in the index and a column for each row, as returned by "
            f"predict_survival_function(), not {type(frame).__name__}."
        )
    if frame.columns.nlevels == 1:
        check_order(time=time, **{"the columns of survival_frame": pd.Series(0.0, index=frame.columns)})
    elif frame.columns.nlevels == 2 and "mean" in frame.columns.get_level_values(1):
        frame = frame.xs("mean", axis=1, level=1)
    times = read_column("The index of survival_frame", frame.index)
    if (times < 0.0).any():
        raise DataError(f"The index of survival_frame holds {times.min():g}: times must be 0 or more.")
    survival = _numbers(frame)
    if n is not None and survival.shape[1] != n:
        turned = " Transpose it." if len(times) == n else ""
        raise DataError(f"survival_frame= has {survival.shape[1]} columns, but must have {n}, one per row.{turned}")
    order = np.argsort(times)
    times, survival = times[order], np.clip(survival[order], 0.0, 1.0)
    if (np.diff(times) == 0.0).any():
        raise DataError(f"The index of survival_frame holds {times[1:][np.diff(times) == 0.0][0]:g} more than once.")
    if incidence is not None:
        survival = _no_incidence(times, survival, incidence, frame.columns)
    else:
        rule = "Survival must not rise over time. Give S(t), not the incidence 1 - S(t)"
        _refuse_rises(times, survival, frame.columns, "rises at time {}", rule)
    since = incidence or 0.0
    if times[0] > since:
        times, survival = np.append(since, times), np.vstack([np.ones(survival.shape[1]), survival])
    return Curves(times, survival, interpolation == "step")


def _refuse_rises(times: Array, survival: Array, columns: pd.Index, what: str, rule: str) -> None:
    """Raise an error for survival curves that rise, rounding aside."""
    rises = survival - np.minimum.accumulate(survival, axis=0) > _ROUNDING
    if rises.any():
        wrong = np.flatnonzero(rises.any(axis=0))
        at, more = times[np.argmax(rises[:, wrong[0]])], f" and {len(wrong) - 1} more" if len(wrong) > 1 else ""
        raise DataError(f"survival_frame= {what.format(f'{at:g}')} in column {columns[wrong[0]]!r}{more}. {rule}.")


def _no_incidence(times: Array, incidence: Array, since: float, columns: pd.Index) -> Array:
    """One minus cumulative incidences, which rise, from a landmark on."""
    rule = "With cause=, it must hold the cumulative incidence of that cause, which rises"
    _refuse_rises(times, 1.0 - incidence, columns, "falls at time {}", rule)
    if since and (incidence[times <= since] > _ROUNDING).any():
        raise DataError(
            f"survival_frame= holds incidence before the landmark {since:g}. Give the incidence conditional on no "
            "event by then, (F(t) - F(s)) / S(s) for the landmark s, with the times t in the index."
        )
    return 1.0 - incidence


def survival_at(survival_frame: pd.DataFrame, time: Any, *, interpolation: Interpolation = "linear") -> Array:
    """Each row's probability of survival at its own time.

    Parameters
    ----------
    survival_frame : DataFrame
        Times in the index, a column for each of the n rows; see `brier_score`.
    time : (n,) array
        Times on the scale of the index. Survival is 1 at -inf and 0 at inf, so ends of intervals can be given.
    interpolation : {"linear", "step"}
        See `brier_score`.

    Returns
    -------
    (n,) array

    Raises
    ------
    DataError
        If a time is outside the curves.
    SpecError
        If ``survival_frame`` contains no curves.

    Examples
    --------
    >>> frame = pd.DataFrame({"a": [0.9, 0.5], "b": [0.8, 0.7]}, index=[1.0, 3.0])
    >>> print(survival_at(frame, [2.0, 3.0]), survival_at(frame, [2.0, 3.0], interpolation="step"))
    [0.7 0.7] [0.9 0.7]
    """
    curves = read_curves(survival_frame, None, interpolation, time)
    own = read_column("time", time, curves.survival.shape[1], infinite=True)
    known = np.flatnonzero(np.isfinite(own))
    out = np.where(own > 0.0, 0.0, 1.0)
    out[known] = curves.at(own[known], known, "Time")
    return out


def _numbers(frame: pd.DataFrame) -> Array:
    """Probabilities, rounding aside."""
    try:
        survival = frame.to_numpy(dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError("survival_frame= must contain numbers, the survival probabilities.") from None
    bad = ~((survival >= -_ROUNDING) & (survival <= 1.0 + _ROUNDING))
    if bad.any():
        at, column = np.argwhere(bad)[0]
        raise DataError(
            f"survival_frame= holds {survival[at, column]:g} at time {frame.index[at]} in column "
            f"{frame.columns[column]!r}: values must be probabilities."
        )
    return survival


Strata = dict[Any, BoolArray]


def read_strata(stratify: Any, y: Array, kinds: Strata | None = None) -> Strata | None:
    """Strata of rows that are reported separately; ``kinds`` is the meaning of True."""
    if stratify is None:
        return None
    if stratify is True and kinds is not None:
        return kinds
    if isinstance(stratify, tuple):
        return _by_limits(stratify, y)
    if isinstance(stratify, (str, bool)) or pd.api.types.is_scalar(stratify):
        also = ", or True for the rows' own censoring" if kinds is not None else ""
        raise SpecError(f"stratify={stratify!r}: must be a tuple of two limits, or one label per row{also}.")
    labels = pd.Series(stratify).reset_index(drop=True)
    if len(labels) != len(y):
        raise DataError(f"stratify= has {len(labels)} labels, but must have {len(y)}.")
    if labels.isna().any():
        raise DataError(f"stratify= is missing in row {int(np.argmax(labels.isna()))} (counted from 0).")
    codes, levels = pd.factorize(labels, sort=True)
    return {level: codes == k for k, level in enumerate(levels)}


def average(name: str, losses: Array, strata: Strata | None, contributions: bool = False) -> float | pd.Series[float]:
    """Mean over all rows, or with strata a table of means; (MET10) of the theory pages."""
    mean = float(losses.mean())
    if strata is None:
        return mean
    values = {"all": mean}
    for label, rows in strata.items():
        count = len(losses) if contributions else int(rows.sum())
        values[label] = float(losses[rows].sum() / count) if count else np.nan
    return pd.Series(values, name=name)


def _by_limits(limits: tuple[Any, ...], y: Array) -> Strata:
    """Rows at or below the lower limit, between, and at or above the upper limit."""
    if len(limits) != 2:
        raise SpecError(f"stratify= must be a tuple of two limits, (lower, upper), not of {len(limits)}.")
    lower, upper = limits
    if lower is None and upper is None:
        raise SpecError("stratify=(None, None): must contain at least one limit.")
    low, high = read_bounds(y, None, lower, upper, len(y), "y")
    below, above = np.isinf(low), np.isinf(high)
    strata = {"below": below, "inside": ~below & ~above, "above": above}
    if lower is None or np.all(np.asarray(lower) == -np.inf):
        del strata["below"]
    if upper is None or np.all(np.asarray(upper) == np.inf):
        del strata["above"]
    return strata


@dataclass(frozen=True, slots=True)
class CensoringTimes:
    """Kaplan-Meier estimate of the distribution of censoring times."""

    times: Array  # (m,), at which a row ended, ascending
    survival: Array  # (m,), estimated probability of being censored later than each
    censored: bool  # whether any row was

    def weights(self, time: Array, what: str, *, event: bool = False) -> Array:
        """One over the probability of being censored later than each time, or of events, at it or later."""
        after = np.searchsorted(self.times, time, side="left" if event else "right")
        value = np.append(1.0, self.survival)[after]
        outside = (value <= 0.0) | ((time > self.times[-1]) & self.censored)
        if outside.any():
            known = self.times[self.survival > 0.0]
            reach = f"only up to time {known[-1]:g}" if len(known) else "at none of its times"
            raise DataError(
                f"{what} {time[outside].min():g} (one of {outside.sum()} such times) cannot be weighted: the rows of "
                f"train determine the probability of not being censored {reach}. Choose earlier times, or training "
                "rows that were followed longer."
            )
        return np.asarray(1.0 / value)


def censoring_times(rows: RightCensored, after: float = -np.inf) -> CensoringTimes:
    """Estimate when rows are censored, from times at which events come before censorings."""
    times, censored, at_risk = risk_sets(rows.time, ~rows.event, rows.weight, rows.entry)
    died = np.bincount(np.searchsorted(times, rows.time), weights=rows.weight * rows.event, minlength=len(times))
    hazard = np.divide(censored, np.maximum(at_risk - died, censored), out=np.zeros(len(times)), where=censored > 0.0)
    hazard[times <= after] = 0.0
    return CensoringTimes(times, np.asarray(np.cumprod(1.0 - hazard)), bool(censored.any()))


class Judged(NamedTuple):
    """Test rows at risk with weights above 0, and predictions for them at some times."""

    rows: RightCensored
    censoring: CensoringTimes  # of the training rows
    grid: Array  # (m,), times
    values: Array  # (m, n), survival, one minus the incidence of the requested cause, or scores
    train: RightCensored  # the training rows
    at_risk: BoolArray  # which of all test rows are evaluated
    since: float  # the landmark

    @property
    def same(self) -> bool:
        """Whether the rows that are judged are training rows."""
        return len(self.at_risk) == len(self.train.time) and all(
            np.array_equal(one, other[self.at_risk]) for one, other in zip(self.rows, self.train, strict=True)
        )

    def event_weights(self) -> Array:
        """Inverse probabilities (n,) of not being censored before one's event, 0 without an event by the last time."""
        time, out = self.rows.time, np.zeros(len(self.rows.time))
        needed = self.rows.event & (time <= self.grid.max())
        out[needed] = self.censoring.weights(time[needed], "The event of a test row at time", event=True)
        return out


def read_judged(
    train: Any,
    test: Any,
    frame: Any,
    times: Any,
    *,
    interpolation: Interpolation,
    entry: Any,
    weights: Any,
    landmark: Any,
    cause: Any,
    scored: bool = False,
) -> Judged:
    """Arguments of a measure; ``frame`` holds survival curves, or where ``scored`` a score for each row."""
    seen, rows = read_both(train, test, entry, weights, cause)
    n = len(rows.time)
    since, at_risk = _read_landmark(landmark, rows)
    if scored:
        check_order(**{"the time of test": test[0], "survival_frame": frame})
        score = read_column("survival_frame", frame, n, infinite=True)
    else:
        curves = read_curves(frame, n, interpolation, test[0], None if cause is None else since)
    if times is None:
        if scored:
            raise DataError("times= must be given with scores.")
        times = frame.index[frame.index >= since]
    grid = _read_times(times, rows.time[at_risk], since)
    if scored:
        values = np.broadcast_to(score, (len(grid), n))
    else:
        values = curves.at(grid, slice(None), "Time")
        before = curves.at(np.array([since]), slice(None), "Landmark") if since else np.ones((1, n))
        values = np.divide(values, before, out=np.zeros_like(values), where=before > 0.0)
    of_train = censoring_times(seen, since)
    return Judged(rows.rows(at_risk), of_train, grid, values[:, at_risk], seen, at_risk, since)


def _read_landmark(landmark: Any, rows: RightCensored) -> tuple[float, BoolArray]:
    """Time from which on rows are judged, and which rows are at risk then."""
    late = rows.entry > 0.0
    if landmark is None:
        if late.any():
            raise DataError(
                f"{late.sum()} of the {len(late)} test rows entered after time 0, so nothing is known before "
                "their entry. Choose a time from which rows at risk are evaluated, e.g. landmark=10."
            )
        return 0.0, rows.weight > 0.0
    if not isinstance(landmark, (int, float, np.number)) or isinstance(landmark, bool):
        raise SpecError(f"landmark={landmark!r}: must be a time.")
    last = rows.time.max()
    if not 0.0 <= landmark < last:
        raise DataError(f"landmark={landmark:g}: must be 0 or more and below {last:g}, the last time of test.")
    at_risk = (rows.entry <= landmark) & (landmark < rows.time) & (rows.weight > 0.0)
    if not at_risk.any():
        raise DataError(f"landmark={landmark:g}: no test row is at risk then. Choose an earlier time.")
    return float(landmark), at_risk


def _read_times(times: Any, followed: Array, since: float) -> Array:
    """Times at which test rows are judged."""
    grid = read_column("times", [times] if pd.api.types.is_scalar(times) else times)
    last = followed.max()
    bad = (grid < since) | (grid >= last)
    if bad.any():
        first = f"{since:g}, the landmark, or more" if since else "0 or more"
        raise DataError(
            f"times= holds {grid[bad][0]:g}: times must be {first}, and below {last:g}, the longest time in test, "
            "after which nothing is known about its rows."
        )
    return grid
