"""Products of rows, against matrices written out."""

import numpy as np
import pytest

from tobitgp.numerics.linear_algebra import gram, triangular_product

# The last is more than numpy's own product is used for.
SHAPES = [(1, 1), (7, 3), (100, 60), (3, 20), (0, 4), (4, 0), (0, 0), (300, 30)]


def lower(M, rng):
    return np.asfortranarray(np.tril(rng.standard_normal((M, M))))


@pytest.mark.parametrize(("n", "M"), SHAPES)
def test_products(n, M, rng):
    A, T = rng.standard_normal((n, M)), lower(M, rng)
    np.testing.assert_allclose(triangular_product(A.copy(), T, transposed=True), A @ T.T, atol=1e-13)
    np.testing.assert_allclose(triangular_product(A.copy(), T, transposed=False), A @ T, atol=1e-13)


@pytest.mark.parametrize(("n", "M"), SHAPES)
def test_gram_of_weights_of_either_sign(n, M, rng):
    A, scale = rng.standard_normal((n, M)), rng.standard_normal(n)
    expected = np.tril((A.T * scale) @ A)
    np.testing.assert_allclose(np.tril(gram(A, scale)), expected, atol=1e-12)
    np.testing.assert_allclose(np.tril(gram(np.asfortranarray(A), scale)), expected, atol=1e-12)
