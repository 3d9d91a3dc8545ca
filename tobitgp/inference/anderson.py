"""Anderson's acceleration of a fixed-point iteration on sites."""

from __future__ import annotations

import numpy as np

from tobitgp.typing import Array

_MEMORY = 8
_RIDGE = 1e-10


class Anderson:
    """Combine the last steps so that the residual they predict is smallest.

    With ``dX`` and ``dG`` the last differences of points and steps, ``gamma = argmin |g - dG gamma|`` and the next
    point is ``x + rho g - (dX + rho dG) gamma`` (Walker and Ni, SIAM J. Numer. Anal. 49, 2011).

    Examples
    --------
    A linear iteration in two dimensions is solved once both directions are known.

    >>> M, b = np.array([[0.9, 0.05], [0.0, 0.8]]), np.array([1.0, 1.0])
    >>> mixer, x = Anderson(), np.zeros(2)
    >>> for _ in range(4):
    ...     x = mixer.mix(x, M @ x + b - x, 1.0)
    >>> np.round(x, 6)
    array([12.5,  5. ])
    """

    def __init__(self) -> None:
        self._points: list[Array] = []
        self._steps: list[Array] = []

    @property
    def depth(self) -> int:
        """Number of points remembered."""
        return len(self._points)

    def clear(self) -> None:
        """Forget the past."""
        self._points.clear()
        self._steps.clear()

    def mix(self, point: Array, step: Array, rho: float) -> Array:
        """Next point (n,) from the present one and its step."""
        self._points.append(point)
        self._steps.append(step)
        del self._points[: -_MEMORY - 1], self._steps[: -_MEMORY - 1]
        if len(self._points) == 1:
            return point + rho * step
        dX, dG = np.diff(self._points, axis=0), np.diff(self._steps, axis=0)
        gram = dG @ dG.T
        gram[np.diag_indices_from(gram)] *= 1.0 + _RIDGE
        gamma = np.linalg.lstsq(gram, dG @ step, rcond=1e-14)[0]
        return point + rho * step - gamma @ (dX + rho * dG)
