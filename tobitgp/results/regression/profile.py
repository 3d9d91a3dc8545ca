"""Intervals of the parameters of a regression by the profile likelihood."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtri

from tobitgp.data.outcome import outcome
from tobitgp.errors import SpecError
from tobitgp.formula.functions import nearest
from tobitgp.numerics.factored import variances
from tobitgp.regression import maximise
from tobitgp.regression.profile import profile_end
from tobitgp.results.predict import check_alpha
from tobitgp.results.regression.parts import RegressionParts, as_written, known_scale, model_arguments

if TYPE_CHECKING:
    from tobitgp.results.regression.results import RegressionResults


def profile_interval(results: RegressionResults, name: str, alpha: float = 0.05) -> tuple[float, float]:
    """Interval of a parameter by the profile likelihood, which need not be symmetric.

    It holds the values that a likelihood ratio test does not reject, the other parameters at their best for each.

    Parameters
    ----------
    name : str
        One of ``params``.
    alpha : float
        Probability left out of the interval.

    Returns
    -------
    tuple of float
        Lower and upper end, in the units of the parameter; infinite, or 0 of sigma and df, where the likelihood falls
        no further. Equal where the parameter is fixed.

    Raises
    ------
    SpecError
        For another name, an ``alpha`` outside (0, 1), a robust covariance, which does not take the likelihood for
        true, a fit that has not converged or holds no training rows, or start-stop rows.

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
        raise SpecError(f"{name!r} is no parameter{nearest(str(name), names)}; this fit has {', '.join(names)}.")
    why = "start-stop rows have none" if results._of_subjects else ""
    if parts.cov_type != "nonrobust":
        why = f"cov_type={parts.cov_type!r} does not take the likelihood for true; use conf_int(), or bootstrap()"
    if why or not parts.maximum.converged:
        raise SpecError(f"Profile-likelihood intervals are of a maximum: {why or 'this fit has not converged'}.")
    place = names.index(name)
    if not parts.maximum.free[place]:
        value = float(results.params.iloc[place])
        return value, value
    return _ends(parts, place, 0.5 * float(ndtri(0.5 * alpha)) ** 2)


def _ends(parts: RegressionParts, place: int, drop: float) -> tuple[float, float]:
    """Ends on the scale of the report."""
    rows = outcome(parts.rows.response, log_time=parts.family.log_time)
    maximum, p, q = parts.maximum, len(parts.columns), len(parts.maximum.gamma)
    coefficients = np.where(maximum.free[:p], np.nan, parts.coefficients)
    best = float(np.concatenate([parts.coefficients, maximum.parameters[p:]])[place])
    given = model_arguments(parts.rows.design, parts.family)

    def at(v: float) -> dict[str, Any]:
        """What is known where the parameter is v."""
        known = np.concatenate([coefficients, known_scale(parts)])
        shape: dict[str, Any] = {}
        if place < p + q:
            known[place] = v
        else:
            shape = {"distribution": given["distribution"].at_coordinate(v), "estimate_shape": False}
        return {"fixed_coefficients": known[:p], "fixed_gamma": known[p:], **given, **shape}

    error = _step(parts, place)
    low, high = parts.family.distribution.coordinate_range() if place >= p + q else (-np.inf, np.inf)

    def below(v: float) -> float:
        found = maximise(rows, parts.rows.design.H, **at(min(max(v, low), high)))
        return maximum.log_likelihood - found.log_likelihood - drop

    ends = []
    for side, most in ((-1.0, -low), (1.0, high)):
        end = profile_end(below, best, side, error, far=None if np.isinf(most) else most - error)
        ends.append(side * np.inf if end is None else end)
    positive = place >= p and bool(parts.positive[place - p])
    lower, upper = np.exp(ends) if positive else np.array(ends)
    return float(lower), float(upper)


def _step(parts: RegressionParts, place: int) -> float:
    """A standard error, as a first step from the maximum."""
    step = float(np.sqrt(variances(as_written(parts, parts.covariance))[place]))
    return step if 0.0 < step < np.inf else 1.0
