"""Predictive distribution of a mixture, as scipy's frozen distributions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tobitgp.errors import SpecError
from tobitgp.mixture.family import ComponentDistribution
from tobitgp.numerics.log_probabilities import weighted
from tobitgp.numerics.sampling import generator, open_uniform
from tobitgp.typing import Array

_HALVINGS = 200
_MOST_HALVINGS = 2000


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
        By the questions, for values that are no numbers or ends of different shapes.

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
        return _complete(self._mix(self.distribution.log_cdf, x), self._mix(self.distribution.log_sf, x))

    def sf(self, x: ArrayLike) -> Any:
        """Probability of more than x."""
        return np.exp(self.logsf(x))

    def logsf(self, x: ArrayLike) -> Any:
        """Log of `sf`, in nats."""
        return _complete(self._mix(self.distribution.log_sf, x), self._mix(self.distribution.log_cdf, x))

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
        """Log probability of (lower, upper], and log density where the two are equal.

        Its mean over new rows is the test log-likelihood by which mixtures are compared, as (MET12) of the theory
        pages.

        Parameters
        ----------
        lower, upper : array
            Ends in the units of the response, of shapes that broadcast; infinite ones are open.

        Returns
        -------
        array
            Of their common shape.
        """
        lower, upper = _ends(lower, upper)
        values = self.distribution.log_interval(lower.ravel(), upper.ravel())
        with np.errstate(divide="ignore", invalid="ignore"):
            out = np.logaddexp.reduce(values + np.log(self.weights)[:, None], axis=0)
        return out.reshape(lower.shape)[()]

    def components(self, lower: ArrayLike, upper: ArrayLike) -> Array:
        """Probability of each component for rows in (lower, upper], (n, K), under the predictive distribution."""
        lower, upper = (end.ravel() for end in _ends(lower, upper))
        with np.errstate(divide="ignore", invalid="ignore"):
            gamma = self.distribution.log_interval(lower, upper) + np.log(self.weights)[:, None]
            return np.asarray(np.exp(gamma - np.logaddexp.reduce(gamma, axis=0)).T)

    def ppf(self, q: ArrayLike) -> Any:
        """Quantile in the units of the response: the smallest value whose `cdf` is at least q; NaN outside 0 to 1."""
        q = _numbers(q)
        flat = q.ravel()
        good = (flat > 0.0) & (flat < 1.0)
        out = np.full(flat.shape, np.nan)
        ends = self.distribution.ppf(np.array([0.0, 1.0]))
        out[flat == 0.0] = 0.0 if self.distribution.discrete else ends[:, 0].min()
        out[flat == 1.0] = np.inf
        if good.any():
            out[good] = self._search(flat[good])
        return out.reshape(q.shape)[()]

    @property
    def discrete(self) -> bool:
        """Whether values are whole numbers."""
        return self.distribution.discrete

    def log_odds(self, x: ArrayLike) -> Any:
        """Log odds of more than x, in nats: `logsf` less `logcdf`, each formed where it is small."""
        with np.errstate(invalid="ignore"):
            return self.logsf(x) - self.logcdf(x)

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
        """Mean of values clipped at limits, (n,), in the units of the response; nothing has a window."""
        with np.errstate(all="ignore"):
            inside = np.exp(self.distribution.log_interval(lower, upper))
            out = inside * self.distribution.truncated_moments(lower, upper)[0]
            below, above = np.exp(self.distribution.log_cdf(lower)), np.exp(self.distribution.log_sf(upper))
            out = out + np.where(np.isfinite(lower), lower, 0.0) * below
            return np.asarray(self.weights @ (out + np.where(np.isfinite(upper), upper, 0.0) * above))

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
        return np.array([self._remaining(p, float(one)) for one in starts])[back.reshape(np.shape(start))][()]

    def _remaining(self, p: float, start: float) -> float:
        goal = float(self.logsf(start)) + float(np.log(p))
        if not np.isfinite(goal):
            return float("inf")
        low = float(np.floor(start)) if self.distribution.discrete else start
        width = 1.0 if self.distribution.discrete else max(abs(start), 1e-300)
        while np.isfinite(low + width) and self.logsf(low + width) > goal:
            width *= 2.0
        high = low + width
        for _ in range(_MOST_HALVINGS):
            middle = float(np.floor(0.5 * (low + high))) if self.distribution.discrete else 0.5 * low + 0.5 * high
            if middle in (low, high):
                break
            low, high = (low, middle) if self.logsf(middle) <= goal else (middle, high)
        return high - start

    def rvs(self, size: int | tuple[int, ...] | None = None, rng: int | np.random.Generator | None = None) -> Any:
        """Random values of a shape, in the units of the response, one without; ``rng=None`` is deterministic."""
        rng = generator(rng)
        shape = np.asarray(1 if size is None else size)
        if shape.dtype.kind not in "iu" or shape.ndim > 1 or (shape < 0).any():
            raise SpecError(f"size={size!r}: a whole number of at least 0, or a tuple of them, is needed.")
        n = int(np.prod(shape))
        which = rng.choice(len(self.weights), size=n, p=self.weights / self.weights.sum())
        values = self.distribution[which].rvs(rng)
        return values[0] if size is None else values.reshape(size)

    def mean(self) -> float:
        """Mean, in the units of the response; infinite or NaN where a component has none."""
        with np.errstate(invalid="ignore"):
            return float(self.weights @ self.distribution.mean())

    def var(self) -> float:
        """Variance, in squared units of the response; infinite or NaN where a component has none."""
        mean, variance = self.distribution.mean(), self.distribution.variance()
        with np.errstate(invalid="ignore"):
            return float(self.weights @ (variance + (mean - self.weights @ mean) ** 2))

    def _mix(self, of: Any, x: ArrayLike) -> Any:
        x = _numbers(x)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
            out = np.logaddexp.reduce(of(x.ravel()) + np.log(self.weights)[:, None], axis=0)
        return np.where(np.isnan(x), np.nan, out.reshape(x.shape))[()]

    def _search(self, q: Array) -> Array:
        """Bisect between the smallest and the largest of the components' quantiles."""
        bounds = self.distribution.ppf(q)
        held = self.weights > 0.0
        low, high = bounds[held].min(axis=0), bounds[held].max(axis=0)
        if self.distribution.discrete:
            low = np.full_like(low, -1.0)
        for _ in range(_HALVINGS):
            middle = np.floor(0.5 * (low + high)) if self.distribution.discrete else 0.5 * low + 0.5 * high
            if ((middle == low) | (middle == high)).all():
                break
            enough = self.cdf(middle) >= q
            low, high = np.where(enough, low, middle), np.where(enough, middle, high)
        return np.asarray(high)


def _numbers(values: ArrayLike) -> Array:
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise SpecError(f"{values!r}: a number or an array of numbers is needed.") from None


def _ends(lower: ArrayLike, upper: ArrayLike) -> tuple[Array, Array]:
    low, high = _numbers(lower), _numbers(upper)
    try:
        low, high = np.broadcast_arrays(low, high)
    except ValueError:
        raise SpecError(f"lower and upper need one shape, not {low.shape} and {high.shape}.") from None
    return low, high


def _complete(log_p: Any, log_rest: Any) -> Any:
    """Log probability, from that of the rest where it is near to 0."""
    with np.errstate(divide="ignore"):
        return np.where(log_p > log_rest, np.log1p(-np.exp(np.minimum(log_rest, 0.0))), log_p)[()]


def draw_between(predictive: Predictive, lower: Array, upper: Array, rng: np.random.Generator) -> Array:
    """A value for each row (lower, upper], (n,): its component given what is known, then a value of that one there.

    Shapes: lower, upper (n,).
    """
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
