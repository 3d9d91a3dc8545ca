"""Standardised arrays and inducing inputs for the variational libraries."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.cluster.vq import kmeans2

from benchmarks.peers.answer import Answer, normal
from benchmarks.problems import Draw


def cosine(steps: int) -> np.ndarray:
    """Step lengths that fall from 1 to 0. With constant steps the noise of minibatches exceeds the posterior's sd."""
    return 0.5 + 0.5 * np.cos(np.pi * np.arange(steps) / steps)


@dataclass(frozen=True)
class Arrays:
    """Inputs ``X`` (n, d) and ``T``, response ``y`` (n,) of mean 0 and variance 1, ``status`` (n,) as in ``Draw``."""

    X: np.ndarray
    T: np.ndarray
    y: np.ndarray
    status: np.ndarray
    centre: float
    scale: float

    @classmethod
    def of(cls, draw: Draw) -> Arrays:
        """Standardise by the mean and the standard deviation of the censored response."""
        X, T = draw.train[draw.inputs].to_numpy(float), draw.test[draw.inputs].to_numpy(float)
        y = draw.train["y"].to_numpy()
        centre, scale = float(y.mean()), float(y.std())
        return cls(X, T, (y - centre) / scale, draw.status.astype(float), centre, scale)

    def inducing(self, m: int) -> np.ndarray:
        """Return all inputs, or this number of cluster centres."""
        if m >= len(self.X):
            return self.X.copy()
        return kmeans2(self.X[: 50 * m], m, minit="++", seed=0)[0]

    def answer(self, mean: np.ndarray, var: np.ndarray) -> Answer:
        """Return the answer in units of the response, from (n,) arrays."""
        return normal(self.centre + self.scale * mean, self.scale * np.sqrt(var))
