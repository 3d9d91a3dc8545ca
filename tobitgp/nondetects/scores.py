"""Scores of values with non-detects, which take the place of ranks."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from tobitgp.data.row_arguments import aligned
from tobitgp.errors import DataError
from tobitgp.nondetects.paired_columns import order_of
from tobitgp.nondetects.sample import Sample, read_values
from tobitgp.numerics.nonparametric import risk_sets
from tobitgp.typing import Array


def gehan_scores(y: Any, censored: Any = None) -> Array:
    """Scores after Gehan: the number of values surely below each less that of values surely above it.

    They take the place of ranks where there are several limits: in rank correlations, ordinations, tests of Kruskal's
    type.

    Parameters
    ----------
    y : array of float (n,)
        Detected values and limits of non-detects, in any units, or text such as ``"<0.5"``.
    censored : array (n,), optional
        Flags 0 and 1, or booleans: 1 for non-detects.

    Returns
    -------
    array of float (n,)
        Pure numbers between -(n - 1) and n - 1, which add up to zero.

    Raises
    ------
    DataError
        If flags are not 0 or 1, or a value is missing.
    SpecError
        If values are right-censored or lie in intervals.

    References
    ----------
    (NDT30) of the theory pages.

    .. [1] E. A. Gehan, "A generalized Wilcoxon test for comparing arbitrarily singly-censored samples", *Biometrika* 52
       (1965), 203-223.

    Examples
    --------
    >>> import tobitgp as tg
    >>> tg.nondetects.gehan_scores(["<1", "2", "<3", "4", "4"])
    array([-3., -1., -2.,  3.,  3.])
    """
    y, censored = aligned({"y": y, "censored": censored}).values()
    array = np.asarray(y)
    if pd.isna(array).any():
        raise DataError(f"Value {int(np.argmax(pd.isna(array)))} of y is missing, and scores are of all rows.")
    sample = read_values(array, censored)
    if sample.dropped:
        raise DataError(f"{sample.dropped} flags are missing, and scores are of all rows.")
    sample.check_left("gehan_scores()")
    return order_of(sample).scores()


def flipped(sample: Sample) -> Array:
    """Ranks of values and limits from the highest down, (n,): non-detects are right-censored times."""
    _, rank = np.unique(-sample.values, return_inverse=True)
    return np.asarray(rank + 1.0, dtype=np.float64)


def peto_scores(sample: Sample) -> Array:
    """Scores of Peto and Peto, (n,): F(y) + F(y-) - 1 of a detect, F(y-) - 1 of a non-detect; (NDT31)."""
    time, seen = flipped(sample), ~sample.censored
    times, events, at_risk = risk_sets(time, seen, np.ones(len(time)))
    survival = np.append(1.0, np.cumprod(1.0 - events / at_risk))
    at = np.searchsorted(times, time) + 1
    return np.asarray(np.where(seen, survival[at] + survival[at - 1], survival[at]) - 1.0)


def recensored(sample: Sample) -> Sample:
    """All values below the highest limit as non-detects at that limit."""
    below = sample.values <= sample.limits.max(initial=-np.inf)
    below &= sample.censored | (sample.values < sample.limits.max(initial=-np.inf))
    upper = np.where(below, sample.limits.max(initial=-np.inf), sample.upper)
    return replace(sample, lower=np.where(below, -np.inf, sample.lower), upper=upper)
