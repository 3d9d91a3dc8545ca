r"""Quantities of the distribution of the response in rows: defaults from density, survival and its inverse.

Values and ends are on the scale of the response, and ends may be infinite. Probabilities are formed as logarithms, from
the tail that is small.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from operator import attrgetter
from typing import Any, ClassVar, Self

import numpy as np

from tobitgp.numerics.log_probabilities import log_complement, log_difference
from tobitgp.numerics.roots import area, rises_to
from tobitgp.typing import Array

SOON = 1e-280  # stands for time 0, where a hazard is a limit
_NEVER = 115.0  # a log hazard at time 0 that is as good as infinite
_LIKELY = -0.05  # a log probability from which the other tail is formed
_HALF = float(np.log(0.5))
_T = np.linspace(-3.6, 2.1, 96)  # of the double exponential rule: s = exp(pi sinh(t) / 2), from 1e-13 to 400
DECAY = np.exp(0.5 * np.pi * np.sinh(_T))
DECAY_WEIGHT = (_T[1] - _T[0]) * 0.5 * np.pi * np.cosh(_T) * DECAY * np.exp(-DECAY)


class RowDistributions:
    """Distributions of the response in rows; values broadcast against the rows.

    A new one is a dataclass with ``location``, ``logpdf``, ``logsf`` and ``modelled_hazard``.
    """

    __slots__ = ()
    row_fields: ClassVar[tuple[str, ...]] = ("location",)  # that broadcast: arrays, distributions, or tuples of these
    discrete = False  # whether values are whole numbers
    stepwise = False  # whether hazards are constant between jumps

    location: Array  # of the response, or of its logarithm
    log: bool  # whether it is that of the logarithm

    @property
    def shape(self) -> tuple[int, ...]:
        """(n,), or with more axes after it."""
        values = (getattr(self, name) for name in self.row_fields)
        each = (one for value in values for one in (value if isinstance(value, tuple) else (value,)))
        return np.broadcast_shapes(*(one.shape if isinstance(one, RowDistributions) else np.shape(one) for one in each))

    @property
    def jumps(self) -> Array:
        """Values (K,) of the response at which densities or their derivatives may jump."""
        return np.zeros(0)

    @property
    def latent(self) -> Array:
        """What is linear in the terms of a model."""
        return self.location

    @property
    def width(self) -> Array:
        """About how far values lie from the location."""
        return np.ones(self.shape)

    def take(self, rows: Any) -> Self:
        """Some of the rows."""
        shape = self.shape

        def some(value: Any) -> Any:
            if isinstance(value, tuple):
                return tuple(map(some, value))
            return value.take(rows) if isinstance(value, RowDistributions) else np.broadcast_to(value, shape)[rows]

        return replace(self, **{name: some(getattr(self, name)) for name in self.row_fields})  # type: ignore[type-var]

    def beside(self) -> Self:
        """The rows with a trailing axis for several values each, (n, 1)."""
        return self.take(np.s_[:, None])

    def modelled(self, y: Array) -> Array:
        """Values of the response on the scale of the location; -inf where a logarithm has no such value."""
        with np.errstate(divide="ignore"):
            return np.log(np.maximum(y, 0.0)) if self.log else np.asarray(y)

    def response(self, x: Array) -> Array:
        """Values of the location on the scale of the response."""
        with np.errstate(over="ignore"):
            return np.exp(x) if self.log else x

    # -- tails --------------------------------------------------------------------------------------------------------

    def logpdf(self, y: Array) -> Array:
        """Log density, or log probability of a count."""
        raise NotImplementedError

    def logsf(self, y: Array) -> Array:
        """Log probability of more than y, where `log_tails` does not follow from it."""
        return self.log_tails(y)[0]

    def logcdf(self, y: Array) -> Array:
        """Log probability of at most y."""
        return log_complement(self.logsf(y))

    def log_tails(self, y: Array) -> tuple[Array, Array]:
        """`logsf` and `logcdf`, each formed where it is small."""
        return complementary(lambda: self.logsf(y), lambda: self.logcdf(y))

    def log_odds(self, y: Array) -> Array:
        """Log of the probability of more than y over that of at most y."""
        above, below = self.log_tails(y)
        return np.asarray(above - below)

    def log_mass(self, lower: Array, upper: Array) -> Array:
        """Log probability of lying in (lower, upper]; an infinite upper end includes what never comes."""
        with np.errstate(all="ignore"):
            low, high = self._below(lower), self._below(upper)
            above = log_difference(self._above(lower), self._above(upper))
            return np.where(lower < upper, np.where(low > _HALF, above, log_difference(high, low)), -np.inf)

    def _above(self, end: Array) -> Array:
        """Log probability of more than an end that may be infinite."""
        inside = np.isfinite(end)
        found = self.logsf(np.where(inside, end, 1.0))
        return found if inside.all() else np.where(inside, found, np.where(end > 0.0, -np.inf, 0.0))

    def _below(self, end: Array) -> Array:
        """Log probability of at most an end that may be infinite."""
        inside = np.isfinite(end)
        found = self.logcdf(np.where(inside, end, 1.0))
        return found if inside.all() else np.where(inside, found, np.where(end > 0.0, 0.0, -np.inf))

    def log_likelihood(self, lower: Array, upper: Array, entry: Array, exit: Array) -> Array:
        """Log density of exact rows, log probability of censored ones, given their windows; ends (n,).

        Each row is scored by its own observation: (n,), or (n, ...) as the distributions are.
        """
        exact, window = lower == upper, np.isfinite(entry) | np.isfinite(exit)
        low, high = np.where(exact, lower, np.maximum(lower, entry)), np.where(exact, upper, np.minimum(upper, exit))
        right, left = ~exact & np.isfinite(low) & np.isposinf(high), ~exact & np.isneginf(low) & np.isfinite(high)
        between = ~(exact | right | left)
        out = np.empty((len(lower), *self.shape[1:]))
        with np.errstate(all="ignore"):
            for at, of in (
                (exact, lambda y, a, b: y.logpdf(a)),
                (right, lambda y, a, b: y.logsf(a)),
                (left, lambda y, a, b: y.logcdf(b)),
                (between, lambda y, a, b: y.log_mass(a, b)),
            ):
                if at.any():
                    out[at] = self._in_rows(at, of, low, high)
            if window.any():
                out[window] -= self._in_rows(window, lambda y, a, b: y.log_mass(a, b), entry, exit)
        return out

    def _in_rows(self, at: Any, of: Callable[..., Array], *ends: Array) -> Array:
        """A number of some rows and their own ends (n,)."""
        more = (1,) * (len(self.shape) - 1)
        return of(self.take(at), *(end[at].reshape(-1, *more) for end in ends))

    # -- hazards ------------------------------------------------------------------------------------------------------

    def modelled_hazard(self, x: Array) -> tuple[Array, Array]:
        """Cumulative hazard and hazard on the scale of the location."""
        raise NotImplementedError

    def log_hazard(self, y: Array) -> Array:
        """Log of density over survival; of positive times none before 0, and there what those close by tend to."""
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            if not self.log:
                return np.log(self.modelled_hazard(y)[1])
            soon = np.log(np.maximum(y, SOON))
            value = np.log(self.modelled_hazard(soon)[1]) - soon
            limit = np.where(value > _NEVER, np.inf, np.where(value < -_NEVER, -np.inf, value))
            return np.where(y < 0.0, -np.inf, np.where(y == 0.0, limit, value))

    def hazard(self, y: Array) -> Array:
        """Density over survival."""
        return np.exp(self.log_hazard(y))

    def reached(self, goal: Array) -> Array:
        """Where cumulative hazards (n,) are reached, on the scale of the location; infinite where they never are."""
        return rises_to(self.modelled_hazard, goal, self.location, self.width)

    def exceeded(self, log_p: Array) -> Array:
        """Values on the scale of the location that are exceeded with probabilities."""
        return self.reached(-np.asarray(log_p))

    def remaining(self, p: float, start: Array) -> Array:
        """Time after ``start`` at which survival falls to p of what it is there, (n,); (SUR4) of the theory pages."""
        goal = self.modelled_hazard(self.modelled(start))[0] - np.log(p)
        end = self.reached(goal)
        if not self.log:
            return np.maximum(end - start, 0.0)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            late = start * np.expm1(end - np.log(np.maximum(start, 0.0)))
            return np.maximum(np.where(start > 0.0, late, np.exp(end) - start), 0.0)

    # -- quantiles and draws ------------------------------------------------------------------------------------------

    def survived(self, log_p: Array) -> Array:
        """Values that are exceeded with probabilities, infinite where more than these never come."""
        return self.response(self.reached(-np.minimum(log_p, 0.0)))

    def ppf(self, p: float) -> Array:
        """Quantiles."""
        return self.survived(np.full(self.shape, np.log1p(-p)))

    def drawn(self, uniform: Array, lower: Array | None = None, upper: Array | None = None) -> Array:
        """Responses at uniform numbers, inside (lower, upper] where ends are given."""
        with np.errstate(divide="ignore"):
            log_u, log_rest = np.log(uniform), np.log1p(-uniform)
        if lower is None or upper is None:
            return self.survived(log_u)
        return self._inside_at(log_u, log_rest, lower, upper)

    def independent(self, uniform: Array) -> Array:
        """Independent responses made of uniform numbers, which need not be their orders."""
        return self.drawn(uniform)

    def _inside_at(self, log_u: Array, log_rest: Array, lower: Array, upper: Array) -> Array:
        """Values that are exceeded with probability u inside (lower, upper]."""
        with np.errstate(all="ignore"):
            left = np.logaddexp(log_u + self._above(lower), log_rest + self._above(upper))
            return np.where(lower == upper, lower, np.clip(self.survived(left), lower, upper))

    # -- means --------------------------------------------------------------------------------------------------------

    def mean(self) -> Array:
        """Means, infinite or NaN where there are none: the areas of both tails from the median on."""
        flat = self.take(np.unravel_index(np.arange(int(np.prod(self.shape))), self.shape))
        middle, rows = flat.ppf(0.5), flat.beside()
        above = _beyond(flat, middle, upper=True)
        if self.log:
            first = flat.survived(np.full(flat.shape, np.log1p(-_RARE)))
            with np.errstate(all="ignore"):
                ends = np.log(np.column_stack([first, *(flat.ppf(p) for p in _EARLY), middle]))
                soon = area(lambda x: np.exp(rows.logsf(np.exp(x)) + x), ends)
            return np.asarray((first + soon + above).reshape(self.shape))
        return np.asarray((middle + above - _beyond(flat, middle, upper=False)).reshape(self.shape))

    def conditional_mean(self, lower: Array, upper: Array) -> Array:
        r"""``E[y | lower < y <= upper]``, (n,), the value itself where the ends are equal.

        It is :math:`\int_0^\infty Q(e^{-s}) e^{-s} ds`, Q the value that is exceeded with a probability inside.
        """
        low, high = np.broadcast_arrays(np.maximum(lower, 0.0) if self.log else lower, upper)
        first = np.where(np.isfinite(low), low, 0.0)
        log_u, log_rest = -DECAY, np.log(-np.expm1(-DECAY))
        each = self.beside()._inside_at(log_u, log_rest, low[:, None], high[:, None])
        with np.errstate(invalid="ignore", over="ignore"):
            value = first + (each - first[:, None]) @ DECAY_WEIGHT
            endless = np.isposinf(high) & np.isposinf(self.mean())
        return np.where(endless, np.inf, np.where(low == high, low, np.clip(value, low, high)))

    def pearson(self, lower: Array, upper: Array) -> Array:
        """Mean given what was seen less the mean, on the scale of the location, in standard deviations; ends (n,)."""
        log_u, log_rest = -DECAY, np.log(-np.expm1(-DECAY))
        rows, free = self.beside(), np.full((1, 1), np.inf)
        with np.errstate(all="ignore"):
            seen, every = (
                self.modelled(rows._inside_at(log_u, log_rest, *ends))
                for ends in ((lower[:, None], upper[:, None]), (-free, free))
            )
            shift = self.modelled(self.ppf(0.5))[:, None]
            mean = (every - shift) @ DECAY_WEIGHT
            sd = np.sqrt(np.square(every - shift - mean[:, None]) @ DECAY_WEIGHT)
            found = np.where(lower == upper, self.modelled(lower) - shift[:, 0], (seen - shift) @ DECAY_WEIGHT)
            return np.asarray((found - mean) / sd)

    def inside(
        self, lower: Array, upper: Array, entry: Array, exit: Array, *, fast: bool = False
    ) -> tuple[Array, Array]:
        """Probability of lying between the limits given the window, and the mean there."""
        low, high = np.clip(lower, entry, exit), np.clip(upper, entry, exit)
        mass = np.exp(self.log_mass(low, high) - self.log_mass(entry, exit))
        return mass, self._mean_inside(low, high, fast=fast)

    def _mean_inside(self, lower: Array, upper: Array, *, fast: bool) -> Array:
        """`conditional_mean`, or a fast form of it that may cost the last digits."""
        return self.conditional_mean(lower, upper)

    def observed_mean(self, lower: Array, upper: Array, entry: Array, exit: Array, *, fast: bool = False) -> Array:
        """``E[clip(y, lower, upper) | entry < y < exit]``, what is shown of rows seen only inside a window."""
        mass, mean = self.inside(lower, upper, entry, exit, fast=fast)
        low, high = np.clip(lower, entry, exit), np.clip(upper, entry, exit)
        with np.errstate(invalid="ignore"):
            total, value = self.log_mass(entry, exit), np.where(mass > 0.0, mass * mean, 0.0)
            for limit, a, b in ((lower, entry, low), (upper, high, exit)):
                if (b > a).any():
                    beyond = np.exp(self.log_mass(a, b) - total)
                    value = value + np.where((b > a) & (beyond > 0.0), beyond * limit, 0.0)
        return value

    def clipped_log_odds(self, lower: Array, upper: Array) -> Array:
        """``log(g - l) - log(u - g)``, g the clipped mean; the part of an infinite limit is left out."""
        lower = np.maximum(lower, 0.0) if self.log else lower
        g = self.observed_mean(lower, upper, np.full_like(upper, -np.inf), np.full_like(upper, np.inf))
        with np.errstate(all="ignore"):
            above, below = np.log(g - lower), np.log(upper - g)
        return np.where(np.isfinite(lower), above, 0.0) - np.where(np.isfinite(upper), below, 0.0)


_RARE = 1e-12  # probability from which a tail is extended by its slope
_EARLY = (1e-9, 1e-6, 1e-4, 1e-3, 0.01, 0.05, 0.15, 0.3)
_LATE = np.log([0.5, 0.3, 0.15, 0.05, 0.01, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9, 1e-10, 1e-11, _RARE])


def _beyond(rows: RowDistributions, middle: Array, *, upper: bool) -> Array:
    """Area (n,) of a tail from the median on, beyond a rare value that of a power; infinite where that falls slowly."""
    log_tail, log_tails = ((y.logsf if upper else y.logcdf) for y in (rows, rows.beside()))

    def tail(y: Array) -> Array:
        return np.exp(log_tails(y))

    with np.errstate(all="ignore"):
        survival = [p if upper else np.log1p(-np.exp(p)) for p in _LATE]
        ends = np.column_stack([rows.survived(np.full(rows.shape, p)) for p in survival])
        last, sign = ends[:, -1], 1.0 if upper else -1.0
        slope = np.exp(rows.logpdf(last) - log_tail(last))
        near = (ends - middle[:, None]) * sign
        if upper and rows.log:  # a power of the time itself
            grown = np.log(ends)
            value = area(lambda x: tail(np.exp(x)) * np.exp(x), grown)
            power = slope * last
            rest = tail(last[:, None])[:, 0] * last / (power - 1.0)
        else:
            value = area(lambda x: tail(middle[:, None] + sign * x), near)
            power = slope * near[:, -1]
            rest = tail(last[:, None])[:, 0] * near[:, -1] / (power - 1.0)
        return np.where(power > 1.0, value + rest, np.where(np.isfinite(power), np.inf, np.nan))


def same_as(path: str) -> Any:
    """A property that is an attribute of a field, such as ``each.log``."""
    return property(attrgetter(path))


def of_parts(name: str) -> Callable[..., Any]:
    """The method of a name, of a class whose `_each` asks the distributions that it is made of."""

    def method(self: Any, *values: Array) -> Any:
        return self._each(lambda part, *own: getattr(part, name)(*own), *values)

    return method


def complementary(upper: Callable[[], Array], lower: Callable[[], Array]) -> tuple[Array, Array]:
    """Logarithms of two probabilities that add up to one, from that which is small; the lower one where need be."""
    with np.errstate(divide="ignore", invalid="ignore"):
        above = np.minimum(upper(), 0.0)
        below = log_complement(above)
        near = above > _LIKELY
        if np.any(near):
            below = np.where(near, np.minimum(lower(), 0.0), below)
            above = np.where(near, log_complement(below), above)
    return above, below
