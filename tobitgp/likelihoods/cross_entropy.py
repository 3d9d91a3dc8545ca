r"""The cross-entropy of a normal and a censored normal, as Karlova et al. (2024) put it in the place of E log p.

With :math:`a = (l - m) / s`, :math:`b = (u - m) / s` their Eqs. 22 and 37 are

.. math:: -\Bigl\{\log(\sqrt{2\pi}\sigma) + \frac{(y-m)^2 + s^2}{2\sigma^2}\Bigr\} \{\Phi(b) - \Phi(a)\}
          + \Bigl\{\log\Phi\Bigl(\frac{y-u}{\sigma}\Bigr) + \frac{(u+m-2y)s}{2\sigma^2}\Bigr\} \phi(b)
          + \Bigl\{\log\Phi\Bigl(\frac{l-y}{\sigma}\Bigr) - \frac{(l+m-2y)s}{2\sigma^2}\Bigr\} \phi(a)

for a row seen as y under limits l and u, whether or not it is censored. It is not the expectation of log p(y | f): that
has no window and no atoms in f. An observed row gets the value 0 from any f far outside the window, so the "bound" that
it makes exceeds the log evidence: (KB1) to (KB4) of the theory pages, and the errata of the paper there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from scipy.special import ndtr

from tobitgp.data.problem import Rows
from tobitgp.likelihoods.base import Expected
from tobitgp.likelihoods.gaussian import GaussianNoise
from tobitgp.numerics.normal import log_cdf, mills
from tobitgp.typing import Array

_LOG_2PI = float(np.log(2.0 * np.pi))


class CrossEntropy(GaussianNoise):
    """Gaussian noise whose ``expected`` is Eq. 22; every row needs its limits, and none has a known site."""

    log_concave: ClassVar[bool] = False
    steep: ClassVar[bool] = False

    def over(self, rows: Sequence[Rows]) -> CrossEntropy:
        """As its noise is on these rows."""
        return self

    def at(self, theta: Array) -> CrossEntropy:
        """Itself."""
        return self

    def is_conjugate(self, rows: Rows) -> bool:
        """None are."""
        return False

    def expected(self, rows: Rows, mean: Array, var: Array, sigma: float | Array, *, slopes: bool = True) -> Expected:
        """Eq. 22 with its derivatives: ``d1`` in the mean, ``d2`` twice that in the variance, ``s0`` in log sigma."""
        assert rows.instrument is not None
        return cross_entropy(rows.limit, *rows.instrument, mean, var, sigma)


def cross_entropy(y: Array, lower: Array, upper: Array, mean: Array, var: Array, sigma: float | Array) -> Expected:
    """Minus the cross-entropy of Eq. 22 and its derivatives.

    Shapes: y, lower, upper, mean, var (n,).
    """
    s, s2 = np.sqrt(var), sigma * sigma
    log_scale = 0.5 * (_LOG_2PI + np.log(s2))
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


def as_printed(y: Array, lower: Array, upper: Array, mean: Array, var: Array, sigma: float) -> Array:
    """The rows' part of the bound as printed in Eq. 10, whose second line has the wrong sign, (n,).

    Unbounded above; kept to show that, and used by no fit.
    """
    s = np.sqrt(var)
    inside = ndtr((upper - mean) / s) - ndtr((lower - mean) / s)
    return cross_entropy(y, lower, upper, mean, var, sigma).value + ((y - mean) ** 2 + var) * inside / sigma**2


def divergence_as_printed(A: Array, K: Array, mean: Array) -> float:
    """The divergence of N(mean, A) from N(0, K) as printed in Eqs. 10, 38 and 42: both log-determinants negated."""
    solved = np.linalg.solve(K, np.column_stack([A, mean]))
    log_dets = float(np.linalg.slogdet(A)[1] - np.linalg.slogdet(K)[1])
    return 0.5 * (log_dets - len(K) + float(np.trace(solved[:, :-1])) + float(mean @ solved[:, -1]))
