"""Differences of exponentials, and products with probabilities of nothing."""

import numpy as np
from mpmath import mp

from tobitgp.numerics.log_probabilities import log_difference, weighted


def test_log_differences_agree_with_fifty_digits():
    x = np.array([0.0, -1e4, 700.0, 0.0])
    y = x - np.array([1e-12, 1e-3, 40.0, 1e3])
    with mp.workdps(50):
        want = [float(mp.mpf(a) + mp.log(1 - mp.exp(mp.mpf(b) - mp.mpf(a)))) for a, b in zip(x, y, strict=True)]
    np.testing.assert_allclose(log_difference(x, y), want, rtol=1e-15)


def test_there_is_no_difference_the_wrong_way_round():
    with np.errstate(divide="ignore"):
        np.testing.assert_array_equal(log_difference(np.zeros(2), np.array([0.0, 1.0])), [-np.inf, -np.inf])


def test_what_has_no_probability_weighs_nothing():
    np.testing.assert_array_equal(
        weighted(np.array([np.inf, -np.inf, 3.0]), np.array([0.0, 0.0, 0.25])), [0.0, 0.0, 0.75]
    )
