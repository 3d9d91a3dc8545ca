import numpy as np
import pytest
from support.oracles import covariance
from support.problems import from_codes, gp, make_problem, marginals, simulate, solve
from support.reference import load

from tobitgp.inference import EPUpdates
from tobitgp.inference.evidence import exact_posterior, prior_covariance, why_not_exact
from tobitgp.likelihoods.censoring_noise import SideNoise
from tobitgp.priors.kernel_block import GPPrior
from tobitgp.priors.prior import DenseBlock, Prior
from tobitgp.priors.structure import Inputs

CASES = {case["case"]: case for case in load("tobit_gp_cases.json")["cases"]}
SIX = load("fixed_parameters.json")


def solved(problem, kernel, theta):
    block = gp(problem, kernel)
    K = prior_covariance(Prior(None, (GPPrior(block.inputs, block.covariance),)), [theta[:-1]])
    return exact_posterior(problem, K, float(np.exp(theta[-1])))


@pytest.mark.parametrize("key", CASES)
@pytest.mark.slow_cases("F")
def test_reference_cases(key):
    """Evidence, means and sds of the seven problems; the stored ones carry an error of their own."""
    case = CASES[key]
    problem = from_codes(np.array(case["x"])[:, None], case["y"], case["censored"])
    theta = np.log([case["signal_sd"], case["lengthscale"], case["noise_sd"]])
    found, want = solved(problem, case["kernel"], theta), case["exact"]
    assert found.evidence == pytest.approx(want["log_evidence"], abs=5.0 * (want["std_error"] + found.error) + 1e-6)
    mean, sd = np.empty(problem.n), np.empty(problem.n)
    mean[problem.order], sd[problem.order] = found.mean, found.sd
    near = 0.02 + 10.0 * (want["std_error"] + found.error)
    assert np.abs((mean - want["mean"]) / np.array(want["sd"])).max() < near
    np.testing.assert_allclose(sd / np.array(want["sd"]), 1.0, atol=near)


def test_six_rows():
    problem = from_codes(np.array(SIX["x"])[:, None], SIX["y"], SIX["censored"])
    found = solved(problem, "rbf", np.log([SIX["signal_sd"], SIX["lengthscale"], SIX["noise_sd"]]))
    assert found.evidence == pytest.approx(SIX["exact"], abs=1e-4)


def test_six_rows_with_side_noises():
    """The evidence that the local bound bounds where it has side noises: that of its own likelihoods."""
    problem = from_codes(np.array(SIX["x"])[:, None], SIX["y"], SIX["censored"])
    block, (lower, upper), sigma = gp(problem), SIX["side_noises"], SIX["noise_sd"]
    prior = np.log([SIX["signal_sd"], SIX["lengthscale"]])
    K = prior_covariance(Prior(None, (GPPrior(block.inputs, block.covariance),)), [prior])
    sides = SideNoise((-1.0, 1.0), (lower, upper))
    scale = np.concatenate([sides.scale(rows, sigma) * np.ones(len(rows)) for rows in problem.rows])
    found = exact_posterior(problem, K, scale)
    assert found.evidence == pytest.approx(SIX["with_side_noises"]["exact"], abs=1e-4)
    assert SIX["with_side_noises"]["vi local"] < SIX["with_side_noises"]["vi"] < found.evidence


def test_exact_rows_alone_are_regression():
    data = simulate("none", n=12)
    problem, theta = data.problem(), np.log([1.2, 0.6, 0.3])
    found, ep = solved(problem, "rbf", theta), solve(problem, [gp(problem)], theta, EPUpdates())
    assert found.error == 0.0
    assert found.evidence == pytest.approx(ep.evidence, abs=1e-8)
    mean, sd = marginals(ep, problem)
    np.testing.assert_allclose(found.mean, mean[problem.order], atol=1e-8)
    np.testing.assert_allclose(found.sd, sd[problem.order], atol=1e-8)


@pytest.mark.slow
def test_weights_are_copies():
    data = simulate("mixed", n=8, seed=3)
    twice = make_problem(data.X, data.lower, data.upper, np.full(8, 2.0))
    X, lower, upper = (np.concatenate([x, x]) for x in (data.X, data.lower, data.upper))
    theta = np.log([1.2, 0.6, 0.3])
    weighted, written = solved(twice, "rbf", theta), solved(make_problem(X, lower, upper), "rbf", theta)
    assert weighted.evidence == pytest.approx(written.evidence, abs=5.0 * (weighted.error + written.error))


def test_covariance_of_all_terms():
    rng = np.random.default_rng(0)
    X, H, code = rng.standard_normal((6, 1)), rng.standard_normal((6, 2)), np.array([0, 1, 0, 1, 2, 2])
    made = gp(make_problem(X, np.zeros(6), np.zeros(6))).covariance
    gps = (GPPrior(Inputs(X), made), GPPrior(Inputs(X, code), made))
    thetas = [np.log([1.2, 0.6]), np.log([0.5, 1.1])]
    level, of_level = rng.standard_normal((6, 1)), np.array([0, 0, 1, 1, 0, 2])
    K = prior_covariance(Prior(DenseBlock(H), gps, DenseBlock(level, of_level)), thetas)
    same = code[:, None] == code
    want = H @ H.T + (of_level[:, None] == of_level) * (level @ level.T)
    want += covariance("rbf", X, X, thetas[0]) + same * covariance("rbf", X, X, thetas[1])
    np.testing.assert_allclose(K, want, atol=1e-12)


@pytest.mark.parametrize(
    ("changes", "words"),
    [({"window": (-5.0, 5.0)}, "truncated"), ({"weight": np.full(8, 0.5)}, "whole numbers")],
)
def test_what_stands_in_the_way(changes, words):
    data = simulate("left", n=8)
    assert words in why_not_exact(make_problem(data.X, np.maximum(data.lower, -4.0), data.upper, **changes))
    assert why_not_exact(data.problem()) is None


def test_too_many_rows():
    n = 301
    assert "300" in why_not_exact(make_problem(np.zeros((n, 1)), np.full(n, -np.inf), np.zeros(n)))
