from itertools import pairwise

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tobitgp.numerics import normal_functions as normal

# Unit roundoff in erfcx is multiplied by |z / delta| < 28 at the switch to the continued fraction.
RELATIVE = 2e-14

GRID = np.concatenate([np.linspace(-9.0, 6.0, 61), -(10.0 ** np.arange(1.0, 7.0)), [-40.0, -5.0, -2.5]])


def exact(z):
    """log Phi, h, delta and the third and fourth derivative of log Phi, in 60 digits."""
    with mp.workdps(60):
        z = mp.mpf(z)
        mass = mp.erfc(-z / mp.sqrt(2)) / 2
        h = mp.npdf(z) / mass
        delta = z + h
        kappa = h * delta
        third = h * (delta**2 - 1 + kappa)
        return [mp.log(mass), h, delta, third, 2 * kappa * (1 - kappa) - (delta + h) * third]


def test_values_and_derivatives_match_60_digit_arithmetic():
    h, delta = normal.mills(GRID)
    got = [
        normal.log_cdf(GRID),
        h,
        delta,
        normal.third(GRID, h, delta),
        normal.fourth(GRID, h, delta),
    ]
    want = np.array([[float(value) for value in exact(z)] for z in GRID]).T
    for value, reference in zip(got[:3], want[:3], strict=True):
        np.testing.assert_allclose(value, reference, rtol=RELATIVE)
    np.testing.assert_allclose(got[3], want[3], rtol=1e-12, atol=2e-15)
    np.testing.assert_allclose(got[4], want[4], rtol=5e-12, atol=2e-15)


@given(st.floats(-50.0, 6.0))
def test_each_function_is_the_slope_of_the_one_before(z):
    step = 1e-3 * max(1.0, abs(z))
    x = z + step * np.arange(-2.0, 3.0)
    h, delta = normal.mills(x)
    chain = [
        normal.log_cdf(x),
        h,
        -h * delta,
        normal.third(x, h, delta),
        normal.fourth(x, h, delta),
    ]
    for value, slope in pairwise(chain):
        difference = (8.0 * (value[3] - value[1]) - (value[4] - value[0])) / (12.0 * step)
        scale = np.max(np.abs(value)) / step
        assert difference == pytest.approx(slope[2], rel=1e-6, abs=1e-11 * scale)


@given(st.floats(-1e6, 1e6))
def test_ranges(z):
    x = np.array([z])
    h, delta = normal.mills(x)
    assert h[0] >= 0
    assert delta[0] > 0
    assert 0 <= h[0] * delta[0] <= 1
    assert normal.third(x, h, delta)[0] >= 0
    assert np.isfinite(normal.fourth(x, h, delta)[0])


def test_far_tails():
    z = np.array([-1e6, -40.0, 40.0, 1e6])
    h, delta = normal.mills(z)
    np.testing.assert_allclose(normal.log_cdf(z)[:2], [-0.5e12 - 14.734, -804.608442], rtol=1e-9)
    np.testing.assert_array_equal(normal.log_cdf(z)[2:], 0.0)
    np.testing.assert_allclose(delta[0], 1e-6, rtol=1e-11)
    np.testing.assert_allclose(normal.third(z, h, delta)[0], 2e-18, rtol=1e-10)
    np.testing.assert_allclose(normal.fourth(z, h, delta)[0], 6e-24, rtol=1e-10)
    np.testing.assert_array_equal(h[2:], 0.0)


@pytest.mark.parametrize("switch", [-5.0, -2.5])
def test_no_step_at_a_switch(switch):
    z = np.array([np.nextafter(switch, -10.0), switch])
    h, delta = normal.mills(z)
    for value in (h, delta, normal.third(z, h, delta), normal.fourth(z, h, delta)):
        assert value[0] == pytest.approx(value[1], rel=5e-12)


def test_empty_input():
    h, delta = normal.mills(np.empty(0))
    assert h.shape == delta.shape == normal.third(h, h, delta).shape == (0,)
