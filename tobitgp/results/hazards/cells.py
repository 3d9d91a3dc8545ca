"""Rows at risk in bands of time, in which the hazard is constant: (PH1) of the theory pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from numbers import Integral, Real
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from tobitgp.data.arrays import CensoredResponse
from tobitgp.errors import DataError, SpecError
from tobitgp.formula.hazards import BAND, EVENT, EXPOSURE, TIME, WEIGHT
from tobitgp.priors.kernels import KERNELS
from tobitgp.typing import Array, BoolArray, IntArray

BASELINES = ("gp", "piecewise")
BANDS = {"gp": 40, "piecewise": 10}


@dataclass(frozen=True, slots=True)
class PH:
    """Proportional hazards, given as ``family=tg.PH(baseline="piecewise")``; ``family="ph"`` is that of the defaults.

    Parameters
    ----------
    baseline : {"gp", "piecewise"}
        The logarithm of the baseline hazard: a Gaussian process of log time, or a constant in each band.
    bands : int or list of float, optional
        Number of bands of time, or the times at which they end. By default 40, or as many as it takes for twice as
        many to move no coefficient by a twentieth of its error; 10 of ``"piecewise"``.
    kernel : str
        Of the process.

    Raises
    ------
    SpecError
        If an argument is none of these.

    References
    ----------
    (PH1) and (PH2) of the theory pages.

    Examples
    --------
    >>> import tobitgp as tg
    >>> tg.PH(baseline="piecewise", bands=[100, 300, 600])
    PH(baseline='piecewise', bands=[100, 300, 600], kernel='matern32')
    """

    baseline: Literal["gp", "piecewise"] = "gp"
    bands: int | Sequence[float] | None = None
    kernel: str = "matern32"

    name = "ph"
    log_time = True

    def __post_init__(self) -> None:
        if self.baseline not in BASELINES:
            other = {"weibull": "family='weibull' has it, with hazard_ratios()"}.get(str(self.baseline), "")
            raise SpecError(
                f"PH(baseline={self.baseline!r}): 'gp' or 'piecewise' is needed{'; ' * bool(other)}{other}."
            )
        if self.kernel not in KERNELS:
            raise SpecError(f"PH(kernel={self.kernel!r}): one of {', '.join(map(repr, KERNELS))} is needed.")
        if self.bands is None:
            return
        if isinstance(self.bands, Integral) and not isinstance(self.bands, bool) and int(self.bands) >= 1:
            return
        if isinstance(self.bands, np.ndarray | pd.Series):
            object.__setattr__(self, "bands", list(np.ravel(self.bands)))
        ends = list(self.bands) if isinstance(self.bands, list | tuple) else [None]
        numbers = all(isinstance(end, Real) and 0.0 < float(end) < np.inf for end in ends)
        if not numbers or (np.diff(np.array(ends, dtype=np.float64)) <= 0.0).any():
            raise SpecError(
                f"PH(bands={self.bands!r}): a number of bands, or rising positive times at which they end, is needed."
            )


class AtRisk(NamedTuple):
    """When n rows were at risk."""

    entry: Array
    exit: Array
    event: BoolArray
    weight: Array


def at_risk(response: CensoredResponse, labels: Any = None) -> AtRisk:
    """Times at which rows came under observation and left it; labels (n,) are for errors."""
    event = response.lower == response.upper
    if (~event & ~np.isposinf(response.upper)).any() or np.isfinite(response.exit).any():
        raise SpecError(
            "family='ph' takes rows that are right-censored or exact, with late entry or without; times that are "
            "left- or interval-censored go with the other families of times, as family='weibull'."
        )
    if not event.any():
        raise DataError("No event was seen, and family='ph' has nothing to learn hazards from.")
    entry = np.maximum(response.entry, 0.0)
    early = (response.lower <= entry) & (event | (entry > 0.0))
    if labels is not None and early.any():
        listed = ", ".join(map(str, np.asarray(labels)[early][:5]))
        raise DataError(
            f"Rows {listed} end at time 0, or not after their entry; the end of a row comes after its start."
        )
    return AtRisk(entry, response.lower, event, response.weight)


def choose_bands(risk: AtRisk, number: int, *, even: bool) -> Array:
    """Ends of bands from 0 to the last exit: quantiles of event times, with ``even`` every other step of log time."""
    times, last = risk.exit[risk.event], float(risk.exit.max())
    order = np.argsort(times, kind="stable")
    share = np.cumsum(risk.weight[risk.event][order]) / risk.weight[risk.event].sum()
    orders = np.linspace(0.0, 1.0, (number // 2 if even else number) + 1)[1:]
    quantiles = times[order][np.minimum(np.searchsorted(share, orders - 1e-12), len(times) - 1)]
    steps = np.geomspace(0.5 * times.min(), last, number - number // 2) if even else np.zeros(0)
    cuts = np.unique(np.concatenate([quantiles, steps, [last]]))
    if not even and len(cuts) > 1 and cuts[-2] == times.max() < last:
        cuts = np.delete(cuts, -2)  # a last band without an event would have no hazard
    return np.concatenate([[0.0], cuts])


def given_bands(risk: AtRisk, ends: Sequence[float]) -> Array:
    """Bands that end at given times, the last at the last exit."""
    last = float(risk.exit.max())
    return np.array([0.0, *(float(end) for end in ends if end < last), last])


def band_labels(cuts: Array) -> list[str]:
    """Names of bands."""
    return [f"({low:.5g}, {high:.5g}]" for low, high in pairwise(cuts)]


def log_middles(cuts: Array) -> Array:
    """Logarithm of the middle of each band, never that of a row's own time in it."""
    return np.log(0.5 * (cuts[1:] + cuts[:-1]))


