"""The cdf of Student's t from a table, for use at very many points."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from tobitgp.numerics import student_t
from tobitgp.numerics.tabulated import tabulate
from tobitgp.typing import Array

_STEP, _LAST = 0.025, 40.0


@lru_cache(maxsize=128)
def tabulated_log_cdf(df: float) -> Callable[[Array], Array]:
    """Log cdf of Student's t, to about 5e-12 of max(1, its size), ten times as fast as `student_t.log_cdf`.

    The table is in ``w = asinh(z / c)``, in which the tails are straight lines, c the lesser of 1 and the root of df.
    """
    c = min(1.0, df**0.5)
    w = np.arange(-_LAST, _LAST + _STEP, _STEP)
    z, rise = c * np.sinh(w), c * np.cosh(w)
    log_p = student_t.log_cdf(z, df)
    log_f, slope = student_t.log_density(z, df, 1)
    d1 = np.exp(log_f - log_p)
    table = tabulate(-_LAST, _STEP, log_p, d1 * rise, d1 * (slope - d1) * rise * rise + d1 * z)

    def log_cdf(x: Array) -> Array:
        place = np.arcsinh(x / c)
        inside = np.clip(place, -_LAST, _LAST)
        return table(inside) + df * np.minimum(place - inside, 0.0)

    return log_cdf
