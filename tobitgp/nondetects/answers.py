"""A limit computed from a sample with non-detects, and what every table says of its sample."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.nondetects.sample import Sample
from tobitgp.report.axes import printable
from tobitgp.typing import Array

ALL_DETECTED = "Every value is detected: these are the formulas of complete samples."


@dataclass(frozen=True, slots=True)
class Limit:
    """A confidence, tolerance or prediction limit by (NDT7) to (NDT11) of the theory pages; prints as its summary.

    Attributes
    ----------
    what : str
        What lies below (above, between) with the confidence.
    name : str
        What the values are called.
    method : str
        How it was computed.
    estimate : float
        Of what the limit is of, in the units of y, or a probability.
    lower, upper : float
        The limit in the same units, infinite on the side where there is none.
    confidence : float
        A probability.
    n, nondetects : int
        Rows, and how many of them are non-detects.
    detection_limits : (m,) array
        Distinct limits, in the units of y.
    monte_carlo_error : float
        Standard error of the limit by simulation, in its units; 0 without simulation.
    redrawn : int
        Simulated samples drawn again, since they had fewer than two distinct detects.
    notes : tuple of str
        What else is to be known.
    """

    what: str
    name: str
    method: str
    estimate: float
    lower: float
    upper: float
    confidence: float
    n: int
    nondetects: int
    detection_limits: Array
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
            "n": self.n,
            "nondetects": self.nondetects,
        }
        return pd.DataFrame([row], index=[self.name])

    def summary(self) -> str:
        """The limit in words, with its sample and notes."""
        ends = [f"{end:.6g}" for end in (self.lower, self.upper) if np.isfinite(end)] or ["infinite"]
        lines = [
            f"{self.what}: {' to '.join(ends)}",
            f"  {sample_line(self.name, self.n, self.nondetects, self.detection_limits)}",
            f"  method {self.method}; estimate {self.estimate:.6g}",
        ]
        if self.monte_carlo_error:
            lines.append(f"  Monte Carlo error {self.monte_carlo_error:.2g}; {self.redrawn} samples drawn again")
        return "\n".join([*lines, *(f"  {note}" for note in self.notes)])

    def __repr__(self) -> str:
        return self.summary()


def limit_of(sample: Sample, *, notes: tuple[str, ...] = (), **found: Any) -> Limit:
    """A limit with the description of its sample."""
    if not sample.censored.any():
        notes = (*notes, ALL_DETECTED)
    below, limits = int(sample.below.sum()), sample.limits
    if others := int(sample.censored.sum()) - below:
        notes = (*notes, f"{others} values are right-censored or lie in intervals.")
    return Limit(name=sample.name, n=len(sample), nondetects=below, detection_limits=limits, notes=notes, **found)


def sample_line(name: str, n: int, nondetects: int, limits: Array) -> str:
    """Size, share of non-detects and limits of a sample in one line."""
    shown = [f"{limit:g}" for limit in limits[:8]] + ["..."] * (len(limits) > 8)
    listed = f"; limit{'s' * (len(limits) > 1)} {', '.join(shown)}" if shown else ""
    return f"{printable(name)}: n = {n}, {nondetects} non-detects ({nondetects / n:.1%}){listed}"


def percent(p: float) -> str:
    """A probability as a percentage."""
    return f"{100.0 * p:.6g}%"
