"""Deviance residuals, and how much single rows move the estimates.

Deviance residuals: what the log likelihood of a row lacks to its largest value; (REG18) of the theory pages.

How much single rows move the estimates, and how much the columns explain; (REG9), (REG11) of the theory pages.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tobitgp.data.outcome import Outcome
from tobitgp.distributions.base import Distribution
from tobitgp.distributions.location_scale import LocationScale
from tobitgp.likelihoods.base import KINDS, Kind, Terms, kind_of, row_terms, subtract
from tobitgp.typing import Array, IntArray

_SMALLEST = 1e-300
_FAR, _GRID, _NARROWINGS = 15.0, 61, 40  # in asinh of standardised locations: up to sinh 15 = 1.6e6
_LARGEST = 1e12  # log likelihoods beyond it differ from those of their windows by rounding alone
_GOLDEN = 0.5 * (np.sqrt(5.0) - 1.0)


def deviance(rows: LocationScale, seen: Outcome) -> Array:
    r"""Signed root of twice what a row's log likelihood lacks to its largest value over eta, sigma held.

    That value is log f(mode) - tau on exact rows, 0 on one-sided ones, and on rows of width w = (u - l) / sigma the log
    mass of the best placed interval: the middle one of a symmetric distribution, of the Gumbel the one whose lower end
    has :math:`H = T = w / (e^w - 1)`, of log mass :math:`-T + \log(1 - e^{-w})`. Rows seen through a window have the
    likelihood inside it; its largest value is 0 where the row reaches an end of the window, and is found by search
    elsewhere. The sign is that of the derivative in eta: positive where the row lies above what is expected. As survreg
    3.5 without windows, but for two of its formulas of that value, neither of them the maximum: of the Gumbel it has
    :math:`\log(1 - e^{-e^w})` on interval rows, under Student's :math:`-\log f(0) - \tau` on exact ones.

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


def _terms(
    distribution: Distribution, seen: Outcome, at: IntArray, kinds: tuple[Kind, Kind], eta: Array, tau: Array
) -> Terms:
    """Log likelihood of rows of one kind, less that of their windows, (m,)."""
    return subtract(*_parts(distribution, seen, at, kinds, eta, tau))


def _parts(
    distribution: Distribution, seen: Outcome, at: IntArray, kinds: tuple[Kind, Kind], eta: Array, tau: Array
) -> tuple[Terms, Terms]:
    """Log likelihood of rows of one kind, and that of their windows, (m,)."""
    row = row_terms(distribution, kinds[0], seen.lower[at], seen.upper[at], seen.width[at], eta, tau)
    return row, row_terms(distribution, kinds[1], seen.entry[at], seen.exit[at], seen.span[at], eta, tau)


def _best(distribution: Distribution, kind: Kind, width: Array, tau: Array) -> Array:
    """Largest log likelihood of rows over eta, (m,), without windows."""
    zero = np.zeros_like(tau)
    if kind == "exact":
        return np.asarray(distribution.logpdf(zero + distribution.mode) - tau)
    if kind != "interval":
        return zero
    w = np.maximum(width * np.exp(-tau), _SMALLEST)
    a = distribution.densest(w)
    return row_terms(distribution, "interval", a, a + w, w, zero, zero).value


def _best_in_window(
    distribution: Distribution, seen: Outcome, at: IntArray, kinds: tuple[Kind, Kind], tau: Array
) -> Array:
    """Largest log likelihood of rows over eta, (m,), inside windows: on a grid, then by golden sections."""
    lower, upper = seen.lower[at], seen.upper[at]
    out = np.zeros_like(tau)
    inner = (lower == upper) | ((lower > seen.entry[at]) & (upper < seen.exit[at]))
    at, tau, middle = at[inner], tau[inner], (0.5 * lower + 0.5 * upper)[inner]

    def value(u: Array) -> Array:
        row, window = _parts(distribution, seen, at, kinds, middle - np.exp(tau) * np.sinh(u), tau)
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


class PseudoR2(NamedTuple):
    """Two shares of explained variation; NaN where the null log likelihood is not negative."""

    mcfadden: float
    veall_zimmermann: float


def dfbeta(scores: Array, V: Array, weight: Array | None = None) -> Array:
    r"""Approximate change of the estimates when a row is added, :math:`c_i V s_i`: one Newton step.

    Shapes: scores (n, k), V (k, k), weight (n,); gives (n, k). Therneau and Grambsch (2000), *Modeling Survival Data*,
    section 7.1; survreg's ``type = "dfbeta"``, which leaves the weights out and has the sign of the log scale's score
    wrong on interval rows (version 3.5).
    """
    change = scores @ V
    return change if weight is None else change * weight[:, None]


def dfbetas(change: Array, V: Array) -> Array:
    """Changes (n, k) of `dfbeta` in standard errors of the estimates; 0 for parameters that were given."""
    se = np.sqrt(np.diag(V))
    return np.asarray(np.divide(change, se, out=np.zeros_like(change), where=se > 0.0))


def pseudo_r2(llf: float, null: float, n: float) -> PseudoR2:
    r"""Pseudo R2 from the log likelihood, that of the model with an intercept only, and the number of rows.

    McFadden's is :math:`1 - \ell / \ell_0`. With :math:`LR = 2(\ell - \ell_0)`, Veall and Zimmermann divide :math:`LR /
    (LR + n)` by its upper bound :math:`-2\ell_0 / (n - 2\ell_0)`.

    D. McFadden (1974), Conditional logit analysis of qualitative choice behavior, in *Frontiers in Econometrics*. ..
    [2] M. R. Veall and K. F. Zimmermann (1994), Goodness of fit measures in the Tobit model, *Oxford Bulletin of
    Economics and Statistics* 56, 485-499.
    """
    if not null < 0.0:
        return PseudoR2(float("nan"), float("nan"))
    ratio = 2.0 * (llf - null)
    return PseudoR2(1.0 - llf / null, ratio / (ratio + n) * (n - 2.0 * null) / (-2.0 * null))
