"""Rows whose noise has a shape of their own: those of each shape are rows of a location and a scale."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tobitgp.distributions.location_scale import LocationScale
from tobitgp.distributions.response import RowDistributions
from tobitgp.distributions.standard_noise import Distribution
from tobitgp.typing import Array


@dataclass(frozen=True, slots=True)
class OwnShapes(RowDistributions):
    """``location + scale Z`` in rows, or its exponential, where Z differs between rows by its shape."""

    noise: Distribution  # of which the shape is replaced
    location: Array  # (n,), or with more axes that broadcast
    scale: Array
    coordinate: Array  # of the shapes
    log: bool = False

    @property
    def shape(self) -> tuple[int, ...]:
        return np.broadcast_shapes(*map(np.shape, (self.location, self.scale, self.coordinate)))

    @property
    def width(self) -> Array:
        return self.scale

    def take(self, rows: Any) -> OwnShapes:
        location, scale, at = (
            np.broadcast_to(each, self.shape)[rows] for each in (self.location, self.scale, self.coordinate)
        )
        return replace(self, location=location, scale=scale, coordinate=at)

    def _each(self, of: Callable[..., Any], *values: Array | float) -> Any:
        """Numbers of the rows, from those of the rows of each shape; several where a function gives several."""
        location, scale, at, *beside = np.broadcast_arrays(self.location, self.scale, self.coordinate, *values)
        if not at.size:
            return of(LocationScale(self.noise, location, scale, self.log), *beside)
        shapes, which = np.unique(at, return_inverse=True)
        order = np.argsort(which.ravel(), kind="stable")
        ends = np.cumsum(np.bincount(which.ravel(), minlength=len(shapes)))[:-1]
        flat = [each.ravel() for each in (location, scale, *beside)]
        out: list[Array] = []
        for value, rows in zip(shapes, np.split(order, ends), strict=True):
            mu, sigma, *own = (each[rows] for each in flat)
            found = of(LocationScale(self.noise.at_coordinate(float(value)), mu, sigma, self.log), *own)
            found = found if isinstance(found, tuple) else (found,)
            out = out or [np.empty(at.size) for _ in found]
            for to, part in zip(out, found, strict=True):
                to[rows] = part
        shaped = tuple(each.reshape(at.shape) for each in out)
        return shaped if len(shaped) > 1 else shaped[0]

    def logpdf(self, y: Array) -> Array:
        return np.asarray(self._each(lambda rows, y: rows.logpdf(y), y))

    def logsf(self, y: Array) -> Array:
        return np.asarray(self._each(lambda rows, y: rows.logsf(y), y))

    def logcdf(self, y: Array) -> Array:
        return np.asarray(self._each(lambda rows, y: rows.logcdf(y), y))

    def log_mass(self, lower: Array, upper: Array) -> Array:
        return np.asarray(self._each(lambda rows, a, b: rows.log_mass(a, b), lower, upper))

    def modelled_hazard(self, x: Array) -> tuple[Array, Array]:
        H, h = self._each(lambda rows, x: rows.modelled_hazard(x), x)
        return H, h

    def reached(self, goal: Array) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray(self._each(lambda rows, goal: rows.exceeded(-goal), goal))

    def mean(self) -> Array:
        return np.asarray(self._each(lambda rows: rows.mean()))

    def conditional_mean(self, lower: Array, upper: Array) -> Array:
        return np.asarray(self._each(lambda rows, a, b: rows.conditional_mean(a, b), lower, upper))

    def observed_mean(self, lower: Array, upper: Array, entry: Array, exit: Array, *, fast: bool = False) -> Array:
        ends = lower, upper, entry, exit
        return np.asarray(self._each(lambda rows, *own: rows.observed_mean(*own, fast=fast), *ends))
