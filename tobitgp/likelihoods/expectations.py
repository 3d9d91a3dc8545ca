r"""Expected log likelihoods other than the exact one.

The cross-entropy of a normal and a censored normal, which Karlova et al. (2024) use instead of E log p.

With :math:`a = (l - m) / s`, :math:`b = (u - m) / s` their Eqs. 22 and 37 are

.. math:: -\Bigl\{\log(\sqrt{2\pi}\sigma) + \frac{(y-m)^2 + s^2}{2\sigma^2}\Bigr\} \{\Phi(b) - \Phi(a)\}
          + \Bigl\{\log\Phi\Bigl(\frac{y-u}{\sigma}\Bigr) + \frac{(u+m-2y)s}{2\sigma^2}\Bigr\} \phi(b)
          + \Bigl\{\log\Phi\Bigl(\frac{l-y}{\sigma}\Bigr) - \frac{(l+m-2y)s}{2\sigma^2}\Bigr\} \phi(a)

for a row seen as y under limits l and u, whether or not it is censored. It is not the expectation of log p(y | f): that
has no window and no atoms in f. An observed row gets the value 0 from any f far outside the window, so the "bound" that
it makes exceeds the log evidence: (KB1) to (KB4) of the theory pages, and the errata of the paper there.

By fixed draws: the Monte Carlo estimate that closed forms and quadrature replace.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from tobitgp.data.arrays import KindRows
from tobitgp.likelihoods.families import GaussianNoise
from tobitgp.likelihoods.row_terms import Expected, Wrapped
from tobitgp.numerics.normal_functions import log_cdf, mills
from tobitgp.typing import Array

_LOG_2PI = float(np.log(2.0 * np.pi))


@dataclass(frozen=True)
class CrossEntropy(GaussianNoise):
    """Gaussian noise whose ``expected`` is Eq. 22; every row needs its limits, and none has a known site."""

    unit: float | None = None  # in which the response is measured; None for that of the rows

    log_concave = False
    homogeneous = False  # the logarithm of sigma counts as much as f lies between the limits

    def is_conjugate(self, rows: KindRows) -> bool:
        return False

    def expected(
        self, rows: KindRows, mean: Array, var: Array, sigma: float | Array, *, slopes: bool = True
    ) -> Expected:
        """Eq. 22 with its derivatives: ``d1`` in the mean, ``d2`` twice that in the variance, ``s0`` in log sigma."""
        assert rows.instrument is not None
        lower, upper, scale = rows.instrument
        if self.unit is None:
            return cross_entropy(rows.limit, lower, upper, mean, var, sigma)
        found = cross_entropy(rows.limit, lower, upper, mean, var, sigma, np.log(scale / self.unit))
        # The fit adds the Jacobian of a density to uncensored rows, which Eq. 22 does not have.
        return found._replace(value=found.value + np.log(scale)) if rows.kind == "exact" else found


def cross_entropy(
    y: Array, lower: Array, upper: Array, mean: Array, var: Array, sigma: float | Array, log_unit: float = 0.0
) -> Expected:
    """Minus the cross-entropy of Eq. 22 and its derivatives, in a unit of which y's is ``exp(log_unit)``.

    Shapes: y, lower, upper, mean, var (n,).
    """
    s, s2 = np.sqrt(var), sigma * sigma
    log_scale = 0.5 * (_LOG_2PI + np.log(s2)) + log_unit
    inside, value = np.ones_like(mean), np.zeros_like(mean)
    d1, dv, in_tau = np.zeros_like(mean), np.zeros_like(mean), np.zeros_like(mean)
    first = second = np.zeros_like(mean)  # [phi] and [(x + m - 2 y) phi] between the ends
    for end, sign in ((lower, -1.0), (upper, 1.0)):
        has = np.isfinite(end)
        x = np.where(has, end, mean)
        c = (x - mean) / s
        phi = np.where(has, np.exp(-0.5 * c * c - 0.5 * _LOG_2PI), 0.0)
        inside = inside - np.where(has, ndtr(-sign * c), 0.0)
        z = np.where(has, sign * (y - x) / sigma, 0.0)
        atom, h = log_cdf(z), mills(z)[0]
        log_normal = -log_scale - 0.5 * np.square((x - y) / sigma)
        first, second = first + sign * phi, second + sign * (x + mean - 2.0 * y) * phi
        value += atom * phi
        d1 += phi * (atom * c - sign * log_normal) / s
        dv += 0.5 * phi * (atom * c * c - sign * c * log_normal + sign * s * (x - y) / s2) / var
        in_tau -= phi * z * h
    square = (((y - mean) ** 2 + var) * inside - s * second) / s2
    value += -log_scale * inside - 0.5 * square
    d1 -= ((mean - y) * inside - s * first) / s2
    dv -= 0.5 * inside / s2
    return Expected(value, d1, 2.0 * dv, (in_tau - inside + square)[None])


_LEAST = 1e-300


@dataclass(frozen=True, slots=True)
class DrawnMeans(Wrapped):
    r"""A likelihood whose expectations are averages over draws that never change.

    With :math:`f_k = m + s x_k` the estimate is :math:`\hat E = \frac1K \sum_k \log p(y | f_k)`, and its derivatives in
    m and :math:`s^2`, not estimates of others, are what sites are made of, (KB5) and (KB6) of the theory pages: one and
    the same function of the draws is maximised from beginning to end. The draws come in pairs :math:`\pm x`, scaled to
    unit variance, so that a log-likelihood that is quadratic in f is averaged without error.
    """

    draws: int  # K, of each row; all rows have the same

    def expected(self, rows: KindRows, mean: Array, var: Array, sigma: float, *, slopes: bool = True) -> Expected:
        """For variational inference: ``d2`` is twice the derivative in the variance, ``mean(l' x) / s``."""
        x = fixed_draws(self.draws)
        sd = np.sqrt(np.maximum(var, _LEAST))
        f = (mean[:, None] + sd[:, None] * x).ravel()
        each = rows[np.repeat(np.arange(len(rows)), len(x))]
        shape = (len(rows), len(x))
        at = self.noise.newton(each, f, sigma)
        slope = at.d1.reshape(shape)
        s0 = np.empty((0, len(rows)))
        if slopes:
            s0 = self.noise.point(each, f, sigma).s0.reshape(-1, *shape).mean(axis=2)
        return Expected(at.log_Z.reshape(shape).mean(axis=1), slope.mean(axis=1), slope @ x / (len(x) * sd), s0)


def fixed_draws(draws: int) -> Array:
    """Standard normal draws (draws,) in pairs of both signs, of mean 0 and variance 1; always the same."""
    half = np.abs(np.random.default_rng(0).standard_normal(draws // 2))
    x = np.concatenate([half, -half, np.zeros(draws % 2)])
    return x / np.sqrt(np.mean(x * x))
