"""Products in place, against matrices written out."""

import numpy as np
import pytest

from tobitgp.numerics.linear_algebra import SMALL, gram, gram_of_rows, triangular_product

# The last is more than numpy's own product is used for.
SHAPES = [(1, 1), (7, 3), (100, 60), (3, 20), (0, 4), (4, 0), (0, 0), (SMALL // 30 + 1, 30)]


def lower(M, rng):
    return np.asfortranarray(np.tril(rng.standard_normal((M, M))))


@pytest.mark.parametrize(("n", "M"), SHAPES)
def test_products(n, M, rng):
    A, T = rng.standard_normal((n, M)), lower(M, rng)
    np.testing.assert_allclose(triangular_product(A.copy(), T, transposed=True), A @ T.T, atol=1e-13)
    np.testing.assert_allclose(triangular_product(A.copy(), T, transposed=False), A @ T, atol=1e-13)
    np.testing.assert_allclose(gram_of_rows(A), np.tril(A.T @ A), atol=1e-12)


@pytest.mark.parametrize(("n", "M"), SHAPES)
def test_gram_of_weights_of_either_sign(n, M, rng):
    A, scale = rng.standard_normal((n, M)), rng.standard_normal(n)
    expected = np.tril((A.T * scale) @ A)
    np.testing.assert_allclose(np.tril(gram(A, scale)), expected, atol=1e-12)
    np.testing.assert_allclose(np.tril(gram(np.asfortranarray(A), scale)), expected, atol=1e-12)


def test_it_works_in_place(rng):
    A = rng.standard_normal((5, 3))
    assert triangular_product(A, np.eye(3, order="F"), transposed=True) is A


@pytest.mark.parametrize(
    "wrong",
    [np.ones((4, 3), order="F"), np.ones((4, 3), dtype=np.float32), np.ones(3), np.ones((4, 6))[:, ::2]],
    ids=["order", "type", "dimension", "stride"],
)
def test_other_arrays_are_refused(wrong):
    with pytest.raises(TypeError, match="matrix of doubles"):
        gram_of_rows(wrong)
    with pytest.raises(TypeError, match="matrix of doubles"):
        triangular_product(wrong, np.eye(3, order="F"), transposed=True)


def test_sizes_must_agree():
    with pytest.raises(TypeError, match=r"3 x 3"):
        triangular_product(np.ones((4, 3)), np.eye(2, order="F"), transposed=True)
