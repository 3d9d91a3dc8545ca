"""Differences of the gradient beside a maximum, where some of the points have no posterior."""

from types import SimpleNamespace

import numpy as np
import pytest

from tobitgp.errors import NumericalError
from tobitgp.inference.evidence_ascent import curvature

A = np.array([[2.0, 0.5], [0.5, 3.0]])


class Quadratic:
    """An objective with the curvature A, and no posterior further from its maximum than some distance."""

    def __init__(self, reach):
        self.reach, self.data, self.last, self.evaluations, self.iterations = reach, SimpleNamespace(n=1), None, 0, 0

    def settle_from(self, free, data, *, slopes=False):
        if np.abs(free).max() > self.reach:
            raise NumericalError("A matrix is not positive definite.")
        return SimpleNamespace(free=free, iterations=1)

    def settle(self, free, *, slopes=False):
        return self.settle_from(free, None)

    def density(self, found):
        return float(-0.5 * found.free @ A @ found.free)

    def gradient(self, found):
        return -A @ found.free


@pytest.mark.parametrize("reach", [1.0, 0.01, 1e-6])
def test_steps_are_narrowed_to_where_there_are_posteriors(reach):
    H, steps = curvature(Quadratic(reach), np.zeros(2), 0.02)
    np.testing.assert_allclose(H, A, rtol=1e-6)
    assert (steps <= reach).all()


def test_a_maximum_without_neighbours_has_no_curvature():
    with pytest.raises(NumericalError, match="next to the maximum"):
        curvature(Quadratic(0.0), np.zeros(2), 0.02)
