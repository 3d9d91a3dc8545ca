"""Ends of rows that say something of where values lie."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tobitgp.numerics.normal_functions import known_range, middles, telling_ends


def test_ends_that_stand_for_infinity():
    lower = np.array([1.0, 2.0, 0.5, -9999.0, -np.inf, -np.inf])
    upper = np.array([1.0, 2.0, 9999.0, 1.5, 0.2, 1e6])
    found = telling_ends(lower, upper, *known_range(lower, upper))
    np.testing.assert_array_equal(found[0], [1.0, 2.0, 0.5, -np.inf, -np.inf, -np.inf])
    np.testing.assert_array_equal(found[1], [1.0, 2.0, np.inf, 1.5, 0.2, np.inf])


def test_a_far_end_that_tells_stays():
    """A value below -20 among others near 1 is news; one above 1e6 too."""
    lower, upper = np.array([1.0, 2.0, -np.inf, 1e6]), np.array([1.0, 2.0, -20.0, np.inf])
    for before, after in zip((lower, upper), telling_ends(lower, upper, *known_range(lower, upper)), strict=True):
        np.testing.assert_array_equal(before, after)


@pytest.mark.parametrize("ends", [([-50.0] * 3, [50.0] * 3), ([-np.inf] * 2, [1.0, 1e6]), ([], [])])
def test_where_all_values_may_be_the_same_nothing_is_far(ends):
    lower, upper = map(np.array, ends)
    found = telling_ends(lower, upper, *known_range(lower, upper))
    np.testing.assert_array_equal(found, (lower, upper))


@given(st.lists(st.tuples(st.floats(-1e6, 1e6), st.floats(0.0, 1e6)), min_size=1, max_size=20))
def test_exact_values_stay(rows):
    lower, upper = np.array([(a, a + w) for a, w in rows]).T
    low, high = telling_ends(lower, upper, *known_range(lower, upper))
    exact = lower == upper
    np.testing.assert_array_equal((low[exact], high[exact]), (lower[exact], upper[exact]))
    assert (np.isinf(low) | (low == lower)).all()
    assert (np.isinf(high) | (high == upper)).all()


def test_middles_of_rows():
    lower = np.array([1.0, 2.0, -np.inf, 3.0, -1e9, 0.5, -1e12, -np.inf])
    upper = np.array([1.0, 3.0, 2.5, np.inf, 2.0, 1e10, np.inf, np.inf])
    expected = [1.0, 2.5, 2.5, 3.0, 2.0, 0.5, 0.5 * (1.0 + 3.0), np.nan]
    np.testing.assert_array_equal(middles(lower, upper), expected)
