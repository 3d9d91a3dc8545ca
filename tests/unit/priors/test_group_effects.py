"""Random effects as features: covariances from canonical partial correlations, their prior, and all derivatives."""

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from tobitgp.priors.group_effects import EffectParameters, EffectsBlock, correlation_root, correlation_slopes, psi_of
from tobitgp.priors.structure import Grouping, Inputs

PSI = np.array([0.5, -0.3, 0.8, 1.1, -0.7, 0.2])


def differences(f, x):
    return np.array([(f(x + h) - f(x - h)) / 2e-5 for h in 1e-5 * np.eye(len(x))])


def test_any_psi_gives_correlations_and_they_give_it_back():
    C = correlation_root(PSI, 4)
    R = C @ C.T
    np.testing.assert_allclose(R.diagonal(), 1.0, rtol=1e-14)
    assert np.linalg.eigvalsh(R)[0] > 0.0
    np.testing.assert_allclose(psi_of(R), PSI, rtol=1e-10)
    assert correlation_root(PSI[:1], 2)[1, 0] == pytest.approx(np.tanh(0.5))


def test_slopes_of_the_root_are_those_of_differences():
    found = np.array(list(correlation_slopes(PSI, correlation_root(PSI, 4))))
    np.testing.assert_allclose(found, differences(lambda psi: correlation_root(psi, 4), PSI), atol=1e-9)


@pytest.mark.parametrize("n_parameters", [3, 6])
def test_gradient_of_the_features_is_that_of_differences(n_parameters):
    rng = np.random.default_rng(0)
    X, G = rng.normal(size=(2, 9, 3))
    theta = 0.4 * rng.normal(size=n_parameters)
    block = EffectsBlock(Inputs(X, np.zeros(9, dtype=np.intp)), Grouping("g", 1), n_parameters)

    def value(theta):
        return float(np.sum(G * block.at(theta).features(X).A))

    at = block.at(theta)
    found = at.finish(at.backward(X, at.features(X), G, np.zeros(9)))
    np.testing.assert_allclose(found, approx_fprime(theta, value, 1e-7), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(at.mean(X, np.arange(3.0)), at.features(X).A @ np.arange(3.0))


def test_prior_of_two_has_the_value_of_the_notes():
    term = EffectParameters(0, 2, True, np.eye(2), 2.0)
    value, slope = term.log_prior(np.array([0.0, 0.0, 0.5]))
    assert value == pytest.approx(-0.76814010, abs=1e-8)
    np.testing.assert_allclose(slope, -2.0 * 2.0 * np.tanh(0.5))


@pytest.mark.parametrize("eta", [1.0, 2.5])
def test_prior_is_a_power_of_the_determinant_in_the_correlations(eta):
    term, q = EffectParameters(0, 4, True, np.eye(4), eta), 4

    def excess(psi):
        R = correlation_root(psi, q) @ correlation_root(psi, q).T
        below = np.tril_indices(q, -1)
        J = differences(lambda p: (correlation_root(p, q) @ correlation_root(p, q).T)[below], psi)
        there = np.concatenate([np.zeros(q), psi])
        return term.log_prior(there)[0] - (eta - 1.0) * np.linalg.slogdet(R)[1] - np.linalg.slogdet(J)[1]

    assert excess(PSI) == pytest.approx(excess(-0.4 * PSI[::-1]), abs=1e-7)


def test_what_is_reported_is_of_the_coefficients_of_columns_as_they_are():
    T = np.array([[1.0, -2.0, 0.7], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    term, theta = EffectParameters(0, 3, True, T), np.concatenate([[0.2, -0.5, 0.1], PSI[:3]])
    out, J = term.report(theta)
    C = correlation_root(PSI[:3], 3)
    V = T @ (np.exp(theta[:3, None]) * C) @ (np.exp(theta[:3, None]) * C).T @ T.T
    sd = np.sqrt(V.diagonal())
    np.testing.assert_allclose(np.exp(out[:3]), sd, rtol=1e-12)
    np.testing.assert_allclose(np.tanh(out[3:]), (V / np.outer(sd, sd))[np.tril_indices(3, -1)], rtol=1e-12)
    np.testing.assert_allclose(J.T, differences(lambda at: term.report(at)[0], theta), atol=1e-8)


def test_a_start_is_led_to_centred_columns_and_back():
    T = np.array([[1.0, -2.0, 0.7], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    term, theta = EffectParameters(0, 3, True, T), np.concatenate([[0.2, -0.5, 0.1], PSI[:3]])
    sds, z = np.split(term.report(theta)[0], [3])
    R = np.eye(3)
    R[np.tril_indices(3, -1)] = np.tanh(z)
    given = np.concatenate([sds, psi_of(R + np.tril(R, -1).T)])
    np.testing.assert_allclose(term.centre(given), theta, rtol=1e-9)
