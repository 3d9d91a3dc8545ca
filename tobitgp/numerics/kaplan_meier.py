"""Kaplan and Meier's estimate of survival."""

from __future__ import annotations

import numpy as np

from tobitgp.typing import Array, BoolArray


def kaplan_meier(time: Array, seen: BoolArray, weight: Array) -> tuple[Array, Array]:
    r"""Survival from right-censored times, :math:`S(t) = \prod_{s \le t} (1 - d_s / n_s)`.

    Parameters
    ----------
    time : (n,) array
    seen : (n,) array of bool
        Whether the time is that of the event; the row was censored then otherwise, after the events of that time.
    weight : (n,) array
        Frequency weights.

    Returns
    -------
    times : (m,) array
        At which something happened, ascending.
    survival : (m,) array
        Just after each.

    References
    ----------
    Kaplan and Meier (1958), Nonparametric estimation from incomplete observations, *JASA* 53, 457-481.

    Examples
    --------
    >>> times, S = kaplan_meier(np.array([1.0, 2.0, 2.0, 3.0]), np.array([True, True, False, True]), np.ones(4))
    >>> print(times, S)
    [1. 2. 3.] [0.75 0.5  0.  ]
    """
    times, at = np.unique(time, return_inverse=True)
    events = np.bincount(at, weights=weight * seen, minlength=len(times))
    leaving = np.bincount(at, weights=weight, minlength=len(times))
    at_risk = np.cumsum(leaving[::-1])[::-1]
    return times, np.asarray(np.cumprod(1.0 - events / at_risk), dtype=np.float64)
