from functools import partial

import numpy as np
import pytest
from support.differences import derivative, gradient
from tobitgp.regression.effects import Side, effect, split
from tobitgp.regression.scales import Predictor, observed, probability

from tobitgp.distributions.gumbel import Gumbel
from tobitgp.distributions.normal import Normal
from tobitgp.distributions.student import Student

BETA, GAMMA = np.array([0.3, 0.8]), np.array([-0.2, 0.1])


def side(x, beta=BETA, gamma=GAMMA, law=None, log_time=False):
    H = np.column_stack([np.ones_like(x), x])
    return Side(H, H, Predictor(H @ beta, H @ gamma, law or Normal(), log_time))


@pytest.mark.parametrize(("law", "log_time"), [(Normal(), False), (Gumbel(), True)])
def test_gradient_and_standard_error(law, log_time, rng):
    x, omega, width = rng.normal(size=8), np.full(8, 1 / 8), np.full(8, 0.2)
    V = np.diag([0.1, 0.2, 0.05, 0.04])
    limits = np.full(8, 0.2), np.full(8, 2.5)
    for quantity in (
        partial(observed, lower=limits[0], upper=limits[1]),
        partial(probability, limit=np.array(1.0), above=True),
    ):

        def value(theta, quantity=quantity):
            sides = [side(x + h, theta[:2], theta[2:], law, log_time) for h in (0.1, -0.1)]
            return effect(*sides, width, omega, V, quantity)

        theta = np.concatenate([BETA, GAMMA])
        found = value(theta)
        want = gradient(lambda t: value(t).value, theta, 1e-3)
        np.testing.assert_allclose(found.gradient, want, rtol=1e-8)
        assert found.se == pytest.approx(np.sqrt(want @ V @ want))


def test_split_of_a_tobit_model():
    x, h = np.array([0.5]), 1e-5
    gamma = np.array([0.0, 0.0])
    high, low = side(x + h, gamma=gamma), side(x - h, gamma=gamma)
    limits = np.zeros(1), np.full(1, np.inf), np.full(1, -np.inf), np.full(1, np.inf)
    found = split(high, low, np.full(1, 2 * h), np.ones(1), limits)
    z = 0.7
    phi, Phi = np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi), Normal().log_cdf(np.array([z]))
    P = float(np.exp(Phi[0]))
    hazard = phi / P
    assert found.intensive == pytest.approx(0.8 * P * (1 - hazard * (z + hazard)), rel=1e-8)
    assert found.intensive + found.extensive == pytest.approx(0.8 * P, rel=1e-8)


def test_estimated_degrees_of_freedom_enter_the_standard_error():
    x, one = np.array([0.2, 0.7]), np.full(2, 0.5)
    V = np.diag([0.1, 0.2, 0.05, 0.04, 0.3])
    above = partial(probability, limit=np.array(2.0), above=True)

    def found(df):
        return effect(side(x + 0.1, law=Student(df)), side(x - 0.1, law=Student(df)), 0.4 * one, one, V, above)

    slope = derivative(lambda t: found(np.exp(t)).value, np.log(3.0), 1e-2)
    assert found(3.0).gradient[-1] == pytest.approx(slope, rel=1e-5)
    assert found(3.0).se == pytest.approx(np.sqrt(found(3.0).gradient ** 2 @ np.diag(V)))
