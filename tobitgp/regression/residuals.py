r"""Residuals of the rows a regression was fitted to, censored ones included.

Rows are known on the scale that is modelled, that of log y on log time: y in (lower, upper], equal ends where it is
exact. With S the survival function of a row, H = -log S is its cumulative hazard;
H(y) is a unit exponential variable E.

References
----------
Cox and Snell (1968), A general definition of residuals, *JRSS B* 30, 248-275.
Lagakos (1981), The graphical evaluation of explanatory variables in proportional hazard regression models,
*Biometrika* 68, 93-98.
Farrington (2000), Residuals for proportional hazards models with interval-censored survival data, *Biometrics* 56,
473-482.
Dunn and Smyth (1996), Randomized quantile residuals, *JCGS* 5, 236-244.
Therneau and Grambsch (2000), *Modeling Survival Data*; survreg's ``residuals``.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.special import ndtri_exp

from tobitgp.likelihoods.laws import Law
from tobitgp.likelihoods.rows import Kind, row_terms
from tobitgp.regression.conditional import conditional_mean, latent_mean
from tobitgp.regression.scales import Predictor, uncensored
from tobitgp.regression.truncated import log_mass
from tobitgp.typing import Array, BoolArray, IntArray

_SMALLEST, _SHORT = 1e-300, 0.05


def response(rows: Predictor, lower: Array, upper: Array) -> Array:
    """y, or its conditional mean where it is censored, less the mean of y*; (n,), on the scale of the response."""
    return conditional_mean(rows, lower, upper) - uncensored(rows).value


def pearson(rows: Predictor, lower: Array, upper: Array) -> Array:
    """The same on the scale that is modelled, in standard deviations of the law; (n,), NaN where it has none."""
    sd = np.sqrt(rows.law.variance) if np.isfinite(rows.law.variance) else np.nan
    return np.asarray(((latent_mean(rows, lower, upper) - rows.eta) / rows.sigma - rows.law.mean) / sd)


def quantile(
    rows: Predictor,
    lower: Array,
    upper: Array,
    uniform: Array,
    *,
    entry: Array | None = None,
    exit: Array | None = None,
) -> Array:
    """Normal scores of the cdf, at a random point of its mass where a row is censored (Dunn and Smyth).

    Parameters
    ----------
    rows : Predictor
    lower, upper : (n,) array
    uniform : (n,) array
        Between 0 and 1; read on censored rows only.
    entry, exit : (n,) array, optional
        Window outside which the row could not have been seen; the cdf is that inside the window.

    Returns
    -------
    (n,) array

    Examples
    --------
    >>> from tobitgp.likelihoods.laws import Normal
    >>> at = Predictor(np.zeros(2), np.full(2, np.log(5.0)), Normal())
    >>> print(quantile(at, np.array([10.0, -np.inf]), np.array([10.0, 0.0]), np.full(2, 0.5)).round(4))
    [ 2.     -0.6745]
    """
    a, b = _standardised(rows, lower), _standardised(rows, upper)
    first = np.full_like(a, -np.inf) if entry is None else _standardised(rows, entry)
    last = np.full_like(a, np.inf) if exit is None else _standardised(rows, exit)
    whole = log_mass(rows.law, first, last)
    with np.errstate(divide="ignore"):
        share, rest = np.log(uniform), np.log1p(-uniform)
    below = np.logaddexp(rest + log_mass(rows.law, first, a), share + log_mass(rows.law, first, b)) - whole
    above = np.logaddexp(rest + log_mass(rows.law, a, last), share + log_mass(rows.law, b, last)) - whole
    left = below < above
    score = ndtri_exp(np.minimum(np.where(left, below, above), 0.0))
    return np.asarray(np.where(left, score, -score))


def cox_snell(rows: Predictor, lower: Array, upper: Array, *, entry: Array | None = None) -> Array:
    r"""Cumulative hazard of each row.

    H(y) of exact rows, H(lower) of right-censored ones, as survival analysis has it. A row known to lie in (l, u], with
    A = H(l) and B = H(u), A = 0 on left-censored rows, gets the expectation of its exponential variable,

    .. math:: E[E | A < E \le B] = A + 1 - \frac{B - A}{e^{B - A} - 1}.

    Parameters
    ----------
    rows : Predictor
    lower, upper : (n,) array
    entry : (n,) array, optional
        Delayed entry; the hazard before it is taken off.

    Returns
    -------
    (n,) array

    Examples
    --------
    >>> from tobitgp.likelihoods.laws import Gumbel
    >>> rows = Predictor(np.zeros(3), np.zeros(3), Gumbel(), log_time=True)
    >>> lower, upper = np.log([2.0, 2.0, 1.0]), np.log([2.0, np.inf, 3.0])
    >>> print(cox_snell(rows, lower, upper).round(6))
    [2.       2.       1.686965]
    """
    A = -rows.law.log_sf(np.clip(_standardised(rows, lower), -1e100, 1e100))
    B = -rows.law.log_sf(np.clip(_standardised(rows, upper), -1e100, 1e100))
    H = expected_hazard(A, B, lower, upper)
    if entry is None:
        return H
    z = _standardised(rows, entry)
    return H + np.where(np.isneginf(z), 0.0, rows.law.log_sf(np.maximum(z, -1e100)))


def expected_hazard(A: Array, B: Array, lower: Array, upper: Array) -> Array:
    """Cumulative hazard of rows from that at both ends, A <= B: see `cox_snell`; (n,).

    Examples
    --------
    >>> print(expected_hazard(np.zeros(1), np.array([2.0]), np.array([-np.inf]), np.zeros(1)).round(6))
    [0.686965]
    """
    A = np.where(np.isneginf(lower), 0.0, A)
    gap = np.where(np.isposinf(upper), 0.0, B - A)
    near = np.minimum(gap, _SHORT)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        far = 1.0 - gap / np.expm1(gap)
    return A + np.where(gap < _SHORT, near * (0.5 - near * (1.0 / 12.0 - near * near / 720.0)), far)


def martingale(rows: Predictor, lower: Array, upper: Array, *, entry: Array | None = None) -> Array:
    """Events less their expected number: 1 - `cox_snell`, or minus it on right-censored rows; (n,).

    On left-censored and interval rows it is the expectation given the row (Farrington, equation 3), which is
    ``(S_l log S_l - S_u log S_u) / (S_l - S_u)``.
    """
    return np.where(np.isposinf(upper), 0.0, 1.0) - cox_snell(rows, lower, upper, entry=entry)


def deviance(rows: Predictor, lower: Array, upper: Array, width: Array) -> Array:
    r"""Signed root of twice what a row's log likelihood lacks to its largest value over eta, sigma held.

    That value is log f(mode) - tau on exact rows, 0 on one-sided ones, and on rows of width w = (u - l) / sigma the
    log mass of the best placed interval: the middle one of a symmetric law, under the Gumbel law the one whose lower
    end has :math:`H = T = w / (e^w - 1)`, of log mass :math:`-T + \log(1 - e^{-w})`. The sign is that of the
    derivative in eta: positive where the row lies above what is expected.

    As survreg 3.5, but for two of its formulas of that value, neither of them the maximum: under the Gumbel law it has
    :math:`\log(1 - e^{-e^w})` on interval rows, under Student's :math:`-\log f(0) - \tau` on exact ones.

    Parameters
    ----------
    rows : Predictor
    lower, upper, width : (n,) array
        As in `tobitgp.regression.Outcome`; windows are left out of account.

    Returns
    -------
    (n,) array

    Examples
    --------
    >>> from tobitgp.likelihoods.laws import Normal
    >>> rows = Predictor(np.zeros(2), np.zeros(2), Normal())
    >>> print(deviance(rows, np.array([2.0, 0.0]), np.array([2.0, np.inf]), np.array([0.0, np.inf])).round(4))
    [2.     1.1774]
    """
    out = np.zeros_like(lower)
    for kind, i in _kinds(lower, upper):
        terms = row_terms(rows.law, kind, lower[i], upper[i], width[i], rows.eta[i], rows.tau[i])
        best = _best(rows.law, kind, width[i], rows.tau[i])
        out[i] = np.sign(terms.eta) * np.sqrt(2.0 * np.maximum(best - terms.value, 0.0))
    return out


def _best(law: Law, kind: Kind, width: Array, tau: Array) -> Array:
    """Largest log likelihood of rows over eta."""
    zero = np.zeros_like(tau)
    if kind == "exact":
        return np.asarray(law.log_density(zero, 0)[0] - tau)  # every law has its mode at 0
    if kind != "interval":
        return zero
    w = np.maximum(width * np.exp(-tau), _SMALLEST)
    if law.name == "gumbel":
        with np.errstate(over="ignore"):
            return np.asarray(np.log(-np.expm1(-w)) - w / np.expm1(w))
    return row_terms(law, "interval", -0.5 * w, 0.5 * w, w, zero, zero).value


def _kinds(lower: Array, upper: Array) -> Iterator[tuple[Kind, IntArray]]:
    """Positions of the rows of each kind that says something."""
    below, above, exact = np.isneginf(lower), np.isposinf(upper), lower == upper
    kinds: dict[Kind, BoolArray] = {"exact": exact, "left": below & ~above, "right": above & ~below}
    kinds["interval"] = ~(exact | below | above)
    for kind, rows in kinds.items():
        at = np.flatnonzero(rows)
        if len(at):
            yield kind, at


def _standardised(rows: Predictor, end: Array) -> Array:
    return np.asarray((end - rows.eta) / rows.sigma)
