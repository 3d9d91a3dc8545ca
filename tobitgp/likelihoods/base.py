"""What one row says about f: three views of log p, one for each way of inference."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from tobitgp.data.arrays import Rows
from tobitgp.typing import Array


class Tilted(NamedTuple):
    """``log Z = log E p(y | f)`` with f ~ N(mean, var): value and first two derivatives in the mean, (n,) each."""

    log_Z: Array
    d1: Array
    d2: Array


class Point(NamedTuple):
    """``log p(y | f)``: value, three derivatives in f (n,), and those of the first three in noise parameters (K, n)."""

    log_p: Array
    d1: Array
    d2: Array
    d3: Array
    s0: Array
    s1: Array
    s2: Array


class Expected(NamedTuple):
    """``E log p(y | f)``, f ~ N(mean, var): value, E of two derivatives (n,), slopes in noise parameters (K, n)."""

    value: Array
    d1: Array
    d2: Array
    s0: Array


class Likelihood(Protocol):
    """Unit-weight rows of one kind under noise of scale sigma; weights are the method's business.

    The K noise parameters are the last of theta: log df where it is estimated or the logarithms of side noises, then
    log sigma.
    """

    @property
    def log_concave(self) -> bool:
        """Whether every row's likelihood is known to be log-concave in f; else sites may have negative precision."""
        ...

    @property
    def steep(self) -> bool:
        """Whether a tail is too steep for Newton's method to start in."""
        ...

    def over(self, rows: Sequence[Rows]) -> Likelihood:
        """The likelihood as it is on these rows, which may be truncated."""
        ...

    def at(self, theta: Array) -> Likelihood:
        """The likelihood at a model's parameters."""
        ...

    def is_conjugate(self, rows: Rows) -> bool:
        """Whether the rows are Gaussian values of f plus noise, whose sites are known."""
        ...

    def tilted(self, rows: Rows, mean: Array, var: Array, sigma: float) -> Tilted:
        """For expectation propagation."""
        ...

    def tilted_slope(self, rows: Rows, mean: Array, var: Array, sigma: float, d1: Array, d2: Array) -> Array:
        """Derivatives (K, n) of log Z in the noise parameters; ``d1`` and ``d2`` are those in the mean."""
        ...

    def newton(self, rows: Rows, f: Array, sigma: float) -> Tilted:
        """``log p`` and its first two derivatives in f: all that a step towards the mode needs."""
        ...

    def point(self, rows: Rows, f: Array, sigma: float) -> Point:
        """For the gradient of Laplace's evidence."""
        ...

    def expected(self, rows: Rows, mean: Array, var: Array, sigma: float, *, slopes: bool = True) -> Expected:
        """For variational inference; without ``slopes`` those in the noise parameters may be left out."""
        ...
