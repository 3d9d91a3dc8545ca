"""Linear columns: whitening and back, default sizes, user priors."""

import numpy as np
import pytest

from tobitgp.errors import SpecError
from tobitgp.priors.hyperpriors import LogNormal, Normal
from tobitgp.priors.prior import DenseBlock, LinearPrior, default_sd


@pytest.fixture
def H(rng):
    return np.column_stack([np.ones(8), rng.normal(3.0, 2.0, 8), rng.normal(-1.0, 0.1, 8)])


@pytest.mark.parametrize("intercept", [0, None])
def test_coefficients_give_the_same_mean_as_features(H, intercept, rng):
    """centre + scale (features w) + prior mean = H beta, whatever the weights."""
    centre = np.array([0.0, *H[:, 1:].mean(axis=0)]) if intercept == 0 else np.zeros(3)
    prior = LinearPrior(np.array([0.0, 0.5, -1.0]), np.array([4.0, 2.0, 30.0]), centre, intercept)
    w, scale, shift = rng.standard_normal(3), 2.5, 7.0 if intercept == 0 else 0.0
    from_features = shift + scale * prior.features(H, scale) @ w + (H - centre) @ prior.mean
    np.testing.assert_allclose(H @ prior.coefficients(w, shift), from_features, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("intercept", [0, None])
def test_covariance_is_that_of_the_coefficients(H, intercept, rng):
    centre = np.array([0.0, 3.0, -1.0]) if intercept == 0 else np.zeros(3)
    prior = LinearPrior(np.zeros(3), np.array([4.0, 2.0, 0.0]), centre, intercept)
    root = rng.standard_normal((3, 3))
    columns = np.column_stack([prior.coefficients(r, 0.0) for r in root.T])
    np.testing.assert_allclose(prior.covariance(root @ root.T), columns @ columns.T, rtol=1e-12, atol=1e-12)


def test_default_sd_is_in_units_of_response_per_column(H):
    ten = np.full(3, 10.0)
    mean, spread = H.mean(axis=0), H.std(axis=0)
    sd = default_sd(mean, spread, 2.0, ten)
    np.testing.assert_allclose(sd, [20.0, 20.0 / H[:, 1].std(), 20.0 / H[:, 2].std()])
    np.testing.assert_allclose(default_sd(5.0 * mean, 5.0 * spread, 2.0, ten), sd / 5.0)
    assert default_sd(np.zeros(1), np.zeros(1), 2.0, ten[:1])[0] == 20.0


def test_dense_block_has_nothing_to_learn(H):
    at = DenseBlock(H).at(np.zeros(0))
    f = at.features(H)
    assert (DenseBlock(H).n_parameters, at.size) == (0, 3)
    np.testing.assert_array_equal(f.d, 0.0)
    assert f.A is H
    assert at.finish(at.backward(H, f, H, np.ones(8))).shape == (0,)


@pytest.mark.parametrize("arguments", [(0.0, 1.0), (1.0, 0.0), (-1.0, 1.0), (np.inf, 1.0), (1.0, np.nan)])
def test_lognormal_refuses(arguments):
    with pytest.raises(SpecError, match="positive"):
        LogNormal(*arguments)


@pytest.mark.parametrize("arguments", [(np.nan, 1.0), (np.inf, 1.0), (0.0, 0.0), (0.0, -1.0), (0.0, np.inf)])
def test_normal_refuses(arguments):
    with pytest.raises(SpecError, match="positive sd"):
        Normal(*arguments)
