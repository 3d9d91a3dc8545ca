"""Truncated normals far out, in narrow windows and under huge standard deviations, to 60 digits and more."""

import mpmath as mp
import numpy as np
import pytest

from tobitgp.distributions import CensoredNormal, TruncatedNormal

WINDOWS = [
    (0.0, 1.0, 40.0, np.inf),
    (0.0, 1.0, 40.0, 40.5),
    (0.0, 1.0, -np.inf, -300.0),
    (0.0, 1.0, 1e6, np.inf),
    (-1e6, 1.0, 0.0, 1e-5),
    (0.0, 1.0, 5.0, 5.0 + 2.0**-30),
    (0.0, 1.0, -(2.0**-40), 2.0**-41),
    (3.0, 1e9, 0.0, 1.0),
    (0.0, 1.0, -50.0, 60.0),
    (0.0, 1.0, -1.0, 1e9),
]
SHARES = np.array([1e-200, 1e-12, 0.1, 0.5, 0.9, 1 - 1e-9])


def tails(m, s, lower, upper, x):
    """Probabilities below and above x, in 400 digits."""
    with mp.workdps(400):
        z = [(mp.mpf(v) - mp.mpf(m)) / mp.mpf(s) if np.isfinite(v) else mp.mpf(v) for v in (lower, x, upper)]
        if z[0] + z[2] < 0 or z[0] == -mp.inf:
            low, high = mp.ncdf(z[1]) - mp.ncdf(z[0]), mp.ncdf(z[2]) - mp.ncdf(z[1])
        else:
            low, high = mp.ncdf(-z[0]) - mp.ncdf(-z[1]), mp.ncdf(-z[1]) - mp.ncdf(-z[2])
        return low / (low + high), high / (low + high), mp.npdf(z[1]) / (low + high) / mp.mpf(s)


@pytest.mark.parametrize("parameters", WINDOWS)
def test_tails_and_density(parameters):
    d = TruncatedNormal(*parameters)
    for x in d.ppf([1e-9, 0.2, 0.7, 1 - 1e-6]):
        if not d.lower < x < d.upper:
            continue
        with mp.workdps(400):
            below, above, density = tails(*parameters, x)
            reference = [float(v) for v in (mp.log(below), mp.log(above), mp.log(density))]
        np.testing.assert_allclose([d.logcdf(x), d.logsf(x), d.logpdf(x)], reference, rtol=3e-14, atol=3e-15)
        np.testing.assert_allclose([d.cdf(x), d.sf(x)], [float(below), float(above)], rtol=1e-13)


@pytest.mark.parametrize("parameters", WINDOWS)
def test_quantiles(parameters):
    d = TruncatedNormal(*parameters)
    for q in SHARES:
        for x, side in ((d.ppf(q), 0), (d.isf(q), 1)):
            got = tails(*parameters, x)
            with mp.workdps(30):
                # x is rounded at the size of the window's point nearest to the mean, its probability by the density.
                size = max(abs(x), abs(np.clip(d.loc, d.lower, d.upper)))
                allowed = 1e-13 * q * (1 + abs(np.log(q))) + float(got[2]) * 1e-15 * size
                assert abs(float(got[side] - mp.mpf(q))) <= allowed


def test_extreme_quantiles_stay_within():
    for parameters in WINDOWS:
        d = TruncatedNormal(*parameters)
        assert d.ppf(0.0) == d.lower == d.isf(1.0)
        assert d.ppf(1.0) == d.upper == d.isf(0.0)
        x = d.ppf(np.linspace(0, 1, 1001))
        assert np.all(np.diff(x) >= 0.0)


def test_nothing_warns_at_any_size():
    sizes = np.array([1e-300, 1e-100, 1e-8, 1.0, 1e8, 1e100])
    m, s, width = np.meshgrid(np.r_[-sizes, 0.0, sizes], sizes, sizes)
    for family in (CensoredNormal, TruncatedNormal):
        for lower, upper in ((0.0 * width, width), (-np.inf, width), (-width, np.inf)):
            d = family(m, s, lower, upper)
            x = d.ppf(0.3)
            for value in (x, d.mean(), d.std(), d.entropy(), d.logcdf(x), d.logsf(x), d.logpdf(x), d.kl(d)):
                assert not np.isnan(value).any()
            assert np.all(d.mean() >= d.lower)
            assert np.all(d.mean() <= d.upper)


def test_a_normal_far_below_its_limit_is_all_atom():
    d = CensoredNormal(-1e9, 1.0, 0.0, 1.0)
    assert (d.mean(), d.var(), d.entropy(), d.pdf(0.0), d.cdf(0.0), d.sf(0.0)) == (0.0, 0.0, 0.0, 1.0, 1.0, 0.0)
    assert np.isclose(CensoredNormal(0.0, 1.0, upper=40.0).logpdf(40.0), -804.608442013754, rtol=1e-14)
