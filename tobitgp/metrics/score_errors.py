"""Standard errors of scores of right-censored rows, by the influence of rows; (MET17) of the theory pages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
import pandas as pd
from scipy.special import expit, logit, ndtri

from tobitgp.errors import SpecError
from tobitgp.metrics.survival_curves import Judged
from tobitgp.numerics.nonparametric import risk_sets
from tobitgp.typing import Array

_END = 1e-12  # from the end of a scale, where an estimate is at it


def standard_errors(judged: Judged, own: Array, by_weight: Array) -> Array:
    """Standard errors (m,) of scores at the times of the grid.

    ``own`` (m, n) are derivatives in the frequency weights of test rows, ``by_weight`` (m, n) in the logarithms of
    their inverse probabilities of censoring, which the training rows estimate.
    """
    found = np.empty(len(judged.grid))
    for k, t in enumerate(judged.grid):
        of_train = _by_censoring(judged, by_weight[k], t)
        if judged.same:
            total = of_train.copy()
            total[judged.at_risk] += own[k]
            found[k] = judged.train.weight @ total**2
        else:
            found[k] = judged.rows.weight @ own[k] ** 2 + judged.train.weight @ of_train**2
    return np.asarray(np.sqrt(found))


def _by_censoring(judged: Judged, by_weight: Array, t: float) -> Array:
    """Derivatives (n,) of a score in the weights of the training rows, by the estimate of the censoring times."""
    train, rows, after = judged.train, judged.rows, judged.since
    times, censored, at_risk = risk_sets(train.time, ~train.event, train.weight, train.entry)
    place = np.searchsorted(times, train.time)
    died = np.bincount(place, weights=train.weight * train.event, minlength=len(times))
    left = np.maximum(at_risk - died, censored)
    hazard = np.divide(censored, left, out=np.zeros(len(times)), where=censored > 0.0)
    # Of each time the sum over test rows whose weights its hazard enters: events before, others up to t.
    until = np.where(rows.time <= t, np.searchsorted(times, rows.time, "left"), np.searchsorted(times, t, side="right"))
    sums = np.cumsum(np.bincount(until, weights=by_weight, minlength=len(times) + 1)[::-1])[::-1][1:]
    rate = np.divide(sums, left - censored, out=np.zeros(len(times)), where=(left > censored) & (times > after))
    passed = np.append(0.0, np.cumsum(rate * hazard))
    first = np.searchsorted(times, train.entry, side="right")
    return np.asarray(~train.event * rate[place] - (passed[place + ~train.event] - passed[first]))


_SCALES: dict[str, tuple[Callable[[Array], Array], Callable[[Array], Array], Callable[[Array], Array]]] = {
    "plain": (lambda x: x, lambda x: x, np.ones_like),
    "log": (np.log, np.exp, lambda x: 1.0 / x),
    "logit": (logit, expit, lambda x: 1.0 / (x * (1.0 - x))),
}


def with_interval(
    estimate: Array, se: Array, level: float, index: pd.Index, scale: Literal["plain", "log", "logit"] = "plain"
) -> pd.DataFrame:
    """A table of scores with their errors and intervals, symmetric on a scale by the delta method.

    Scores at the end of the scale, which the influence of rows tells nothing about, have NaN.
    """
    if isinstance(level, bool) or not isinstance(level, int | float) or not 0.0 < level < 1.0:
        raise SpecError(f"interval={level!r}: must be a probability between 0 and 1, e.g. 0.95.")
    to, back, slope = _SCALES[scale]
    ends = (estimate <= _END) | ((estimate >= 1.0 - _END) & (scale == "logit"))
    known = ~ends if scale != "plain" else np.ones(len(estimate), dtype=np.bool_)
    lower, upper = np.full((2, len(estimate)), np.nan)
    x = estimate[known]
    reach = float(ndtri(0.5 * (1.0 + level))) * se[known] * slope(x)
    lower[known], upper[known] = back(to(x) - reach), back(to(x) + reach)
    columns = {"estimate": estimate, "se": np.where(known, se, np.nan), "lower": lower, "upper": upper}
    return pd.DataFrame(columns, index=index)
