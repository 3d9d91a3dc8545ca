"""The law of the estimates of a regression in several rows together: normal, as for large samples."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tobitgp.data.outcome import Outcome
from tobitgp.distributions.base import Distribution
from tobitgp.errors import SpecError
from tobitgp.numerics.draws import open_uniform
from tobitgp.regression.covariance import hide, normal_root
from tobitgp.regression.diagnose import LARGEST_DF, SMALLEST_DF
from tobitgp.results.joint import JointLaw, draw_within
from tobitgp.results.regression.estimates import predictors, scale_design
from tobitgp.results.regression.parts import TobitParts
from tobitgp.results.rows import Asked
from tobitgp.typing import Array


@dataclass(frozen=True, slots=True)
class EstimateLaw(JointLaw):
    """Of the linear predictor eta in several rows."""

    parts: TobitParts

    def moments(self, asked: Asked) -> tuple[Array, Array]:
        """Mean (n,) and covariance (n, n) of eta."""
        H, p = asked.design.H - self.parts.centre, len(self.parts.columns)
        V, N = (H @ each[:p, :p] @ H.T for each in (self.parts.covariance, self.parts.unidentified))
        return predictors(self.parts, asked.design)[0], hide(V, N)

    @property
    def of_training_rows(self) -> bool:
        """As in predictions, what was seen of a new row says nothing of the parameters."""
        return False

    def draw(
        self,
        asked: Asked,
        draws: int,
        *,
        noise: bool,
        rng: np.random.Generator,
        known: Outcome | None = None,
        window: tuple[Array, Array] | None = None,
    ) -> Array:
        """Draws (n, draws) of eta, or of eta plus noise: all parameters anew in each."""
        parts, design = self.parts, asked.design
        (location, log_scale), W = predictors(parts, design), scale_design(parts, design)
        p, q = len(parts.columns), len(parts.maximum.gamma)
        root = estimate_root(parts)
        change = root @ rng.standard_normal((len(root), draws))
        eta = location[:, None] + (design.H - parts.centre) @ change[:p]
        if not noise:
            return eta
        tau = log_scale[:, None] + W @ change[p : p + q]
        uniform = open_uniform(rng, eta.shape)
        laws = _laws(parts.law, change[p + q :])
        return plus_noise(laws, eta, np.exp(tau), uniform, window if known is None else (known.lower, known.upper))


def estimate_root(parts: TobitParts) -> Array:
    """A root R (k, k) of the covariance ``R R'`` of the estimates, columns of zeros where that is singular."""
    if not np.isfinite(np.diag(hide(parts.covariance, parts.unidentified))).all():
        raise SpecError("Some estimates have no standard error: nothing can be drawn.")
    return normal_root(parts.covariance)


def _laws(law: Distribution, d_log_df: Array) -> list[Distribution]:
    """Distribution of the noise, one for each draw where ``d_log_df``, (1, draws) or (0, draws), moves log df."""
    if not len(d_log_df):
        return [law]
    df = np.exp(np.clip(np.log(law.shape) + d_log_df[0], np.log(SMALLEST_DF), np.log(LARGEST_DF)))
    return [law.with_shape(value) for value in df.tolist()]


def plus_noise(
    laws: Sequence[Distribution], eta: Array, sigma: Array, uniform: Array, ends: tuple[Array, Array] | None
) -> Array:
    """Draws (n, draws) at uniform numbers, of one law or of one for each draw, between two ends where given."""
    if len(laws) > 1:
        columns = zip(laws, *(values.T[:, :, None] for values in (eta, sigma, uniform)), strict=True)
        return np.column_stack([plus_noise([law], at, s, u, ends) for law, at, s, u in columns])
    return eta + sigma * laws[0].ppf(uniform) if ends is None else draw_within(laws[0], eta, sigma, *ends, uniform)
