"""Elliptical slice sampling: draws from the exact posterior of a process at given hyper-parameters."""

from collections.abc import Callable

import numpy as np


def slice_sample(
    K: np.ndarray, log_lik: Callable[[np.ndarray], float], draws: int, rng: np.random.Generator, burn: int = 2000
) -> np.ndarray:
    """Draws (draws, n) of f ~ N(0, K) given its likelihood (Murray, Adams and MacKay 2010)."""
    L = np.linalg.cholesky(K + 1e-8 * np.eye(len(K)))
    f, kept = L @ rng.normal(size=len(K)), np.empty((draws, len(K)))
    level = log_lik(f)
    for i in range(-burn, draws):
        nu = L @ rng.normal(size=len(K))
        threshold = level - rng.exponential()
        high = rng.uniform(0.0, 2.0 * np.pi)
        low, angle = high - 2.0 * np.pi, high
        while True:
            trial = f * np.cos(angle) + nu * np.sin(angle)
            level = log_lik(trial)
            if level > threshold:
                break
            low, high = (angle, high) if angle < 0.0 else (low, angle)
            angle = rng.uniform(low, high)
        f = trial
        if i >= 0:
            kept[i] = f
    return kept


def monte_carlo_error(draws: np.ndarray, batches: int = 40) -> np.ndarray:
    """Standard errors of the means of a chain's columns, by means of its batches."""
    means = draws[: len(draws) // batches * batches].reshape(batches, -1, draws.shape[1]).mean(axis=1)
    return means.std(axis=0, ddof=1) / np.sqrt(batches)
