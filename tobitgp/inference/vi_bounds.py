r"""The local quadratic bound of Basson, Louw and Smith (2023), collapsed and computed through the mode.

The log-likelihood of a censored row has a second derivative between :math:`-1/\sigma_i^2` and 0, so a parabola of that
curvature that touches it anywhere lies below it everywhere (their Eqs. 24 to 30):

.. math:: \log p(y_i | f) \ge \log p(y_i | \zeta_i) + \ell'(\zeta_i) (f - \zeta_i) - (f - \zeta_i)^2 / (2 \sigma_i^2).

The evidence of the parabolas, Eq. 46, is stationary in :math:`\zeta_i` where that is the posterior mean, which is then
the posterior mode: one run of Newton's method takes the place of the search over all :math:`\zeta`. The argument holds
for whatever is known of a Gaussian value, so for interval and truncated rows too, which the paper has not: (LB2) to
(LB5) of the theory pages.

What ``VI(bound=)`` may name: **a bound is a row of** ``BOUNDS``, its scalars on rows a small file elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from tobitgp.data.problem import Rows
from tobitgp.inference.ep import ROUGH
from tobitgp.inference.laplace import Laplace
from tobitgp.inference.method import Marginals, Method, Slopes, Update
from tobitgp.likelihoods.base import Likelihood
from tobitgp.likelihoods.censoring_noise import SideNoise
from tobitgp.likelihoods.expectations import CrossEntropy, Drawn


def local_update(noise: SideNoise, rows: Rows, q: Marginals, sigma: float) -> Update:
    """Parabolas that touch at the mean: ``lambda2 = 1 / sigma_i^2`` (LB3); D is ``log p(m) - lambda2 d / 2`` (LB4)."""
    l, lambda2 = noise.newton(rows, q.m, sigma), rows.weight / np.square(noise.scale(rows, sigma))
    return Update(rows.weight * l.d1 + lambda2 * q.m, lambda2, rows.weight * l.log_Z - 0.5 * lambda2 * q.d)


def local_slopes(noise: SideNoise, rows: Rows, q: Marginals, sigma: float) -> Slopes:
    """``g_d = -lambda2 / 2``; noise moves ``log p(m)`` and the width of the parabola, not where it touches (LB7)."""
    widening = (q.v_p + q.d) / np.square(noise.scale(rows, sigma))
    e = noise.point(rows, q.m, sigma).s0 + noise.share(rows, sigma, widening[None])
    return Slopes(-0.5 * q.lambda2, rows.weight * e)


def expected_update(likelihood: Likelihood, rows: Rows, q: Marginals, sigma: float) -> Update:
    """Natural-gradient target (VI2); D is ``E log p + lambda2 v_p / 2`` (VI3)."""
    E = likelihood.expected(rows, q.m, q.v_p + q.d, sigma, slopes=False)
    lambda2 = -rows.weight * E.d2
    return Update(rows.weight * E.d1 + lambda2 * q.m, lambda2, rows.weight * E.value + 0.5 * q.lambda2 * q.v_p)


def expected_slopes(likelihood: Likelihood, rows: Rows, q: Marginals, sigma: float) -> Slopes:
    """``g_d = -lambda2 / 2``, and ``e`` (VI5)."""
    E = likelihood.expected(rows, q.m, q.v_p + q.d, sigma)
    return Slopes(-0.5 * q.lambda2, rows.weight * E.s0)


def _rough(exact: Method, warm: bool) -> Method | None:
    """A rough run of EP, whose sites are near."""
    return None if warm else ROUGH


def _mode(exact: Method, warm: bool) -> Method:
    """Newton's method to the mode, from wherever the sites are."""
    return Laplace(tol=exact.tol, max_sweeps=exact.max_sweeps)


def _exact(exact: Method, warm: bool) -> Method:
    """The Gaussian of the exact bound: there are other maxima, far from any sense."""
    return exact


@dataclass(frozen=True, slots=True)
class Bound:
    """How the expected log-likelihoods of the rows are bounded or estimated."""

    evidence_kind: str
    ascends: Literal["joint", "bound"] | None = "bound"  # as in `tobitgp.inference.method.Method`
    warm_up: Callable[[Method, bool], Method | None] = _rough  # what to run first
    view: Callable[[Likelihood, int], Likelihood] = lambda likelihood, _: likelihood
    update: Callable[[Any, Rows, Marginals, float], Update] = expected_update  # as in `Method`
    slopes: Callable[[Any, Rows, Marginals, float], Slopes] = expected_slopes  # as in `Method`
    gaussian_only: bool = True  # rests on Gaussian noise; has side noises; has draws
    side_noises: bool = False  # rests on Gaussian noise; has side noises; has draws
    drawn: bool = False  # rests on Gaussian noise; has side noises; has draws
    maximised: bool = True  # whether hyper-parameters may be chosen by it
    limits: bool = False  # whether every row needs the limits of its instrument


def _with_sides(likelihood: Likelihood, draws: int) -> Likelihood:
    return likelihood if isinstance(likelihood, SideNoise) else SideNoise(())


BOUNDS: dict[str, Bound] = {
    "exact": Bound("elbo", gaussian_only=False),
    "local": Bound("local", None, _mode, _with_sides, local_update, local_slopes, side_noises=True),
    "monte_carlo": Bound("monte_carlo", view=Drawn, drawn=True),
    "karlova": Bound("karlova", "bound", _exact, lambda _, draws: CrossEntropy(), maximised=False, limits=True),
}
