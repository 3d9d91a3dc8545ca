"""How several parameters of a row make the distribution of its response: for its likelihood, and for questions.

The location, which is linear in the terms of the main formula, comes first. Each other parameter may be linear in
separate terms on the scale of its link: identity, logarithm or log odds.

A log density and a log survival function are enough.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from tobitgp.distributions.baselines import Baseline
from tobitgp.distributions.event_times import Cured
from tobitgp.distributions.formulas import CuredTimes, FunctionTimes, RowTimes, location_scale_times, transformed_times
from tobitgp.distributions.location_scale import LocationScale
from tobitgp.distributions.response import RowDistributions, of_parts, same_as
from tobitgp.distributions.standard_noise import Distribution
from tobitgp.distributions.transformed import TransformedTimes
from tobitgp.numerics.jets import Jet
from tobitgp.numerics.log_probabilities import log_complement
from tobitgp.typing import Array


@dataclass(frozen=True, slots=True)
class OwnShapes(RowDistributions):
    """``location + scale Z`` in rows, or its exponential, where Z differs between rows by its shape."""

    noise: Distribution  # of which the shape is replaced
    location: Array  # (n,), or with more axes that broadcast
    scale: Array
    coordinate: Array  # of the shapes
    log: bool = False

    row_fields = ("location", "scale", "coordinate")
    width = same_as("scale")

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

    logpdf = of_parts("logpdf")
    logsf = of_parts("logsf")
    logcdf = of_parts("logcdf")
    log_mass = of_parts("log_mass")
    modelled_hazard = of_parts("modelled_hazard")
    mean = of_parts("mean")
    conditional_mean = of_parts("conditional_mean")

    def reached(self, goal: Array) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray(self._each(lambda rows, goal: rows.exceeded(-goal), goal))

    def observed_mean(self, lower: Array, upper: Array, entry: Array, exit: Array, *, fast: bool = False) -> Array:
        ends = lower, upper, entry, exit
        return np.asarray(self._each(lambda rows, *own: rows.observed_mean(*own, fast=fast), *ends))


@dataclass(frozen=True, slots=True)
class FunctionRows(RowDistributions):
    """Rows of a model whose parameters x, the location first, are arrays that broadcast."""

    model: DensityModel
    x: tuple[Array, ...]

    row_fields = ("x",)
    log = same_as("model.log")

    @property
    def location(self) -> Array:  # type: ignore[override]
        return self.x[0]

    @property
    def width(self) -> Array:
        return self.model.spread(self.x)

    def _of(self, function: Callable[..., Any], v: Array) -> Array:
        """A function of values on the scale of the location, where these are finite."""
        inside = np.isfinite(v)
        with np.errstate(all="ignore"):
            found = np.asarray(function(np.where(inside, v, self.x[0]), *self.x))
        return found if inside.all() else np.where(inside, found, np.nan)

    def logpdf(self, y: Array) -> Array:
        v = self.modelled(y)
        value = np.where(np.isfinite(v), self._of(self.model.log_density, v), -np.inf)
        with np.errstate(invalid="ignore"):
            return np.where(np.isfinite(v), value - v, value) if self.log else value

    def logsf(self, y: Array) -> Array:
        v = self.modelled(y)
        return np.where(np.isfinite(v), self._of(self.model.log_sf, v), np.where(v > 0.0, -np.inf, 0.0))

    def logcdf(self, y: Array) -> Array:
        v = self.modelled(y)
        return np.where(np.isfinite(v), self._below_or_rest(v), np.where(v > 0.0, 0.0, -np.inf))

    def _below_or_rest(self, v: Array) -> Array:
        if self.model.log_cdf is not None:
            return self._of(self.model.log_cdf, v)
        with np.errstate(all="ignore"):
            return log_complement(np.minimum(self._of(self.model.log_sf, v), 0.0))

    def modelled_hazard(self, x: Array) -> tuple[Array, Array]:
        log_sf = self._of(self.model.log_sf, x)
        return -log_sf, np.exp(self._of(self.model.log_density, x) - log_sf)


LinkName = Literal["identity", "log", "logit", "location"]
_FURTHEST = 18.0  # from its start, of a logarithm that is as good as infinite
_LONG = {"identity": 1.0, "log": 1.0, "logit": 0.5, "location": 0.0}  # of a step of each link, in those of a logarithm
_FAR_LOGIT = 30.0


@dataclass(frozen=True, slots=True)
class RowParameter:
    """A parameter of rows other than their location."""

    name: str
    link: LinkName = "log"
    start: float = 0.0  # on the scale of the link, from where a search begins
    ends: tuple[float, float] = (-np.inf, np.inf)  # of what is sought, on the scale of the link

    @property
    def label(self) -> str:
        """What is linear in the terms of a formula."""
        return f"log({self.name})" if self.link == "log" else self.name

    def range(self, start: float) -> tuple[float, float]:
        """Ends beyond which a value is as good as infinite, where a search begins at ``start``."""
        far = {"log": _FURTHEST, "logit": _FAR_LOGIT}.get(self.link, np.inf)
        centre = start if self.link == "log" else 0.0
        return max(self.ends[0], centre - far), min(self.ends[1], centre + far)

    @property
    def step(self) -> float:
        """Size of a step on the scale of the link, in steps of a logarithm."""
        return _LONG[self.link]


class RowModel:
    """A distribution of the response in rows, of a location and other parameters.

    A new one gives ``parameters``, ``times`` and ``distributions``.
    """

    __slots__ = ()

    log: bool = True  # whether the location is that of the logarithm of the response
    components: int = 1  # whose distributions are mixed
    defective: ClassVar[bool] = False  # whether the response may be infinite

    @property
    def parameters(self) -> tuple[RowParameter, ...]:
        """Those other than the location."""
        raise NotImplementedError

    def times(self, at: Sequence[Jet]) -> RowTimes:
        """Formulas of the likelihood of the response, or of its logarithm."""
        raise NotImplementedError

    def distributions(self, x: tuple[Array, ...]) -> RowDistributions:
        """Distributions of the response, of the parameters (n, ...) on the scales of their links."""
        raise NotImplementedError

    def units(self, x: tuple[Array, ...]) -> tuple[Array, ...]:
        """Sizes of steps of the parameters."""
        return tuple(np.ones_like(each) for each in x)

    def rises(self, x: tuple[Array, ...]) -> bool:
        """Whether the cdf of every row rises everywhere."""
        return True

    def follows_a_few(self, x: tuple[Array, ...]) -> bool:
        """Whether a part of the model is as narrow as if it followed a few rows."""
        return False

    def alike(self, x: tuple[Array, ...]) -> bool:
        """Whether all parts of a model of several parts are the same in every row."""
        return False


@dataclass(frozen=True, slots=True)
class NoiseModel(RowModel):
    """A location and a scale, and a shape of the noise where it has one: (REG1) of the theory pages."""

    noise: Distribution
    log: bool = False
    known_sigma: float | None = None
    own_shape: bool = False  # whether the shape of the noise is a parameter
    reciprocal: bool = False  # whether the scale is given as 1 / sigma, the shape of Weibull times

    @property
    def parameters(self) -> tuple[RowParameter, ...]:
        scale = [] if self.known_sigma is not None else [RowParameter("shape" if self.reciprocal else "sigma")]
        if not self.own_shape:
            return tuple(scale)
        noise, link = self.noise, "log" if self.noise.shape_positive else "identity"
        assert noise.shape_name is not None
        shape = RowParameter(noise.shape_name, link, noise.coordinate, noise.coordinate_range())  # type: ignore[arg-type]
        return (*scale, shape)

    def _log_scale(self, rest: Sequence[Any]) -> Any:
        if self.known_sigma is not None:
            return np.log(self.known_sigma)
        return -rest[0] if self.reciprocal else rest[0]

    def times(self, at: Sequence[Jet]) -> RowTimes:
        eta, *rest = at
        tau = self._log_scale(rest)
        tau = tau if isinstance(tau, Jet) else Jet(np.full_like(eta.value, tau), {}, {})
        return location_scale_times(self.noise, eta, tau, rest[-1] if self.own_shape else None)

    def distributions(self, x: tuple[Array, ...]) -> RowDistributions:
        eta, *rest = x
        scale = np.exp(self._log_scale(rest)) + np.zeros_like(eta)
        if not self.own_shape:
            return LocationScale(self.noise, eta, scale, self.log)
        return OwnShapes(self.noise, eta, scale, np.clip(rest[-1], *self.noise.coordinate_range()), self.log)

    def units(self, x: tuple[Array, ...]) -> tuple[Array, ...]:
        return (np.exp(self._log_scale(x[1:])) + np.zeros_like(x[0]), *(np.ones_like(each) for each in x[1:]))


@dataclass(frozen=True, slots=True)
class BaselineModel(RowModel):
    """A linear predictor and a parametric baseline: (PH5) of the theory pages."""

    noise: Distribution
    baseline: Baseline

    @property
    def parameters(self) -> tuple[RowParameter, ...]:
        link = "log" if self.baseline.positive else "identity"
        each = zip(self.baseline.names, self.baseline.start, strict=True)
        return tuple(RowParameter(name, link, float(start)) for name, start in each)  # type: ignore[arg-type]

    def times(self, at: Sequence[Jet]) -> RowTimes:
        return transformed_times(self.noise, self.baseline, at[0], at[1:])

    def distributions(self, x: tuple[Array, ...]) -> RowDistributions:
        return TransformedTimes(self.noise, self.baseline, x[0], x[1:])

    def rises(self, x: tuple[Array, ...]) -> bool:
        return self.baseline.rises(x[1:])


@dataclass(frozen=True, slots=True)
class CureModel(RowModel):
    """A share of rows never has the event, the times of the others are those of another model: (CUR1)."""

    uncured: RowModel
    defective: ClassVar[bool] = True

    @property
    def parameters(self) -> tuple[RowParameter, ...]:
        return (RowParameter("cured", "logit"), *self.uncured.parameters)

    def times(self, at: Sequence[Jet]) -> RowTimes:
        eta, logit, *rest = at
        return CuredTimes(self.uncured.times([eta, *rest]), logit)

    def distributions(self, x: tuple[Array, ...]) -> RowDistributions:
        return Cured(self.of_uncured(x), x[1])

    def of_uncured(self, x: tuple[Array, ...]) -> RowDistributions:
        """Distributions of the times of those who are not cured."""
        return self.uncured.distributions((x[0], *x[2:]))

    def units(self, x: tuple[Array, ...]) -> tuple[Array, ...]:
        location, *rest = self.uncured.units((x[0], *x[2:]))
        return (location, np.ones_like(x[1]), *rest)

    def rises(self, x: tuple[Array, ...]) -> bool:
        return self.uncured.rises((x[0], *x[2:]))


@dataclass(frozen=True, slots=True)
class DensityModel(RowModel):
    """A distribution from its log density and log survival as functions of the value and the parameters.

    The functions take values, or with ``log`` their logarithms, the location, and the other parameters on the scales of
    their links. They are written in numpy's functions and take arrays or jets (`tobitgp/numerics/jets.py`).
    """

    others: tuple[RowParameter, ...]
    log_density: Callable[..., Any]
    log_sf: Callable[..., Any]
    log_cdf: Callable[..., Any] | None = None
    log: bool = False
    width: Callable[..., Array] | None = None  # about how far values lie from the location; 1 without

    parameters = same_as("others")

    def spread(self, x: Sequence[Array]) -> Array:
        """`width` of rows."""
        return np.ones_like(x[0]) if self.width is None else self.width(*x) + np.zeros_like(x[0])

    def times(self, at: Sequence[Jet]) -> RowTimes:
        return FunctionTimes(self.log_density, self.log_sf, self.log_cdf, tuple(at))

    def distributions(self, x: tuple[Array, ...]) -> RowDistributions:
        return FunctionRows(self, x)

    def units(self, x: tuple[Array, ...]) -> tuple[Array, ...]:
        return (self.spread(x), *(np.ones_like(each) for each in x[1:]))
