"""Panels of quadrature."""

import numpy as np
import pytest

from tobitgp.numerics.quadrature import normal_rule, row_sums


@pytest.mark.parametrize("t", [1.0, 1e6, 1e12, 1e17, 1e69])
@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_panels_are_few_wherever_the_kink_is(t, share):
    """Beside a kink at 1e17 a panel of width 3 is less than the rounding of its ends."""
    v, weight, row = normal_rule(np.zeros(1), np.array([t]), np.array([[share * t, 0.0]]))
    assert len(v) < 400
    np.testing.assert_allclose(row_sums(np.ones((1, v.size)), weight, row, 1), 1.0, rtol=1e-12)
