"""Six rows at fixed hyper-parameters: evidence, gradients, means; dense and sparse."""

import numpy as np
import pytest
from support.oracles import covariance, exact_evidence
from support.problems import VARIANTS, from_codes, gp, marginals, solve
from support.reference import load

from tobitgp.inference.evidence import evidence_gradient
from tobitgp.likelihoods.censoring_noise import SideNoise

PRINTED = 1e-6  # the iterations behind the table stopped at about 1e-8 on the sites
CASE = load("fixed_parameters.json")
X = np.array(CASE["x"])[:, None]
THETA = np.log([CASE["signal_sd"], CASE["lengthscale"], CASE["noise_sd"]])


def settled(name, Z=None):
    problem = from_codes(X, CASE["y"], CASE["censored"])
    return problem, solve(problem, [gp(problem, Z=Z)], THETA, VARIANTS[name])


def test_every_method_has_reference_numbers():
    assert set(VARIANTS) - {"vi monte_carlo"} == set(CASE["methods"])


@pytest.mark.parametrize("name", CASE["methods"])
def test_evidence(name):
    assert settled(name)[1].evidence == pytest.approx(CASE["methods"][name]["evidence"], abs=PRINTED)


@pytest.mark.parametrize("name", CASE["methods"])
def test_sparse_evidence(name):
    Z = np.array(CASE["inducing"])[:, None]
    assert settled(name, Z)[1].evidence == pytest.approx(CASE["methods"][name]["sparse_evidence"], abs=PRINTED)


@pytest.mark.parametrize("name", CASE["methods"])
def test_gradient(name):
    gradient = evidence_gradient(settled(name)[1], VARIANTS[name])
    np.testing.assert_allclose(gradient, CASE["methods"][name]["gradient"], rtol=0, atol=PRINTED)


@pytest.mark.parametrize("name", CASE["methods"])
def test_evidence_with_side_noises(name):
    """Censored rows with noise of their own; the local bound is Eq. 46 of Basson et al."""
    problem = from_codes(X, CASE["y"], CASE["censored"])
    theta = np.insert(THETA, 2, np.log(CASE["side_noises"]))
    posterior = solve(problem, [gp(problem)], theta, VARIANTS[name], None, SideNoise((-1.0, 1.0)))
    assert posterior.evidence == pytest.approx(CASE["with_side_noises"][name], abs=PRINTED)


def test_ep_means():
    problem, posterior = settled("ep")
    np.testing.assert_allclose(marginals(posterior, problem)[0], CASE["methods"]["ep"]["mean"], rtol=0, atol=PRINTED)


def test_the_exact_oracle_agrees():
    y, g = np.array(CASE["y"]), np.array(CASE["censored"])
    lower, upper = np.where(g < 0, -np.inf, y), np.where(g > 0, np.inf, y)
    got = exact_evidence(covariance("rbf", X, X, THETA[:-1]), CASE["noise_sd"], lower, upper)
    assert got[0] == pytest.approx(CASE["exact"], abs=PRINTED)
