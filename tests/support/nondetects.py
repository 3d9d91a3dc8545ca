"""Samples with non-detects, and what tests and trends of them are by definition, in loops over pairs."""

from functools import cache

import numpy as np
import pandas as pd

from support.reference import load


@cache
def cases():
    return load("nondetects.json")["cases"]


@cache
def frame(name):
    return pd.DataFrame(load("nondetect_data.json")[name])


def simulate(n, seed, *, ties=False, limits=(0.8, 1.2), trend=0.0):
    """Values along x, of which those below their limits are known by these; (n,) each, and flags."""
    rng = np.random.default_rng(seed)
    x = rng.permutation(n) / n
    y = rng.lognormal(trend * x, 0.7)
    if ties:
        x, y = np.round(x, 1), np.round(y, 1)
    limit = rng.choice(limits, n)
    return np.maximum(y, limit), x, y < limit


def compare(a, a_censored, b, b_censored):
    """1, -1, or 0 for what is not known, of one pair."""
    if not a_censored and not b_censored:
        return int(np.sign(a - b))
    if a_censored and b_censored:
        return 0
    if a_censored:
        return -1 if b >= a else 0
    return 1 if a >= b else 0


def signs(y, c):
    n = len(y)
    return np.array([[compare(y[i], c[i], y[j], c[j]) for j in range(n)] for i in range(n)])


def kendall_s(y, c, x, d=None):
    d = np.zeros(len(x), dtype=bool) if d is None else d
    return int(np.sum(np.triu(signs(y, c) * signs(x, d), 1)))


def kendall_data(name):
    """Arguments of ``kendall`` and ``theil_sen`` for one of the cases."""
    if name == "heron_kendall":
        data = frame("pb_heron")
        return data.Blood, data.Kidney, data.BloodCen, data.KidneyCen
    if name == "tce_kendall":
        data = frame("tce_groundwater")
        return np.log(data.tce_ug_l), data.pop_density, data.censored, None
    data = frame("gales_creek_chromium")
    return data.total_cr_ug_l, data.dectime, data.censored, None
