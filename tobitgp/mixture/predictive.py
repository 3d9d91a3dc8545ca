"""Predictive distribution of a mixture, as scipy's frozen distributions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tobitgp.distributions.distribution_arguments import read_size
from tobitgp.distributions.response import complementary
from tobitgp.errors import SpecError
from tobitgp.mixture.family import ComponentDistribution, first_between, first_beyond
from tobitgp.numerics.log_probabilities import weighted
from tobitgp.numerics.roots import root_between
from tobitgp.numerics.sampling import generator, open_uniform
from tobitgp.typing import Array

_FLAT = 1e-6  # of the distance of the ends of a quantile, over which a cdf that does not rise is flat


class Predictive:
    """A mixture of K distributions of one value.

    Every question broadcasts over arrays of values, of any shape, in the units of the response, and gives an array of
    that shape or a number. Log probabilities keep relative precision in both tails.

    Parameters
    ----------
    weights : (K,) array
        Probabilities of the components; they sum to 1.
    distribution : ComponentDistribution
        Of a value under each component: Student's t, Lomax and negative binomial ones, for posteriors.

    Raises
    ------
    SpecError
        By the methods, for values that are not numbers or ends of different shapes.

    References
    ----------
    Kohjima, Matsubayashi and Toda (2019), Variational Bayes for mixture models with censored data, ECML PKDD, eqs. 34
    and 46-47.

    Examples
    --------
    >>> from tobitgp.mixture.weibull import Burr
    >>> lifetime = Predictive(np.ones(1), Burr(np.array([10.0]), np.ones(1), np.array([2.0])))
    >>> print(lifetime.sf(10.0), lifetime.ppf(0.75), round(lifetime.mean(), 9))
    0.25 10.0 10.0
    """

    __slots__ = ("distribution", "weights")

    def __init__(self, weights: Array, distribution: ComponentDistribution) -> None:
        self.weights = np.asarray(weights, dtype=np.float64)
        self.distribution = distribution

    def __repr__(self) -> str:
        return f"Predictive({len(self.weights)} x {type(self.distribution).__name__})"

    def pdf(self, x: ArrayLike) -> Any:
        """Density per unit of the response, or probability of a count, at x."""
        return np.exp(self.logpdf(x))

    def logpdf(self, x: ArrayLike) -> Any:
        """Log of `pdf`, in nats; -inf where nothing can lie."""
        return self._mix(self.distribution.log_density, x)

    def cdf(self, x: ArrayLike) -> Any:
        """Probability of at most x."""
        return np.exp(self.logcdf(x))

    def logcdf(self, x: ArrayLike) -> Any:
        """Log of `cdf`, in nats."""
        return self._log_tails(x)[1][()]

    def sf(self, x: ArrayLike) -> Any:
        """Probability of more than x."""
        return np.exp(self.logsf(x))

    def logsf(self, x: ArrayLike) -> Any:
        """Log of `sf`, in nats."""
        return self._log_tails(x)[0][()]

    def hazard(self, x: ArrayLike) -> Any:
        """Density over survival, per unit of the response; of counts, the probability of x among values of at least x.

        Where nothing is left, as at infinity, it is what the hazard tends to: that of the component that lasts longest.
        (SUR2) of the theory pages.

        Examples
        --------
        >>> from tobitgp.mixture.weibull import WeibullDistribution
        >>> lifetime = Predictive(np.array([0.5, 0.5]), WeibullDistribution(np.array([10.0, 20.0]), np.ones(2)))
        >>> print(lifetime.hazard([0.0, np.inf]))
        [0.075 0.05 ]
        """
        return np.exp(self.log_hazard(x))

    def log_hazard(self, x: ArrayLike) -> Any:
        """Log of `hazard`, which is per unit of the response."""
        log_p = self.logpdf(x)
        log_left = self.logsf(_numbers(x) - 1.0 if self.distribution.discrete else x)
        gone = np.isneginf(log_left)
        with np.errstate(divide="ignore"):
            last = np.log(self.distribution.limiting_hazard()[self.weights > 0.0].min())
        return np.where(gone, last, log_p - np.where(gone, 0.0, log_left))[()]

    def cumulative_hazard(self, x: ArrayLike) -> Any:
        """Minus the log of `sf`: a pure number."""
        return -self.logsf(x)

    def log_mass(self, lower: ArrayLike, upper: ArrayLike) -> Any:
        """Log probability of (lower, upper], and log density where the two are equal, in nats.

        Ends are in the units of the response, of shapes that broadcast; infinite ones are open. The mean over new rows
        is the test log-likelihood by which mixtures are compared, as (MET12) of the theory pages.
        """
        lower, upper = _ends(lower, upper)
        log_p = self.distribution.log_interval(lower.ravel(), upper.ravel())
        return _sum_up(self._weigh(log_p)).reshape(lower.shape)[()]

    def components(self, lower: ArrayLike, upper: ArrayLike) -> Array:
        """Probability of each component for rows in (lower, upper], (n, K), under the predictive distribution."""
        gamma = self._weigh(self.distribution.log_interval(*(end.ravel() for end in _ends(lower, upper))))
        return np.asarray(np.exp(gamma - _sum_up(gamma)).T)

    def ppf(self, q: ArrayLike) -> Any:
        """Quantile in the units of the response: the smallest value whose `cdf` is at least q; NaN outside 0 to 1."""
        q, counts = _numbers(q), self.distribution.discrete
        inside = (q > 0.0) & (q < 1.0)
        lowest = 0.0 if counts else self.distribution.ppf(np.zeros(1)).min()
        out = np.select([q == 0.0, q == 1.0], [lowest, np.inf], np.nan)
        bounds = self.distribution.ppf(q[inside])[self.weights > 0.0]
        if counts:
            low = np.full(bounds.shape[1], -1.0)
            out[inside] = first_between(lambda x: self.cdf(x) >= q[inside], low, bounds.max(axis=0), discrete=True)
        else:
            low, out[inside] = bounds.min(axis=0), bounds.max(axis=0)
            open_ends = (low < out[inside]) & np.isfinite(out[inside])
            at = np.flatnonzero(inside)[open_ends]
            out.flat[at] = self._solved(q.flat[at], low[open_ends], out.flat[at])
        return out[()]

    def _solved(self, q: Array, low: Array, high: Array) -> Array:
        """Values between those of the components (n,) at which the logarithm of the nearer tail is that of q."""
        left = q < 0.5
        goal = np.where(left, np.log(q), np.log1p(-q))

        def rising(x: Array) -> tuple[Array, Array]:
            above, below = self._log_tails(x)
            tail = np.where(left, below, above)
            return np.where(left, tail - goal, goal - tail), np.exp(self.logpdf(x) - tail)

        with np.errstate(all="ignore"):
            found = root_between(rising, low, 0.5 * low + 0.5 * high, high, 0.0)
        before = found - _FLAT * (high - low)
        flat = (before > low) & (self.cdf(before) >= q)
        found[flat] = first_between(lambda x: self.cdf(x) >= q[flat], low[flat], found[flat], discrete=False)
        return found

    @property
    def discrete(self) -> bool:
        """Whether values are whole numbers."""
        return self.distribution.discrete

    def log_odds(self, x: ArrayLike) -> Any:
        """Log odds of more than x, in nats: `logsf` less `logcdf`, each formed where it is small."""
        above, below = self._log_tails(x)
        return (above - below)[()]

    def conditional_mean(self, lower: Array, upper: Array) -> Array:
        """Mean of values in (lower, upper], (n,), in the units of the response; itself where ends are equal."""
        out = np.array(lower, dtype=np.float64)
        open_rows = lower != upper
        ends = out[open_rows], np.asarray(upper, dtype=np.float64)[open_rows]
        with np.errstate(all="ignore"):
            mean = self.distribution.truncated_moments(*ends)[0]
            out[open_rows] = weighted(mean, self.components(*ends).T).sum(axis=0)
        return out

    def observed_mean(self, lower: Array, upper: Array, entry: Array, exit: Array) -> Array:
        """Mean of values clipped at limits, of those inside of a window, (n,), in the units of the response."""
        low, high = np.clip(lower, entry, exit), np.clip(upper, entry, exit)
        inside, below, above = (self._mass(*ends) for ends in ((low, high), (entry, low), (high, exit)))
        out = np.zeros_like(low)
        between = inside > 0.0
        out[between] = inside[between] * self.conditional_mean(low[between], high[between])
        for mass, limit in ((below, lower), (above, upper)):
            out += np.where(mass > 0.0, mass * np.where(mass > 0.0, limit, 0.0), 0.0)
        return np.asarray(out / self._mass(entry, exit))

    def _mass(self, lower: Array, upper: Array) -> Array:
        """Probability of (lower, upper], (n,), 0 where the ends are equal."""
        out, there = np.zeros_like(lower), lower < upper
        out[there] = np.exp(self.log_mass(lower[there], upper[there]))
        return out

    def remaining(self, p: float, start: ArrayLike) -> Any:
        """Time after start at which survival falls to p of what it is at start; infinite where none is left.

        (SUR4) of the theory pages, in the units of the response. It is found on the log scale, far beyond where
        ``1 - sf`` is 1.

        Examples
        --------
        >>> from tobitgp.mixture.weibull import Burr
        >>> lifetime = Predictive(np.ones(1), Burr(np.array([10.0]), np.ones(1), np.array([2.0])))
        >>> print(lifetime.remaining(0.25, 1e9).round(3))
        1000000010.0
        """
        starts, back = np.unique(_numbers(start), return_inverse=True)
        goal = self.logsf(starts) + np.log(p)
        alive, counts = np.isfinite(goal), self.distribution.discrete
        first = np.floor(starts[alive]) if counts else starts[alive]
        width = np.ones_like(first) if counts else np.maximum(np.abs(first), 1e-300)
        out = np.full_like(starts, np.inf)
        end = first_beyond(lambda x: self.logsf(x) <= goal[alive], first, width, discrete=counts)
        out[alive] = end - starts[alive]
        return out[back.reshape(np.shape(start))][()]

    def rvs(self, size: int | tuple[int, ...] | None = None, rng: int | np.random.Generator | None = None) -> Any:
        """Random values of a shape, in the units of the response, one without; ``rng=None`` is deterministic."""
        shape, stream = read_size(size, ()), generator(rng)
        which = stream.choice(len(self.weights), size=int(np.prod(shape)), p=self.weights / self.weights.sum())
        return self.distribution[which].rvs(stream).reshape(shape)[()]

    def mean(self) -> float:
        """Mean, in the units of the response; infinite or NaN where a component has none."""
        with np.errstate(invalid="ignore"):
            return float(self.weights @ self.distribution.mean())

    def var(self) -> float:
        """Variance, in squared units of the response; infinite or NaN where a component has none."""
        mean, variance = self.distribution.mean(), self.distribution.variance()
        with np.errstate(invalid="ignore"):
            return float(self.weights @ (variance + (mean - self.weights @ mean) ** 2))

    def _log_tails(self, x: ArrayLike) -> tuple[Array, Array]:
        """`logsf` and `logcdf`, each formed where it is small."""
        of = self.distribution
        return complementary(lambda: self._mix(of.log_sf, x), lambda: self._mix(of.log_cdf, x))

    def _mix(self, of: Callable[[Array], Array], x: ArrayLike) -> Any:
        x = _numbers(x)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
            out = _sum_up(self._weigh(of(x.ravel())))
        return np.where(np.isnan(x), np.nan, out.reshape(x.shape))[()]

    @np.errstate(divide="ignore")
    def _weigh(self, log_p: Array) -> Array:
        return np.asarray(log_p + np.log(self.weights)[:, None])


@np.errstate(invalid="ignore")
def _sum_up(log_p: Array) -> Array:
    """Log of a sum over components."""
    return np.asarray(np.logaddexp.reduce(log_p, axis=0))


def _numbers(values: ArrayLike) -> Array:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise SpecError(f"{values!r}: must be a number or an array of numbers.") from None


def _ends(lower: ArrayLike, upper: ArrayLike) -> tuple[Array, Array]:
    low, high = _numbers(lower), _numbers(upper)
    try:
        low, high = np.broadcast_arrays(low, high)
    except ValueError:
        raise SpecError(f"lower= and upper= must have one shape, not {low.shape} and {high.shape}.") from None
    return low, high


def draw_between(predictive: Predictive, lower: Array, upper: Array, rng: np.random.Generator) -> Array:
    """A value for each row (lower, upper], (n,): its component given what is known, then a value of that one there."""
    out = np.array(lower, dtype=np.float64)
    open_rows = np.flatnonzero(lower != upper)
    low, high = out[open_rows], np.asarray(upper, dtype=np.float64)[open_rows]
    cumulative = np.cumsum(predictive.components(low, high), axis=1)
    first, share = open_uniform(rng, (2, len(low)))
    which = np.minimum((first[:, None] * cumulative[:, -1:] > cumulative).sum(axis=1), cumulative.shape[1] - 1)
    for k in range(cumulative.shape[1]):
        at = which == k
        value = predictive.distribution[[k]].truncated_ppf(share[at], low[at], high[at])[0]
        out[open_rows[at]] = np.clip(value, low[at], high[at])
    return out
