"""A new response in rows that meet values of their own: between logarithms at values that all rows share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tobitgp.distributions.lattice import Lattice
from tobitgp.distributions.response import RowDistributions
from tobitgp.numerics.roots import rises_to
from tobitgp.typing import Array

_STEP, _MOST = 0.15, 2000  # between nodes, in widths of the noise; how many nodes
_PLACES = np.arange(-5.0, 7.0)  # of the nodes that a value lies between, the nearest in the middle
_BASIS = np.linalg.inv(np.vander(_PLACES, increasing=True))


@dataclass(frozen=True, slots=True)
class Interpolated(RowDistributions):
    """The rows of a lattice beside values of their own, (n, m) or (n,), within the range that is tabulated."""

    rows: Lattice
    x: Array  # (K,), evenly spaced, on the scale of the location
    tables: tuple[Array, Array, Array]  # (n, K), log survival, log cdf and log hazard

    @property
    def log(self) -> bool:  # type: ignore[override]
        return self.rows.log

    def log_tails(self, y: Array) -> tuple[Array, Array]:
        x = self.modelled(y)
        above, below = (self._between(table, x) for table in self.tables[:2])
        return np.where(np.isneginf(x), 0.0, above), np.where(np.isneginf(x), -np.inf, below)

    def logsf(self, y: Array) -> Array:
        return self.log_tails(y)[0]

    def modelled_hazard(self, x: Array) -> tuple[Array, Array]:
        H = np.where(np.isneginf(x), 0.0, -self._between(self.tables[0], x))
        return H, np.exp(self._between(self.tables[2], x))

    def reached(self, goal: Array) -> Array:
        """Where cumulative hazards (n,) are reached, on the scale of the location; at most the end of the table."""
        H = -self.tables[0]
        goal, spacing = np.minimum(goal, H[:, -1]), self.x[1] - self.x[0]
        start = self.x[np.argmax(goal[:, None] <= H, axis=1)]
        return np.asarray(np.minimum(rises_to(self.modelled_hazard, goal, start, spacing), self.x[-1]))

    def _between(self, table: Array, x: Array) -> Array:
        """Polynomials through the nearest nodes."""
        half, end = len(_PLACES) // 2, len(self.x)
        place = (np.clip(x, self.x[0], self.x[-1]) - self.x[0]) / (self.x[1] - self.x[0])
        k = np.clip(place.astype(np.intp), half - 1, end - half - 1)
        weights = (place - k)[..., None] ** np.arange(len(_PLACES)) @ _BASIS
        row = np.arange(len(table)).reshape(-1, *[1] * (x.ndim - 1))
        out = np.zeros(x.shape)
        for i, shift in enumerate(_PLACES.astype(np.intp)):
            out += weights[..., i] * table[row, k + shift]
        return out


def interpolate(rows: Lattice, low: float, high: float, most: int = _MOST) -> Interpolated | None:
    """Rows of a lattice beside values between two on the scale of the location; None if that takes too many nodes."""
    step = _STEP * min(float(s) * noise.reach for s, noise in zip(rows.sigma, rows.noises, strict=True))
    beyond = len(_PLACES) * step
    if not high - low + 2.0 * beyond < min(most, _MOST) * step:
        return None
    x = np.arange(low - beyond, high + beyond, step)
    tables = rows.tabulated(x)
    return Interpolated(rows, x, tables) if all(np.isfinite(table).all() for table in tables) else None
