"""The standardised distributions of the registry, which contracts walk, and some of them in high precision."""

import mpmath as mp

from tobitgp.distributions.gengamma import GenGammaNoise
from tobitgp.distributions.symmetric_noise import StudentNoise
from tobitgp.likelihoods import FAMILIES

DISTRIBUTIONS = {family.distribution.name: family.distribution for family in FAMILIES.values()}

EVERY = [*DISTRIBUTIONS.values(), StudentNoise(0.5), StudentNoise(30.0), GenGammaNoise(-0.7), GenGammaNoise(0.0)]
IDS = [repr(distribution) for distribution in EVERY]
PRECISE = [distribution for distribution in EVERY if distribution.name in ("normal", "logistic", "gumbel", "student")]


def cdf(distribution, z):
    """Cdf of one of ``PRECISE`` at an mpf."""
    if distribution.name == "normal":
        return mp.erfc(-z / mp.sqrt(2)) / 2
    if distribution.name == "logistic":
        return 1 / (1 + mp.exp(-z))
    if distribution.name == "gumbel":
        return -mp.expm1(-mp.exp(z))
    df = mp.mpf(distribution.df)
    tail = mp.betainc(df / 2, mp.mpf(1) / 2, 0, df / (df + z * z), regularized=True) / 2
    return tail if z <= 0 else 1 - tail


def density(distribution, z):
    """Density of one of ``PRECISE`` at an mpf, with the first two derivatives of its logarithm."""
    if distribution.name == "normal":
        return mp.npdf(z), -z, mp.mpf(-1)
    if distribution.name == "logistic":
        F = 1 / (1 + mp.exp(-z))
        return F * (1 - F), 1 - 2 * F, -2 * F * (1 - F)
    if distribution.name == "gumbel":
        w = mp.exp(z)
        return mp.exp(z - w), 1 - w, -w
    df = mp.mpf(distribution.df)
    front = mp.gamma((df + 1) / 2) / mp.gamma(df / 2) / mp.sqrt(df * mp.pi)
    value = front * (1 + z * z / df) ** (-(df + 1) / 2)
    return value, -(df + 1) * z / (df + z * z), -(df + 1) * (df - z * z) / (df + z * z) ** 2
