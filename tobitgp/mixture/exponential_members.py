"""Members of an exponential family as functions of a value: densities, moments of the statistics, and tails."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from tobitgp.errors import NumericalError, SpecError
from tobitgp.mixture.count_tails import count_tails
from tobitgp.mixture.family import MixtureFamily
from tobitgp.mixture.mixture_rows import Support
from tobitgp.mixture.truncated_statistics import Members, TailSums, density_tails
from tobitgp.numerics.jets import dense, variables
from tobitgp.numerics.unimodal import Domain
from tobitgp.typing import Array, BoolArray

TRIED = np.linspace(-3.0, 3.0, 7)  # coordinates at which a family is tried out
_KEPT = 64  # tails that are remembered
_EDGE = 0.5  # of the distance to an end of the support that values keep, up to which others are moved
_RIGHT = 1e-6  # to which probabilities have to sum to 1
# Natural parameters (S, K, 1) and values (K, n) to logarithms of the cdf and of the survival function, NaN where these
# would lose digits.
LogTails = Callable[[Array, Array], tuple[Array, Array]]


class StatisticMoments(NamedTuple):
    """Moments of the statistics, at K natural parameters."""

    log_partition: Array  # (K,)
    mean: Array  # (S, K)
    cov: Array  # (S, S, K)


class ExponentialMembers(MixtureFamily):
    """What the functions give that define an exponential family."""

    __slots__ = (
        *("discrete", "ends", "log_base", "log_partition", "log_tails", "name", "natural", "statistic", "support"),
        "values",
    )
    log_tails: LogTails | None

    def __init__(
        self,
        name: str,
        *,
        statistic: Callable[[Array], Any],
        log_partition: Callable[..., Any],
        natural: Sequence[tuple[float, float]],
        log_base: Callable[[Array], Array] | None,
        support: tuple[float, float],
        discrete: bool,
        log_tails: LogTails | None = None,
    ) -> None:
        if not 1 <= len(natural) <= 2:
            raise SpecError(f"natural={natural!r}: must be one or two natural parameters.")
        self.name, self.log_partition, self.discrete = name, log_partition, discrete  # type: ignore[misc]
        self.log_tails = log_tails
        self.statistic: Callable[[Array], tuple[Array, ...]] = lambda y: _as_tuple(statistic(y))
        self.log_base: Callable[[Array], Array] = np.zeros_like if log_base is None else log_base
        self.natural = tuple(Domain(float(low), float(high)) for low, high in natural)
        self.ends = float(support[0]), float(support[1])  # type: ignore[misc]
        self.values = Domain() if discrete else Domain(*self.ends)  # type: ignore[misc]
        self.support: Support = "counts" if discrete else "positive" if self.ends[0] >= 0.0 else "real"  # type: ignore[misc]
        self._try_out()

    @np.errstate(all="ignore")
    def _try_out(self) -> None:
        """Raise an error where the functions do not make a family."""
        eta = self.reference(1)
        y = self.ends[0] + np.arange(3.0) if self.discrete else self.values.at(TRIED)
        y = y[y <= self.ends[1]]
        shapes = [np.shape(one) for one in self.statistic(y)]
        if shapes != [y.shape] * len(self.natural):
            raise SpecError(
                f"statistic=: {len(y)} values gave arrays of the shapes {shapes}. Return one array of their shape "
                f"for each of the {len(self.natural)} natural parameters."
            )
        if np.shape(self.log_base(y)) != y.shape:
            raise SpecError(f"log_base=: {len(y)} values gave the shape {np.shape(self.log_base(y))}, not one each.")
        try:
            found = self.sums_of(
                Members(self.statistic, self.log_base, eta, self.moments(eta).log_partition), (0.0, 1.0), many=False
            )
        except NumericalError:
            found = None
        mean = self.moments(eta).mean
        total = np.nan if found is None else float(found.whole()[0])
        if not abs(total - 1.0) < _RIGHT:
            raise SpecError(
                f"{self.name}: probabilities sum to {total:.6g} at the natural parameters {eta[:, 0].tolist()}, and "
                "must sum to 1. Check statistic=, log_partition=, log_base= and support=."
            )
        if found is not None and not np.allclose(found.mean, mean, rtol=1e-4, atol=1e-4):
            raise SpecError(
                f"{self.name}: the statistics have the means {found.mean[:, 0].round(4).tolist()}, and the derivatives "
                f"of log_partition are {mean[:, 0].round(4).tolist()}. Both must be equal."
            )

    def reference(self, k: int) -> Array:
        return np.tile(np.array([[float(one.at(np.zeros(1))[0])] for one in self.natural]), (1, k))

    def moments(self, eta: Array) -> StatisticMoments:
        """A and its derivatives at natural parameters (S, K)."""
        with np.errstate(all="ignore"):
            jet = self.log_partition(*variables(list(eta)))
            mean, cov = dense(jet, eta.shape)
        inside = np.all([one.inside(x) for one, x in zip(self.natural, eta, strict=True)], axis=0)
        return StatisticMoments(*(np.where(inside, one, np.nan) for one in (jet.value, mean, cov)))

    def members(self, eta: Array) -> Members:
        """Members at natural parameters (S, K)."""
        found = self.moments(eta)
        return Members(self.statistic, self.log_base, eta, found.log_partition, found.mean)

    def sums_of(self, members: Members, within: tuple[float, float], *, many: bool) -> TailSums:
        """What members have below and above ends, which lie within two values."""
        if self.discrete:
            return count_tails(members, *self.ends, within[1])
        return density_tails(members, self.values, within if many else None)

    def bucket(self, x: Array) -> tuple[float, float]:
        """Between what values lie, as counts or as coordinates of densities, the same for most of such sets."""
        if self.discrete:
            finite = x[np.isfinite(x)]
            return 0.0, 2.0 ** np.ceil(np.log2(max(float(finite.max(initial=1.0)), 1.0)))
        z = self.values.coordinate(x)
        z = z[np.isfinite(z)]
        low, high = (float(z.min()), float(z.max())) if len(z) else (0.0, 0.0)
        step = 2.0 ** np.floor(np.log2(max(high - low, 1e-300)) - 3.0)
        return step * np.floor(low / step), step * np.ceil(high / step)

    @np.errstate(all="ignore")
    def takes(self, y: Array) -> BoolArray:
        """Whether values have a density or a probability."""
        inside = (y >= self.ends[0]) & (y <= self.ends[1]) & np.isfinite(y)
        safe = np.where(inside, y, self.values.at(np.zeros(1))[0] if not self.discrete else self.ends[0])
        known = np.all([np.isfinite(one) for one in (*self.statistic(safe), self.log_base(safe))], axis=0)
        return np.asarray(inside & known & ((y == np.floor(y)) | (not self.discrete)))

    def drawn_in(self, y: Array) -> Array:
        if self.discrete:
            return np.clip(y, *self.ends)
        good = self.takes(y) & self.values.inside(y)
        if not good.any():
            return self.values.at(np.zeros_like(y))
        away = _EDGE * (y[good] - self.ends[0]).min() if np.isfinite(self.ends[0]) else 0.0
        room = _EDGE * (self.ends[1] - y[good]).min() if np.isfinite(self.ends[1]) else 0.0
        return np.clip(y, self.ends[0] + away, self.ends[1] - room)


@lru_cache(maxsize=_KEPT)
def tails_of(family: ExponentialMembers, eta: bytes, k: int, within: tuple[float, float], many: bool) -> TailSums:
    """Tail sums of members at natural parameters (S, K), cached."""
    return family.sums_of(family.members(np.frombuffer(eta).reshape(-1, k)), within, many=many)


def _as_tuple(values: Any) -> tuple[Array, ...]:
    return tuple(values) if isinstance(values, (tuple, list)) else (values,)
