"""Intervals of parameters by the profile likelihood."""

from __future__ import annotations

import warnings

import numpy as np
from scipy.special import ndtri

from tobitgp.diagnostics.training_draws import training_rows
from tobitgp.errors import SpecError
from tobitgp.formula.functions import nearest
from tobitgp.inference.given_parameters import check_unambiguous
from tobitgp.numerics.roots import profile_end
from tobitgp.results.fit import Fit
from tobitgp.results.predict import check_alpha

_IMPOSSIBLE = 1e6  # nats below the maximum


def profile_interval(results: Fit, name: str, alpha: float = 0.05) -> tuple[float, float]:
    """Interval of a parameter by the profile likelihood, which need not be symmetric.

    It contains the values that a likelihood ratio test does not reject, with the other parameters maximised at each.

    Parameters
    ----------
    name : str
        One of ``params``.
    alpha : float
        Significance level: the interval has probability ``1 - alpha``.

    Returns
    -------
    tuple of float
        Lower and upper end, in the units of the parameter; infinite (or 0 for sigma and df) if the likelihood does not
        fall far enough. Both are equal if the parameter is fixed.

    Raises
    ------
    SpecError
        For an unknown name, an ``alpha`` outside (0, 1), a robust covariance, which does not assume a correct
        likelihood, or a fit that has not converged or holds no training rows.

    References
    ----------
    D. J. Venzon and S. H. Moolgavkar (1988), A method for computing profile-likelihood-based confidence intervals,
    *Applied Statistics* 37, 87-94; (ECO3) of the theory pages.

    Examples
    --------
    >>> import tobitgp as tg
    >>> res = tg.fit("durable ~ age + quant | censor(0)", tg.datasets.load("tobin"))
    >>> [round(end, 3) for end in res.profile_interval("age")]
    [-0.729, 0.335]
    >>> res.conf_int().loc["age"].round(3).tolist()
    [-0.557, 0.299]
    """
    alpha, parts, names = check_alpha(alpha), results.parts, results._names
    if name not in names:
        close = nearest(str(name), names) or "."
        raise SpecError(f"{name!r} is not a parameter of this fit: {', '.join(names)}{close}")
    check_unambiguous("profile_interval()", [name], names)
    why = "" if parts.maximum.converged else "this fit has not converged"
    if parts.cov_type != "nonrobust":
        why = f"cov_type={parts.cov_type!r} does not assume a correct likelihood; use conf_int() or bootstrap()"
    if why:
        raise SpecError(f"Profile-likelihood intervals require a maximum of the likelihood: {why}.")
    place = names.index(name)
    value = float(results.params.iloc[place])
    if not parts.maximum.free[place]:
        return value, value
    training_rows(parts, "a profile-likelihood interval")
    positive = place >= len(parts.columns) and bool(parts.positive[place - len(parts.columns)])
    shape = parts.one_shape and name == parts.shape_name
    low, high = parts.family.distribution.coordinate_range() if shape else (-np.inf, np.inf)
    best, drop = np.log(value) if positive else value, 0.5 * float(ndtri(0.5 * alpha)) ** 2

    def fall(at: float) -> float:
        if at == best:
            return 0.0
        at = min(max(at, low), high)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                found = parts.again({name: float(np.exp(at) if positive else at)})
            except SpecError:  # a baseline that does not rise has no likelihood
                return _IMPOSSIBLE
        return parts.llf - found.llf

    error, ends = _step(results, name, value if positive else 1.0), []
    for side, most in ((-1.0, -low), (1.0, high)):
        end = profile_end(fall, drop, best, side, error, far=None if np.isinf(most) else most - error)
        ends.append(side * np.inf if end is None else end)
    lower, upper = np.exp(ends) if positive else np.array(ends)
    return float(lower), float(upper)


def _step(results: Fit, name: str, unit: float) -> float:
    """A standard error, as a first step from the maximum."""
    step = float(results.bse[name]) / unit
    return step if 0.0 < step < np.inf else 1.0
