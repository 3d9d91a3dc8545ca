"""Distributions of a value under members of an exponential family, given or weighted by a posterior."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Self

import numpy as np
from scipy.special import logsumexp

from tobitgp.mixture.exponential_members import ExponentialMembers, tails_of
from tobitgp.mixture.family import ComponentDistribution, first_beyond
from tobitgp.mixture.truncated_statistics import Members, TailSums, Truncated
from tobitgp.numerics.roots import root_between
from tobitgp.numerics.unimodal import Domain, Range, find_range, nodes_of
from tobitgp.typing import Array, BoolArray, IntArray

_MOMENT_NODES = 40
MANY = 1000  # ends of rows that are worth panels
_NOTHING = 1e-12
_ROUNDING = 1e-12  # of coordinates of quantiles
_KEPT = 64
_DEEP = -500.0  # logarithm of a tail from which on closed forms may be 0
_FAR = 1e15  # value at which a hazard has come to its limit


class FamilyComponents(ComponentDistribution):
    """What distributions have in common that a family makes."""

    __slots__ = ()
    family: ExponentialMembers
    scale: float  # of the response

    @property
    def discrete(self) -> bool:  # type: ignore[override]
        """Whether values are whole numbers."""
        return self.family.discrete

    @abstractmethod
    def search_range(self) -> tuple[Array, Array, Array]:
        """Counts or coordinates (K,) between which quantiles are looked for, and where the search begins."""

    @np.errstate(all="ignore")
    def ppf(self, q: Array) -> Array:
        """Quantiles (K, n) of shares (n,) or (K, n): of counts exact."""
        q = np.broadcast_to(np.asarray(q, dtype=np.float64), (len(self), np.shape(q)[-1]))
        log_q, log_rest, left = np.log(q), np.log1p(-q), q < 0.5
        low, start, high = (np.broadcast_to(one[:, None], q.shape) for one in self.search_range())
        bottom, top = self.family.ends
        if self.discrete:
            found = first_beyond(
                lambda x: np.asarray(np.where(left, self.log_cdf(x) >= log_q, self.log_sf(x) <= log_rest)),
                low,
                np.ones_like(low),
                top,
                discrete=True,
            )
            return np.where(q >= 1.0, top, found)
        z = self._solved(np.where(left, log_q, log_rest), left, low, start, high)
        return np.where(q <= 0.0, bottom, np.where(q >= 1.0, top, self.scale * self.family.values.at(z)))

    def _solved(self, goal: Array, left: BoolArray, low: Array, z: Array, high: Array) -> Array:
        """Coordinates at which the logarithm of the nearer tail is ``goal``, by Newton's method within ends."""
        values, known = self.family.values, np.isfinite(goal)

        def rising(z: Array) -> tuple[Array, Array]:
            x = self.scale * values.at(z)
            tail = np.where(left, self.log_cdf(x), self.log_sf(x))
            slope = np.exp(self.log_density(x) + np.log(self.scale) + values.log_slope(z) - tail)
            return np.where(known, np.where(left, tail - goal, goal - tail), 0.0), np.where(known, slope, 1.0)

        return root_between(rising, low, z, high, _ROUNDING)


