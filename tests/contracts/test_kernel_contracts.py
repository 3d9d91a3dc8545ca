"""What every kernel owes to a block."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from support.differences import gradient
from support.oracles import covariance

from tobitgp.prior.kernels import KERNELS

LENGTHS = np.array([0.4, 1.3, 2.0])
ROUNDING = 1e-12  # scaled inputs up to 30, whose squares carry 1e-13
INPUTS = arrays(float, (9, 2), elements=st.floats(-30.0, 30.0))


@pytest.fixture(params=KERNELS)
def name(request):
    return request.param


@settings(max_examples=30, deadline=None)
@given(X=INPUTS)
@pytest.mark.parametrize("kernel", KERNELS)
def test_is_a_correlation_matrix(kernel, X):
    K = KERNELS[kernel].value(X, X)
    np.testing.assert_allclose(K, K.T, rtol=0, atol=ROUNDING)
    np.testing.assert_allclose(np.diag(K), 1.0, rtol=0, atol=ROUNDING)
    assert (K >= 0.0).all()
    assert (K <= 1.0 + ROUNDING).all()
    assert np.linalg.eigvalsh(K).min() > -1e-11


def test_agrees_with_its_formula(name, rng):
    X, Z = rng.standard_normal((20, 3)), rng.standard_normal((7, 3))
    got = KERNELS[name].value(X / LENGTHS, Z / LENGTHS)
    np.testing.assert_allclose(got, covariance(name, X, Z, np.log([1.0, *LENGTHS])), rtol=1e-12, atol=1e-15)


def test_agrees_with_scikit_learn(name, rng):
    kernels = pytest.importorskip("sklearn.gaussian_process.kernels")
    order = {"matern12": 0.5, "matern32": 1.5, "matern52": 2.5}
    theirs = kernels.Matern(LENGTHS, nu=order[name]) if name in order else kernels.RBF(LENGTHS)
    X, Z = rng.standard_normal((20, 3)), rng.standard_normal((7, 3))
    np.testing.assert_allclose(KERNELS[name].value(X / LENGTHS, Z / LENGTHS), theirs(X, Z), rtol=1e-11, atol=1e-14)


def test_knows_only_differences(name, rng):
    X, Z, shift = rng.standard_normal((20, 2)), rng.standard_normal((7, 2)), np.array([3.0, -5.0])
    here, there = KERNELS[name].value(X, Z), KERNELS[name].value(X + shift, Z + shift)
    np.testing.assert_allclose(here, there, rtol=0, atol=ROUNDING)


@pytest.mark.parametrize("coincident", [False, True])
def test_contract_is_the_derivative_in_log_lengthscales(name, coincident, rng):
    X = rng.standard_normal((12, 3))
    Z = X if coincident else rng.standard_normal((5, 3))
    G = rng.standard_normal((len(X), len(Z)))

    def total(log_lengths):
        return float((G * KERNELS[name].value(X / np.exp(log_lengths), Z / np.exp(log_lengths))).sum())

    at = np.log(LENGTHS)
    U, V = X / LENGTHS, Z / LENGTHS
    got = KERNELS[name].contract(U, V, KERNELS[name].value(U, V), G)
    np.testing.assert_allclose(got, gradient(total, at, 1e-3), rtol=1e-9, atol=1e-9)


def test_contract_leaves_its_arguments_alone(name, rng):
    X, Z, G = rng.standard_normal((6, 2)), rng.standard_normal((4, 2)), rng.standard_normal((6, 4))
    K = KERNELS[name].value(X, Z)
    copies = [a.copy() for a in (X, Z, K, G)]
    KERNELS[name].contract(X, Z, K, G)
    for before, after in zip(copies, (X, Z, K, G), strict=True):
        np.testing.assert_array_equal(before, after)
