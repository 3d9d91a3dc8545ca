r"""Weighted normal distributions of the location in rows: the posterior of a process at new rows.

Arrays broadcast throughout: means and standard deviations (J, n), noise (J, 1), limits (n,). What is uncertain of a
number :math:`g(f, \sigma)` of the distribution of the response is f and the noise of the same component, never
the noise of a new observation: (PRE2) and (PRE3) of the theory pages. Under several powers of the
response, each component has its own: (BC5).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from scipy.special import expit

from tobitgp.distributions.convolution import HALF_LOG_2PI, plus_normal, reach
from tobitgp.distributions.location_scale import LocationScale
from tobitgp.distributions.power_normal import PowerMixture, PowerNoise, PowerNormal, transform
from tobitgp.distributions.response import RowDistributions
from tobitgp.distributions.standard_noise import FAR
from tobitgp.distributions.symmetric_noise import NormalNoise
from tobitgp.distributions.weighted import Interpolated, Lattice, WeightedSum, interpolate, lattice
from tobitgp.numerics.normal_functions import average, exponential_sd, total_sd
from tobitgp.numerics.quadrature import BEYOND, integrals
from tobitgp.posterior import node_quantiles
from tobitgp.posterior.node_rows import NodeRows
from tobitgp.posterior.questions import Question, RowSelection
from tobitgp.posterior.seen import Component
from tobitgp.typing import Array, IntArray

_PAYS, _TABLE = 20, 1000  # nodes of a table: for each value that a row meets, and for a root


@dataclass(frozen=True, slots=True)
class Nodes(NodeRows):
    """Posterior of f in n rows: distributions of a new response, and statistics of questions about it."""

    @property
    def new(self) -> WeightedSum:
        """Distributions of a new response."""
        rows = zip(self.noises, self.mean, self.sigma, self.sd, strict=True)
        return WeightedSum(self.weight, tuple(plus_normal(*row, log=self.log) for row in rows))

    @property
    def beside_shared_values(self) -> RowDistributions:
        """Distributions of a new response in rows that all meet the same values, (m,)."""
        if self.sigma.shape[1] > 1:
            return self.spread_over().new
        return self._lattice

    def beside_own_values(self, ends: Array, *starts: Array) -> RowDistributions:
        """Distributions of a new response in rows, each at its own values, (n, m), optionally starting at some."""
        x, direct = [self.new.modelled(values).ravel() for values in (ends, *starts)], self.spread_over()
        if self.normal or self.sigma.shape[1] > 1 or not np.isfinite(x[0]).all():
            return direct.new
        return self._interpolated(np.concatenate(x), _PAYS * ends.shape[1]) or direct.new

    def remaining(self, orders: Sequence[float], start: Array, most: float | None = None) -> Array:
        """Times after ``start`` (n,) at which survival falls to shares of what it is there, (n, k), up to ``most``."""
        known: RowDistributions = self.new
        if most is not None and not self.normal and self.sigma.shape[1] == 1:
            x = np.concatenate([known.modelled(start), known.modelled(start + most)])
            known = self._interpolated(x, _TABLE) or known
        return np.stack([known.remaining(p, start) for p in orders], axis=1)

    def _interpolated(self, x: Array, most: int) -> Interpolated | None:
        """Rows with tables between values on the scale of f."""
        known = x[np.isfinite(x)]
        return interpolate(self._lattice, known.min(), known.max(), most) if len(known) else None

    @property
    def _lattice(self) -> Lattice:
        """Rows that share the noise of each component."""
        return Lattice(self.weight, self.noises, self.mean, self.sd, self.sigma[:, 0], self.log)

    def component(self, j: int, *ends: Array) -> Component:
        """Rows under a component that are known to lie between ends (n,) of the response, in windows."""
        lower, upper, entry, exit = (self.new.modelled(end) for end in ends)
        sigma = np.broadcast_to(self.sigma[j], lower.shape)
        return Component(self.noises[j], self.mean[j], self.sd[j], sigma, lower, upper, entry, exit, self.log)

    # -- statistics of a question -------------------------------------------------------------------------------------

    def statistics(self, question: Question, level: float | None, *, se: bool) -> dict[str, Array]:
        """``estimate``, with ``se`` or a level also ``se``, with a level ``lower`` and ``upper``; (n,) each."""
        value = self.value(question)
        out = {"estimate": value}
        if se or level is not None:
            out["se"] = self.se(question)
        if level is not None:
            tail = 0.5 * (1.0 - level)
            low, high = self.quantiles(question, (tail, 1.0 - tail))
            out["lower"], out["upper"] = np.minimum(low, value), np.maximum(high, value)
        return out

    def band(self, question: Question, level: float) -> dict[str, Array]:
        """``median``, ``lower`` and ``upper`` of the number given the parameters."""
        tail = 0.5 * (1.0 - level)
        return dict(zip(("median", "lower", "upper"), self.quantiles(question, (0.5, tail, 1.0 - tail)), strict=True))

    def value(self, question: Question) -> Array:
        """The number of a new response, (n,)."""
        if question.bounds is None and question.at and self._shares(question) and not self.normal:
            return question.of_first_row().number(self.beside_shared_values)[:, 0]
        if question.bounds is None:
            return question.number(self.new)
        return np.clip(average(self.weight, self.values(question)), *question.bounds)

    def values(self, question: Question) -> Array:
        """The number of a new response under every component, (J, n)."""
        if question.bounds is None or self._closed(question):
            return np.stack([question.number(part) for part in self.new.parts])
        shared = self._shares(question)
        each = [self._mean_on_lattice(question, j) if shared else None for j in range(len(self.weight))]
        return np.stack([self._moments(question, j)[0] if mean is None else mean for j, mean in enumerate(each)])

    def se(self, question: Question) -> Array:
        """Standard deviation of the number given f and the noise, (n,); (PRE5) and (PRE6) where those hold."""
        if question.linear and self.one_scale:
            shift = question.pivots(self.noises, self.sigma)[0]
            if not np.isfinite(shift).all():
                return np.full(self.mean.shape[1], np.nan)
            moved = self.mean + shift
            if self.log and question.link == "log":
                return exponential_sd(self.weight, moved, self.sd)
            return total_sd(self.weight, moved, self.sd**2)
        side = np.where(question(self.new) > 0.0, -1.0, 1.0) if question.link == "logit" else 1.0
        moments = [self._moments(question, j, side) for j in range(len(self.weight))]
        mean, variance = (np.stack(values) for values in zip(*moments, strict=True))
        with np.errstate(over="ignore", invalid="ignore"):
            found = total_sd(self.weight, mean, variance)
        return np.where(np.isnan(found), np.inf, found) if self._closed(question) and self.log else found

    quantiles = node_quantiles.quantiles

    def _shares(self, question: Question) -> bool:
        """Whether the number depends on nothing of a row but f."""
        return self.sigma.shape[1] == 1 and question.shared

    def _closed(self, question: Question) -> bool:
        """Whether it is the mean of a clipped normal or log-normal variable."""
        return question.bounds is not None and question.monotone and self.normal

    def _mean_on_lattice(self, question: Question, j: int) -> Array | None:
        """Mean of a number that depends on a row only through f, (n,); None if one lattice is not enough for all."""
        m, s, t = (each[:, None] for each in (self.mean[j], self.sd[j], self.sd[j] / self.sigma[j]))
        end = np.full_like(m, BEYOND)
        found = lattice(m, s, -end, end + (2.0 * s if self.log else 0.0), t / self.noises[j].reach)
        if found is None:
            return None
        with np.errstate(all="ignore"):
            number = question.of_first_row().fast_number(self.given(j, found[0][None]))[0]
        return found[1] @ number if np.isfinite(number).all() else None

    def _moments(self, question: Question, j: int, side: Array | float = 1.0) -> tuple[Array, Array]:
        """Mean and variance of the number under a component, (n,) each, by quadrature.

        Of a probability, where the side is -1, those of its complement.
        """
        m, s, noise, question = self.mean[j], self.sd[j], self.noises[j], self._tabled(question, j)
        sigma, side = np.broadcast_to(self.sigma[j], m.shape), np.broadcast_to(side, m.shape)
        probability = question.link == "logit"

        def number(f: Array, i: RowSelection) -> Array:
            y, asked = self.given(j, f, i), question.take(i)
            return expit(side[i] * asked(y)) if probability else (asked.fast_number if f.ndim > 1 else asked.number)(y)

        centre = number(m, slice(None))
        known = np.isfinite(centre)
        base = np.where(known, centre, 0.0)

        def values(x: Array, i: IntArray) -> Array:
            gap = np.where(known[i], number(m[i] + s[i] * x, i), 0.0) - base[i]
            root = np.exp(-0.25 * x * x - 0.5 * HALF_LOG_2PI)  # of the density, so that squares of gaps stay finite
            return np.stack([gap * root * root, (gap * root) ** 2])

        places = self._places(question, j, np.maximum(s, 1e-300))
        low, high = np.full_like(m, -BEYOND), np.full_like(m, BEYOND)
        if probability:
            low, high = reach(noise, self._places(question, j, sigma)[0], s / sigma, power=2.0)
        elif self.log:
            endless = True if question.bounds is None else np.isposinf(question.bounds[1])
            high = high + np.where(endless, self._growth(j), 0.0)
        kinks = np.stack([np.where(np.abs(place) < 1e90, place, 0.0) for place in places or [0.0 * m]], axis=1)
        with np.errstate(under="ignore", over="ignore", invalid="ignore"):
            made = integrals(values, low, high, s / (sigma * noise.reach), kinks)
            first, second = np.broadcast_to(made, (2, len(m)))  # of no rows there is no pair
            variance = np.where(known, np.maximum(second - first * first, 0.0), np.nan)
            return np.where(known, base + first, centre), variance

    def _tabled(self, question: Question, j: int) -> Question:
        """The question, from a table over f under a component where that is faster."""
        return question

    def _places(self, question: Question, j: int, scale: Array) -> list[Array]:
        """The values, relative to the means under a component, in units of a scale, finite."""
        return [np.clip(self._standardised(j, value, scale), -FAR, FAR) for value in question.at]

    def _standardised(self, j: int, value: Array, scale: Array) -> Array:
        return LocationScale(NormalNoise(), self.mean[j], scale, self.log).standardise(value)

    def _growth(self, j: int) -> Array:
        """By how much squares of a positive response move the bulk of their integrals, in standard deviations."""
        return 2.0 * self.sd[j]


_NORMAL = NormalNoise()
_POWERS_PAY, _OF_POWER = 20, 1500  # rows from which on tables pay, and their nodes


@dataclass(frozen=True, slots=True)
class PowerNodes(Nodes):
    """Weighted normal distributions of f, the location of a power of the response that each noise names."""

    cells: ClassVar[int] = 129

    @classmethod
    def of(cls, nodes: Sequence[Nodes], weights: Array, powers: Array) -> PowerNodes:
        """Those of the fits at every power."""
        n = nodes[0].mean.shape[1]
        m = max(each.sigma.shape[1] for each in nodes)
        weight = np.concatenate([w * each.weight for w, each in zip(weights, nodes, strict=True)])
        noises = [PowerNoise(p) for p, each in zip(powers.tolist(), nodes, strict=True) for _ in each.weight]
        mean, sd, sigma = (
            np.concatenate([np.broadcast_to(values, (len(values), size)) for values in each])
            for each, size in (
                ([each.mean for each in nodes], n),
                ([each.sd for each in nodes], n),
                ([each.sigma for each in nodes], m),
            )
        )
        return cls(weight, mean, sd, sigma, True, tuple(noises))

    @property
    def power(self) -> Array:
        """Power of every component, (J,)."""
        return np.array([noise.shape for noise in self.noises])

    @property
    def one_scale(self) -> bool:
        return False

    @property
    def new(self) -> PowerMixture:  # type: ignore[override]
        """Distributions of a new response."""
        mean, sd = (np.moveaxis(each, 0, -1) for each in (self.mean, np.hypot(self.sd, self.sigma)))
        return PowerMixture(PowerNormal(mean, sd, self.power), self.weight)

    @property
    def beside_shared_values(self) -> PowerMixture:
        """Distributions of a new response in rows that all meet the same values, (m,)."""
        return self.spread_over().new

    def beside_own_values(self, ends: Array, *starts: Array) -> PowerMixture:
        """Distributions of a new response in rows, each at its own values, (n, m)."""
        return self.spread_over().new

    def remaining(self, orders: Sequence[float], start: Array, most: float | None = None) -> Array:
        """Values after ``start`` (n,) at which survival falls to shares of what it is there, (n, k)."""
        return np.stack([self.new.remaining(p, start) for p in orders], axis=1)

    def given(self, j: int, f: Array, rows: RowSelection = slice(None)) -> PowerNormal:  # type: ignore[override]
        """Distributions given f in some rows, under the noise and the power of a component."""
        sigma = self.sigma[j]
        return PowerNormal(f, sigma if len(sigma) == 1 else sigma[rows], self.noises[j].shape)

    def component(self, j: int, *ends: Array) -> Component:
        """Rows under a component that are known to lie between ends (n,) of the response, in windows."""
        power = self.noises[j].shape
        with np.errstate(divide="ignore", invalid="ignore"):
            known = [np.where(end > 0.0, transform(np.log(end), power), -np.inf) for end in ends]
        lower, upper, entry, exit = (np.where(np.isposinf(end), end, z) for end, z in zip(ends, known, strict=True))
        sigma = np.broadcast_to(self.sigma[j], self.mean[j].shape)
        return Component(_NORMAL, self.mean[j], self.sd[j], sigma, lower, upper, entry, exit, False, power)

    # -- statistics of a question -------------------------------------------------------------------------------------

    def value(self, question: Question) -> Array:
        """The number of a new response, (n,)."""
        return question.number(self.new)

    def values(self, question: Question) -> Array:
        """The number of a new response under every component, (J, n)."""
        each = self.new.each
        return np.stack([question.number(each.take(np.s_[..., j])) for j in range(len(self.weight))])

    def se(self, question: Question) -> Array:
        """Standard deviation of the number given f, the noise and the power, (n,)."""
        found = Nodes.se(self, question)
        return np.where(np.isnan(found), np.inf, found)

    def _standardised(self, j: int, value: Array, scale: Array) -> Array:
        y = PowerNormal(self.mean[j], scale, self.noises[j].shape)
        return y.standardise(y.modelled(value))

    def _tabled(self, question: Question, j: int) -> Question:
        from scipy.interpolate import PchipInterpolator

        if self.sigma.shape[1] > 1 or not question.shared or self.mean.shape[1] < _POWERS_PAY:
            return question
        reach = self.sd[j] * (BEYOND + self._growth(j))
        low, high = (self.mean[j] - reach).min(), (self.mean[j] + reach).max()
        x = np.linspace(low, max(high, low + 1e-9), _OF_POWER)
        values = np.broadcast_to(question.take(slice(0, 1))(self.given(j, x)), x.shape)
        if not np.isfinite(values).all():
            return question
        table = PchipInterpolator(x, values)
        return replace(question, of=lambda y, *at: table(y.mu), fast=None)

    def _growth(self, j: int) -> Array:
        m, s, power = self.mean[j], self.sd[j], self.noises[j].shape
        level = np.maximum(1.0 + power * m, 0.0) if power > 0.0 else 1.0
        return 4.0 * s / (level + np.sqrt(level * level + 8.0 * max(power, 0.0) * s * s))
