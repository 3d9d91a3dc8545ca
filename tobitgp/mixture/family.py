"""What a family of mixture components consists of: distributions of a value, and prior, posterior and updates.

Parameters of K components are (K,) arrays each, answers about n values (K, n).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import fields, replace
from typing import ClassVar, Literal, NamedTuple, Self

import numpy as np
from scipy.special import expit

from tobitgp.mixture.mixture_priors import ComponentPrior
from tobitgp.mixture.mixture_rows import Floor, MixtureRows, MixtureUnits, Support, WorkingRows
from tobitgp.numerics.log_probabilities import log_difference
from tobitgp.numerics.unimodal import Domain
from tobitgp.typing import Array, BoolArray, IntArray

_MOST_DOUBLINGS, _MOST_HALVINGS = 2200, 200
_TINY = 1e-300
_ROUNDING, _AT_BOUND = 1e-12, 1e-9
NEARLY = 0.05  # of a spread, up to which a component is as narrow as a bound has it


def at_bound(values: Array, low: Array | float, high: Array | float) -> BoolArray:
    """Which values are at a bound, up to rounding."""
    return np.asarray((values <= low + _AT_BOUND) | (values >= high - _AT_BOUND))


class ComponentDistribution(ABC):
    """Distributions of a value under K components; values may also be (K, n)."""

    __slots__ = ()
    discrete: ClassVar[bool] = False  # whether values are whole numbers

    @abstractmethod
    def log_density(self, x: Array) -> Array:
        """Log density, or log probability of a count, (K, n)."""

    @abstractmethod
    def log_cdf(self, x: Array) -> Array:
        """Log probability of at most x, (K, n)."""

    @abstractmethod
    def log_sf(self, x: Array) -> Array:
        """Log probability of more than x, (K, n)."""

    @abstractmethod
    def ppf(self, q: Array) -> Array:
        """Quantiles (K, n); of counts, a value at or above them."""

    def limiting_hazard(self) -> Array:
        """What the hazard tends to as x grows without end, (K,); of counts as `Predictive.hazard` has it."""
        return np.zeros(len(self))

    @abstractmethod
    def rvs(self, rng: np.random.Generator) -> Array:
        """A value of each component, (K,)."""

    @abstractmethod
    def mean(self) -> Array:
        """Means (K,), infinite or NaN where there are none."""

    @abstractmethod
    def variance(self) -> Array:
        """Variances (K,), infinite or NaN where there are none."""

    def __getitem__(self, which: IntArray | list[int]) -> Self:
        """Distributions of some components, in this order; one may come several times."""
        arrays = {field.name: getattr(self, field.name) for field in fields(self)}  # type: ignore[arg-type]
        return replace(self, **{name: x[which] for name, x in arrays.items() if isinstance(x, np.ndarray)})  # type: ignore[type-var]

    def __len__(self) -> int:
        return len(getattr(self, fields(self)[0].name))  # type: ignore[arg-type]

    def log_interval(self, lower: Array, upper: Array) -> Array:
        """Log probability of (lower, upper], (K, n); log density where the ends (n,) are equal."""
        exact = lower == upper
        out = np.empty((len(self), len(lower)))
        with np.errstate(divide="ignore", invalid="ignore", over="ignore", under="ignore"):
            out[:, exact] = self.log_density(lower[exact])
            low, high = lower[~exact], upper[~exact]
            below, above = self.log_cdf(high), self.log_sf(low)
            left = below < above
            near = np.where(left, below, above)
            far = np.where(left, self.log_cdf(low), self.log_sf(high))
            out[:, ~exact] = np.where(np.isneginf(near), -np.inf, log_difference(near, far))
        return out

    def truncated_ppf(self, share: Array, lower: Array, upper: Array) -> Array:
        """Values (K, n) up to which shares (n,) of the probability between two ends (n,) lie."""
        unit = np.ones((len(self), 1))
        if self.discrete:
            lower, upper = np.maximum(np.floor(lower), -1.0), np.floor(upper)
        else:
            bottom, *quartiles = self.ppf(np.array([_TINY, 0.25, 0.75])).T[:, :, None]
            unit, lower = quartiles[1] - quartiles[0], np.minimum(np.maximum(lower, bottom), upper)
        with np.errstate(all="ignore"):
            below_high, above_low = self.log_cdf(upper), self.log_sf(lower)
            left, rest, part = below_high < above_low, np.log1p(-share), np.log(share)
            below = np.logaddexp(rest + self.log_cdf(lower), part + below_high)
            above = np.logaddexp(rest + above_low, part + self.log_sf(upper))

            def reached(x: Array) -> BoolArray:
                return np.asarray(np.where(left, self.log_cdf(x) >= below, self.log_sf(x) <= above))

            start, width = (np.broadcast_to(one, below.shape) for one in (lower, unit))
            return first_beyond(reached, start, width, upper, discrete=self.discrete)

    def truncated_moments(self, lower: Array, upper: Array) -> tuple[Array, Array]:
        """Means and variances between two ends (n,), (K, n) each, by double-exponential quadrature of quantiles."""
        t = np.linspace(-3.0, 3.0, 97)
        share = expit(np.pi * np.sinh(t))
        weight = np.cosh(t) * share * (1.0 - share)
        weight /= weight.sum()
        values = np.stack([self.truncated_ppf(np.full(len(lower), one), lower, upper) for one in share], axis=-1)
        mean = values @ weight
        return mean, (values - mean[..., None]) ** 2 @ weight


def first_beyond(
    reached: Callable[[Array], BoolArray], start: Array, width: Array, end: Array | float = np.inf, *, discrete: bool
) -> Array:
    """Where monotone conditions come to hold after a start, and at the latest at an end, by doublings of a width."""
    for _ in range(_MOST_DOUBLINGS):
        short = ~reached(np.minimum(start + width, end))
        if not short.any():
            break
        width = np.where(short, 2.0 * width, width)
    return first_between(reached, start, np.minimum(start + width, end), discrete=discrete)


def first_between(reached: Callable[[Array], BoolArray], low: Array, high: Array, *, discrete: bool) -> Array:
    """Where monotone conditions come to hold between two ends, by halvings; whole numbers where discrete."""
    for _ in range(_MOST_HALVINGS):
        middle = 0.5 * low + 0.5 * high
        middle = np.floor(middle) if discrete else middle
        if ((middle == low) | (middle == high)).all():
            break
        enough = reached(middle)
        low, high = np.where(enough, low, middle), np.where(enough, middle, high)
    return np.asarray(high)


class Sums(NamedTuple):
    """What a pass over the rows brings, additive over rows."""

    log_norm: float  # ``sum_n w_n log sum_k exp(gamma_nk)``
    counts: Array  # (K,), expected number of rows of each component
    statistics: Array  # (S, K), expected statistics of the family, weighted by responsibility


class RowStatistics(NamedTuple):
    """Some rows under each component."""

    log_p: Array  # (K, n), log density of exact rows
    statistics: tuple[Array, ...]  # (K, n), what the update of the components needs


PlugInTerms = Callable[[MixtureRows, Array], RowStatistics]  # rows under plug-in parameters (D, K)


class MixtureFamily(ABC):
    r"""A family of components :math:`f(y | \theta_k)` with prior and posterior of P hyper-parameters each.

    Under a posterior with hyper-parameters q the expected log density of a row is that of the *plug-in* parameters
    theta(q) plus an offset that is the same for all rows, :math:`E \log f(y|\theta_k) = \log f(y|\bar\theta_k) +
    \mathrm{offset}_k`, exact or integrated over an interval: (MIX3) of the theory pages. So maximum likelihood and
    variational Bayes share ``terms``.
    """

    __slots__ = ()
    name: ClassVar[str]
    support: ClassVar[Support]
    ends: ClassVar[tuple[float, float]] = (-np.inf, np.inf)  # beyond which nothing lies, in the units of the response
    values: ClassVar[Domain] = Domain()  # of densities, where values lie on the scale that is modelled
    logarithm: ClassVar[bool] = False  # whether the logarithm of the response is modelled
    expected: ClassVar[bool] = True  # whether statistics of censored rows are means of those of exact ones
    free_of: ClassVar[Literal["location and scale", "scale", "nothing"]]  # what standardisation takes away
    parameters: ClassVar[tuple[str, ...]]  # R names, as users read them
    hyperparameters: ClassVar[tuple[str, ...]]  # P names
    positive: ClassVar[tuple[bool, ...]]  # which hyper-parameters have no other bound than 0

    @abstractmethod
    def terms(self, rows: MixtureRows, theta: Array) -> RowStatistics:
        """Log density or mass of rows and their statistics under plug-in parameters (D, K)."""

    def takes(self, y: Array) -> BoolArray:
        """Whether exact values (n,) that the support allows are possible."""
        return np.ones(len(y), dtype=np.bool_)

    def drawn_in(self, y: Array) -> Array:
        """Values (n,) on the scale that is modelled, those that are not possible moved to where some are."""
        return y

    def lost(self, y: Array) -> Array:
        """What the log densities of exact values (n,) lack, on the scale on which they are given less its logarithm."""
        return -np.log(y) if self.logarithm else np.zeros_like(y)

    def reference(self, k: int) -> Array:
        """Parameters (D, K) about which statistics of a start are taken."""
        return np.zeros((len(self.parameters), k))

    @abstractmethod
    def location(self, theta: Array) -> Array:
        """What grows with the means of the components, (K,)."""

    def evenly(self, values: Array) -> Array:
        """Values (n,) on a scale on which distances between components are of one size."""
        return values

    def sizes(self, theta: Array) -> Array:
        """Standard deviations of theta (D, K) in one exact row, roughly."""
        return np.ones_like(theta)

    def steps(self, theta: Array) -> Array:
        """Steps (D, K) of theta in proportion to which differences are taken."""
        return self.sizes(theta)

    @abstractmethod
    def default_prior(self, typical: float) -> ComponentPrior:
        """The prior where none is given, on the scale that is modelled, for rows of a typical size."""

    @abstractmethod
    def scaled_by(self, q: Array, prior: ComponentPrior) -> Array:
        """What the learnt hyper-parameters multiply in minus the expected log prior of each component, (H, K)."""

    def prior_to_working(self, prior: Array, units: MixtureUnits) -> Array:
        """A prior (P,) given in the user's units."""
        return prior

    def prior_to_user(self, values: Array, units: MixtureUnits) -> Array:
        """Hyper-parameters (P, ...) in the user's units: the inverse of `prior_to_working`, a shifted multiple."""
        shape = (len(values), *(1,) * (values.ndim - 1))
        shift = self.prior_to_working(np.zeros(shape), units)
        return np.asarray((values - shift) / (self.prior_to_working(np.ones(shape), units) - shift))

    def posterior_columns(self, q: Array, units: MixtureUnits) -> dict[str, Array]:
        """Posteriors (P, K) by names of hyper-parameters, in the user's units, for users to read."""
        return dict(zip(self.hyperparameters, self.prior_to_user(q, units), strict=True))

    @abstractmethod
    def plug_in(self, q: Array) -> tuple[Array, Array]:
        """Plug-in parameters (D, K) and offsets (K,) of posteriors (P, K)."""

    @abstractmethod
    def posterior(self, prior: Array, theta: Array, sums: Sums, *, cautious: bool = False) -> Array:
        """New posteriors (P, K) from sums taken at theta; where cautious, never of a lower bound."""

    @abstractmethod
    def divergence(self, q: Array, prior: Array) -> Array:
        """Kullback-Leibler divergences KL[q || prior], (K,)."""

    @abstractmethod
    def between(self, old: Array, new: Array, step: float) -> Array | None:
        """Posteriors on the straight line through old and new in natural parameters; None where there is none."""

    @abstractmethod
    def gradient(self, q: Array, prior: Array, sums: Sums) -> Array:
        """Derivative of the bound in q, (P, K), from sums taken at its plug-in parameters."""

    @abstractmethod
    def information(self, q: Array) -> Array:
        """Curvature of KL[q || .] at q, (P, P, K): Fisher's information of q."""

    @abstractmethod
    def estimates(self, q: Array, units: MixtureUnits) -> tuple[Array, Array]:
        """The user's parameters (R, K) of posteriors, and their derivatives in q, (R, P, K)."""

    @abstractmethod
    def interval(self, values: Array, error: Array, level: float) -> tuple[Array, Array]:
        """Ends (R, K) of central intervals for the user's parameters (R, K) with standard errors (R, K)."""

    @abstractmethod
    def maximum(self, theta: Array, sums: Sums, floor: Floor, *, cautious: bool = False) -> Array:
        """New point estimates (D, K) from sums taken at theta; where cautious, never of a lower likelihood."""

    @abstractmethod
    def score(self, theta: Array, sums: Sums) -> Array:
        """Derivative of the log likelihood in theta, (D, K)."""

    @abstractmethod
    def floor(self, working: WorkingRows) -> Floor:
        """What keeps the likelihood of these rows finite, and is not felt elsewhere."""

    @abstractmethod
    def bounds(self, theta: Array, floor: Floor) -> tuple[Array, Array]:
        """Between what point estimates (D, K) lie, of a shape that broadcasts to theirs."""

    def possible(self, theta: Array, floor: Floor) -> bool:
        """Whether point estimates lie where they may."""
        low, high = self.bounds(theta, floor)
        return bool(((theta >= low - _ROUNDING) & (theta <= high + _ROUNDING)).all())

    def held(self, theta: Array, floor: Floor) -> BoolArray:
        """Which point estimates (D, K) are at a bound."""
        return at_bound(theta, *self.bounds(theta, floor))

    def held_posterior(self, q: Array) -> BoolArray:
        """Which coordinates of posteriors (P, K) are point estimates at a bound."""
        return np.zeros(q.shape, dtype=np.bool_)

    def narrow(self, theta: Array, floor: Floor) -> BoolArray:
        """Which components (K,) a bound alone keeps from closing in on a value, where a density has no bound."""
        return np.zeros(theta.shape[1], dtype=np.bool_)

    @abstractmethod
    def point_estimates(self, theta: Array, units: MixtureUnits) -> tuple[Array, Array]:
        """The user's parameters (R, K) of point estimates, and their derivatives in theta, (R, D, K)."""

    @abstractmethod
    def predictive(self, q: Array, units: MixtureUnits) -> ComponentDistribution:
        """Distribution of a new value, its parameters integrated out."""

    def with_mean(self, q: Array) -> Array:
        """Posteriors (P, K) whose predictive distributions have a mean, where the family has one at all."""
        return q

    @abstractmethod
    def distribution(self, theta: Array, units: MixtureUnits) -> ComponentDistribution:
        """Distribution of a new value at given parameters."""

    def unbounded_slopes(self, theta: Array, values: Array, slopes: Array) -> Array:
        """Derivatives (D, R, K) of the unbounded parameters of `drawn` in the user's, (R, K), with slopes (R, D, K)."""
        return inverse(slopes)

    def drawn(self, theta: Array, moves: Array, z: Array, values: Array, error: Array, prior: Array | None) -> Array:
        """Draws (S, D, K) of theta by normal moves of unbounded parameters, or by scores z (S, R, K) and errors."""
        return theta + moves


def inverse(slopes: Array) -> Array:
    """Inverses (D, R, K) of the derivatives (R, D, K) of each component's parameters."""
    with np.errstate(all="ignore"):
        return np.moveaxis(np.asarray(np.linalg.inv(np.moveaxis(slopes, 2, 0))), 0, 2)


def blocks(slopes: Array, order: IntArray | None = None) -> Array:
    """Derivatives (R, P, K) of each component's parameters as one matrix (R K, P K), columns in another order."""
    R, P, k = slopes.shape
    out, at = np.zeros((R, k, P, k)), np.arange(k)
    out[:, at, :, at if order is None else order] = np.moveaxis(slopes, 2, 0)
    return out.reshape(R * k, P * k)
