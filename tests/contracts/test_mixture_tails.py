"""Log masses and expected statistics of censored rows beside arithmetic of many digits, far into the tails."""

import mpmath as mp
import numpy as np
import pytest

from tobitgp.mixture.array_fit import MIXTURE_FAMILIES
from tobitgp.mixture.mixture_rows import MixtureRows

pytestmark = pytest.mark.diagonal

INF = np.inf
# Ends in standard deviations, in means of the times, in counts at a rate of 3, and in Weibull log times.
ENDS = {
    "gaussian": [(40.0, INF), (1e4, INF), (-INF, -37.0), (38.0, 38.5), (-9.0, -8.9999), (-1e-7, 1e-7), (3.0, 900.0)],
    "exponential": [(1e-9, INF), (700.0, INF), (-INF, 1e-9), (-INF, 50.0), (700.0, 700.0 + 2.0**-20), (2.0, 900.0)],
    "poisson": [(400.0, INF), (3.0, INF), (-INF, 0.0), (-INF, 2.0), (250.0, 251.0), (0.0, 500.0), (300.0, 420.0)],
    "weibull": [(-9.0, INF), (3.0, INF), (-INF, -9.0), (-INF, 1.0), (-0.5, -0.5 + 2.0**-20), (-9.0, 2.0)],
}
THETA = {
    "gaussian": [[0.0], [0.0]],
    "exponential": [[0.0]],
    "poisson": [[float(np.log(3.0))]],
    "weibull": [[0.4], [1.7]],
}


def gaussian(low, high):
    def tail(x):
        return mp.erfc(x / mp.sqrt(2)) / 2

    def phi(x):
        return mp.npdf(x) if mp.isfinite(x) else mp.mpf(0)

    def moment(x):
        return x * phi(x) if mp.isfinite(x) else mp.mpf(0)

    mass = tail(low) - tail(high)
    return mass, [(phi(low) - phi(high)) / mass, 1 + (moment(low) - moment(high)) / mass]


def exponential(low, high):
    low = max(low, mp.mpf(0))
    mass = mp.exp(-low) - mp.exp(-high)
    upper = (1 + high) * mp.exp(-high) if mp.isfinite(high) else mp.mpf(0)
    return mass, [((1 + low) * mp.exp(-low) - upper) / mass]


def poisson(low, high):
    start = int(max(low, mp.mpf(-1))) + 1
    values = range(start, int(high) + 1 if mp.isfinite(high) else start + 600)
    p = [mp.exp(-3) * mp.mpf(3) ** y / mp.factorial(y) for y in values]
    mass = mp.fsum(p)
    return mass, [mp.fsum(y * one for y, one in zip(values, p, strict=True)) / mass]


def weibull(low, high):
    A, B = (mp.exp(mp.mpf(0.4) + mp.mpf(1.7) * end) if mp.isfinite(end) else mp.exp(end) for end in (low, high))
    mass, (hazard,) = exponential(A, B)

    def score(w, end):
        return w * mp.exp(-w) * end if mp.isfinite(end) else mp.mpf(0)

    return mass, [hazard, (score(B, high) - score(A, low)) / mass]


EXACT = {"gaussian": gaussian, "exponential": exponential, "poisson": poisson, "weibull": weibull}


@pytest.mark.parametrize(("name", "ends"), [(name, ends) for name, some in ENDS.items() for ends in some])
def test_masses_and_statistics(name, ends):
    low, high = (np.array([end]) for end in ends)
    kind = "right" if np.isposinf(high[0]) else "left" if np.isneginf(low[0]) else "interval"
    with np.errstate(all="ignore"):
        rows = MixtureRows(kind, low, high, high - low, np.ones(1))
        terms = MIXTURE_FAMILIES[name].terms(rows, np.array(THETA[name]))
    with mp.workdps(400):
        mass, statistics = EXACT[name](*(mp.mpf(float(end)) for end in ends))
        assert terms.log_p[0, 0] == pytest.approx(float(mp.log(mass)), rel=2e-12, abs=1e-13)
        for got, want in zip(terms.statistics, statistics, strict=False):
            assert np.broadcast_to(got, (1, 1))[0, 0] == pytest.approx(float(want), rel=1e-9, abs=1e-13)
