"""Weighted draws of distributions against closed forms: exponential times whose rates are gamma distributed."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import roots_genlaguerre
from scipy.stats import gamma, lomax, norm

from tobitgp.distributions.averaged import Averaged
from tobitgp.distributions.gumbel import Gumbel
from tobitgp.distributions.location_scale import LocationScale
from tobitgp.distributions.symmetric_noise import NormalNoise
from tobitgp.posterior.estimates import Sampled, weighted_quantiles
from tobitgp.posterior.questions import (
    conditional,
    cumulative_hazard,
    hazard,
    mean,
    observed,
    probability,
    quantile,
    remaining,
    remaining_area,
    survival,
)

SHAPE, RATE = 6.0, 5.0  # of the factor that the hazards of a row share
LEVEL = np.array([0.3, 1.0, 2.5])
TIMES = np.array([0.2, 1.0, 3.0])
INF = np.inf
TRUTH = [lomax(SHAPE, scale=RATE / level) for level in LEVEL]


def sampled(factor, weight):
    def drawn(rows):
        return LocationScale(Gumbel(), -np.log(LEVEL[rows][:, None] * factor), np.ones((1, 1)), log=True)

    return Sampled(drawn, weight, np.arange(len(LEVEL)))


def by_quadrature():
    x, weight = roots_genlaguerre(60, SHAPE - 1.0)
    return sampled(x / RATE, weight / weight.sum())


def by_draws(size=40_001):
    return sampled(gamma.ppf((np.arange(size) + 0.5) / size, SHAPE) / RATE, np.full(size, 1.0 / size))


def by_unequal_draws(size=4001):
    """Points of a grid with the masses around them."""
    edges = np.linspace(0.0, 30.0, size + 1)
    mass = np.diff(gamma.cdf(edges, SHAPE))
    return sampled(0.5 * (edges[1:] + edges[:-1]) / RATE, mass / mass.sum())


def each_row(of):
    return np.array([of(y) for y in TRUTH])


def test_a_new_response_has_the_average_of_the_tails():
    y = by_quadrature().new
    np.testing.assert_allclose(np.exp(y.logsf(TIMES)), [d.sf(t) for d, t in zip(TRUTH, TIMES, strict=True)], rtol=1e-9)
    np.testing.assert_allclose(np.exp(y.logcdf(TIMES * 1e-9)), LEVEL * SHAPE / RATE * TIMES * 1e-9, rtol=1e-7)
    np.testing.assert_allclose(
        np.exp(y.logpdf(TIMES)), [d.pdf(t) for d, t in zip(TRUTH, TIMES, strict=True)], rtol=1e-9
    )
    wanted = LEVEL * SHAPE / (RATE + LEVEL * TIMES)
    np.testing.assert_allclose(np.exp(y.log_hazard(TIMES)), wanted, rtol=1e-9)
    np.testing.assert_allclose(
        y.modelled_hazard(np.log(TIMES * 1e-9))[0], LEVEL * SHAPE / RATE * TIMES * 1e-9, rtol=1e-7
    )


@pytest.mark.parametrize("p", [1e-9, 0.01, 0.5, 0.9])
def test_quantiles_of_a_new_response(p):
    np.testing.assert_allclose(by_quadrature().new.ppf(p), each_row(lambda y: y.ppf(p)), rtol=1e-8)


def test_infinite_quantiles_of_draws():
    """Of locations, some of which are beyond all numbers."""
    y = Averaged(LocationScale(Gumbel(), np.array([[0.0, 2000.0]]), np.ones((1, 2)), log=True), np.array([0.5, 0.5]))
    assert np.isposinf(y.ppf(0.6)).all()
    np.testing.assert_allclose(y.ppf(0.25), -np.log(0.5), rtol=1e-12)


def test_locations_of_both_signs():
    f, weight = np.polynomial.hermite_e.hermegauss(40)
    y = Averaged(
        LocationScale(NormalNoise(), np.array([[-3.0], [1.0]]) + 0.8 * f, np.full((1, 1), 0.6)), weight / weight.sum()
    )
    for p in (0.02, 0.5, 0.975):
        np.testing.assert_allclose(y.ppf(p), norm.ppf(p, [-3.0, 1.0], 1.0), rtol=1e-9)
    np.testing.assert_allclose(y.mean(), [-3.0, 1.0], rtol=1e-12)


QUESTIONS = {
    "survival": (survival(True, TIMES), lambda y, t: y.sf(t)),
    "prob below": (probability(True, TIMES, above=False), lambda y, t: y.cdf(t)),
    "later survival": (survival(True, TIMES + 0.5, np.full(3, 0.5)), lambda y, t: y.sf(t + 0.5) / y.sf(0.5)),
    "cumulative hazard": (cumulative_hazard(True, TIMES), lambda y, t: -y.logsf(t)),
    "hazard": (hazard(True, TIMES), lambda y, t: y.pdf(t) / y.sf(t)),
    "remaining": (remaining(0.4, TIMES), lambda y, t: y.isf(0.4 * y.sf(t)) - t),
    "area": (
        remaining_area(np.full(3, 0.5), TIMES + 0.5),
        lambda y, t: quad(lambda u: y.sf(u) / y.sf(0.5), 0.5, t + 0.5)[0],
    ),
    "clipped": (
        observed(True, np.zeros(3), TIMES, np.full(3, -INF), np.full(3, INF)),
        lambda y, t: quad(y.sf, 0.0, t)[0],
    ),
    "in a window": (
        observed(True, np.zeros(3), np.full(3, INF), np.full(3, 0.1), TIMES),
        lambda y, t: quad(lambda u: u * y.pdf(u), 0.1, t)[0] / (y.cdf(t) - y.cdf(0.1)),
    ),
    "conditional": (
        conditional(True, TIMES, TIMES + 1.0),
        lambda y, t: quad(lambda u: u * y.pdf(u), t, t + 1.0)[0] / (y.cdf(t + 1.0) - y.cdf(t)),
    ),
    "mean": (mean(True), lambda y, t: y.mean()),
    "quantile": (quantile(True, 0.9), lambda y, t: y.ppf(0.9)),
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_numbers_of_a_new_response(name):
    question, truth = QUESTIONS[name]
    wanted = [truth(y, t) for y, t in zip(TRUTH, TIMES, strict=True)]
    np.testing.assert_allclose(by_quadrature().value(question), wanted, rtol=1e-6)


def test_values_that_rows_share_and_that_they_meet_by_themselves():
    posterior, wanted = by_quadrature(), np.array([[y.sf(t) for t in TIMES] for y in TRUTH])
    np.testing.assert_allclose(np.exp(posterior.beside_shared_values.logsf(TIMES[None])), wanted, rtol=1e-9)
    own = np.repeat(TIMES[None], 3, axis=0)
    np.testing.assert_allclose(np.exp(posterior.beside_own_values(own).logsf(own)), wanted, rtol=1e-9)
    some = posterior.take(np.array([2, 0])).beside_shared_values
    np.testing.assert_allclose(np.exp(some.logsf(TIMES[None])), wanted[[2, 0]], rtol=1e-9)
    wanted = np.array([[y.isf(p * y.sf(1.0)) - 1.0 for p in (0.9, 0.2)] for y in TRUTH])
    np.testing.assert_allclose(posterior.remaining((0.9, 0.2), np.ones(3)), wanted, rtol=1e-8)


@pytest.mark.parametrize("make", [by_quadrature, by_draws, by_unequal_draws])
def test_standard_errors(make):
    found = make().statistics(survival(True, TIMES), None, se=True)["se"]
    t = LEVEL * TIMES / RATE
    np.testing.assert_allclose(found, np.sqrt((1.0 + 2.0 * t) ** -SHAPE - (1.0 + t) ** (-2.0 * SHAPE)), rtol=3e-3)


@pytest.mark.parametrize("make", [by_draws, by_unequal_draws])
def test_limits_are_quantiles_of_the_number_given_the_parameters(make):
    low, high = gamma.ppf([0.05, 0.95], SHAPE) / RATE
    found = make().statistics(survival(True, TIMES), 0.9, se=False)
    np.testing.assert_allclose(found["lower"], np.exp(-high * LEVEL * TIMES), rtol=2e-3)
    np.testing.assert_allclose(found["upper"], np.exp(-low * LEVEL * TIMES), rtol=2e-3)
    found = make().band(quantile(True, 0.5), 0.9)
    middle = np.log(2.0) / LEVEL
    np.testing.assert_allclose(found["median"], middle / gamma.ppf(0.5, SHAPE) * RATE, rtol=2e-3)
    np.testing.assert_allclose([found["lower"], found["upper"]], np.outer([1.0 / high, 1.0 / low], middle), rtol=2e-3)
    found = make().spread_over().band(survival(True, TIMES[None]), 0.9)
    np.testing.assert_allclose(found["upper"], np.exp(-low * LEVEL[:, None] * TIMES), rtol=2e-3)


def test_a_new_response_at_the_estimates():
    """A fit by maximum likelihood gives the estimate, and the draws give its standard error."""
    known = by_draws()
    posterior = Sampled(
        known.drawn,
        known.weight,
        known.rows,
        lambda rows: LocationScale(Gumbel(), -np.log(LEVEL[rows]), np.ones(1), log=True),
    )
    found = posterior.statistics(survival(True, TIMES), 0.9, se=True)
    np.testing.assert_allclose(found["estimate"], np.exp(-LEVEL * TIMES), rtol=1e-12)
    np.testing.assert_array_equal(found["upper"], known.statistics(survival(True, TIMES), 0.9, se=True)["upper"])


def test_draws_that_are_infinite():
    """No standard deviation where some are; limits are draws, between which nothing is interpolated."""
    factor = np.array([1.0, 0.5, 2.0, 4.0, 1e-320])
    posterior = sampled(factor, np.full(5, 0.2))
    found = posterior.statistics(quantile(True, 0.5), 0.9, se=True)
    assert np.isfinite(found["estimate"]).all()
    assert np.isnan(found["se"]).all()
    assert np.isposinf(found["upper"]).all()
    np.testing.assert_allclose(found["lower"], np.log(2.0) / LEVEL / 4.0, rtol=1e-12)


def test_few_rows_at_a_time_change_nothing(monkeypatch):
    posterior, question = by_draws(), survival(True, TIMES)
    whole = posterior.statistics(question, 0.9, se=True)
    monkeypatch.setattr("tobitgp.posterior.estimates._CELLS", 1)
    for name, values in posterior.statistics(question, 0.9, se=True).items():
        np.testing.assert_allclose(values, whole[name], rtol=1e-13)


def test_weighted_quantiles_of_a_normal_distribution_and_of_infinite_numbers():
    z = np.linspace(-6.0, 6.0, 801)
    weight = norm.pdf(z) / norm.pdf(z).sum()
    rng = np.random.default_rng(1)
    order = rng.permutation(len(z))
    found = weighted_quantiles(np.stack([z, np.exp(z)])[:, order], weight[order], (0.025, 0.5, 0.9))
    wanted = norm.ppf([0.025, 0.5, 0.9])
    np.testing.assert_allclose(found.T, [wanted, np.exp(wanted)], rtol=2e-4, atol=2e-4)
    numbers = np.array([[1.0, INF, 2.0]])
    np.testing.assert_array_equal(weighted_quantiles(numbers, np.array([0.2, 0.5, 0.3]), (0.01, 0.9)), [[1.0], [INF]])
    np.testing.assert_array_equal(weighted_quantiles(np.array([[3.0]]), np.ones(1), (0.1, 0.9)), [[3.0], [3.0]])


def test_no_rows():
    found = by_draws().take(slice(0, 0)).statistics(survival(True, np.zeros(0)), 0.9, se=True)
    assert {len(values) for values in found.values()} == {0}
