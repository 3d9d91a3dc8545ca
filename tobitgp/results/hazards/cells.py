"""Rows at risk in bands of time, in which the hazard is constant: (PH1) of the theory pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from numbers import Integral, Real
from typing import Any, Literal, NamedTuple

import numpy as np
import pandas as pd

from tobitgp.data.arrays import CensoredResponse
from tobitgp.distributions.piecewise import band_of
from tobitgp.errors import DataError, SpecError
from tobitgp.formula.hazard_formula import BAND, EVENT, EXPOSURE, TIME, WEIGHT
from tobitgp.method_value import MethodValue
from tobitgp.priors.kernels import KERNELS
from tobitgp.typing import Array, BoolArray, IntArray

PARAMETRIC = ("spline", "weibull", "gompertz")
BASELINES = ("gp", "piecewise", *PARAMETRIC)
LINKS = ("hazard", "odds", "probit")
DF = 3
_CUT, _SPLINE = ("gp", "piecewise"), ("spline",)
_GOES_WITH = {"bands": _CUT, "kernel": _CUT, "df": _SPLINE, "link": _SPLINE, "frailty": PARAMETRIC}
BANDS = {"gp": 40, "piecewise": 10}


@dataclass(frozen=True, slots=True, repr=False, eq=False)
class PH(MethodValue):
    """Proportional hazards, given as ``family=tg.PH(baseline="piecewise")``; ``family="ph"`` uses the defaults.

    Parameters
    ----------
    baseline : {"gp", "piecewise", "spline", "weibull", "gompertz"}
        The logarithm of the baseline hazard: a linear effect of log time and a Gaussian process about it, or a constant
        in each band. The others are fitted by maximum likelihood to linear terms, and also support left- and
        interval-censored rows: a natural cubic spline of log time as log cumulative hazard (Royston and Parmar), or a
        hazard that is a power (Weibull) or an exponential function (Gompertz) of time.
    bands : int or list of float, optional
        Number of bands of time, or the times at which they end. By default 40, or as many as needed until doubling them
        changes no coefficient by more than a twentieth of its standard error; 10 for ``"piecewise"``.
    kernel : str
        Kernel of the process.
    df : int, optional
        For ``"spline"``: the number of inner knots plus 1; 3 by default. Knots are the extremes and equally spaced
        quantiles of the log event times, with intervals at their midpoint.
    link : {"hazard", "odds", "probit"}
        For ``"spline"``: what the spline plus the linear terms models, the log cumulative hazard, the log odds of the
        event before t, or minus the probit of survival.
    frailty : {"gamma"}, optional
        For a parametric baseline with ``link="hazard"``: the rows of each group of the term ``(1 | g)`` share a factor
        of their hazards, gamma distributed with mean 1 and variance ``theta``. Coefficients are conditional on the
        frailty; predictions average over the frailty of a new group.

    Raises
    ------
    SpecError
        If an argument has another value, or requires another baseline.

    References
    ----------
    (PH1), (PH2) and (PH5) of the theory pages. P. Royston and M. K. B. Parmar (2002), Flexible parametric
    proportional-hazards and proportional-odds models for censored survival data, *Statistics in Medicine* 21,
    2175-2197.

    Examples
    --------
    >>> import tobitgp as tg
    >>> tg.PH(baseline="piecewise", bands=[100, 300, 600])
    PH(baseline='piecewise', bands=[100, 300, 600])
    >>> tg.PH("spline", df=4)
    PH(baseline='spline', df=4)
    """

    baseline: Literal["gp", "piecewise", "spline", "weibull", "gompertz"] = "gp"
    bands: int | Sequence[float] | None = None
    kernel: str = "matern32"
    df: int | None = None
    link: Literal["hazard", "odds", "probit"] = "hazard"
    frailty: Literal["gamma"] | None = None

    name = "ph"
    log_time = True

    def __post_init__(self) -> None:
        if isinstance(self.bands, np.ndarray | pd.Series):
            object.__setattr__(self, "bands", list(np.ravel(self.bands)))
        if self.baseline not in BASELINES:
            raise SpecError(
                f"PH(baseline={self.baseline!r}): baseline must be one of {', '.join(map(repr, BASELINES))}."
            )
        if self.kernel not in KERNELS:
            raise SpecError(f"PH(kernel={self.kernel!r}): kernel must be one of {', '.join(map(repr, KERNELS))}.")
        if self.link not in LINKS:
            raise SpecError(f"PH(link={self.link!r}): link must be one of {', '.join(map(repr, LINKS))}.")
        if self.df is not None and (not _is_whole(self.df) or self.df < 1):
            raise SpecError(f"PH(df={self.df!r}): df must be a whole number of at least 1.")
        if self.frailty not in (None, "gamma"):
            raise SpecError(f"PH(frailty={self.frailty!r}): frailty must be 'gamma' or None.")
        if self.frailty is not None and self.link != "hazard":
            raise SpecError(f"PH(frailty={self.frailty!r}) requires link='hazard', not {self.link!r}.")
        for field in fields(self)[1:]:
            value, allowed = getattr(self, field.name), _GOES_WITH[field.name]
            if value is not None and value != field.default and self.baseline not in allowed:
                listed = " or ".join(f"baseline={name!r}" for name in allowed)
                raise SpecError(f"PH({field.name}={value!r}) requires {listed}, not {self.baseline!r}.")
        if self.bands is None or (_is_whole(self.bands) and int(self.bands) >= 1):  # type: ignore[arg-type]
            return
        ends = list(self.bands) if isinstance(self.bands, list | tuple) else [None]
        numbers = all(isinstance(end, Real) and 0.0 < float(end) < np.inf for end in ends)
        if not numbers or (np.diff(np.array(ends, dtype=np.float64)) <= 0.0).any():
            raise SpecError(
                f"PH(bands={self.bands!r}): bands must be a number of bands, or increasing positive times at "
                f"which they end."
            )

    def __repr__(self) -> str:
        given = [field.name for field in fields(self)[1:] if getattr(self, field.name) != field.default]
        return f"PH({', '.join(f'{name}={getattr(self, name)!r}' for name in ('baseline', *given))})"


def is_parametric(family: PH) -> bool:
    """Whether the baseline has parameters that are estimated with the linear terms."""
    return family.baseline in PARAMETRIC


def baseline_size(family: PH) -> int:
    """Number of parameters of a parametric baseline other than its level."""
    if family.baseline != "spline":
        return int(is_parametric(family))
    return DF if family.df is None else int(family.df)


def _is_whole(value: object) -> bool:
    return isinstance(value, Integral) and not isinstance(value, bool)


class AtRisk(NamedTuple):
    """When n rows were at risk."""

    entry: Array
    exit: Array
    event: BoolArray
    weight: Array

    def rows(self, at: IntArray) -> AtRisk:
        """Some of them."""
        return AtRisk(self.entry[at], self.exit[at], self.event[at], self.weight[at])


def at_risk(response: CensoredResponse, labels: Any = None) -> AtRisk:
    """Times at which rows came under observation and left it; labels (n,) are for errors."""
    event = response.lower == response.upper
    if (~event & ~np.isposinf(response.upper)).any() or np.isfinite(response.exit).any():
        raise SpecError(
            "family='ph' requires exact or right-censored rows, with late entry or without. For left- or "
            "interval-censored times, use tg.PH('spline') or another parametric baseline, or family='weibull'."
        )
    entry = np.maximum(response.entry, 0.0)
    early = (response.lower <= entry) & (event | (entry > 0.0))
    if labels is not None and early.any():
        listed = ", ".join(map(str, np.asarray(labels)[early][:5]))
        raise DataError(
            f"Rows {listed} end at time 0, or not after their entry. The end of a row must be after its start."
        )
    return AtRisk(entry, response.lower, event, response.weight)


def choose_bands(risk: AtRisk, number: int, *, even: bool) -> Array:
    """Ends of bands from the first entry to the last exit: quantiles of event times, with ``even`` steps of log time.

    Steps end at times of events: between days there are none, and hazards of parts of days would leap. Other ends of
    rows say how follow-up was written, which does not matter.
    """
    times, first, last = risk.exit[risk.event], float(risk.entry.min()), float(risk.exit.max())
    order = np.argsort(times, kind="stable")
    share = np.cumsum(risk.weight[risk.event][order]) / risk.weight[risk.event].sum()
    orders = np.linspace(0.0, 1.0, (number // 2 if even else number) + 1)[1:]
    quantiles = times[order][np.minimum(np.searchsorted(share, orders - 1e-12), len(times) - 1)]
    steps = np.geomspace(max(first, 0.5 * times.min()), last, number - number // 2) if even else np.zeros(0)
    steps = _nearest(steps, np.unique(times[risk.weight[risk.event] > 0.0]))
    cuts = np.unique(np.concatenate([quantiles, steps, [last]]))
    if not even and len(cuts) > 1 and cuts[-2] == times.max() < last:
        cuts = np.delete(cuts, -2)  # a last band without an event would have no hazard
    return np.concatenate([[first], cuts])


def _nearest(values: Array, to: Array) -> Array:
    """The nearest of some rising numbers to each value."""
    after = np.clip(np.searchsorted(to, values), 1, max(len(to) - 1, 1))
    below, above = to[after - 1], to[np.minimum(after, len(to) - 1)]
    return np.where(values - below < above - values, below, above)


def given_bands(risk: AtRisk, ends: Sequence[float]) -> Array:
    """Bands that end at given times, the last at the last exit."""
    first, last = float(risk.entry.min()), float(risk.exit.max())
    return np.array([first, *(float(end) for end in ends if first < end < last), last])


def first_entries(frame: pd.DataFrame, risk: AtRisk, stratum: str | None) -> dict[str, float]:
    """When the first row of each stratum came under observation, by its name; without strata that of all."""
    levels = pd.Series("", frame.index) if stratum is None else frame[stratum.strip("`")].astype(str)
    found = pd.Series(risk.entry).groupby(levels.to_numpy(), sort=True).min()
    return {str(level): float(time) for level, time in found.items()}


def band_labels(cuts: Array) -> list[str]:
    """Names of bands, with five digits, or as many as tell them apart."""
    for digits in range(5, 18):
        ends = [f"{cut:.{digits}g}" for cut in cuts]
        if len(set(ends)) == len(ends):
            break
    return [f"({low}, {high}]" for low, high in pairwise(ends)]


def log_middles(cuts: Array) -> Array:
    """Logarithm of the middle of each band, never that of a row's own time in it."""
    return np.log(0.5 * (cuts[1:] + cuts[:-1]))


