"""Survival of a mixture: of its predictive law, with bands by the delta method."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.data.table import read_table
from tobitgp.mixture import MixtureFit
from tobitgp.results.mixture import scales
from tobitgp.results.mixture.parts import MixtureParts, covariance_of
from tobitgp.results.mixture.scales import MixtureQuantity
from tobitgp.results.survival import STATISTICS, TimeLaw, TimeRows, left_area
from tobitgp.results.terms import find_terms
from tobitgp.typing import Array, Frame

Curve = Callable[[MixtureFit, Array, "float | None"], MixtureQuantity]
CURVES: dict[str, Curve] = {
    "survival": scales.survival,
    "cumulative_hazard": scales.cumulative_hazard,
    "hazard": scales.hazard,
}


@dataclass(frozen=True, slots=True)
class MixtureTimes(TimeLaw):
    """Keeps the protocol of ``TimeLaw``: n rows that are all the same."""

    parts: MixtureParts
    n: int

    @property
    def discrete(self) -> bool:
        """See `TimeLaw`."""
        return self.parts.family.support == "counts"

    def curve(self, of: str, times: Array, after: Array | None, level: float | None) -> dict[str, Array]:
        """See `TimeLaw`."""
        V = None if level is None else covariance_of(self.parts)

        def at(start: float | None) -> dict[str, Array]:
            return _columns(CURVES[of](self.parts.fit, times, start), V, level)

        if after is None:
            return {name: np.broadcast_to(values, (self.n, len(times))) for name, values in at(None).items()}
        starts, back = np.unique(after, return_inverse=True)
        made = [at(float(start)) for start in starts] or [at(None)]
        return {name: np.stack([one[name] for one in made])[back] for name in made[0]}

    def survive(self, times: Array) -> Array:
        """See `TimeLaw`."""
        return np.asarray(self.parts.fit.predictive().logsf(times))

    def percentile(self, p: float, after: Array | None) -> Array:
        """See `TimeLaw`."""
        predictive = self.parts.fit.predictive()
        if after is None:
            return np.full(self.n, predictive.ppf(1.0 - p))
        starts, back = np.unique(after, return_inverse=True)
        return np.array([predictive.remaining(p, float(start)) for start in starts])[back]

    def mean(self) -> Array:
        """See `TimeLaw`."""
        value = scales.finite_mean(self.parts.fit, "predict_median() and predict_percentile(p=) are finite")
        return np.full(self.n, value)

    def clipped(self, t: float, level: float | None) -> dict[str, Array]:
        """See `TimeLaw`; the area below the curve of the predictive law."""
        made = {"mean": left_area(MixtureTimes(self.parts, 1), t, None)}
        if level is not None:
            found = _columns(
                scales.observed(self.parts.fit, np.zeros(1), np.full(1, t)), covariance_of(self.parts), level
            )
            made |= {name: np.clip(found[name], 0.0, t) for name in STATISTICS[1:]}
        return {name: np.repeat(values, self.n) for name, values in made.items()}


def _columns(of: MixtureQuantity, V: Array | None, level: float | None) -> dict[str, Array]:
    made = of.statistics(V, level, se=False)
    return made if level is None else made | {"median": of.centre()}


def times_of_rows(parts: MixtureParts, df: Frame | None, exclude: Any = ()) -> TimeRows:
    """Rows that curves are asked for; one, called 0, without any."""
    find_terms(parts, exclude)
    index = pd.RangeIndex(1) if df is None else read_table(df, []).index
    return TimeRows(index, np.ones(len(index), dtype=np.bool_), MixtureTimes(parts, len(index)))
