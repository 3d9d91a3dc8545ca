"""Dense columns with independent Gaussian priors: the linear terms."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tobitgp.prior.block import Features, Grouping, Inputs
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
