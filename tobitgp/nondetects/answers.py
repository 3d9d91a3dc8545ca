"""A limit computed from a sample with non-detects."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from tobitgp.nondetects.sample import Sample
from tobitgp.nondetects.tables import describe, report

if TYPE_CHECKING:
    from tobitgp.report.summary import FitSummary


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Limit:
    """A confidence, tolerance or prediction limit by (NDT7) to (NDT11) of the theory pages; prints as its summary.

    Attributes
    ----------
    title, method : str
        What lies below (above, between) with the confidence, and how it was computed.
    samples : DataFrame
        One row: n, number and share of non-detects, their limits in the units of y.
    estimate : float
        Of what the limit is of, in the units of y, or a probability.
    lower, upper : float
        The limit in the same units, infinite on the side where there is none.
    confidence : float
        A probability.
    monte_carlo_error : float
        Standard error of the limit by simulation, in its units; 0 without simulation.
    redrawn : int
        Simulated samples drawn again, since they had fewer than two distinct detects.
    notes : tuple of str
        What else is to be known.
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

    def __repr__(self) -> str:
        return str(self.summary())


def limit_of(sample: Sample, *, notes: tuple[str, ...] = (), **found: Any) -> Limit:
    """A limit with the description of its sample."""
    if sample.dropped:
        notes = (*notes, f"{sample.dropped} rows without a value are left out.")
    if others := int(sample.censored.sum() - sample.below.sum()):
        notes = (*notes, f"{others} values are right-censored or lie in intervals.")
    return Limit(samples=describe({sample.name: sample}), notes=notes, **found)


def percent(p: float) -> str:
    """A probability as a percentage."""
    return f"{100.0 * p:.6g}%"
