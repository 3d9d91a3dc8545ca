"""Normal distributions after a power transformation: against integrals written out, and what must hold of any."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import boxcox, norm

from tobitgp.distributions.power_normal import PowerMixture, PowerNoise, PowerNormal, invert, transform
from tobitgp.distributions.symmetric_noise import NormalNoise

POWERS = (-1.2, -0.3, 0.0, 1e-6, 0.3, 0.5, 1.0, 2.5)
FREE = np.array([np.inf])


def of(power, mu=0.3, sigma=0.8):
    return PowerNormal(np.array([mu]), np.array([sigma]), power)


def integral(y, power, low, high):
    """Of y times its density, between ends on the normal scale, piece by piece."""

    def value(u):
        z = y.mu[0] + y.sigma[0] * u
        return np.exp(z if power == 0.0 else np.log1p(power * z) / power) * norm.pdf(u)

    pieces = np.linspace(low, high, 60)
    return sum(quad(value, a, b, epsabs=0.0, epsrel=1e-11)[0] for a, b in pairwise(pieces))


@pytest.mark.parametrize("power", POWERS)
def test_transformation(power):
    y = np.array([0.02, 0.7, 1.0, 30.0])
    z = transform(np.log(y), power)
    np.testing.assert_allclose(z, boxcox(y, power), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(np.exp(invert(z, power)), y, rtol=1e-9)


def test_ends_of_the_transformation():
    assert transform(np.array(-np.inf), 0.5) == -2.0
    assert transform(np.array(np.inf), -0.5) == 2.0
    assert transform(np.array(-np.inf), -0.5) == -np.inf
    np.testing.assert_array_equal(invert(np.array([-2.0, -5.0]), 0.5), [-np.inf, -np.inf])
    assert invert(np.array(3.0), -0.5) == np.inf


@pytest.mark.parametrize("power", POWERS)
def test_density_and_tails(power):
    y, at, h = of(power), np.array([1.7]), 1e-5
    slope = (np.exp(y.logcdf(at + h)) - np.exp(y.logcdf(at - h))) / (2.0 * h)
    np.testing.assert_allclose(np.exp(y.logpdf(at)), slope, rtol=1e-8)
    np.testing.assert_allclose(np.exp(y.logcdf(at)) + np.exp(y.logsf(at)), 1.0)
    np.testing.assert_allclose(y.log_odds(at), y.logsf(at) - y.logcdf(at), rtol=1e-12)
    risen, rate = y.modelled_hazard(np.log(at))
    np.testing.assert_allclose([risen, rate], [-y.logsf(at), np.exp(y.logpdf(at) - y.logsf(at)) * at], rtol=1e-10)
    np.testing.assert_allclose(y.logcdf(y.ppf(0.3)), np.log(0.3), rtol=1e-9)
    np.testing.assert_allclose(y.survived(np.log(0.7)), y.ppf(0.3))


def test_probability_of_zero():
    y = of(0.5, mu=-1.0, sigma=1.0)
    mass = norm.cdf(-1.0)
    assert np.exp(y.logcdf(np.zeros(1)))[0] == pytest.approx(mass)
    assert y.ppf(0.5 * mass)[0] == 0.0 < y.ppf(1.01 * mass)[0]
    assert y.log_odds(np.zeros(1))[0] == pytest.approx(np.log((1.0 - mass) / mass))
    assert y.logsf(np.zeros(1))[0] == pytest.approx(np.log1p(-mass))
    assert y.log_mass(np.zeros(1), np.full(1, np.inf))[0] == pytest.approx(np.log1p(-mass))
    assert y.logsf(np.full(1, -1e-9))[0] == 0.0
    negative = of(-0.5, mu=1.0, sigma=1.0)
    assert np.exp(negative.logsf(FREE))[0] == pytest.approx(norm.sf(1.0))
    assert negative.mean()[0] == np.inf


@pytest.mark.parametrize("power", [0.0, 0.3, 0.5, 1.0, 2.5])
@pytest.mark.parametrize("mu", [-3.0, 0.3, 4.0])
def test_means(power, mu):
    y = of(power, mu)
    low = -12.0 if power == 0.0 else max((-1.0 / power - mu) / 0.8, -12.0)
    assert y.mean()[0] == pytest.approx(integral(y, power, low, max(low, 0.0) + 14.0), rel=1e-9)


@pytest.mark.parametrize("power", [-1.2, -0.3, 0.0, 0.5, 2.5])
def test_means_between_ends(power):
    y, ends = of(power), np.array([0.6, 4.0])
    a, b = ((transform(np.log(end), power) - 0.3) / 0.8 for end in ends)
    total, mass = integral(y, power, a, b), norm.cdf(b) - norm.cdf(a)
    low, high = ends[:1], ends[1:]
    assert y.conditional_mean(low, high)[0] == pytest.approx(total / mass, rel=1e-9)
    clipped = 0.6 * norm.cdf(a) + 4.0 * norm.sf(b) + total
    assert y.observed_mean(low, high, -FREE, FREE)[0] == pytest.approx(clipped, rel=1e-9)
    assert y.observed_mean(-FREE, FREE, low, high)[0] == pytest.approx(total / mass, rel=1e-9)
    np.testing.assert_array_equal(y.conditional_mean(low, low), low)


def test_likelihoods_of_every_kind():
    y = PowerNormal(np.zeros(4), np.ones(4), 0.5)
    ends = np.array([2.0, -np.inf, 1.0, 1.5]), np.array([2.0, 0.5, np.inf, 2.5])
    window = np.array([-np.inf, -np.inf, 0.5, -np.inf]), np.full(4, np.inf)
    z = boxcox(np.array([2.0, 0.5, 1.0, 1.5, 2.5]), 0.5)
    wanted = [
        norm.logpdf(z[0]) - 0.5 * np.log(2.0),
        norm.logcdf(z[1]),
        norm.logsf(z[2]) - norm.logsf(z[1]),
        np.log(norm.cdf(z[4]) - norm.cdf(z[3])),
    ]
    np.testing.assert_allclose(y.log_likelihood(*ends, *window), wanted, rtol=1e-10)


def test_unit_changes_nothing_but_the_unit():
    log_g, power = np.log(50.0), 0.4
    y, moved = of(power), PowerNormal(np.array([0.3]), np.array([0.8]), power, log_g)
    at = np.array([2.2])
    np.testing.assert_allclose(moved.logpdf(50.0 * at), y.logpdf(at) - log_g, rtol=1e-12)
    np.testing.assert_allclose(moved.mean(), 50.0 * y.mean(), rtol=1e-12)
    np.testing.assert_allclose(moved.ppf(0.7), 50.0 * y.ppf(0.7), rtol=1e-12)
    np.testing.assert_allclose(moved.latent, transform(np.log(50.0 * y.ppf(0.5)), power), rtol=1e-12)


def test_mixture():
    each = PowerNormal(np.array([[0.2, 1.0], [-2.0, -1.5]]), np.array([0.7, 0.5]), np.array([0.3, 0.6]))
    weight = np.array([0.3, 0.7])
    y = PowerMixture(each, weight)
    parts = [PowerNormal(each.mu[:, j], each.sigma[j], each.power[j]) for j in range(2)]
    at = np.array([1.4, 0.2])
    for name in ("logcdf", "logpdf", "logsf"):
        wanted = np.log(weight @ [np.exp(getattr(part, name)(at)) for part in parts])
        np.testing.assert_allclose(getattr(y, name)(at), wanted, rtol=1e-12)
    np.testing.assert_allclose(y.mean(), weight @ [part.mean() for part in parts], rtol=1e-12)
    for p in (0.01, 0.5, 0.99):
        found = y.ppf(p)
        positive = found > 0.0
        np.testing.assert_allclose(np.exp(y.logcdf(found))[positive], p, rtol=1e-8)
    assert y.ppf(0.01)[1] == 0.0
    low, high = np.array([0.5, 0.1]), np.array([3.0, 2.0])
    pairs = [(np.exp(part.log_mass(low, high)), part.conditional_mean(low, high)) for part in parts]
    wanted = sum(w * p * m for w, (p, m) in zip(weight, pairs, strict=True))
    mass = sum(w * p for w, (p, _) in zip(weight, pairs, strict=True))
    np.testing.assert_allclose(y.conditional_mean(low, high), wanted / mass, rtol=1e-9)


def test_noise_is_normal_and_has_a_power():
    noise, z = PowerNoise(0.5), np.array([-1.0, 0.4])
    np.testing.assert_array_equal(noise.logpdf(z), NormalNoise().logpdf(z))
    np.testing.assert_array_equal(noise.log_sf(z), NormalNoise().log_sf(z))
    assert noise.at_coordinate(0.2) == PowerNoise(0.2)
    assert noise.contains(NormalNoise())
