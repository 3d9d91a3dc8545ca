r"""Posterior of a process in rows, under each of several powers: (BC5) of the theory pages.

Numbers of the distribution of the response are evaluated on a grid of f under every power and every point of the
hyper-parameters; their errors and quantiles are those of the weighted values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtri

from tobitgp.distributions.power_normal import PowerMixture, PowerNormal
from tobitgp.engines import row_chunks
from tobitgp.posterior.nodes import Nodes
from tobitgp.posterior.questions import Question, Rows
from tobitgp.typing import Array

_GRID = np.linspace(-5.0, 5.0, 41)
_FINE = np.linspace(-5.0, 5.0, 241)
_DENSITY = np.exp(-0.5 * _FINE**2)
_DENSITY = _DENSITY / _DENSITY.sum()
_CHUNK, _LEAST = 64, 1e-9  # rows; weight of a component that is left out


@dataclass(frozen=True, slots=True)
class PowerNodes:
    """Weighted normal distributions of f in n rows, with the noise and the power that go with each."""

    weight: Array  # (J,), sum to one
    mean: Array  # (J, n)
    sd: Array  # (J, n)
    sigma: Array  # (J, n), or (J, 1) where it is that of all rows
    power: Array  # (J,)

    @classmethod
    def of(cls, nodes: list[Nodes], weights: Array, powers: Array) -> PowerNodes:
        """Those of the fits at every power."""
        n = nodes[0].mean.shape[1]
        weight = np.concatenate([w * each.weight for w, each in zip(weights, nodes, strict=True)])
        power = np.repeat(powers, [len(each.weight) for each in nodes])
        mean, sd, sigma = (
            np.concatenate([np.broadcast_to(getattr(each, name), (len(each.weight), n)) for each in nodes])
            for name in ("mean", "sd", "sigma")
        )
        some = weight > _LEAST
        return cls(weight[some] / weight[some].sum(), mean[some], sd[some], sigma[some], power[some])

    @property
    def new(self) -> PowerMixture:
        """Distributions of a new response."""
        rows = zip(self.mean, np.hypot(self.sd, self.sigma), self.power, strict=True)
        return PowerMixture(self.weight, tuple(PowerNormal(m, s, power) for m, s, power in rows))

    @property
    def beside_shared_values(self) -> PowerMixture:
        """Distributions of a new response in rows that all meet the same values, (m,)."""
        return self.spread_over().new

    def beside_own_values(self, *values: Array) -> PowerMixture:
        """Distributions of a new response in rows that meet values of their own, (n, m)."""
        return self.spread_over().new

    def take(self, rows: Rows) -> PowerNodes:
        """Some of the rows."""
        return replace(self, mean=self.mean[:, rows], sd=self.sd[:, rows], sigma=self.sigma[:, rows])

    def spread_over(self) -> PowerNodes:
        """The rows beside several values each, (J, n, 1)."""
        return replace(self, **{name: getattr(self, name)[..., None] for name in ("mean", "sd", "sigma")})

    def value(self, question: Question) -> Array:
        """The number of a new response, (n,)."""
        return question.number(self.new)

    def remaining(self, orders: Sequence[float], start: Array, most: float | None = None) -> Array:
        """Values after ``start`` (n,) at which survival falls to shares of what it is there, (n, k)."""
        left = self.new.logsf(start)
        with np.errstate(divide="ignore"):
            return np.stack([np.maximum(self.new.survived(np.log(p) + left) - start, 0.0) for p in orders], axis=1)

    def statistics(self, question: Question, level: float | None, *, se: bool) -> dict[str, Array]:
        """``estimate``, with ``se`` or a level also ``se``, with a level ``lower`` and ``upper``; (n,) each."""
        n = self.mean.shape[1]
        made = [self._some(rows, question, level, se=se) for rows in row_chunks(0, n, _CHUNK) or [slice(0, 0)]]
        return {name: np.concatenate([each[name] for each in made]) for name in made[0]}

    def _some(self, rows: slice, question: Question, level: float | None, *, se: bool) -> dict[str, Array]:
        nodes, asked = self.take(rows), question.take(rows)
        value = asked.number(nodes.new)
        out = {"estimate": value}
        if not se and level is None:
            return out
        numbers, weight = nodes._numbers(asked)
        with np.errstate(invalid="ignore", over="ignore"):
            centre = np.where(np.isfinite(value), value, 0.0)
            moved = weight @ (numbers - centre)
            spread = np.sqrt(np.maximum(weight @ np.square(numbers - centre) - moved**2, 0.0))
        out["se"] = np.where(np.isnan(spread), np.inf, spread)
        if level is not None:
            low, high = (_quantiles(numbers, weight, p) for p in (0.5 - 0.5 * level, 0.5 + 0.5 * level))
            out["lower"], out["upper"] = np.minimum(low, value), np.maximum(high, value)
        return out

    def band(self, question: Question, level: float) -> dict[str, Array]:
        """``median``, ``lower`` and ``upper`` of the number given the parameters."""
        made = []
        for rows in row_chunks(0, self.mean.shape[1], _CHUNK) or [slice(0, 0)]:
            numbers, weight = self.take(rows)._numbers(question.take(rows))
            orders = (0.5, 0.5 - 0.5 * level, 0.5 + 0.5 * level)
            made.append([_quantiles(numbers, weight, p) for p in orders])
        names = ("median", "lower", "upper")
        return {name: np.concatenate(found) for name, found in zip(names, zip(*made, strict=True), strict=True)}

    def _numbers(self, question: Question) -> tuple[Array, Array]:
        """The number given f, the noise and the power, (K, n), and the weights (K,) of these."""
        x = _GRID.reshape(-1, *[1] * (self.mean.ndim - 1))
        parts = zip(self.mean, self.sd, self.sigma, self.power, strict=True)
        with np.errstate(all="ignore"):
            each = [_finer(question.number(PowerNormal(m + s * x, sigma, power))) for m, s, sigma, power in parts]
        return np.concatenate(each), np.outer(self.weight, _DENSITY).ravel()


def _finer(values: Array) -> Array:
    """Numbers on a finer grid of f, between those on a coarse one, where these are finite."""
    from scipy.interpolate import PchipInterpolator

    known = np.isfinite(values).all(axis=0)
    out = values[np.abs(_FINE[:, None] - _GRID).argmin(axis=1)]
    if known.any():
        out[:, known] = PchipInterpolator(_GRID, values[:, known], axis=0)(_FINE)
    return out


def _quantiles(numbers: Array, weight: Array, p: float) -> Array:
    """Weighted quantiles (n, ...) of numbers (K, n, ...), straight on the scale of normal scores."""
    shape, numbers = numbers.shape[1:], numbers.reshape(len(numbers), -1)
    order = np.argsort(numbers, axis=0)
    values, share = np.take_along_axis(numbers, order, axis=0), weight[order]
    score = ndtri(np.clip(np.cumsum(share, axis=0) - 0.5 * share, 1e-15, 1.0 - 1e-15))
    at = float(ndtri(p))
    with np.errstate(invalid="ignore"):
        found = [np.interp(at, s, v) for s, v in zip(score.T, values.T, strict=True)]
    return np.array(found, dtype=np.float64).reshape(shape)
