"""The learnt scale of precisions and rates: against quadrature, for every K, in steps, and beside given priors."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import gammaln
from scipy.stats import gamma
from support.mixtures import GIVEN, NAMES

from tobitgp.mixture import (
    SVBCM,
    VBCM,
    DirichletProcess,
    fit_mixture,
    linear_response,
    mixture_of,
    partial_fit,
    start_stream,
)
from tobitgp.mixture.arranged_rows import rounding_of_ties

REFERENCE = json.loads((Path(__file__).parents[2] / "reference" / "mixture_given_priors.json").read_text())["fits"]
INF = np.inf


def rows_of_reference(family):
    z = np.sort(np.random.default_rng(45).normal(size=80))
    y = np.r_[z[::2] - 3.0, z[1::2] + 3.0]
    y, limit = {
        "gaussian": (y, 3.5),
        "poisson": (np.floor(np.minimum(np.exp(0.4 * y + 2.0), 25.0)), 25.0),
    }.get(family, (np.exp(0.5 * y), 6.0))
    low = np.minimum(y, limit)
    upper = np.where(low >= limit, INF, low)
    return np.where(low >= limit, limit - (family == "poisson"), low), upper


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("weights", [None, DirichletProcess()])
def test_given_priors_are_what_they_were(name, weights):
    k, key = (2, f"{name} 2") if weights is None else (10, f"{name} 'dp'")
    method = VBCM(n_init=4, tol=1e-13)
    fit = fit_mixture(
        *rows_of_reference(name), family=name, k=k, weights=weights, prior=GIVEN[name], method=method, rng=1
    )
    assert fit.elbo == pytest.approx(REFERENCE[key]["elbo"], rel=1e-10)
    np.testing.assert_allclose(fit.values, REFERENCE[key]["params"], rtol=1e-6, atol=1e-8)
    assert not fit.model.adapts
    assert len(fit.state.scales) == 0


def exact_log_evidence(y):
    """Of one exponential component under a gamma(1, beta) rate with beta gamma(0.2, 0.2), by quadrature."""
    n, total = len(y), y.sum()

    def log_term(log_beta):
        beta = np.exp(log_beta)
        given = log_beta + gammaln(1.0 + n) - (1.0 + n) * np.log(beta + total)
        return given + gamma.logpdf(beta, 0.2, scale=5.0) + log_beta

    top = max(log_term(x) for x in np.linspace(-30.0, 10.0, 400))
    return top + np.log(quad(lambda x: np.exp(log_term(x) - top), -200.0, 20.0, points=[-5.0, 0.0, 3.0], limit=500)[0])


def test_the_bound_is_close_below_the_evidence():
    y = np.random.default_rng(3).exponential(1.0, 40)
    y /= np.median(y[:39])  # so that the middle one is the unit
    fit = fit_mixture(y, y, family="exponential", k=1, method=VBCM(tol=1e-13))
    exact = exact_log_evidence(y / fit.units.scale) - 40.0 * np.log(fit.units.scale)
    assert exact - 0.5 < fit.elbo < exact


@pytest.mark.parametrize("name", NAMES)
def test_the_prior_is_the_same_for_every_number(name):
    low, high = rows_of_reference(name)
    one, four, many = (
        fit_mixture(low, high, family=name, k=k, weights=w, method=VBCM(n_init=1)).model.prior
        for k, w in ((1, None), (4, None), (9, DirichletProcess()))
    )
    for each in ("values", "learnt", "power", "shape", "rate"):
        np.testing.assert_array_equal(getattr(one, each), getattr(four, each))
        np.testing.assert_array_equal(getattr(one, each), getattr(many, each))


GROUPS = {
    "gaussian": lambda rng: np.r_[rng.normal(100.0, 0.5, 50), rng.normal(200.0, 0.5, 50)],
    "lognormal": lambda rng: np.exp(np.r_[rng.normal(0.0, 0.02, 50), rng.normal(5.0, 0.02, 50)]),
    "exponential": lambda rng: np.r_[rng.exponential(1e-4, 60), rng.exponential(1.0, 60)],
    "poisson": lambda rng: np.r_[rng.poisson(4.0, 60), rng.poisson(4000.0, 60)].astype(float),
    "weibull": lambda rng: np.r_[2.0 * rng.weibull(0.8, 60), 2000.0 * rng.weibull(6.0, 60)],
}


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_groups_far_apart_are_counted(name):
    y = GROUPS[name](np.random.default_rng(1))
    fits = [fit_mixture(y, y, family=name, k=k, method=VBCM(n_init=4)) for k in (1, 2, 3, 4)]
    assert 1 + np.argmax([fit.elbo + gammaln(fit.k + 1.0) for fit in fits]) == 2
    assert fit_mixture(y, y, family=name, k=8, weights=DirichletProcess(), method=VBCM(n_init=4)).n_effective == 2


@pytest.mark.slow
def test_steps_and_streams_learn_the_scale():
    y = np.random.default_rng(2).permutation(GROUPS["gaussian"](np.random.default_rng(1)))
    near = fit_mixture(y, y, k=2, method=SVBCM(polish=False))
    np.testing.assert_allclose(near.parameters["sd"], 0.5, rtol=0.2)
    y = np.random.default_rng(2).permutation(np.tile(y, 20) + np.random.default_rng(3).normal(0.0, 0.05, 2000))
    stream = start_stream(y[:100], y[:100], k=2, total=2000.0)
    for batch in np.split(y[100:], 38):
        stream = partial_fit(stream, batch, batch)
    np.testing.assert_allclose(mixture_of(stream).parameters["sd"], 0.5, rtol=0.2)


def test_shapes_of_late_components_have_the_error_of_their_curvature():
    """The gamma rate of a late component is 1e-9 and less; its posterior's rate is far from 1."""
    y = GROUPS["weibull"](np.random.default_rng(1))
    fit = fit_mixture(y, y, family="weibull")
    V = linear_response(fit, y, y)
    late, k = np.log(y[y > 300.0]) - fit.units.shift, fit.values[-1]
    a, b = fit.model.prior_at(fit.state)[:2]

    def marginal(k):  # of the shape, the rate integrated
        sum_ = len(late) * np.log(k) + k * late.sum() - (a + len(late)) * np.log(b + np.exp(k * late).sum())
        return sum_ - 0.5 * np.log(k) ** 2

    h = 1e-2
    curvature = (marginal(k + h) - 2.0 * marginal(k) + marginal(k - h)) / h**2
    assert np.sqrt(V[-1, -1]) == pytest.approx((-curvature) ** -0.5, rel=0.02)


