"""Distributions of the response in rows from a log density and a log survival function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from tobitgp.distributions.response import RowDistributions
from tobitgp.numerics.log_probabilities import log_complement
from tobitgp.typing import Array


class Functions(NamedTuple):
    """Functions of values on the scale of the location and of the parameters of rows."""

    log_density: Callable[..., Any]
    log_sf: Callable[..., Any]
    log_cdf: Callable[..., Any] | None = None
    width: Callable[..., Array] | None = None  # about how far values lie from the location; 1 without

    def spread(self, x: Sequence[Array]) -> Array:
        """`width` of rows."""
        return np.ones_like(x[0]) if self.width is None else self.width(*x) + np.zeros_like(x[0])


@dataclass(frozen=True, slots=True)
class FunctionRows(RowDistributions):
    """Rows whose parameters x, the location first, are arrays that broadcast."""

    functions: Functions
    x: tuple[Array, ...]
    log: bool = False

    @property
    def location(self) -> Array:  # type: ignore[override]
        return self.x[0]

    @property
    def shape(self) -> tuple[int, ...]:
        return np.broadcast_shapes(*map(np.shape, self.x))

    @property
    def width(self) -> Array:
        return self.functions.spread(self.x)

    def take(self, rows: Any) -> FunctionRows:
        return replace(self, x=tuple(np.broadcast_to(each, self.shape)[rows] for each in self.x))

    def _of(self, function: Callable[..., Any], v: Array) -> Array:
        """A function of values on the scale of the location, where these are finite."""
        inside = np.isfinite(v)
        with np.errstate(all="ignore"):
            found = np.asarray(function(np.where(inside, v, self.x[0]), *self.x))
        return found if inside.all() else np.where(inside, found, np.nan)

    def logpdf(self, y: Array) -> Array:
        v = self.modelled(y)
        value = np.where(np.isfinite(v), self._of(self.functions.log_density, v), -np.inf)
        with np.errstate(invalid="ignore"):
            return np.where(np.isfinite(v), value - v, value) if self.log else value

    def logsf(self, y: Array) -> Array:
        v = self.modelled(y)
        return np.where(np.isfinite(v), self._of(self.functions.log_sf, v), np.where(v > 0.0, -np.inf, 0.0))

    def logcdf(self, y: Array) -> Array:
        v = self.modelled(y)
        return np.where(np.isfinite(v), self._below_or_rest(v), np.where(v > 0.0, 0.0, -np.inf))

    def _below_or_rest(self, v: Array) -> Array:
        if self.functions.log_cdf is not None:
            return self._of(self.functions.log_cdf, v)
        with np.errstate(all="ignore"):
            return log_complement(np.minimum(self._of(self.functions.log_sf, v), 0.0))

    def modelled_hazard(self, x: Array) -> tuple[Array, Array]:
        log_sf = self._of(self.functions.log_sf, x)
        return -log_sf, np.exp(self._of(self.functions.log_density, x) - log_sf)
