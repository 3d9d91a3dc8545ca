"""Arguments shared by functions of samples with non-detects, and results as tables of n, non-detects and limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from tobitgp.data.values import counted
from tobitgp.errors import SpecError
from tobitgp.nondetects.sample import Sample
from tobitgp.results.predict import check_alpha
from tobitgp.results.words import LabelledValues
from tobitgp.typing import Array

if TYPE_CHECKING:
    from tobitgp.results.summary import FitSummary, Section


PERMUTATIONS = 9999


def read_count(value: int, name: str, least: int = 1) -> int:
    """A number of values, permutations or resamples."""
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
        raise SpecError(f"{name}={value!r}: must be a whole number of at least {least}.")
    return int(value)


def read_resamples(bootstrap: int) -> int:
    """A number of resamples that is large enough for tails."""
    return read_count(bootstrap, "bootstrap", 200)


ALL_DETECTED = "Every value is detected: these are the formulas of complete samples."
_SHOWN = 4


def describe(samples: Mapping[str, Sample]) -> pd.DataFrame:
    """Rows ``n, nondetects, share, limits`` by name of a sample."""
    return sample_table({name: (len(s), int(s.below.sum()), s.limits) for name, s in samples.items()})


def sample_table(samples: Mapping[str, tuple[int, int, Array]]) -> pd.DataFrame:
    """Rows ``n, nondetects, share, limits`` from the number of rows, of non-detects, and their distinct limits."""
    rows = {name: [n, count, count / n, _in_words(limits)] for name, (n, count, limits) in samples.items()}
    return pd.DataFrame.from_dict(rows, orient="index", columns=["n", "nondetects", "share", "limits"])


def _in_words(limits: Array) -> str:
    """Limits of non-detects in words: all of them, or their range and number."""
    shown = [f"{limit:.4g}" for limit in limits]
    if len(shown) <= _SHOWN:
        return ", ".join(shown) or "none"
    return f"{shown[0]} to {shown[-1]} ({len(shown)})"


def report(
    title: str,
    method: str,
    numbers: LabelledValues,
    samples: pd.DataFrame,
    sections: Sequence[Section],
    notes: Sequence[str],
) -> FitSummary:
    """A summary as statsmodels prints it: method and numbers, samples, further tables, notes."""
    from tobitgp.results.summary import Section, lay_out

    rows = [[str(k), str(n), str(c), f"{100 * p:.1f}%", at] for k, n, c, p, at in samples.itertuples()]
    described = Section(["Samples", "n", "non-detects", "share", "limits"], rows)
    complete = [] if samples.nondetects.any() else [ALL_DETECTED]
    return lay_out(title, [("Method:", method)], numbers, [described, *sections], [*notes, *complete])


class PrintsSummary:
    """Prints as its summary, which is HTML in a notebook."""

    __slots__ = ()

    def summary(self) -> FitSummary:
        """Everything in words and tables."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return str(self.summary())

    def _repr_html_(self) -> str:
        return str(self.summary().as_html())


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class NondetectResults(PrintsSummary):
    """A test or an estimate from samples with non-detects, with the names of statsmodels."""

    title: str
    method: str
    samples: pd.DataFrame  # ``n, nondetects, share, limits`` by sample
    statistic: float
    pvalue: float
    notes: tuple[str, ...] = ()

    @property
    def params(self) -> pd.Series[float]:
        """Estimates."""
        raise NotImplementedError

    def conf_int(self, alpha: float = 0.05) -> pd.DataFrame:
        """Ends of intervals in the units of ``params``, columns ``lower, upper``, by name; NaN where there is none."""
        check_alpha(alpha)
        return pd.DataFrame(np.nan, index=self.params.index, columns=["lower", "upper"])

    def summary_frame(self, alpha: float = 0.05) -> pd.DataFrame:
        """Estimates and their intervals in the units of ``params``, columns ``estimate, lower, upper``, by name."""
        return pd.concat([self.params.rename("estimate"), self.conf_int(alpha)], axis=1)

    def summary(self, alpha: float = 0.05) -> FitSummary:
        """Everything in words and tables, as statsmodels prints it."""
        from tobitgp.results.summary import Section, interval_headers, number

        frame = self.summary_frame(alpha)
        bounded = bool(frame[["lower", "upper"]].notna().any(axis=None))
        kept = frame if bounded else frame[["estimate"]]
        rows = [[str(name), *map(number, row)] for name, row in zip(frame.index, kept.to_numpy(), strict=True)]
        sections = [Section(["Estimates", "estimate", *(interval_headers(alpha) if bounded else [])], rows)]
        sections += [_section(name, table) for name, table in self._tables().items()]
        return report(self.title, self.method, self._numbers(), self.samples, sections, self.notes)

    def _numbers(self) -> LabelledValues:
        """Rows of the head of a summary."""
        return [("Statistic:", f"{self.statistic:.4f}"), ("P-value:", in_words(self.pvalue))]

    def _tables(self) -> dict[str, pd.DataFrame]:
        """Tables of a summary in addition to those of samples and estimates, by their headings."""
        return {}


