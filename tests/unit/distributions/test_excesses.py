"""By how much noise passes a limit, and masses of intervals."""

from functools import partial
from itertools import pairwise

import mpmath as mp
import numpy as np
import pytest
from scipy.integrate import quad

from tobitgp.distributions.gumbel import Gumbel
from tobitgp.distributions.symmetric_noise import Logistic, NormalNoise, StudentNoise

INF = np.inf
DISTRIBUTIONS = [Logistic(), Gumbel(), StudentNoise(0.6), StudentNoise(3.0), StudentNoise(15.0), NormalNoise()]
N = 300


@pytest.mark.parametrize("s", [0.05, 0.7, 1.0, 2.6])
@pytest.mark.parametrize("z", [-20.0, -1.1, -0.9, 0.5, 7.0])
def test_tilted_excesses(s, z):
    at, tilt = np.array([z]), np.array([s])
    for distribution in (Logistic(), Gumbel(), NormalNoise()):
        name = distribution.name
        above, below = (partial(distribution.log_excess, above=side) for side in (True, False))
        if name == "gumbel" and z > 3.0:
            continue

        def integrand(x, tail):
            return np.exp(float(tail(np.array([x]))[0]) + s * (x - z))

        upper = (
            z + min(60.0 / abs(1.0 - s) if s < 1.0 else 1.0, 900.0)
            if name == "logistic"
            else max(z, 0.0) + (6.0 if name == "gumbel" else 14.0)
        )
        pieces = np.linspace(z, upper, 60)
        if name != "logistic" or s < 1.0:
            truth = sum(quad(integrand, a, b, args=(distribution.log_sf,))[0] for a, b in pairwise(pieces))
            assert np.isclose(
                above(at, tilt)[0] + distribution.log_sf(at)[0] - s * z, np.log(truth), rtol=1e-9, atol=1e-8
            )
        else:
            assert np.isposinf(above(at, tilt)).all()
        pieces = np.linspace(z - 40.0 / (1.0 + s) - max(z, 0.0) - 40.0 / s, z, 200)
        truth = sum(quad(integrand, a, b, args=(distribution.log_cdf,))[0] for a, b in pairwise(pieces))
        assert np.isclose(below(at, tilt)[0] + distribution.log_cdf(at)[0] - s * z, np.log(truth), rtol=1e-9, atol=1e-8)


def test_far_out():
    """Mean excess over a far limit: 1 for the logistic distribution, vanishing for Gumbel's, growing for Student's."""
    z = np.array([1e3])
    assert np.allclose(Logistic().log_excess(z, None, above=True), 0.0)
    assert np.allclose(Gumbel().log_excess(np.array([100.0]), None, above=True), -100.0)
    assert np.allclose(np.exp(StudentNoise(5.0).log_excess(z, None, above=True)), 1e3 / 4.0, rtol=1e-3)
    assert StudentNoise(0.9).log_excess(z, None, above=True) is None


@pytest.mark.parametrize("s", [None, 1e-4, 0.5, 0.99])
@pytest.mark.parametrize("z", [-39.0, -41.0, -700.0, -1e5])
def test_gumbels_excess_over_what_is_far_below(z, s):
    """The distance from there to the mean; tilted, that of exp(sZ), over s."""
    with mp.workdps(60):
        truth = -z - mp.euler if s is None else (mp.gamma(1 + mp.mpf(s)) - mp.exp(mp.mpf(s) * z)) / mp.mpf(s)
        truth = float(mp.log(truth))
    found = Gumbel().log_excess(np.array([z]), None if s is None else np.array([s]), above=True)
    assert found[0] == pytest.approx(truth, rel=1e-11)


@pytest.mark.parametrize("distribution", DISTRIBUTIONS, ids=repr)
def test_masses(distribution, rng):
    a = 6.0 * rng.normal(size=N)
    a = np.minimum(a, 4.0) if distribution.name == "gumbel" else a
    b = a + 10.0 ** rng.uniform(-9, 1, N)
    inf = np.full(N, INF)
    inside, below, above = (distribution.log_mass(*pair) for pair in ((a, b), (-inf, a), (b, inf)))
    assert np.allclose(np.logaddexp.reduce([inside, below, above]), 0.0, atol=1e-11)
    narrow = b - a < 1e-7
    density = distribution.log_density(0.5 * (a + b), 0)[0] + np.log(b - a)
    assert np.allclose(inside[narrow], density[narrow], atol=1e-6)
    assert np.isneginf(distribution.log_mass(-inf, -inf)).all()
    assert (distribution.log_mass(-inf, inf) == 0.0).all()


@pytest.mark.parametrize("s", [0.05, 0.4, 1.7])
def test_many_points_have_the_excesses_of_few(s):
    z = np.linspace(-60.0, 9.0, 4001)
    many = Gumbel().log_excess(z, np.full(4001, s), above=True)
    few = Gumbel().log_excess(z[::4], np.full(1001, s), above=True)
    assert np.allclose(many[::4], few, rtol=1e-11, atol=1e-11)
