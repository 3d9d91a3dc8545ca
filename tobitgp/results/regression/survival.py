"""Survival of a regression: at the estimates, with bands by the delta method."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tobitgp.regression.delta import delta_se, df_slope, interval
from tobitgp.regression.scales import Predictor, Quantity, observed, uncensored
from tobitgp.regression.survival import CURVES, cumulative_hazard, remaining
from tobitgp.results.regression.parts import TobitParts
from tobitgp.results.regression.predict import law_of_rows
from tobitgp.results.rows import Asked
from tobitgp.results.survival import TimeLaw, TimeRows, columns_of
from tobitgp.typing import Array


@dataclass(frozen=True, slots=True)
class EstimatedTimes(TimeLaw):
    """Times of rows, see `TimeLaw`."""

    parts: TobitParts
    rows: Predictor  # of n rows
    H: Array  # (n, p), their designs
    W: Array  # (n, p), their designs

    @property
    def _places(self) -> Predictor:
        """The rows, to be met by several times each."""
        rows = self.rows
        return Predictor(rows.eta[:, None], rows.tau[:, None], rows.law, rows.log_time)

    @property
    def discrete(self) -> bool:
        """See `TimeLaw`."""
        return False

    def curve(self, of: str, times: Array, after: Array | None, level: float | None) -> dict[str, Array]:
        """See `TimeLaw`."""
        start = None if after is None else after[:, None]
        end = np.broadcast_to(times, (len(self.rows.eta), len(times))) if start is None else start + times
        return self._columns(lambda rows: CURVES[of](rows, end, start), self._places, level)

    def survive(self, times: Array) -> Array:
        """See `TimeLaw`."""
        return -cumulative_hazard(self._places, times).value

    def percentile(self, p: float, after: Array | None) -> Array:
        """See `TimeLaw`."""
        return remaining(self.rows, p, after)

    def mean(self) -> Array:
        """See `TimeLaw`."""
        return uncensored(self.rows).value

    def clipped(self, t: float, level: float | None) -> dict[str, Array]:
        """See `TimeLaw`."""
        low, high = np.zeros(len(self.rows.eta)), np.full(len(self.rows.eta), t)
        made = self._columns(lambda rows: observed(rows, low, high), self.rows, level)
        return {name: np.clip(values, 0.0, t) for name, values in made.items()}

    def _columns(self, ask: Callable[[Predictor], Quantity], rows: Predictor, level: float | None) -> dict[str, Array]:
        quantity = ask(rows)

        def ends() -> tuple[Array, Array]:
            slope = df_slope(ask, rows) if self.parts.family.estimate_df else None
            se = delta_se(
                quantity, self.H, self.W, self.parts.covariance, d_log_df=slope, unidentified=self.parts.unidentified
            )
            return interval(quantity.value, se, level or 0.0, quantity.link)

        return columns_of(quantity.value, None if level is None else ends)


def times_of_rows(parts: TobitParts, asked: Asked) -> TimeRows:
    """Rows and the law of their times."""
    rows, W = law_of_rows(parts, asked.design)
    return TimeRows.of(asked, EstimatedTimes(parts, rows, asked.design.H - parts.centre, W))
