import mpmath as mp
import numpy as np
import pytest

from tobitgp.distributions.symmetric_noise import StudentNoise
from tobitgp.numerics import student_t

GRID = np.concatenate([-(10.0 ** np.arange(-3.0, 7.0)), [-40.0, -9.0, -2.5, 0.0, 1.0, 6.0]])


@pytest.mark.parametrize("df", [0.3, 1.0, 4.0, 30.0, 1000.0, 1e4])
def test_log_cdf_in_60_digits(df):
    got = student_t.log_cdf(GRID, df)
    with mp.workdps(60):
        for z, value in zip(GRID, got, strict=True):
            z, n = mp.mpf(float(z)), mp.mpf(df)
            tail = mp.betainc(n / 2, mp.mpf(1) / 2, 0, n / (n + z * z), regularized=True) / 2
            want = mp.log(tail) if z <= 0 else mp.log1p(-tail)
            assert value == pytest.approx(float(want), rel=5e-14)


def test_no_overflow():
    z = np.array([-1e100, 1e100])
    for value in student_t.log_density(z, 4.0):
        assert np.isfinite(value).all()
    assert student_t.log_cdf(z, 4.0)[0] == pytest.approx(-4.0 * np.log(1e100) + np.log(1.5 * 4.0), rel=1e-2)


@pytest.mark.parametrize("df", [0.05, 0.5, 1.0, 4.0, 30.0])
def test_quantiles_of_logarithms_far_out(df):
    """By the first term of the tail in 40 digits, which is all of it there; infinite beyond the largest number."""
    log_p = np.array([-50.0, -300.0, -700.0, -1e3, -1e4, -1e5])
    found = StudentNoise(df).inverse_log_cdf(log_p)
    with mp.workdps(40):
        a = mp.mpf(df) / 2
        for value, at in zip(found, log_p, strict=True):
            if np.isneginf(value):
                first = (-(at + mp.log(2 * a) + mp.log(mp.beta(a, 0.5))) / a + mp.log(df)) / 2
                assert first > np.log(np.finfo(float).max)
                continue
            x = 2 * a / (2 * a + mp.mpf(float(value)) ** 2)
            want = mp.log(mp.betainc(a, mp.mpf(1) / 2, 0, x, regularized=True) / 2)
            assert float(want) == pytest.approx(at, rel=1e-13)


def test_quantiles_and_log_cdf_beyond_the_root_of_the_largest_number():
    z = np.array([-1e300, -1e200])
    np.testing.assert_allclose(student_t.log_cdf(z, 1.0), -np.log(np.pi) - np.log(-z), rtol=1e-14)
    np.testing.assert_allclose(
        student_t.ppf(np.array([1e-100, 1.0 - 2.0**-50]), 0.5)[0], -1.02849115631634e199, rtol=1e-12
    )
