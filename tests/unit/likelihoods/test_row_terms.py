import itertools

import mpmath as mp
import numpy as np
import pytest
from support.distributions import PRECISE, cdf, density

from tobitgp.likelihoods.row_terms import row_terms

LOWER = (-8.0, -3.0, -1.0, -0.2, 0.3, 2.0, 3.5)
WIDTH = (1e-12, 1e-6, 0.03, 0.2, 0.7, 1.5, 3.0, 10.0)


def exact(distribution, a, b):
    """Terms of an interval row with sigma = 1, from its ends in 60 digits."""
    M = cdf(distribution, b) - cdf(distribution, a)
    (f_a, g_a, _), (f_b, g_b, _) = density(distribution, a), density(distribution, b)
    A, B = f_a / M, f_b / M
    L_aa, L_bb, L_ab = -A * g_a - A * A, B * g_b - B * B, A * B
    slope, turn = B - A, b * B - a * A
    return [
        mp.log(M),
        -slope,
        -turn,
        L_bb + 2 * L_ab + L_aa,
        slope + b * L_bb + (a + b) * L_ab + a * L_aa,
        turn + b * b * L_bb + 2 * a * b * L_ab + a * a * L_aa,
    ]


@pytest.mark.parametrize("distribution", PRECISE, ids=repr)
def test_intervals_in_60_digits(distribution):
    for lower, width in itertools.product(LOWER, WIDTH):
        a = np.array([lower])
        b = a + width
        got = [float(v[0]) for v in row_terms(distribution, "interval", a, b, b - a, np.zeros(1), np.zeros(()))]
        with mp.workdps(60):
            want = [float(v) for v in exact(distribution, mp.mpf(float(a[0])), mp.mpf(float(b[0])))]
        assert got[0] == pytest.approx(want[0], rel=1e-14, abs=1e-14)
        size = max(1e-3, *np.abs(want[1:3]))
        np.testing.assert_allclose(got[1:3], want[1:3], rtol=0, atol=1e-13 * size)
        size = max(1e-3, *np.abs(want[3:]))
        np.testing.assert_allclose(got[3:], want[3:], rtol=0, atol=1e-12 * size)


def test_open_rows_say_nothing():
    at = np.zeros(3)
    for value in row_terms(PRECISE[0], "open", at, at, at, at, at):
        np.testing.assert_array_equal(value, 0.0)


def test_sigma_row_by_row():
    distribution, tau, y = PRECISE[0], np.array([-1.0, 0.0, 2.0]), np.array([0.3, 0.4, 9.0])
    for kind in ("exact", "left", "right", "interval"):
        together = row_terms(distribution, kind, y, y + 1.0, np.ones(3), np.zeros(3), tau)
        for i in range(3):
            one = slice(i, i + 1)
            alone = row_terms(distribution, kind, y[one], y[one] + 1.0, np.ones(1), np.zeros(1), tau[one])
            for a, b in zip(together, alone, strict=True):
                assert a[i] == pytest.approx(b[0], rel=1e-14)