def exposures(start: Array, end: Array, cuts: Array) -> Array:
    """Length of the part of (start, end] that lies in each band, (n, K)."""
    return np.clip(np.minimum(end[:, None], cuts[1:]) - np.maximum(start[:, None], cuts[:-1]), 0.0, None)


def events_of_rows(risk: AtRisk, cuts: Array) -> tuple[Array, Array]:
    """Events and exposures (n, K) of one copy of each row in the bands."""
    exposure = exposures(risk.entry, risk.exit, cuts)
    event = np.zeros_like(exposure)
    seen = np.flatnonzero(risk.event)
    event[seen, band_of(risk.exit[seen], cuts)] = 1.0
    return event, exposure


def sum_alike(values: Array, alike: IntArray) -> Array:
    """Sums (A, K) of values (n, K) over rows of the same number ``alike`` (n,)."""
    total = np.zeros((int(alike.max()) + 1, values.shape[1]))
    np.add.at(total, alike, values)
    return total


def make_cells(frame: pd.DataFrame, risk: AtRisk, cuts: Array, stratum: str | None) -> pd.DataFrame:
    """Rows times bands at risk; those of equal covariates in a band are one, with the weight of its events.

    D events in the exposure E are D rows of exposure E / D that end in an event: D log h - E h, (PH1).
    """
    alike = alike_rows(frame)
    first = np.unique(alike, return_index=True)[1]
    events, exposed = (sum_alike(each * risk.weight[:, None], alike) for each in events_of_rows(risk, cuts))
    row, band = np.nonzero(exposed > 0.0)
    D, E = events[row, band], exposed[row, band]
    cells = cell_frame(frame.iloc[first[row]], band, cuts, stratum)
    weight = np.where(D > 0.0, D, 1.0)
    return cells.assign(**{EXPOSURE: E / weight, EVENT: (D > 0.0).astype(int), WEIGHT: weight})


