"""Linear columns: whitening and back, default sizes, user priors."""

import numpy as np
import pytest

from tobitgp.data.absorbed import Absorbed
from tobitgp.errors import SpecError
from tobitgp.numerics.bordered import Factored, dense
from tobitgp.priors.coefficients import default_sd
from tobitgp.priors.hyperpriors import LogNormal, Normal
from tobitgp.priors.prior import DenseBlock, LevelColumns, LinearPrior
from tobitgp.priors.structure import Grouping


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


def test_covariance_without_entries_is_that_with_them(rng):
    """Of columns of which the middle ones, an absorbed factor's, are not centred."""
    factor = LevelColumns(1, 3, 0, Grouping("g", 3))
    prior = LinearPrior(np.zeros(5), rng.uniform(1.0, 2.0, 5), np.array([0.0, 0.0, 0.0, 0.0, 3.0]), 0, factor)
    S = Factored(rng.standard_normal((5, 2)), np.array([0.0, 1.0, 2.0, 3.0, 0.0]))
    np.testing.assert_allclose(dense(prior.covariance(S)), prior.covariance(dense(S)), rtol=1e-12)


@pytest.mark.parametrize("intercept", [0, None])
def test_of_correlated_coefficients(H, intercept, rng):
    """A root in the place of the sds; without an intercept the response's mean goes to columns that add up to 1."""
    root = np.triu(rng.standard_normal((3, 3)))
    centre = np.array([0.0, *H[:, 1:].mean(axis=0)]) if intercept == 0 else np.zeros(3)
    constant = None if intercept == 0 else np.array([1.0, 0.0, 0.0])
    prior = LinearPrior(np.zeros(3), np.ones(3), centre, intercept, None, root, constant)
    w, scale, shift = rng.standard_normal(3), 2.5, 7.0
    f = shift + scale * prior.features(H, scale) @ w
    np.testing.assert_allclose(H @ prior.coefficients(w, shift), f, rtol=1e-12, atol=1e-12)
    S = rng.standard_normal((3, 3))
    columns = np.column_stack([prior.coefficients(r, 0.0) for r in S.T])
    np.testing.assert_allclose(prior.covariance(S @ S.T), columns @ columns.T, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", ["cells", "constant", "root"])
def test_beside_an_absorbed_factor(rng, kind):
    """Features give the f of the coefficients, and covariances without entries are those with them."""
    code = np.array([0, 1, 2, 0, 1, 2, 1, 0])
    value = (code > 0).astype(float) if kind == "cells" else np.ones(8)
    code = np.maximum(code - 1, 0) if kind == "cells" else code
    size, first = (2, 1) if kind == "cells" else (3, 0)
    common = np.column_stack([np.ones(8), rng.normal(3.0, 1.0, (8, 2))])[:, 1 - first :]
    H = Absorbed(common, value, code, first, size)
    p, factor = H.shape[1], LevelColumns(first, size, 0, Grouping("g", size))
    centre = np.array([0.0] * (first + size) + [3.0, 3.1])
    constant = None if kind == "cells" else np.array([1.0] * 3 + [0.0] * 2)
    root = np.array([[1.0, 0.5], [0.0, 2.0]]) if kind == "root" else None
    place = 0 if kind == "cells" else None
    sd = rng.uniform(1.0, 2.0, p)
    prior = LinearPrior(np.zeros(p), sd, centre, place, factor, root, constant, kind == "cells")
    w, shift = rng.standard_normal(p), 7.0
    beside, own = prior.inputs(H, [None], 2.0)
    of_common, of_levels = H.split(w)
    f = shift + 2.0 * (beside.X @ of_common + own.X[:, 0] * of_levels[own.code])
    np.testing.assert_allclose(H @ prior.coefficients(w, shift), f, rtol=1e-12)
    S = Factored(rng.standard_normal((p, 2)), np.where(np.isin(np.arange(p), range(first, first + size)), 1.5, 0.0))
    np.testing.assert_allclose(dense(prior.covariance(S)), prior.covariance(dense(S)), rtol=1e-11, atol=1e-11)


def test_inputs_are_the_columns_taken_apart(rng):
    """The code of each row is that of its group, of which a process may have more than there are columns."""
    H = Absorbed(rng.standard_normal((6, 2)), np.array([1.0, 0, 1, 1, 0, 1]), np.array([0, 0, 1, 2, 0, 1]), 1, 3)
    mean, sd, centre = np.zeros(5), np.array([4.0, 1.0, 2.0, 3.0, 5.0]), np.array([0.0, 0, 0, 0, 0.7])
    codes = [None, np.array([1, 0, 2, 3, 0, 2])]
    for factor, code in (
        (LevelColumns(1, 3, 0, Grouping("a", 3)), H.code),
        (LevelColumns(1, 3, 1, Grouping("g", 4), 1), codes[1]),
    ):
        prior = LinearPrior(mean, sd, centre, 0, factor)
        common, own = prior.inputs(H, codes, 2.0)
        whitened = LinearPrior(mean, sd, centre, 0).features(H.dense(), 2.0)
        np.testing.assert_allclose(common.X, whitened[:, [0, 4]], rtol=1e-12)
        np.testing.assert_allclose(own.X[:, 0], whitened[:, 1:4].sum(axis=1), rtol=1e-12)
        np.testing.assert_array_equal(own.code, code)


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
    with pytest.raises(SpecError, match="sd positive"):
        Normal(*arguments)
