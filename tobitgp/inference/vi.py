r"""Variational inference: natural-gradient steps on the sites, for every bound on the expected log-likelihood.

**A bound is a row of** ``BOUNDS``. The local quadratic one is that of Basson, Louw and Smith (2023): parabolas of
curvature :math:`-1/\sigma_i^2` lie below the log-likelihoods of censored rows (their Eqs. 24 to 30). Their evidence,
Eq. 46, is stationary in where they touch if that is the posterior mean, which is then the mode, so that one run of
Newton's method takes the place of a search; for interval and truncated rows too: (LB2) to (LB5) of the theory pages.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal

import numpy as np

from tobitgp.data.arrays import KindRows
from tobitgp.errors import SpecError
from tobitgp.inference.method import (
    ROUGH,
    GivenSettings,
    LaplaceUpdates,
    Marginals,
    Method,
    Slopes,
    Traits,
    Update,
    is_number,
)
from tobitgp.likelihoods.censoring_noise import SideNoise
from tobitgp.likelihoods.expectations import CrossEntropy, DrawnMeans
from tobitgp.likelihoods.families import log_density_exact
from tobitgp.likelihoods.row_terms import Likelihood
from tobitgp.typing import Array


def local_update(noise: SideNoise, rows: KindRows, q: Marginals, sigma: float) -> Update:
    """Parabolas that touch at the mean: ``lambda2 = 1 / sigma_i^2`` (LB3); D is ``log p(m) - lambda2 d / 2`` (LB4)."""
    l, lambda2 = noise.newton(rows, q.m, sigma), rows.weight / np.square(noise.scale(rows, sigma))
    return Update(rows.weight * l.d1 + lambda2 * q.m, lambda2, rows.weight * l.log_Z - 0.5 * lambda2 * q.d)


def local_slopes(noise: SideNoise, rows: KindRows, q: Marginals, sigma: float) -> Slopes:
    """``g_d = -lambda2 / 2``; noise moves ``log p(m)`` and the width of the parabola, not where it touches (LB7)."""
    widening = (q.v_p + q.d) / np.square(noise.scale(rows, sigma))
    e = noise.point(rows, q.m, sigma).s0 + noise.share(rows, sigma, widening[None])
    return Slopes(-0.5 * q.lambda2, rows.weight * e)


def expected_update(likelihood: Likelihood, rows: KindRows, q: Marginals, sigma: float) -> Update:
    """Natural-gradient target (VI2); D is ``E log p + lambda2 v_p / 2`` (VI3)."""
    E = likelihood.expected(rows, q.m, q.v_p + q.d, sigma, slopes=False)
    lambda2 = -rows.weight * E.d2
    return Update(rows.weight * E.d1 + lambda2 * q.m, lambda2, rows.weight * E.value + 0.5 * q.lambda2 * q.v_p)


def expected_slopes(likelihood: Likelihood, rows: KindRows, q: Marginals, sigma: float) -> Slopes:
    """``g_d = -lambda2 / 2``, and ``e`` (VI5)."""
    E = likelihood.expected(rows, q.m, q.v_p + q.d, sigma)
    return Slopes(-0.5 * q.lambda2, rows.weight * E.s0)


@dataclass(frozen=True, slots=True)
class Bound(Traits):
    """How the expected log-likelihoods of the rows are bounded or estimated."""

    ascends: Literal["joint", "bound"] | None = "bound"
    gaussian_only: bool = True
    # What to run first, given exact variational inference and whether sites are near: a rough run of EP.
    warm_up: Callable[[Method, bool], Method | None] = lambda exact, warm: None if warm else ROUGH
    view: Callable[[Likelihood, VIUpdates], Likelihood] = lambda likelihood, method: likelihood
    update: Callable[[Any, KindRows, Marginals, float], Update] = expected_update  # as in `Method`
    slopes: Callable[[Any, KindRows, Marginals, float], Slopes] = expected_slopes  # as in `Method`
    side_noises: bool = False  # has censoring noises
    drawn: bool = False  # is an average over draws
    maximised: bool = True  # whether hyper-parameters may be chosen by it


BOUNDS: dict[str, Bound] = {
    "exact": Bound("elbo", gaussian_only=False),
    "local": Bound(
        "local",
        ascends=None,
        warm_up=lambda exact, warm: LaplaceUpdates(
            tol=exact.tol, max_iterations=exact.max_iterations
        ),  # its mode is the mean
        view=lambda likelihood, method: likelihood if isinstance(likelihood, SideNoise) else SideNoise(()),
        update=local_update,
        slopes=local_slopes,
        side_noises=True,
    ),
    "monte_carlo": Bound(
        "monte_carlo", view=lambda likelihood, method: DrawnMeans(likelihood, method.draws or DRAWS), drawn=True
    ),
    "karlova": Bound(
        "karlova",
        warm_up=lambda exact, warm: exact,  # there are other maxima, far from any sense
        view=lambda likelihood, method: CrossEntropy(method.unit),
        maximised=False,
        limits=True,
    ),
}


DRAWS = 20


@dataclass(frozen=True, slots=True)
class VIUpdates(Method):
    """Updates of variational inference: (VI1) to (VI5) of the theory pages; see `tobitgp.VI`."""

    bound: str = "exact"
    draws: int | None = None
    side_noise: Literal["shared", "row"] = "shared"
    unit: float | None = None
    tol: float = 1e-7
    max_iterations: int = 500
    damping: float = 0.5
    given: GivenSettings = field(default=(), compare=False)
    name: ClassVar[str] = "vi"

    def __post_init__(self) -> None:
        Method.__post_init__(self)
        if not isinstance(self.bound, str) or self.bound not in BOUNDS:
            raise SpecError(f"bound={self.bound!r}: must be one of {', '.join(map(repr, BOUNDS))}.")
        if self.side_noise not in ("shared", "row"):
            raise SpecError(f"side_noise={self.side_noise!r}: must be 'shared' or 'row'.")
        if self.side_noise == "row" and not self.traits.side_noises:
            raise SpecError(f"side_noise='row': requires bound='local', not {self.bound!r}.")
        if self.unit is not None:
            self._check_unit(self.unit)
        if self.draws is None:
            return
        if not self.traits.drawn:
            raise SpecError(f"draws={self.draws!r}: requires bound='monte_carlo', not {self.bound!r}.")
        if isinstance(self.draws, bool) or not isinstance(self.draws, (int, np.integer)) or self.draws < 2:
            raise SpecError(f"draws={self.draws!r}: must be a whole number of at least 2.")

    def _check_unit(self, unit: float) -> None:
        if self.bound != "karlova":
            raise SpecError(f"unit={unit!r}: only bound='karlova' depends on a unit. Leave unit= out.")
        if not is_number(unit) or unit <= 0:
            raise SpecError(f"unit={unit!r}: unit must be a positive number, e.g. unit=1.0.")

    @property
    def traits(self) -> Bound:
        """Those of the bound."""
        return BOUNDS[self.bound]

    @property
    def side_noises(self) -> Literal["shared", "row"] | None:
        """As chosen, where the bound has censoring noises."""
        return self.side_noise if self.traits.side_noises else None

    def pilot(self) -> Method:
        """Itself, or exact variational inference where maximising the bound over hyper-parameters makes no sense."""
        return self if self.traits.maximised else self._exact()

    def _exact(self) -> VIUpdates:
        return VIUpdates(tol=self.tol, max_iterations=self.max_iterations, damping=self.damping)

    def view(self, likelihood: Likelihood) -> Likelihood:
        """With expectations as the bound forms them."""
        return self.traits.view(likelihood, self)

    def warm_up(self, likelihood: Likelihood, warm: bool) -> Method | None:
        """What finds sites near those of the bound."""
        return self.traits.warm_up(self._exact(), warm)

    def exact_part(self, rows: KindRows, m: Array, d: Array, sigma: float) -> Array:
        """``log p(y | m) - d / (2 sigma^2)``, (VI4)."""
        variance = self.exact_variance(d, rows.noise(sigma))
        return rows.weight * (log_density_exact(rows.limit, m, variance) - 0.5 * d / variance)

    def update(self, likelihood: Likelihood, rows: KindRows, q: Marginals, sigma: float) -> Update:
        """The bound's sites, and its part of the evidence."""
        return self.traits.update(likelihood, rows, q, sigma)

    def slopes(self, likelihood: Likelihood, rows: KindRows, q: Marginals, sigma: float) -> Slopes:
        """The bound's, with ``g_d = -lambda2 / 2`` (VI5)."""
        return self.traits.slopes(likelihood, rows, q, sigma)