def alike_rows(frame: pd.DataFrame) -> IntArray:
    """A number (n,) for each row, the same of those with the same covariates."""
    if not len(frame.columns):
        return np.zeros(len(frame), dtype=np.intp)
    rows = frame.reset_index(drop=True)  # whose names may be those of columns
    groups = rows.groupby(list(frame.columns), sort=False, dropna=False, observed=True)
    return np.asarray(groups.ngroup(), dtype=np.intp)


def cell_frame(frame: pd.DataFrame, band: IntArray, cuts: Array, stratum: str | None) -> pd.DataFrame:
    """Covariates of rows, each in one band, with its time and name, the stratum in it."""
    names = np.array(band_labels(cuts), dtype=object)
    labels: Any = names[band]
    if stratum is not None:
        of_row = np.array([_level_name(level) for level in frame[stratum.strip("`")]], dtype=object)
        labels = of_row + ": " + labels
        names = np.array([f"{level}: {name}" for level in pd.unique(of_row) for name in names], dtype=object)
    of_band = pd.DataFrame({TIME: log_middles(cuts)[band], BAND: pd.Categorical(labels, pd.Index(names))})
    return pd.concat([frame.reset_index(drop=True), of_band], axis=1)


def _level_name(level: Any) -> str:
    """Text of a level, the same of a number whatever its type."""
    number = isinstance(level, Real | np.number) and not isinstance(level, bool | np.bool_)
    return f"{level:.15g}" if number else str(level)


SAME_TIME = 1e-9  # of a time, below which two are the same


def check_subjects(subject: Any, risk: AtRisk, labels: Any) -> None:
    """Raise an error for rows of a subject that overlap, and an event before its last row."""
    frame = pd.DataFrame({"id": subject, "start": risk.entry, "stop": risk.exit, "event": risk.event, "row": labels})
    frame = frame.sort_values(["id", "start"], kind="stable")
    again = frame["id"].eq(frame["id"].shift())
    before = frame["stop"].shift()
    overlapping = again & (before - frame["start"] > SAME_TIME * before)
    early = again & frame["event"].shift(fill_value=False)
    for wrong, words in (
        (overlapping, "has rows that overlap in time"),
        (early, "has an event before its last row; recurrent events are not supported"),
    ):
        if wrong.any():
            found = frame[wrong]
            listed = ", ".join(map(str, found["row"].head(5)))
            raise DataError(f"id={found['id'].iloc[0]} {words} (rows {listed}).")
