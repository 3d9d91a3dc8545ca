"""Values of likelihoods at many locations: those that inference forms row by row, and the tails of scipy."""

import numpy as np
import pytest
from scipy import stats
from support.distributions import DISTRIBUTIONS

from tobitgp.data.arrays import CensoredResponse
from tobitgp.data.outcome import outcome
from tobitgp.distributions.location_scale import LocationScale
from tobitgp.distributions.symmetric_noise import NormalNoise
from tobitgp.likelihoods.row_terms import mass_terms, row_terms

LOWER = np.array([0.4, -np.inf, 0.3, -0.5, -np.inf, 0.6, 0.7])
UPPER = np.array([0.4, 0.2, np.inf, 0.9, np.inf, 0.6, np.inf])
ENTRY = np.array([-np.inf] * 5 + [0.1, -0.2])
EXIT = np.array([np.inf] * 5 + [1.5, np.inf])


ENDS = LOWER, UPPER, ENTRY, EXIT


@pytest.fixture
def known():
    free = np.full(7, np.inf)
    return outcome(CensoredResponse(LOWER, UPPER, -free, free, ENTRY, EXIT, np.ones(7)))


@pytest.mark.parametrize("name", DISTRIBUTIONS)
def test_they_are_those_of_the_rows(name, known, rng):
    distribution, f, tau = DISTRIBUTIONS[name], rng.normal(size=(7, 5)), 0.3 * rng.normal(size=(1, 5))
    found = LocationScale(distribution, f, np.exp(tau)).log_likelihood(*ENDS)
    for s in range(5):
        column, at = f[:, s], np.full(7, tau[0, s])
        exact = np.zeros(7)
        ends = (end[known.exact] for end in (known.lower, known.upper, known.width, column, at))
        exact[known.exact] = row_terms(distribution, "exact", *ends).value
        mass = mass_terms(distribution, known.lower, known.upper, known.width, column, at).value
        window = mass_terms(distribution, known.entry, known.exit, known.span, column, at).value
        assert np.allclose(found[:, s], np.where(known.exact, exact, mass) - window, rtol=1e-12, atol=1e-14)


def test_normal_values_are_those_of_scipy():
    f, sigma = np.array([[0.1], [0.0], [1.0], [0.2], [3.0], [0.5], [0.4]]), 0.8
    at = stats.norm(f[:, 0], sigma)
    expected = [
        at.logpdf(LOWER)[0],
        at.logcdf(UPPER)[1],
        at.logsf(LOWER)[2],
        np.log(at.cdf(UPPER)[3] - at.cdf(LOWER)[3]),
        0.0,
        at.logpdf(LOWER)[5] - np.log(at.cdf(EXIT)[5] - at.cdf(ENTRY)[5]),
        at.logsf(LOWER)[6] - at.logsf(ENTRY)[6],
    ]
    assert np.allclose(
        LocationScale(NormalNoise(), f, np.array(sigma)).log_likelihood(*ENDS)[:, 0], expected, rtol=1e-10
    )


def test_a_density_and_the_mass_around_it_are_one():
    """Probabilities of two half lines add up to 1 wherever the distribution stands."""
    f = np.linspace(-3.0, 3.0, 9)[None]
    free, at = np.full(1, np.inf), np.full(1, 0.2)
    for distribution in DISTRIBUTIONS.values():
        y = LocationScale(distribution, f, np.ones(1))
        total = np.logaddexp(*(y.log_likelihood(*ends, -free, free) for ends in ((-free, at), (at, free))))
        assert np.allclose(total, 0.0, atol=1e-12)
