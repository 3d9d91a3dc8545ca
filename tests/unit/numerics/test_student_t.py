import mpmath as mp
import numpy as np
import pytest

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
