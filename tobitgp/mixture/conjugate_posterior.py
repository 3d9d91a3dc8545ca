r"""Conjugate posteriors of natural parameters: normalisers and expectations by quadrature, (MIX24) of the theory pages.

The density of :math:`\eta` is proportional to :math:`e^{\eta \cdot \xi - \nu A(\eta)}`. Its logarithm is concave. One
natural parameter is integrated out on its unbounded coordinate; two are integrated one after the other, the inner one
in closed form where the family has one.

References
----------
Diaconis and Ylvisaker (1979), Conjugate priors for exponential families, *Annals of Statistics* 7, 269-281.
Kohjima, Matsubayashi and Toda (2019), Variational Bayes for mixture models with censored data, ECML PKDD, eq. 9.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from tobitgp.numerics.jets import Jet, dense, variables
from tobitgp.numerics.unimodal import Domain, PeakNodes, Range, find_range, nodes_of, sparse_nodes_of
from tobitgp.typing import Array, BoolArray

_NODES = 40  # on either side of a maximum
_STEPS, _HALVINGS, _NEARLY = 100, 40, 1e-12
_LONGEST, _ROUNDING = 5.0, 1e-13
_WIDENED, _ENOUGH = 12, 27.0  # times that a range grows until functions have fallen by so many nats at its ends

_LEAST = 1e-10  # weight, in the largest, of a point that stands for a posterior

LogPartition = Callable[..., Any]


class Inner(NamedTuple):
    """What is left where one natural parameter, or a function of two, has a value on its coordinate; (K, J) each."""

    log_weight: Array  # log density of the coordinate, not normalised
    eta: tuple[Array, ...]  # conditional means of the natural parameters
    log_partition: Array  # conditional mean of A


InnerFunction = Callable[[Array, Array, Array], Inner]  # coordinates (K, J), xi (S, K), nu (K,)


class Expectations(NamedTuple):
    """Expectations under conjugate posteriors; NaN where one does not exist."""

    log_integral: Array  # (K,), log of the integral of the density that is not normalised
    eta: Array  # (S, K)
    log_partition: Array  # (K,)


class Cloud(NamedTuple):
    """Points on which posteriors of K components are laid out."""

    log_weight: Array  # (K, M), not normalised
    eta: tuple[Array, ...]  # natural parameters, (K, M) each
    log_partition: Array  # (K, M)
    exists: BoolArray  # (K,), whether there is a posterior


@dataclass(frozen=True, slots=True)
class Conjugate:
    """What a conjugate posterior needs of a family."""

    natural: tuple[Domain, ...]
    log_partition: LogPartition
    collapsed: tuple[InnerFunction, Domain] | None = None  # of the coordinate that is left, and its interval

    def expectations(self, q: Array) -> Expectations:
        """Expectations under posteriors (xi, nu), (S + 1, K)."""
        with np.errstate(all="ignore"):
            if len(self.natural) == 1:
                cloud = self._line(q, self._alone, self.natural[0].largest, _many)
            elif self.collapsed is not None:
                cloud = self._line(q, self.collapsed[0], self.collapsed[1].largest, _many)
            else:
                cloud = self._plane(q, _many)
            total = _log_sums(cloud.log_weight)
            exists = cloud.exists & np.isfinite(total) & (q[-1] >= 0.0)
            share = np.exp(cloud.log_weight - total[:, None])
            means = (np.where(share > 0.0, share * one, 0.0).sum(axis=1) for one in (*cloud.eta, cloud.log_partition))
            total, *eta, log_partition = (np.where(exists, one, np.nan) for one in (total, *means))
        return Expectations(total, np.stack(eta), log_partition)

    def discrete(self, q: Array) -> tuple[Array, Array]:
        """Natural parameters (S, K, M) and weights (K, M) that stand for posteriors."""
        with np.errstate(all="ignore"):
            if len(self.natural) == 1:
                cloud = self._line(q, self._alone, self.natural[0].largest, sparse_nodes_of)
            else:
                cloud = self._plane(q, sparse_nodes_of)
            weight = np.exp(cloud.log_weight - cloud.log_weight.max(axis=1, keepdims=True))
        kept = (weight > _LEAST).any(axis=0)
        weight = weight[:, kept]
        return np.stack(cloud.eta)[:, :, kept], weight / weight.sum(axis=1, keepdims=True)

    def _alone(self, u: Array, xi: Array, nu: Array) -> Inner:
        """A single natural parameter."""
        (chart,), (first,) = self.natural, xi
        eta = chart.at(u)
        A = np.broadcast_to(self.log_partition(eta), u.shape)
        return Inner(eta * first[:, None] - nu[:, None] * A + chart.log_slope(u), (eta,), A)

    def _line(self, q: Array, of: InnerFunction, largest: float, nodes: Callable[[Range], PeakNodes]) -> Cloud:
        xi, nu = q[:-1], q[-1]
        found = find_range(lambda u: of(u, xi, nu).log_weight, len(nu), largest)
        u, weight = nodes(found)
        at = of(u, xi, nu)
        return Cloud(at.log_weight + np.log(weight), at.eta, at.log_partition, found.ends)

    def _plane(self, q: Array, nodes: Callable[[Range], PeakNodes]) -> Cloud:
        """Two natural parameters: the second on lines that follow the ridge of the density."""
        xi, nu = q[:-1], q[-1]
        (first, second), k = self.natural, len(nu)
        mode, bend = maximise(self.natural, self.log_partition, xi, nu, np.zeros((2, k)), slopes=True)
        tilt, spread = -bend[0, 1] / bend[1, 1], 1.0 / np.sqrt(-bend[1, 1])

        def density(u: Array, v: Array) -> tuple[Array, Array, Array, Array]:
            a, b = first.at(u), second.at(v)
            A, up = np.broadcast_to(self.log_partition(a, b), u.shape), (1,) * (u.ndim - 1)
            x, y, n = (one.reshape(-1, *up) for one in (*xi, nu))
            return a * x + b * y - n * A + first.log_slope(u) + second.log_slope(v), a, b, A

        def ridge(u: Array) -> Array:
            return mode[1][:, None] + tilt[:, None] * (u - mode[0][:, None])

        width = 1.0 / np.sqrt(np.maximum(-bend[0, 0] + bend[0, 1] ** 2 / bend[1, 1], 1e-300))
        along = find_range(lambda u: density(u, ridge(u))[0], k, first.largest, (mode[0], width))
        for _ in range(_WIDENED):
            u, outer = nodes(along)
            middle, m = ridge(u).ravel(), u.shape[1]
            found = find_range(
                lambda v, u=u, m=m: density(  # type: ignore[misc]
                    np.broadcast_to(u[:, :, None], (k, m, v.shape[1])), v.reshape(k, m, -1)
                )[0].reshape(k * m, -1),
                k * m,
                second.largest,
                (middle, np.repeat(spread, m)),
            )
            v, inner = (each.reshape(k, m, -1) for each in nodes(found))
            log_p, a, b, A = density(np.broadcast_to(u[:, :, None], v.shape), v)
            log_w = log_p + np.log(outer)[:, :, None] + np.log(inner)
            log_w = np.where(np.isfinite(log_w), log_w, -np.inf)
            falls = found.top.reshape(k, m)
            short = falls.max(axis=1) - np.maximum(falls[:, 0], falls[:, -1]) < _ENOUGH
            if not short.any():
                break
            grow = np.where(short, 1.5, 1.0)
            low, high = (along.mode + grow * (end - along.mode) for end in (along.low, along.high))
            along = along._replace(low=low, high=high)
        exists = ~short & along.ends & found.ends.reshape(k, m).all(axis=1)
        eta = a.reshape(k, -1), b.reshape(k, -1)
        return Cloud(log_w.reshape(k, -1), eta, A.reshape(k, -1), exists)


def _log_sums(log_weight: Array) -> Array:
    """Logarithms of sums along rows."""
    top = log_weight.max(axis=1)
    return np.asarray(top + np.log(np.exp(log_weight - top[:, None]).sum(axis=1)))


def _many(found: Range) -> PeakNodes:
    return nodes_of(found, _NODES)


def maximise(
    natural: tuple[Domain, ...], log_partition: LogPartition, xi: Array, nu: Array, start: Array, *, slopes: bool
) -> tuple[Array, Array]:
    """Coordinates (S, K) at which ``eta . xi - nu A`` is largest, and its second derivatives (S, S, K) there.

    With ``slopes`` it is the density of the coordinates, which has the slopes of the natural parameters in it.
    """

    def at(u: Array) -> Jet:
        coordinates = variables(list(u))
        eta: list[Any] = [chart.at(one) for chart, one in zip(natural, coordinates, strict=True)]  # type: ignore[arg-type]
        value: Any = eta[0] * xi[0] - log_partition(*eta) * nu
        for one, x in zip(eta[1:], xi[1:], strict=True):
            value = value + one * x
        if slopes:
            for chart, one in zip(natural, coordinates, strict=True):
                value = value + chart.log_slope(one)  # type: ignore[arg-type]
        return value

    u, size = np.array(start, dtype=np.float64), len(xi)
    with np.errstate(all="ignore"):
        now = at(u)
        for _ in range(_STEPS):
            slope, bend = dense(now, u.shape)
            values, vectors = np.linalg.eigh(np.nan_to_num(np.moveaxis(bend, 2, 0)))
            along = np.einsum("kij,ik->kj", vectors, slope) / np.maximum(np.abs(values), 1e-300)
            way = np.einsum("kij,kj->ik", vectors, along)
            way /= np.maximum(np.abs(way).max(axis=0) / _LONGEST, 1.0)
            far = np.abs((slope * way).sum(axis=0)) > _NEARLY * np.maximum(1.0, nu)
            if not far.any():
                break
            step = far.astype(np.float64)
            for _ in range(_HALVINGS):
                new = at(u + step * way)
                lower = far & ~(new.value >= now.value - _ROUNDING * np.maximum(1.0, np.abs(now.value)))
                if not lower.any():
                    break
                step = np.where(lower, 0.5 * step, step)
            u = u + np.where(lower, 0.0, step) * way
            now = at(u)
            if lower[far].all():
                break
        bend = dense(now, u.shape)[1]
    return u, bend.reshape(size, size, -1)
