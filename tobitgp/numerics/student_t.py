r"""Student's t distribution with relative precision in the tails.

The cdf left of 0 is half a regularised incomplete beta function, :math:`\tfrac12 I_x(\nu/2, 1/2)` with
:math:`x = \nu/(\nu + z^2)`. Where that underflows, its logarithm comes from the continued fraction of DLMF 8.17.22.
Relative errors of the log cdf against 60-digit arithmetic, df .3 to 1e4, -1e6 <= z <= 6: 2e-14.

For use at very many points the log cdf is interpolated from a table.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import betainc, betaincc, betaln, stdtrit

from tobitgp.numerics.log_probabilities import incomplete_beta_fraction
from tobitgp.typing import Array, BoolArray

_TINY, _LOG_LARGE = 1e-280, 500.0
FAR = 1e100  # where 1 + z^2 / df is z^2 / df


def log_density(z: Array, df: float | Array, order: int = 3) -> tuple[Array, ...]:
    """Log density of Student's t and its first ``order`` derivatives."""
    if (np.abs(z) > FAR).any():
        return _log_density_far_out(z, df, order)
    square = z * z
    values = [-0.5 * np.log(df) - betaln(0.5 * df, 0.5) - 0.5 * (df + 1.0) * np.log1p(square / df)]
    if order:
        u = 1.0 / (df + square)
        near, far = df * u, square * u
        values.append(-(df + 1.0) * z * u)
        values.append(-(df + 1.0) * u * (near - far))
        if order > 2:
            values.append(2.0 * (df + 1.0) * z * u * u * (3.0 * near - far))
    return tuple(values[: order + 1])


def _log_density_far_out(z: Array, df: float | Array, order: int) -> tuple[Array, ...]:
    """`log_density` where some values have squares that may be too large for a number: a power of them from FAR on."""
    further = np.maximum(np.abs(z) / FAR, 1.0)
    value, *slopes = log_density(np.clip(z, -FAR, FAR), df, order)
    for k in range(len(slopes)):
        for j in range(k, len(slopes)):
            slopes[j] = slopes[j] / further
    return value - (df + 1.0) * np.log(further), *slopes


def log_cdf(z: Array, df: float | Array) -> Array:
    """Log cdf of Student's t."""
    z = np.asarray(z, dtype=np.float64)
    if np.ndim(df):
        df = np.broadcast_to(df, z.shape)

    def of(rows: BoolArray) -> Any:
        return df[rows] if isinstance(df, np.ndarray) else df

    with np.errstate(over="ignore"):
        square = z * z
    near = square < df
    tail = np.empty_like(square)
    tail[near] = 0.5 * betaincc(0.5, 0.5 * of(near), square[near] / (of(near) + square[near]))
    tail[~near] = 0.5 * betainc(0.5 * of(~near), 0.5, of(~near) / (of(~near) + square[~near]))
    under = tail < _TINY
    with np.errstate(divide="ignore"):
        log_tail = np.log(tail)
    if under.any():
        log_tail[under] = _log_far_tail(np.abs(z[under]), of(under))
    return np.asarray(np.where(z <= 0.0, log_tail, np.log1p(-tail)), dtype=np.float64)


def ppf(q: Array, df: float) -> Array:
    """Quantiles of Student's t, where scipy's end at 1e153 too."""
    found = np.asarray(stdtrit(df, q), dtype=np.float64)
    far = np.abs(found) > FAR
    if far.any():
        q = np.asarray(q, dtype=np.float64)
        with np.errstate(divide="ignore"):
            side = far_quantile(np.log(np.minimum(q, 1.0 - q)), df)
        found = np.where(far, np.copysign(side, found), found)
    return found


def far_quantile(log_p: Array, df: float) -> Array:
    """Negative quantiles of small probabilities by the first term of the tail, -inf beyond the largest number."""
    log_ratio = -(log_p + np.log(df) + betaln(0.5 * df, 0.5)) / (0.5 * df)  # of 1 + z^2 / df
    with np.errstate(over="ignore"):
        far = np.exp(0.5 * (np.log(df) + log_ratio))
        near = np.sqrt(df * np.expm1(np.clip(log_ratio, _TINY, _LOG_LARGE)))
    return np.asarray(-np.where(log_ratio > _LOG_LARGE, far, near))


def _log_far_tail(size: Array, df: float | Array) -> Array:
    """Log of the probability of one tail beyond ``size``, whose square may be too large for a number."""
    a, b = 0.5 * df, 0.5
    with np.errstate(over="ignore"):
        ratio = size * size / df
    log_ratio = np.where(np.isinf(ratio), 2.0 * np.log(size) - np.log(df), np.log1p(ratio))
    log_front = -a * log_ratio - b * np.log1p(1.0 / ratio) - np.log(a) - betaln(a, b)
    fraction = incomplete_beta_fraction(a, b, 1.0 / (1.0 + ratio))
    return np.asarray(log_front + np.log(0.5 * fraction), dtype=np.float64)


@dataclass(frozen=True, slots=True)
class Tabulated:
    """Polynomials of degree 5 between equally spaced knots, which agree there in value and two derivatives."""

    start: float  # first knot
    step: float  # distance between knots
    coefficients: Array  # (cells, 6), of each cell, ascending powers of its coordinate from 0 to 1

    def __call__(self, x: Array) -> Array:
        """Values at x, of any shape; the outer polynomials continue beyond the table."""
        place = (x - self.start) / self.step
        cell = np.clip(place.astype(np.intp), 0, len(self.coefficients) - 1)
        s = place - cell
        c = self.coefficients
        value = c[:, 5].take(cell)
        for k in (4, 3, 2, 1, 0):
            value *= s
            value += c[:, k].take(cell)
        return value


def tabulate(start: float, step: float, value: Array, slope: Array, curve: Array) -> Tabulated:
    """Table from a function and its first two derivatives at equally spaced knots."""
    d, e = step * slope, 0.5 * step * step * curve
    rise = np.diff(value) - d[:-1] - e[:-1]
    turn = np.diff(d) - 2.0 * e[:-1]
    bend = 2.0 * np.diff(e)
    cubic = 10.0 * rise - 4.0 * turn + 0.5 * bend
    quartic = -15.0 * rise + 7.0 * turn - bend
    quintic = 6.0 * rise - 3.0 * turn + 0.5 * bend
    columns = [value[:-1], d[:-1], e[:-1], cubic, quartic, quintic]
    return Tabulated(start, step, np.asfortranarray(np.column_stack(columns)))


_STEP, _LAST = 0.025, 40.0


@lru_cache(maxsize=128)
def tabulated_log_cdf(df: float) -> Callable[[Array], Array]:
    """Log cdf of Student's t, to about 5e-12 of max(1, its size), ten times as fast as `log_cdf`.

    The table is in ``w = asinh(z / c)``, in which the tails are straight lines, c the lesser of 1 and the root of df.
    """
    c = min(1.0, df**0.5)
    w = np.arange(-_LAST, _LAST + _STEP, _STEP)
    z, rise = c * np.sinh(w), c * np.cosh(w)
    log_p = log_cdf(z, df)
    log_f, slope = log_density(z, df, 1)
    d1 = np.exp(log_f - log_p)
    table = tabulate(-_LAST, _STEP, log_p, d1 * rise, d1 * (slope - d1) * rise * rise + d1 * z)

    def from_table(x: Array) -> Array:
        place = np.arcsinh(x / c)
        inside = np.clip(place, -_LAST, _LAST)
        return table(inside) + df * np.minimum(place - inside, 0.0)

    return from_table
