"""Summaries of samples with non-detects: what each method says of each group, and their tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from tobitgp.nondetects.sample_results import percent, report, sample_table
from tobitgp.typing import Array

if TYPE_CHECKING:
    from tobitgp.results.summary import FitSummary


@dataclass(frozen=True, slots=True)
class MethodSummary:
    """What one method says of one group, by (NDT1) to (NDT8) of the theory pages.

    Attributes
    ----------
    method, label : str
        Its short name, and that of tables.
    mean, sd : float
        In the units of the response; NaN where the method has none.
    lower, upper : float
        Limits of the mean, in the same units.
    interval : str
        How they were computed.
    percentiles : dict of float
        By probability, in the same units; NaN where only a limit is known that it lies below.
    below : float
        That limit, in the same units.
    monte_carlo_error : float
        Standard error of the limits by simulation, the larger one, in the same units; 0 without simulation.
    redrawn : int
        Resamples drawn again, since they had fewer than two distinct detects.
    """

    method: str
    label: str
    mean: float
    sd: float
    lower: float
    upper: float
    interval: str
    percentiles: dict[float, float]
    below: float
    monte_carlo_error: float = 0.0
    redrawn: int = 0


@dataclass(frozen=True, slots=True)
class GroupSummary:
    """One group: its sample, what every method says of it by (NDT1) to (NDT8), and what is to be known.

    Attributes
    ----------
    name : str
        The group, or the response where there are none.
    n, nondetects : int
        Rows, and how many of them are non-detects.
    limits : (m,) array
        Distinct detection limits, in the units of the response.
    choice : str
        Which method this share of non-detects calls for.
    methods : tuple
        What each method says.
    exceedance : tuple of float, or None
        Share of detects above the highest limit with its limits, probabilities, where over 80% are non-detects, or
        there are fewer than two distinct detects.
    notes : tuple of str
        What else is to be known.
    levels : tuple of str
        The value of each column of groups.
    """

    name: str
    n: int
    nondetects: int
    limits: Array
    choice: str
    methods: tuple[MethodSummary, ...]
    exceedance: tuple[float, float, float] | None
    notes: tuple[str, ...]
    levels: tuple[str, ...]


@dataclass(frozen=True, slots=True, repr=False)
class SampleSummary:
    """Summaries of one sample or of groups, by (NDT1) to (NDT8) of the theory pages; prints as its tables.

    Attributes
    ----------
    response : str
        What was summarised.
    groups : tuple of GroupSummary
        One for each group, or one.
    percentiles : tuple of float
        Probabilities.
    confidence : float
        Of the limits of the mean, a probability.
    by : tuple of str
        Columns of the groups.
    """

    response: str
    groups: tuple[GroupSummary, ...]
    percentiles: tuple[float, ...]
    confidence: float
    by: tuple[str, ...]

    def summary_frame(self) -> pd.DataFrame:
        """A row for each group and method, in the units of the response; several columns of groups are levels.

        Columns are ``n, nondetects, share, mean, sd, lower, upper, interval, mc_error``, one for each percentile, such
        as ``p50``, and ``below``, the limit that percentiles lie below which are NaN.
        """
        names, rows = self.by if len(self.by) > 1 else ["group"], {}
        for group in self.groups:
            for found in group.methods:
                rows[*group.levels, found.method] = {
                    "n": group.n,
                    "nondetects": group.nondetects,
                    "share": group.nondetects / group.n,
                    "mean": found.mean,
                    "sd": found.sd,
                    "lower": found.lower,
                    "upper": found.upper,
                    "interval": found.interval,
                    "mc_error": found.monte_carlo_error,
                    **{_column(p): value for p, value in found.percentiles.items()},
                    "below": found.below if any(np.isnan(v) for v in found.percentiles.values()) else np.nan,
                }
        index = pd.MultiIndex.from_tuples(rows, names=[*names, "method"])
        return pd.DataFrame(list(rows.values()), index=index)

    def summary(self) -> FitSummary:
        """All groups as statsmodels prints them: samples, a table of methods each, and notes, the choice among them."""
        from tobitgp.results.summary import Section, interval_headers

        samples = sample_table({group.name: (group.n, group.nondetects, group.limits) for group in self.groups})
        ends = interval_headers(1.0 - self.confidence)
        headers = ["mean", "sd", *ends, *map(_column, self.percentiles)]
        named = [(f"{group.name}: " * (len(self.groups) > 1), group) for group in self.groups]
        rows = [[name + found.label, *_cells(found)] for name, group in named for found in group.methods]
        every = [found for group in self.groups for found in group.methods]
        how = dict.fromkeys(f"Limits of means, {one.label}: {one.interval}." for one in every if one.interval)
        return report(
            f"Summary of {self.response} with non-detects",
            ", ".join(dict.fromkeys(one.label for one in every)),
            [("Limits of means:", percent(self.confidence))],
            samples,
            [Section(["", *headers], rows)],
            [*self._notes(), *how],
        )

    def _notes(self) -> Iterator[str]:
        """Notes, each once, after the names of the groups that it is of."""
        groups: dict[str, list[str]] = {}
        for group in self.groups:
            for note in (f"choice: {group.choice}", *_exceedance(group), *group.notes):
                groups.setdefault(note, []).append(group.name)
        for note, names in groups.items():
            yield note if len(self.groups) == 1 else f"{', '.join(names)}: {note}"

    def __repr__(self) -> str:
        return str(self.summary())


def _column(p: float) -> str:
    return f"p{100.0 * p:g}"


def _exceedance(group: GroupSummary) -> Iterator[str]:
    """The share above the highest limit in words, where that is all there is."""
    if group.exceedance is not None:
        share, low, high = (f"{value:.3g}" for value in group.exceedance)
        yield f"share above the highest limit, {group.limits[-1]:g}: {share} ({low} to {high}, Clopper-Pearson)."


def _cells(found: MethodSummary) -> list[str]:
    """Mean, sd, limits and percentiles in words, those below a limit as ``<limit``."""
    known = [_number(value) for value in (found.mean, found.sd, found.lower, found.upper)]
    return [*known, *(_number(value, found.below) for value in found.percentiles.values())]


def _number(value: float, below: float = np.nan) -> str:
    if not np.isnan(value):
        return f"{value:.4g}"
    return "" if np.isnan(below) else f"<{below:g}"
