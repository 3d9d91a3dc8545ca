"""Cumulative hazards of two fitters at the times of both."""

from __future__ import annotations

from typing import Any

import pandas as pd
from lifelines.fitters import UnivariateFitter

from tobitgp.lifelines.fitter_input import check_fitter


def subtract(self: Any, other: Any) -> pd.DataFrame:
    """Cumulative hazard of this fitter less that of another, at the times of both.

    Parameters
    ----------
    other : fitter
        A univariate fitter of this package or of lifelines.

    Returns
    -------
    DataFrame
        Differences, pure numbers, indexed by time.

    Raises
    ------
    SpecError
        For anything but a fitter.

    References
    ----------
    ``lifelines.WeibullFitter.subtract``; (SUR1) of the theory pages.

    Examples
    --------
    >>> import tobitgp as tg
    >>> lung = tg.datasets.load("lung")
    >>> men, women = (lung[lung["sex"] == sex] for sex in (1, 2))
    >>> fits = [tg.lifelines.WeibullFitter().fit(d["time"], d["event"], timeline=[365]) for d in (men, women)]
    >>> fits[0].subtract(fits[1]).round(2).to_numpy().tolist()
    [[0.46]]
    """
    check_fitter(other)
    found: pd.DataFrame = UnivariateFitter.subtract(self, other)
    return found


def divide(self: Any, other: Any) -> pd.DataFrame:
    """Cumulative hazard of this fitter divided by that of another, at the times of both.

    Parameters
    ----------
    other : fitter
        A univariate fitter of this package or of lifelines.

    Returns
    -------
    DataFrame
        Ratios, pure numbers, indexed by time.

    Raises
    ------
    SpecError
        For anything but a fitter.

    References
    ----------
    ``lifelines.WeibullFitter.divide``; (SUR1) of the theory pages.

    Examples
    --------
    >>> import tobitgp as tg
    >>> lung = tg.datasets.load("lung")
    >>> men, women = (lung[lung["sex"] == sex] for sex in (1, 2))
    >>> fits = [tg.lifelines.WeibullFitter().fit(d["time"], d["event"], timeline=[365]) for d in (men, women)]
    >>> fits[0].divide(fits[1]).round(2).to_numpy().tolist()
    [[1.8]]
    """
    check_fitter(other)
    found: pd.DataFrame = UnivariateFitter.divide(self, other)
    return found
