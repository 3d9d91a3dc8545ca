r"""Baselines: functions s of log time that rise, which give survival from :math:`\eta + s(\log t)`; (PH5), (PH10).

:math:`g(S(t)) = \eta + s(v)`, v the logarithm of t, with g the inverse of the survival function of a distribution:
that of minima for proportional hazards, where s is the log cumulative baseline hazard but for a constant.

References
----------
P. Royston and M. K. B. Parmar (2002), Flexible parametric proportional-hazards and proportional-odds models for
censored survival data, *Statistics in Medicine* 21, 2175-2197.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from tobitgp.numerics.jets import Jet, Number, linear, log_complement
from tobitgp.numerics.roots import rises_to
from tobitgp.typing import Array

_EARLIEST, _LATEST = -700.0, 700.0  # logarithms of times
_SERIES = 0.3
_FIRST = (1 / 2, 1 / 12, -1 / 720, 1 / 30240, -1 / 1209600)  # of x^0, x, x^3, ...
_SECOND = (1 / 12, -1 / 240, 1 / 6048, -1 / 172800, 1 / 5322240)  # of x^0, x^2, ...


class Baseline:
    """A function s with m parameters, each a number or one for each row; jets give a jet."""

    __slots__ = ()
    positive: ClassVar[bool] = False  # whether the logarithm of the parameter moves in a search
    start_of_time: ClassVar[float] = 0.0  # log time at which the level is the one that is reported
    words: ClassVar[str]  # for summaries

    @property
    def size(self) -> int:
        """M."""
        return 1

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the parameters."""
        return ("shape",)

    @property
    def bends(self) -> Array:
        """Log times (K,) at which derivatives of s jump."""
        return np.zeros(0)

    @property
    def start(self) -> Array:
        """Parameters (m,) of s(v) = v, that of a constant hazard."""
        return np.zeros(self.size)

    def at(self, v: Array, c: Sequence[Number]) -> tuple[Number, Number]:
        """s, and the logarithm of its slope, minus infinite where s falls."""
        raise NotImplementedError

    def since(self, v: Array, start: Array, c: Sequence[Jet]) -> tuple[Jet, Jet]:
        """The logarithm of the growth of exp(s) since log times (n,), and of its slope; nan where s falls."""
        late = np.isfinite(start)
        s, log_slope = self.at(v, c)
        back: Jet = self.at(np.where(late, start, v), c)[0] - s
        grown: Jet = s + log_complement(replace(back, value=np.where(late, back.value, -np.inf)))
        return grown, s + log_slope - grown

    def level(self, origin: float, c: Sequence[Number]) -> Number:
        """The change of the level of s if the level is given at a log time instead of at 0.

        Nothing at ``start_of_time``: levels that are given are those of s as it is, whatever s is there.
        """
        if origin == self.start_of_time:
            return Jet(np.zeros_like(c[0].value), {}, {}) if isinstance(c[0], Jet) else np.zeros_like(c[0])
        return self.at(np.array(origin), c)[0]

    def inverse(self, s: Array, c: Sequence[Array]) -> Array:
        """Log times at which s is reached, infinite where it is not."""
        raise NotImplementedError

    def tail(self, c: Sequence[Array]) -> Array | float:
        """Slope of s in log time towards infinity."""
        raise NotImplementedError

    def contains(self, other: Baseline) -> bool:
        """Whether another is a case of this one, for some value of the parameters."""
        return self == other

    def rises(self, c: Sequence[Array]) -> bool:
        """Whether s rises at all times, in all rows."""
        return True


@dataclass(frozen=True, slots=True)
class WeibullBaseline(Baseline):
    """``s(v) = shape v``; the parameter is the logarithm of the shape."""

    positive: ClassVar[bool] = True
    words: ClassVar[str] = "Weibull"

    def at(self, v: Array, c: Sequence[Number]) -> tuple[Number, Number]:
        return np.exp(c[0]) * v, c[0] + 0.0 * v

    def inverse(self, s: Array, c: Sequence[Array]) -> Array:
        return np.asarray(s * np.exp(-c[0]))

    def tail(self, c: Sequence[Array]) -> Array | float:
        return np.exp(c[0])

    def contains(self, other: Baseline) -> bool:
        """See `Baseline`; a spline without inner knots is the same."""
        return isinstance(other, WeibullBaseline) or (isinstance(other, SplineBaseline) and other.size == 1)


