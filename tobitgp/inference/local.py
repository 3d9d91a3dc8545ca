r"""The local quadratic bound of Basson, Louw and Smith (2023), collapsed and computed through the mode.

The log-likelihood of a censored row has a second derivative between :math:`-1/\sigma_i^2` and 0, so a parabola of that
curvature that touches it anywhere lies below it everywhere (their Eqs. 24 to 30):

.. math:: \log p(y_i | f) \ge \log p(y_i | \zeta_i) + \ell'(\zeta_i) (f - \zeta_i) - (f - \zeta_i)^2 / (2 \sigma_i^2).

The evidence of the parabolas, Eq. 46, is stationary in :math:`\zeta_i` where that is the posterior mean, which is then
the posterior mode: one run of Newton's method takes the place of the search over all :math:`\zeta`. The argument holds
for whatever is known of a Gaussian value, so for interval and truncated rows too, which the paper has not: (LB2) to
(LB5) of the theory pages.
"""

from __future__ import annotations

import numpy as np

from tobitgp.data.problem import Rows
from tobitgp.inference.method import Marginals, Slopes, Update
from tobitgp.likelihoods.censoring_noise import SideNoise


def local_update(noise: SideNoise, rows: Rows, q: Marginals, sigma: float) -> Update:
    """Parabolas that touch at the mean: ``lambda2 = 1 / sigma_i^2`` (LB3); D is ``log p(m) - lambda2 d / 2`` (LB4)."""
    l, lambda2 = noise.newton(rows, q.m, sigma), rows.weight / np.square(noise.scale(rows, sigma))
    return Update(rows.weight * l.d1 + lambda2 * q.m, lambda2, rows.weight * l.log_Z - 0.5 * lambda2 * q.d)


def local_slopes(noise: SideNoise, rows: Rows, q: Marginals, sigma: float) -> Slopes:
    """``g_d = -lambda2 / 2``; noise moves ``log p(m)`` and the width of the parabola, not where it touches (LB7)."""
    widening = (q.v_p + q.d) / np.square(noise.scale(rows, sigma))
    e = noise.point(rows, q.m, sigma).s0 + noise.share(rows, sigma, widening[None])
    return Slopes(-0.5 * q.lambda2, rows.weight * e)
