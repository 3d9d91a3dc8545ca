"""Counts too many to be added up one by one."""

import numpy as np
import pytest
import scipy.stats as st
from scipy.special import gammaln

import tobitgp as tg
from tobitgp.mixture import MIXTURE_FAMILIES
from tobitgp.mixture.mixture_rows import MixtureUnits


def member(family, eta):
    return family.distribution(np.array([[eta]]), MixtureUnits())


@pytest.mark.parametrize("p", [0.3, 1e-3, 1e-5, 1e-9])
def test_tails_of_geometric_counts_are_powers(p):
    dist = member(MIXTURE_FAMILIES["geometric"], np.log1p(-p))
    x = np.unique(np.floor(np.array([0.0, 10.0, 4095.0, 4096.0, 4097.0, 1e4, 0.01 / p, 1.0 / p, 30.0 / p])))
    want = (x + 1.0) * np.log1p(-p)
    np.testing.assert_allclose(dist.log_sf(x)[0], want, rtol=1e-8, atol=1e-11)
    np.testing.assert_allclose(dist.log_cdf(x)[0], np.log(-np.expm1(want)), rtol=1e-7, atol=1e-10)
    assert dist.mean()[0] == pytest.approx((1.0 - p) / p, rel=1e-7)
    assert dist.variance()[0] == pytest.approx((1.0 - p) / p**2, rel=1e-7)


def test_truncated_means_of_geometric_counts_do_not_age():
    p = 1e-5
    low = np.array([50.0, 5000.0, 3e5])
    mean, _ = member(MIXTURE_FAMILIES["geometric"], np.log1p(-p)).truncated_moments(low, np.full(3, np.inf))
    np.testing.assert_allclose(mean[0], low + 1.0 + (1.0 - p) / p, rtol=1e-7)


def test_tails_of_negative_binomial_counts_are_scipys():
    dist, want = member(tg.NegativeBinomial(2.5), np.log1p(-1e-4)), st.nbinom(2.5, 1e-4)
    x = np.array([0.0, 100.0, 4096.0, 5000.0, 25_000.0, 100_000.0, 300_000.0])
    np.testing.assert_allclose(dist.log_sf(x)[0], want.logsf(x), rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(dist.log_cdf(x)[0], want.logcdf(x), rtol=1e-7, atol=1e-9)
    q = np.array([0.001, 0.4, 0.999])
    np.testing.assert_array_equal(dist.ppf(q)[0], want.ppf(q))


def test_both_tails_of_a_distribution_that_lies_beyond_are_scipys():
    """Poisson counts with a mean of 50,000, a family of a user."""
    own = tg.ExponentialFamily(
        "own_poisson",
        statistic=lambda y: y,
        log_partition=np.exp,
        natural=[(-np.inf, np.inf)],
        log_base=lambda y: -gammaln(y + 1.0),
        support=(0.0, np.inf),
        discrete=True,
    )
    dist, want = member(own, np.log(5e4)), st.poisson(5e4)
    x = want.ppf([1e-12, 1e-6, 0.1, 0.5, 0.9, 1.0 - 1e-6])
    np.testing.assert_allclose(dist.log_cdf(x)[0], want.logcdf(x), rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(dist.log_sf(x)[0], want.logsf(x), rtol=1e-5, atol=1e-8)
    assert dist.mean()[0] == pytest.approx(5e4, rel=1e-8)


@pytest.mark.slow
def test_a_process_with_one_geometric_group_is_predicted():
    """Components without rows have the prior, under which counts have no end."""
    y = np.random.default_rng(0).geometric(0.2, 200) - 1.0
    res = tg.fit('y ~ mixture("dp")', {"y": y}, family="geometric", method=tg.VBCM(n_init=1))
    assert res.n_effective == 1
    share = (200.0 + 0.1) / (200.0 + y.sum() + 1.1)  # about the posterior mean of the probability
    assert res.predictive.sf(9.0) == pytest.approx((1.0 - share) ** 10, rel=0.05)
    assert np.isfinite(res.predictive.rvs(50, rng=1)).all()
