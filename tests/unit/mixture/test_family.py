"""Draws of a mixture between two ends."""

import numpy as np
import pytest
import scipy.stats as st

from tobitgp.mixture.family import ComponentDistribution
from tobitgp.mixture.gaussian import LogNormalComponents, NormalComponents
from tobitgp.mixture.predictive import Predictive, draw_between
from tobitgp.mixture.rates import GammaPoisson, PoissonDistribution
from tobitgp.mixture.weibull import WeibullDistribution

SIZE = 20_000
WEIGHTS = np.array([0.3, 0.7])
TWO = {
    "normal": NormalComponents(np.array([-1.0, 2.0]), np.array([1.0, 0.5])),
    "lognormal": LogNormalComponents(np.array([-1.0, 0.4]), np.array([1.0, 0.5])),
    "weibull": WeibullDistribution(np.array([0.5, 2.0]), np.array([0.8, 3.0])),
}
ENDS = [(-np.inf, 1.2), (0.4, np.inf), (0.4, 2.5), (6.0, np.inf), (1.0, 1.001)]


@pytest.mark.parametrize("name", TWO)
@pytest.mark.parametrize(("lower", "upper"), ENDS)
def test_draws_follow_the_mixture_between_the_ends(name, lower, upper):
    distribution = Predictive(WEIGHTS, TWO[name])
    y = draw_between(distribution, np.full(SIZE, lower), np.full(SIZE, upper), np.random.default_rng(2))
    assert ((y > lower) & (y <= upper)).all()
    whole = distribution.log_mass(lower, upper)
    assert st.kstest(y, lambda x: np.exp(distribution.log_mass(np.full(len(x), lower), x) - whole)).pvalue > 0.001


@pytest.mark.parametrize(("lower", "upper"), [(-np.inf, 2.0), (4.0, np.inf), (1.0, 6.0), (30.0, np.inf), (6.0, 7.0)])
def test_counts_have_the_probabilities_of_the_mixture(lower, upper):
    distribution = Predictive(WEIGHTS, PoissonDistribution(np.array([1.5, 6.0])))
    y = draw_between(distribution, np.full(SIZE, lower), np.full(SIZE, upper), np.random.default_rng(3))
    assert ((y > lower) & (y <= upper) & (y == np.floor(y)) & (y >= 0)).all()
    counts = np.arange(max(lower + 1, 0), min(upper, 200) + 1)
    p = np.exp(distribution.logpdf(counts) - distribution.log_mass(lower, upper))
    np.testing.assert_allclose(p.sum(), 1.0)
    share = (y[:, None] == counts).mean(axis=0)
    assert (np.abs(share - p) < 5 * np.sqrt(p / SIZE) + 1.5 / SIZE).all()


def test_counts_far_from_what_is_known_of_them():
    distribution = Predictive(np.ones(1), PoissonDistribution(np.array([3.0])))
    lower, upper = np.array([1e5, -np.inf, 7.0]), np.array([np.inf, 0.0, 7.0])
    y = draw_between(distribution, lower, upper, np.random.default_rng(4))
    assert y[0] - 1e5 in (1.0, 2.0)
    assert y[1:].tolist() == [0.0, 7.0]


@pytest.mark.parametrize("name", TWO)
@pytest.mark.parametrize(("lower", "upper"), [(-np.inf, 1.2), (0.4, np.inf), (0.4, 2.5), (-np.inf, np.inf)])
def test_closed_forms_between_two_ends_are_what_the_base_class_finds(name, lower, upper):
    """So that a distribution with nothing but its density, tails and quantiles has them, too."""
    distribution, ends = TWO[name], (np.array([lower]), np.array([upper]))
    mean, variance = distribution.truncated_moments(*ends)
    found = ComponentDistribution.truncated_moments(distribution, *ends)
    np.testing.assert_allclose(found[0], mean, rtol=1e-8)
    np.testing.assert_allclose(found[1], variance, rtol=1e-7)
    share, several = np.array([1e-9, 0.2, 0.999]), [np.repeat(end, 3) for end in ends]
    np.testing.assert_allclose(
        ComponentDistribution.truncated_ppf(distribution, share, *several),
        distribution.truncated_ppf(share, *several),
        rtol=1e-8,
    )


def test_moments_of_negative_binomial_counts_between_two_ends_are_sums():
    distribution = GammaPoisson(np.array([2.5, 30.0]), np.array([1.5, 2.0]))
    mean, variance = distribution.truncated_moments(np.array([3.0, -np.inf]), np.array([11.0, 4.0]))
    for i, counts in enumerate((np.arange(4.0, 12.0), np.arange(0.0, 5.0))):
        p = np.exp(distribution.log_density(counts))
        first, second = p @ counts / p.sum(axis=1), p @ counts**2 / p.sum(axis=1)
        np.testing.assert_allclose(mean[:, i], first, rtol=1e-10)
        np.testing.assert_allclose(variance[:, i], second - first**2, rtol=1e-8)
