"""A smooth function of one variable that is dear to evaluate: quintic Hermite interpolation from a table."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tobitgp.typing import Array


@dataclass(frozen=True, slots=True)
class Tabulated:
    """Polynomials of degree 5 between equally spaced knots, which agree there in value and two derivatives."""

    start: float  # first knot, and the distance between knots
    step: float  # first knot, and the distance between knots
    coefficients: Array  # (cells, 6), of each cell, ascending powers of its coordinate from 0 to 1

    def __call__(self, x: Array) -> Array:
        """Values at x, of any shape; the outer polynomials continue beyond the table."""
        place = (x - self.start) / self.step
        cell = np.clip(place.astype(np.intp), 0, len(self.coefficients) - 1)
        s = place - cell
        c = self.coefficients
        value = c[:, 5].take(cell)
        for k in (4, 3, 2, 1, 0):
            value *= s
            value += c[:, k].take(cell)
        return value


def tabulate(start: float, step: float, value: Array, slope: Array, curve: Array) -> Tabulated:
    """Table from a function and its first two derivatives at equally spaced knots.

    Shapes: value, slope, curve (knots,).
    """
    d, e = step * slope, 0.5 * step * step * curve
    rise = np.diff(value) - d[:-1] - e[:-1]
    turn = np.diff(d) - 2.0 * e[:-1]
    bend = 2.0 * np.diff(e)
    cubic = 10.0 * rise - 4.0 * turn + 0.5 * bend
    quartic = -15.0 * rise + 7.0 * turn - bend
    quintic = 6.0 * rise - 3.0 * turn + 0.5 * bend
    columns = [value[:-1], d[:-1], e[:-1], cubic, quartic, quintic]
    return Tabulated(start, step, np.asfortranarray(np.column_stack(columns)))
