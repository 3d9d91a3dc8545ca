"""Standardised laws in high precision, and the ones that tests walk."""

import mpmath as mp

from tobitgp.distributions.gumbel import Gumbel
from tobitgp.distributions.logistic import Logistic
from tobitgp.distributions.normal import Normal
from tobitgp.distributions.student import Student

LAWS = {law.name: law for law in (Normal(), Student(), Logistic(), Gumbel())}

EVERY = [*LAWS.values(), Student(0.5), Student(30.0)]
IDS = [repr(law) for law in EVERY]


def cdf(law, z):
    """Cdf at an mpf."""
    if law.name == "normal":
        return mp.erfc(-z / mp.sqrt(2)) / 2
    if law.name == "logistic":
        return 1 / (1 + mp.exp(-z))
    if law.name == "gumbel":
        return -mp.expm1(-mp.exp(z))
    df = mp.mpf(law.df)
    tail = mp.betainc(df / 2, mp.mpf(1) / 2, 0, df / (df + z * z), regularized=True) / 2
    return tail if z <= 0 else 1 - tail


def density(law, z):
    """Density at an mpf, with the first two derivatives of its logarithm."""
    if law.name == "normal":
        return mp.npdf(z), -z, mp.mpf(-1)
    if law.name == "logistic":
        F = 1 / (1 + mp.exp(-z))
        return F * (1 - F), 1 - 2 * F, -2 * F * (1 - F)
    if law.name == "gumbel":
        w = mp.exp(z)
        return mp.exp(z - w), 1 - w, -w
    df = mp.mpf(law.df)
    front = mp.gamma((df + 1) / 2) / mp.gamma(df / 2) / mp.sqrt(df * mp.pi)
    value = front * (1 + z * z / df) ** (-(df + 1) / 2)
    return value, -(df + 1) * z / (df + z * z), -(df + 1) * (df - z * z) / (df + z * z) ** 2
