"""Anderson's acceleration of a fixed-point iteration, whose points may lie in partitions.

With ``dX`` and ``dG`` the last differences of points and steps, ``gamma = argmin |g - dG gamma|`` and the next point is
``x + rho g - (dX + rho dG) gamma``. Of partitioned points only ``dG dG'`` and ``dG g`` are summed; all else each
partition does for itself.

References
----------
Walker and Ni (2011), Anderson acceleration for fixed-point iterations, *SIAM Journal on Numerical Analysis* 49,
1715-1735, section 2.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tobitgp.errors import NumericalError
from tobitgp.typing import Array

MEMORY = 8
_RIDGE = 1e-10

# Points and the steps from them, (n,) each, the present ones last.
History = tuple[tuple[Array, Array], ...]


def remember(history: History, point: Array, step: Array) -> History:
    """The history with one more point, the oldest forgotten."""
    return (*history, (point, step))[-MEMORY - 1 :]


def normal_equations(history: History) -> tuple[Array, Array]:
    """``dG dG'`` (k, k) and ``dG g`` (k,) of some coordinates; ``k = len(history) - 1``."""
    dG = np.diff([step for _, step in history], axis=0)
    return dG @ dG.T, dG @ history[-1][1]


def weights(gram: Array, right: Array) -> Array:
    """``gamma`` (k,) from the equations summed over all coordinates."""
    if not (np.isfinite(gram).all() and np.isfinite(right).all()):
        raise NumericalError("The sites of the rows are not finite.")
    gram = gram.copy()
    gram[np.diag_indices_from(gram)] *= 1.0 + _RIDGE
    return np.asarray(np.linalg.lstsq(gram, right, rcond=1e-14)[0], dtype=np.float64)


def mixed(history: History, gamma: Sequence[float] | Array, rho: float) -> Array:
    """Next point (n,); the plain step of length ``rho`` where there is but one."""
    point, step = history[-1]
    if len(history) == 1:
        return point + rho * step
    dX, dG = (np.diff([pair[i] for pair in history], axis=0) for i in (0, 1))
    return point + rho * step - gamma @ (dX + rho * dG)


def extrapolated(history: History, scale: Array, rcond: float) -> Array:
    """Next point (n,) of points that lie in one place, with steps measured in units of ``1 / scale`` (n,).

    Differences that the others span but for a fraction ``rcond`` are left out.
    """
    step = history[-1][1] * scale
    dG = np.diff([one for _, one in history], axis=0) * scale
    size = np.sqrt((dG * dG).sum(axis=1))
    size[size == 0.0] = 1.0
    gamma = np.linalg.lstsq((dG / size[:, None]).T, step, rcond=rcond)[0] / size
    return mixed(history, gamma, 1.0)
