from dataclasses import replace

import numpy as np
import pytest
from support.differences import derivative
from support.problems import GAUSSIAN, make_rows

from tobitgp.likelihoods import FAMILIES
from tobitgp.likelihoods.censoring_noise import SideNoise, with_side_noises

F = np.linspace(-2.0, 2.0, 5)
LOWER = make_rows(np.full(5, -np.inf), np.full(5, 0.3))
UPPER = make_rows(np.full(5, 0.3), np.full(5, np.inf))
BETWEEN = make_rows(np.full(5, -0.2), np.full(5, 0.3))
WINDOW = make_rows(np.full(5, 0.3), np.full(5, np.inf), window=(0.1, np.inf))
THETA = np.log([9.0, 0.5, 0.7, 0.4])  # of a process, the two sides, sigma
SIDED = SideNoise((-1.0, 1.0)).at(THETA)


@pytest.mark.parametrize(("rows", "scale"), [(LOWER, np.hypot(0.4, 0.5)), (UPPER, np.hypot(0.4, 0.7))])
def test_it_is_gaussian_noise_of_another_scale(rows, scale):
    for got, want in (
        (SIDED.newton(rows, F, 0.4), GAUSSIAN.newton(rows, F, scale)),
        (SIDED.tilted(rows, F, F * F, 0.4), GAUSSIAN.tilted(rows, F, F * F, scale)),
        (SIDED.point(rows, F, 0.4)[:4], GAUSSIAN.point(rows, F, scale)[:4]),
        (SIDED.expected(rows, F, F * F + 0.1, 0.4)[:3], GAUSSIAN.expected(rows, F, F * F + 0.1, scale)[:3]),
    ):
        for a, b in zip(got, want, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-12)


@pytest.mark.parametrize("rows", [BETWEEN, WINDOW], ids=["interval", "window"])
def test_rows_without_a_side_are_as_they_were(rows):
    np.testing.assert_array_equal(SIDED.point(rows, F, 0.4).log_p, GAUSSIAN.point(rows, F, 0.4).log_p)
    slopes = SIDED.point(rows, F, 0.4).s0
    np.testing.assert_array_equal(slopes[:2], 0.0)
    np.testing.assert_array_equal(slopes[2:], GAUSSIAN.point(rows, F, 0.4).s0)


@pytest.mark.parametrize("rows", [LOWER, UPPER, BETWEEN, WINDOW], ids=["left", "right", "interval", "window"])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_slopes(rows, k):
    """In each side noise and in sigma, of every view."""
    var = 0.3 + 0.1 * F * F

    def moved(step, view):
        theta = THETA.copy()
        theta[k] += step
        return view(SIDED.at(theta), float(np.exp(theta[-1])))

    tilted = SIDED.tilted(rows, F, var, 0.4)
    points = SIDED.point(rows, F, 0.4)
    for slope, view in (
        (points.s0, lambda noise, sigma: noise.point(rows, F, sigma).log_p),
        (points.s1, lambda noise, sigma: noise.point(rows, F, sigma).d1),
        (points.s2, lambda noise, sigma: noise.point(rows, F, sigma).d2),
        (SIDED.expected(rows, F, var, 0.4).s0, lambda noise, sigma: noise.expected(rows, F, var, sigma).value),
        (
            SIDED.tilted_slope(rows, F, var, 0.4, tilted.d1, tilted.d2),
            lambda noise, sigma: noise.tilted(rows, F, var, sigma).log_Z,
        ),
    ):
        want = derivative(lambda step, view=view: moved(step, view), 0.0, 1e-3)
        np.testing.assert_allclose(slope[k - 1], want, rtol=1e-6, atol=1e-7)


def test_roles_choose_the_sides():
    assert with_side_noises(GAUSSIAN, ["sd", "sigma_upper", "sigma"]) == SideNoise((1.0,))
    plain = FAMILIES["student"].likelihood
    assert with_side_noises(plain, ["sd", "df", "sigma"]) is plain


def test_a_side_noise_for_each_row():
    """Equal ones are a shared one; a row's place follows it into any part of the rows."""
    extra = np.array([0.1, 0.2, 0.3, 0.4, 0.5])
    each, rows = SideNoise((-1.0,) * 5, tuple(extra)), replace(LOWER, side=np.arange(5))
    np.testing.assert_allclose(each.scale(rows, 0.4), np.hypot(0.4, extra))
    np.testing.assert_allclose(each.scale(rows[np.array([3, 1])], 0.4), np.hypot(0.4, extra[[3, 1]]))
    same, shared = (
        SideNoise((-1.0,) * 5, (0.5,) * 5).point(rows, F, 0.4),
        SideNoise((-1.0,), (0.5,)).point(LOWER, F, 0.4),
    )
    np.testing.assert_allclose(same.s0[:5].sum(axis=0), shared.s0[0])
    np.testing.assert_allclose(same.s0[5], shared.s0[1])
    assert np.count_nonzero(same.s0[:5]) == 5