@dataclass(frozen=True, slots=True, eq=False)
class MemberComponents(FamilyComponents):
    """Members of a family at natural parameters, K of them."""

    family: ExponentialMembers
    eta: Array  # (S, K)
    scale: float = 1.0

    def __getitem__(self, which: IntArray | list[int]) -> Self:
        return type(self)(self.family, self.eta[:, which], self.scale)

    def __len__(self) -> int:
        return self.eta.shape[1]

    @np.errstate(all="ignore")
    def log_density(self, x: Array) -> Array:
        y = self._spread(x / self.scale)
        log_f = self.family.members(self.eta).log_density(y)[0] - np.log(self.scale)
        return np.where(self.family.takes(y) & np.isfinite(log_f), log_f, -np.inf)

    def log_cdf(self, x: Array) -> Array:
        return self._log_tails(x)[0]

    def log_sf(self, x: Array) -> Array:
        return self._log_tails(x)[1]

    @np.errstate(all="ignore")
    def _log_tails(self, x: Array) -> tuple[Array, Array]:
        """Logarithms of what lies below and above (K, n), by closed forms where they keep their digits."""
        if self.family.log_tails is None:
            return self._tails_by_nodes(x)
        y, (first, last) = self._spread(x / self.scale), self.family.ends
        below, above = self.family.log_tails(self.eta[:, :, None], y)
        left = below < above
        below, above = np.where(left, below, np.log1p(-np.exp(above))), np.where(left, np.log1p(-np.exp(below)), above)
        below, above = np.where(y <= first, -np.inf, below), np.where(y <= first, 0.0, above)
        below, above = np.where(y >= last, 0.0, below), np.where(y >= last, -np.inf, above)
        lost = (y > first) & (y < last) & ~(np.minimum(below, above) > _DEEP)
        some = np.flatnonzero(lost.any(axis=0))
        if len(some):
            for one, known in zip((below, above), self._tails_by_nodes(x[..., some]), strict=True):
                one[:, some] = np.where(lost[:, some], known, one[:, some])
        return below, above

    def _tails_by_nodes(self, x: Array) -> tuple[Array, Array]:
        below, above = self._tails(x)
        return below.log_p, above.log_p

    def _spread(self, y: Array) -> Array:
        return np.broadcast_to(y, (len(self), y.shape[-1]))

    @np.errstate(all="ignore")
    def _tails(self, x: Array) -> tuple[Truncated, Truncated]:
        y = x / self.scale
        return self._sums(y).one_sided(y)

    def _sums(self, y: Array, of: Callable[..., TailSums] = tails_of) -> TailSums:
        """What lies below and above values."""
        return of(self.family, self.eta.tobytes(), len(self), self.family.bucket(y), y.shape[-1] > MANY)

    def search_range(self) -> tuple[Array, Array, Array]:
        if self.discrete:
            low, high = (np.full(len(self), end) for end in self.family.ends)
            return low - 1.0, low, high
        found = _range(self.family, self.eta.tobytes(), len(self))
        return found.far_low, found.mode, found.far_high

    def rvs(self, rng: np.random.Generator) -> Array:
        """By quantiles, of each different member in rows of a common length."""
        share = rng.random(len(self))
        distinct, which, counts = np.unique(self.eta, axis=1, return_inverse=True, return_counts=True)
        length = -(-len(self) // len(counts))
        rows = -(-counts // length)
        order = np.argsort(which.ravel(), kind="stable")
        rank = np.arange(len(self)) - np.repeat(np.cumsum(counts) - counts, counts)
        at = np.repeat(np.cumsum(rows) - rows, counts) + rank // length, rank % length
        q = np.full((rows.sum(), length), 0.5)
        q[at] = share[order]
        out = np.empty(len(self))
        out[order] = type(self)(self.family, np.repeat(distinct, rows, axis=1), self.scale).ppf(q)[at]
        return out

    @np.errstate(all="ignore")
    def log_interval(self, lower: Array, upper: Array) -> Array:
        exact, (first, last) = lower == upper, (self.scale * end for end in self.family.ends)
        one_sided = ~exact & (not self.discrete)
        below, above = one_sided & (lower <= first), one_sided & (lower > first) & (upper >= last)
        both = ~(exact | below | above)
        out = np.empty((len(self), len(lower)))
        for rows, of, end in (
            (exact, self.log_density, lower),
            (below, self.log_cdf, upper),
            (above, self.log_sf, lower),
        ):
            if rows.any():
                out[:, rows] = of(end[rows])
        if both.any():
            out[:, both] = self._between(lower[both], upper[both], tails_of).log_p
        return out

    def _between(self, lower: Array, upper: Array, of: Callable[..., TailSums]) -> Truncated:
        low, high = lower / self.scale, upper / self.scale
        return self._sums(np.concatenate([low, high]), of).between(low, high)

    @np.errstate(all="ignore")
    def truncated_moments(self, lower: Array, upper: Array) -> tuple[Array, Array]:
        first, second = self._between(lower, upper, _with_moments).mean[-2:]
        mean = np.clip(self.scale * first, lower, upper)
        return mean, self.scale**2 * np.maximum(second - first**2, 0.0)

    def mean(self) -> Array:
        return self.scale * self._moments()[0]

    @np.errstate(invalid="ignore")
    def variance(self) -> Array:
        first, second = self._moments()
        return self.scale**2 * np.where(np.isfinite(second), second - first**2, np.inf)

    def _moments(self) -> Array:
        return _moments(self.family, self.eta.tobytes(), len(self))

    @np.errstate(all="ignore")
    def limiting_hazard(self) -> Array:
        """From log densities far out."""
        if np.isfinite(self.family.ends[1]):
            return np.full(len(self), 1.0 if self.discrete else np.inf)
        x = np.array([_FAR, _FAR + (1.0 if self.discrete else _FAR)])
        fall = -np.diff(self.family.members(self.eta).log_density(self._spread(x))[0], axis=1)[:, 0]
        limit = -np.expm1(-fall) if self.discrete else fall / (_FAR * self.scale)
        return np.where(np.isfinite(limit), np.maximum(limit, 0.0), 0.0)


@lru_cache(maxsize=_KEPT)
def _range(family: ExponentialMembers, eta: bytes, k: int) -> Range:
    """Where densities lie on their coordinate."""
    members = family.members(np.frombuffer(eta).reshape(-1, k))
    with np.errstate(all="ignore"):
        return find_range(
            lambda z: members.log_density(family.values.at(z))[0] + family.values.log_slope(z), k, family.values.largest
        )


@lru_cache(maxsize=_KEPT)
def _moments(family: ExponentialMembers, eta: bytes, k: int) -> Array:
    """Means of a value and its square, (2, K), infinite where there are none."""
    members = family.members(np.frombuffer(eta).reshape(-1, k))
    with np.errstate(all="ignore"):
        if family.discrete or family.ends[0] < 0.0:
            return _with_moments(family, eta, k, family.bucket(np.zeros(0)), many=False).mean[-2:]
        return np.stack([_moment(members, family.values, k, r) for r in (1.0, 2.0)])


def _moment(members: Members, values: Domain, k: int, r: float) -> Array:
    """Means (K,) of a power of positive values, by nodes where the product with the density lies."""

    def log_product(z: Array) -> Array:
        y = values.at(z)
        return np.asarray(members.log_density(y)[0] + values.log_slope(z) + r * np.log(y))

    found = find_range(log_product, k, values.largest)
    u, weight = nodes_of(found, _MOMENT_NODES)
    total = logsumexp(log_product(u) + np.log(weight), axis=1)
    falls = log_product(found.far_high[:, None])[:, 0] < found.top - 1.0
    return np.where(falls, np.exp(total), np.inf)


@lru_cache(maxsize=_KEPT)
def _with_moments(family: ExponentialMembers, eta: bytes, k: int, within: tuple[float, float], many: bool) -> TailSums:
    """Tails with means of the statistics, of a value, and of its square."""
    members = family.members(np.frombuffer(eta).reshape(-1, k))
    more = np.concatenate([members.eta, np.zeros((2, k))])

    def statistic(y: Array) -> tuple[Array, ...]:
        return (*members.statistic(y), y, y * y)

    with np.errstate(all="ignore"):
        return family.sums_of(Members(statistic, members.log_base, more, members.log_partition), within, many=many)


@dataclass(frozen=True, slots=True, eq=False)
class PosteriorComponents(FamilyComponents):
    """Members of a family weighted by the points on which a posterior is laid out, for K components."""

    family: ExponentialMembers
    eta: Array  # (S, K, M)
    weight: Array  # (K, M)
    scale: float = 1.0

    def __getitem__(self, which: IntArray | list[int]) -> Self:
        return type(self)(self.family, self.eta[:, which], self.weight[which], self.scale)

    def __len__(self) -> int:
        return len(self.weight)

    def _members(self) -> MemberComponents:
        return MemberComponents(self.family, self.eta.reshape(len(self.eta), -1), self.scale)

    @np.errstate(divide="ignore")
    def _mixed(self, of: Callable[[MemberComponents], Callable[[Array], Array]], x: Array) -> Array:
        """Log of a weighted sum of exponentials, (K, n)."""
        k, m = self.weight.shape
        spread = x if x.ndim == 1 else np.repeat(x, m, axis=0)
        each = of(self._members())(spread).reshape(k, m, -1)
        with np.errstate(invalid="ignore"):
            return np.asarray(logsumexp(each + np.log(self.weight)[:, :, None], axis=1))

    def log_density(self, x: Array) -> Array:
        return self._mixed(lambda members: members.log_density, x)

    def log_cdf(self, x: Array) -> Array:
        return self._mixed(lambda members: members.log_cdf, x)

    def log_sf(self, x: Array) -> Array:
        return self._mixed(lambda members: members.log_sf, x)

    def log_interval(self, lower: Array, upper: Array) -> Array:
        return self._mixed(lambda members: lambda low: members.log_interval(low, upper), lower)

    def search_range(self) -> tuple[Array, Array, Array]:
        low, start, high = (one.reshape(self.weight.shape) for one in self._members().search_range())
        return low.min(axis=1), (self.weight * start).sum(axis=1), high.max(axis=1)

    def rvs(self, rng: np.random.Generator) -> Array:
        """A point of the posterior first."""
        cumulative = np.cumsum(self.weight, axis=1)
        which = (cumulative < rng.random((len(self), 1)) * cumulative[:, -1:]).sum(axis=1)
        return MemberComponents(self.family, self.eta[:, np.arange(len(self)), which], self.scale).rvs(rng)

    def mean(self) -> Array:
        return self._average(self._members().mean())

    def variance(self) -> Array:
        members = self._members()
        mean = members.mean().reshape(self.weight.shape)
        with np.errstate(invalid="ignore"):
            out = self._average(members.variance()) + self._average((mean - self.mean()[:, None]) ** 2)
        return np.where(np.isfinite(out), out, np.inf)

    def _average(self, values: Array) -> Array:
        """Weighted means (K,); infinite ones of points that weigh next to nothing are left out."""
        values = values.reshape(self.weight.shape)
        return np.asarray((self.weight * np.where(self.weight > _NOTHING, values, 0.0)).sum(axis=1))

    def limiting_hazard(self) -> Array:
        each = self._members().limiting_hazard().reshape(self.weight.shape)
        return np.where(self.weight > 0.0, each, np.inf).min(axis=1)

    @np.errstate(all="ignore")
    def truncated_moments(self, lower: Array, upper: Array) -> tuple[Array, Array]:
        members, k = self._members(), len(self)
        share = members.log_interval(lower, upper).reshape(*self.weight.shape, -1) + np.log(self.weight)[:, :, None]
        share = np.exp(share - logsumexp(share, axis=1, keepdims=True))
        mean, variance = (one.reshape(share.shape) for one in members.truncated_moments(lower, upper))
        first = np.where(share > 0.0, share * mean, 0.0).sum(axis=1)
        spread = np.where(share > 0.0, share * (variance + (mean - first[:, None]) ** 2), 0.0).sum(axis=1)
        return first.reshape(k, -1), spread.reshape(k, -1)
