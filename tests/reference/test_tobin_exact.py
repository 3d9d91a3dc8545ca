"""Tobin's 20 rows, 13 of them censored, at fixed hyper-parameters: exact evidence and moments of f."""

import functools

import numpy as np
import pytest
from support.oracles import covariance, exact_evidence
from support.problems import from_codes, gp, marginals, predict, solve
from support.reference import load

from tobitgp import datasets
from tobitgp.inference import METHODS

REFERENCE = load("tobin_gp_exact.json")
CASES = {key: value for key, value in REFERENCE.items() if isinstance(value, dict) and "log_evidence" in value}
LESS_THAN = {"ep": 0.25, "vi": 2.0, "laplace": 2.0}  # nats from the exact evidence
MEAN = {"ep": 0.15, "vi": 0.3, "laplace": 1.4}  # exact sds


def rows_of(key):
    data = datasets.load("tobin")
    X, y = data[["age", "quant"]].to_numpy(float), data["durable"].to_numpy(float)
    keep = REFERENCE["one_censored_rows_0based"] if CASES[key]["n"] == 4 else slice(None)
    return X[keep], y[keep]


def theta_of(case):
    lengths = np.ravel(case["lengthscales"])
    return np.log([np.sqrt(case["signal_variance"]), *lengths, np.sqrt(case["noise_variance"])])


@functools.cache
def settled(key, name):
    """Posterior of f less its prior mean, which is taken from the response and the limit."""
    case = CASES[key]
    X, y = rows_of(key)
    problem = from_codes(X, y - case["mean"], np.where(y > 0.0, 0, -1))
    return problem, solve(problem, [gp(problem, case["kernel"])], theta_of(case), METHODS[name]())


@pytest.mark.parametrize("key", CASES)
def test_ends_are_those_of_the_reference(key):
    _, y = rows_of(key)
    assert (len(y), int((y == 0).sum())) == (CASES[key]["n"], CASES[key]["n_censored"])


@pytest.mark.parametrize("key", CASES)
@pytest.mark.parametrize("name", METHODS)
def test_evidence(key, name):
    gap = settled(key, name)[1].evidence - CASES[key]["log_evidence"]
    assert abs(gap) < LESS_THAN[name]
    if name == "vi":
        assert gap < 3.0 * CASES[key]["log_evidence_std_error"]


@pytest.mark.parametrize("key", CASES)
@pytest.mark.parametrize("name", METHODS)
def test_moments_at_training_and_new_rows(key, name):
    problem, posterior = settled(key, name)
    new = predict(posterior, np.array(REFERENCE["test_inputs"]))
    for place, (mean, sd) in (("training", marginals(posterior, problem)), ("test", new)):
        exact = CASES[key][f"posterior_at_{place}"]
        exact_sd = np.sqrt(exact["f_var"])
        assert np.abs((mean + CASES[key]["mean"] - exact["f_mean"]) / exact_sd).max() < MEAN[name]
        if name != "laplace":
            assert (sd / exact_sd).max() < 1.02
            assert (sd / exact_sd).min() > 0.6


@pytest.mark.parametrize("key", CASES)
def test_the_exact_oracle_agrees(key):
    case = CASES[key]
    X, y = rows_of(key)
    y = y - case["mean"]
    censored = y <= -case["mean"]
    K = covariance(case["kernel"], X, X, theta_of(case)[:-1])
    got = exact_evidence(K, np.sqrt(case["noise_variance"]), np.where(censored, -np.inf, y), y, log2n=14)
    exact = case["posterior_at_training"]
    assert got[0] == pytest.approx(case["log_evidence"], abs=2e-4)
    np.testing.assert_allclose(got[2] + case["mean"], exact["f_mean"], atol=5e-3)
    np.testing.assert_allclose(got[3] ** 2, exact["f_var"], rtol=4e-3)
