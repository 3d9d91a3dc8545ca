"""Quantiles of mixtures of normals."""

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from tobitgp.numerics.normal_functions import exponential_sd, normal_quantile, total_sd
from tobitgp.numerics.roots import solve_quantile


@pytest.mark.parametrize("p", [1e-6, 0.025, 0.5, 0.9, 0.999])
@pytest.mark.parametrize("spread", [0.01, 1.0, 30.0])
def test_quantile_solves_the_cdf(rng, p, spread):
    weight = rng.dirichlet(np.ones(7))
    mean, sd = spread * rng.normal(size=(7, 40)), np.exp(rng.normal(size=(7, 40)))
    x = normal_quantile(p, weight, mean, sd)
    assert np.allclose(weight @ ndtr((x - mean) / sd), p, rtol=1e-9, atol=0)


def test_one_component_is_the_normal_quantile():
    x = normal_quantile(0.9, np.ones(1), np.array([[1.0, 2.0]]), np.array([[0.5, 0.0]]))
    assert np.allclose(x, [1.0 + 0.5 * ndtri(0.9), 2.0])


def test_equal_components_are_one():
    mean, sd = np.full((3, 1), 2.0), np.full((3, 1), 0.3)
    assert np.allclose(normal_quantile(0.1, np.full(3, 1 / 3), mean, sd), 2.0 + 0.3 * ndtri(0.1))


def test_point_masses_are_allowed():
    x = normal_quantile(0.9, np.array([0.5, 0.5]), np.array([[0.0], [1.0]]), np.zeros((2, 1)))
    assert np.allclose(x, 1.0)


def test_separated_components():
    """Newton's method alone leaves the plateau between two components."""
    weight, mean, sd = np.array([0.3, 0.7]), np.array([[-100.0], [100.0]]), np.ones((2, 1))
    assert np.allclose(normal_quantile(0.1, weight, mean, sd), -100.0 + ndtri(0.1 / 0.3), rtol=1e-10)
    assert np.allclose(normal_quantile(0.65, weight, mean, sd), 100.0 + ndtri(0.5), rtol=1e-10)


def test_distribution_of_total_variance(rng):
    weight = np.array([0.2, 0.8])
    mean, variance = np.array([[1.0], [3.0]]), np.array([[0.5], [2.0]])
    j = rng.choice(2, 400_000, p=weight)
    draws = mean[j, 0] + np.sqrt(variance[j, 0]) * rng.normal(size=len(j))
    assert np.isclose(total_sd(weight, mean, variance)[0], draws.std(), rtol=0.01)


def test_solver_with_a_flat_cdf():
    """A cdf without slope is bisected."""
    low, high = np.array([0.0]), np.array([4.0])
    step = solve_quantile(lambda x, rows: ((x > 3.0) * 1.0, np.zeros_like(x)), 0.5, low=low, high=high, start=low)
    assert np.allclose(step, 3.0, atol=1e-8)


def test_exponential_sd_is_that_of_log_normal_moments(rng):
    weight, mean, sd = rng.dirichlet(np.ones(4)), rng.normal(size=(4, 6)), rng.uniform(0.0, 2.0, size=(4, 6))
    first, second = np.exp(mean + 0.5 * sd**2), np.exp(2 * mean + 2 * sd**2)
    np.testing.assert_allclose(exponential_sd(weight, mean, sd), np.sqrt(weight @ second - (weight @ first) ** 2))


@pytest.mark.parametrize("shift", [-500.0, 600.0])
def test_exponential_sd_where_squares_leave_the_numbers(shift):
    weight, mean, sd = np.array([0.3, 0.7]), np.array([[0.1], [0.4]]), np.array([[1.2], [0.0]])
    here = exponential_sd(weight, mean, sd)
    np.testing.assert_allclose(exponential_sd(weight, mean + shift, sd), here * np.exp(shift), rtol=1e-12)


def test_exponential_sd_beyond_all_numbers_is_infinite():
    found = exponential_sd(np.array([0.5, 0.5]), np.array([[0.0, 900.0], [1.0, 900.0]]), np.array([[30.0, 0.0]] * 2))
    np.testing.assert_array_equal(found, [np.inf, 0.0])


def test_the_spread_about_an_infinite_mean_is_none():
    """Without a warning of numpy's; other columns keep theirs."""
    weight, mean = np.array([0.4, 0.6]), np.array([[np.inf, 0.0], [np.inf, 1.0]])
    found = total_sd(weight, mean, np.ones((2, 2)))
    assert np.isnan(found[0])
    assert found[1] == np.sqrt(1.0 + 0.24)
