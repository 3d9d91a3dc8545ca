r"""Mass and mean of a standardised law between two ends, plain or tilted by an exponential.

.. math:: M(s) = \int_a^b e^{sz} f(z)\,dz, \qquad m(s) = M'(s) / M(s).

With s = 0 they are the probability of (a, b] and the mean of Z there; with :math:`s = \sigma` the part of
:math:`E\,e^{\sigma Z}` that (a, b] holds, for responses whose logarithm follows the law. The normal law has closed
forms, and so has Student's with s = 0. Other log-concave laws are integrated outwards from the largest value of
:math:`e^{sz} f(z)` in the interval, by Gauss-Legendre rules on panels that grow geometrically until the integrand has
dropped by a factor of :math:`e^{40}`: ends far in a tail, narrow intervals and infinite ones are all alike.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tobitgp.engines import row_chunks
from tobitgp.errors import SpecError
from tobitgp.likelihoods.laws import Law, Student
from tobitgp.likelihoods.mass import log_mass
from tobitgp.numerics.interval import moments
from tobitgp.typing import Array, BoolArray

_FAR = 1e100
_SMALLEST = 1e-300
_DROP, _DOUBLINGS = 40.0, 60
_WINDOW, _BISECTIONS = 60.0, 12
_PANELS, _POINTS, _CHUNK = 9, 12, 1024
_X, _OMEGA = (0.5 * column for column in np.polynomial.legendre.leggauss(_POINTS))


class Slice(NamedTuple):
    """What lies between two ends, (n,) each."""

    log_mass: Array  # (n,), log M(s)
    centre: Array  # (n,)
    drift: Array  # (n,), mean less centre, which keeps its digits where the mean is close to an end

    @property
    def mean(self) -> Array:
        """Mean m(s), (n,)."""
        return self.centre + self.drift


def between(law: Law, a: Array, b: Array, tilt: Array | None = None) -> Slice:
    """Mass and mean of a law in (a, b], tilted by ``exp(tilt z)``.

    Shapes: a, b, tilt (n,).
    """
    if law.name == "normal":
        return _normal(a, b, np.zeros_like(a) if tilt is None else tilt)
    if isinstance(law, Student):
        if tilt is not None:
            raise SpecError("Student's law is not offered on log time: its exponential has no mean.")
        return _student(law, a, b)
    out = Slice(*(np.empty_like(a) for _ in Slice._fields))
    s = np.zeros_like(a) if tilt is None else tilt
    for rows in row_chunks(0, len(a), _CHUNK):
        for column, values in zip(out, _panels(law, a[rows], b[rows], s[rows]), strict=True):
            column[rows] = values
    return out


def _normal(a: Array, b: Array, s: Array) -> Slice:
    """``exp(s z)`` times the normal density is ``exp(s^2 / 2)`` times that of N(s, 1)."""
    low, high = np.clip(a - s, -_FAR, _FAR), np.clip(b - s, -_FAR, _FAR)
    half = 0.5 * np.clip(b - a, _SMALLEST, 2.0 * _FAR)
    mass, mean, _ = moments(low, high, 0.5 * (low + high), half, rows=3)
    centre = np.clip(0.0, low, high)
    return Slice(mass + 0.5 * s * s, centre + s, mean - centre)


def _student(law: Student, a: Array, b: Array) -> Slice:
    r"""Mean by :math:`\int z f = -C \nu / (\nu - 1) (1 + z^2 / \nu)^{-(\nu - 1) / 2}`, its difference as one expm1."""
    df, k = law.df, 0.5 * (law.df - 1.0)
    up = np.abs(b) >= np.abs(a)
    near, far = np.where(up, a, b), np.where(up, b, a)
    mass, centre = log_mass(law, a, b), np.clip(0.0, a, b)
    with np.errstate(all="ignore"):
        gap = np.log1p((far - near) * (far + near) / (df + near * near))
        rest = -np.expm1(-k * gap) / (2.0 * k) if k else 0.5 * gap
        log_front = law.log_density(np.zeros(1), 0)[0] + np.log(df) - k * np.log1p(near * near / df)
        mean = np.where(up, 1.0, -1.0) * np.exp(log_front + np.log(rest) - mass)
    mean = np.where(np.isinf(near) & np.isinf(far), law.mean, mean)
    return Slice(mass, centre, np.clip(mean, a, b) - centre)


def _panels(law: Law, a: Array, b: Array, s: Array) -> Slice:
    """Integrate outwards from the largest value."""
    m = _peak(law, a, b, s)
    g, g1, g2 = law.log_density(m, 2)
    top = g + s * m
    unit = np.minimum(1.0 / (np.abs(g1 + s) + np.sqrt(np.abs(g2)) + _SMALLEST), 1.0)
    mass, moment = np.zeros_like(m), np.zeros_like(m)
    with np.errstate(over="ignore", under="ignore"):
        for side, room in ((-1.0, m - a), (1.0, b - m)):
            reach = _reach(law, m, side, room, unit, s, top)
            first = np.minimum(unit, reach)
            ratio = reach / np.maximum(first, _SMALLEST)
            start = np.zeros_like(m)
            for k in range(_PANELS):
                end = first * ratio ** (k / (_PANELS - 1))
                t = 0.5 * (start + end) + (end - start) * _X[:, None]
                z = m + side * t
                p = np.exp(law.log_density(z, 0)[0] + s * z - top)
                mass += (end - start) * (_OMEGA @ p)
                moment += side * (end - start) * (_OMEGA @ (p * t))
                start = end
        mass = np.maximum(mass, _SMALLEST)
    return Slice(top + np.log(mass), m, np.clip(moment / mass, a - m, b - m))


def _peak(law: Law, a: Array, b: Array, s: Array) -> Array:
    """Near the largest value of a log-concave integrand in the interval, at an end exactly."""
    low, high = np.maximum(a, np.minimum(-_WINDOW, b)), np.minimum(b, np.maximum(_WINDOW, a))

    def rising(z: Array) -> BoolArray:
        return np.asarray(law.log_density(z, 1)[1] + s > 0.0)

    at_high, at_low = rising(high), ~rising(low)
    left, right = low, high
    for _ in range(_BISECTIONS):
        middle = 0.5 * (left + right)
        up = rising(middle)
        left, right = np.where(up, middle, left), np.where(up, right, middle)
    return np.where(at_high, high, np.where(at_low, low, 0.5 * (left + right)))


def _reach(law: Law, m: Array, side: float, room: Array, unit: Array, s: Array, top: Array) -> Array:
    """How far out the integrand has dropped enough, at most ``room``."""
    reach = unit.copy()
    for _ in range(_DOUBLINGS):
        z = m + side * reach
        short = (top - law.log_density(z, 0)[0] - s * z < _DROP) & (reach < room)
        if not short.any():
            break
        reach[short] *= 2.0
    return np.minimum(reach, room)
