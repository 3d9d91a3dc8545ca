r"""Posterior of a process in rows, under each of several powers of the response: (BC5) of the theory pages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from tobitgp.distributions.normal import Normal
from tobitgp.distributions.power_normal import PowerMixture, PowerNoise, PowerNormal, transform
from tobitgp.numerics.quadrature import BEYOND
from tobitgp.posterior.nodes import Nodes
from tobitgp.posterior.questions import Question, Rows
from tobitgp.posterior.seen import Component
from tobitgp.typing import Array

_NORMAL = Normal()
_PAYS, _TABLE = 20, 1500  # rows from which on tables pay, and their nodes


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
        """Of every component, (J,)."""
        return np.array([noise.shape for noise in self.noises])

    @property
    def one_scale(self) -> bool:
        return False

    @property
    def new(self) -> PowerMixture:  # type: ignore[override]
        """Distributions of a new response."""
        power = self.power.reshape(-1, *[1] * (self.mean.ndim - 1))
        return PowerMixture(self.weight, PowerNormal(self.mean, np.hypot(self.sd, self.sigma), power))

    @property
    def beside_shared_values(self) -> PowerMixture:
        """Distributions of a new response in rows that all meet the same values, (m,)."""
        return self.spread_over().new

    def beside_own_values(self, ends: Array, *starts: Array) -> PowerMixture:
        """Distributions of a new response in rows that meet values of their own, (n, m)."""
        return self.spread_over().new

    def remaining(self, orders: Sequence[float], start: Array, most: float | None = None) -> Array:
        """Values after ``start`` (n,) at which survival falls to shares of what it is there, (n, k)."""
        return np.stack([self.new.remaining(p, start) for p in orders], axis=1)

    def given(self, j: int, f: Array, rows: Rows = slice(None)) -> PowerNormal:  # type: ignore[override]
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
        parts = (each.take(j) for j in range(len(self.weight)))
        return np.stack([question.number(part) for part in parts])

    def se(self, question: Question) -> Array:
        """Standard deviation of the number given f, the noise and the power, (n,)."""
        found = Nodes.se(self, question)
        return np.where(np.isnan(found), np.inf, found)

    def _standardised(self, j: int, value: Array, scale: Array) -> Array:
        y = PowerNormal(self.mean[j], scale, self.noises[j].shape)
        return y.standardise(y.modelled(value))

    def _tabled(self, question: Question, j: int) -> Question:
        from scipy.interpolate import PchipInterpolator

        if self.sigma.shape[1] > 1 or not question.shared or self.mean.shape[1] < _PAYS:
            return question
        reach = self.sd[j] * (BEYOND + self._growth(j))
        low, high = (self.mean[j] - reach).min(), (self.mean[j] + reach).max()
        x = np.linspace(low, max(high, low + 1e-9), _TABLE)
        values = np.broadcast_to(question.take(slice(0, 1))(self.given(j, x)), x.shape)
        if not np.isfinite(values).all():
            return question
        table = PchipInterpolator(x, values)
        return replace(question, of=lambda y, *at: table(y.mu), fast=None)

    def _growth(self, j: int) -> Array:
        m, s, power = self.mean[j], self.sd[j], self.noises[j].shape
        level = np.maximum(1.0 + power * m, 0.0) if power > 0.0 else 1.0
        return 4.0 * s / (level + np.sqrt(level * level + 8.0 * max(power, 0.0) * s * s))
