"""Differences of the gradient beside a maximum, where some of the points have no posterior, or none that is found."""

from types import SimpleNamespace

import numpy as np
import pytest

from tobitgp.errors import NumericalError
from tobitgp.inference.evidence_ascent import Objective, curvature, polish

A = np.array([[2.0, 0.5], [0.5, 3.0]])


class Quadratic:
    """An objective with the curvature A, and no posterior further from its maximum than some distance."""

    unreliable, _may_fail, is_slow = Objective.unreliable, Objective._may_fail, False

    def __init__(self, reach):
        self.reach, self.data, self.last, self.evaluations, self.iterations = reach, SimpleNamespace(n=1), None, 0, 0
        self.failed_around = 0

    def settle_from(self, free, data, *, slopes=False, tol=0.0):
        if np.abs(free).max() > self.reach:
            raise NumericalError("A matrix is not positive definite.")
        return SimpleNamespace(free=free, iterations=1, converged=True)

    def retried(self, found, free, data, *, slopes=False):
        return found

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


class Ascended(Quadratic):
    """The same with what an ascent asks for."""

    def __init__(self):
        super().__init__(np.inf)
        self.parameters = SimpleNamespace(clip=lambda free: free, least=np.full(2, -np.inf), most=np.full(2, np.inf))

    def value_and_gradient(self, free):
        found = self.settle(free)
        return self.density(found), self.gradient(found)


class Jumping(Ascended):
    """It falls by one wherever one goes, and its slopes do not show it."""

    def density(self, found):
        return super().density(found) - float((found.free != 0.5).any())


class Failing(Ascended):
    """The quadratic whose fixed points do not converge."""

    retries = 0

    def settle_from(self, free, data, *, slopes=False, tol=0.0):
        return SimpleNamespace(free=free, iterations=1, converged=False)

    def retried(self, found, free, data, *, slopes=False):
        self.retries += 1
        return found


def test_a_smooth_density_is_ascended():
    maximum = polish(Ascended(), np.ones(2), tol=1e-6, max_iter=10)
    np.testing.assert_allclose(maximum.free, 0.0, atol=1e-6)
    np.testing.assert_allclose(maximum.root @ maximum.root.T, np.linalg.inv(A), rtol=1e-6)
    assert maximum.smooth


def test_where_a_density_jumps_differences_are_narrowed_once():
    objective = Jumping()
    maximum = polish(objective, np.full(2, 0.5), tol=1e-6, max_iter=10)
    assert objective.evaluations == 2 * 4
    np.testing.assert_allclose(maximum.root @ maximum.root.T, np.linalg.inv(A), rtol=1e-6)
    assert maximum.gain_left == pytest.approx(0.125 * A.sum())
    assert not maximum.smooth


def test_where_fixed_points_do_not_converge_differences_are_taken_once():
    objective = Failing()
    maximum = polish(objective, np.ones(2), tol=1e-6, max_iter=10)
    assert objective.evaluations == objective.failed_around == 4
    assert objective.retries == 1  # one that fails from flat sites too speaks for the rest
    assert not maximum.smooth
