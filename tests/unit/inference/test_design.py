"""Central composite designs."""

import itertools

import numpy as np
import pytest

from tobitgp.inference.fitted import MAX_DIMENSION, TWO_SPHERES, central_composite, two_level


def rule(k):
    """Points, and probabilities that include the normal density relative to the centre's."""
    z, weight = central_composite(k)
    return z, weight * np.exp(-0.5 * (z**2).sum(axis=1))


def normal_moment(powers):
    """E of a product of powers of independent standard normals."""
    return np.prod([0.0 if a % 2 else float(np.prod(np.arange(a - 1, 0, -2))) for a in powers])


@pytest.mark.parametrize("k", range(0, 9))
def test_moments_of_degree_four(k):
    z, p = rule(k)
    for degree in range(5 if k > 4 else 6):  # a fraction of the cube leaves out some of degree 5
        for chosen in itertools.combinations_with_replacement(range(k), degree):
            powers = np.bincount(chosen, minlength=k)
            if k > TWO_SPHERES and powers.max(initial=0) == 1 and degree == 4:
                continue  # two products of two parameters each
            assert p @ np.prod(z**powers, axis=1) == pytest.approx(normal_moment(powers), abs=1e-11)


@pytest.mark.parametrize("k", range(1, 6))
def test_two_spheres_meet_the_distance_to_degree_eight(k):
    """E r^(2m) = k (k + 2) ... (k + 2m - 2) of a chi distribution."""
    z, p = rule(k)
    square = (z**2).sum(axis=1)
    for m in range(5):
        assert p @ square**m == pytest.approx(np.prod(k + 2.0 * np.arange(m)), rel=1e-11)


def test_size():
    for k, points in ((1, 5), (2, 17), (3, 29), (5, 53), (6, 29), (10, 53), (18, 101)):
        z, weight = central_composite(k)
        assert len(z) == len(weight) == points
        assert (weight > 0.0).all()


@pytest.mark.parametrize("k", range(1, MAX_DIMENSION + 1))
def test_two_level_designs_separate_main_effects_and_products(k):
    X = two_level(k)
    assert set(np.unique(X)) == {-1.0, 1.0}
    pairs = np.column_stack([np.ones(len(X)), *(X[:, i] * X[:, j] for i, j in itertools.combinations(range(k), 2))])
    np.testing.assert_array_equal(X.T @ X / len(X), np.eye(k))
    np.testing.assert_array_equal(X.T @ pairs, 0.0)
    apart = pairs if k <= TWO_SPHERES else pairs[:, :1]  # beyond, some products of two are the same
    np.testing.assert_array_equal(apart.T @ apart / len(X), np.eye(apart.shape[1]))