def exposures(start: Array, end: Array, cuts: Array) -> Array:
    """Length of the part of (start, end] that lies in each band, (n, K)."""
    return np.clip(np.minimum(end[:, None], cuts[1:]) - np.maximum(start[:, None], cuts[:-1]), 0.0, None)


def band_of(times: Array, cuts: Array) -> IntArray:
    """The band in which each time lies, the last of later ones."""
    return np.clip(np.searchsorted(cuts, times, side="left") - 1, 0, len(cuts) - 2)


def make_cells(frame: pd.DataFrame, risk: AtRisk, cuts: Array, stratum: str | None) -> pd.DataFrame:
    """Rows times bands at risk; those of equal covariates in a band are one, with the weight of its events.

    D events in the exposure E are D rows of exposure E / D that end in an event: D log h - E h, (PH1).
    """
    exposure = exposures(risk.entry, risk.exit, cuts) * risk.weight[:, None]
    event = np.zeros_like(exposure)
    seen = np.flatnonzero(risk.event)
    event[seen, band_of(risk.exit[seen], cuts)] = risk.weight[seen]
    alike = alike_rows(frame)
    first = np.unique(alike, return_index=True)[1]
    totals = []
    for values in (exposure, event):
        total = np.zeros((len(first), values.shape[1]))
        np.add.at(total, alike, values)
        totals.append(total)
    row, band = np.nonzero(totals[0] > 0.0)
    E, D = (total[row, band] for total in totals)
    cells = cell_frame(frame.iloc[first[row]], band, cuts, stratum)
    weight = np.where(D > 0.0, D, 1.0)
    return cells.assign(**{EXPOSURE: E / weight, EVENT: (D > 0.0).astype(int), WEIGHT: weight})


def alike_rows(frame: pd.DataFrame) -> IntArray:
    """A number (n,) for each row, the same of those with the same covariates."""
    if not len(frame.columns):
        return np.zeros(len(frame), dtype=np.intp)
    groups = frame.groupby(list(frame.columns), sort=False, dropna=False, observed=True)
    return np.asarray(groups.ngroup(), dtype=np.intp)


def cell_frame(frame: pd.DataFrame, band: IntArray, cuts: Array, stratum: str | None) -> pd.DataFrame:
    """Covariates of rows, each in one band, with its time and name, the stratum in it."""
    names = np.array(band_labels(cuts), dtype=object)
    labels: Any = names[band]
    if stratum is not None:
        of_row = frame[stratum.strip("`")].astype(str).to_numpy()
        labels = of_row + ": " + labels
        names = np.array([f"{level}: {name}" for level in pd.unique(of_row) for name in names], dtype=object)
    of_band = pd.DataFrame({TIME: log_middles(cuts)[band], BAND: pd.Categorical(labels, pd.Index(names))})
    return pd.concat([frame.reset_index(drop=True), of_band], axis=1)


def check_subjects(subject: Any, risk: AtRisk, labels: Any) -> None:
    """Refuse rows of a subject that overlap, and an event before its last row."""
    frame = pd.DataFrame({"id": subject, "start": risk.entry, "stop": risk.exit, "event": risk.event, "row": labels})
    frame = frame.sort_values(["id", "start"], kind="stable")
    again = frame["id"].eq(frame["id"].shift())
    overlapping = again & (frame["start"] < frame["stop"].shift())
    early = again & frame["event"].shift(fill_value=False)
    for wrong, words in (
        (overlapping, "has rows that overlap in time"),
        (early, "has an event before its last row; recurrent events are not supported"),
    ):
        if wrong.any():
            found = frame[wrong]
            listed = ", ".join(map(str, found["row"].head(5)))
            raise DataError(f"id={found['id'].iloc[0]} {words} (rows {listed}).")
