from itertools import pairwise

import mpmath as mp
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tobitgp.numerics import normal_functions as normal
from tobitgp.numerics.truncated_moments import Interval, interval, log_interval_mass


def exact(a, b):
    """Log mass, mean, complement, variance, third and fourth cumulant in 160 digits."""
    if a + b < 0:
        x = exact(-b, -a)
        return [x[0], -x[1], x[2], x[3], -x[4], x[5]]
    with mp.workdps(160):
        a, b = mp.mpf(a), mp.mpf(b)
        mass = (mp.erfc(a / mp.sqrt(2)) - mp.erfc(b / mp.sqrt(2))) / 2
        at_a, at_b = mp.npdf(a) / mass, mp.npdf(b) / mass
        raw = [mp.mpf(1), at_a - at_b]
        for k in (2, 3, 4):
            raw.append((k - 1) * raw[k - 2] + a ** (k - 1) * at_a - b ** (k - 1) * at_b)
        m = raw[1]
        var = raw[2] - m**2
        third = raw[3] - 3 * m * raw[2] + 2 * m**3
        fourth = raw[4] - 4 * m * raw[3] - 3 * raw[2] ** 2 + 12 * m**2 * raw[2] - 6 * m**4
        return [mp.log(mass), m, 1 - var, var, third, fourth]


def random_intervals(rng, n):
    """Widths 1e-12 to 60 and centres to 1e4, a third of them at a switch between regimes."""
    width = 10 ** rng.uniform(-12, np.log10(60), n)
    centre = 10 ** rng.uniform(-6, 4, n) * rng.choice([-1, 1], n)
    moderate = rng.random(n) < 0.5
    centre[moderate] = rng.uniform(-12, 12, moderate.sum())
    width[moderate[::-1]] = rng.uniform(0.1, 12, moderate.sum())
    at_switch = rng.random(n) < 0.3
    width[at_switch] = 40 / np.abs(centre[at_switch]) * rng.choice([1 - 1e-6, 1 + 1e-6], at_switch.sum())
    a, b = centre - width / 2, centre + width / 2
    keep = (a < b) & (width < 60)
    return a[keep], b[keep]


def test_matches_160_digit_arithmetic():
    a, b = random_intervals(np.random.default_rng(20240607), 800)
    X = interval(a, b)
    reference = np.array([[float(v) for v in exact(x, y)] for x, y in zip(a, b, strict=True)]).T
    log_mass, mean, complement, var, third, fourth = reference
    # atol: 160 digits leave nothing of a mass within 1e-150 of 1.
    np.testing.assert_allclose(X.log_mass, log_mass, rtol=1e-13, atol=1e-100)
    np.testing.assert_allclose(X.mean, mean, rtol=5e-13, atol=1e-100)
    np.testing.assert_allclose(X.complement, complement, rtol=5e-13, atol=1e-100)
    # In units of the standard deviation; largest where a dropped end counts for most.
    assert np.max(np.abs(X.third - third) / var**1.5) < 1e-11
    assert np.max(np.abs(X.fourth - fourth) / var**2) < 1e-10


@given(st.floats(-60, 60), st.floats(1e-3, 60))
def test_cumulants_are_derivatives_of_the_log_mass(a, width):
    """A shift of both ends by -mu turns the cumulant generating function into a log mass."""
    step = 2e-3 / max(1.0, abs(a), abs(a + width)) ** 0.5
    mu = step * np.arange(-2.0, 3.0)
    X = interval(a - mu, a + width - mu)
    chain = [X.log_mass, X.mean, -X.complement, X.third, X.fourth]
    for value, slope in pairwise(chain):
        difference = (8.0 * (value[3] - value[1]) - (value[4] - value[0])) / (12.0 * step)
        assert difference == pytest.approx(slope[2], rel=1e-6, abs=1e-10 + 1e-14 * np.abs(value).max() / step)


@given(st.floats(-1e4, 1e4), st.floats(1e-6, 100))
def test_mirror(centre, width):
    a, b = np.array([centre - width / 2]), np.array([centre + width / 2])
    assume(a[0] < b[0])
    X, mirrored = interval(a, b), interval(-b, -a)
    signs = Interval(1, -1, 1, -1, 1)
    for value, image, sign in zip(X, mirrored, signs, strict=True):
        np.testing.assert_allclose(value, sign * image, rtol=1e-12, atol=1e-13 * min(width, 1.0) ** 3)


@given(st.floats(-1e6, 1e6), st.floats(1e-9, 1e6))
def test_ranges(a, width):
    ends = np.array([a]), np.array([a + width])
    assume(ends[0][0] < ends[1][0])
    X = interval(*ends)
    assert all(np.isfinite(value[0]) for value in X)
    assert X.log_mass[0] <= 0
    assert ends[0][0] * (1 - 1e-15 * np.sign(a)) <= X.mean[0] <= ends[1][0] + 1e-15 * abs(ends[1][0])
    assert 0 <= X.complement[0] <= 1


@pytest.mark.parametrize("a", [-30.0, -3.0, 0.0, 0.5, 8.0, 1e6])
def test_a_distant_end_leaves_the_one_sided_case(a):
    z = np.array([-a])
    h, delta = normal.mills(z)
    want = [
        normal.log_cdf(z),
        h,
        h * delta,
        normal.third(z, h, delta),
        normal.fourth(z, h, delta),
    ]
    for b in (a + 90.0, 1e7, np.inf):
        for value, reference in zip(interval(np.array([a]), np.array([b])), want, strict=True):
            np.testing.assert_allclose(value, reference, rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("centre", [0.0, 0.7, -20.0])
def test_a_vanishing_width_leaves_the_density(centre):
    a, b = np.array([centre]), np.array([centre + 1e-11])
    X = interval(a, b)
    log_density = -0.5 * centre**2 - 0.5 * np.log(2 * np.pi)
    np.testing.assert_allclose(X.log_mass, log_density + np.log(b - a), rtol=1e-11)
    np.testing.assert_allclose(X.mean, centre, atol=1e-11)
    np.testing.assert_allclose(X.complement, 1.0, rtol=1e-15)


def test_log_mass_agrees_and_allows_infinite_ends():
    a = np.array([-np.inf, -np.inf, 3.0, -1.0, 50.0, -1e-9])
    b = np.array([np.inf, -40.0, np.inf, 2.0, 50.1, 1e-9])
    log_mass = log_interval_mass(a, b)
    np.testing.assert_array_equal(log_mass, interval(a, b).log_mass)
    assert log_mass[0] == 0.0
    np.testing.assert_allclose(log_mass[1:3], normal.log_cdf(np.array([-40.0, -3.0])), rtol=1e-15)


def test_rows_do_not_depend_on_their_neighbours():
    a, b = random_intervals(np.random.default_rng(5), 3000)
    together = interval(a, b)
    for i in range(0, a.size, 97):
        alone = interval(a[i : i + 1], b[i : i + 1])
        for value, single in zip(together, alone, strict=True):
            np.testing.assert_allclose(value[i], single[0], rtol=1e-11)


def test_empty_input():
    assert interval(np.empty(0), np.empty(0)).fourth.shape == (0,)
