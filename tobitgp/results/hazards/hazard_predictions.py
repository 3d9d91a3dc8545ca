"""Numbers of single rows under proportional hazards."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from tobitgp.errors import SpecError
from tobitgp.results.hazards.cell_times import HazardTimes
from tobitgp.results.predict import check_level, check_what, prediction_table, read_questions
from tobitgp.typing import Array, Frame

if TYPE_CHECKING:
    from tobitgp.results.hazards.hazard_results import HazardResults

WHATS = ("median", "quantile", "prob")
_OF = " of proportional hazards"


def predict_hazards(
    results: HazardResults, new: Frame | None, what: str | None, **options: Any
) -> pd.Series[float] | pd.DataFrame:
    """Median times, quantiles and probabilities; see `tobitgp.results.prediction.predict`."""
    what, level, se = check_what(what, WHATS, _OF), check_level(options["interval"]), bool(options["se"])
    asks, listed = read_questions(what, options["q"], options["below"], options["above"])
    asked, times = results._asked(new, options["exclude"])
    numbers = list(asks) if what != "median" else [0.5]
    if what == "prob":
        found = [_probability(times, float(t), level, se, above=options["above"] is not None) for t in numbers]
    else:
        found = [_percentile(times, 1.0 - float(q), level, se) for q in numbers]
    labels = numbers if listed else [what]
    table = dict(zip(labels, found, strict=True))
    return prediction_table(what, asked, table, listed=listed, bands=se or level is not None)


def _percentile(times: HazardTimes, p: float, level: float | None, se: bool) -> dict[str, Array]:
    """Time at which survival falls to p."""
    out = {"estimate": times.percentile(p, None)}
    if se or level is not None:
        out["se"] = times.percentile_error(p)
    if level is not None:
        band = times.percentile_band(p, None, level)
        out |= {name: band[name] for name in ("lower", "upper")}
    times.warn_of_times({name: values for name, values in out.items() if name != "se"}, None)
    return out


def _probability(times: HazardTimes, t: float, level: float | None, se: bool, *, above: bool) -> dict[str, Array]:
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
