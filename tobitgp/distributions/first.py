r"""The first of several independent times, one for each cause: :math:`S(t) = \prod_k S_k(t)`, (CR1)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from tobitgp.distributions.response import RowDistributions
from tobitgp.typing import Array, IntArray

_T = np.linspace(-3.6, 2.1, 96)  # of the double exponential rule for integrals over (0, inf)
_S = np.exp(0.5 * np.pi * np.sinh(_T))
_S_WEIGHT = (_T[1] - _T[0]) * 0.5 * np.pi * np.cosh(_T) * _S * np.exp(-_S)


@dataclass(frozen=True, slots=True)
class First(RowDistributions):
    """Times of n rows of which each cause has one, and the earliest is seen."""

    causes: tuple[RowDistributions, ...]

    log = True

    @property
    def location(self) -> Array:  # type: ignore[override]
        """The lowest of the causes."""
        return np.asarray(reduce(np.minimum, [cause.location for cause in self.causes]))

    @property
    def shape(self) -> tuple[int, ...]:
        return np.broadcast_shapes(*(cause.shape for cause in self.causes))

    @property
    def width(self) -> Array:
        return np.asarray(reduce(np.minimum, [cause.width for cause in self.causes]))

    def take(self, rows: Any) -> First:
        return First(tuple(cause.take(rows) for cause in self.causes))

    def logsf(self, y: Array) -> Array:
        return np.asarray(sum(cause.logsf(y) for cause in self.causes))

    def logpdf(self, y: Array) -> Array:
        return np.asarray(reduce(np.logaddexp, [self.log_cause_density(k, y) for k in range(len(self.causes))]))

    def log_cause_density(self, k: int, y: Array) -> Array:
        """Log density of an event of cause k at y: its density times the probability that no other came before."""
        rest = [cause.logsf(y) for j, cause in enumerate(self.causes) if j != k]
        return np.asarray(self.causes[k].logpdf(y) + sum(rest))

    def log_hazard(self, y: Array) -> Array:
        return np.asarray(reduce(np.logaddexp, [cause.log_hazard(y) for cause in self.causes]))

    def modelled_hazard(self, x: Array) -> tuple[Array, Array]:
        H, h = zip(*(cause.modelled_hazard(x) for cause in self.causes), strict=True)
        return np.asarray(sum(H)), np.asarray(sum(h))

    def mean(self) -> Array:
        r""":math:`\int_0^\infty Q(e^{-s}) e^{-s} ds`, infinite where some have no event or tails are too heavy."""
        with np.errstate(over="ignore", invalid="ignore"):
            each = self.take(np.s_[..., None]).survived(np.broadcast_to(-_S, (*self.shape, len(_S))))
            rising = np.log(each[..., -1]) - np.log(each[..., -2]) >= _S[-1] - _S[-2]
            return np.where(rising, np.inf, each @ _S_WEIGHT)

    def rates(self, y: Array, begin: Array) -> tuple[Array, Array]:
        """Hazards of the causes at positive times y, and cumulative hazards since ``begin``, (K, ...) each."""
        with np.errstate(all="ignore"):
            found = [cause.modelled_hazard(cause.modelled(y)) for cause in self.causes]
            past = [
                np.where(begin > 0.0, cause.modelled_hazard(cause.modelled(begin))[0], 0.0) for cause in self.causes
            ]
            hazard = np.broadcast_arrays(*(h / y for _, h in found))
            return np.stack(hazard), np.stack(
                np.broadcast_arrays(*(H - before for (H, _), before in zip(found, past, strict=True)))
            )


@dataclass(frozen=True, slots=True)
class Joined(RowDistributions):
    """Draws of the distributions of n rows, (n, S), made of parts (n, s) of which each has a shape of its own."""

    parts: tuple[RowDistributions, ...]
    order: IntArray  # (S,), place of each draw in the parts, where those of one design point follow each other

    log = True

    @property
    def _ends(self) -> Array:
        return np.cumsum([part.shape[-1] for part in self.parts])[:-1]

    def _each(self, of: Callable[..., Array], *values: Array) -> Array:
        """A number of every part at values whose last axis is one, or goes over the draws."""
        if len(self.parts) == 1 and all(np.shape(x)[-1] == 1 for x in values):
            found = of(self.parts[0], *values)
            return np.broadcast_to(found, (*found.shape[:-1], len(self.order)))[..., self.order]
        place = np.argsort(self.order)
        split: list[Any] = [
            np.split(x[..., place], self._ends, axis=-1) if np.shape(x)[-1] > 1 else [x] * len(self.parts)
            for x in values
        ]
        each = [of(part, *(x[j] for x in split)) for j, part in enumerate(self.parts)]
        return np.concatenate(each, axis=-1)[..., self.order]

    @property
    def location(self) -> Array:  # type: ignore[override]
        return self._each(lambda part: np.broadcast_to(part.location, part.shape))

    @property
    def shape(self) -> tuple[int, ...]:
        return (*self.parts[0].shape[:-1], len(self.order))

    @property
    def width(self) -> Array:
        return self._each(lambda part: np.broadcast_to(part.width, part.shape))

    def take(self, rows: Any) -> Joined:
        """Some of the rows, for which ``rows`` has no index of draws."""
        return Joined(tuple(part.take(rows) for part in self.parts), self.order)

    def logsf(self, y: Array) -> Array:
        return self._each(lambda part, at: part.logsf(at), y)

    def logcdf(self, y: Array) -> Array:
        return self._each(lambda part, at: part.logcdf(at), y)

    def logpdf(self, y: Array) -> Array:
        return self._each(lambda part, at: part.logpdf(at), y)

    def log_hazard(self, y: Array) -> Array:
        return self._each(lambda part, at: part.log_hazard(at), y)

    def modelled_hazard(self, x: Array) -> tuple[Array, Array]:
        H, h = self._each(lambda part, at: np.stack(np.broadcast_arrays(*part.modelled_hazard(at))), x)
        return H, h

    def mean(self) -> Array:
        return self._each(lambda part: np.broadcast_to(part.mean(), part.shape))

    def conditional_mean(self, lower: Array, upper: Array) -> Array:
        return self._each(lambda part, low, high: part.conditional_mean(low, high), lower, upper)
