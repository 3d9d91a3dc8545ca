"""Numbers of single rows whose times have draws of hazards, and no distribution with a few parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
import pandas as pd

from tobitgp.errors import SpecError
from tobitgp.results.predict import check_level, check_what, prediction_table, read_questions
from tobitgp.results.survival import TimeRows
from tobitgp.typing import Array

WHATS = ("median", "quantile", "prob")


class DrawnTimes(Protocol):
    """Times of rows, and what draws say of how well their numbers are known."""

    def curve(self, of: str, times: Array, after: Array | None, level: float | None) -> dict[str, Array]:
        """A curve of survival."""

    def percentile(self, p: float, after: Array | None) -> Array:
        """Times at which survival falls to p."""

    def percentile_band(self, p: float, after: Array | None, level: float) -> dict[str, Array]:
        """Their quantiles over draws."""

    def percentile_error(self, p: float) -> Array:
        """Their standard deviations."""

    def survival_error(self, t: float) -> Array:
        """Standard deviations of survival at a time."""

    def warn_of_times(self, found: Mapping[str, Array], after: Array | None) -> None:
        """Say what times depend on."""


def predict_times(
    rows: TimeRows, times: DrawnTimes, what: str | None, of: str, **options: Any
) -> pd.Series[float] | pd.DataFrame:
    """Median times, quantiles and probabilities; see `tobitgp.results.prediction.predict`."""
    what, level, se = check_what(what, WHATS, of), check_level(options["interval"]), bool(options["se"])
    asks, listed = read_questions(what, options["q"], options["below"], options["above"])
    numbers = list(asks) if what != "median" else [0.5]
    if what == "prob":
        found = [_probability(times, float(t), level, se, above=options["above"] is not None) for t in numbers]
    else:
        found = [_percentile(times, 1.0 - float(q), level, se) for q in numbers]
    labels = numbers if listed else [what]
    table = dict(zip(labels, found, strict=True))
    return prediction_table(what, rows, table, listed=listed, bands=se or level is not None)


def _percentile(times: DrawnTimes, p: float, level: float | None, se: bool) -> dict[str, Array]:
    """Time at which survival falls to p."""
    out = {"estimate": times.percentile(p, None)}
    if se or level is not None:
        out["se"] = times.percentile_error(p)
    if level is not None:
        band = times.percentile_band(p, None, level)
        out |= {name: band[name] for name in ("lower", "upper")}
    times.warn_of_times({name: values for name, values in out.items() if name != "se"}, None)
    return out


def _probability(times: DrawnTimes, t: float, level: float | None, se: bool, *, above: bool) -> dict[str, Array]:
    """Probability of a time above or below t."""
    if t < 0.0:
        raise SpecError(f"{'above' if above else 'below'}={t:g}: times are positive.")
    found = times.curve("survival", np.array([t]), None, level)
    out = {"estimate": found["mean"][:, 0]}
    if se or level is not None:
        out["se"] = times.survival_error(t)
    if level is not None:
        out |= {name: found[name][:, 0] for name in ("lower", "upper")}
    if not above:
        flipped = {"estimate": 1.0 - out["estimate"]} | ({"se": out["se"]} if "se" in out else {})
        out = flipped | ({"lower": 1.0 - out["upper"], "upper": 1.0 - out["lower"]} if level is not None else {})
    return out
