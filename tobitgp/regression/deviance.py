"""Deviance residuals: what the log likelihood of a row lacks to its largest value; (REG18) of the theory pages."""

from __future__ import annotations

import numpy as np

from tobitgp.data.outcome import Outcome
from tobitgp.distributions.base import Distribution
from tobitgp.distributions.location_scale import LocationScale
from tobitgp.likelihoods.row_terms import KINDS, Kind, Terms, kind_of, row_terms, subtract
from tobitgp.typing import Array, IntArray

_SMALLEST = 1e-300
_FAR, _GRID, _NARROWINGS = 15.0, 61, 40  # in asinh of standardised locations: up to sinh 15 = 1.6e6
_LARGEST = 1e12  # log likelihoods beyond it differ from those of their windows by rounding alone
_GOLDEN = 0.5 * (np.sqrt(5.0) - 1.0)


def deviance(rows: LocationScale, seen: Outcome) -> Array:
    r"""Signed root of twice what a row's log likelihood lacks to its largest value over eta, sigma held.

    That value is log f(mode) - tau on exact rows, 0 on one-sided ones, and on rows of width w = (u - l) / sigma the log
    mass of the best placed interval: the middle one of a symmetric law, under the Gumbel law the one whose lower end
    has :math:`H = T = w / (e^w - 1)`, of log mass :math:`-T + \log(1 - e^{-w})`. Rows seen through a window have the
    likelihood inside it; its largest value is 0 where the row reaches an end of the window, and is found by search
    elsewhere. The sign is that of the derivative in eta: positive where the row lies above what is expected. As survreg
    3.5 without windows, but for two of its formulas of that value, neither of them the maximum: under the Gumbel law it
    has :math:`\log(1 - e^{-e^w})` on interval rows, under Student's :math:`-\log f(0) - \tau` on exact ones.

    Gives (n,).
    """
    out = np.zeros(len(seen))
    kind, window = kind_of(seen.lower, seen.upper), kind_of(seen.entry, seen.exit)
    key = kind * len(KINDS) + window
    for code in np.unique(key):
        at = np.flatnonzero(key == code)
        kinds = KINDS[code // len(KINDS)], KINDS[code % len(KINDS)]
        tau = np.log(rows.scale[at])
        with np.errstate(all="ignore"):
            terms = _terms(rows.noise, seen, at, kinds, rows.location[at], tau)
            best = _best(rows.noise, kinds[0], seen.width[at], tau)
            if kinds[1] != "open":
                best = _best_in_window(rows.noise, seen, at, kinds, tau)
            out[at] = np.sign(terms.eta) * np.sqrt(2.0 * np.maximum(best - terms.value, 0.0))
    return out


def _terms(law: Distribution, seen: Outcome, at: IntArray, kinds: tuple[Kind, Kind], eta: Array, tau: Array) -> Terms:
    """Log likelihood of rows of one kind, less that of their windows, (m,)."""
    return subtract(*_parts(law, seen, at, kinds, eta, tau))


def _parts(
    law: Distribution, seen: Outcome, at: IntArray, kinds: tuple[Kind, Kind], eta: Array, tau: Array
) -> tuple[Terms, Terms]:
    """Log likelihood of rows of one kind, and that of their windows, (m,)."""
    row = row_terms(law, kinds[0], seen.lower[at], seen.upper[at], seen.width[at], eta, tau)
    return row, row_terms(law, kinds[1], seen.entry[at], seen.exit[at], seen.span[at], eta, tau)


def _best(law: Distribution, kind: Kind, width: Array, tau: Array) -> Array:
    """Largest log likelihood of rows over eta, (m,), without windows."""
    zero = np.zeros_like(tau)
    if kind == "exact":
        return np.asarray(law.logpdf(zero + law.mode) - tau)
    if kind != "interval":
        return zero
    w = np.maximum(width * np.exp(-tau), _SMALLEST)
    a = law.densest(w)
    return row_terms(law, "interval", a, a + w, w, zero, zero).value


def _best_in_window(law: Distribution, seen: Outcome, at: IntArray, kinds: tuple[Kind, Kind], tau: Array) -> Array:
    """Largest log likelihood of rows over eta, (m,), inside windows: on a grid, then by golden sections."""
    lower, upper = seen.lower[at], seen.upper[at]
    out = np.zeros_like(tau)
    inner = (lower == upper) | ((lower > seen.entry[at]) & (upper < seen.exit[at]))
    at, tau, middle = at[inner], tau[inner], (0.5 * lower + 0.5 * upper)[inner]

    def value(u: Array) -> Array:
        row, window = _parts(law, seen, at, kinds, middle - np.exp(tau) * np.sinh(u), tau)
        return np.where(np.abs(row.value) < _LARGEST, row.value - window.value, -np.inf)

    grid = np.linspace(-_FAR, _FAR, _GRID)
    on_grid = np.array([value(np.full_like(tau, u)) for u in grid])
    top = grid[np.argmax(on_grid, axis=0)]
    low, high = np.maximum(top - grid[1] + grid[0], -_FAR), np.minimum(top + grid[1] - grid[0], _FAR)
    for _ in range(_NARROWINGS):
        step = _GOLDEN * (high - low)
        left = value(high - step) >= value(low + step)
        low, high = np.where(left, low, high - step), np.where(left, low + step, high)
    out[inner] = np.maximum(on_grid.max(axis=0, initial=-np.inf), value(0.5 * (low + high)))
    return out
