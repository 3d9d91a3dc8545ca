import numpy as np
import pytest

from tobitgp.numerics.bordered import Bordered, Factored, dense, leading, of_sums, rows, variances

OWN = slice(1, 7)


@pytest.fixture
def matrix(rng):
    """Of full rank, its diagonal block of 6 amid the others."""
    root = rng.normal(size=(4, 4))
    block = rng.uniform(1.0, 2.0, 6)
    return Bordered(root @ root.T + 4.0 * np.eye(4), 0.4 * rng.normal(size=(4, 6)), block, OWN.start)


def test_parts_are_those_of_the_whole(matrix, rng):
    whole, unit = matrix.dense(), rng.uniform(0.5, 2.0, 10)
    np.testing.assert_array_equal(whole, whole.T)
    np.testing.assert_array_equal(whole[OWN, OWN], np.diag(matrix.block))
    np.testing.assert_array_equal(matrix.diagonal, np.diag(whole))
    np.testing.assert_allclose(matrix.scaled(unit).dense(), whole * unit * unit[:, None], rtol=1e-15)
    np.testing.assert_allclose(matrix.scaled(unit, np.divide).dense(), whole / unit / unit[:, None], rtol=1e-15)
    np.testing.assert_array_equal(matrix.leading(9).dense(), whole[:9, :9])
    np.testing.assert_array_equal(matrix.each(np.negative).dense(), -whole)


@pytest.mark.parametrize("lost", [[], [2], [0, 5], list(range(6))], ids=str)
def test_the_reduced_matrix_has_the_same_inverse(matrix, lost, rng):
    matrix.block[lost] = 1e-3
    matrix.border[:, lost] = 1e-5
    whole, reduced, g = matrix.dense(), matrix.reduced(), rng.normal(size=10)
    assert len(reduced.kept) == 4 + len(lost)
    solved = reduced.expand(np.linalg.solve(reduced.S, reduced.contract(g))) + reduced.rest(g)
    np.testing.assert_allclose(solved, np.linalg.solve(whole, g), rtol=1e-9)


@pytest.mark.parametrize("lost", [[2], [0, 5]], ids=str)
def test_small_eigenvalues_are_those_of_the_whole(matrix, lost):
    matrix.block[lost] = 1e-9 * (1.0 + np.arange(len(lost)))
    matrix.border[:, lost] = 0.0
    values, vectors = matrix.reduced().spectrum()
    want, of_whole = np.linalg.eigh(matrix.dense())
    few = slice(0, len(lost))
    np.testing.assert_allclose(values[few], want[few], rtol=1e-4)
    np.testing.assert_allclose(np.abs(vectors[:, few]), np.abs(of_whole[:, few]), atol=1e-6)
    assert values[len(lost)] > 0.1


def test_a_matrix_without_a_block_is_decomposed_as_it_is(rng):
    root = rng.normal(size=(5, 5))
    plain = Bordered(root @ root.T, np.zeros((5, 0)), np.zeros(0), 0)
    np.testing.assert_array_equal(plain.reduced().S, plain.dense())
    np.testing.assert_array_equal(plain.reduced().spectrum()[0], np.linalg.eigh(plain.corner)[0])


def test_a_factored_covariance_answers_as_its_entries_do(rng):
    V = Factored(rng.normal(size=(6, 2)), rng.uniform(size=6))
    whole, A = V.root @ V.root.T + np.diag(V.own), rng.normal(size=(3, 6))
    np.testing.assert_allclose(dense(V), whole, rtol=1e-15)
    np.testing.assert_allclose(variances(V), np.diag(whole), rtol=1e-14)
    np.testing.assert_allclose(rows(V, slice(4, None)), whole[4:], rtol=1e-14)
    np.testing.assert_allclose(dense(leading(V, 4)), whole[:4, :4], rtol=1e-14)
    np.testing.assert_allclose(of_sums(A, V), A @ whole @ A.T, rtol=1e-12)


def test_variances_beyond_the_largest_number_are_infinite():
    huge = np.full((1, 2), 1e200)
    assert np.isposinf(of_sums(huge, np.eye(2))).all()
    assert np.isposinf(of_sums(huge, Factored(np.ones((2, 1)), np.ones(2)))).all()
