"""Quantiles of a distribution between two ends."""

import mpmath as mp
import numpy as np
import pytest
import scipy.stats as st

from tobitgp.distributions.gumbel import Gumbel
from tobitgp.distributions.intervals import invert_tail
from tobitgp.distributions.symmetric_noise import Logistic, NormalNoise, StudentNoise

DISTRIBUTIONS = [NormalNoise(), Logistic(), Gumbel(), StudentNoise(df=3.0), StudentNoise(df=1000.0)]
INF = np.inf
ENDS = [(-INF, INF), (-INF, 0.3), (-0.4, INF), (-1.0, 2.0), (-INF, -60.0), (40.0, INF), (7.0, 7.5), (1.0, 1.0 + 1e-9)]


@pytest.mark.parametrize("distribution", DISTRIBUTIONS, ids=str)
@pytest.mark.parametrize(("a", "b"), ENDS)
def test_the_share_of_the_mass_below_is_the_one_asked_for(distribution, a, b):
    u = np.array([1e-9, 0.02, 0.5, 0.9, 1 - 1e-9])
    a, b = np.full(5, a), np.full(5, b)
    z = distribution.quantile_between(u, a, b)
    assert np.isfinite(z).all()
    assert ((a <= z) & (z <= b)).all()
    assert (np.diff(z) >= 0).all()
    # the smaller of the two shares, to what a step between floating-point numbers z is worth
    whole = distribution.log_mass(a, b)
    step = np.spacing(np.abs(z)) * np.exp(np.clip(distribution.log_density(z, 0)[0] - whole, -700, 700))
    for part, share in ((distribution.log_mass(a, z), u), (distribution.log_mass(z, b), 1 - u)):
        small = share <= 0.5
        np.testing.assert_allclose(np.exp(part - whole)[small], share[small], rtol=1e-6, atol=8 * step.max())


def test_far_out_in_a_normal_tail():
    """mpmath has the quantile of the tail beyond 300."""
    with mp.workdps(60):
        tail = mp.erfc(300 / mp.sqrt(2)) / 4
        exact = mp.findroot(lambda x: mp.log(mp.erfc(x / mp.sqrt(2)) / 2) - mp.log(tail), 300.002)
    found = NormalNoise().quantile_between(np.array([0.5]), np.array([300.0]), np.array([INF]))
    np.testing.assert_allclose(found - 300.0, float(exact - 300), rtol=1e-6)


def test_probabilities_that_are_no_numbers():
    """Student's distribution so far out that the mass underflows, and ends without any mass."""
    distribution, end = StudentNoise(df=1000.0), np.full(2, 200.0)
    found = distribution.quantile_between(np.array([0.25, 0.5]), end, np.full(2, INF))
    np.testing.assert_allclose(distribution.log_sf(found) - distribution.log_sf(end), np.log([0.75, 0.5]), rtol=1e-8)
    np.testing.assert_allclose(
        distribution.quantile_between(np.array([0.25, 0.5]), -2 * end, -end), -found[::-1] * [1, 1], rtol=0.01
    )
    for each in DISTRIBUTIONS:
        z = each.quantile_between(np.full(2, 0.5), np.array([-INF, 1e200]), np.array([-1e200, INF]))
        assert np.isfinite(z).all()


def test_tails_are_inverted_up_to_the_largest_number():
    """Those of Cauchy's distribution, far out 1 / (pi z), and infinite beyond it."""
    log_p = np.array([-100.0, -400.0, -685.0, -1000.0])
    found = invert_tail(lambda z: np.where(z < -1e8, -np.log(-np.pi * z), np.log(st.cauchy.cdf(z))), log_p, rises=True)
    np.testing.assert_allclose(np.log(-found[:3]), -log_p[:3] - np.log(np.pi), rtol=1e-14)
    assert found[3] == -INF


def test_draws_follow_the_truncated_distribution():
    u = np.random.default_rng(1).uniform(size=20_000)
    z = Logistic().quantile_between(u, np.full(20_000, -0.5), np.full(20_000, 1.5))
    low, high = st.logistic.cdf([-0.5, 1.5])
    assert st.kstest(z, lambda x: (st.logistic.cdf(x) - low) / (high - low)).pvalue > 0.01
