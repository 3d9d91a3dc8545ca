import numpy as np
import pytest
from support.differences import derivative
from support.problems import GAUSSIAN, make_rows

from tobitgp.likelihoods.expectations import DrawnMeans, fixed_draws

MEAN, VAR = np.linspace(-1.5, 1.5, 4), np.array([0.05, 0.3, 1.0, 4.0])
KINDS = {
    "left": make_rows(np.full(4, -np.inf), np.full(4, 0.3)),
    "interval": make_rows(np.full(4, -0.2), np.full(4, 0.3)),
    "exact in a window": make_rows(np.full(4, 0.3), np.full(4, 0.3), window=(0.1, np.inf)),
}


@pytest.mark.parametrize("draws", [2, 3, 20, 101])
def test_draws(draws):
    x = fixed_draws(draws)
    assert len(x) == draws
    assert x.sum() == pytest.approx(0.0, abs=1e-12)
    assert np.mean(x * x) == pytest.approx(1.0)
    np.testing.assert_array_equal(x, fixed_draws(draws))


@pytest.mark.parametrize("kind", KINDS)
def test_derivatives_are_those_of_the_average(kind):
    rows, drawn = KINDS[kind], DrawnMeans(GAUSSIAN, 7)
    E = drawn.expected(rows, MEAN, VAR, 0.4)

    def value(mean=MEAN, var=VAR, sigma=0.4):
        return drawn.expected(rows, mean, var, sigma, slopes=False).value

    one = np.ones(4)
    near = {"rtol": 1e-6, "atol": 1e-7}
    np.testing.assert_allclose(E.d1, derivative(lambda h: value(mean=MEAN + h * one), 0.0, 1e-3), **near)
    np.testing.assert_allclose(E.d2, 2.0 * derivative(lambda h: value(var=VAR * (1.0 + h)), 0.0, 1e-3) / VAR, **near)
    np.testing.assert_allclose(E.s0[0], derivative(lambda h: value(sigma=0.4 * np.exp(h)), 0.0, 1e-3), **near)


@pytest.mark.parametrize("kind", KINDS)
def test_many_draws_are_the_expectation(kind):
    rows = KINDS[kind]
    want = GAUSSIAN.expected(rows, MEAN, VAR, 0.4)
    got = DrawnMeans(GAUSSIAN, 20_000).expected(rows, MEAN, VAR, 0.4, slopes=False)
    for a, b in zip(got[:3], want[:3], strict=True):
        np.testing.assert_allclose(a, b, rtol=0.05, atol=0.05)


def test_log_concave_rows_keep_sites_of_positive_precision():
    for rows in KINDS.values():
        d2 = DrawnMeans(GAUSSIAN, 2).expected(rows, MEAN, VAR, 0.1).d2
        assert (d2 <= 0.0).all()
        assert (d2 >= -1.0 / 0.1**2 - 1e-9).all()
