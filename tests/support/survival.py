"""Right- and interval-censored rows to judge scores and curves on."""

import numpy as np
import pandas as pd


def right_censored(rng, n, levels=12):
    """Whole-numbered times, so that many are equal."""
    return rng.integers(0, levels, n).astype(float), rng.random(n) < rng.uniform(0.3, 1.0)


def bounds(rng, n, levels=8):
    """Ends of exact, left-, right- and interval-censored rows with many equal values."""
    a, b = np.sort(rng.integers(0, levels, (2, n)).astype(float), axis=0)
    kind = rng.integers(0, 4, n)
    b = np.where(kind == 0, a, np.where(a == b, a + 1.0, b))
    return np.where(kind == 1, -np.inf, a), np.where(kind == 2, np.inf, b)


def curves(rng, n, times):
    """Survival curves that fall, with many equal values."""
    values = -np.sort(-rng.integers(0, 9, (len(times), n)) / 8, axis=0)
    return pd.DataFrame(values, index=pd.Index(times, dtype=float))


def pairs(lower, upper, score):
    """Numbers of ordered pairs by their definition: concordant, discordant, of equal scores; and of equal times."""
    counts = np.zeros(4)
    for i in range(len(score)):
        for j in range(len(score)):
            exact = lower[i] == upper[i] and lower[j] == upper[j]
            if exact and lower[i] == lower[j]:
                counts[3] += i < j
            elif upper[i] <= lower[j]:
                counts[int(score[i] > score[j]) + 2 * int(score[i] == score[j])] += 1
    return counts
