"""Names, units and priors of hyper-parameters."""

import dataclasses

import numpy as np
import pytest
from support.differences import gradient

from tobitgp.inference.hyperparameters import Parameters, default_prior


@pytest.fixture
def parameters():
    return Parameters(
        ("sd", "lengthscale", "a", "sigma"),
        ("sd", "lengthscale", "lengthscale", "sigma"),
        np.array([2.0, 3.0, 5.0, 2.0]),
        np.array([0.4, -0.3, 0.0, -2.0]),
        np.array([0.8, 0.7, np.inf, 1.0]),
        np.array([True, True, True, False]),
        np.full(4, np.nan),
    )


def test_values_are_in_the_users_units(parameters):
    np.testing.assert_allclose(parameters.values(np.log([1.0, 2.0, 3.0, 4.0])), [2.0, 6.0, 15.0, 8.0])
    assert parameters.n_free == 3


def test_log_prior_counts_free_parameters_that_have_one(parameters):
    theta = np.array([0.1, 0.2, 9.0, 9.0])
    want = sum(
        -0.5 * ((t - m) / s) ** 2 - np.log(s * np.sqrt(2.0 * np.pi)) for t, m, s in ((0.1, 0.4, 0.8), (0.2, -0.3, 0.7))
    )
    value, slope = parameters.log_prior(theta)
    assert value == pytest.approx(want, rel=1e-13)
    np.testing.assert_allclose(slope, gradient(lambda t: parameters.log_prior(t)[0], theta, 1e-3), atol=1e-9)


def test_default_priors_are_those_of_the_notes():
    np.testing.assert_allclose(default_prior("lengthscale", 1), (0.0, 1.0))
    np.testing.assert_allclose(default_prior("sd", 1), (0.0, 1.0))
    np.testing.assert_allclose(default_prior("sigma", 1), (np.log(0.5), 1.0))
    assert default_prior("lengthscale", 4)[0] == pytest.approx(np.log(2.0))


def test_processes_share_the_variance_of_the_response():
    for n_terms in (1, 2, 7):
        assert n_terms * np.exp(2.0 * default_prior("sd", 1, n_terms=n_terms)[0]) == pytest.approx(1.0)
    assert default_prior("sd", 1, of_noise=True, n_terms=4) == default_prior("sd", 1, of_noise=True)


def test_a_side_noise_fixed_at_zero_has_no_part_in_the_prior(parameters):
    """Its logarithm is -inf, whatever became of its prior."""
    fixed = dataclasses.replace(parameters, prior_sd=np.array([0.8, 0.7, np.inf, np.inf]))
    theta = np.array([0.1, 0.2, 9.0, -np.inf])
    value, slope = fixed.log_prior(theta)
    assert value == parameters.log_prior(theta)[0] == parameters.log_prior(np.array([0.1, 0.2, 9.0, 9.0]))[0]
    assert list(slope[2:]) == [0.0, 0.0]