@dataclass(frozen=True, slots=True)
class GompertzBaseline(Baseline):
    """``s(v) = log{expm1(a t) / a}``, t the exponential of v: the hazard grows, or falls, as ``exp(a t)``."""

    start_of_time: ClassVar[float] = -np.inf
    words: ClassVar[str] = "Gompertz"

    def at(self, v: Array, c: Sequence[Number]) -> tuple[Number, Number]:
        x = c[0] * np.exp(v)
        phi = _log_ratio(x)
        return v + phi, x - phi

    def since(self, v: Array, start: Array, c: Sequence[Jet]) -> tuple[Jet, Jet]:
        """See `Baseline`; here of the time since then, wherever time began."""
        t, share = np.exp(v), -np.expm1(start - v)
        s = c[0] * np.exp(start) + (v + np.log(share)) + _log_ratio(c[0] * (t * share))
        return s, c[0] * t + v - s

    def level(self, origin: float, c: Sequence[Number]) -> Number:
        """See `Baseline`; the log hazard at a time instead of that at 0."""
        return c[0] * np.exp(origin)

    def inverse(self, s: Array, c: Sequence[Array]) -> Array:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            x = c[0] * np.exp(np.minimum(s, 700.0))
            share = np.where(np.abs(x) < 1e-8, 1.0 - 0.5 * x, np.log1p(np.maximum(x, -1.0)) / np.where(x, x, 1.0))
            late = np.log(np.logaddexp(0.0, s + np.log(np.maximum(c[0], 0.0))) / c[0])
            v = np.where(x > 1.0, late, s + np.log(share))
            return np.where(x <= -1.0, np.inf, np.where(np.isinf(s), s, v))

    def tail(self, c: Sequence[Array]) -> Array | float:
        """See `Baseline`; 0 where the hazard falls, so that some never have the event."""
        return np.where(np.asarray(c[0]) < 0.0, 0.0, np.inf)


@dataclass(frozen=True, slots=True)
class SplineBaseline(Baseline):
    """A natural cubic spline of log time, linear beyond its outer knots."""

    knots: tuple[float, ...]  # (m + 1,), log times
    words: ClassVar[str] = "spline"

    @property
    def size(self) -> int:
        """m, the number of inner knots and 1."""
        return len(self.knots) - 1

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f"gamma{j + 1}" for j in range(self.size))

    @property
    def bends(self) -> Array:
        return np.array(self.knots)

    @property
    def start(self) -> Array:
        return np.eye(self.size)[0]

    def basis(self, v: Array) -> tuple[list[Array], list[Array]]:
        """Functions whose sum is s, and their slopes."""
        v = np.clip(v, _EARLIEST, _LATEST)
        low, high = self.knots[0], self.knots[-1]
        inside, beyond = np.minimum(v, high), np.maximum(v - high, 0.0)

        def cube(k: float) -> tuple[Array, Array]:
            x = np.maximum(inside - k, 0.0)
            square = x * x
            return x * square + 3.0 * (high - k) ** 2 * beyond, 3.0 * square

        values, slopes = [v], [np.ones_like(v)]
        first = cube(low)
        for k in self.knots[1:-1]:
            share, own = (high - k) / (high - low), cube(k)
            values.append(own[0] - share * first[0])
            slopes.append(own[1] - share * first[1])
        return values, slopes

    def at(self, v: Array, c: Sequence[Number]) -> tuple[Number, Number]:
        values, slopes = self.basis(v)
        with np.errstate(divide="ignore", invalid="ignore"):
            return _sum(c, values), _log_positive(_sum(c, slopes))

    def lowest(self, c: Sequence[Array]) -> tuple[Array, Array]:
        """Log times (2 m + 1, ...) among which is that of the least slope, and the slopes there.

        Slopes are parabolas between knots, and numbers beyond them. ``c`` are numbers, or arrays of one shape.
        """
        knots = np.array(self.knots).reshape(-1, *[1] * np.ndim(c[0]))
        middle, step = 0.5 * (knots[1:] + knots[:-1]), np.diff(knots, axis=0)
        ends, half = (_sum(c, self.basis(v)[1]) for v in (knots, middle))
        bend, turn = 2.0 * (ends[:-1] + ends[1:] - 2.0 * half), 4.0 * half - 3.0 * ends[:-1] - ends[1:]
        with np.errstate(divide="ignore", invalid="ignore"):
            place = np.where(bend > 0.0, np.clip(-0.5 * turn / bend, 0.0, 1.0), 0.0)
        v = np.concatenate([knots + 0.0 * ends, knots[:-1] + place * step])
        return v, np.concatenate([ends, ends[:-1] + place * (turn + place * bend)])

    def rises(self, c: Sequence[Array]) -> bool:
        _, slope = self.lowest(list(np.broadcast_arrays(*c)))
        return bool((slope >= 0.0).all())

    def inverse(self, s: Array, c: Sequence[Array]) -> Array:
        shape = np.broadcast_shapes(np.shape(s), *(np.shape(each) for each in c))
        goal, own = np.broadcast_to(s, shape), [np.broadcast_to(each, shape) for each in c]
        with np.errstate(all="ignore"):
            first, last = (self.at(np.full(shape, end), own)[0] for end in (_EARLIEST, _LATEST))
        inner = (goal > first) & (goal < last)
        middle = np.full(shape, 0.5 * (self.knots[0] + self.knots[-1]))

        def risen(v: Array) -> tuple[Array, Array]:
            at, log_slope = self.at(v, own)
            above = np.exp(np.clip(at - goal, -_LATEST, _LATEST))
            return above, above * np.exp(log_slope)

        found = rises_to(risen, np.where(inner, 1.0, 0.0), middle, np.ones(shape))
        return np.where(inner, found, np.where(goal >= last, np.inf, -np.inf))

    def tail(self, c: Sequence[Array]) -> Array | float:
        return _sum(c, self.basis(np.array(self.knots[-1]))[1])

    def contains(self, other: Baseline) -> bool:
        return self == other or WeibullBaseline().contains(other)


