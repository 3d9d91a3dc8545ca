"""Evidence and marginals against exact answers, and the bounds that tie the methods together."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.oracles import covariance, exact_evidence
from support.problems import CENSORING, GAUSSIAN, RADIAL, VARIANTS, dense, gp, make_problem, marginals, simulate, solve
from support.variational import FullCovariance, whitened

from tobitgp.inference import METHODS
from tobitgp.inference.evidence import explained
from tobitgp.priors.prior import DenseBlock

pytestmark = pytest.mark.diagonal

PRIOR, SIGMA = np.log([1.2, 0.6]), 0.3
THETA = np.append(PRIOR, np.log(SIGMA))
OPTIMUM = 1e-8  # L-BFGS and the sites each stop far nearer the maximum of the bound
SETTLED = 1e-7
# At most so many nats from the exact evidence and exact sds of a mean; ratios of sds.
EVIDENCE = {"ep": 0.25, "vi": 1.0, "laplace": 1.0}
MEAN = {"ep": 0.13, "vi": 0.24, "laplace": 1.3}
SD = {"ep": (0.87, 1.02), "vi": (0.38, 1.02), "laplace": (0.4, 1.4)}


def settled(data, name, theta=THETA, kernel="rbf", Z=None):
    problem = data.problem()
    return problem, solve(problem, [gp(problem, kernel, Z=Z)], theta, VARIANTS[name])


def exact(data, theta=THETA, kernel="rbf"):
    K = covariance(kernel, data.X, data.X, theta[:-1])
    return exact_evidence(K, np.exp(theta[-1]), data.lower, data.upper)


def oracle(data, theta=THETA, kernel="rbf"):
    A = whitened(covariance(kernel, data.X, data.X, theta[:-1]))
    return FullCovariance(A, np.zeros(len(A)), np.exp(theta[-1]), data.lower, data.upper, data.weight)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("censoring", CENSORING)
@pytest.mark.parametrize("name", METHODS)
def test_evidence_and_moments_near_exact(name, censoring, seed):
    data = simulate(censoring, n=12, seed=seed)
    evidence, _, mean, sd = exact(data)
    problem, posterior = settled(data, name)
    got_mean, got_sd = marginals(posterior, problem)
    assert abs(posterior.evidence - evidence) < EVIDENCE[name]
    assert np.abs((got_mean - mean) / sd).max() < MEAN[name]
    assert (got_sd / sd).min() > SD[name][0]
    assert (got_sd / sd).max() < SD[name][1]


@pytest.mark.parametrize("censoring", CENSORING)
def test_ep_is_the_most_accurate(censoring):
    data = simulate(censoring, n=12)
    truth = exact(data)[0]
    gap = {name: abs(settled(data, name)[1].evidence - truth) for name in METHODS}
    assert gap["ep"] <= min(gap.values()) + 1e-4


@pytest.mark.parametrize("kernel", RADIAL)
@pytest.mark.parametrize("censoring", CENSORING)
def test_vi_is_the_best_gaussian(censoring, kernel):
    data = simulate(censoring, n=11, seed=2)
    best, _ = oracle(data, kernel=kernel).maximise()
    assert settled(data, "vi", kernel=kernel)[1].evidence == pytest.approx(best, abs=OPTIMUM)


@pytest.mark.parametrize("sigma", [0.03, 0.1, 1.0, 3.0])
def test_vi_is_the_best_gaussian_at_any_noise(sigma):
    data, theta = simulate("mixed", n=11, seed=4), np.append(PRIOR, np.log(sigma))
    best, _ = oracle(data, theta).maximise()
    assert settled(data, "vi", theta)[1].evidence == pytest.approx(best, abs=OPTIMUM)


def test_sparse_weighted_vi_is_the_best_gaussian_over_its_features():
    data, Z = simulate("mixed", n=15, seed=1), np.linspace(-1.5, 1.5, 5)[:, None]
    weight = np.linspace(0.5, 3.0, 15)
    problem = make_problem(data.X, data.lower, data.upper, weight)
    posterior = solve(problem, [gp(problem, Z=Z)], THETA, METHODS["vi"]())
    K, K_MM = (covariance("rbf", X, Z, PRIOR) for X in (data.X, Z))
    A = np.linalg.solve(np.linalg.cholesky(K_MM), K.T).T
    residual = np.exp(2.0 * PRIOR[0]) - (A**2).sum(axis=1)
    best, _ = FullCovariance(A, residual, SIGMA, data.lower, data.upper, weight).maximise()
    assert posterior.evidence == pytest.approx(best, abs=OPTIMUM)


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("censoring", CENSORING)
def test_explained_of_any_posterior(censoring, name):
    """The bound of every method's Gaussian, checked against the oracle's value there, is below VI's and the exact."""
    data = simulate(censoring, n=11, seed=2)
    _, posterior = settled(data, name)
    bound = explained(posterior, GAUSSIAN).bound
    evidence, error, *_ = exact(data)
    assert bound <= settled(data, "vi")[1].evidence + SETTLED
    assert bound <= evidence + 4.0 * error + SETTLED
    (state,) = posterior.rows.items
    parts = np.concatenate([state.features(chunk)[1].common for chunk in state.chunks])
    A = np.empty_like(parts)
    A[data.problem().order] = parts
    there = FullCovariance(A, np.zeros(len(A)), SIGMA, data.lower, data.upper)
    S = np.linalg.inv(posterior.factor.L @ posterior.factor.L.T)
    assert bound == pytest.approx(there.value_and_gradient(there.join(posterior.w, np.linalg.cholesky(S)))[0], abs=1e-8)


