"""Weights of rows: by the inverse probability of censoring, and averages in strata; (MET10) of the theory pages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.errors import DataError, SpecError
from tobitgp.metrics.read import RightCensored, read_bounds
from tobitgp.numerics.nonparametric import risk_sets
from tobitgp.typing import Array, BoolArray

Strata = dict[Any, BoolArray]


def read_strata(stratify: Any, y: Array, kinds: Strata | None = None) -> Strata | None:
    """Which rows are reported apart.

    Shapes: y, kinds (n,); gives (n,).
    """
    if stratify is None:
        return None
    if stratify is True and kinds is not None:
        return kinds
    if isinstance(stratify, tuple):
        return _by_limits(stratify, y)
    if isinstance(stratify, (str, bool)) or pd.api.types.is_scalar(stratify):
        also = ", or True for the rows' own censoring" if kinds is not None else ""
        raise SpecError(f"stratify={stratify!r}: a tuple of two limits, or one label a row, is needed{also}.")
    labels = pd.Series(stratify).reset_index(drop=True)
    if len(labels) != len(y):
        raise DataError(f"stratify has {len(labels)} labels where {len(y)} are needed.")
    if labels.isna().any():
        raise DataError(f"stratify is missing in row {int(np.argmax(labels.isna()))} (counted from 0).")
    codes, levels = pd.factorize(labels, sort=True)
    return {level: codes == k for k, level in enumerate(levels)}


def average(name: str, losses: Array, strata: Strata | None, contributions: bool = False) -> float | pd.Series[float]:
    """Mean over all rows, or with strata a table of means.

    Shapes: losses, strata (n,).
    """
    if strata is None:
        return float(losses.mean())
    values = {"all": float(losses.mean())}
    for label, rows in strata.items():
        count = len(losses) if contributions else int(rows.sum())
        values[label] = float(losses[rows].sum() / count) if count else np.nan
    return pd.Series(values, name=name)


def _by_limits(limits: tuple[Any, ...], y: Array) -> Strata:
    """Rows at or below the lower limit, between, and at or above the upper limit."""
    if len(limits) != 2:
        raise SpecError(f"stratify=: a tuple of two limits, (lower, upper), is needed, not of {len(limits)}.")
    lower, upper = limits
    if lower is None and upper is None:
        raise SpecError("stratify=(None, None): one limit at least is needed.")
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
    """Kaplan and Meier's estimate of the distribution of censoring times."""

    times: Array  # (m,), at which a row ended, ascending
    survival: Array  # (m,), estimated probability of being censored later than each
    censored: bool  # whether any row was

    def weights(self, time: Array, what: str, *, event: bool = False) -> Array:
        """One over the probability of being censored later than each time, or of events, at it or later.

        Shapes: time (q,); gives (q,).
        """
        after = np.searchsorted(self.times, time, side="left" if event else "right")
        value = np.append(1.0, self.survival)[after]
        outside = (value <= 0.0) | ((time > self.times[-1]) & self.censored)
        if outside.any():
            known = self.times[self.survival > 0.0]
            reach = f"only up to time {known[-1]:g}" if len(known) else "at none of its times"
            raise DataError(
                f"{what} {time[outside].min():g} (one of {outside.sum()} such times) cannot be weighted: the rows of "
                f"train say how probable it is not to be censored {reach}. Ask for earlier times, or take as train "
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
