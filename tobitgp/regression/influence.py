"""How much single rows move the estimates, and how much the columns explain; (REG9), (REG11) of the theory pages."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tobitgp.typing import Array


class PseudoR2(NamedTuple):
    """Two shares of explained variation; NaN where the null log likelihood is not negative."""

    mcfadden: float
    veall_zimmermann: float


def dfbeta(scores: Array, V: Array, weight: Array | None = None) -> Array:
    r"""Approximate change of the estimates when a row is added, :math:`c_i V s_i`: one Newton step.

    Shapes: scores (n, k), V (k, k), weight (n,); gives (n, k). Therneau and Grambsch (2000), *Modeling Survival Data*,
    section 7.1; survreg's ``type = "dfbeta"``, which leaves the weights out and has the sign of the log scale's score
    wrong on interval rows (version 3.5).
    """
    change = scores @ V
    return change if weight is None else change * weight[:, None]


def dfbetas(change: Array, V: Array) -> Array:
    """Changes (n, k) of `dfbeta` in standard errors of the estimates; 0 for parameters that were given."""
    se = np.sqrt(np.diag(V))
    return np.asarray(np.divide(change, se, out=np.zeros_like(change), where=se > 0.0))


def pseudo_r2(llf: float, null: float, n: float) -> PseudoR2:
    r"""Pseudo R2 from the log likelihood, that of the model with an intercept only, and the number of rows.

    McFadden's is :math:`1 - \ell / \ell_0`. With :math:`LR = 2(\ell - \ell_0)`, Veall and Zimmermann divide :math:`LR /
    (LR + n)` by its upper bound :math:`-2\ell_0 / (n - 2\ell_0)`.

    D. McFadden (1974), Conditional logit analysis of qualitative choice behavior, in *Frontiers in Econometrics*. ..
    [2] M. R. Veall and K. F. Zimmermann (1994), Goodness of fit measures in the Tobit model, *Oxford Bulletin of
    Economics and Statistics* 56, 485-499.
    """
    if not null < 0.0:
        return PseudoR2(float("nan"), float("nan"))
    ratio = 2.0 * (llf - null)
    return PseudoR2(1.0 - llf / null, ratio / (ratio + n) * (n - 2.0 * null) / (-2.0 * null))