def test_elbo_of_vi_is_its_evidence():
    _, posterior = settled(simulate("mixed", n=15, seed=1), "vi", Z=np.linspace(-1.5, 1.5, 5)[:, None])
    assert explained(posterior, GAUSSIAN).bound == pytest.approx(posterior.evidence, abs=SETTLED)


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 10_000),
    censoring=st.sampled_from(CENSORING),
    log_sigma=st.floats(-2.0, 1.0),
    log_length=st.floats(-1.5, 1.0),
)
def test_order_of_bounds(seed, censoring, log_sigma, log_length):
    data, theta = simulate(censoring, n=8, seed=seed), np.array([0.2, log_length, log_sigma])
    evidence, error, *_ = exact(data, theta)
    vi = settled(data, "vi", theta)[1].evidence
    assert vi <= evidence + 5.0 * error + 1e-6
    for name in METHODS:
        _, posterior = settled(data, name, theta)
        assert explained(posterior, GAUSSIAN).bound <= vi + 1e-6


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10_000), censoring=st.sampled_from(CENSORING), log_sigma=st.floats(-4.0, 1.0))
@pytest.mark.parametrize("name", METHODS)
def test_sites_are_no_sharper_than_the_noise(name, seed, censoring, log_sigma):
    data = simulate(censoring, n=10, seed=seed)
    _, posterior = settled(data, name, np.append(PRIOR, log_sigma))
    relative = posterior.sites.lambda2 * np.exp(2.0 * log_sigma)
    assert (relative >= 0.0).all()
    assert (relative <= 1.0 + 1e-9).all()


@pytest.mark.parametrize("name", ["vi", "vi local"])
@pytest.mark.parametrize("censoring", CENSORING)
def test_bounds_rise_with_nested_inducing_inputs(censoring, name):
    data = simulate(censoring, n=15, seed=1)
    Z = np.random.default_rng(0).permutation(data.X)
    bounds = [settled(data, name, Z=Z[:M])[1].evidence for M in (1, 2, 4, 7, 11, 15)]
    assert (np.diff(bounds) > -SETTLED).all()
    assert bounds[-1] == pytest.approx(settled(data, name)[1].evidence, abs=SETTLED)
    assert bounds[0] < bounds[-1] - 0.1


@pytest.mark.parametrize("n", [1, 2, 3, 5])
def test_equicorrelated_orthant(n):
    """y_i = w + eps_i with equal variances: all n are negative with probability 1 / (n + 1)."""
    problem = make_problem(np.zeros((n, 1)), np.full(n, -np.inf), np.zeros(n), H=np.ones((n, 1)))
    truth = -np.log(n + 1.0)
    got = {k: solve(problem, [dense(problem)], [0.0], m()).evidence for k, m in METHODS.items()}
    assert got["ep"] == pytest.approx(truth, abs=1e-9 if n == 1 else 0.01)
    assert got["vi"] < truth
    assert got["vi"] == pytest.approx(truth, abs=0.2)
    K = np.ones((n, n))
    evidence, error, *_ = exact_evidence(K, 1.0, np.full(n, -np.inf), np.zeros(n))
    assert evidence == pytest.approx(truth, abs=5.0 * error + 1e-6)


def test_one_row_is_exact_under_ep():
    """With a single row EP matches the posterior's own moments: the probability is Phi((u - 0) / S)."""
    from scipy.stats import norm

    block = DenseBlock(np.array([[1.5]]))
    for lower, upper in ((-np.inf, 0.7), (0.2, np.inf), (-0.3, 0.9)):
        problem = make_problem(np.zeros((1, 1)), [lower], [upper])
        got = solve(problem, [block], [np.log(0.4)], METHODS["ep"]()).evidence
        S = np.hypot(1.5, 0.4)
        assert got == pytest.approx(np.log(norm.cdf(upper / S) - norm.cdf(lower / S)), abs=1e-10)
