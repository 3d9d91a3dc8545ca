r"""Quantities of a mixture, each with its derivatives in the parameters.

Means, quantiles, probabilities and everything of survival are those of the exact predictive distribution, in which
parameters are integrated over their posterior; what was seen of a row (`conditional`) and the clipped mean (`observed`)
are at the plug-in parameters, where truncated moments are closed. Derivatives are at the plug-in parameters throughout,
and taken on the scale of the link, so that bands far beyond the data are as wide as the tail is unsure. Bands of
probabilities and of all of survival say how well the curve given the parameters is known, and are centred at the
plug-in parameters.

A quantity of a mixture is :math:`\sum_k w_k g_k(\theta_k)`, so that its derivative in a weight is :math:`g_k` and
that in a parameter of component k is :math:`w_k\,\partial g_k`. Components do not see each other's parameters: one
parameter of all of them moves at a time.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, ndtri

from tobitgp.errors import ApproximationWarning, SpecError, user_level
from tobitgp.mixture import MixtureFit, Predictive, impute
from tobitgp.mixture.family import ComponentDistribution
from tobitgp.mixture.model import Bayes
from tobitgp.numerics.differences import slope
from tobitgp.regression.scales import Link
from tobitgp.typing import Array, BoolArray

_STEP = 0.02  # of a standard deviation of a component, or of the logarithm of a parameter
_NOTHING = 1e-12

OfDistribution = Callable[[ComponentDistribution], Array]


def mixture_slopes(fit: MixtureFit, of: OfDistribution) -> Array:
    """Derivatives (n, p) of ``sum_k w_k of(distribution)_k`` in all parameters, in the order of ``fit.names``."""
    theta, family, units = fit.theta, fit.model.family, fit.units
    slopes, unit = family.point_estimates(theta, units)[1], family.steps(theta)
    with np.errstate(all="ignore"):
        value = of(family.distribution(theta, units))
        by_theta = []
        for d in range(len(theta)):
            way = np.zeros_like(theta)
            way[d] = unit[d]
            moved = slope(lambda s, way=way: of(family.distribution(theta + s * way, units)), _STEP)  # type: ignore[misc]
            by_theta.append(moved / unit[d][:, None])
        inverse = np.linalg.inv(np.moveaxis(slopes, 2, 0))
    by_natural = np.einsum("dkn,kdr->rkn", np.stack(by_theta), inverse) * fit.weights[:, None]
    return np.concatenate([value, *by_natural]).T


def log_slopes(fit: MixtureFit, of: OfDistribution) -> Array:
    r"""Derivatives (n, p) of :math:`\log \sum_k w_k \exp(of_k)`, far out too, where the sum underflows."""
    with np.errstate(all="ignore"):
        each = of(fit.plug_in().distribution)
        share = np.exp(each - np.logaddexp.reduce(each + np.log(fit.weights)[:, None], axis=0)).T
        moved = mixture_slopes(fit, of)
        out = np.where(share[:, None] > 0.0, share[:, None] * moved.reshape(len(share), -1, fit.k), 0.0)
    out[:, 0] = share
    out[np.isnan(share).any(axis=1)] = np.nan
    return out.reshape(moved.shape)


def delta_errors(G: Array, V: Array) -> Array:
    """Standard errors (n,) of quantities with derivatives G (n, p).

    NaN where a derivative in a parameter that has a variance is not finite, or a parameter in them is not determined.
    """
    unknown = np.isnan(np.diag(V))
    lost = (~np.isfinite(G) & (np.diag(V) != 0.0)).any(axis=1)
    G = np.where(np.isfinite(G), G, 0.0)
    size = np.abs(G).max(axis=1, initial=0.0, keepdims=True)
    lost |= (np.abs(G[:, unknown]) > _NOTHING * size).any(axis=1)
    known = G[:, ~unknown]
    variance = np.einsum("np,pq,nq->n", known, V[np.ix_(~unknown, ~unknown)], known)
    return np.where(lost, np.nan, np.sqrt(np.maximum(variance, 0.0)))


@dataclass(frozen=True, slots=True)
class Quantity:
    """A quantity at n places, and on the scale of its link, where nothing far out underflows."""

    value: Array  # (n,)
    linked: Array  # (n,), the centre of its band: itself, its logarithm or its logit
    slopes: Callable[[], Array]  # gives the derivatives (n, p) of ``linked`` in all parameters; asked where errors are
    link: Link  # scale on which intervals are symmetric

    def statistics(self, V: Array | None, level: float | None, *, se: bool) -> dict[str, Array]:
        """Columns ``mean``, with ``se`` or ``level`` also ``se``, with ``level`` ``lower`` and ``upper``; (n,) each."""
        out = {"mean": self.value}
        if V is not None and (se or level is not None):
            with np.errstate(all="ignore"):
                error = delta_errors(self.slopes(), V)
                # what is certain has no slopes: survival of a lifetime at 0
                error = np.where(np.isnan(error) & self._certain, 0.0, error)
                out["se"] = np.where(np.isfinite(out["mean"]), error * self._stretch(), np.nan)
            if level is not None:
                reach = float(ndtri(0.5 + 0.5 * level)) * error
                out["lower"], out["upper"] = (self.centre(side * reach) for side in (-1.0, 1.0))
        return out

    def centre(self, moved: Array | float = 0.0) -> Array:
        """Middle of the band, moved on the scale of the link; what is certain stays where it is."""
        return np.where(np.isinf(self.linked), self.value + 0.0 * moved, _UNLINK[self.link](self.linked + moved))

    @property
    def _certain(self) -> BoolArray:
        return np.isinf(self.linked) & (np.isfinite(self.value) if self.link != "identity" else False)

    def _stretch(self) -> Array | float:
        """Derivative of the quantity in ``linked``."""
        if self.link == "logit":
            return np.asarray(expit(self.linked) * expit(-self.linked))
        return self.value if self.link == "log" else 1.0


def _exp(linked: Array) -> Array:
    with np.errstate(over="ignore"):
        return np.exp(linked)


_UNLINK: dict[Link, Callable[[Array], Array]] = {"identity": lambda linked: linked, "log": _exp, "logit": expit}


def finite_mean(fit: MixtureFit, instead: str) -> float:
    """Mean of the predictive distribution, with a warning where it is not finite."""
    value = fit.predictive().mean()
    if not np.isfinite(value):
        words = "is infinite" if np.isposinf(value) else "does not exist"
        over = "with parameters integrated over their posterior, " if isinstance(fit.model, Bayes) else ""
        warnings.warn(
            f"The mean of this distribution {words}: {over}the {fit.model.family.name} components have tails too heavy "
            f"for one; {instead}.",
            ApproximationWarning,
            stacklevel=user_level(),
        )
    return value


def mean(fit: MixtureFit) -> Quantity:
    """Mean of a new value; infinite or NaN where a component has none, which is warned of by `finite_mean`."""
    value = np.array([finite_mean(fit, "what='median' and what='quantile' are finite")])
    return _on_scale(fit, value, lambda: mixture_slopes(fit, lambda d: d.mean()[:, None]))


def quantile(fit: MixtureFit, q: float) -> Quantity:
    """Quantile of a new value; its derivatives are those of the cdf over minus the density."""
    value = np.atleast_1d(fit.predictive().ppf(q))

    def slopes() -> Array:
        if fit.model.family.support == "counts":
            raise SpecError(
                "Quantiles of counts are whole numbers and have no standard error; ask what='prob' with its interval."
            )
        d = fit.plug_in()
        below, above, density = d.logcdf(value), d.logsf(value), d.logpdf(value)
        down = -log_slopes(fit, lambda d: d.log_cdf(value)) * np.exp(below - density)[:, None]
        up = log_slopes(fit, lambda d: d.log_sf(value)) * np.exp(above - density)[:, None]
        return np.where((below < above)[:, None], down, up)

    return _on_scale(fit, value, slopes)


def probability(fit: MixtureFit, limit: float, *, above: bool) -> Quantity:
    """Probability that a new value lies strictly below, or strictly above, a limit."""
    x = np.array([limit])
    if above:
        return survival(fit, x)
    at = np.ceil(x) - 1.0 if fit.model.family.support == "counts" else x
    rest = survival(fit, at)
    return Quantity(fit.predictive().cdf(at), -rest.linked, lambda: -rest.slopes(), "logit")


def survival(fit: MixtureFit, times: Array, after: float | None = None) -> Quantity:
    """Probability of surviving ``times``, or ``times`` more given survival of ``after``."""

    def log_odds(d: Predictive) -> tuple[Array, Array]:
        """Logs of survival and of its complement."""
        if after is None:
            return d.logsf(times), d.logcdf(times)
        left = np.minimum(d.logsf(times + after) - d.logsf(after), 0.0)
        return left, np.log(-np.expm1(left))

    @np.errstate(all="ignore")
    def slopes() -> Array:
        alive, dead = log_odds(fit.plug_in())
        of_alive = _slopes_alive(fit, times, after) / np.exp(dead)[:, None]
        if after is not None:
            return of_alive
        of_dead = log_slopes(fit, lambda d: d.log_cdf(times)) / np.exp(alive)[:, None]
        return np.where((alive < dead)[:, None], of_alive, -of_dead)

    with np.errstate(divide="ignore", invalid="ignore"):
        alive, dead = log_odds(fit.plug_in())
        return Quantity(np.exp(log_odds(fit.predictive())[0]), alive - dead, slopes, "logit")


def cumulative_hazard(fit: MixtureFit, times: Array, after: float | None = None) -> Quantity:
    """Minus the logarithm of `survival`."""

    def of(d: Predictive) -> Array:
        value = d.cumulative_hazard(times + (after or 0.0))
        return np.maximum(value if after is None else value - d.cumulative_hazard(after), 0.0)

    risen = of(fit.plug_in())
    with np.errstate(divide="ignore"):
        linked = np.log(risen)
    return Quantity(of(fit.predictive()), linked, lambda: -_slopes_alive(fit, times, after) / risen[:, None], "log")


def hazard(fit: MixtureFit, times: Array, after: float | None = None) -> Quantity:
    """Hazard at ``times``, counted from ``after``; of counts, the probability of one among values of at least it."""
    end = times + (after or 0.0)
    before = end - 1.0 if fit.model.family.support == "counts" else end

    def slopes() -> Array:
        return log_slopes(fit, lambda d: d.log_density(end)) - log_slopes(fit, lambda d: d.log_sf(before))

    return Quantity(fit.predictive().hazard(end), fit.plug_in().log_hazard(end), slopes, "log")


def _slopes_alive(fit: MixtureFit, times: Array, after: float | None) -> Array:
    """Derivatives of log survival."""
    end = times + (after or 0.0)
    G = log_slopes(fit, lambda d: d.log_sf(end))
    return G if after is None else G - log_slopes(fit, lambda d: d.log_sf(np.array([after])))


def _on_scale(fit: MixtureFit, value: Array, slopes: Callable[[], Array]) -> Quantity:
    """A quantity of the size of the response, from its own derivatives; on the log scale where values are positive."""
    if fit.model.family.support == "real":
        return Quantity(value, value, slopes, "identity")
    with np.errstate(divide="ignore"):
        return Quantity(value, np.log(value), lambda: slopes() / value[:, None], "log")


def observed(fit: MixtureFit, lower: Array, upper: Array) -> Quantity:
    """Mean of a new value clipped at limits (n,), infinite where there is none."""

    def of(d: ComponentDistribution) -> Array:
        inside = np.exp(d.log_interval(lower, upper)) * d.truncated_moments(lower, upper)[0]
        below, above = np.exp(d.log_cdf(lower)), np.exp(d.log_sf(upper))
        out = inside + np.where(np.isfinite(lower), lower, 0.0) * below
        return np.asarray(out + np.where(np.isfinite(upper), upper, 0.0) * above)

    with np.errstate(all="ignore"):
        value = fit.weights @ of(fit.plug_in().distribution)
    return Quantity(value, value, lambda: mixture_slopes(fit, of), "identity")


def conditional(fit: MixtureFit, lower: Array, upper: Array) -> Quantity:
    """Mean of the values of rows in (lower, upper], (n,): the value itself where it was seen."""
    value, _ = impute(fit, lower, upper)
    low, high = lower.astype(np.float64), upper.astype(np.float64)
    exact = low == high

    def slopes() -> Array:
        G = np.zeros((len(value), len(fit.names)))
        ends = low[~exact], high[~exact]
        plug_in = fit.plug_in()
        share = np.exp(plug_in.distribution.log_interval(*ends) - plug_in.log_mass(*ends)).T
        with np.errstate(all="ignore"):
            away = plug_in.distribution.truncated_moments(*ends)[0].T - value[~exact][:, None]
        # the mass far out moves by powers of ten where its logarithm is smooth
        of_mass = mixture_slopes(fit, lambda d: d.log_interval(*ends))
        of_mean = mixture_slopes(fit, lambda d: d.truncated_moments(*ends)[0])
        each = of_mass.shape[1] // fit.k
        share, away = np.tile(share, each), np.tile(away, each)
        with np.errstate(invalid="ignore"):
            moved = of_mean + of_mass * away
            moved[:, : fit.k] = away[:, : fit.k]
            G[~exact] = np.where(share > 0.0, share * moved, 0.0)
        return G

    return Quantity(value, value, slopes, "identity")
