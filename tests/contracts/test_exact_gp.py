"""Without censoring every method is exact Gaussian-process regression."""

import numpy as np
import pytest
from support.oracles import covariance, gp_regression
from support.problems import GAUSSIAN, RADIAL, VARIANTS, dense, gp, make_problem, marginals, predict, simulate, solve

from tobitgp.inference.evidence import explained

CLOSED = 1e-8  # features reproduce the kernel at training rows to a relative 1e-10
ELSEWHERE = 3e-5  # away from them an omitted direction of variance 1e-10 shows with its sd
SIGMA, PRIOR = 0.3, np.log([1.2, 0.6])
NEW = np.linspace(-2.5, 2.5, 11)[:, None]


def theta(*priors):
    return np.concatenate([*priors, [np.log(SIGMA)]])


@pytest.fixture(params=VARIANTS)
def method(request):
    return VARIANTS[request.param]


@pytest.mark.parametrize("kernel", RADIAL)
def test_evidence_and_moments(method, kernel):
    data = simulate("none", n=20)
    problem = data.problem()
    posterior = solve(problem, [gp(problem, kernel)], theta(PRIOR), method)
    K, K_new = (covariance(kernel, X, data.X, PRIOR) for X in (data.X, NEW))
    places = (K, marginals(posterior, problem), CLOSED), (K_new, predict(posterior, NEW), ELSEWHERE)
    for K_at, got, near in places:
        evidence, mean, sd = gp_regression(K, data.lower, SIGMA**2, K_at, np.exp(2.0 * PRIOR[0]))
        assert posterior.evidence == pytest.approx(evidence, abs=CLOSED)
        np.testing.assert_allclose(got[0], mean, rtol=0, atol=near)
        np.testing.assert_allclose(got[1], sd, rtol=0, atol=near)


def test_weights_and_linear_columns(method, rng):
    data = simulate("none", n=15)
    H, weight = rng.standard_normal((15, 2)), rng.uniform(0.5, 3.0, 15)
    problem = make_problem(data.X, data.lower, data.upper, weight, H)
    posterior = solve(problem, [dense(problem), gp(problem)], theta(PRIOR), method)
    K = covariance("rbf", data.X, data.X, PRIOR) + H @ H.T
    evidence, mean, sd = gp_regression(K, data.lower, SIGMA**2 / weight, K, np.diag(K))
    # A row of weight c is c copies: its normaliser enters c times, and the mean of the copies has variance sigma^2 / c.
    copies = 0.5 * (np.log(SIGMA**2 / weight) - weight * np.log(SIGMA**2) + (1.0 - weight) * np.log(2.0 * np.pi)).sum()
    assert posterior.evidence == pytest.approx(evidence + copies, abs=CLOSED)
    got = marginals(posterior, problem)
    np.testing.assert_allclose(got[0], mean, rtol=0, atol=CLOSED)
    np.testing.assert_allclose(got[1], sd, rtol=0, atol=CLOSED)


def test_sum_of_two_processes(method):
    data = simulate("none", n=15)
    problem = make_problem((data.X, data.X[::-1].copy()), data.lower, data.upper)
    other = np.log([0.7, 0.9])
    posterior = solve(problem, [gp(problem), gp(problem, "matern32", t=1)], theta(PRIOR, other), method)
    K = covariance("rbf", data.X, data.X, PRIOR) + covariance("matern32", data.X[::-1], data.X[::-1], other)
    assert posterior.evidence == pytest.approx(gp_regression(K, data.lower, SIGMA**2, K, np.diag(K))[0], abs=CLOSED)


def test_bound_is_tight_and_parameters_are_counted(method):
    data = simulate("none", n=20)
    problem = data.problem()
    posterior = solve(problem, [gp(problem)], theta(PRIOR), method)
    K = covariance("rbf", data.X, data.X, PRIOR)
    assert explained(posterior, GAUSSIAN).bound == pytest.approx(posterior.evidence, abs=CLOSED)
    trace = np.trace(np.linalg.solve(K + SIGMA**2 * np.eye(20), K))
    assert explained(posterior, GAUSSIAN).effective == pytest.approx(trace, abs=1e-7)


@pytest.mark.parametrize("sigma", [1e-1, 1e-2, 1e-3])
def test_little_noise_costs_no_digits(method, sigma):
    data = simulate("none", n=12)
    problem = data.problem()
    posterior = solve(problem, [gp(problem, "matern32")], np.log([1.2, 0.6, sigma]), method)
    K = covariance("matern32", data.X, data.X, PRIOR)
    evidence = gp_regression(K, data.lower, sigma**2, K, np.diag(K))[0]
    assert posterior.evidence == pytest.approx(evidence, rel=1e-8)
