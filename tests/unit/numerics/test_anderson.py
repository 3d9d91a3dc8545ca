"""Anderson's acceleration."""

import numpy as np
import pytest

from tobitgp.numerics.linear_algebra import MEMORY, mixed, normal_equations, remember, weights


class Mixer:
    """The whole of it over coordinates in one or in two parts."""

    def __init__(self, parts=1):
        self.histories = [None] * parts

    def mix(self, point, step, rho):
        cut = (np.array_split(values, len(self.histories)) for values in (point, step))
        self.histories = [remember(h, x, g) for h, x, g in zip(self.histories, *cut, strict=True)]
        gamma = np.zeros(0)
        if len(self.histories[0].dX):
            gram, right = zip(*map(normal_equations, self.histories), strict=True)
            gamma = weights(sum(gram), sum(right))
        return np.concatenate([mixed(h, gamma, rho) for h in self.histories])


def linear(n, rng, worst):
    """A contraction with eigenvalues up to ``worst`` in size and its fixed point."""
    Q = np.linalg.qr(rng.standard_normal((n, n)))[0]
    M = (Q * np.linspace(-worst, worst, n)) @ Q.T
    b = rng.standard_normal(n)
    return lambda x: M @ x + b - x, np.linalg.solve(np.eye(n) - M, b)


@pytest.mark.parametrize("parts", [1, 2])
@pytest.mark.parametrize("rho", [0.5, 1.0])
@pytest.mark.parametrize("n", [1, 3, 7])
def test_linear_iteration_ends_once_every_direction_is_known(n, rho, parts, rng):
    step, end = linear(n, rng, worst=0.95)
    mixer, x = Mixer(parts), np.zeros(n)
    for _ in range(n + 3):
        x = mixer.mix(x, step(x), rho)
    np.testing.assert_allclose(x, end, rtol=1e-6, atol=1e-6)


def test_faster_than_plain_steps_beyond_its_memory(rng):
    step, end = linear(40, rng, worst=0.99)
    mixer, x, plain = Mixer(), np.zeros(40), np.zeros(40)
    for _ in range(60):
        x, plain = mixer.mix(x, step(x), 1.0), plain + step(plain)
    assert np.linalg.norm(x - end) < 0.1 * np.linalg.norm(plain - end)
    assert len(mixer.histories[0].dX) == MEMORY


def test_first_step_is_plain(rng):
    point, step = rng.standard_normal(4), rng.standard_normal(4)
    np.testing.assert_array_equal(Mixer().mix(point, step, 0.3), point + 0.3 * step)


def test_standing_still_is_harmless():
    mixer = Mixer()
    for _ in range(4):
        np.testing.assert_array_equal(mixer.mix(np.ones(3), np.zeros(3), 1.0), np.ones(3))
