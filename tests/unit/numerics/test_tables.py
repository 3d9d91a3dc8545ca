"""Interpolation from tables."""

import numpy as np
import pytest

from tobitgp.numerics import student_t
from tobitgp.numerics.student_t import tabulate, tabulated_log_cdf


def test_quintics_are_exact():
    x = np.linspace(-1.0, 2.0, 4)
    table = tabulate(-1.0, 1.0, x**5, 5 * x**4, 20 * x**3)
    at = np.linspace(-1.0, 2.0, 50).reshape(5, 10)
    assert np.allclose(table(at), at**5, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("df", [0.3, 1.0, 4.0, 30.0, 1e4])
def test_students_cdf(df):
    rng = np.random.default_rng(1)
    z = np.concatenate([5 * rng.normal(size=1000), -(10.0 ** rng.uniform(-3, 9, 1000)), [0.0, 1e3]])
    truth = student_t.log_cdf(z, df)
    assert np.allclose(tabulated_log_cdf(df)(z), truth, rtol=1e-11, atol=1e-11)


def test_beyond_the_table():
    far = tabulated_log_cdf(2.5)(np.array([-1e30, -1e40]))
    assert np.allclose(far[0] - far[1], 2.5 * 10 * np.log(10), rtol=1e-9)
