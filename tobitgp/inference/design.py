"""Central composite designs for integrating over hyper-parameters."""

from __future__ import annotations

import numpy as np

from tobitgp.errors import SpecError
from tobitgp.typing import Array

F0 = 1.1
# Walsh functions whose products of two never alias a main effect or another product (Sanchez and Sanchez 2005).
_WALSH = (1, 2, 4, 8, 15, 16, 32, 51, 64, 85, 106, 128, 150, 171, 219, 237, 247, 256)
MAX_DIMENSION = len(_WALSH)


def two_level(k: int) -> Array:
    """Two-level design of resolution V in k factors, (runs, k) of -1 and 1.

    Parameters
    ----------
    k : int
        At most 18.

    Notes
    -----
    Sanchez and Sanchez, "Very large fractional factorial and central composite designs", ACM TOMACS 15 (2005).

    Examples
    --------
    >>> two_level(3).shape, two_level(6).shape
    ((8, 3), (32, 6))
    """
    columns = np.array(_WALSH[:k])
    runs = 1 << int(columns[-1]).bit_length()
    bits = np.arange(runs)[:, None] & columns
    parity = np.array([[int(v).bit_count() & 1 for v in row] for row in bits])
    return 1.0 - 2.0 * parity


def central_composite(k: int) -> tuple[Array, Array]:
    """Points and weights that integrate against a standard normal in k dimensions, (HYP4) and (HYP5).

    Centre, star and cube, the outer points all at radius ``f0 sqrt(k)``, f0 = 1.1. Against the standard normal density
    ratio ``pi(z) / pi(0)`` the weights are ``1 - 1/f0^2`` at the centre and ``1 / (n_p f0^2 exp(-k f0^2 / 2))`` at each
    of the n_p outer points.

    Parameters
    ----------
    k : int

    Returns
    -------
    points : (J, k) array
        Centre first.
    weights : (J,) array
        To be multiplied by the density at the point relative to that at the centre.

    Raises
    ------
    SpecError
        If k is more than 18.

    Notes
    -----
    Rue, Martino and Chopin, JRSS B 71 (2009), section 6.5.

    Examples
    --------
    The second moments of the normal are met exactly.

    >>> z, weight = central_composite(3)
    >>> p = weight * np.exp(-0.5 * (z**2).sum(axis=1))
    >>> bool(np.allclose(z.T @ (p[:, None] * z), np.eye(3))), len(z)
    (True, 15)
    """
    if k > MAX_DIMENSION:
        raise SpecError(
            f"hyper='integrate' averages over at most {MAX_DIMENSION} hyper-parameters, and {k} are free. "
            "Use hyper='maximize', ard=False in gp(), or fixed=."
        )
    if k == 0:
        return np.zeros((1, 0)), np.ones(1)
    cube = F0 * two_level(k) if k > 1 else np.zeros((0, 1))
    star = F0 * np.sqrt(k) * np.concatenate([np.eye(k), -np.eye(k)])
    outer = np.concatenate([star, cube])
    weight = 1.0 / (len(outer) * F0**2 * np.exp(-0.5 * k * F0**2))
    return np.concatenate([np.zeros((1, k)), outer]), np.concatenate([[1.0 - 1.0 / F0**2], np.full(len(outer), weight)])
