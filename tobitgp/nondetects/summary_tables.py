"""Summaries of samples with non-detects: the results of each method for each group, and their tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from tobitgp.nondetects.sample_results import PrintsSummary, percent, report, sample_table
from tobitgp.typing import Array

if TYPE_CHECKING:
    from tobitgp.results.summary import FitSummary


@dataclass(frozen=True, slots=True)
class MethodSummary:
    """Results of one method for one group, by (NDT1) to (NDT8) of the theory pages.

    Attributes
    ----------
    method, label : str
        Short name of the method, and its name in tables.
    mean, sd : float
        Mean and standard deviation in the units of the response; NaN if the method has none.
    lower, upper : float
        Limits of the mean, in the same units.
    interval : str
        Method of these limits.
    percentiles : dict of float
        Percentiles by probability, in the same units; NaN if a percentile is only known to lie below a limit.
    below : float
        The limit below which such percentiles lie, in the same units.
    monte_carlo_error : float
        Standard error of the limits by simulation, the larger one, in the same units; 0 without simulation.
    redrawn : int
        Number of resamples drawn again, since they had fewer than two distinct detects.
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
    """One group: its sample, the results of each method by (NDT1) to (NDT8), and remarks.

    Attributes
    ----------
    name : str
        Name of the group, or of the response if there are no groups.
    n, nondetects : int
        Number of rows, and of non-detects among them.
    limits : (m,) array
        Distinct detection limits, in the units of the response.
    choice : str
        Recommended method for this share of non-detects.
    methods : tuple
        Results of each method.
    exceedance : tuple of float, or None
        Share of detects above the highest detection limit with its confidence limits, probabilities, if over 80% are
        non-detects or there are fewer than two distinct detects.
    notes : tuple of str
        Further remarks.
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
class SampleSummary(PrintsSummary):
    """Summaries of one sample or of groups, by (NDT1) to (NDT8) of the theory pages; prints as its tables.

    Attributes
    ----------
    response : str
        Name of the response.
    groups : tuple of GroupSummary
        One summary per group, or a single one.
    percentiles : tuple of float
        Probabilities of the percentiles.
    confidence : float
        Confidence level of the limits of the mean, a probability.
    by : tuple of str
        Columns of the groups.
    """

    response: str
    groups: tuple[GroupSummary, ...]
    percentiles: tuple[float, ...]
    confidence: float
    by: tuple[str, ...]

    def summary_frame(self) -> pd.DataFrame:
        """One row per group and method, in the units of the response; several columns of groups are levels.

        Columns are ``n, nondetects, share, mean, sd, lower, upper, interval, mc_error``, one for each percentile, such
        as ``p50``, and ``below``, the limit below which percentiles lie that are NaN.
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
            [Section(["Groups", *headers], rows)],
            [*self._notes(), *how],
        )

    def _notes(self) -> Iterator[str]:
        """Notes, each once, after the names of its groups."""
        groups: dict[str, list[str]] = {}
        for group in self.groups:
            for note in (f"choice: {group.choice}", *_exceedance(group), *group.notes):
                groups.setdefault(note, []).append(group.name)
        for note, names in groups.items():
            yield note if len(self.groups) == 1 else f"{', '.join(names)}: {note}"


def _column(p: float) -> str:
    return f"p{100.0 * p:g}"


def _exceedance(group: GroupSummary) -> Iterator[str]:
    """The share above the highest limit in words, if there are no other results."""
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
