"""Expectation propagation: sites that match the first two moments of each tilted row."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from tobitgp.data.arrays import Rows
from tobitgp.errors import NumericalError
from tobitgp.inference.method import Marginals, Method, Slopes, Update
from tobitgp.likelihoods.base import Likelihood
from tobitgp.likelihoods.gaussian import log_density_exact
from tobitgp.typing import Array

_PATIENCE = 60
_IMPROPER = 1e12  # a cavity so many times wider than the posterior has lost its digits, or its variance


@dataclass(frozen=True, slots=True)
class EP(Method):
    """Expectation propagation, all sites in parallel, with adaptive damping.

    Parameters
    ----------
    tol : float
        Root mean square of the standardised site changes at which to stop, a pure number.
    max_sweeps : int
        Most updates of all sites for one set of hyper-parameters.
    damping : float
        First step length, as a share of the whole step; shortened where the residual grows or the direction turns.
    floored : bool
        Keep site precisions from falling below 0 under noise that is not log-concave; done anyhow where the others do
        not converge. Such rows match the mean of f only, and the gradient of the evidence is approximate.

    Raises
    ------
    SpecError
        If a setting makes no sense.

    Notes
    -----
    The most accurate of the three methods in every exact comparison made; its evidence lay slightly below the exact one
    ([1]_, with corrections). Equations are those of the theory page on EP, (EP1) to (EP9).

    References
    ----------
    .. [1] P. Groot and P. Lucas, "Gaussian process regression with censored data using expectation propagation",
       PGM 2012, section 2.3.2.
    .. [2] C. E. Rasmussen and C. K. I. Williams, *Gaussian Processes for Machine Learning* (2006), section 3.6.

    Examples
    --------
    >>> EP(damping=0.8).damping
    0.8
    """

    tol: float = 1e-7
    max_sweeps: int = 200
    damping: float = 1.0
    floored: bool = False
    name: ClassVar[str] = "ep"

    def warm_up(self, likelihood: Likelihood, warm: bool) -> Method | None:
        """Nothing where flat sites will do; a rough run with floored sites where they may not."""
        return None if warm or likelihood.log_concave or self.floored else ROUGH

    def attempts(self, likelihood: Likelihood) -> tuple[Method, ...]:
        """Where sites may have negative precision, those first, and floored ones where they do not converge soon."""
        if likelihood.log_concave or self.floored:
            return (self,)
        return replace(self, max_sweeps=min(self.max_sweeps, _PATIENCE)), replace(self, floored=True)

    def exact_variance(self, d: Array, sigma: float | Array) -> Array:
        """Noise variance of exact rows: ``sigma^2 + d``."""
        return sigma * sigma + d

    def update(self, likelihood: Likelihood, rows: Rows, q: Marginals, sigma: float) -> Update:
        """Match moments with the cavity, which leaves one of a row's ``weight`` copies out: (EP2), (EP4) and (EP6)."""
        c = rows.weight
        alpha, v_c, mu_c = cavity(q, c)
        if not (likelihood.log_concave or self.floored) and (v_c >= _IMPROPER * q.v_p).any():
            raise NumericalError("A cavity has no variance.")
        t = likelihood.tilted(rows, mu_c, v_c + q.d, sigma)
        D = t.log_Z + 0.5 * np.log1p(q.lambda2 / c * v_c) + 0.5 * v_c * alpha * alpha
        d2 = np.minimum(t.d2, 0.0) if self.floored else t.d2
        scale = c / (1.0 + d2 * v_c)
        return Update((t.d1 - mu_c * d2) * scale, -d2 * scale, c * D)

    def exact_part(self, rows: Rows, m: Array, d: Array, sigma: float) -> Array:
        """``log N(y; m, sigma^2 + d)``: exact rows need no cavity (EP7)."""
        return rows.weight * log_density_exact(rows.limit, m, self.exact_variance(d, rows.noise(sigma)))

    def slopes(self, likelihood: Likelihood, rows: Rows, q: Marginals, sigma: float) -> Slopes:
        """(EP8) and (EP9), with the tilted derivatives ``alpha`` and ``-lambda2 (1 - lambda2 v_p)`` of a copy."""
        c = rows.weight
        d1, v_c, mu_c = cavity(q, c)
        lambda2 = q.lambda2 / c
        d2 = -lambda2 * (1.0 - lambda2 * q.v_p)
        e = c * likelihood.tilted_slope(rows, mu_c, v_c + q.d, sigma, d1, d2)
        return Slopes(0.5 * c * (d1 * d1 + d2), e)


ROUGH = EP(tol=1e-2, max_sweeps=30, floored=True)


def cavity(q: Marginals, weight: Array) -> tuple[Array, Array, Array]:
    """``alpha`` of one copy of each row, and variance and mean of ``a_n' w`` without it (EP1); (n,) each."""
    alpha = (q.lambda1 - q.lambda2 * q.m) / weight
    v_c = q.v_p / np.maximum(1.0 - q.lambda2 / weight * q.v_p, 1.0 / _IMPROPER)
    return alpha, v_c, q.m - v_c * alpha
