"""What one row says about f: three views of log p, one for each way of inference."""

from __future__ import annotations

from typing import NamedTuple, Protocol

from tobitgp.data.problem import Rows
from tobitgp.typing import Array


class Tilted(NamedTuple):
    """``log Z = log E p(y | f)`` with f ~ N(mean, var): value and first two derivatives in the mean, (n,) each."""

    log_Z: Array
    d1: Array
    d2: Array


class Point(NamedTuple):
    """``log p(y | f)``: value, three derivatives in f, and derivatives in log sigma of the first three, (n,) each."""

    log_p: Array
    d1: Array
    d2: Array
    d3: Array
    s0: Array
    s1: Array
    s2: Array


class Expected(NamedTuple):
    """``E log p(y | f)``, f ~ N(mean, var): value, E of two derivatives, derivative in log sigma, (n,) each."""

    value: Array
    d1: Array
    d2: Array
    s0: Array


class Likelihood(Protocol):
    """Unit-weight rows of one kind, noise standard deviation sigma; weights are the method's business."""

    def tilted(self, rows: Rows, mean: Array, var: Array, sigma: float) -> Tilted:
        """For expectation propagation."""
        ...

    def tilted_slope(self, rows: Rows, d1: Array, d2: Array, sigma: float) -> Array:
        """Derivative of log Z in log sigma at fixed mean and var, from the derivatives in the mean."""
        ...

    def newton(self, rows: Rows, f: Array, sigma: float) -> Tilted:
        """``log p`` and its first two derivatives in f: all that a step towards the mode needs."""
        ...

    def point(self, rows: Rows, f: Array, sigma: float) -> Point:
        """For the gradient of Laplace's evidence."""
        ...

    def expected(self, rows: Rows, mean: Array, var: Array, sigma: float) -> Expected:
        """For variational inference."""
        ...
