"""Data for every family of regressions, made by the family's own distribution."""

import numpy as np
import pandas as pd

from tobitgp.likelihoods.families import FAMILIES, resolve_family

NAMES = tuple(FAMILIES)
LOG_TIME = tuple(name for name in NAMES if FAMILIES[name].log_time)
LEVEL = {True: np.exp, False: lambda y: y}


def simulate(name, n=80, seed=3):
    """Columns z, g (three levels), w (0 or 1) and y, which follows the family around 1 + z / 2."""
    family, rng = resolve_family(name), np.random.default_rng(seed)
    z, g, w = rng.normal(size=n), rng.choice(list("abc"), size=n), rng.integers(0, 2, size=n)
    latent = 1.0 + 0.5 * z + family.distribution.ppf(rng.random(n))
    return pd.DataFrame({"z": z, "g": g, "w": w, "y": LEVEL[family.log_time](latent)})


def censored(data, *, left=False, right=False):
    """Ends of rows that are exact, but left- or right-censored where masks say so."""
    low = np.where(left, -np.inf, data["y"])
    return data.assign(lo=low, hi=np.where(right, np.inf, data["y"]))
