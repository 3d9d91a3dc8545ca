"""Deviance residuals (REG18), how much single rows move the estimates (REG9), how much the columns explain (REG11)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tobitgp.data.outcome import Outcome
from tobitgp.distributions.location_scale import LocationScale
from tobitgp.distributions.standard_noise import Distribution
from tobitgp.likelihoods.row_terms import Terms, mass_terms
from tobitgp.typing import Array

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
    noise, tau = rows.noise, np.log(rows.scale)
    with np.errstate(all="ignore"):
        row, window = _terms(noise, seen, rows.location, tau)
        best = _best(noise, seen, tau)
        cut = np.flatnonzero(np.isfinite(seen.entry) | np.isfinite(seen.exit))
        best[cut] = _best_in_window(noise, seen.rows(cut), tau[cut])
        lack = best - (row.value - window.value)
        return np.asarray(np.sign(row.eta - window.eta) * np.sqrt(2.0 * np.maximum(lack, 0.0)))


def location_terms(rows: LocationScale, seen: Outcome) -> tuple[Array, Array]:
    """First and minus second derivative (n,) of the log likelihood of each row in its location, (ROW1) to (ROW3)."""
    with np.errstate(all="ignore"):
        row, window = _terms(rows.noise, seen, rows.location, np.log(rows.scale))
    return row.eta - window.eta, window.eta_eta - row.eta_eta


def _terms(distribution: Distribution, seen: Outcome, eta: Array, tau: Array) -> tuple[Terms, Terms]:
    """Log likelihood of rows, and that of their windows."""
    row = mass_terms(distribution, seen.lower, seen.upper, seen.width, eta, tau)
    return row, mass_terms(distribution, seen.entry, seen.exit, seen.span, eta, tau)


def _best(distribution: Distribution, seen: Outcome, tau: Array) -> Array:
    """Largest log likelihood of rows over eta, (n,), without windows."""
    out, exact = np.zeros_like(tau), seen.exact
    out[exact] = distribution.logpdf(np.array([distribution.mode])) - tau[exact]
    between = np.isfinite(seen.width) & ~exact
    w = np.maximum(seen.width[between] * np.exp(-tau[between]), _SMALLEST)
    a = distribution.densest(w)
    out[between] = distribution.log_mass(a, a + w, w)
    return out


def _best_in_window(distribution: Distribution, seen: Outcome, tau: Array) -> Array:
    """Largest log likelihood of rows over eta, (n,), inside windows: on a grid, then by golden sections."""
    out = np.zeros_like(tau)
    inner = seen.exact | ((seen.lower > seen.entry) & (seen.upper < seen.exit))
    seen, tau = seen.rows(inner), tau[inner]
    middle = 0.5 * seen.lower + 0.5 * seen.upper

    def value(u: Array) -> Array:
        row, window = _terms(distribution, seen, middle - np.exp(tau) * np.sinh(u), tau)
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


def pseudo_r2(llf: float, null: float, n: float) -> PseudoR2:
    r"""Pseudo R2 from the log likelihood, that of the model with an intercept only, and the number of rows.

    McFadden's is :math:`1 - \ell / \ell_0`. With :math:`LR = 2(\ell - \ell_0)`, Veall and Zimmermann divide :math:`LR /
    (LR + n)` by its upper bound :math:`-2\ell_0 / (n - 2\ell_0)`.

    References
    ----------
    McFadden (1974), Conditional logit analysis of qualitative choice behavior, in *Frontiers in Econometrics*.
    Veall and Zimmermann (1994), Goodness of fit measures in the Tobit model, *Oxford Bulletin of Economics and
    Statistics* 56, 485-499.
    """
    if not null < 0.0:
        return PseudoR2(float("nan"), float("nan"))
    ratio = 2.0 * (llf - null)
    return PseudoR2(1.0 - llf / null, ratio / (ratio + n) * (n - 2.0 * null) / (-2.0 * null))
