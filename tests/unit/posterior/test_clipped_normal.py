"""Means of clipped normal and log-normal variables, and how uncertain they are."""

import itertools

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import ndtr
from support.posteriors import asked, nodes

from tobitgp.distributions.location_scale import LocationScale
from tobitgp.distributions.symmetric_noise import NormalNoise

INF = np.inf
LIMITS = [(-0.5, INF), (-INF, 0.8), (-0.5, 0.8), (0.4, 0.9), (-INF, INF), (0.3, INF)]
ROWS = [(0.2, 0.6), (-1.5, 0.4), (1.5, 0.3), (0.3, 2.0)]


def clipped_mean(mean, sd, lower, upper, *, log_time):
    return LocationScale(NormalNoise(), mean, sd, log_time).clipped_mean(lower, upper)


def error(mean, sd, sigma, lower, upper, *, log_time):
    """Standard deviation of the clipped mean given f."""
    return nodes(np.ones(1), mean, sd, sigma, log_time).se(asked("observed", log_time, lower, upper))


def moment(mean, sd, lower, upper, log_time):
    """By quadrature, split where the clipped value has its kinks."""

    def integrand(z):
        y = mean + sd * z
        return np.clip(np.exp(y) if log_time else y, lower, upper) * np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi)

    ends = [lower, upper]
    if log_time:
        ends = [np.log(end) if end > 0 else -INF for end in ends]
    kinks = sorted(z for z in ((end - mean) / sd for end in ends) if abs(z) < 12)
    cuts = [-12.0, *kinks, 12.0 + 2 * sd * log_time]
    return sum(quad(integrand, a, b, epsabs=1e-14, epsrel=1e-12)[0] for a, b in itertools.pairwise(cuts))


@pytest.mark.parametrize("log_time", [False, True])
@pytest.mark.parametrize(("lower", "upper"), LIMITS)
@pytest.mark.parametrize(("mean", "sd"), ROWS)
def test_means_against_quadrature(mean, sd, lower, upper, log_time):
    args = np.array([[mean]]), np.array([[sd]]), np.array([lower]), np.array([upper])
    first = moment(mean, sd, lower, upper, log_time)
    assert np.isclose(clipped_mean(*args, log_time=log_time)[0, 0], first, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("log_time", [False, True])
@pytest.mark.parametrize(("lower", "upper"), LIMITS)
@pytest.mark.parametrize("share", [0.05, 0.5, 0.9, 0.98, 0.9999])
def test_variance_of_the_conditional_mean(lower, upper, share, log_time):
    mean, total = 0.1, 0.7
    sd, sigma = np.sqrt(share) * total, np.sqrt(1 - share) * total
    limits = np.array([lower]), np.array([upper])
    z = np.linspace(-10.0, 10.0, 200_001)
    f = mean + sd * z
    weight = 1e-4 * np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi)
    g = clipped_mean(f[None], np.full((1, 1), sigma), *limits, log_time=log_time)[0]
    expected = np.sqrt(weight @ (g - weight @ g) ** 2)
    found = error(np.full((1, 1), mean), np.full((1, 1), sd), [sigma], *limits, log_time=log_time)
    assert np.isclose(found[0], expected, rtol=1e-10)


@pytest.mark.parametrize("log_time", [False, True])
def test_far_rows_stay_at_their_limit(log_time):
    mean = np.array([[-300.0, 300.0]]) if not log_time else np.array([[-300.0, 80.0]])
    sd, lower, upper = np.full((1, 2), 0.3), np.full(2, 0.5), np.full(2, 2.0)
    assert np.array_equal(clipped_mean(mean, sd, lower, upper, log_time=log_time)[0], [0.5, 2.0])
    assert np.allclose(error(mean, sd, [0.3], lower, upper, log_time=log_time), 0.0, atol=1e-12)


def test_printed_value_of_the_notes():
    mean = clipped_mean(np.full((1, 1), 0.3), np.full((1, 1), 0.7), np.array([-0.6]), np.array([1.1]), log_time=False)
    assert np.isclose(mean[0, 0], 0.288748367736, atol=1e-12)


def test_left_censored_mean_is_mcdonald_and_moffitts():
    m, s = 0.4, 1.3
    value = clipped_mean(np.full((1, 1), m), np.full((1, 1), s), np.zeros(1), np.full(1, INF), log_time=False)
    phi = np.exp(-0.5 * (m / s) ** 2) / np.sqrt(2 * np.pi)
    assert np.isclose(value[0, 0], m * ndtr(m / s) + s * phi)