def make_knots(log_times: Array, weight: Array, df: int) -> Array:
    """Extremes of log times and their equally spaced quantiles (type 7), of weights as of repeated rows; (df + 1,)."""
    order = np.argsort(log_times, kind="stable")
    values, sums = log_times[order], np.cumsum(weight[order])
    place = np.linspace(0.0, 1.0, df + 1) * max(float(sums[-1]) - 1.0, 0.0)
    low, high = (
        values[np.minimum(np.searchsorted(sums, np.floor(place + 1e-9) + one, side="right"), len(values) - 1)]
        for one in (0.0, 1.0)
    )
    return np.asarray(low + np.clip(place - np.floor(place + 1e-9), 0.0, 1.0) * (high - low))


def _sum(c: Sequence[Number], values: Sequence[Array] | Array) -> Number:
    if isinstance(c[0], Jet):
        return linear(c, values)
    return np.asarray(sum((own * value for own, value in zip(c, values, strict=True)), np.zeros(())))


def _log_positive(x: Number) -> Number:
    """Logarithm, minus infinite where it has none."""
    if isinstance(x, Jet):
        return x.of(_log_positive(x.value), 1.0 / x.value, -1.0 / (x.value * x.value))
    return np.log(np.maximum(x, 0.0))


def _log_ratio(x: Number) -> Number:
    """``log(expm1(x) / x)``."""
    if isinstance(x, Jet):
        return x.of(_log_ratio(x.value), *_log_ratio_slopes(x.value))
    size = np.abs(x)
    with np.errstate(divide="ignore", invalid="ignore"):
        value = np.log(-np.expm1(-size) / np.where(size > 0.0, size, 1.0))
    return np.where(size < 1e-8, -0.5 * size, value) + np.maximum(x, 0.0)


def _log_ratio_slopes(x: Array) -> tuple[Array, Array]:
    """First two derivatives of the same."""
    y, near = x * x, np.abs(x) < _SERIES
    far = np.where(near, 1.0, x)
    with np.errstate(over="ignore"):
        first = -1.0 / np.expm1(-far) - 1.0 / far
        second = 1.0 / far**2 - 0.25 / np.sinh(np.clip(0.5 * far, -350.0, 350.0)) ** 2
    small = _FIRST[0] + x * np.polyval(_FIRST[:0:-1], y)
    return np.where(near, small, first), np.where(near, np.polyval(_SECOND[::-1], y), second)
