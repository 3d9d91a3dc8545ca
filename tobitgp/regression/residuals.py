r"""Residuals of the rows a regression was fitted to, censored ones included.

Rows are known on the scale that is modelled, that of log y on log time: y in (lower, upper], equal ends where it is
exact. With S the survival function of a row, H = -log S is its cumulative hazard;
H(y) is a unit exponential variable E. (REG16) and (REG17) of the theory pages.

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

import numpy as np
from scipy.special import ndtri_exp

from tobitgp.distributions.intervals import log_mass
from tobitgp.regression.conditional import conditional_mean, latent_mean
from tobitgp.regression.scales import Predictor, uncensored
from tobitgp.typing import Array, BoolArray

_SHORT = 0.05


def response(rows: Predictor, lower: Array, upper: Array) -> Array:
    """y, or its conditional mean where it is censored, less the mean of y*; (n,), on the scale of the response.

    Minus infinity where y* has an infinite mean, NaN where the conditional one is infinite too.
    """
    with np.errstate(invalid="ignore", over="ignore"):
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

    Shapes: lower, upper, uniform, entry, exit (n,); gives (n,).
    """
    a, b = _standardised(rows, lower), _standardised(rows, upper)
    first, last = _window(rows, a, entry, exit)
    whole = log_mass(rows.law, first, last)
    with np.errstate(divide="ignore"):
        share, rest = np.log(uniform), np.log1p(-uniform)
    below = np.logaddexp(rest + log_mass(rows.law, first, a), share + log_mass(rows.law, first, b)) - whole
    above = np.logaddexp(rest + log_mass(rows.law, a, last), share + log_mass(rows.law, b, last)) - whole
    left = below < above
    score = ndtri_exp(np.minimum(np.where(left, below, above), 0.0))
    return np.asarray(np.where(left, score, -score))


def cox_snell(
    rows: Predictor, lower: Array, upper: Array, *, entry: Array | None = None, exit: Array | None = None
) -> Array:
    r"""Cumulative hazard of each row.

    H(y) of exact rows, H(lower) of right-censored ones, as survival analysis has it. A row known to lie in (l, u], with
    A = H(l) and B = H(u), A = 0 on left-censored rows, gets the expectation of its exponential variable,

    .. math:: E[E | A < E \le B] = A + 1 - \frac{B - A}{e^{B - A} - 1}.

    Shapes: lower, upper, entry, exit (n,); gives (n,).
    """
    first, last = _window(rows, lower, entry, exit)
    whole = log_mass(rows.law, first, last)
    censored = open_end(lower, upper, exit)
    A = whole - log_mass(rows.law, _standardised(rows, lower), last)
    B = whole - log_mass(rows.law, np.where(censored, -np.inf, _standardised(rows, upper)), last)
    return expected_hazard(A, B, censored)


def expected_hazard(A: Array, B: Array, censored: BoolArray) -> Array:
    """Cumulative hazard of rows from that at both ends, A <= B, as `cox_snell` has it: A if right-censored; (n,)."""
    gap = np.where(censored, 0.0, B - A)
    near = np.minimum(gap, _SHORT)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        far = 1.0 - gap / np.expm1(gap)
    return A + np.where(gap < _SHORT, near * (0.5 - near * (1.0 / 12.0 - near * near / 720.0)), far)


def martingale(
    rows: Predictor, lower: Array, upper: Array, *, entry: Array | None = None, exit: Array | None = None
) -> Array:
    """Events less their expected number: 1 - `cox_snell`, or minus it on right-censored rows; (n,).

    On left-censored and interval rows it is the expectation given the row (Farrington, equation 3), which is
    ``(S_l log S_l - S_u log S_u) / (S_l - S_u)``.
    """
    event = np.where(open_end(lower, upper, exit), 0.0, 1.0)
    return event - cox_snell(rows, lower, upper, entry=entry, exit=exit)


def open_end(lower: Array, upper: Array, exit: Array | None) -> BoolArray:
    """Rows of which only a lower end is known, that of the window apart."""
    return np.isposinf(upper) if exit is None else (upper >= exit) & (lower < upper)


def _window(rows: Predictor, lower: Array, entry: Array | None, exit: Array | None) -> tuple[Array, Array]:
    """Standardised ends of the windows, (n,) each."""
    first = np.full_like(lower, -np.inf) if entry is None else _standardised(rows, entry)
    last = np.full_like(lower, np.inf) if exit is None else _standardised(rows, exit)
    return first, last


def _standardised(rows: Predictor, end: Array) -> Array:
    return np.asarray((end - rows.eta) / rows.sigma)
