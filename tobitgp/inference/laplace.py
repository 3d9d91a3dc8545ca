"""Laplace's method: the sites of Newton's step towards the mode."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from tobitgp.data.arrays import Rows
from tobitgp.inference.ep import ROUGH
from tobitgp.inference.method import Marginals, Method, Slopes, Update
from tobitgp.likelihoods.base import Likelihood
from tobitgp.likelihoods.gaussian import log_density_exact
from tobitgp.typing import Array


@dataclass(frozen=True, slots=True)
class Laplace(Method):
    """Gaussian at the posterior mode with the curvature found there.

    Parameters
    ----------
    tol : float
        Root mean square of the standardised site changes at which to stop, a pure number.
    max_sweeps : int
        Most updates of all sites for one set of hyper-parameters.
    damping : float
        First step length, as a share of the whole step.

    Raises
    ------
    SpecError
        If a setting makes no sense.

    Notes
    -----
    Fast and without a sign: its evidence lies on either side of the exact one, and where nearly everything is censored
    the mode says little about the mass [1]_ [2]_. Equations are (LA1) to (LA7) of the theory pages.

    References
    ----------
    .. [1] P. Groot and P. Lucas, "Gaussian process regression with censored data using expectation propagation",
       PGM 2012, section 2.3.1.
    .. [2] C. E. Rasmussen and C. K. I. Williams, *Gaussian Processes for Machine Learning* (2006), section 3.4.

    Examples
    --------
    >>> Laplace().evidence_kind
    'laplace'
    """

    tol: float = 1e-7
    max_sweeps: int = 200
    damping: float = 1.0
    name: ClassVar[str] = "laplace"

    @property
    def ascends(self) -> Literal["joint", "bound"] | None:
        """The joint density at the mode."""
        return "joint"

    def warm_up(self, likelihood: Likelihood, warm: bool) -> Method | None:
        """A rough run of EP where there may be several modes, or a tail too steep for Newton's method to start in."""
        return None if warm or (likelihood.log_concave and not likelihood.steep) else ROUGH

    def exact_variance(self, d: Array, sigma: float | Array) -> Array:
        """Noise variance of exact rows: sigma^2, the features' residual plays no part at the mode."""
        return np.full_like(d, sigma * sigma)

    def update(self, likelihood: Likelihood, rows: Rows, q: Marginals, sigma: float) -> Update:
        """``lambda2 = -l''(m)``, ``lambda1 = l'(m) + lambda2 m``; D is ``log p(m)``: (LA2) and (LA3)."""
        l = likelihood.newton(rows, q.m, sigma)
        lambda2 = -rows.weight * l.d2
        return Update(rows.weight * l.d1 + lambda2 * q.m, lambda2, rows.weight * l.log_Z)

    def exact_part(self, rows: Rows, m: Array, d: Array, sigma: float) -> Array:
        """``log p(m)``."""
        return rows.weight * log_density_exact(rows.limit, m, self.exact_variance(d, rows.noise(sigma)))

    def slopes(self, likelihood: Likelihood, rows: Rows, q: Marginals, sigma: float) -> Slopes:
        """Explicit and implicit derivatives: ``u`` of (LA5), and (LA7)."""
        l = likelihood.point(rows, q.m, sigma)
        c, half_v = rows.weight, 0.5 * q.v_p
        return Slopes(np.zeros_like(q.m), c * (l.s0 + half_v * l.s2), (c * half_v * l.d3, c * l.s1))
