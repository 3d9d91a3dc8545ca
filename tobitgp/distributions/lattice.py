r"""A new response in rows that all meet the same values: integrals as products of matrices.

In units of the noise, with t and v the standard deviation and the mean of f, row n lies above the value u with
probability :math:`E\,P(Z > u - v_n - t_n X)`, as in `convolution`. With nodes :math:`g = v_n + t_n x` that are the same
for all rows, h apart, the trapezoidal rule is

.. math:: \sum_g \frac{h}{t_n}\,\varphi\Bigl(\frac{g - v_n}{t_n}\Bigr)\,P(Z > u - g),

whose first factor knows the row alone, and whose second knows the value alone. Logarithms are right to 1e-12. Where a
sum is too small to have all its digits, or a lattice would need too many nodes, each value has an integral of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from tobitgp.distributions.convolution import log_density, log_tail, reach
from tobitgp.distributions.response import RowDistributions, complementary
from tobitgp.distributions.standard_noise import FAR, Distribution
from tobitgp.numerics.quadrature import STEP, narrowness
from tobitgp.typing import Array, IntArray

_MOST = 3000  # nodes
_ROOT_2PI = float(np.sqrt(2.0 * np.pi))
_LEAST, _LOWEST = 1e-280, -700.0  # a sum that has all its digits, a logarithm whose exponential is a number


class _Part(NamedTuple):
    """Something that the distribution of the noise says of a value."""

    log_given: Callable[[Distribution, Array], Array]  # its logarithm given f
    log_mean: Callable[[Distribution, Array, Array], Array]  # of its mean over f, by integrals
    per_unit: float = 0.0  # whether it is a density


_ABOVE = _Part(lambda noise, z: noise.log_sf(z), partial(log_tail, upper=True))
_BELOW = _Part(lambda noise, z: noise.log_cdf(z), partial(log_tail, upper=False))
_DENSITY = _Part(lambda noise, z: noise.logpdf(z), log_density, 1.0)


@dataclass(frozen=True, slots=True)
class Lattice(RowDistributions):
    """Weighted sums of noise plus a normal location, in n rows beside the same m values, (m,)."""

    weight: Array  # (J,), sum to one
    noises: tuple[Distribution, ...]
    mean_f: Array  # (J, n), of the location
    sd_f: Array  # (J, n)
    sigma: Array  # (J,), scale of the noise
    log: bool

    def log_tails(self, y: Array) -> tuple[Array, Array]:
        above, below = self._logs(self.modelled(y), _ABOVE, _BELOW)
        return complementary(lambda: above, lambda: below)

    def logsf(self, y: Array) -> Array:
        return self.log_tails(y)[0]

    def modelled_hazard(self, x: Array) -> tuple[Array, Array]:
        above, _, log_hazard = self.tabulated(x)
        return -above, np.exp(log_hazard)

    def tabulated(self, x: Array) -> tuple[Array, Array, Array]:
        """Log survival, log cdf and log hazard (n, m) at values on the scale of the location."""
        above, below, density = self._logs(x, _ABOVE, _BELOW, _DENSITY)
        above, below = complementary(lambda: above, lambda: below)
        return above, below, density - above

    def _logs(self, x: Array, *parts: _Part) -> list[Array]:
        """Logarithms (n, m) of parts at values on the scale of the location."""
        sums = np.zeros((self.mean_f.shape[1], len(parts) * x.size))
        for j, weight in enumerate(self.weight):
            sums += weight * self._mean(j, x.ravel(), parts)
        out = []
        with np.errstate(divide="ignore"):
            for part, total in zip(parts, np.split(sums, len(parts), axis=1), strict=True):
                out.append(np.log(total))
                rows, values = np.nonzero(~(total > _LEAST))
                if len(rows):
                    each = [self._log_mean(j, part, x.ravel()[values], rows) for j in range(len(self.weight))]
                    log_weight = np.log(self.weight)[:, None]
                    out[-1][rows, values] = np.logaddexp.reduce(log_weight + np.stack(each), axis=0)
        return out

    def _mean(self, j: int, x: Array, parts: tuple[_Part, ...]) -> Array:
        """Means (n, len(parts) * m) over f of one component."""
        noise, sigma = self.noises[j], self.sigma[j]
        u, v, t = np.clip(x / sigma, -FAR, FAR), self.mean_f[j][:, None] / sigma, self.sd_f[j][:, None] / sigma
        told = u[np.abs(u) < FAR] if (np.abs(u) < FAR).any() else np.zeros(1)
        low, high = reach(noise, np.array([told.min(), told.max()]) - v, t)
        found = lattice(v, t, low, high, t / noise.reach)
        if found is None:
            rows, values = (places.ravel() for places in np.indices((len(v), len(x))))
            each = [np.exp(self._log_mean(j, part, x[values], rows)).reshape(len(v), -1) for part in parts]
            return np.hstack(each)
        g, bell = found
        given = np.hstack([part.log_given(noise, u - g[:, None]) - part.per_unit * np.log(sigma) for part in parts])
        return bell @ np.exp(np.maximum(given, _LOWEST, out=given), out=given)

    def _log_mean(self, j: int, part: _Part, x: Array, rows: IntArray) -> Array:
        """Logarithms of means of one component, by an integral for each row and its value."""
        sigma = self.sigma[j]
        z = np.clip((x - self.mean_f[j, rows]) / sigma, -FAR, FAR)
        return part.log_mean(self.noises[j], z, self.sd_f[j, rows] / sigma) - part.per_unit * np.log(sigma)


def lattice(mean: Array, sd: Array, low: Array, high: Array, t: Array) -> tuple[Array, Array] | None:
    """Nodes (k,) and weights (n, k) of integrals over normal variables, None where there would be too many.

    They reach from ``mean + low sd`` to ``mean + high sd``; integrands have features of width sd / t. All are (n, 1).
    """
    first, last = (mean + sd * low).min(), (mean + sd * high).max()
    step = STEP * (sd / narrowness(low, high, t)).min()
    if not last - first < _MOST * step:
        return None
    g = np.arange(first, last + step, step)
    bell = np.square((g - mean) / sd)
    bell *= -0.5
    np.exp(np.maximum(bell, _LOWEST, out=bell), out=bell)
    bell *= step / (_ROOT_2PI * sd)
    return g, bell
