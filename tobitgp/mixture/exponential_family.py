r"""Components of any exponential family, from a few functions: :math:`f(y|\eta) = h(y) e^{\eta \cdot T(y) - A(\eta)}`.

Point parameters are the natural ones, (S, K); a posterior is :math:`(\xi, \nu)`, the conjugate one. The plug-in
parameter is :math:`E_q\,\eta`: (MIX23) to (MIX25) of the theory pages. Moments of the statistics are derivatives of A,
by jets.

References
----------
Kohjima, Matsubayashi and Toda (2019), Variational Bayes for mixture models with censored data, ECML PKDD, eqs. 3, 9 and
37-45, and table 1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Literal

import numpy as np
from scipy.special import logit, ndtri

from tobitgp.errors import SpecError
from tobitgp.mixture import exponential_points
from tobitgp.mixture.conjugate_posterior import Conjugate, Expectations, InnerFunction
from tobitgp.mixture.exponential_components import MANY, MemberComponents, PosteriorComponents
from tobitgp.mixture.exponential_members import TRIED, ExponentialMembers, LogTails, tails_of
from tobitgp.mixture.family import ComponentDistribution, RowStatistics, Sums, inverse
from tobitgp.mixture.mixture_priors import ComponentPrior
from tobitgp.mixture.mixture_rows import MixtureRows, MixtureUnits
from tobitgp.numerics.jets import Jet, dense, variables
from tobitgp.numerics.roots import five_differences
from tobitgp.numerics.unimodal import Domain
from tobitgp.typing import Array

_PRIOR_ROWS = 0.1  # that the default prior is worth
_KEPT = 64  # posteriors that are remembered
_PLACES = np.arange(-2.0, 3.0)  # of differences, in steps
_STEP = 0.02  # of what a row says, in second derivatives of a posterior
_LARGEST_ERROR = 5.0


class NaturalFamily(ExponentialMembers):
    """Components of an exponential family with its conjugate prior; see `tobitgp.ExponentialFamily`."""

    __slots__ = (
        *("conjugate", "free_of", "growing", "hyperparameters", "links", "of_natural", "parameters"),
        *("positive", "powers", "prior_given", "recipe"),
    )

    def __init__(
        self,
        name: str,
        *,
        statistic: Callable[[Array], Any],
        log_partition: Callable[..., Any],
        natural: Sequence[tuple[float, float]],
        log_base: Callable[[Array], Array] | None = None,
        support: tuple[float, float] = (-np.inf, np.inf),
        discrete: bool = False,
        parameters: Mapping[str, Callable[..., Any]] | None = None,
        units: Mapping[str, float] | None = None,
        prior: Mapping[str, float] | None = None,
        collapsed: tuple[InnerFunction, Domain] | None = None,
        log_tails: LogTails | None = None,
    ) -> None:
        given: dict[str, Any] = {
            "statistic": statistic,
            "log_partition": log_partition,
            "natural": natural,
            "log_base": log_base,
            "support": support,
            "discrete": discrete,
            "log_tails": log_tails,
        }
        super().__init__(name, **given)
        given |= {"parameters": parameters, "units": units, "prior": prior, "collapsed": collapsed}
        size = len(self.natural)
        names = [f"eta{i + 1}" if size > 1 else "eta" for i in range(size)]
        chosen = dict(parameters or {one: _nth(i) for i, one in enumerate(names)})
        self.parameters, self.of_natural = tuple(chosen), tuple(chosen.values())  # type: ignore[misc]
        self.powers = np.array([float((units or {}).get(one, 0.0)) for one in chosen])
        self.free_of: Literal["scale", "nothing"] = "scale" if units else "nothing"  # type: ignore[misc]
        self.hyperparameters = (*(f"xi{i + 1}" if size > 1 else "xi" for i in range(size)), "nu")  # type: ignore[misc]
        self.positive = (*(False for _ in range(size)), True)  # type: ignore[misc]
        self.conjugate = Conjugate(self.natural, log_partition, collapsed)
        self.recipe: tuple[Callable[..., NaturalFamily], tuple[Any, ...]] = _family_of, (name, given)
        self.prior_given = None if prior is None else self._given(prior)
        self.links, self.growing = self._links(), self._growing()

    sizes = exponential_points.sizes
    steps = exponential_points.steps
    maximum = exponential_points.maximum
    score = exponential_points.score
    floor = exponential_points.floor
    bounds = exponential_points.bounds
    possible = exponential_points.possible
    held = exponential_points.held
    narrow = exponential_points.narrow

    def __repr__(self) -> str:
        return f"ExponentialFamily({self.name!r})"

    def __reduce__(self) -> tuple[Callable[..., NaturalFamily], tuple[Any, ...]]:
        """Copies are made again: most functions are not picklable."""
        return self.recipe

    def made(self, maker: Callable[..., NaturalFamily], argument: Any) -> NaturalFamily:
        """The family, with what makes it again."""
        self.recipe = maker, (argument,)
        return self

    def _given(self, prior: Mapping[str, float]) -> Array:
        if set(prior) != set(self.hyperparameters):
            raise SpecError(f"prior={dict(prior)!r}: give {' and '.join(map(repr, self.hyperparameters))}.")
        return np.array([prior[one] for one in self.hyperparameters], dtype=np.float64)

    # -- rows ---------------------------------------------------------------------------------------------------------

    def terms(self, rows: MixtureRows, theta: Array) -> RowStatistics:
        """Log densities of exact rows lack the log base, which is the same for all components."""
        if rows.kind == "exact":
            T = self.statistic(rows.lower)
            log_p = theta[0][:, None] * T[0] - np.asarray(self.log_partition(*theta))[:, None]
            for eta, one in zip(theta[1:], T[1:], strict=True):
                log_p = log_p + eta[:, None] * one
            return RowStatistics(log_p, T)
        ends = rows.upper if rows.kind == "left" else rows.lower
        within = self.bucket(np.concatenate([rows.lower, rows.upper]) if rows.kind == "interval" else ends)
        sums = tails_of(self, theta.tobytes(), theta.shape[1], within, len(rows) > MANY)
        if rows.kind == "interval":
            found = sums.between(rows.lower, rows.upper)
        else:
            found = sums.tail(ends, above=rows.kind == "right")
        return RowStatistics(np.array(found.log_p), tuple(found.mean))

    def lost(self, y: Array) -> Array:
        return np.asarray(self.log_base(y))

    def location(self, theta: Array) -> Array:
        """Means of a statistic that grows with the response, or of the response."""
        if self.growing is not None:
            return self.moments(theta).mean[self.growing]
        return MemberComponents(self, theta).mean()

    def evenly(self, values: Array) -> Array:
        if self.support == "counts":
            return np.sqrt(np.maximum(values - self.ends[0], 0.0))
        return self.values.coordinate(np.clip(values, *self._within())) if self.support == "positive" else values

    def _within(self) -> tuple[float, float]:
        return self.ends[0] + 1e-9, np.inf if np.isinf(self.ends[1]) else self.ends[1] - 1e-9

    # -- posteriors ---------------------------------------------------------------------------------------------------

    def default_prior(self, typical: float) -> ComponentPrior:
        """The prior that the family was given, or a tenth of a row at the middle of the natural parameters."""
        if self.prior_given is not None:
            return ComponentPrior(self.prior_given)
        middle = self.moments(self.reference(1)).mean[:, 0]
        return ComponentPrior(_PRIOR_ROWS * np.append(middle, 1.0))

    def scaled_by(self, q: Array, prior: ComponentPrior) -> Array:
        return np.zeros((0, q.shape[1]))

    def expectations(self, q: Array) -> Expectations:
        """Expectations under posteriors (P, K)."""
        return _expectations(self.conjugate, np.ascontiguousarray(q).tobytes(), q.shape[1])

    def plug_in(self, q: Array) -> tuple[Array, Array]:
        found = self.expectations(q)
        with np.errstate(all="ignore"):
            return found.eta, np.asarray(self.log_partition(*found.eta)) - found.log_partition

    def posterior(self, prior: Array, theta: Array, sums: Sums, *, cautious: bool = False) -> Array:
        """Eqs. 37-39."""
        return prior[:, None] + np.concatenate([sums.statistics, sums.counts[None]])

    def divergence(self, q: Array, prior: Array) -> Array:
        found, before = self.expectations(q), self.expectations(prior[:, None])
        xi, nu = q[:-1] - prior[:-1, None], q[-1] - prior[-1]
        return np.asarray(
            (xi * found.eta).sum(axis=0) - nu * found.log_partition - found.log_integral + before.log_integral
        )

    def between(self, old: Array, new: Array, step: float) -> Array | None:
        """Posteriors have natural parameters."""
        q: Array = (1.0 - step) * old + step * new
        return q if np.isfinite(self.expectations(q).log_integral).all() else None

    def gradient(self, q: Array, prior: Array, sums: Sums) -> Array:
        return np.asarray(np.einsum("pqk,qk->pk", self.information(q), self.posterior(prior, q, sums) - q))

    def information(self, q: Array) -> Array:
        """Derivatives of the expectations of eta and -A, by differences.

        More rows have the mean statistics of their component, so that posteriors exist on both sides.
        """
        found = self.moments(self.expectations(q).eta)
        size = np.sqrt(np.maximum(np.diagonal(found.cov).T, 1e-300))
        steps = _STEP * np.concatenate([size, np.ones((1, q.shape[1]))]) * np.minimum(np.sqrt(q[-1]), q[-1])
        moved = np.tile(q[:, None, None], (1, len(q), len(_PLACES), 1))
        for p, step in enumerate(steps):
            moved[p, p] += _PLACES[:, None] * step
        moved[:-1, -1] += found.mean[:, None] * _PLACES[:, None] * steps[-1]
        at = self.expectations(moved.reshape(len(q), -1))
        values = np.concatenate([at.eta, -at.log_partition[None]]).reshape(moved.shape)
        out = five_differences(list(np.moveaxis(values, 2, 0)), 1.0)[0] / steps
        out[:, -1] -= (out[:, :-1] * found.mean).sum(axis=1)
        return np.asarray(0.5 * (out + out.swapaxes(0, 1)))

    def prior_to_working(self, prior: Array, units: MixtureUnits) -> Array:
        """Statistics of a value in other units are those of the value, times factors, and shifted."""
        factor, shift = self._statistics_in(units)
        return np.append((prior[:-1] - shift * prior[-1]) / factor, prior[-1])

    def prior_to_user(self, values: Array, units: MixtureUnits) -> Array:
        factor, shift = (each.reshape(-1, *(1,) * (values.ndim - 1)) for each in self._statistics_in(units))
        return np.concatenate([factor * values[:-1] + shift * values[-1:], values[-1:]])

    def _statistics_in(self, units: MixtureUnits) -> tuple[Array, Array]:
        """Factors and shifts (S,) that lead from the statistics of modelled values to those of the response."""
        if units.scale == 1.0:
            return np.ones(len(self.natural)), np.zeros(len(self.natural))
        y = self.values.at(np.array([-0.5, 0.5]))
        inner, outer = np.stack(self.statistic(y)), np.stack(self.statistic(y * units.scale))
        factor = np.diff(outer, axis=1)[:, 0] / np.diff(inner, axis=1)[:, 0]
        return factor, outer[:, 0] - factor * inner[:, 0]

    # -- what users read ----------------------------------------------------------------------------------------------

    def _read(self, eta: Array, units: MixtureUnits) -> tuple[Array, Array]:
        """Parameters (R, K) and their derivatives (R, S, K)."""
        with np.errstate(all="ignore"):
            jets = [_as_jet(of(*variables(list(eta))), eta.shape[1]) for of in self.of_natural]
            factor = units.scale ** self.powers[:, None]
            values = np.stack([jet.value for jet in jets]) * factor
            slopes = np.stack([dense(jet, eta.shape)[0] for jet in jets]) * factor[:, None]
        return values, slopes

    def estimates(self, q: Array, units: MixtureUnits) -> tuple[Array, Array]:
        """At the plug-in parameters."""
        values, slopes = self._read(self.expectations(q).eta, units)
        return values, np.einsum("rsk,spk->rpk", slopes, self.information(q)[:-1])

    def point_estimates(self, theta: Array, units: MixtureUnits) -> tuple[Array, Array]:
        return self._read(theta, units)

    def _links(self) -> tuple[str, ...]:
        """Scales on which parameters have no bound: log of positive ones, logit of those between 0 and 1."""
        grid = np.stack([one.ravel() for one in np.meshgrid(*[TRIED] * len(self.natural))])
        eta = np.stack([one.at(u) for one, u in zip(self.natural, grid, strict=True)])
        links = []
        for value in self._read(eta, MixtureUnits())[0]:
            positive, below = bool((value >= 0.0).all()), bool((value < 1.0).all())
            links.append("logit" if positive and below else "log" if positive else "identity")
        return tuple(links)

    def _growing(self) -> int | None:
        """Which statistic grows with the response, where one does."""
        y = self.ends[0] + np.arange(2.0) if self.discrete else self.values.at(TRIED)
        rises = [bool((np.diff(one) > 0.0).all()) for one in self.statistic(y)]
        return rises.index(True) if any(rises) else None

    @np.errstate(all="ignore")
    def interval(self, values: Array, error: Array, level: float) -> tuple[Array, Array]:
        """Normal on the scale on which a parameter has no bound, NaN where the error there is above 5."""
        z, low, high = ndtri(0.5 + 0.5 * level), np.empty_like(values), np.empty_like(values)
        for i, (value, one, link) in enumerate(zip(values, error, self.links, strict=True)):
            if link == "identity":
                low[i], high[i] = value - z * one, value + z * one
                continue
            of_link = one / value if link == "log" else one / (value * (1.0 - value))
            away = z * np.where(of_link > _LARGEST_ERROR, np.nan, of_link)
            if link == "log":
                low[i], high[i] = value * np.exp(-away), value * np.exp(away)
            else:
                low[i], high[i] = (1.0 / (1.0 + np.exp(-logit(value) - way)) for way in (-away, away))
        return low, high

    def predictive(self, q: Array, units: MixtureUnits) -> ComponentDistribution:
        """Members at points of the posterior, section 5.3."""
        return PosteriorComponents(self, *self.conjugate.discrete(q), units.scale)

    def distribution(self, theta: Array, units: MixtureUnits) -> ComponentDistribution:
        return MemberComponents(self, theta, units.scale)

    def unbounded_slopes(self, theta: Array, values: Array, slopes: Array) -> Array:
        """Slopes of the coordinates of the natural parameters."""
        sizes = np.stack([one.log_slope(one.coordinate(x)) for one, x in zip(self.natural, theta, strict=True)])
        return inverse(slopes) * np.exp(-sizes)[:, None]

    def drawn(self, theta: Array, moves: Array, z: Array, values: Array, error: Array, prior: Array | None) -> Array:
        """Inside the domains of the natural parameters."""
        charts = zip(self.natural, theta, np.moveaxis(moves, 1, 0), strict=True)
        return np.stack([one.at(one.coordinate(x) + move) for one, x, move in charts], axis=1)


@lru_cache(maxsize=_KEPT)
def _expectations(conjugate: Conjugate, q: bytes, k: int) -> Expectations:
    return conjugate.expectations(np.frombuffer(q).reshape(-1, k))


def _family_of(name: str, given: Mapping[str, Any]) -> NaturalFamily:
    return NaturalFamily(name, **given)


def _nth(i: int) -> Callable[..., Any]:
    return lambda *eta: eta[i]


def _as_jet(value: Any, k: int) -> Jet:
    return value if isinstance(value, Jet) else Jet(np.broadcast_to(np.asarray(value, dtype=np.float64), (k,)), {}, {})
