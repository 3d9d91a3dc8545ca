import mpmath as mp
import numpy as np
import pytest

from tobitgp.numerics.log_probabilities import deviance, log_count_of_gamma, stirling_error


@pytest.mark.parametrize("x", [1e-3, 0.1, 1.0, 5.0, 15.9, 16.0, 20.0, 1e3, 1e8])
def test_error_of_stirlings_formula(x):
    with mp.workdps(60):
        n = mp.mpf(x)
        exact = mp.loggamma(n + 1) - (n * mp.log(n) - n + mp.log(2 * mp.pi * n) / 2)
        assert stirling_error(np.array([x]))[0] == pytest.approx(float(exact), rel=1e-14, abs=2e-14)


@pytest.mark.parametrize(("x", "m"), [(10.0, 10.5), (1e8, 1e8 + 1e4), (3.0, 9.0), (1e-3, 1e-5), (1e6, 9e5), (2.0, 2.0)])
def test_deviances(x, m):
    with mp.workdps(60):
        exact = mp.mpf(x) * mp.log(mp.mpf(x) / mp.mpf(m)) + mp.mpf(m) - mp.mpf(x)
        assert deviance(np.array(x), np.array(m), np.array(x - m)) == pytest.approx(float(exact), rel=1e-14)


def test_probabilities_of_counts_add_up():
    y = np.arange(0.0, 2000.0)[:, None]
    total = np.exp(log_count_of_gamma(y, np.array([0.01, 2.0, 1e3]), np.array([0.1, 0.05, 5.0]))).sum(axis=0)
    np.testing.assert_allclose(total, 1.0, rtol=1e-12)
