"""What every kernel owes to a block."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from support.differences import gradient
from support.oracles import correlation

from tobitgp.priors.kernels import KERNELS, Covariance, KernelFactor

pytestmark = pytest.mark.diagonal

LENGTHS = np.array([0.4, 1.3, 2.0])
SHAPES = {"alpha": 1.4, "arc": 0.8, "period": 1.7}
ROUNDING = 1e-12  # scaled inputs up to 30, whose squares carry 1e-13
ONE_INPUT = ("periodic",)
STATIONARY = [name for name, kernel in KERNELS.items() if kernel.stationary]
NO_SHAPE = np.empty(0)


def shape(name):
    return np.array([SHAPES[role] for role in KERNELS[name].shape])


def inputs(name, n, rng, d=3):
    return rng.standard_normal((n, 1 if name in ONE_INPUT else d))


def parameters(name, d):
    return np.concatenate([LENGTHS[: d if KERNELS[name].scaled else 0], shape(name)])


@pytest.fixture(params=KERNELS)
def name(request):
    return request.param


@settings(max_examples=30, deadline=None)
@given(X=arrays(float, (9, 2), elements=st.floats(-30.0, 30.0)))
@pytest.mark.parametrize("kernel", STATIONARY)
def test_is_a_correlation_matrix(kernel, X):
    X = X[:, :1] if kernel in ONE_INPUT else X
    K = KERNELS[kernel].value(X, X, shape(kernel))
    np.testing.assert_allclose(K, K.T, rtol=0, atol=ROUNDING)
    np.testing.assert_allclose(np.diag(K), 1.0, rtol=0, atol=ROUNDING)
    assert (K >= 0.0).all()
    assert (K <= 1.0 + ROUNDING).all()
    assert np.linalg.eigvalsh(K).min() > -1e-11


def test_agrees_with_its_formula(name, rng):
    X, Z = inputs(name, 20, rng), inputs(name, 7, rng)
    at = parameters(name, X.shape[1])
    factor = KernelFactor(KERNELS[name], slice(0, X.shape[1]))
    np.testing.assert_allclose(factor.value(X, Z, at), correlation(name, X, Z, at), rtol=1e-12, atol=1e-15)


def test_agrees_with_scikit_learn(name, rng):
    kernels = pytest.importorskip("sklearn.gaussian_process.kernels")
    theirs = {
        "rbf": kernels.RBF(LENGTHS),
        "matern12": kernels.Matern(LENGTHS, nu=0.5),
        "matern32": kernels.Matern(LENGTHS, nu=1.5),
        "matern52": kernels.Matern(LENGTHS, nu=2.5),
        "rq": kernels.RationalQuadratic(1.0, alpha=SHAPES["alpha"]),
        "periodic": kernels.ExpSineSquared(SHAPES["arc"], SHAPES["period"]),
        "linear": kernels.DotProduct(0.0),
    }.get(name)
    if theirs is None:
        pytest.skip("scikit-learn has no such kernel")
    X, Z = inputs(name, 20, rng), inputs(name, 7, rng)
    scale = LENGTHS if KERNELS[name].scaled else np.ones(X.shape[1])
    ours = KERNELS[name].value(X / scale, Z / scale, shape(name))
    # Their rational quadratic has one length-scale, so it is given scaled inputs.
    want = theirs(X / scale, Z / scale) if name == "rq" else theirs(X, Z)
    np.testing.assert_allclose(ours, want, rtol=1e-11, atol=1e-14)


@pytest.mark.parametrize("kernel", STATIONARY)
def test_knows_only_differences(kernel, rng):
    X, Z, shift = inputs(kernel, 20, rng, 2), inputs(kernel, 7, rng, 2), np.array([3.0, -5.0])
    shift = shift[: X.shape[1]]
    here = KERNELS[kernel].value(X, Z, shape(kernel))
    there = KERNELS[kernel].value(X + shift, Z + shift, shape(kernel))
    np.testing.assert_allclose(here, there, rtol=0, atol=ROUNDING)


def test_diagonal(name, rng):
    X = inputs(name, 9, rng)
    K = KERNELS[name].value(X, X, shape(name))
    np.testing.assert_allclose(KERNELS[name].diagonal(X), np.diag(K), rtol=1e-13)


def check_contract(covariance, X, Z, at, rng):
    G = rng.standard_normal((len(X), len(Z)))
    got = covariance.contract(X, Z, at, covariance.value(X, Z, at), G)
    want = gradient(lambda t: float((G * covariance.value(X, Z, np.exp(t))).sum()), np.log(at), 3e-4)
    assert got.shape == (covariance.n_parameters,)
    np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("coincident", [False, True])
def test_contract_is_the_derivative_in_log_parameters(name, coincident, rng):
    X = inputs(name, 12, rng)
    Z = X if coincident else inputs(name, 5, rng)
    covariance = Covariance((KernelFactor(KERNELS[name], slice(0, X.shape[1])),))
    check_contract(covariance, X, Z, parameters(name, X.shape[1]), rng)


@pytest.mark.parametrize("ard", [True, False])
@pytest.mark.parametrize("second", KERNELS)
def test_pairs_are_entries_of_the_matrix(name, second, ard, rng):
    X, Z, G = rng.standard_normal((6, 2)), rng.standard_normal((6, 2)), rng.standard_normal(6)
    factors = KernelFactor(KERNELS[name], slice(0, 1), ard), KernelFactor(KERNELS[second], slice(1, 2), ard)
    at = np.concatenate([parameters(name, 1), 1.1 * parameters(second, 1)])
    for covariance, own in ((Covariance(factors), at), (Covariance(factors[:1]), parameters(name, 1))):
        K = covariance.value(X, Z, own)
        pairs = covariance.value_pairs(X, Z, own)
        np.testing.assert_allclose(pairs, np.diag(K), rtol=1e-12)
        slopes = covariance.contract_pairs(X, Z, own, pairs, G)
        np.testing.assert_allclose(slopes, covariance.contract(X, Z, own, K, np.diag(G)), rtol=1e-11, atol=1e-12)


@pytest.mark.parametrize("second", KERNELS)
def test_contract_of_products(name, second, rng):
    X, Z = rng.standard_normal((12, 2)), rng.standard_normal((5, 2))
    covariance = Covariance((KernelFactor(KERNELS[name], slice(0, 1)), KernelFactor(KERNELS[second], slice(1, 2))))
    check_contract(covariance, X, Z, np.concatenate([parameters(name, 1), 1.1 * parameters(second, 1)]), rng)


@pytest.mark.parametrize("kernel", [name for name in KERNELS if KERNELS[name].scaled])
def test_one_lengthscale_for_all_inputs(kernel, rng):
    X, Z, at = rng.standard_normal((12, 3)), rng.standard_normal((5, 3)), parameters(kernel, 1)
    same = np.concatenate([np.full(3, at[0]), at[1:]])
    isotropic, ard = (Covariance((KernelFactor(KERNELS[kernel], slice(0, 3), own),)) for own in (False, True))
    np.testing.assert_array_equal(isotropic.value(X, Z, at), ard.value(X, Z, same))
    check_contract(isotropic, X, Z, at, rng)


def test_product_of_rbf_kernels_is_one_over_both_inputs(rng):
    X, Z, rbf = rng.standard_normal((12, 2)), rng.standard_normal((5, 2)), KERNELS["rbf"]
    both = Covariance((KernelFactor(rbf, slice(0, 2)),))
    apart = Covariance((KernelFactor(rbf, slice(0, 1)), KernelFactor(rbf, slice(1, 2))))
    np.testing.assert_allclose(both.value(X, Z, LENGTHS[:2]), apart.value(X, Z, LENGTHS[:2]), rtol=1e-12)


def test_without_factors_it_is_constant():
    X, Z, constant = np.empty((4, 0)), np.empty((2, 0)), Covariance(())
    np.testing.assert_array_equal(constant.value(X, Z, NO_SHAPE), np.ones((4, 2)))
    np.testing.assert_array_equal(constant.diagonal(X), np.ones(4))
    assert constant.contract(X, Z, NO_SHAPE, np.ones((4, 2)), np.ones((4, 2))).shape == (0,)


def test_contract_leaves_its_arguments_alone(name, rng):
    X, Z, G = inputs(name, 6, rng, 2), inputs(name, 4, rng, 2), rng.standard_normal((6, 4))
    K = KERNELS[name].value(X, Z, shape(name))
    copies = [a.copy() for a in (X, Z, K, G)]
    KERNELS[name].contract(X, Z, shape(name), K, G)
    for before, after in zip(copies, (X, Z, K, G), strict=True):
        np.testing.assert_array_equal(before, after)


def check_contract_inputs(covariance, X, Z, at, rng):
    G = rng.standard_normal((len(X), len(Z)))
    got = covariance.contract_inputs(X, Z, at, covariance.value(X, Z, at), G)
    want = gradient(lambda z: float((G * covariance.value(X, z.reshape(Z.shape), at)).sum()), Z.ravel(), 3e-4)
    assert got.shape == Z.shape
    np.testing.assert_allclose(got.ravel(), want, rtol=1e-9, atol=2e-9)


def test_contract_inputs_is_the_derivative_in_the_second_input(name, rng):
    X = inputs(name, 12, rng)
    covariance = Covariance((KernelFactor(KERNELS[name], slice(0, X.shape[1])),))
    check_contract_inputs(covariance, X, inputs(name, 5, rng), parameters(name, X.shape[1]), rng)


@pytest.mark.parametrize("second", KERNELS)
def test_contract_inputs_of_products(name, second, rng):
    X, Z = rng.standard_normal((12, 2)), rng.standard_normal((5, 2))
    covariance = Covariance((KernelFactor(KERNELS[name], slice(0, 1)), KernelFactor(KERNELS[second], slice(1, 2))))
    check_contract_inputs(covariance, X, Z, np.concatenate([parameters(name, 1), 1.1 * parameters(second, 1)]), rng)


@pytest.mark.parametrize("kernel", [name for name in KERNELS if KERNELS[name].scaled])
def test_contract_inputs_with_one_lengthscale(kernel, rng):
    X, Z, at = rng.standard_normal((12, 3)), rng.standard_normal((5, 3)), parameters(kernel, 1)
    check_contract_inputs(Covariance((KernelFactor(KERNELS[kernel], slice(0, 3), False),)), X, Z, at, rng)


@pytest.mark.parametrize("kernel", STATIONARY)
def test_a_correlation_has_no_slope_where_inputs_meet(kernel, rng):
    """On the diagonal of K_MM, where both arguments move as one."""
    Z, covariance = inputs(kernel, 5, rng), Covariance((KernelFactor(KERNELS[kernel], slice(None)),))
    factor = KernelFactor(KERNELS[kernel], slice(0, Z.shape[1]))
    covariance, at = Covariance((factor,)), parameters(kernel, Z.shape[1])
    slopes = covariance.contract_inputs(Z, Z, at, covariance.value(Z, Z, at), np.eye(5))
    np.testing.assert_allclose(slopes, 0.0, atol=1e-13)


def test_without_inputs_there_is_no_slope():
    X, Z = np.empty((4, 0)), np.empty((2, 0))
    assert Covariance(()).contract_inputs(X, Z, NO_SHAPE, np.ones((4, 2)), np.ones((4, 2))).shape == (2, 0)
