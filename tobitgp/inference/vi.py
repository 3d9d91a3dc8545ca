"""Variational inference with the exact expected log-likelihood: natural-gradient steps on the sites."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from tobitgp.data.problem import Rows
from tobitgp.errors import SpecError
from tobitgp.inference.ep import ROUGH
from tobitgp.inference.method import Marginals, Method, Slopes, Update, check_settings
from tobitgp.likelihoods.base import Likelihood
from tobitgp.likelihoods.gaussian import log_density_exact
from tobitgp.typing import Array

BOUNDS = ("exact",)


@dataclass(frozen=True, slots=True)
class VI:
    """Gaussian closest in Kullback-Leibler divergence to the posterior; its evidence is a lower bound.

    Parameters
    ----------
    bound : {"exact"}
        The expectation of the log-likelihood, by quadrature to machine precision.
    tol : float
        Root mean square of the standardised site changes at which to stop.
    max_sweeps : int
    damping : float
        First step length.

    Notes
    -----
    Conjugate-computation updates ``lambda2 = -E l''``, ``lambda1 = E l' + lambda2 m`` (math notes, section 2).

    Examples
    --------
    >>> VI().evidence_kind
    'elbo'
    """

    bound: str = "exact"
    tol: float = 1e-7
    max_sweeps: int = 500
    damping: float = 0.5
    name: ClassVar[str] = "vi"
    evidence_kind: ClassVar[str] = "elbo"
    ascends: ClassVar[Literal["joint", "bound"] | None] = "bound"

    def __post_init__(self) -> None:
        check_settings(self)
        if self.bound not in BOUNDS:
            raise SpecError(f"bound={self.bound!r} is not offered; choose one of {', '.join(map(repr, BOUNDS))}.")

    def warm_up(self, likelihood: Likelihood) -> Method | None:
        """A rough run of EP, whose sites are near."""
        return ROUGH

    def fallback(self, likelihood: Likelihood) -> Method | None:
        """Nothing: steps that gain are always found."""
        return None

    def exact_variance(self, d: Array, sigma: float) -> Array:
        """Noise variance of exact rows: sigma^2."""
        return 0.0 * d + sigma * sigma

    def update(self, likelihood: Likelihood, rows: Rows, q: Marginals, sigma: float) -> Update:
        """Natural-gradient target; D is ``E log p + lambda2 v_p / 2``."""
        E = likelihood.expected(rows, q.m, q.v_p + q.d, sigma, slopes=False)
        lambda2 = -rows.weight * E.d2
        return Update(rows.weight * E.d1 + lambda2 * q.m, lambda2, rows.weight * E.value + 0.5 * q.lambda2 * q.v_p)

    def exact_part(self, rows: Rows, m: Array, d: Array, sigma: float) -> Array:
        """``log p(y | m) - d / (2 sigma^2)``."""
        variance = self.exact_variance(d, sigma)
        return rows.weight * (log_density_exact(rows.limit, m, variance) - 0.5 * d / variance)

    def slopes(self, likelihood: Likelihood, rows: Rows, q: Marginals, sigma: float) -> Slopes:
        """``g_d = -lambda2 / 2``."""
        E = likelihood.expected(rows, q.m, q.v_p + q.d, sigma)
        return Slopes(-0.5 * q.lambda2, rows.weight * E.s0)
