import mpmath as mp
import numpy as np
import pytest

from tobitgp.distributions.segment import beyond, excess, segment


def exact(a, w):
    """J_0, J_1 and J_2 by tails in digits enough for their cancellation."""
    with mp.workdps(120):
        a, w = mp.mpf(a), mp.mpf(w)

        def tail(z):
            return mp.sqrt(mp.pi / 2) * mp.erfc(z / mp.sqrt(2)) * mp.exp(z * z / 2)

        fall = mp.exp(-w * (a + w / 2)) if w < mp.inf else mp.mpf(0)
        edge = w * fall if w < mp.inf else mp.mpf(0)
        mass = tail(a) - (fall * tail(a + w) if w < mp.inf else 0)
        first = 1 - fall - a * mass
        return [float(v) for v in (mass, first, mass - a * first - edge)]


def cases(n):
    rng = np.random.default_rng(61)
    a = np.where(rng.random(n) < 0.3, 0.0, 10 ** rng.uniform(-6, 6, n))
    w = 10 ** rng.uniform(-10, 3, n)
    deep = rng.random(n) < 0.5  # around the switch, and well beyond
    w[deep] = (10 ** rng.uniform(-2, 2, n) / (a + 1.0))[deep]
    w[rng.random(n) < 0.1] = np.inf
    return a, w


def test_matches_120_digit_arithmetic():
    a, w = cases(600)
    reference = np.array([exact(x, y) for x, y in zip(a, w, strict=True)]).T
    J = segment(a, w)
    np.testing.assert_allclose(J[0], reference[0], rtol=1e-14)
    np.testing.assert_allclose(J[1:], reference[1:], rtol=1e-13)
    np.testing.assert_array_equal(segment(a, w, rows=1)[0].shape, a.shape)
    np.testing.assert_allclose(segment(a, w, rows=1)[0], J[0], rtol=1e-14)


@pytest.mark.parametrize("shape", [(), (0,), (2, 3)])
def test_keeps_shapes(shape):
    assert segment(np.ones(shape), np.ones(shape)).shape == (3, *shape)
    assert segment(np.ones(shape), np.full(shape, np.inf), rows=1).shape == (1, *shape)


def test_excess_inverts_the_tail():
    a, log_odds = np.meshgrid(np.r_[0.0, 10.0 ** np.arange(-3, 9)], 10.0 ** np.arange(-12, 3.0, 0.5))
    w = excess(a, log_odds)
    # Small ones by the mass below, which is as precise as they are.
    small = log_odds < 0.1
    below = segment(a, w, rows=1)[0] / segment(a, np.inf * np.ones_like(a), rows=1)[0]
    np.testing.assert_allclose(-np.log1p(-below[small]), log_odds[small], rtol=1e-13)
    np.testing.assert_allclose(-np.log(beyond(a, w)[~small]), log_odds[~small], rtol=1e-13)


def test_excess_of_nothing_and_of_everything():
    np.testing.assert_array_equal(excess(np.array([0.0, 5.0]), np.array(0.0)), 0.0)
    assert np.all(excess(np.array([0.0, 5.0]), np.array(np.inf)) > 1e40)
