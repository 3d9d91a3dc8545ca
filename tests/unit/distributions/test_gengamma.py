"""The generalised gamma distribution of log time: tails in high precision, and the distributions inside it."""

import mpmath as mp
import numpy as np
import pytest
from scipy import stats
from scipy.integrate import quad

from tobitgp.distributions.gengamma import GenGammaNoise
from tobitgp.distributions.gumbel import Gumbel
from tobitgp.distributions.symmetric_noise import NormalNoise

PLACES = np.array([-40.0, -12.0, -3.0, -0.3, 0.0, 0.2, 1.0, 2.4, 2.6, 7.0, 12.0])
SHAPES = [-5.0, -1.0, -0.3, 0.01, 0.1, 0.5, 1.0, 2.0, 5.0]


def tails(Q, z):
    """Logarithms of cdf and survival function in 60 digits."""
    u = 1 / mp.mpf(Q) ** 2
    x = u * mp.exp(mp.mpf(Q) * mp.mpf(z))
    beyond, before = (mp.gammainc(u, *ends, regularized=True) for ends in ((x, mp.inf), (0, x)))
    beyond, before = (mp.log1p(-b) if b < a else mp.log(a) for a, b in ((beyond, before), (before, beyond)))
    return (before, beyond) if Q > 0 else (beyond, before)


@pytest.mark.parametrize("Q", SHAPES)
def test_tails_in_high_precision(Q):
    distribution = GenGammaNoise(Q)
    with mp.workdps(60):
        want = np.array([[float(tail) for tail in tails(Q, z)] for z in PLACES]).T
    for got, exact in zip((distribution.log_cdf(PLACES), distribution.log_sf(PLACES)), want, strict=True):
        np.testing.assert_allclose(got, exact, rtol=2e-11)


def test_both_forms_of_the_tails_meet():
    """Temme's expansion below |Q| = 0.003, the incomplete gamma function above."""
    z = np.linspace(-30.0, 30.0, 61)
    for tail in ("log_cdf", "log_sf"):
        below, above = (getattr(GenGammaNoise(0.003 + side), tail)(z) for side in (-1e-13, 1e-13))
        np.testing.assert_allclose(below, above, rtol=1e-9)


@pytest.mark.parametrize("Q", [-1e-5, 0.0, 1e-13, 1e-5])
def test_nearly_normal(Q):
    z = np.array([-30.0, -4.0, 0.0, 1.0])
    distribution = GenGammaNoise(Q)
    np.testing.assert_allclose(distribution.log_cdf(z), NormalNoise().log_cdf(z), rtol=3e-4)
    # log density to first order in Q: -z^2/2 - Q z^3/6
    np.testing.assert_allclose(distribution.logpdf(z), stats.norm.logpdf(z) - Q * z**3 / 6.0, rtol=1e-7)
    assert distribution.mean == pytest.approx(-0.5 * Q, abs=1e-12)
    assert distribution.variance == pytest.approx(1.0, abs=1e-9)


def test_slope_in_small_shapes_is_that_of_the_expansion():
    """Differences of log S in Q of 1e-6 keep nine digits: d log S / dQ at 0 is that of the Edgeworth term."""
    z, h = np.array([-2.0, -0.5, 0.5, 2.0, 5.0]), 1e-6
    got = (GenGammaNoise(h).log_sf(z) - GenGammaNoise(-h).log_sf(z)) / (2.0 * h)
    want = -(z * z + 2.0) / 6.0 * stats.norm.pdf(z) / stats.norm.sf(z)
    np.testing.assert_allclose(got, want, rtol=1e-8)


def test_weibull_inside():
    z = np.linspace(-10.0, 4.0, 30)
    for got, want in zip(GenGammaNoise(1.0).log_density(z), Gumbel().log_density(z), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-13, atol=1e-13)
    for tail in ("lower_tail", "upper_tail"):
        for got, want in zip(getattr(GenGammaNoise(1.0), tail)(z), getattr(Gumbel(), tail)(z), strict=True):
            np.testing.assert_allclose(got, want, rtol=1e-9)


@pytest.mark.parametrize("k", [0.4, 1.0, 6.0])
def test_gamma_inside(k):
    """Times exp(mu + sigma Z) of shape Q = sigma = k^-1/2 are gamma(k) of mean exp(mu)."""
    sigma, mu, t = k**-0.5, 0.7, np.array([0.01, 0.5, 1.0, 3.0, 20.0])
    z = (np.log(t) - mu) / sigma
    gamma = stats.gamma(k, scale=np.exp(mu) / k)
    np.testing.assert_allclose(GenGammaNoise(sigma).logpdf(z) - np.log(sigma * t), gamma.logpdf(t), rtol=1e-11)
    np.testing.assert_allclose(GenGammaNoise(sigma).log_sf(z), gamma.logsf(t), rtol=1e-11)
    np.testing.assert_allclose(GenGammaNoise(sigma).mgf(np.array([sigma]))[0], 1.0, rtol=1e-12)


def test_negative_shapes_are_mirror_images():
    z = np.linspace(-6.0, 6.0, 13)
    np.testing.assert_array_equal(GenGammaNoise(-0.7).log_cdf(z), GenGammaNoise(0.7).log_sf(-z))
    np.testing.assert_allclose(GenGammaNoise(-0.7).logpdf(z), GenGammaNoise(0.7).logpdf(-z), rtol=1e-14)
    np.testing.assert_allclose(GenGammaNoise(-1.0).log_cdf(z), stats.invweibull(1.0).logcdf(np.exp(z)), rtol=1e-12)


@pytest.mark.parametrize("Q", [-2.0, -1e-3, 0.0, 0.02, 0.9, 4.0])
def test_moments_and_quantiles(Q):
    distribution = GenGammaNoise(Q)

    def mean(g, s=0.0):
        return sum(
            quad(lambda z: g(z) * np.exp(distribution.logpdf(np.array([z]))[0] + s * z), *ends, epsabs=1e-13)[0]
            for ends in ((-np.inf, 0.0), (0.0, np.inf))
        )

    assert distribution.mean == pytest.approx(mean(lambda z: z), abs=1e-9)
    assert distribution.variance == pytest.approx(mean(lambda z: (z - distribution.mean) ** 2), rel=1e-9)
    s = 0.3
    assert distribution.mgf(np.array([s]))[0][0] == pytest.approx(mean(lambda z: 1.0, s), rel=1e-9)
    growth = np.log(distribution.mgf(np.array([s * 1.0001]))[0]) - np.log(distribution.mgf(np.array([s / 1.0001]))[0])
    assert distribution.mgf(np.array([s]))[1][0] == pytest.approx(growth[0] / (2.0 * np.log(1.0001)), rel=1e-6)
    q = np.array([1e-9, 0.02, 0.5, 0.98, 1.0 - 1e-9])
    np.testing.assert_allclose(np.exp(distribution.log_cdf(distribution.ppf(q))), q, rtol=1e-9)
    far = np.array([-800.0, -5.0])
    np.testing.assert_allclose(distribution.log_cdf(distribution.inverse_log_cdf(far)), far, rtol=1e-9)
    np.testing.assert_allclose(distribution.log_sf(distribution.inverse_log_sf(far)), far, rtol=1e-9)


def test_times_have_no_mean_where_the_long_tail_is_heavy():
    assert GenGammaNoise(-2.0).largest_tilt == pytest.approx(0.5)
    value, _ = GenGammaNoise(-2.0).mgf(np.array([0.49, 0.5]))
    assert np.isfinite(value[0])
    assert np.isinf(value[1])
