import numpy as np
import pytest
from scipy import stats as st
from scipy.integrate import quad

from tobitgp.numerics.roots import area, rises_to

DISTRIBUTIONS = [st.norm(), st.logistic(), st.gumbel_l(), st.t(2.0), st.norm(0.0, 1e-3), st.t(1.0, 0.0, 50.0)]


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_a_level_is_found_from_anywhere(distribution):
    p = np.array([1e-12, 1e-3, 0.4, 0.999, 1.0 - 1e-9])
    for start in (-30.0, 0.0, 4.0):

        def rise(y):
            return -distribution.logsf(y), np.exp(distribution.logpdf(y) - distribution.logsf(y))

        with np.errstate(all="ignore"):
            found = rises_to(rise, -np.log(p), np.full(5, start), np.ones(5))
            np.testing.assert_allclose(distribution.logsf(found), np.log(p), rtol=1e-7)


def test_goals_that_are_no_levels():
    def rise(y):
        return np.exp(y), np.exp(y)

    goal = np.array([np.inf, 0.0, np.nan, 1.0])
    np.testing.assert_array_equal(rises_to(rise, goal, np.zeros(4), np.ones(4)), [np.inf, -np.inf, np.nan, 0.0])


def test_areas_are_those_of_quadrature():
    rates = np.array([0.3, 2.0])
    breaks = np.array([[0.0, 0.0, 1.0, 5.0], [0.0, 0.5, 1.0, 5.0]])
    found = area(lambda t: np.exp(-rates[:, None] * np.sqrt(t + 0.1)), breaks)
    want = [quad(lambda t, r=r: np.exp(-r * np.sqrt(t + 0.1)), 0.0, 5.0, epsabs=1e-13)[0] for r in rates]
    np.testing.assert_allclose(found, want, rtol=1e-9)


def test_rounding_does_not_lead_away_from_a_root():
    """A hazard with noise in its last digits is asked for a few times."""
    asked = []

    def hazard(y):
        asked.append(y)
        return np.exp(y) * (1.0 + 1e-13 * np.sin(1e13 * y)), np.exp(y)

    goal = np.exp(np.linspace(-3.0, 3.0, 50))
    found = rises_to(hazard, goal, np.zeros(50), np.ones(50))
    np.testing.assert_allclose(found, np.log(goal), atol=1e-11)
    assert len(asked) < 12
