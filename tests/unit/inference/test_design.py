"""Central composite designs."""

import itertools

import numpy as np
import pytest

from tobitgp.inference.design import MAX_DIMENSION, central_composite, two_level


def rule(k):
    """Points, and probabilities that include the normal density relative to the centre's."""
    z, weight = central_composite(k)
    return z, weight * np.exp(-0.5 * (z**2).sum(axis=1))


@pytest.mark.parametrize("k", range(0, 9))
def test_moments_to_order_three(k):
    z, p = rule(k)
    assert p.sum() == pytest.approx(1.0, abs=1e-12)
    np.testing.assert_allclose(p @ z, 0.0, atol=1e-12)
    np.testing.assert_allclose(z.T @ (p[:, None] * z), np.eye(k), atol=1e-12)
    for i, j, l in itertools.combinations_with_replacement(range(k), 3):
        assert p @ (z[:, i] * z[:, j] * z[:, l]) == pytest.approx(0.0, abs=1e-12)


def test_size_for_three_parameters():
    z, weight = central_composite(3)
    assert len(z) == 15
    assert (weight > 0.0).all()
    np.testing.assert_allclose((z[1:] ** 2).sum(axis=1), 3 * 1.1**2)


@pytest.mark.parametrize("k", range(1, MAX_DIMENSION + 1))
def test_two_level_designs_separate_main_effects_and_products(k):
    X = two_level(k)
    assert set(np.unique(X)) == {-1.0, 1.0}
    pairs = [X[:, i] * X[:, j] for i, j in itertools.combinations(range(k), 2)]
    effects = np.column_stack([np.ones(len(X)), X, *pairs])
    gram = effects.T @ effects / len(X)
    np.testing.assert_array_equal(gram, np.eye(effects.shape[1]))
