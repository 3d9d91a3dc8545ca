"""Linear terms: dense columns with independent Gaussian priors, and the way from whitened weights to coefficients."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tobitgp.priors.block import Features, Grouping, Inputs
from tobitgp.typing import Array

_NONE = np.zeros(0)


@dataclass(frozen=True, slots=True)
class DenseBlock:
    """Columns already multiplied by their prior standard deviations; no parameters."""

    X: Array  # (n, p), the features themselves

    @property
    def n_parameters(self) -> int:
        """Zero."""
        return 0

    @property
    def inputs(self) -> Inputs:
        """Of the training rows."""
        return Inputs(self.X)

    def at(self, theta: Array) -> DenseFeatures:
        """What the columns are without their rows: there is nothing to fix."""
        return DenseFeatures(self.X.shape[1])


@dataclass(frozen=True, slots=True)
class DenseFeatures:
    """Columns that are features as they are; no residual."""

    size: int  # number of columns

    @property
    def grouping(self) -> Grouping | None:
        """None."""
        return None

    @property
    def n_sums(self) -> int:
        """Zero."""
        return 0

    def features(self, X: Array, *, slopes: bool = False) -> Features:
        """The columns themselves."""
        return Features(X, None)

    def backward(self, X: Array, features: Features, G_A: Array, g_d: Array) -> tuple[Array, ...]:
        """No sums are needed."""
        return ()

    def finish(self, sums: tuple[Array, ...]) -> Array:
        """No parameters, hence an empty gradient."""
        return _NONE


WEAK = 10.0
FLAT = 1e4


@dataclass(frozen=True, slots=True)
class LinearPrior:
    """Independent ``beta_j ~ N(mean_j, sd_j^2)``, columns centred where a free intercept takes up their means.

    Their features are (FEA3) of the theory pages.
    """

    mean: Array  # (p,), in the user's units; ``sd = 0`` fixes a coefficient
    sd: Array  # (p,), in the user's units; ``sd = 0`` fixes a coefficient
    centre: Array  # (p,), taken from each column; zero without a free intercept, and for the intercept itself
    intercept: int | None  # position of a free intercept with the default prior, whose mean is the response's

    def features(self, H: Array, scale: float) -> Array:
        """Whitened columns (n, p) on the standardised response scale."""
        return (H - self.centre) * (self.sd / scale)

    def coefficients(self, w: Array, shift: float) -> Array:
        """Coefficients (p,) from whitened weights (p,); ``shift`` is the centre of the response."""
        beta = self._uncentre(self.mean + self.sd * w)
        if self.intercept is not None:
            beta[self.intercept] += shift
        return beta

    def covariance(self, S: Array) -> Array:
        """Covariance (p, p) of the coefficients from that of the whitened weights."""
        T = self._uncentre(np.diag(self.sd))
        return T @ S @ T.T

    def _uncentre(self, beta: Array) -> Array:
        """Coefficients of the columns as given from those of the centred ones, (p, ...)."""
        if self.intercept is None:
            return beta
        beta = beta.copy()
        beta[self.intercept] -= self.centre @ beta
        return beta


def default_sd(mean: Array, sd: Array, scale: float, factor: Array) -> Array:
    """``factor x sd(y) / sd(column)``, (p,); a constant column counts with its size.

    Shapes: mean, sd, factor (p,).
    """
    size = np.where(sd > 1e-12 * np.abs(mean), sd, np.abs(mean))
    return factor * scale / np.where(size > 0, size, 1.0)