@pytest.mark.slow
def test_rounded_values_do_not_collapse():
    y = np.round(np.random.default_rng(5).normal(20.0, 3.0, 200))
    for k in (2, 4):
        assert fit_mixture(y, y, k=k).parameters["sd"].min() > 0.25
    assert fit_mixture(np.full(30, 5.0), np.full(30, 5.0), k=1).parameters["sd"][0] > 0.0
    heaped = np.r_[np.full(40, 5.0), np.random.default_rng(6).normal(100.0, 1.0, 60)]
    fit = fit_mixture(heaped, heaped, k=2)
    np.testing.assert_allclose(fit.parameters["mean"], [5.0, 100.0], atol=0.5)
    assert 0.0 < fit.parameters["sd"][0] < 0.5


def test_rounding_is_the_distance_of_neighbours():
    y, weight = np.array([3.0, 1.0, 1.0, 2.0, 2.0, 9.0]), np.array([1.0, 1.0, 1.0, 1.0, 1.0, 4.0])
    np.testing.assert_allclose(rounding_of_ties(y, weight), [0.0, 1.0, 1.0, 1.0, 1.0, 5.0])
    np.testing.assert_array_equal(rounding_of_ties(np.arange(4.0), np.ones(4)), 0.0)
    np.testing.assert_array_equal(rounding_of_ties(np.ones(2), np.ones(2)), 1.0)
