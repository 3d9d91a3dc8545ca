r"""Quantities of a mixture, each with its derivatives in the parameters.

Means, quantiles, probabilities and everything of survival are those of the exact predictive law, in which parameters
are integrated over their posterior; what was seen of a row (`conditional`) and the clipped mean (`observed`) are at the
plug-in parameters, where truncated moments are closed. Derivatives are at the plug-in parameters throughout.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tobitgp.errors import ApproximationWarning, SpecError, user_level
from tobitgp.mixture import MixtureFit, impute
from tobitgp.mixture.impute import MOMENTS
from tobitgp.mixture.law import Law
from tobitgp.mixture.model import Bayes
from tobitgp.mixture.predictive import log_masses
from tobitgp.regression.delta import interval
from tobitgp.regression.scales import Link
from tobitgp.results.mixture_slopes import delta_errors, mixture_slopes
from tobitgp.typing import Array


@dataclass(frozen=True, slots=True)
class MixtureQuantity:
    """A quantity at n places.

    Attributes
    ----------
    value : (n,) array
    slopes : callable
        Gives the derivatives (n, p) in all parameters; asked where errors are.
    link : {"identity", "log", "logit"}
        Scale on which intervals are symmetric.
    """

    value: Array
    slopes: Callable[[], Array]
    link: Link

    def statistics(self, V: Array | None, level: float | None, *, se: bool) -> dict[str, Array]:
        """Columns ``mean``, with ``se`` or ``level`` also ``se``, with ``level`` ``lower`` and ``upper``; (n,) each."""
        out = {"mean": self.value}
        if V is not None and (se or level is not None):
            with np.errstate(all="ignore"):
                slopes = self.slopes()
            out["se"] = np.where(np.isfinite(self.value), delta_errors(slopes, V), np.nan)
            if level is not None:
                out["lower"], out["upper"] = interval(self.value, out["se"], level, self.link)
        return out


def _link(fit: MixtureFit) -> Link:
    return "identity" if fit.model.family.support == "real" else "log"


def finite_mean(fit: MixtureFit, instead: str) -> float:
    """Mean of the predictive law, with a warning where it is not finite.

    Parameters
    ----------
    fit : MixtureFit
    instead : str
        What to ask for, as a sentence without its end.

    Warns
    -----
    ApproximationWarning
        Saying why there is no mean, and what there is instead.
    """
    value = fit.predictive().mean()
    if not np.isfinite(value):
        words = "is infinite" if np.isposinf(value) else "does not exist"
        over = "with parameters integrated over their posterior, " if isinstance(fit.model, Bayes) else ""
        warnings.warn(
            f"The mean of this law {words}: {over}the {fit.model.family.name} components have tails too heavy for "
            f"one; {instead}.",
            ApproximationWarning,
            stacklevel=user_level(),
        )
    return value


def mean(fit: MixtureFit) -> MixtureQuantity:
    """Mean of a new value; infinite or NaN where a component has none, which is warned of by `finite_mean`."""
    value = np.array([finite_mean(fit, "what='median' and what='quantile' are finite")])
    return MixtureQuantity(value, lambda: mixture_slopes(fit, lambda law: law.moments()[0][:, None]), _link(fit))


def quantile(fit: MixtureFit, q: float) -> MixtureQuantity:
    """Quantile of a new value; its derivatives are those of the cdf over minus the density.

    Raises
    ------
    SpecError
        When errors are asked of counts, whose quantiles do not move smoothly.
    """
    value = np.atleast_1d(fit.predictive().ppf(q))

    def slopes() -> Array:
        if fit.model.family.support == "counts":
            raise SpecError(
                "Quantiles of counts are whole numbers and have no standard error; ask what='prob' with its interval."
            )
        density = fit.plug_in().pdf(value)
        return np.asarray(-mixture_slopes(fit, lambda law: np.exp(law.log_cdf(value))) / density[:, None])

    return MixtureQuantity(value, slopes, _link(fit))


def probability(fit: MixtureFit, limit: float, *, above: bool) -> MixtureQuantity:
    """Probability that a new value lies strictly below, or strictly above, a limit."""
    x = np.array([limit])
    if above:
        return MixtureQuantity(fit.predictive().sf(x), lambda: mixture_slopes(fit, lambda law: _sf(law, x)), "logit")
    at = np.ceil(x) - 1.0 if fit.model.family.support == "counts" else x
    value = fit.predictive().cdf(at)
    return MixtureQuantity(value, lambda: mixture_slopes(fit, lambda law: np.exp(law.log_cdf(at))), "logit")


def survival(fit: MixtureFit, times: Array, after: float | None = None) -> MixtureQuantity:
    """Probability of surviving ``times``, or ``times`` more given survival of ``after``."""
    predictive, end = fit.predictive(), times + (after or 0.0)
    start = np.array([after or 0.0])
    value = np.exp(np.minimum(predictive.logsf(end) - (0.0 if after is None else predictive.logsf(start)), 0.0))

    def slopes() -> Array:
        G = mixture_slopes(fit, lambda law: _sf(law, end))
        if after is None:
            return G
        return np.asarray(
            (G - value[:, None] * mixture_slopes(fit, lambda law: _sf(law, start))) / predictive.sf(start)
        )

    return MixtureQuantity(value, slopes, "logit")


def cumulative_hazard(fit: MixtureFit, times: Array, after: float | None = None) -> MixtureQuantity:
    """Minus the logarithm of `survival`."""
    alive, predictive = survival(fit, times, after), fit.predictive()
    value = predictive.cumulative_hazard(times + (after or 0.0))
    if after is not None:
        value = value - predictive.cumulative_hazard(after)
    value = np.maximum(value, 0.0)
    return MixtureQuantity(value, lambda: -alive.slopes() / alive.value[:, None], "log")


def hazard(fit: MixtureFit, times: Array, after: float | None = None) -> MixtureQuantity:
    """Hazard at ``times``, counted from ``after``; of counts, the probability of one among values of at least it."""
    end = times + (after or 0.0)
    before = end - 1.0 if fit.model.family.support == "counts" else end
    value = fit.predictive().hazard(end)

    def slopes() -> Array:
        alive = fit.predictive().sf(before)[:, None]
        G = mixture_slopes(fit, lambda law: np.exp(law.log_density(end)))
        return np.asarray((G - value[:, None] * mixture_slopes(fit, lambda law: _sf(law, before))) / alive)

    return MixtureQuantity(value, slopes, "log")


def observed(fit: MixtureFit, lower: Array, upper: Array) -> MixtureQuantity:
    """Mean of a new value clipped at limits (n,), infinite where there is none."""

    def of(law: Law) -> Array:
        inside = np.exp(log_masses(law, lower, upper)) * MOMENTS[type(law)](law, lower, upper)[0]
        below, above = np.exp(law.log_cdf(lower)), np.exp(law.log_sf(upper))
        out = inside + np.where(np.isfinite(lower), lower, 0.0) * below
        return np.asarray(out + np.where(np.isfinite(upper), upper, 0.0) * above)

    with np.errstate(all="ignore"):
        value = fit.weights @ of(fit.plug_in().law)
    return MixtureQuantity(value, lambda: mixture_slopes(fit, of), "identity")


def conditional(fit: MixtureFit, lower: Array, upper: Array) -> MixtureQuantity:
    """Mean of the values of rows in (lower, upper], (n,): the value itself where it was seen."""
    value, _ = impute(fit, lower, upper)
    low, high = lower.astype(np.float64), upper.astype(np.float64)
    exact = low == high

    def slopes() -> Array:
        G = np.zeros((len(value), len(fit.names)))
        ends = low[~exact], high[~exact]
        plug_in = fit.plug_in()
        share = np.exp(log_masses(plug_in.law, *ends) - plug_in.log_mass(*ends)).T
        with np.errstate(all="ignore"):
            away = MOMENTS[type(plug_in.law)](plug_in.law, *ends)[0].T - value[~exact][:, None]
        # the mass far out moves by powers of ten where its logarithm is smooth
        of_mass = mixture_slopes(fit, lambda law: log_masses(law, *ends))
        of_mean = mixture_slopes(fit, lambda law: MOMENTS[type(law)](law, *ends)[0])
        each = of_mass.shape[1] // fit.k
        share, away = np.tile(share, each), np.tile(away, each)
        with np.errstate(invalid="ignore"):
            moved = of_mean + of_mass * away
            moved[:, : fit.k] = away[:, : fit.k]
            G[~exact] = np.where(share > 0.0, share * moved, 0.0)
        return G

    return MixtureQuantity(value, slopes, "identity")


def _sf(law: Law, x: Array) -> Array:
    return np.exp(law.log_sf(x))
