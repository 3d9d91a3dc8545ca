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
_FINE = np.linspace(-5.0, 5.0, 161)
_DENSITY = np.exp(-0.5 * _FINE**2)
_DENSITY = _DENSITY / _DENSITY.sum()
_CHUNK, _LEAST = 128, 1e-9  # rows; weight of a component that is left out
_TABLE = 400


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
        return PowerMixture(self.weight, PowerNormal(self.mean, np.hypot(self.sd, self.sigma), self._powers(0)))

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
        return np.stack([self.new.remaining(p, start) for p in orders], axis=1)

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
            low, high = _quantiles(numbers, weight, (0.5 - 0.5 * level, 0.5 + 0.5 * level))
            out["lower"], out["upper"] = np.minimum(low, value), np.maximum(high, value)
        return out

    def band(self, question: Question, level: float) -> dict[str, Array]:
        """``median``, ``lower`` and ``upper`` of the number given the parameters."""
        made = []
        for rows in row_chunks(0, self.mean.shape[1], _CHUNK) or [slice(0, 0)]:
            numbers, weight = self.take(rows)._numbers(question.take(rows))
            orders = (0.5, 0.5 - 0.5 * level, 0.5 + 0.5 * level)
            made.append(_quantiles(numbers, weight, orders))
        names = ("median", "lower", "upper")
        return {name: np.concatenate(found) for name, found in zip(names, zip(*made, strict=True), strict=True)}

    def _powers(self, more: int) -> Array:
        """The powers beside arrays of rows, with some axes more."""
        return self.power.reshape(-1, *[1] * (self.mean.ndim - 1 + more))

    def _numbers(self, question: Question) -> tuple[Array, Array]:
        """The number given f, the noise and the power, (K, n, ...), and the weights (K,) of these."""
        f = self.mean[:, None] + self.sd[:, None] * _GRID.reshape(-1, *[1] * (self.mean.ndim - 1))
        tabled = f.size > _TABLE * len(f) and question.shared and not question.response
        with np.errstate(all="ignore"):
            if tabled and (self.sigma == self.sigma[:, :1]).all() and self.mean.ndim == 2:
                values = np.stack([self._tabled(question.take(slice(0, 1)), j, f[j]) for j in range(len(f))])
            else:
                values = question.number(PowerNormal(f, self.sigma[:, None], self._powers(1)))
        numbers = _finer(values)
        return numbers.reshape(numbers.shape[0] * numbers.shape[1], *numbers.shape[2:]), np.outer(
            self.weight, _DENSITY
        ).ravel()

    def _tabled(self, question: Question, j: int, f: Array) -> Array:
        """A number that depends on nothing of a row but f, between values of a table."""
        from scipy.interpolate import PchipInterpolator

        x = np.linspace(f.min(), f.max(), _TABLE) if np.ptp(f) > 0.0 else f.min() + np.linspace(0.0, 1e-9, _TABLE)
        value = np.broadcast_to(question.number(PowerNormal(x, self.sigma[j, 0], self.power[j])), x.shape)
        if not np.isfinite(value).all():
            return np.interp(f, x, value)
        return np.asarray(PchipInterpolator(x, value)(f))


def _finer(values: Array) -> Array:
    """Numbers (J, K, ...) on a finer grid of f, between those on a coarse one, where these are finite."""
    from scipy.interpolate import PchipInterpolator

    known = np.isfinite(values).all(axis=(0, 1))
    out = values[:, np.abs(_FINE[:, None] - _GRID).argmin(axis=1)]
    if known.any():
        out[:, :, known] = PchipInterpolator(_GRID, values[:, :, known], axis=1)(_FINE)
    return out


def _quantiles(numbers: Array, weight: Array, orders: Sequence[float]) -> list[Array]:
    """Weighted quantiles (n, ...) of numbers (K, n, ...), straight on the scale of normal scores."""
    shape, numbers = numbers.shape[1:], numbers.reshape(len(numbers), -1)
    place = np.argsort(numbers, axis=0)
    values, share = np.take_along_axis(numbers, place, axis=0), weight[place]
    below, out = np.cumsum(share, axis=0) - 0.5 * share, np.empty((len(orders), numbers.shape[1]))
    for i in range(numbers.shape[1]):
        at = np.clip(np.searchsorted(below[:, i], orders), 1, len(below) - 1)
        score = ndtri(np.clip(below[[at - 1, at], i], 1e-15, 1.0 - 1e-15))
        with np.errstate(invalid="ignore", divide="ignore"):
            part = np.clip((ndtri(orders) - score[0]) / (score[1] - score[0]), 0.0, 1.0)
        first, last = values[at - 1, i], values[at, i]
        with np.errstate(invalid="ignore"):
            out[:, i] = np.where(first == last, first, first + part * (last - first))
    return [row.reshape(shape) for row in out]
