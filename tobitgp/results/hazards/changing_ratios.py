"""Hazard ratios of coefficients that change over time, ``tv(x)``; (PH3)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from tobitgp.diagnostics.training_draws import training_rows
from tobitgp.distributions.piecewise import band_of
from tobitgp.errors import SpecError
from tobitgp.numerics.sampling import draw_quantiles
from tobitgp.results.fit import Fit
from tobitgp.results.hazard_ratios import usual_value
from tobitgp.results.hazards.hazard_parts import DRAWS, drawn_hazards
from tobitgp.results.predict import check_alpha
from tobitgp.results.survival import read_times
from tobitgp.results.words import HAZARD


def hazard_ratios_over_time(
    results: Fit, column: str | None = None, times: Any = None, alpha: float = 0.05, *, unit: float = 1.0
) -> pd.DataFrame:
    """Hazard ratios of columns in ``tv()`` at some times: the factor of the hazard for one unit of the column.

    This is the table of what :meth:`plot` draws. Other columns are at their medians or first levels, which matters only
    if they interact with the column.

    Parameters
    ----------
    column : str, optional
        A column in ``tv()``; by default all.
    times : float or list of float, optional
        On the scale of the response, from the first entry to the last exit; by default the ends of the bands.
    alpha : float
        Significance level: intervals have probability ``1 - alpha``.
    unit : float
        Change of the column, in its units.

    Returns
    -------
    DataFrame
        Index ``(column, time)``; columns ``coef, se(coef), exp(coef), lower, upper``: posterior mean and standard
        deviation of the log hazard ratio, the ratio, and its equal-tailed interval.

    Raises
    ------
    SpecError
        If no coefficient changes over time, for another column, times outside the follow-up, an ``alpha`` outside 0 to
        1, a ``unit`` that is not a number, or missing training rows.

    References
    ----------
    (PH3) of the theory pages.

    Examples
    --------
    >>> import tobitgp as tg
    >>> lung = tg.datasets.load("lung").dropna(subset=["ph_karno"])
    >>> res = tg.fit("Surv(time, event) ~ age + tv(ph_karno)", lung, family="ph")
    >>> table = res.hazard_ratios_over_time("ph_karno", times=[90, 365], unit=10)
    >>> table["exp(coef)"].round(1).to_dict()
    {('ph_karno', 90.0): 0.7, ('ph_karno', 365.0): 1.0}
    """
    alpha, parts = check_alpha(alpha), results.parts
    training_rows(parts, "hazard_ratios_over_time()")
    varying = {name.strip("`"): name for name in parts.written.varying}
    if not varying:
        raise SpecError("The model has no coefficient that changes over time. Use tv(x) in the formula.")
    if column is not None and column not in varying:
        raise SpecError(
            f"column={column!r}: column must be one of {', '.join(map(repr, varying))}, the columns in tv()."
        )
    if isinstance(unit, bool) or not isinstance(unit, int | float | np.number) or not np.isfinite(unit) or unit == 0.0:
        raise SpecError(f"unit={unit!r}: unit must be a number other than 0.")
    cuts = parts.cuts
    at = cuts[1:] if times is None else read_times(times)
    if (at < cuts[0]).any() or (at > cuts[-1]).any():
        raise SpecError(f"times={times!r}: times must be between {cuts[0]:g} and {cuts[-1]:g}, the last exit.")
    usual = pd.DataFrame({name: [usual_value(results, name)] * 2 for name in parts.state.input_names})
    band, tables = band_of(at, cuts), {}
    for name in [column] if column is not None else varying:
        low = float(usual[name].iloc[0])
        hazards = drawn_hazards(parts, usual.assign(**{name: [low, low + unit]}), cuts, draws=DRAWS).of_bands()
        log = np.log(hazards[1] / hazards[0])[band]
        lower, upper = np.exp(draw_quantiles(log, [0.5 * alpha, 1.0 - 0.5 * alpha]))
        columns = {"coef": log.mean(axis=1), "se(coef)": log.std(axis=1), HAZARD: np.exp(log.mean(axis=1))}
        columns |= {"lower": lower, "upper": upper}
        tables[name] = pd.DataFrame(columns, index=pd.Index(at, name="time"))
    return pd.concat(tables, names=["column", "time"])
