"""Draws of a mixture between two ends."""

import numpy as np
import pytest
import scipy.stats as st

from tobitgp.mixture.count_laws import PoissonLaw
from tobitgp.mixture.inside import draw_inside
from tobitgp.mixture.law import Normal, Weibull
from tobitgp.mixture.predictive import Predictive

SIZE = 20_000
WEIGHTS = np.array([0.3, 0.7])
TWO = {
    "normal": Normal(np.array([-1.0, 2.0]), np.array([1.0, 0.5])),
    "lognormal": Normal(np.array([-1.0, 0.4]), np.array([1.0, 0.5]), logarithm=True),
    "weibull": Weibull(np.array([0.5, 2.0]), np.array([0.8, 3.0])),
}
ENDS = [(-np.inf, 1.2), (0.4, np.inf), (0.4, 2.5), (6.0, np.inf), (1.0, 1.001)]


@pytest.mark.parametrize("name", TWO)
@pytest.mark.parametrize(("lower", "upper"), ENDS)
def test_draws_follow_the_mixture_between_the_ends(name, lower, upper):
    law = Predictive(WEIGHTS, TWO[name])
    y = draw_inside(law, np.full(SIZE, lower), np.full(SIZE, upper), np.random.default_rng(2))
    assert ((y > lower) & (y <= upper)).all()
    whole = law.log_mass(lower, upper)
    assert st.kstest(y, lambda x: np.exp(law.log_mass(np.full(len(x), lower), x) - whole)).pvalue > 0.001


@pytest.mark.parametrize(("lower", "upper"), [(-np.inf, 2.0), (4.0, np.inf), (1.0, 6.0), (30.0, np.inf), (6.0, 7.0)])
def test_counts_have_the_probabilities_of_the_mixture(lower, upper):
    law = Predictive(WEIGHTS, PoissonLaw(np.array([1.5, 6.0])))
    y = draw_inside(law, np.full(SIZE, lower), np.full(SIZE, upper), np.random.default_rng(3))
    assert ((y > lower) & (y <= upper) & (y == np.floor(y)) & (y >= 0)).all()
    counts = np.arange(max(lower + 1, 0), min(upper, 200) + 1)
    p = np.exp(law.logpdf(counts) - law.log_mass(lower, upper))
    np.testing.assert_allclose(p.sum(), 1.0)
    share = (y[:, None] == counts).mean(axis=0)
    assert (np.abs(share - p) < 5 * np.sqrt(p / SIZE) + 1.5 / SIZE).all()


def test_counts_far_from_what_is_known_of_them():
    law = Predictive(np.ones(1), PoissonLaw(np.array([3.0])))
    lower, upper = np.array([1e5, -np.inf, 7.0]), np.array([np.inf, 0.0, 7.0])
    y = draw_inside(law, lower, upper, np.random.default_rng(4))
    assert y[0] - 1e5 in (1.0, 2.0)
    assert y[1:].tolist() == [0.0, 7.0]