def _section(name: str, table: pd.DataFrame) -> Section:
    """A table of numbers as a part of a summary."""
    from tobitgp.results.summary import Section, frame_rows, number

    cells = [
        [row, *(f"{v:.0f}" if float(v).is_integer() else number(v) for v in values)]
        for row, values in frame_rows(table)
    ]
    return Section([name, *map(str, table.columns)], cells)


def in_words(pvalue: float) -> str:
    """A p-value to four decimals, or with two digits where it is small."""
    return f"{pvalue:.4f}" if pvalue >= 1e-3 or np.isnan(pvalue) else f"{pvalue:.2g}"


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Limit(PrintsSummary):
    """A confidence, tolerance or prediction limit by (NDT7) to (NDT11) of the theory pages; prints as its summary.

    Attributes
    ----------
    title, method : str
        What lies below (above, between) at the confidence level, and the method.
    samples : DataFrame
        One row: n, number and share of non-detects, their limits in the units of y.
    estimate : float
        Estimate of the quantity that the limit bounds, in the units of y, or a probability.
    lower, upper : float
        The limit in the same units, infinite on a side without a limit.
    confidence : float
        Confidence level, a probability.
    monte_carlo_error : float
        Standard error of the limit by simulation, in its units; 0 without simulation.
    redrawn : int
        Number of simulated samples drawn again, since they had fewer than two distinct detects.
    notes : tuple of str
        Further remarks.
    """

    title: str
    method: str
    samples: pd.DataFrame
    estimate: float
    lower: float
    upper: float
    confidence: float
    monte_carlo_error: float = 0.0
    redrawn: int = 0
    notes: tuple[str, ...] = ()

    def summary_frame(self) -> pd.DataFrame:
        """One row: ``estimate, lower, upper, confidence, method, mc_error, redrawn, n, nondetects``; units of y."""
        row = {
            "estimate": self.estimate,
            "lower": self.lower,
            "upper": self.upper,
            "confidence": self.confidence,
            "method": self.method,
            "mc_error": self.monte_carlo_error,
            "redrawn": self.redrawn,
        }
        return pd.DataFrame([row], index=self.samples.index).join(self.samples[["n", "nondetects"]])

    def summary(self) -> FitSummary:
        """The limit with its sample and notes, as statsmodels prints it."""
        rows = [("Estimate:", f"{self.estimate:.6g}")]
        if not np.isneginf(self.lower):
            rows.append(("Lower:", f"{self.lower:.6g}"))
        if self.lower == -np.inf or np.isfinite(self.upper):
            rows.append(("Upper:", f"{self.upper:.6g}"))
        if self.monte_carlo_error:
            rows += [("Monte Carlo error:", f"{self.monte_carlo_error:.2g}"), ("Drawn again:", str(self.redrawn))]
        return report(self.title, self.method, rows, self.samples, [], self.notes)


def limit_of(sample: Sample, *, notes: tuple[str, ...] = (), **found: Any) -> Limit:
    """A limit with the description of its sample."""
    if sample.dropped:
        notes = (*notes, f"Left out: {counted(sample.dropped, 'row')} without a value.")
    if others := int(sample.censored.sum() - sample.below.sum()):
        notes = (*notes, f"{others} values are right-censored or lie in intervals.")
    return Limit(samples=describe({sample.name: sample}), notes=notes, **found)


def percent(p: float) -> str:
    """A probability as a percentage."""
    return f"{100.0 * p:.6g}%"
